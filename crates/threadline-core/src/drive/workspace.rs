//! The folder a conversation works in: where it may be driven, and when that is recorded.

use super::command::Stopped;
use super::setting::Setting;
use super::{Circumstances, Driver};
use crate::drive::place::{Beside, Sheet};
use crate::history::History;
use crate::history::fact::{AgentJoined, Fact, Note, WorkspaceSet};
use crate::id::AgentId;

/// Why a conversation cannot be driven in the folder of this process, if it cannot.
pub fn workspace_refusal(
    history: &History,
    setting: &Setting,
    circumstances: Circumstances,
) -> Option<Stopped> {
    if !needs_workspace(history, setting) {
        return None;
    }
    match (recorded(history), &setting.workspace) {
        (Some(recorded), Some(here)) if recorded.path == here.path => None,
        (Some(recorded), _) => Some(Stopped::OtherWorkspace { path: recorded.path.clone() }),
        (None, Some(_)) if !circumstances.attended => Some(Stopped::NoWorkspace),
        (None, _) => None,
    }
}

/// The workspace that a history records. One that came with an import confers nothing.
fn recorded(history: &History) -> Option<&WorkspaceSet> {
    history.ledger().workspace.as_ref().filter(|_| !history.is_import())
}

/// Whether an agent of the conversation has a tool that works in a folder.
fn needs_workspace(history: &History, setting: &Setting) -> bool {
    let mut present = history.state().agents.values().filter(|agent| agent.present);
    present.any(|agent| setting.works_in_folder(&agent.joined))
}

impl Setting {
    /// Whether an agent has a tool that works in a folder.
    pub fn works_in_folder(&self, joined: &AgentJoined) -> bool {
        self.tools_of(joined).iter().any(|tool| tool.handling.in_workspace())
    }
}

impl Driver {
    /// Records the workspace of a conversation that has none, and of one whose folder is another
    /// than it was: approvals that are open were given for the other one, and are void.
    pub(super) fn place_workspace(&self, sheet: &mut Sheet<'_>) {
        let history = sheet.draft.history();
        let Some(here) = &self.setting.workspace else { return };
        let is_new = recorded(history).is_none_or(|recorded| recorded != here);
        if is_new && needs_workspace(history, &self.setting) {
            let text = format!(
                "{} is another folder than before; approvals that were given for the old one do \
                 not count any more",
                here.path
            );
            let was_another = recorded(history).is_some_and(|recorded| recorded.path == here.path);
            let warning =
                was_another.then(|| Note { category: "folder".into(), text: text.into() });
            // A batch that is full takes it the next time.
            let before = sheet.mark();
            let mut place =
                |fact: Fact| sheet.place(AgentId::CONVERSATION, fact, Beside::default());
            let placed = place(here.clone().into()).is_ok()
                && warning.is_none_or(|warning| place(warning.into()).is_ok());
            if !placed {
                sheet.back_to(before);
            }
        }
    }
}
