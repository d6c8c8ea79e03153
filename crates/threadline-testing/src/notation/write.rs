//! Writing: from a fact to the words that fit it, and what they leave out.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Address, Answer, Block, CallMode, EndReason, Fact, Input, Output, Purpose, Sender, Stop,
    ToolCall,
};
use threadline_core::history::sections::Section;
use threadline_core::id::CallId;

use super::line::{Line, quote};
use super::read;
use super::tracker::{Tracker, is_name};
use super::words::{reason_word, status_word, word};

/// An entry as it is written after what was said before.
pub(super) fn line(entry: &Entry, tracker: &Tracker) -> String {
    let (words, text) = words(entry, tracker);
    short(entry, tracker, &words, text.as_deref()).unwrap_or_else(|| raw(entry))
}

/// Whether entries that settle what was open may follow the fact.
pub(super) fn is_settled_after(fact: &Fact) -> bool {
    match fact {
        Fact::Rewound(_) | Fact::Forked(_) => true,
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
        | Fact::Output(_)
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
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => false,
    }
}

/// Whether an entry is one that settling adds after a rewind or a fork.
pub(super) fn settles(fact: &Fact) -> bool {
    match fact {
        Fact::ToolFinished(_) | Fact::ToolResults(_) => true,
        Fact::TurnEnded(ended) => ended.reason == EndReason::Withdrawn,
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
        | Fact::Output(_)
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

fn raw(entry: &Entry) -> String {
    let body = Value::Object(read::body(&entry.fact));
    format!("! #{} {} {body}", entry.agent, entry.fact.kind())
}

/// The words, what they leave out, and the text; none if that does not read back.
fn short(entry: &Entry, tracker: &Tracker, words: &str, text: Option<&str>) -> Option<String> {
    let split: Vec<&str> = words.split_whitespace().collect();
    let (_, base) = read::base(&split, text.map(unindented).as_deref(), tracker).ok()?;
    let rest = difference(&read::body(&entry.fact), &read::body(&base));
    let mut line = words.to_owned();
    if !rest.is_empty() {
        line = format!("{line} {}", Value::Object(rest));
    }
    match text {
        None => {}
        Some("") => line.push(':'),
        Some(text) => line = format!("{line}: {text}"),
    }
    let joined = super::line::join(&line);
    let [(number, joined)] = &joined[..] else { return None };
    let parsed = Line::parse(*number, joined).ok()?;
    let (agent, fact) = read::fact(&parsed, tracker).ok()?;
    (agent == entry.agent && same(&fact, &entry.fact)).then_some(line)
}

/// Whether a fact was read back: the hash of a fork is not written.
fn same(read: &Fact, written: &Fact) -> bool {
    match (read, written) {
        (Fact::Forked(read), Fact::Forked(written)) => {
            (read.from, read.seq) == (written.from, written.seq)
        }
        _ => read == written,
    }
}

/// A text as a reader sees it: with the lines that go on with it no longer indented.
fn unindented(text: &str) -> String {
    text.replace("\n    ", "\n")
}

fn difference(actual: &Map<String, Value>, base: &Map<String, Value>) -> Map<String, Value> {
    let changed = actual.iter().filter(|(key, value)| base.get(*key) != Some(value));
    let mut rest: Map<String, Value> =
        changed.map(|(key, value)| (key.clone(), value.clone())).collect();
    for key in base.keys().filter(|key| !actual.contains_key(*key)) {
        rest.insert(key.clone(), Value::Null);
    }
    // The hash of a fork is a function of ids, which are not written.
    if actual.contains_key("from") && actual.contains_key("hash") {
        rest.remove("hash");
    }
    rest
}

/// The words that fit a fact best, and its text as it is written.
fn words(entry: &Entry, tracker: &Tracker) -> (String, Option<String>) {
    let who = tracker.name(entry.agent);
    let bare = |words: String| (words, None);
    let with = |words: String, text: &str| (words, Some(quote(text)));
    let or_bare = |words: String, text: &str| {
        let text = (!text.is_empty()).then(|| quote(text));
        (words, text)
    };
    match &entry.fact {
        Fact::AgentJoined(joined) => {
            let id = if tracker.joining(&joined.name) == entry.agent {
                String::new()
            } else {
                format!("#{}", entry.agent)
            };
            let mut words = format!("@ {}{id} joins", joined.name);
            if joined.primary {
                words += " primary";
            }
            if let Some(route) = joined.route.as_ref().filter(|route| is_name(route)) {
                let _ = write!(words, " route={route}");
            }
            for (setting, names) in [("tools", &joined.tools), ("widgets", &joined.widgets)] {
                if !names.is_empty() && names.iter().all(|name| is_name(name)) {
                    let _ = write!(words, " {setting}={}", names.join(","));
                }
            }
            or_bare(words, &joined.description)
        }
        Fact::AgentLeft(left) => or_bare(format!("@ {who} leaves"), &left.reason),
        Fact::InstructionSet(set) => with(format!("@ {who} instruction"), &set.text),
        Fact::Input(input) => (input_words(entry, input, tracker), section_text(&input.sections)),
        Fact::Output(output) => output_words(who, output),
        Fact::ToolResults(_) => bare(format!("{who} results")),
        Fact::InvocationStarted(started) => {
            let to = &started.invocation;
            let mut words = format!("{who} asks {}/{}", to.provider, to.model);
            if started.purpose != Purpose::Step {
                let _ = write!(words, " for {}", word(&started.purpose));
            }
            bare(words)
        }
        Fact::InvocationFailed(failed) => {
            or_bare(format!("{who} failed {}", word(&failed.kind)), &failed.message)
        }
        Fact::ToolStarted(started) => {
            let call = call_words(entry, started.call, tracker);
            bare(format!("{call} starts {}", word(&started.effect)))
        }
        Fact::ToolFinished(finished) => {
            let call = call_thread(entry, finished.call, tracker);
            let words = format!("{} {call} {}", finished.name, status_word(finished.status));
            (words, section_text(&finished.result))
        }
        Fact::ApprovalAsked(asked) => {
            let call = call_words(entry, asked.call, tracker);
            bare(format!("{call} asked until {}", asked.until))
        }
        Fact::ApprovalGiven(given) => {
            let answer = match given.answer {
                Answer::Allow => "allowed",
                Answer::Deny => "denied",
            };
            bare(format!("{} {answer}", call_words(entry, given.call, tracker)))
        }
        Fact::PolicySet(policy) => {
            let words = format!("policy {} {}", policy.tool, word(&policy.verdict));
            (words, policy.arguments.as_deref().map(quote))
        }
        Fact::WidgetChanged(changed) => {
            let words = format!("{who} changes {}{}", changed.widget, after(changed.call));
            with(words, &changed.change)
        }
        Fact::AgentCalled(called) => {
            let how = match called.mode {
                CallMode::Ask => "calls",
                CallMode::Send => "sends",
            };
            bare(format!("{who} {} {how} {}", called.call, tracker.name(called.child)))
        }
        Fact::AgentReturned(returned) => {
            let call = call_thread(entry, returned.call, tracker);
            bare(format!("{} returns to {call}", tracker.name(returned.child)))
        }
        Fact::TimerSet(set) => {
            let every = set.every_ms.map(|every| format!(" every {every}ms")).unwrap_or_default();
            or_bare(format!("{who} timer {}{every}{}", set.when, after(set.call)), &set.text)
        }
        Fact::TimerCleared(cleared) => bare(format!("timer {} cleared", cleared.timer)),
        Fact::TurnEnded(ended) => {
            or_bare(format!("{who} ends {}", reason_word(ended.reason)), &ended.detail)
        }
        Fact::Recap(recap) => {
            let how = if recap.asked { "recap-asked" } else { "recap" };
            let words = format!("{who} {how} {}..{}", recap.from, recap.to);
            (words, recap.text.as_deref().map(quote))
        }
        Fact::Pinned(pinned) => {
            bare(format!("{} {}", if pinned.on { "pin" } else { "unpin" }, pinned.seq))
        }
        Fact::Described(described) => {
            ("described".to_owned(), described.title.as_deref().map(quote))
        }
        Fact::Rewound(rewound) => bare(format!("rewind {}", rewound.to)),
        Fact::Forked(forked) => bare(format!("fork {}", forked.from)),
        Fact::Moved(moved) => ("moved".to_owned(), moved.to.as_deref().map(quote)),
        Fact::WorkspaceSet(set) => with("workspace".to_owned(), &set.path),
        Fact::FileChanged(changed) => with(
            format!("{} changes file", call_words(entry, changed.call, tracker)),
            &changed.path,
        ),
        Fact::AuthorityReset(_) => bare("authority reset".to_owned()),
        Fact::Note(note) => with(format!("note {}", note.category), &note.text),
        Fact::Unrecognised(_) => bare(String::new()),
    }
}

fn input_words(entry: &Entry, input: &Input, tracker: &Tracker) -> String {
    let whom = tracker.name(entry.agent);
    match &input.from {
        Sender::Person { .. } => match input.to {
            Address::Primary | Address::All if entry.agent == tracker.primary() => {
                "user".to_owned()
            }
            Address::Primary | Address::All | Address::Agent(_) => format!("user to {whom}"),
        },
        Sender::Agent { agent, call } => {
            format!("{}{} to {whom}", tracker.name(*agent), after(*call))
        }
        Sender::System => format!("system to {whom}"),
        Sender::Timer { set } => format!("timer {set} to {whom}"),
    }
}

fn output_words(who: String, output: &Output) -> (String, Option<String>) {
    let words = match output.stop {
        Stop::Done => who,
        Stop::Length | Stop::Refusal | Stop::Blocked | Stop::Paused => {
            format!("{who} ({})", word(&output.stop))
        }
    };
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &output.blocks {
        match block {
            Block::Text(said) if text.is_empty() && calls.is_empty() => text = quote(&said.text),
            Block::ToolCall(call) => calls.push(call_text(call)),
            Block::Text(_) | Block::Thinking(_) | Block::Foreign(_) => {}
        }
    }
    if !calls.is_empty() {
        let space = if text.is_empty() { "" } else { " " };
        text = format!("{text}{space}→ {}", calls.join(" | "));
    }
    (words, Some(text))
}

fn call_text(call: &ToolCall) -> String {
    let id = call.provider_id.as_ref().map(|id| format!("#{id}")).unwrap_or_default();
    let cut = if call.complete { "" } else { "!" };
    let space = if call.arguments.is_empty() { "" } else { " " };
    format!("{}{id}{cut}{space}{}", call.name, call.arguments)
}

/// A call with its tool, and its thread if it is not the one expected.
fn call_words(entry: &Entry, call: CallId, tracker: &Tracker) -> String {
    let tool = tracker.tool(call).map_or("tool", |name: &Arc<str>| name);
    format!("{tool} {}", call_thread(entry, call, tracker))
}

fn call_thread(entry: &Entry, call: CallId, tracker: &Tracker) -> String {
    if tracker.thread(call) == entry.agent {
        call.to_string()
    } else {
        format!("{call}@{}", tracker.name(entry.agent))
    }
}

fn after(call: Option<CallId>) -> String {
    call.map(|call| format!(" {call}")).unwrap_or_default()
}

/// The text of sections that are made from it alone.
fn section_text(sections: &[Section]) -> Option<String> {
    match sections {
        [only] if Section::text(Arc::clone(&only.text)) == *only => Some(quote(&only.text)),
        _ => None,
    }
}
