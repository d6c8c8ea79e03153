//! The projection: stories in the notation, and what a model sees of them.

mod digest;
mod properties;
mod rules;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::project::{DoesNotFit, Material, project};
use threadline_core::context::{Body, Context, Part, Screen, Source};
use threadline_core::history::History;
use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Block, Detail, Fact, ProjectionOptions};
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::tokens::Estimator;
use threadline_core::tool::Catalogue;
use threadline_testing::notation::{self, Story};

const ADA: AgentId = AgentId(1);

/// What was appended, by place.
#[derive(Default)]
struct Kept {
    entries: BTreeMap<Seq, Entry>,
    rows: BTreeMap<Seq, OutlineRow>,
}

impl Kept {
    fn of(batches: &[Batch]) -> Self {
        let mut kept = Self::default();
        for batch in batches {
            kept.take(batch);
        }
        kept
    }

    fn take(&mut self, batch: &Batch) {
        let entries = batch.entries.iter().map(|placed| (placed.entry.seq, placed.entry.clone()));
        self.entries.extend(entries);
        self.rows.extend(batch.rows.iter().map(|row| (row.seq, row.clone())));
    }

    /// All of an agent's thread, and its instruction.
    fn material(&self, history: &History, agent: AgentId) -> Material {
        let state = history.agent(agent);
        let mut window = Vec::new();
        let mut from = state.and_then(|state| state.row);
        while let Some(seq) = from {
            let row = self.rows[&seq].clone();
            let entry = self.entries[&seq].clone();
            let mut entries = vec![Arc::new(entry.clone())];
            if let Fact::ToolResults(sealed) = &entry.fact {
                let results = sealed.results.iter().map(|seq| self.entries[seq].clone());
                entries.extend(results.map(Arc::new));
            }
            from = row.previous;
            window.push((row, entries));
        }
        window.reverse();
        let instruction = state.and_then(|state| state.instruction).map(|(seq, _)| {
            let Fact::InstructionSet(set) = &self.entries[&seq].fact else { panic!("{seq}") };
            (seq, Arc::clone(&set.text))
        });
        Material { instruction, window, screen: None }
    }
}

fn story(text: &str) -> Story {
    notation::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A window of so many tokens, in our unit and with nothing kept free.
fn window(tokens: u64) -> ProjectionOptions {
    ProjectionOptions {
        window_tokens: tokens,
        reserve_tokens: 0,
        capacity_tokens: u64::MAX,
        factor_percent: 100,
        detail: Detail::Normal,
        screen: true,
    }
}

/// What the first agent's model sees at the end of a story, with a screen, in so many tokens.
fn projected(
    story: &Story,
    screen: Option<&str>,
    options: &ProjectionOptions,
) -> Result<Context, DoesNotFit> {
    let history = story.history();
    let mut material = Kept::of(story.batches()).material(history, ADA);
    material.screen = screen.map(Arc::from);
    project(history, ADA, &material, &Catalogue::default(), options, &Estimator)
}

/// The same as text, or why it does not fit.
fn seen(story: &Story, screen: Option<&str>, tokens: u64) -> String {
    match projected(story, screen, &window(tokens)) {
        Ok(context) => {
            assert!(context.tokens() <= tokens, "{} are over {tokens}", context.tokens());
            shown(&context)
        }
        Err(refused) => refused.to_string(),
    }
}

/// A context as text: a line for each part, with its source, level and tokens.
fn shown(context: &Context) -> String {
    let mut text = String::new();
    let system = &context.system;
    if let Some(entry) = system.entry {
        let _ = writeln!(text, "{entry} system {}: {}", system.tokens, cut(&system.text));
    }
    for part in &context.parts {
        let _ = write!(text, "{} {:?} {}: ", source(part), part.level, part.tokens);
        match &part.body {
            Body::Input(input) => {
                let _ = writeln!(text, "{}", cut(&input.text));
                show_screen(&mut text, input.screen.as_ref());
            }
            Body::Output(output) => {
                let blocks = output.blocks.iter().map(|block| match block {
                    Block::Thinking(thinking) => format!("({})", thinking.text),
                    Block::Text(text) => text.text.to_string(),
                    Block::ToolCall(call) => format!("→ {} {}", call.name, call.arguments),
                    Block::Foreign(foreign) => format!("<{}>", foreign.kind),
                });
                let blocks = blocks.collect::<Vec<_>>().join(" ");
                let _ = writeln!(text, "{} says {}", output.invocation.model, cut(&blocks));
            }
            Body::Results(results) => {
                let _ = writeln!(text, "results");
                for result in &results.results {
                    let (call, name, entry) = (result.call, &result.name, result.entry);
                    let (status, level, tokens) = (result.status, result.level, result.tokens);
                    let said = cut(&result.text);
                    let _ = writeln!(
                        text,
                        "  {entry} {call} {name} {status:?} {level:?} {tokens}: {said}"
                    );
                }
                show_screen(&mut text, results.screen.as_ref());
            }
        }
    }
    text
}

fn show_screen(text: &mut String, screen: Option<&Screen>) {
    if let Some(screen) = screen {
        let _ = writeln!(text, "  screen {}: {}", screen.tokens, cut(&screen.text));
    }
}

fn source(part: &Part) -> String {
    match part.source {
        Source::Entry(seq) => seq.to_string(),
        Source::Earlier { from, to } => format!("{from}..{to}"),
    }
}

/// A text in one line, with how long it is if it is long.
fn cut(text: &str) -> String {
    let line = text.replace('\n', "⏎");
    if line.chars().count() <= 90 {
        return line;
    }
    let head: String = line.chars().take(20).collect();
    format!("{head}… ({} bytes)", text.len())
}
