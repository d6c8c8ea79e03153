//! What came of a turn, for programs and as an exit code.

use std::process::ExitCode;

use serde::Serialize;
use threadline::Ending;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Answer, EndReason, Fact, Status, Usage};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::{Page, Storage, verified_page};

use super::TimeUp;
use crate::words;

/// How many entries are read at a time.
const PAGE: usize = 256;

/// What came of a turn.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) id: String,
    /// Whose turn it was, if it began.
    pub(crate) agent: Option<String>,
    /// What it came to, in a word.
    pub(crate) ending: &'static str,
    pub(crate) answer: Option<String>,
    /// What there is to say if there is no answer.
    pub(crate) detail: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) steps: u64,
    pub(crate) tokens: u64,
    /// Whether any of the tokens is our estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tokens_estimated: bool,
    pub(crate) entries: u64,
    pub(crate) exit_code: u8,
}

/// A call that was made in the turn.
#[derive(Debug, Serialize)]
pub(crate) struct Call {
    #[serde(rename = "call")]
    id: String,
    tool: String,
    arguments: String,
    /// How it ended, if it did.
    status: Option<Status>,
}

impl Report {
    /// What came of the turn of an input.
    pub(crate) async fn new(
        store: &dyn Storage,
        id: ConversationId,
        input: Option<Seq>,
        ending: &Ending,
        time_up: TimeUp,
    ) -> anyhow::Result<Self> {
        let entries = match input {
            Some(input) => entries(store, id, input).await?,
            None => Vec::new(),
        };
        let head = store.conversation(id).await?.head;
        let denied = entries.iter().any(|entry| {
            matches!(&entry.fact, Fact::ApprovalGiven(given) if given.answer == Answer::Deny)
        });
        let verdict = Verdict::of(ending, denied, time_up);
        let agents = store.agents(id).await?;
        let agent =
            entries.first().and_then(|first| agents.iter().find(|a| a.agent == first.agent));
        Ok(Self {
            id: id.to_string(),
            agent: agent.map(|agent| agent.name.clone()),
            ending: verdict.ending,
            answer: match ending {
                Ending::Answered { text, .. } => Some(text.clone()),
                Ending::Ended { .. } | Ending::Approval(_) | Ending::Open | Ending::Refused(_) => {
                    None
                }
            },
            detail: verdict.detail,
            calls: calls(&entries),
            steps: count(&entries, |fact| fact.as_output().is_some()),
            tokens: usages(&entries)
                .fold(0, |sum, usage| sum.saturating_add(usage.input).saturating_add(usage.output)),
            tokens_estimated: usages(&entries).any(|usage| usage.estimated),
            entries: head.0,
            exit_code: verdict.exit_code,
        })
    }

    /// The report of a conversation that cannot go on, whatever else there is to know of it.
    pub(crate) fn refused(id: ConversationId, why: &str) -> Self {
        let verdict = Verdict::of(&Ending::Refused(why.into()), false, TimeUp(false));
        Self {
            id: id.to_string(),
            agent: None,
            ending: verdict.ending,
            answer: None,
            detail: verdict.detail,
            calls: Vec::new(),
            steps: 0,
            tokens: 0,
            tokens_estimated: false,
            entries: 0,
            exit_code: verdict.exit_code,
        }
    }

    /// The exit code that says it.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.exit_code)
    }
}

/// An ending in a word, with what there is to say and the exit code.
struct Verdict {
    ending: &'static str,
    detail: Option<String>,
    exit_code: u8,
}

