//! Planning: what of a thread a model sees, and how much of each part, within a budget.
//!
//! A plan is made from outline rows alone: no entry is read and nothing is counted. Exchanges are
//! kept whole from the newest on; older ones are folded to a line for each entry, in one section.
//! Where the border lies is a pure function of running sums with fixed landmarks, so that within
//! a turn a request only grows, except when the border moves on by a block.

mod border;
mod earlier;
mod exchange;
mod levels;
mod limit;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::border::Kept;
pub use self::earlier::{Earlier, Line, RecapWish, ShownRecap, Unlisted};
pub use self::levels::LINE_TOKENS;
use super::Level;
use crate::history::History;
use crate::history::fact::{CallOptions, Detail, Invocation, ProjectionOptions};
use crate::history::state::{Agent, Stage, Turn};
use crate::id::{AgentId, Seq};
use crate::outline::OutlineRow;
use crate::provider::Profile;
use crate::tool::Catalogue;
use crate::widget::Attached;

/// The share of a window that folded exchanges may take.
const EARLIER_SHARE: u64 = 8;
/// The least that folded exchanges get, so that a line can say that they are there.
const EARLIER_LEAST: u64 = 64;
/// The largest share of the window that is kept free for an answer if nobody says how much.
pub const RESERVE_SHARE: u64 = 4;
/// How far reported usage may move a factor from what the profile says, in percent of it.
const FACTOR_RANGE: (u64, u64) = (50, 300);
/// Factors are quantised to this many percent.
const FACTOR_STEP: u64 = 5;
/// The tool by which a model reads again what is folded.
pub const RECALL: &str = "recall";

/// What a plan is made for: an agent, a model, and what the parts outside of the thread take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The agent.
    pub agent: AgentId,
    /// How to project. The capacity counts only if it is fixed.
    pub options: ProjectionOptions,
    /// Whether the capacity was fixed by the turn's first invocation of the model.
    pub fixed: bool,
    /// What the tools take.
    pub catalogue_tokens: u32,
    /// Whether the model can read folded entries again.
    pub recall: bool,
    /// The live screens of the agent's newest turn, oldest first.
    pub screens: Vec<Attached>,
}

impl Ask {
    /// How an agent's next context is projected for a model.
    ///
    /// Once the model was asked in this turn, as it was then; before, within the limit that it
    /// stated in an earlier one.
    pub fn new(
        history: &History,
        agent: AgentId,
        model: (&Invocation, &Profile),
        call: &CallOptions,
        catalogue: &Catalogue,
        screens: &[Attached],
    ) -> Self {
        let limit = history.limit_of(model.0);
        Self::within(history, agent, model, limit, call, catalogue, screens)
    }

    /// The same within another limit than the model stated, or none.
    pub fn within(
        history: &History,
        agent: AgentId,
        (invocation, profile): (&Invocation, &Profile),
        limit_tokens: Option<u64>,
        call: &CallOptions,
        catalogue: &Catalogue,
        screens: &[Attached],
    ) -> Self {
        let turn = history.agent(agent).and_then(|agent| agent.turn.as_ref());
        let mut frozen = turn.iter().flat_map(|turn| &turn.frozen);
        let frozen = frozen.find(|frozen| frozen.invocation == *invocation);
        let most = call.window_tokens.unwrap_or(u64::MAX);
        let window_tokens = profile.window_tokens.min(most);
        let usual = u64::from(profile.output_cap_tokens).min(window_tokens / RESERVE_SHARE);
        let fresh = || ProjectionOptions {
            window_tokens,
            reserve_tokens: call.max_output_tokens.map_or(usual, u64::from),
            capacity_tokens: 0,
            factor_percent: factor(history, invocation, profile.factor_percent),
            detail: call.detail.unwrap_or_default(),
            screen: call.screen.unwrap_or(true),
        };
        let limited = || match limit_tokens {
            Some(window) => fresh().within(window, call.max_output_tokens.is_some()),
            None => fresh(),
        };
        let options = frozen.map_or_else(limited, |frozen| frozen.options);
        Self {
            agent,
            options,
            fixed: frozen.is_some(),
            catalogue_tokens: catalogue.tokens(),
            recall: catalogue.has(RECALL),
            screens: screens.to_vec(),
        }
    }
}

impl Ask {
    /// A window of so many tokens with nothing in it but the thread, and nothing kept free.
    pub fn bare(agent: AgentId, window_tokens: u64) -> Self {
        let options = ProjectionOptions {
            window_tokens,
            reserve_tokens: 0,
            capacity_tokens: 0,
            factor_percent: 100,
            detail: Detail::Normal,
            screen: true,
        };
        let (fixed, recall, screens) = (false, true, Vec::new());
        Self { agent, options, fixed, catalogue_tokens: 0, recall, screens }
    }
}

