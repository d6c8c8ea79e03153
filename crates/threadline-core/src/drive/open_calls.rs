//! The calls that have no end yet: as their models wrote them, and those that run here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calls::{CallText, Running};
use crate::history::entry::Entry;
use crate::history::fact::Fact;
use crate::id::{AgentId, CallId};

/// The open calls of a conversation.
#[derive(Default)]
pub(super) struct OpenCalls {
    texts: BTreeMap<CallId, CallText>,
    running: BTreeMap<CallId, Running>,
}

impl OpenCalls {
    /// A call as its model wrote it, if its output is durable.
    pub(super) fn text(&self, id: CallId) -> Option<&CallText> {
        self.texts.get(&id)
    }

    /// Keeps what a durable entry says of calls: what their models wrote, what they were started with,
    /// the file changes they recorded.
    pub(super) fn note(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::Output(output) => {
                for (index, call) in (0..).zip(output.calls()) {
                    let id = CallId::new(entry.seq, index);
                    self.texts.insert(id, CallText::new(call));
                }
            }
            Fact::ToolStarted(started) => {
                if let (Some(text), Some(arguments)) =
                    (self.texts.get_mut(&started.call), &started.arguments)
                {
                    text.ran_with = Some(Arc::clone(arguments));
                }
            }
            Fact::FileChanged(changed) => {
                if let Some(text) = self.texts.get_mut(&changed.call) {
                    text.changes.push(changed.clone());
                }
            }
            Fact::ToolResults(results) => {
                self.texts.retain(|id, _| id.output != results.output);
            }
            Fact::Rewound(_)
            | Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
    }

    /// Forgets all texts: a rewind settled every open call.
    pub(super) fn settle_all(&mut self) {
        self.texts.clear();
    }

    /// Notes that a call runs, or that its outcome is looked for.
    pub(super) fn run(&mut self, id: CallId, running: Running) {
        self.running.insert(id, running);
    }

    pub(super) fn is_running(&self, id: CallId) -> bool {
        self.running.contains_key(&id)
    }

    pub(super) fn running(&self, id: CallId) -> Option<&Running> {
        self.running.get(&id)
    }

    /// Notes that a call does not run any more.
    pub(super) fn end(&mut self, id: CallId) -> Option<Running> {
        self.running.remove(&id)
    }

    /// The calls of an agent that run.
    pub(super) fn running_of(&self, agent: AgentId) -> Vec<CallId> {
        let running = self.running.iter().filter(|(_, running)| running.agent == agent);
        running.map(|(id, _)| *id).collect()
    }

    /// Gives up the calls of an agent that did not stop in time.
    pub(super) fn abandon(&mut self, agent: AgentId) {
        self.running.retain(|_, running| running.agent != agent);
    }

    /// Whether no call runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Ends all calls that run, and returns them.
    pub(super) fn end_all(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.running).into_keys().collect()
    }
}
