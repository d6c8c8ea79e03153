//! What happens in a conversation, told in lines.

use serde::Serialize;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Sender};
use threadline_core::history::one_line;
use threadline_core::history::sections::{self, Level};
use threadline_core::id::ConversationId;

use crate::talk::Cast;
use crate::view::{Line, View};
use crate::words;

/// How much of a text stands on a line.
const LINE_CAP: usize = 300;

/// What happened in a conversation, in a line.
#[derive(Serialize)]
pub(super) struct Told {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    what: &'static str,
    text: String,
}

impl Told {
    pub(super) fn failed(id: ConversationId, text: String) -> Self {
        Self { id: id.to_string(), seq: None, agent: None, what: "failed", text }
    }

    /// What an entry says, if it is worth a line.
    pub(super) fn of(id: ConversationId, cast: &Cast, entry: &Entry) -> Option<Self> {
        let (what, text) = match &entry.fact {
            Fact::Input(input) => {
                let text = sections::render(&input.sections, Level::Live).into_owned();
                let what = match &input.from {
                    Sender::Timer { .. } => "woken",
                    from @ Sender::Agent { .. } if cast.is_task(entry.agent, from) => "task",
                    Sender::Agent { .. } => "reply",
                    Sender::Person { .. } | Sender::System => "input",
                };
                (what, text)
            }
            Fact::Output(output) => {
                let calls: Vec<&str> = output.calls().map(|call| &*call.name).collect();
                match calls.as_slice() {
                    [] => ("answer", output.text()),
                    calls => ("calls", calls.join(", ")),
                }
            }
            Fact::ToolFinished(finished) => ("result", words::finished(finished).1),
            Fact::TurnEnded(ended) => ("ended", words::ended(ended.reason, &ended.detail)),
            Fact::InvocationFailed(failed) => ("no answer", failed.message.clone()),
            Fact::ApprovalAsked(asked) => {
                ("asks", format!("{}: threadline approve {id} {}", asked.call, asked.call))
            }
            Fact::Note(note) => ("note", note.text.to_string()),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::ToolStarted(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Unrecognised(_) => return None,
        };
        let agent = cast.name(entry.agent).map(|name| name.to_string());
        Some(Self { id: id.to_string(), seq: Some(entry.seq.0), agent, what, text })
    }

    pub(super) fn print(&self, view: &mut View) -> anyhow::Result<()> {
        if view.json {
            view.value(self)?;
        } else {
            let short = self.id.get(..8).unwrap_or(&self.id);
            let line = Line::new().name(short).plain("  ");
            let line = match &self.agent {
                Some(agent) => line.plain(format!("{agent}  ")),
                None => line,
            };
            let line = match self.what {
                "failed" | "no answer" | "ended" => line.bad(self.what),
                "asks" => line.bold(self.what),
                what => line.dim(what),
            };
            view.row(line.plain(format!("  {}", one_line(&self.text, LINE_CAP))))?;
        }
        view.finish()?;
        Ok(())
    }
}
