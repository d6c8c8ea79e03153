//! An entry told as plain text: what it is, and all that a model can read in it.

use std::fmt::Write as _;

use threadline_core::clock::Timestamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Attachment, Block, EndReason, Fact, Input, Limit, Output, Sender, Status, Stop, ToolCall,
    ToolFinished, TurnEnded,
};
use threadline_core::history::sections::{Level, render};
use threadline_core::id::Seq;

use crate::text::{counted, plain, shortened, size};

/// How much of a name is told.
const NAME_TOLD_BYTES: usize = 80;
/// How many names are told.
const NAMES_TOLD: usize = 5;

/// What an entry is told as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// What it is, with its article.
    pub(super) what: String,
    /// What can be read in it; none if it is not for models.
    pub(super) text: Option<String>,
}

impl Told {
    /// What it is, without an article.
    pub(super) fn kind(&self) -> &str {
        let articles = ["a ", "an ", "the ", "your "];
        articles.iter().find_map(|article| self.what.strip_prefix(article)).unwrap_or(&self.what)
    }

    fn read(what: String, text: String) -> Self {
        Self { what, text: Some(text) }
    }

    fn unseen(what: &str) -> Self {
        Self { what: what.to_owned(), text: None }
    }
}

/// What an entry is told as. Sealed results are told with the entries that they are in.
pub(super) fn told(entry: &Entry, sealed: &[(Seq, Option<Entry>)]) -> Told {
    match &entry.fact {
        Fact::Input(said) => Told::read(format!("an input of {}", sender(&said.from)), input(said)),
        Fact::Output(output) => Told::read(answer(output), blocks(output, |_| true)),
        Fact::ToolFinished(finished) => Told::read(a_result(finished), result(finished)),
        Fact::ToolResults(sealing) => results(sealing.execute_error.as_deref(), sealed),
        Fact::TurnEnded(ended) => {
            Told::read("the end of a turn without an answer".to_owned(), end(ended))
        }
        Fact::Recap(recap) => match &recap.text {
            Some(text) => Told::read(
                format!("a recap of entries {} to {}", recap.from, recap.to),
                text.as_ref().to_owned(),
            ),
            None => Told::unseen("a word that a recap no longer counts"),
        },
        Fact::InstructionSet(instruction) => {
            Told::read("your instruction".to_owned(), instruction.text.as_ref().to_owned())
        }
        Fact::AgentJoined(_) => Told::unseen("a change of your settings"),
        Fact::AgentLeft(_) => Told::unseen("a leave"),
        Fact::InvocationStarted(_) => Told::unseen("a question to a model"),
        Fact::InvocationFailed(_) => Told::unseen("a question to a model that failed"),
        Fact::ToolStarted(_) => Told::unseen("the start of a tool"),
        Fact::ApprovalAsked(_) => Told::unseen("a question whether a call may run"),
        Fact::ApprovalGiven(_) => Told::unseen("the answer whether a call may run"),
        Fact::PolicySet(_) => Told::unseen("a rule for calls"),
        Fact::WidgetChanged(_) => Told::unseen("a change on your screen"),
        Fact::AgentCalled(_) => Told::unseen("a call of another agent"),
        Fact::AgentReturned(_) => Told::unseen("the return of an agent that was called"),
        Fact::TimerSet(_) => Told::unseen("a timer"),
        Fact::TimerCleared(_) => Told::unseen("the end of a timer"),
        Fact::Pinned(_) => Told::unseen("a pin"),
        Fact::Described(_) => Told::unseen("a title of the conversation"),
        Fact::Rewound(_) => Told::unseen("a rewind"),
        Fact::Forked(_) => Told::unseen("a fork"),
        Fact::Moved(_) => Told::unseen("a move to another store"),
        Fact::WorkspaceSet(_) => Told::unseen("a change of the workspace"),
        Fact::FileChanged(_) => Told::unseen("a change of a file"),
        Fact::AuthorityReset(_) => Told::unseen("a reset of rules and approvals"),
        Fact::Note(_) => Told::unseen("a remark"),
        Fact::Unrecognised(_) => Told::unseen("an entry of a newer version"),
    }
}

/// What of an entry can be found: all that can be read in it, without the calls of a tool and
/// what came of them.
pub(super) fn without(entry: &Entry, tool: &str) -> Option<String> {
    match &entry.fact {
        Fact::ToolFinished(finished) if &*finished.name == tool => None,
        Fact::Output(output) => Some(blocks(output, |call| &*call.name != tool)),
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
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
        | Fact::Unrecognised(_) => told(entry, &[]).text,
    }
}

/// A moment, to the minute, in UTC.
pub(super) fn minute(at: Timestamp) -> String {
    at.to_string().chars().take(16).collect::<String>().replace('T', " ")
}

fn sender(from: &Sender) -> String {
    match from {
        Sender::Person { name: Some(name), .. } => name_told(name),
        Sender::Person { name: None, .. } => "a person".to_owned(),
        Sender::Agent { agent, .. } => format!("agent {agent}"),
        Sender::System => "the system".to_owned(),
        Sender::Timer { .. } => "a timer".to_owned(),
    }
}

