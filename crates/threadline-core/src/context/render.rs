//! Rendering: from a plan and the entries it names to the context, each part with its blame.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::fmt::Write as _;
use std::sync::Arc;

use super::plan::{
    Ask, DoesNotFit, Earlier, Outlook, Piece, Plan, Planned, RECALL, Row, Shape, ShownResult, plan,
};
use super::words::words_of;
use super::{
    Body, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen, Source,
    System,
};
use crate::history::History;
use crate::history::by_seq::BySeq;
use crate::history::entry::Entry;
use crate::history::fact::{Attachment, Block, Fact, Input, Output, Recap, ToolFinished};
use crate::history::sections::{floor_boundary, shared};
use crate::id::Seq;
use crate::outline::{OutlineRow, RowKind};
use crate::widget::Attached;

/// The version of this projection: the same version makes the same context again.
pub const PROJECTION_VERSION: u32 = 2;

/// From so many tokens on, a result that is shown already is named rather than shown again.
const SAME_LEAST_TOKENS: u32 = 24;
/// What the line takes that names it.
const SAME_TOKENS: u32 = 12;

/// What the number and the kind of an entry take before its line, in bytes.
const LINE_BYTES: usize = 20;

/// What a context is made from.
#[derive(Clone, Debug)]
pub struct Material {
    /// What is shown.
    pub plan: Plan,
    /// The entries it names, by place.
    pub entries: BySeq<Arc<Entry>>,
}

impl Material {
    /// Plans what an agent's model sees of a thread whose rows and entries are all at hand.
    pub fn at_hand(
        history: &History,
        ask: &Ask,
        row: impl Fn(Seq) -> Option<Arc<OutlineRow>>,
        entry: impl Fn(Seq) -> Option<Arc<Entry>>,
    ) -> Result<Self, DoesNotFit> {
        let mut outlook = Outlook { whole: true, ..Outlook::default() };
        let mut next = history.agent(ask.agent).and_then(|agent| agent.row);
        while let Some(row) = next.and_then(&row) {
            next = row.previous;
            outlook.rows.push(row);
        }
        let Planned::Plan(plan) = plan(history, ask, &outlook)? else {
            // Nothing is left to read: there is no more to be asked for.
            return Ok(Self { plan: Plan::empty(ask), entries: BySeq::new() });
        };
        Ok(Self { entries: BySeq::with_sealed(plan.entries(), entry), plan: *plan })
    }
}

impl Plan {
    /// The plan for a thread of which nothing is shown.
    fn empty(ask: &Ask) -> Self {
        Self {
            options: ask.options,
            instruction: None,
            pieces: Vec::new(),
            border: None,
            moved: false,
            recall: ask.recall,
            wish: None,
        }
    }

    /// The entries that it shows. Those that seal results name further ones.
    pub fn entries(&self) -> Vec<Seq> {
        let shown = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Row(row) => Some(row.seq),
            Piece::Earlier(earlier) => earlier.recap.map(|recap| recap.seq),
        });
        shown.chain(self.instruction.map(|(seq, _)| seq)).collect()
    }
}

/// Makes the context that a plan describes.
///
/// The screens are those of the agent's newest turn. What is not among the entries is left out:
/// whoever gathers them gathers all.
pub fn render(material: &Material, screens: &[Attached]) -> Context {
    let Material { plan, entries } = material;
    let (shown, alike) = (Vec::new(), BTreeMap::new());
    let mut renderer = Renderer { entries, screens, recall: plan.recall, shown, alike };
    let mut parts = Vec::with_capacity(plan.pieces.len());
    parts.extend(plan.pieces.iter().filter_map(|piece| renderer.part(piece)));
    Context { system: renderer.system(plan), parts }
}

struct Renderer<'a> {
    entries: &'a BySeq<Arc<Entry>>,
    screens: &'a [Attached],
    /// Whether the model can read entries again.
    recall: bool,
    /// Results that are shown.
    shown: Vec<Displayed<'a>>,
    /// The newest of them by what they take: only equal ones are compared.
    alike: BTreeMap<(u32, usize), usize>,
}

/// A result that is shown.
struct Displayed<'a> {
    entry: Seq,
    text: Arc<str>,
    finished: &'a ToolFinished,
    /// The one before it that takes the same.
    before: Option<usize>,
}