/// A model's tokens for 100 of ours: what its profile says, corrected by what it reported.
fn factor(history: &History, invocation: &Invocation, profile: u32) -> u32 {
    let mut known = history.state().corrections.iter();
    let known = known.find(|known| known.invocation == *invocation && known.ours > 0);
    let Some(known) = known else { return profile.max(1) };
    let percent = u128::from(known.theirs) * 100 / u128::from(known.ours);
    let percent = u64::try_from(percent).unwrap_or(u64::MAX);
    let usual = u64::from(profile.max(1));
    let (least, most) = (usual * FACTOR_RANGE.0 / 100, usual * FACTOR_RANGE.1 / 100);
    let percent = percent.clamp(least.max(1), most.max(1));
    u32::try_from(percent.div_ceil(FACTOR_STEP) * FACTOR_STEP).unwrap_or(u32::MAX)
}

/// As much of a thread's outline as was read.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// The newest rows of the path, newest first, without a gap.
    pub rows: Vec<Arc<OutlineRow>>,
    /// Whether they go back to the beginning.
    pub whole: bool,
    /// Rows that were asked for by their entry; none if there is no such row on the thread's path.
    pub others: BTreeMap<Seq, Option<Arc<OutlineRow>>>,
}

impl Outlook {
    /// The row of an entry; unknown if more must be read to tell.
    fn row(&self, seq: Seq) -> Found<'_> {
        // Rows are newest first. What the path passes over is not on it.
        let place = self.rows.binary_search_by(|row| seq.cmp(&row.seq));
        if let Some(row) = place.ok().and_then(|place| self.rows.get(place)) {
            return Found::Row(row);
        }
        let oldest = self.rows.last().map(|row| row.seq);
        if self.whole || oldest.is_some_and(|oldest| seq > oldest) {
            return Found::NotOnPath;
        }
        match self.others.get(&seq) {
            Some(Some(row)) => Found::Row(row),
            Some(None) => Found::NotOnPath,
            None => Found::Unknown,
        }
    }
}

/// What is known of the row of an entry.
#[derive(Clone, Copy)]
enum Found<'a> {
    Row(&'a OutlineRow),
    NotOnPath,
    Unknown,
}

impl<'a> Found<'a> {
    fn row(self) -> Option<&'a OutlineRow> {
        match self {
            Self::Row(row) => Some(row),
            Self::NotOnPath | Self::Unknown => None,
        }
    }
}

/// What a plan needs before it can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum More {
    /// Older rows of the path.
    Path,
    /// The rows of these entries.
    Rows(Vec<Seq>),
}

/// A plan, or what it takes to make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planned {
    /// More of the outline is needed.
    More(More),
    /// What the model sees.
    Plan(Box<Plan>),
}

/// What a model sees of a thread, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How it was projected, with the capacity that was used.
    pub options: ProjectionOptions,
    /// The entry of the instruction, and its tokens.
    pub instruction: Option<(Seq, u32)>,
    /// The parts, in order.
    pub pieces: Vec<Piece>,
    /// The first entry that is not folded, if any is.
    pub border: Option<Seq>,
    /// Whether the border moved within the current turn, so that its earlier thinking is gone.
    pub moved: bool,
    /// Whether the model can read entries again.
    pub recall: bool,
    /// What a recap should stand for: exchanges that are folded and have no line.
    pub wish: Option<RecapWish>,
}

/// One part of a context, planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An entry.
    Row(Row),
    /// The folded exchanges.
    Earlier(Earlier),
}

/// An entry that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The entry.
    pub seq: Seq,
    /// How it is shown.
    pub shape: Shape,
    /// The tokens it takes, without a screen.
    pub tokens: u32,
    /// The screen that is attached to it, by the entry it was attached to.
    pub screen: Option<Seq>,
}

/// How an entry is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An input, at a level.
    Input(Level),
    /// An output, with its thinking or without.
    Output {
        /// Whether its thinking is shown.
        thinking: bool,
    },
    /// Sealed results, each at a level, with its tokens.
    Results(Vec<ShownResult>),
    /// A line on how a turn ended.
    Ended,
    /// A pinned output or results whose exchange is folded: its text alone.
    Quoted,
}

/// How one of sealed results is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownResult {
    /// At which level.
    pub level: Level,
    /// The tokens it takes.
    pub tokens: u32,
    /// Whether words say how to read the whole of it, if it can be recalled.
    pub shortened: bool,
}

/// A part that must be whole does not fit the window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{part} takes {tokens} tokens, and {available} are free; shorten it or choose a model with a larger window"
)]
pub struct DoesNotFit {
    /// Which part.
    pub part: String,
    /// The tokens it takes, in our unit.
    pub tokens: u64,
    /// The tokens that the parts before it leave free.
    pub available: u64,
}