impl Verdict {
    fn of(ending: &Ending, denied: bool, time_up: TimeUp) -> Self {
        let (ending, detail, exit_code) = match ending {
            Ending::Answered { .. } if denied => {
                ("answered", Some("a call was not allowed".to_owned()), 4)
            }
            Ending::Answered { .. } => ("answered", None, 0),
            Ending::Ended { reason: EndReason::Cancelled, .. } if time_up.0 => {
                ("limit", Some("the time was up".to_owned()), 3)
            }
            Ending::Ended { reason, detail } => {
                let (ending, exit_code) = match reason {
                    EndReason::Cancelled => ("cancelled", 130),
                    EndReason::Limit(_) => ("limit", 3),
                    EndReason::DoesNotFit => ("does_not_fit", 3),
                    EndReason::Failed => ("failed", 5),
                    EndReason::Withdrawn => ("withdrawn", 1),
                };
                (ending, Some(words::ended(*reason, detail)), exit_code)
            }
            Ending::Approval(calls) => {
                let calls = calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                ("approval", Some(format!("a person must allow {calls}")), 4)
            }
            Ending::Open => ("unfinished", None, 1),
            Ending::Refused(why) => ("refused", Some((**why).to_owned()), 1),
        };
        Self { ending, detail, exit_code }
    }
}

/// The entries of an input's thread from it on.
async fn entries(
    store: &dyn Storage,
    id: ConversationId,
    input: Seq,
) -> anyhow::Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut next = input;
    loop {
        let page = Page::forward(next, PAGE);
        let page = entries.first().map_or(page, |first| page.of(first.agent));
        let read = verified_page(store, id, &page).await?;
        if read.is_empty() {
            return Ok(entries);
        }
        for entry in read {
            next = entry.seq.next();
            if entries.first().is_none_or(|first| first.agent == entry.agent) {
                entries.push(entry);
            }
        }
    }
}

fn calls(entries: &[Entry]) -> Vec<Call> {
    let mut calls = Vec::new();
    for entry in entries {
        if let Some(output) = entry.fact.as_output() {
            for (index, call) in output.calls().enumerate() {
                calls.push(Call {
                    id: format!("c{}.{index}", entry.seq),
                    tool: (*call.name).to_owned(),
                    arguments: (*call.arguments).to_owned(),
                    status: None,
                });
            }
        }
    }
    for entry in entries {
        if let Some(finished) = entry.fact.as_tool_finished() {
            let id = finished.call.to_string();
            for call in calls.iter_mut().filter(|call| call.id == id) {
                call.status = Some(finished.status);
            }
        }
    }
    calls
}

fn count(entries: &[Entry], is: impl Fn(&Fact) -> bool) -> u64 {
    u64::try_from(entries.iter().filter(|entry| is(&entry.fact)).count()).unwrap_or(u64::MAX)
}

/// What the invocations of these entries took.
fn usages(entries: &[Entry]) -> impl Iterator<Item = Usage> {
    entries.iter().filter_map(|entry| match &entry.fact {
        Fact::Output(output) => Some(output.usage),
        Fact::InvocationFailed(failed) => failed.usage,
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::ToolStarted(_)
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
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use threadline_core::history::fact::{Limit, Stop};

    use super::*;

    #[test]
    fn every_ending_has_its_exit_code() {
        let answered = || Ending::Answered { text: "yes".to_owned(), stop: Stop::Done };
        let ended = |reason| Ending::Ended { reason, detail: String::new() };
        for (ending, denied, time_up, word, code) in [
            (answered(), false, false, "answered", 0),
            (answered(), true, false, "answered", 4),
            (ended(EndReason::Cancelled), false, false, "cancelled", 130),
            (ended(EndReason::Cancelled), false, true, "limit", 3),
            (ended(EndReason::Limit(Limit::Tokens)), false, false, "limit", 3),
            (ended(EndReason::DoesNotFit), false, false, "does_not_fit", 3),
            (ended(EndReason::Failed), false, false, "failed", 5),
            (ended(EndReason::Withdrawn), false, false, "withdrawn", 1),
            (Ending::Approval(Vec::new()), false, false, "approval", 4),
            (Ending::Refused("no".into()), false, false, "refused", 1),
        ] {
            let verdict = Verdict::of(&ending, denied, TimeUp(time_up));
            assert_eq!((verdict.ending, verdict.exit_code), (word, code), "{ending:?}");
        }
    }
}