impl<'a> Renderer<'a> {
    /// The system message of an instruction; a blank one says nothing.
    fn system(&self, plan: &Plan) -> System {
        let Some((seq, tokens)) = plan.instruction else { return System::default() };
        let entry = Some(seq);
        if let Some(Fact::InstructionSet(set)) = self.fact(seq)
            && !set.text.trim().is_empty()
        {
            System { entry, text: Arc::clone(&set.text), tokens }
        } else {
            System { entry, ..System::default() }
        }
    }

    fn part(&mut self, piece: &Piece) -> Option<Part> {
        match piece {
            Piece::Row(row) => self.row(row),
            Piece::Earlier(earlier) => Some(self.earlier(earlier)),
        }
    }

    fn fact(&self, seq: Seq) -> Option<&Fact> {
        self.entries.get(seq).map(|entry| &entry.fact)
    }

    fn row(&mut self, row: &Row) -> Option<Part> {
        let source = Source::Entry(row.seq);
        let screen = self.screen(row);
        let more = screen.as_ref().map_or(0, |screen| screen.tokens);
        let entries = self.entries;
        let fact = &entries.get(row.seq)?.fact;
        let (level, tokens, body) = match &row.shape {
            Shape::Input(level) => {
                let input = fact.as_input()?;
                (*level, row.tokens, Body::Input(input_part(input, *level, screen)))
            }
            Shape::Output { thinking } => {
                let output = fact.as_output()?;
                let left_out = !thinking && output.blocks.iter().any(Block::is_thinking);
                let level = if left_out { Level::Recent } else { Level::Live };
                (level, row.tokens, Body::Output(output_part(output, *thinking)))
            }
            Shape::Results(levels) => {
                let Fact::ToolResults(sealed) = fact else { return None };
                let results: Vec<ResultPart> = sealed
                    .results
                    .iter()
                    .zip(levels)
                    .filter_map(|(seq, shown)| self.result(*seq, *shown))
                    .collect();
                let level = results.iter().map(|result| result.level).max();
                let tokens = results.iter().map(|result| result.tokens);
                let tokens = tokens.fold(0, u32::saturating_add);
                let body = Body::Results(ResultsPart { results, screen });
                (level.unwrap_or(Level::Gist), tokens, body)
            }
            Shape::Ended => {
                fact.as_turn_ended()?;
                let text = format!("[{}]", crate::history::gist(fact));
                (Level::Gist, row.tokens, words(text))
            }
            Shape::Quoted => {
                let said = words_of(fact, self.entries, Level::Live, "\n");
                let text = format!("{}{said}", quote_heading(row.seq));
                (Level::Live, row.tokens, words(text))
            }
        };
        Some(Part { source, level, tokens: tokens.saturating_add(more), body })
    }

    fn screen(&self, row: &Row) -> Option<Screen> {
        let attached = self.screens.iter().find(|screen| Some(screen.seq) == row.screen)?;
        Some(Screen { text: Arc::clone(&attached.text), tokens: attached.tokens })
    }

    fn result(&mut self, entry: Seq, shown: ShownResult) -> Option<ResultPart> {
        let ShownResult { level, tokens, shortened } = shown;
        let entries = self.entries;
        let finished = entries.get(entry)?.fact.as_tool_finished()?;
        let text = shared(&finished.result, level);
        let same = match level {
            Level::Gist => None,
            Level::Recent | Level::Live => self.same(entry, finished, &text, tokens),
        };
        let (text, tokens) = match (same, level) {
            (Some(same), _) => (format!("[same as seq {same}]").into(), SAME_TOKENS),
            (None, Level::Gist) => (self.with_hint(entry, text, " "), tokens),
            (None, Level::Recent) if shortened && &*finished.name != RECALL => {
                (self.with_hint(entry, text, "\n"), tokens)
            }
            (None, Level::Recent | Level::Live) => (text, tokens),
        };
        Some(ResultPart {
            call: finished.call,
            name: Arc::clone(&finished.name),
            entry,
            status: finished.status,
            text,
            attachments: attachments(finished, level),
            level,
            tokens,
        })
    }

    /// A shortened text, and how to read the whole of it.
    fn with_hint(&self, entry: Seq, text: Arc<str>, between: &str) -> Arc<str> {
        if !self.recall {
            return text;
        }
        format!("{text}{between}[recall seq {entry} gives it in full]").into()
    }