/// Decides what a model sees, or says what of the outline it needs for that.
///
/// The result depends on the history and on what is asked for, not on how much was read.
pub fn plan(history: &History, ask: &Ask, outlook: &Outlook) -> Result<Planned, DoesNotFit> {
    let planner = Planner::new(history, ask, outlook);
    match planner.plan() {
        Ok(plan) => Ok(Planned::Plan(Box::new(plan))),
        Err(Stop::More(more)) => Ok(Planned::More(more)),
        Err(Stop::DoesNotFit(refused)) => Err(refused),
    }
}

/// What instruction, tools and parts may take together, in our unit.
pub fn budget(options: &ProjectionOptions) -> u64 {
    // A model that counts fewer tokens than we do answers more of ours.
    let reserve = options.reserve_tokens.max(ours(options, options.reserve_tokens));
    ours(options, options.window_tokens).saturating_sub(reserve)
}

/// Tokens of a model in our unit.
fn ours(options: &ProjectionOptions, tokens: u64) -> u64 {
    let tokens = u128::from(tokens) * 100 / u128::from(options.factor_percent.max(1));
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Why a plan stopped in the making.
enum Stop {
    More(More),
    DoesNotFit(DoesNotFit),
}

impl From<DoesNotFit> for Stop {
    fn from(refused: DoesNotFit) -> Self {
        Self::DoesNotFit(refused)
    }
}

/// Running sums of a thread.
#[derive(Clone, Copy, Default)]
struct Sums {
    recent: u64,
    live: u64,
}

impl Sums {
    /// Those before an input.
    fn before(row: &OutlineRow) -> Self {
        Self {
            recent: row.recent_sum.saturating_sub(u64::from(row.tokens.recent)),
            live: row.live_sum.saturating_sub(u64::from(row.tokens.live)),
        }
    }
}

/// What a plan is made from. Sums are those of the outline: the history may have been folded by
/// another counter.
struct Planner<'a> {
    history: &'a History,
    agent: Option<&'a Agent>,
    turn: Option<&'a Turn>,
    ask: &'a Ask,
    outlook: &'a Outlook,
    /// The running sums before the newest turn, by its first row, once that is known.
    before_turn: Sums,
    /// The live screens of the newest turn, if they are shown.
    screens: &'a [Attached],
    /// The output whose calls are not sealed, which is not shown.
    unsealed: Option<Seq>,
}

impl<'a> Planner<'a> {
    fn new(history: &'a History, ask: &'a Ask, outlook: &'a Outlook) -> Self {
        let agent = history.agent(ask.agent);
        let turn = agent.and_then(|agent| agent.turn.as_ref());
        let unsealed = agent.and_then(|agent| match &agent.stage {
            Stage::Calling(open) => Some(open.output),
            Stage::Resting | Stage::Asked | Stage::Sealed { .. } => None,
        });
        let first = turn.and_then(|turn| outlook.row(turn.start).row());
        let before_turn = first.map_or_else(Sums::default, Sums::before);
        let screens = if ask.options.screen { ask.screens.as_slice() } else { &[] };
        Self { history, agent, turn, ask, outlook, before_turn, screens, unsealed }
    }

    fn plan(&self) -> Result<Plan, Stop> {
        let opening = self.rows_of(self.turn.map_or(&[], |turn| &turn.opening))?;
        let pins =
            self.turn.map_or_else(Vec::new, |turn| turn.setup.pins.iter().copied().collect());
        let pinned = self.rows_of(&pins)?;
        let opening_seqs: BTreeSet<Seq> = opening.iter().map(|row| row.seq).collect();
        let pinned: BTreeMap<Seq, &OutlineRow> = pinned
            .into_iter()
            .filter(|row| row.kind.is_in_exchange() && !opening_seqs.contains(&row.seq))
            .filter(|row| Some(row.seq) != self.unsealed)
            .map(|row| (row.seq, row))
            .collect();
        let room = self.room(&opening, &pinned)?;
        let options = ProjectionOptions { capacity_tokens: room.capacity, ..self.ask.options };
        let kept = self.kept(&room, &opening_seqs, &pinned)?;
        let earlier = self.earlier(&kept, room.earlier, &opening_seqs, &pinned)?;
        let (earlier, wish) = earlier.map_or((None, None), |(earlier, wish)| (Some(earlier), wish));
        let (border, moved) = (kept.border(), kept.moved);
        let pieces = self.pieces(kept, earlier, &opening, &pinned);
        Ok(Plan {
            options,
            instruction: self.instruction(),
            pieces,
            border,
            moved,
            recall: self.ask.recall,
            wish,
        })
    }

