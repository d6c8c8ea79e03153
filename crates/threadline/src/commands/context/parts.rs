//! The parts of what a model sees, line by line.

use serde::Serialize;
use threadline_core::context::{Body, Level, OutputPart, Part, ResultPart, Source};
use threadline_core::history::fact::{Block, Fact, Sender, Status};
use threadline_core::history::one_line;
use threadline_core::id::Seq;
use threadline_core::tool::Catalogue;

use super::bar::{Group, permille, window};
use super::sight::Sight;

/// How much of a text a line shows, in characters.
const WORDS_CAP: usize = 72;

/// A part: where it came from, how it is shown, what it takes.
#[derive(Serialize)]
pub(super) struct PartLine {
    pub(super) what: &'static str,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    pub(super) group: Group,
    pub(super) level: Option<&'static str>,
    /// Without its screen.
    pub(super) tokens: u64,
    pub(super) share_permille: u64,
    pub(super) first_words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<ResultLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) screen: Option<ScreenLine>,
}

/// The result of one call.
#[derive(Serialize)]
pub(super) struct ResultLine {
    pub(super) entry: u64,
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) status: &'static str,
    pub(super) level: &'static str,
    pub(super) tokens: u64,
    pub(super) share_permille: u64,
    pub(super) first_words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// The live screen that is attached to a part.
#[derive(Serialize)]
pub(super) struct ScreenLine {
    pub(super) tokens: u64,
    pub(super) share_permille: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// All parts, the system message and the tools first; with their texts if they are wanted.
pub(super) fn lines(sight: &Sight, texts: bool) -> Vec<PartLine> {
    let mut lines = Vec::with_capacity(sight.context.parts.len() + 2);
    lines.extend(system(sight, texts));
    lines.extend(tools(sight, texts));
    lines.extend(sight.context.parts.iter().map(|part| line(part, sight, texts)));
    lines
}

fn system(sight: &Sight, texts: bool) -> Option<PartLine> {
    let system = &sight.context.system;
    if system.text.is_empty() {
        return None;
    }
    let entry = system.entry.map(|seq| seq.0);
    let text = texts.then(|| (*system.text).to_owned());
    let own = Own { text, ..Own::new(Group::System, u64::from(system.tokens)) };
    Some(own.line(sight, "system", entry, entry, &system.text))
}

fn tools(sight: &Sight, texts: bool) -> Option<PartLine> {
    let tools = sight.catalogue.tools();
    if tools.is_empty() {
        return None;
    }
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let text = texts.then(|| described(&sight.catalogue));
    let own = Own { text, ..Own::new(Group::Tools, u64::from(sight.catalogue.tokens())) };
    Some(own.line(sight, "tools", None, None, &names.join(", ")))
}

/// What models read of each tool.
fn described(catalogue: &Catalogue) -> String {
    let tools = catalogue.tools().iter();
    let tools = tools.map(|tool| format!("{}: {}\n{}", tool.name, tool.description, tool.schema));
    tools.collect::<Vec<_>>().join("\n")
}

/// One part.
pub(super) fn line(part: &Part, sight: &Sight, texts: bool) -> PartLine {
    let screen = part.screen();
    let screen_tokens = u64::from(screen.map_or(0, |screen| screen.tokens));
    let tokens = u64::from(part.tokens) - screen_tokens;
    let whole = window(sight);
    let (from, to) = places(part.source);
    let said = said(part);
    let results = match &part.body {
        Body::Results(results) => {
            results.results.iter().map(|result| result_line(result, whole, texts)).collect()
        }
        Body::Input(_) | Body::Output(_) => Vec::new(),
    };
    let screen = screen.map(|screen| ScreenLine {
        tokens: screen_tokens,
        share_permille: permille(screen_tokens, whole),
        text: texts.then(|| (*screen.text).to_owned()),
    });
    let own = Own {
        level: Some(level(part.level)),
        text: texts.then(|| said.clone()).filter(|_| results.is_empty()),
        results,
        screen,
        ..Own::new(Group::of(part, sight), tokens)
    };
    own.line(sight, what(part, sight), Some(from.0), Some(to.0), &said)
}

/// What only some parts have.
struct Own {
    group: Group,
    tokens: u64,
    level: Option<&'static str>,
    text: Option<String>,
    results: Vec<ResultLine>,
    screen: Option<ScreenLine>,
}

impl Own {
    fn new(group: Group, tokens: u64) -> Self {
        Self { group, tokens, level: None, text: None, results: Vec::new(), screen: None }
    }

    fn line(
        self,
        sight: &Sight,
        what: &'static str,
        from: Option<u64>,
        to: Option<u64>,
        said: &str,
    ) -> PartLine {
        let Self { group, tokens, level, text, results, screen } = self;
        let share_permille = permille(tokens, window(sight));
        let first_words = one_line(said, WORDS_CAP);
        PartLine {
            what,
            from,
            to,
            group,
            level,
            tokens,
            share_permille,
            first_words,
            text,
            results,
            screen,
        }
    }
}

fn result_line(result: &ResultPart, whole: u64, texts: bool) -> ResultLine {
    let tokens = u64::from(result.tokens);
    ResultLine {
        entry: result.entry.0,
        call: result.call.to_string(),
        tool: (*result.name).to_owned(),
        status: match result.status {
            Status::Success => "success",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Unknown => "unknown",
        },
        level: level(result.level),
        tokens,
        share_permille: permille(tokens, whole),
        first_words: one_line(&result.text, WORDS_CAP),
        text: texts.then(|| (*result.text).to_owned()),
    }
}

/// The entries that a part stands for.
pub(super) fn places(source: Source) -> (Seq, Seq) {
    match source {
        Source::Entry(seq) => (seq, seq),
        Source::Earlier { from, to } => (from, to),
    }
}

/// What a part is.
pub(super) fn what(part: &Part, sight: &Sight) -> &'static str {
    let Source::Entry(seq) = part.source else { return "Earlier" };
    match &part.body {
        Body::Output(_) => "output",
        Body::Results(_) => "results",
        Body::Input(_) => sight.entries.get(seq).map_or("input", |entry| input(&entry.fact)),
    }
}

/// What an entry is that is shown to the model as an input.
fn input(fact: &Fact) -> &'static str {
    match fact {
        Fact::Input(input) => match input.from {
            Sender::Person { .. } => "user",
            Sender::Agent { .. } => "agent",
            Sender::System => "runtime",
            Sender::Timer { .. } => "timer",
        },
        Fact::TurnEnded(_) => "ended",
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
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
        | Fact::Unrecognised(_) => "quote",
    }
}

pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Gist => "gist",
        Level::Recent => "recent",
        Level::Live => "live",
    }
}

/// What a part says.
fn said(part: &Part) -> String {
    match &part.body {
        Body::Input(input) => (*input.text).to_owned(),
        Body::Output(output) => output_text(output),
        Body::Results(results) => {
            let each = results.results.iter();
            let each = each.map(|result| format!("{}: {}", result.name, result.text));
            each.collect::<Vec<_>>().join("\n")
        }
    }
}

fn output_text(output: &OutputPart) -> String {
    let blocks = output.blocks.iter().map(|block| match block {
        Block::Thinking(thinking) => format!("(thinking) {}", thinking.text),
        Block::Text(text) => (*text.text).to_owned(),
        Block::ToolCall(call) => format!("→ {} {}", call.name, call.arguments),
        Block::Foreign(foreign) => format!("[{}] {}", foreign.kind, foreign.text),
    });
    blocks.collect::<Vec<_>>().join("\n")
}
