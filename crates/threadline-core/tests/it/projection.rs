//! The projection: stories in the notation, and what a model sees of them.

mod digest;
mod properties;
mod rules;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::plan::{Ask, DoesNotFit};
use threadline_core::context::{Body, Context, Material, Part, Screen, Source, render};
use threadline_core::history::History;
use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Block;
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::tokens::{Estimator, TokenCounter as _};
use threadline_core::widget::Attached;
use threadline_testing::notation::{self, Story};

const ADA: AgentId = AgentId(1);

/// What was appended, by place.
#[derive(Clone, Default)]
struct Kept {
    entries: BTreeMap<Seq, Arc<Entry>>,
    rows: BTreeMap<Seq, Arc<OutlineRow>>,
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
        let entries = batch.entries.iter().map(|placed| &placed.entry);
        self.entries.extend(entries.map(|entry| (entry.seq, Arc::clone(entry))));
        self.rows.extend(batch.rows.iter().map(|row| (row.seq, Arc::clone(row))));
    }

    /// What an agent's model is shown.
    fn material(&self, history: &History, ask: &Ask) -> Result<Material, DoesNotFit> {
        let row = |seq| self.rows.get(&seq).cloned();
        let entry = |seq| self.entries.get(&seq).cloned();
        Material::at_hand(history, ask, row, entry)
    }
}

fn story(text: &str) -> Story {
    notation::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What the first agent's model sees at the end of a story.
fn projected(story: &Story, ask: &Ask) -> Result<Context, DoesNotFit> {
    let material = Kept::of(story.batches()).material(story.history(), ask)?;
    Ok(render(&material, &ask.screens))
}

/// The same as text in so many tokens, or why it does not fit.
fn seen(story: &Story, tokens: u64) -> String {
    seen_with(story, &[], tokens)
}

/// The same with screens that were attached to entries.
fn seen_with(story: &Story, screens: &[(u64, &str)], tokens: u64) -> String {
    let screens = screens.iter().map(|(seq, text)| Attached {
        seq: Seq(*seq),
        text: (*text).into(),
        tokens: Estimator.count(text),
    });
    let ask = Ask { screens: screens.collect(), ..Ask::bare(ADA, tokens) };
    match projected(story, &ask) {
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
        let _ = write!(text, "{} {:?} {}:", source(part), part.level, part.tokens);
        if let Source::Entry(_) = part.source {
            text.push(' ');
        }
        match &part.body {
            Body::Input(input) if matches!(part.source, Source::Earlier { .. }) => {
                text.push('\n');
                for line in input.text.lines() {
                    let _ = writeln!(text, "{}", format!("  | {line}").trim_end());
                }
            }
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

/// A text of so many lines.
fn long(lines: usize) -> String {
    (0..lines).fold(String::new(), |text, n| text + &format!("    line {n} of a long text\n"))
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