    /// The instruction, as it was when the turn began.
    fn instruction(&self) -> Option<(Seq, u32)> {
        let agent = self.agent?;
        self.turn.map_or(agent.instruction, |turn| turn.setup.instruction)
    }

    /// The rows of some entries, as far as they are on the thread's path.
    fn rows_of(&self, seqs: &[Seq]) -> Result<Vec<&'a OutlineRow>, Stop> {
        let is_unknown = |seq: &Seq| matches!(self.outlook.row(*seq), Found::Unknown);
        let unknown = seqs.iter().copied().filter(is_unknown);
        let unknown: Vec<Seq> = unknown.collect();
        if !unknown.is_empty() {
            return Err(Stop::More(More::Rows(unknown)));
        }
        Ok(seqs.iter().filter_map(|seq| self.outlook.row(*seq).row()).collect())
    }

    /// What is left for exchanges, and for the folded ones, once all that must be whole is there.
    fn room(
        &self,
        opening: &[&OutlineRow],
        pinned: &BTreeMap<Seq, &OutlineRow>,
    ) -> Result<Room, DoesNotFit> {
        let mut free = Free(budget(&self.ask.options));
        let instruction = self.instruction().map_or(0, |(_, tokens)| tokens);
        free.take(u64::from(instruction), || "the instruction".to_owned())?;
        free.take(u64::from(self.ask.catalogue_tokens), || "the list of tools".to_owned())?;
        let began = opening.iter().map(|row| u64::from(row.tokens.live)).sum();
        let pins = pinned.values().map(|row| u64::from(levels::pinned_row(row).tokens)).sum();
        let name = |what: &str, rows: &mut dyn Iterator<Item = &&OutlineRow>| {
            name(what, &rows.map(|row| row.seq).collect::<Vec<_>>())
        };
        free.take(began, || name("what began the turn", &mut opening.iter()))?;
        free.take(pins, || name("what is pinned", &mut pinned.values()))?;
        let window = ours(&self.ask.options, self.ask.options.window_tokens);
        let earlier = (window / EARLIER_SHARE).max(EARLIER_LEAST).min(free.0);
        let capacity = free.0 - earlier;
        let fixed = self.ask.fixed.then_some(self.ask.options.capacity_tokens);
        Ok(Room { capacity: fixed.map_or(capacity, |fixed| fixed.min(capacity)), earlier })
    }

    /// All parts in their order.
    fn pieces(
        &self,
        kept: Kept<'a>,
        earlier: Option<Earlier>,
        opening: &[&OutlineRow],
        pinned: &BTreeMap<Seq, &OutlineRow>,
    ) -> Vec<Piece> {
        let start = self.turn.map_or(Seq::ZERO, |turn| turn.start);
        let border = kept.border();
        let folded = |seq: Seq| border.is_some_and(|border| seq < border);
        let turn_folded = folded(start) && !opening.is_empty();
        let folded_pins = pinned.values().filter(|row| folded(row.seq));
        let (in_turn, before): (Vec<_>, Vec<_>) =
            folded_pins.partition(|row| turn_folded && row.seq >= start);
        let quoted = |row: &&&OutlineRow| Piece::Row(levels::pinned_row(row));
        let mut pieces: Vec<Piece> = Vec::with_capacity(kept.most_pieces() + pinned.len());
        pieces.extend(before.iter().map(quoted));
        if turn_folded {
            pieces.extend(opening.iter().map(|row| {
                let mut piece = levels::whole_input(row);
                piece.screen = kept.opening_screen.filter(|_| row.seq == start);
                Piece::Row(piece)
            }));
            pieces.extend(in_turn.iter().map(quoted));
        }
        pieces.extend(earlier.map(Piece::Earlier));
        for exchange in kept.exchanges.into_iter().rev() {
            pieces.extend(exchange.pieces.into_iter().map(Piece::Row));
        }
        pieces
    }
}

/// What is left once all that must be whole is there.
struct Room {
    /// For exchanges.
    capacity: u64,
    /// For the folded ones.
    earlier: u64,
}

/// What is still free.
struct Free(u64);

impl Free {
    fn take(&mut self, tokens: u64, part: impl FnOnce() -> String) -> Result<(), DoesNotFit> {
        let available = self.0;
        let left = available.checked_sub(tokens);
        self.0 = left.ok_or_else(|| DoesNotFit { part: part(), tokens, available })?;
        Ok(())
    }
}

/// What some entries are called, for people.
fn name(what: &str, seqs: &[Seq]) -> String {
    match seqs {
        [] => what.to_owned(),
        [one] => format!("{what} (entry {one})"),
        [first, .., last] => format!("{what} (entries {first} to {last})"),
    }
}
