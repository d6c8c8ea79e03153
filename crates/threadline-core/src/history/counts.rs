//! What an entry takes and says in the outline: tokens at each level, and a line.

use std::fmt::Write as _;
use std::sync::Arc;

use super::fact::{Attachment, Block, EndReason, Fact, Output, Status, ToolFinished};
use super::sections::{self, Level, Levels, Section, Shorter};
use crate::tokens::{CounterId, TokenCounter, media};

/// The longest line in the outline, in characters.
const GIST_CAP_CHARS: usize = 160;
/// How much of a call's arguments a line shows, in characters.
const ARGUMENTS_CAP_CHARS: usize = 80;
/// How long a line may be before no more calls are added to it, in characters.
const CALLS_CAP_CHARS: usize = 320;

/// The tokens of a fact at each level, and the fact in one line; found before it is proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tokens at each level.
    pub tokens: Levels<u32>,
    /// The fact in one line, if models see it. That of a finished call has its name and how it ended.
    pub line: Arc<str>,
    /// Tokens of the line on a finished call.
    pub line_tokens: u32,
    /// Who counted.
    pub counter: CounterId,
}

impl Counts {
    /// Counts a fact. Facts that models do not see take nothing.
    pub fn of(fact: &Fact, counter: &dyn TokenCounter) -> Self {
        let count = |text: &str| counter.count(text);
        let finished = fact.as_tool_finished();
        let line = finished.map_or_else(|| gist(fact), result_gist);
        let tokens = match fact {
            Fact::Input(input) => {
                let (live, recent) = section_tokens(&input.sections, counter);
                let tokens = Levels { live, recent, gist: count(&line) };
                with_attachments(tokens, &input.attachments)
            }
            Fact::ToolFinished(finished) => {
                let (live, recent) = section_tokens(&finished.result, counter);
                let same = finished.result.iter().all(|section| section.gist == Shorter::Same);
                let gist = if same {
                    recent
                } else {
                    count(&sections::render(&finished.result, Level::Gist))
                };
                with_attachments(Levels { live, recent, gist }, &finished.attachments)
            }
            Fact::Output(output) => {
                let thinking = thinking_tokens(output, counter);
                let recent = output_tokens(output, counter);
                Levels { live: recent.saturating_add(thinking), recent, gist: count(&line) }
            }
            Fact::InstructionSet(instruction) => Levels::all(count(&instruction.text)),
            Fact::Recap(recap) => Levels::all(recap.text.as_deref().map_or(0, count)),
            Fact::TurnEnded(_) => Levels::all(count(&line)),
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
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => Levels::default(),
        };
        let line_tokens = finished.map_or(0, |_| count(&line));
        Self { tokens, line: line.into(), line_tokens, counter: CounterId::of(counter) }
    }
}

/// What a fact is, in one line.
pub(crate) fn gist(fact: &Fact) -> String {
    match fact {
        Fact::Input(input) => {
            let text = sections::render(&input.sections, Level::Gist);
            let attached = match input.attachments.len() {
                0 => String::new(),
                1 => " [1 attachment]".to_owned(),
                n => format!(" [{n} attachments]"),
            };
            one_line(&text, GIST_CAP_CHARS) + &attached
        }
        Fact::Output(output) => output_gist(output),
        Fact::TurnEnded(ended) => {
            let why = match ended.reason {
                EndReason::Cancelled => "cancelled",
                EndReason::Limit(_) => "a limit was reached",
                EndReason::Failed => "no model answered",
                EndReason::DoesNotFit => "it does not fit the window",
                EndReason::Withdrawn => "withdrawn",
            };
            let detail = if ended.detail.is_empty() {
                String::new()
            } else {
                format!(" ({})", ended.detail)
            };
            one_line(&format!("turn ended: {why}{detail}"), GIST_CAP_CHARS)
        }
        Fact::Recap(recap) => {
            one_line(&format!("recap of {} to {}", recap.from, recap.to), GIST_CAP_CHARS)
        }
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
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => String::new(),
    }
}

/// A finished call in one line.
fn result_gist(finished: &ToolFinished) -> String {
    let status = match finished.status {
        Status::Success => "ok",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Unknown => "unknown",
    };
    let text = match (&finished.result[..], &finished.error) {
        ([], Some(error)) => one_line(error, GIST_CAP_CHARS / 2),
        (result, _) => one_line(&sections::render(result, Level::Gist), GIST_CAP_CHARS / 2),
    };
    format!("{} {status}: {text}", finished.name)
}

/// Text in one line of at most so many characters.
pub fn one_line(text: &str, cap: usize) -> String {
    let mut line = String::with_capacity(text.len().min(cap) + 4);
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        // No word has more characters than bytes.
        if length + word.len() <= cap {
            line.push_str(word);
            length += word.chars().count();
            continue;
        }
        for c in word.chars() {
            if length >= cap {
                line.push('…');
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

fn output_gist(output: &Output) -> String {
    let mut line = String::new();
    for block in &output.blocks {
        if let Block::Text(text) = block
            && line.chars().count() < GIST_CAP_CHARS
        {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&one_line(&text.text, GIST_CAP_CHARS));
        }
    }
    let mut line = one_line(&line, GIST_CAP_CHARS);
    for (index, call) in output.calls().enumerate() {
        if line.chars().count() >= CALLS_CAP_CHARS {
            line.push('…');
            break;
        }
        let before = match (index, line.is_empty()) {
            (0, true) => "→ ",
            (0, false) => " → ",
            _ => ", ",
        };
        let arguments = one_line(&call.arguments, ARGUMENTS_CAP_CHARS);
        let _ = write!(line, "{before}{} {arguments}", call.name);
    }
    line
}

/// What an output takes that is shown in its own turn only.
fn thinking_tokens(output: &Output, counter: &dyn TokenCounter) -> u32 {
    let tokens = output.blocks.iter().map(|block| match block {
        Block::Thinking(thinking) => counter.count(&thinking.text),
        Block::Text(_) | Block::ToolCall(_) | Block::Foreign(_) => 0,
    });
    tokens.fold(0, u32::saturating_add)
}

/// What an output takes without its thinking.
fn output_tokens(output: &Output, counter: &dyn TokenCounter) -> u32 {
    let tokens = output.blocks.iter().map(|block| match block {
        Block::Thinking(_) => 0,
        Block::Text(text) => counter.count(&text.text),
        Block::ToolCall(call) => {
            counter.count(&call.name).saturating_add(counter.count(&call.arguments))
        }
        Block::Foreign(foreign) => counter.count(&foreign.text),
    });
    tokens.fold(0, u32::saturating_add)
}

/// What is sent along is shown unless all of it is one line.
fn with_attachments(tokens: Levels<u32>, attachments: &[Attachment]) -> Levels<u32> {
    let more = attachments.iter().map(media::most).fold(0, u32::saturating_add);
    let (live, recent) = (tokens.live.saturating_add(more), tokens.recent.saturating_add(more));
    Levels { live, recent, ..tokens }
}

/// What sections take whole, and what they take shortened.
fn section_tokens(sections: &[Section], counter: &dyn TokenCounter) -> (u32, u32) {
    let live = counter.count(&sections::render(sections, Level::Live));
    let same = sections.iter().all(|section| section.recent == Shorter::Same);
    let recent =
        if same { live } else { counter.count(&sections::render(sections, Level::Recent)) };
    (live, recent)
}
