//! How entries are drawn for people.

use threadline_core::history::batch::AgentSums;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Answer, Approver, Block, Fact, Sender, Status, Stop};
use threadline_core::history::one_line;
use threadline_core::history::sections::{self, Level};
use threadline_core::id::AgentId;

use crate::view::{Line, View, counted, grouped};
use crate::words::end_reason;

/// How much of arguments or a remark a line shows, in characters.
const LINE_CAP: usize = 120;

/// Whether an entry is worth reading in a thread, beside what models see.
pub(crate) fn is_worth_reading(fact: &Fact) -> bool {
    match fact {
        Fact::Input(_)
        | Fact::Output(_)
        | Fact::ToolFinished(_)
        | Fact::InstructionSet(_)
        | Fact::InvocationFailed(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::TurnEnded(_)
        | Fact::Recap(_)
        | Fact::Note(_)
        | Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::Unrecognised(_) => true,
        Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::ToolStarted(_)
        | Fact::PolicySet(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_) => false,
    }
}

/// Whether an entry by itself looks like part of the transcript: an input of a person or a timer, or
/// an output without calls.
pub(crate) fn is_message(fact: &Fact) -> bool {
    match fact {
        Fact::Input(input) => input.from.is_in_transcript(),
        Fact::Output(output) => output.calls().next().is_none(),
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
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
        | Fact::Unrecognised(_) => false,
    }
}

/// Draws a message of the transcript: who, when, and the whole text.
pub(crate) fn message(entry: &Entry, agents: &[AgentSums], view: &mut View) -> anyhow::Result<()> {
    let (who, text) = match &entry.fact {
        Fact::Input(input) => (
            sender(&input.from, agents),
            sections::render(&input.sections, Level::Live).into_owned(),
        ),
        Fact::Output(output) => (name_of(entry.agent, agents), output.text()),
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
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
        | Fact::Unrecognised(_) => return Ok(()),
    };
    let at = entry.at.to_string();
    let line = Line::new().name(who).dim(format!("  {} · {}", minute(&at), entry.seq));
    view.line(&line)?;
    view.text(&text, "  ")?;
    if let Some(input) = entry.fact.as_input() {
        for attachment in &input.attachments {
            let name = attachment.name.as_deref().unwrap_or("attachment");
            let size = counted(attachment.size, "byte", "bytes");
            view.line(&Line::new().dim(format!("  [{name}: {}, {size}]", attachment.media_type)))?;
        }
    }
    view.line(&Line::new())?;
    Ok(())
}

/// Draws an entry of a thread or of the ledger: a line, and text where there is more to read.
pub(crate) fn entry(
    entry: &Entry,
    agents: &[AgentSums],
    counts: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    let at = entry.at.to_string();
    let mark = if counts { " " } else { "~" };
    let mut line = Line::new()
        .dim(format!("{mark}{:>6}  {}  ", entry.seq, minute(&at)))
        .name(name_of(entry.agent, agents))
        .plain(format!("  {}", entry.fact.kind()));
    let detail = detail(&entry.fact, agents);
    if !detail.is_empty() {
        line = line.plain("  ").dim(detail);
    }
    view.line(&line)?;
    let text = text(&entry.fact);
    if !text.is_empty() {
        view.text(&text, "           ")?;
    }
    Ok(())
}

/// What there is to read in an entry, at Recent.
fn text(fact: &Fact) -> String {
    match fact {
        Fact::Input(input) => sections::render(&input.sections, Level::Recent).into_owned(),
        Fact::Output(output) => {
            let parts = output.blocks.iter().map(|block| match block {
                Block::Thinking(thinking) => format!("(thinking) {}", thinking.text),
                Block::Text(text) => (*text.text).to_owned(),
                Block::ToolCall(call) => {
                    let cut = if call.complete { "" } else { " (cut off)" };
                    format!("→ {} {}{cut}", call.name, one_line(&call.arguments, LINE_CAP))
                }
                Block::Foreign(foreign) => format!("[{}] {}", foreign.kind, foreign.text),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Fact::ToolFinished(finished) => {
            sections::render(&finished.result, Level::Recent).into_owned()
        }
        Fact::InstructionSet(instruction) => (*instruction.text).to_owned(),
        Fact::Recap(recap) => recap.text.as_deref().unwrap_or_default().to_owned(),
        Fact::Note(note) => (*note.text).to_owned(),
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::ToolStarted(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::PolicySet(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::TurnEnded(_)
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Unrecognised(_) => String::new(),
    }
}

/// What an entry says beside its text, in a line.
fn detail(fact: &Fact, agents: &[AgentSums]) -> String {
    match fact {
        Fact::AgentJoined(joined) => {
            let primary = if joined.primary { ", primary" } else { "" };
            let what = match &*joined.description {
                "" => String::new(),
                description => format!(": {}", one_line(description, LINE_CAP)),
            };
            format!("{}{primary}{what}", joined.name)
        }
        Fact::AgentLeft(left) => one_line(&left.reason, LINE_CAP),
        Fact::InstructionSet(_) => String::new(),
        Fact::Input(input) => format!("from {}", sender(&input.from, agents)),
        Fact::Output(output) => {
            let stop = match output.stop {
                Stop::Done => String::new(),
                Stop::Length => ", cut off by the output limit".to_owned(),
                Stop::Refusal => ", refused".to_owned(),
                Stop::Blocked => ", blocked".to_owned(),
                Stop::Paused => ", paused".to_owned(),
            };
            let usage = output.usage;
            let (read, written) = (grouped(usage.input), grouped(usage.output));
            let estimated = if usage.estimated { ", estimated" } else { "" };
            format!("{} ({read} in, {written} out{estimated}){stop}", output.invocation.model)
        }
        Fact::ToolResults(results) => {
            let number = u64::try_from(results.results.len()).unwrap_or(u64::MAX);
            format!("{} of output {}", counted(number, "result", "results"), results.output)
        }
        Fact::InvocationStarted(started) => {
            let tokens = grouped(started.estimate_tokens);
            format!("{}, about {tokens} tokens", started.invocation.model)
        }
        Fact::InvocationFailed(failed) => one_line(&failed.message, LINE_CAP),
        Fact::ToolStarted(started) => format!("{} attempt {}", started.call, started.attempt),
        Fact::ToolFinished(finished) => {
            let status = match finished.status {
                Status::Success => "ok",
                Status::Failed => "failed",
                Status::Skipped => "skipped",
                Status::Unknown => "outcome unknown",
            };
            let error =
                finished.error.as_deref().map(|error| format!(": {}", one_line(error, LINE_CAP)));
            format!("{} {} {status}{}", finished.call, finished.name, error.unwrap_or_default())
        }
        Fact::ApprovalAsked(asked) => format!("{} until {}", asked.call, asked.until),
        Fact::ApprovalGiven(given) => {
            let answer = match given.answer {
                Answer::Allow => "allowed",
                Answer::Deny => "denied",
            };
            let by = match &given.by {
                Approver::Person { name } => name.as_deref().unwrap_or("a person").to_owned(),
                Approver::Timer => "the clock".to_owned(),
                Approver::NewMessage => "a new message".to_owned(),
            };
            format!("{} {answer} by {by}", given.call)
        }
        Fact::PolicySet(policy) => {
            let verdict = super::super::policy::word(policy.verdict);
            format!("{verdict} {}", threadline_core::policy::line_of(policy))
        }
        Fact::WidgetChanged(changed) => {
            format!("{} {}", changed.widget, one_line(&changed.change, LINE_CAP))
        }
        Fact::AgentCalled(called) => format!("{} → {}", called.call, name_of(called.child, agents)),
        Fact::AgentReturned(returned) => {
            format!("{} ← {}", returned.call, name_of(returned.child, agents))
        }
        Fact::TimerSet(set) => {
            let every = set.every_ms.map(|every| format!(", every {every} ms")).unwrap_or_default();
            format!("{}{every} {}", set.when, one_line(&set.text, LINE_CAP))
        }
        Fact::TimerCleared(cleared) => format!("timer {}", cleared.timer),
        Fact::TurnEnded(ended) => {
            format!("{} {}", end_reason(ended.reason), one_line(&ended.detail, LINE_CAP))
        }
        Fact::Recap(recap) if recap.text.is_none() => {
            format!("of {} to {} taken back", recap.from, recap.to)
        }
        Fact::Recap(recap) => format!("of {} to {}", recap.from, recap.to),
        Fact::Pinned(pinned) => {
            format!("entry {} {}", pinned.seq, if pinned.on { "on" } else { "off" })
        }
        Fact::Described(described) => {
            let title = described.title.as_deref().map(|title| format!("title {title:?}"));
            let labels =
                described.labels.as_ref().map(|labels| format!("labels {}", labels.join(", ")));
            let archived = described.archived.map(|archived| format!("archived {archived}"));
            [title, labels, archived].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Fact::Rewound(rewound) => format!("to entry {}", rewound.to),
        Fact::Forked(forked) => format!("from {} at entry {}", forked.from, forked.seq),
        Fact::Moved(moved) => moved.to.as_deref().map(|to| format!("to {to}")).unwrap_or_default(),
        Fact::WorkspaceSet(set) => (*set.path).to_owned(),
        Fact::FileChanged(changed) => format!("{} {}", changed.call, changed.path),
        Fact::AuthorityReset(_) => "earlier rules and approvals no longer count".to_owned(),
        Fact::Note(note) => (*note.category).to_owned(),
        Fact::Unrecognised(unrecognised) => {
            let size = u64::try_from(unrecognised.body.len()).unwrap_or(u64::MAX);
            format!("of a newer version, {}", counted(size, "byte", "bytes"))
        }
    }
}

fn sender(from: &Sender, agents: &[AgentSums]) -> String {
    match from {
        Sender::Person { name, .. } => name.as_deref().unwrap_or("user").to_owned(),
        Sender::Agent { agent, .. } => name_of(*agent, agents),
        Sender::System => "system".to_owned(),
        Sender::Timer { set } => format!("timer {set}"),
    }
}

fn name_of(id: AgentId, agents: &[AgentSums]) -> String {
    if id == AgentId::CONVERSATION {
        return "-".to_owned();
    }
    let known = agents.iter().find(|agent| agent.agent == id);
    known.map_or_else(|| format!("agent {id}"), |agent| agent.name.clone())
}

/// The date and the minute of a moment.
fn minute(at: &str) -> String {
    at.chars().take(16).collect::<String>().replace('T', " ")
}
