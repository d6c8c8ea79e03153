//! The fold border: which exchanges are kept whole.
//!
//! It lies at fixed landmarks of the running sum, half a capacity apart, so that it stands still
//! while a turn grows and then moves by a block.

use std::collections::{BTreeMap, BTreeSet};

use super::exchange::{Exchange, Exchanges};
use super::levels::{Caps, kept_row};
use super::{DoesNotFit, Planner, Room, Row, Shape, Stop, name};
use crate::id::Seq;
use crate::outline::OutlineRow;
use crate::widget::Attached;

/// The exchanges that are kept, and what is known of those before them.
pub(super) struct Kept<'a> {
    /// Newest first.
    pub(super) exchanges: Vec<Shown<'a>>,
    /// The newest exchange that is folded.
    pub(super) folded: Option<Exchange<'a>>,
    /// The screen that stands with the inputs that began the turn, if their exchange is folded.
    pub(super) opening_screen: Option<Seq>,
    /// Whether the border moved within the turn.
    pub(super) moved: bool,
}

impl Kept<'_> {
    /// About as many parts as a context gets of it.
    pub(super) fn most_pieces(&self) -> usize {
        let rows = self.exchanges.iter().map(|shown| shown.pieces.len());
        rows.sum::<usize>() + 2
    }

    /// The first entry that is not folded, if any is folded.
    pub(super) fn border(&self) -> Option<Seq> {
        let folded = self.folded.as_ref()?;
        let oldest = self.exchanges.last();
        Some(oldest.map_or(folded.last().next(), |oldest| oldest.exchange.first()))
    }
}

/// An exchange that is kept.
pub(super) struct Shown<'a> {
    pub(super) exchange: Exchange<'a>,
    /// How its rows are shown, oldest first.
    pub(super) pieces: Vec<Row>,
    /// What it takes of the capacity.
    tokens: u64,
    /// What the inputs before its output take of it.
    inputs: u64,
    /// The running sum where its output begins.
    asked_at: u64,
}

/// The landmarks of a capacity.
#[derive(Clone, Copy)]
struct Landmarks {
    capacity: u64,
    block: u64,
}

impl Landmarks {
    fn new(capacity: u64) -> Self {
        Self { capacity, block: (capacity / 2).max(1) }
    }

    /// Where the border lies for a thread that ends here.
    fn border(self, tail: u64) -> u64 {
        self.at_or_after(tail.saturating_sub(self.capacity))
    }

    fn at_or_after(self, sum: u64) -> u64 {
        sum.div_ceil(self.block).saturating_mul(self.block)
    }
}

impl<'a> Planner<'a> {
    /// Decides which exchanges are kept, and how they are shown.
    pub(super) fn kept(
        &self,
        room: &Room,
        opening: &BTreeSet<Seq>,
        pinned: &BTreeMap<Seq, &OutlineRow>,
    ) -> Result<Kept<'a>, Stop> {
        let mut walk = Walk {
            planner: self,
            exchanges: Exchanges::from(self, 0),
            caps: Caps::new(self.ask.options.detail, room.capacity),
            marks: Landmarks::new(room.capacity),
            opening,
            pinned,
            seen: Vec::new(),
            sums: vec![0],
            over: false,
        };
        let count = walk.border(0, self.tail()?, None)?;
        let mut thinking_from = 0;
        for place in 0..count {
            let Some(shown) = walk.seen.get(place).filter(|shown| shown.exchange.current) else {
                break;
            };
            let Some(output) = shown.exchange.output() else { continue };
            let (asked_at, seq) = (shown.asked_at, output.seq);
            if walk.border(place, asked_at, Some(seq))? != count {
                break;
            }
            thinking_from = place + 1;
        }
        // What the model thought before the border moved goes as a whole.
        let mut moved = false;
        for shown in walk.seen.iter_mut().take(count).skip(thinking_from) {
            if shown.exchange.current && shown.exchange.output().is_some() {
                moved = true;
                shown.leave_thinking();
            }
        }
        let opening_screen = walk.opening_screen(count).map(|screen| screen.seq);
        // To say whether anything is folded takes one look further.
        if walk.seen.len() == count {
            walk.look()?;
        }
        let Walk { mut seen, .. } = walk;
        let folded = seen.drain(count.min(seen.len())..).next().map(|shown| shown.exchange);
        moved |= folded.as_ref().is_some_and(|folded| folded.current);
        Ok(Kept { exchanges: seen, folded, opening_screen, moved })
    }
}