fn input(input: &Input) -> String {
    let mut text = render(&input.sections, Level::Live).into_owned();
    add_attachments(&mut text, &input.attachments);
    text
}

fn answer(output: &Output) -> String {
    match output.calls().count() {
        0 => "your answer".to_owned(),
        calls => format!("your output with {}", counted(calls, "call")),
    }
}

/// What a model said and called; only the calls that are wanted.
fn blocks(output: &Output, wanted: impl Fn(&ToolCall) -> bool) -> String {
    let mut parts = Vec::new();
    for block in &output.blocks {
        match block {
            Block::Text(said) => parts.push(said.text.as_ref().to_owned()),
            Block::Thinking(_) => parts.push("[thinking is not shown]".to_owned()),
            Block::ToolCall(call) if wanted(call) => parts.push(call_told(call)),
            Block::ToolCall(_) => {}
            Block::Foreign(foreign) if foreign.text.trim().is_empty() => {
                parts.push(format!("[{}]", name_told(&foreign.kind)));
            }
            Block::Foreign(foreign) => parts.push(foreign.text.as_ref().to_owned()),
        }
    }
    match output.stop {
        Stop::Done | Stop::Paused => {}
        Stop::Length => parts.push("[cut off by the output limit]".to_owned()),
        Stop::Refusal => parts.push("[declined]".to_owned()),
        Stop::Blocked => parts.push("[stopped by a filter]".to_owned()),
    }
    parts.join("\n\n")
}

fn call_told(call: &ToolCall) -> String {
    let cut = if call.complete { "" } else { " [cut off]" };
    format!("[call of {}] {}{cut}", name_told(&call.name), call.arguments)
}

fn a_result(finished: &ToolFinished) -> String {
    format!("a result of {}, {}", name_told(&finished.name), status(finished.status))
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Unknown => "unknown",
    }
}

fn result(finished: &ToolFinished) -> String {
    let mut text = render(&finished.result, Level::Live).into_owned();
    if let Some(error) = finished.error.as_deref().filter(|error| !text.contains(error)) {
        add_line(&mut text, &format!("[error: {error}]"));
    }
    add_attachments(&mut text, &finished.attachments);
    text
}

/// Results that were sealed together, each under its own heading if there are several.
fn results(execute_error: Option<&str>, sealed: &[(Seq, Option<Entry>)]) -> Told {
    let finished = |entry: &Option<Entry>| entry.as_ref()?.fact.as_tool_finished().cloned();
    let all = sealed.iter().map(|(seq, entry)| (*seq, finished(entry))).collect::<Vec<_>>();
    let mut told = match &*all {
        [(_, Some(only))] => Told::read(a_result(only), result(only)),
        all => {
            let parts = all.iter().map(|(seq, finished)| match finished {
                Some(finished) => {
                    format!("[entry {seq}, {}]\n{}", a_result(finished), result(finished))
                }
                None => format!("[entry {seq}, which cannot be read]"),
            });
            Told::read(names(all), parts.collect::<Vec<_>>().join("\n\n"))
        }
    };
    if let (Some(error), Some(text)) = (execute_error, &mut told.text) {
        add_line(text, &format!("[the calls could not be run: {error}]"));
    }
    told
}

fn names(all: &[(Seq, Option<ToolFinished>)]) -> String {
    let names = all.iter().filter_map(|(_, finished)| finished.as_ref());
    let told = names.clone().take(NAMES_TOLD).map(|finished| name_told(&finished.name));
    let told = told.collect::<Vec<_>>().join(", ");
    match names.count().saturating_sub(NAMES_TOLD) {
        _ if told.is_empty() => "results of calls".to_owned(),
        0 => format!("the results of {told}"),
        more => format!("the results of {told} and {more} more"),
    }
}

fn end(ended: &TurnEnded) -> String {
    let reason = match ended.reason {
        EndReason::Cancelled => "it was cancelled",
        EndReason::Limit(Limit::Steps) => "it came to its limit of steps",
        EndReason::Limit(Limit::Calls) => "it came to its limit of calls",
        EndReason::Limit(Limit::SameCall) => "it made the same call again and again",
        EndReason::Limit(Limit::Tokens) => "it came to its limit of tokens",
        EndReason::Limit(Limit::Money) => "it came to its limit of money",
        EndReason::Limit(Limit::Depth) => "agents called agents too deeply",
        EndReason::Failed => "no model gave an answer",
        EndReason::DoesNotFit => "what must be whole did not fit the window",
        EndReason::Withdrawn => "the conversation was rewound, forked or copied",
    };
    let mut text = format!("[the turn ended: {reason}]");
    if let Some(by) = &ended.by {
        let _ = write!(text, " [by {}]", name_told(by));
    }
    add_line(&mut text, &ended.detail);
    text
}

fn add_attachments(text: &mut String, attachments: &[Attachment]) {
    for attachment in attachments {
        let name = attachment.name.as_deref().map_or_else(|| "without a name".into(), name_told);
        let media_type = name_told(&attachment.media_type);
        let size = size(attachment.size);
        add_line(text, &format!("[attachment {name}, {media_type}, {size}]"));
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn name_told(name: &str) -> String {
    shortened(&plain(name), NAME_TOLD_BYTES).into_owned()
}