    /// An equal result that is shown already, if this one is worth naming it instead.
    fn same(
        &mut self,
        entry: Seq,
        finished: &'a ToolFinished,
        text: &Arc<str>,
        tokens: u32,
    ) -> Option<Seq> {
        if tokens < SAME_LEAST_TOKENS {
            return None;
        }
        let newest = self.alike.entry((tokens, text.len()));
        let before = match &newest {
            Place::Occupied(newest) => Some(*newest.get()),
            Place::Vacant(_) => None,
        };
        let mut alike = before.and_then(|place| self.shown.get(place));
        while let Some(shown) = alike {
            if shown.text == *text
                && shown.finished.status == finished.status
                && shown.finished.attachments == finished.attachments
            {
                return Some(shown.entry);
            }
            alike = shown.before.and_then(|place| self.shown.get(place));
        }
        newest.insert_entry(self.shown.len());
        self.shown.push(Displayed { entry, text: Arc::clone(text), finished, before });
        None
    }

    /// The section that stands for what is folded.
    fn earlier(&self, earlier: &Earlier) -> Part {
        let mut text = String::from("# Earlier\n");
        if self.recall {
            text.push_str(
                "\nFolded to a line for each entry. recall with a seq reads that entry in full, \
                 with a query it finds entries.\n",
            );
        } else {
            text.push_str("\nFolded to a line for each entry.\n");
        }
        if let Some(shown) = &earlier.recap
            && let Some(Fact::Recap(Recap { from, to, text: Some(recap), .. })) =
                self.fact(shown.seq)
        {
            let _ = write!(text, "\n[Recap of entries {from} to {to}]\n");
            let whole = recap.len();
            let share = usize::try_from(shown.share).unwrap_or(1000).min(1000);
            let end = floor_boundary(recap, whole.saturating_mul(share) / 1000);
            text.push_str(recap.get(..end).unwrap_or_default());
            if end < whole {
                let _ = write!(text, "… [the whole of it is entry {}]", shown.seq);
            }
            text.push('\n');
        }
        if let Some(unlisted) = &earlier.unlisted {
            let to = unlisted.to;
            let _ = match unlisted.exchanges {
                Some(1) => write!(text, "\n[1 earlier exchange, up to entry {to}, is not listed]"),
                Some(n) => {
                    write!(text, "\n[{n} earlier exchanges, up to entry {to}, are not listed]")
                }
                None => write!(text, "\n[exchanges up to entry {to} are not listed]"),
            };
        }
        let lines = earlier.lines.iter().map(|line| line.gist.len() + LINE_BYTES);
        text.reserve(lines.sum());
        for line in &earlier.lines {
            let _ = write!(text, "\n{} ", line.seq.0);
            for part in [said_by(line.kind), ": ", &line.gist] {
                text.push_str(part);
            }
        }
        let Earlier { from, to, tokens, .. } = *earlier;
        let body = words(text);
        Part { source: Source::Earlier { from, to }, level: Level::Gist, tokens, body }
    }
}

/// What a pinned entry is quoted under.
pub(super) fn quote_heading(seq: Seq) -> String {
    format!("[Pinned entry {seq}]\n")
}

/// Who says what a line tells.
fn said_by(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Message => "user",
        RowKind::Input => "input",
        RowKind::Output | RowKind::Answer => "you",
        RowKind::Results => "results",
        RowKind::Ended => "ended",
        RowKind::Recap => "recap",
    }
}

/// What a result shows beside its text: nothing in one line.
fn attachments(finished: &ToolFinished, level: Level) -> Vec<Attachment> {
    match level {
        Level::Gist => Vec::new(),
        Level::Recent | Level::Live => finished.attachments.clone(),
    }
}

/// Words of ours.
fn words(text: String) -> Body {
    Body::Input(InputPart { text: text.into(), attachments: Vec::new(), screen: None })
}

fn input_part(input: &Input, level: Level, screen: Option<Screen>) -> InputPart {
    let text = shared(&input.sections, level);
    InputPart { text, attachments: input.attachments.clone(), screen }
}

fn output_part(output: &Output, thinking: bool) -> OutputPart {
    let blocks = output.blocks.iter().filter(|block| thinking || !block.is_thinking());
    OutputPart {
        invocation: output.invocation.clone(),
        blocks: blocks.cloned().collect(),
        stop: output.stop,
    }
}