/// A look back through a thread, as far as the border.
struct Walk<'p, 'a> {
    planner: &'p Planner<'a>,
    exchanges: Exchanges<'p, 'a>,
    caps: Caps,
    marks: Landmarks,
    opening: &'p BTreeSet<Seq>,
    pinned: &'p BTreeMap<Seq, &'p OutlineRow>,
    /// What was seen, newest first.
    seen: Vec<Shown<'a>>,
    /// What the first so many of them take of the capacity.
    sums: Vec<u64>,
    /// Whether the beginning was reached.
    over: bool,
}

impl<'a> Walk<'_, 'a> {
    /// How many exchanges, from the newest on, lie after the border when a model is asked at the
    /// end of the thread, or was asked for the output of an earlier exchange.
    fn border(&mut self, newest: usize, tail: u64, asked: Option<Seq>) -> Result<usize, Stop> {
        let unanswered = asked.is_some();
        let least = self.least(newest, unanswered)?;
        let cut = self.planner.asked_recap(asked);
        let mut mark = self.marks.border(tail);
        loop {
            let after = self.after(mark, newest)?;
            let after = after.min(self.uncovered(newest, cut));
            let count = after.max(least.preferred);
            if self.fits(newest, count, unanswered) {
                return Ok(count);
            }
            if count <= least.preferred {
                let count = least.required;
                if self.fits(newest, count, unanswered) || unanswered {
                    return Ok(count);
                }
                return Err(self.does_not_fit(count).into());
            }
            let oldest = count.checked_sub(1).and_then(|place| self.seen.get(place));
            let start = oldest.map_or(0, |oldest| oldest.exchange.start);
            mark = self.marks.at_or_after(start.saturating_add(1));
        }
    }

    /// How many exchanges begin at or after a landmark.
    fn after(&mut self, mark: u64, newest: usize) -> Result<usize, Stop> {
        while self.seen.last().is_none_or(|oldest| oldest.exchange.start >= mark) && self.look()? {}
        let before = self.seen.partition_point(|shown| shown.exchange.start >= mark);
        Ok(before.max(newest))
    }

    /// How many exchanges are not covered by a recap that someone asked for.
    fn uncovered(&self, newest: usize, covered: Seq) -> usize {
        self.seen.partition_point(|shown| shown.exchange.last() > covered).max(newest)
    }

    /// How many exchanges are kept whatever they take: what waits for an answer, the newest
    /// exchange of the turn, and, if it fits, the newest of the turn before.
    fn least(&mut self, newest: usize, unanswered: bool) -> Result<Least, Stop> {
        let mut required = newest;
        if unanswered {
            required += 1;
        } else {
            while self.at(required)?.is_some_and(|shown| !shown.exchange.is_answered()) {
                required += 1;
            }
        }
        let next = self.at(required)?.map(|shown| shown.exchange.current);
        let preferred = required + usize::from(next.is_some());
        if next == Some(true) {
            required = preferred;
        }
        Ok(Least { required, preferred })
    }

    fn at(&mut self, place: usize) -> Result<Option<&Shown<'a>>, Stop> {
        while self.seen.len() <= place && self.look()? {}
        Ok(self.seen.get(place))
    }

    /// Looks at one more exchange; tells whether there was one.
    fn look(&mut self) -> Result<bool, Stop> {
        if self.over {
            return Ok(false);
        }
        let Some(exchange) = self.exchanges.next()? else {
            self.over = true;
            return Ok(false);
        };
        let shown = self.show(exchange);
        let sum = self.sums.last().copied().unwrap_or(0).saturating_add(shown.tokens);
        self.sums.push(sum);
        self.seen.push(shown);
        Ok(true)
    }

    fn show(&self, exchange: Exchange<'a>) -> Shown<'a> {
        let current = exchange.current;
        let output = exchange.output().map(|row| row.seq);
        let (mut tokens, mut inputs, mut asked_at) = (0_u64, 0_u64, exchange.start);
        let mut pieces = Vec::with_capacity(exchange.most_rows());
        for row in exchange.rows() {
            let pinned = self.pinned.contains_key(&row.seq);
            let Some(mut piece) = kept_row(row, self.caps, current, pinned) else { continue };
            let screen = self.planner.screen_at(row.seq).filter(|_| current);
            piece.screen = screen.map(|screen| screen.seq);
            // What must be whole has its own room; only its screen counts here.
            let own = if pinned || self.opening.contains(&row.seq) { 0 } else { piece.tokens };
            let all = u64::from(own) + screen.map_or(0, |screen| u64::from(screen.tokens));
            tokens = tokens.saturating_add(all);
            if output.is_none_or(|output| row.seq < output) {
                inputs = inputs.saturating_add(all);
                if current {
                    asked_at = self.planner.sum_in_turn(row.live_sum, row.seq.next());
                }
            }
            pieces.push(piece);
        }
        Shown { exchange, pieces, tokens, inputs, asked_at }
    }

    /// Whether so many exchanges fit; of the newest only the inputs, if it was not answered.
    fn fits(&self, newest: usize, count: usize, unanswered: bool) -> bool {
        let at = |place: usize| self.sums.get(place).copied().unwrap_or(u64::MAX);
        let mut sum = at(count.min(self.seen.len())).saturating_sub(at(newest));
        if let Some(first) = self.seen.get(newest).filter(|_| unanswered) {
            sum = sum.saturating_sub(first.tokens).saturating_add(first.inputs);
        }
        let screen = self.opening_screen(count).map_or(0, |screen| u64::from(screen.tokens));
        sum.saturating_add(screen) <= self.marks.capacity
    }

    /// The screen that stands with the inputs that began the turn once their exchange is folded:
    /// the newest whose own place is.
    fn opening_screen(&self, count: usize) -> Option<&'a Attached> {
        let planner = self.planner;
        let start = planner.turn?.start;
        let border = count.checked_sub(1).and_then(|place| self.seen.get(place));
        let border = border.map_or(Seq(u64::MAX), |oldest| oldest.exchange.first());
        let mut screens = planner.screens.iter().rev().filter(|_| border > start);
        screens.find(|screen| screen.seq >= start && screen.seq < border)
    }

    fn does_not_fit(&self, count: usize) -> DoesNotFit {
        let shown = self.seen.iter().take(count);
        let tokens = shown.clone().map(|shown| shown.tokens).fold(0, u64::saturating_add);
        let screen = self.opening_screen(count).map_or(0, |screen| u64::from(screen.tokens));
        let tokens = tokens.saturating_add(screen);
        let answered = shown.clone().any(|shown| shown.exchange.is_answered());
        let what = if answered { "the newest exchange" } else { "what waits for an answer" };
        let pieces = shown.rev().flat_map(|shown| &shown.pieces);
        let seqs: Vec<Seq> = pieces.map(|piece| piece.seq).collect();
        DoesNotFit { part: name(what, &seqs), tokens, available: self.marks.capacity }
    }
}

/// How many exchanges are kept whatever they take.
struct Least {
    /// Else it does not fit.
    required: usize,
    /// If they fit.
    preferred: usize,
}

impl Shown<'_> {
    fn leave_thinking(&mut self) {
        for (piece, row) in self.pieces.iter_mut().zip(self.exchange.rows()) {
            if let Shape::Output { thinking } = &mut piece.shape {
                *thinking = false;
                piece.tokens = row.tokens.recent;
            }
        }
    }
}

impl<'a> Planner<'a> {
    /// The screen that was attached to an entry.
    fn screen_at(&self, seq: Seq) -> Option<&'a Attached> {
        self.screens.iter().find(|screen| screen.seq == seq)
    }

    /// Up to where a recap that someone asked for stands for the thread, as it was known when an
    /// output was asked for.
    fn asked_recap(&self, before: Option<Seq>) -> Seq {
        let recaps = self.history.state().recaps.iter();
        let asked = recaps.filter(|recap| recap.agent == self.ask.agent && recap.asked);
        let known = asked.filter(|recap| before.is_none_or(|before| recap.seq < before));
        known.map(|recap| recap.to).max().unwrap_or(Seq::ZERO)
    }
}
