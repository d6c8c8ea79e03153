//! Exchanges: an output with its sealed results and the inputs just before it.

use std::sync::Arc;

use super::{More, Planner, Stop};
use crate::id::Seq;
use crate::outline::{OutlineRow, RowKind};

/// An exchange of the thread, by its rows.
pub(super) struct Exchange<'a> {
    /// Which it is, from 1 on.
    pub(super) number: u32,
    /// Where it is in the outline: newest first, and with what is not shown. Never without a row
    /// that is.
    span: &'a [Arc<OutlineRow>],
    /// The output whose calls are not sealed, which is not shown.
    unsealed: Option<Seq>,
    /// The running sum of tokens where it begins.
    pub(super) start: u64,
    /// Whether it belongs to the newest turn.
    pub(super) current: bool,
    /// Where it ends in the outline.
    pub(super) place: usize,
}

impl<'a> Exchange<'a> {
    /// Its rows, oldest first.
    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = &'a OutlineRow> + use<'a> {
        let unsealed = self.unsealed;
        let rows = self.span.iter().rev().map(|row| &**row);
        rows.filter(move |row| row.kind.is_in_exchange() && Some(row.seq) != unsealed)
    }

    /// At most so many rows.
    pub(super) fn most_rows(&self) -> usize {
        self.span.len()
    }

    pub(super) fn first(&self) -> Seq {
        self.rows().next().map_or(Seq::ZERO, |row| row.seq)
    }

    pub(super) fn last(&self) -> Seq {
        self.rows().next_back().map_or(Seq::ZERO, |row| row.seq)
    }

    /// Its output, if it has one.
    pub(super) fn output(&self) -> Option<&'a OutlineRow> {
        self.rows().find(|row| row.kind.is_output())
    }

    /// Whether it has its output, or ended without one.
    pub(super) fn is_answered(&self) -> bool {
        self.rows().any(|row| match row.kind {
            RowKind::Output | RowKind::Answer | RowKind::Ended => true,
            RowKind::Message | RowKind::Input | RowKind::Results | RowKind::Recap => false,
        })
    }
}

/// Goes through the exchanges of a thread, newest first.
pub(super) struct Exchanges<'p, 'a> {
    planner: &'p Planner<'a>,
    place: usize,
}

impl<'p, 'a> Exchanges<'p, 'a> {
    /// All from the newest on that ends at or before a place in the outline.
    pub(super) fn from(planner: &'p Planner<'a>, place: usize) -> Self {
        Self { planner, place }
    }

    /// The next older exchange; none at the beginning of the thread.
    pub(super) fn next(&mut self) -> Result<Option<Exchange<'a>>, Stop> {
        let outline = &self.planner.outlook.rows;
        let unsealed = self.planner.unsealed;
        let mut first: Option<&OutlineRow> = None;
        let mut number = None;
        let place = self.place;
        loop {
            let Some(row) = outline.get(self.place) else {
                if !self.planner.outlook.whole {
                    return Err(Stop::More(More::Path));
                }
                break;
            };
            if !row.kind.is_in_exchange() {
                self.place += 1;
                continue;
            }
            if number.is_some_and(|number| row.exchange != number) {
                if first.is_none() {
                    number = None;
                    continue;
                }
                break;
            }
            number = Some(row.exchange);
            self.place += 1;
            if Some(row.seq) != unsealed {
                first = Some(row);
            }
        }
        let Some(first) = first else { return Ok(None) };
        let span = outline.get(place..self.place).unwrap_or_default();
        let current = self.planner.is_current(first);
        let start = self.planner.sum_before(self.place, current.then_some(first.seq));
        let number = number.unwrap_or(0);
        Ok(Some(Exchange { number, span, unsealed, start, current, place }))
    }
}

impl Planner<'_> {
    /// Whether a row belongs to the newest turn.
    fn is_current(&self, row: &OutlineRow) -> bool {
        self.turn.is_some_and(|turn| row.turn == turn.start)
    }

    /// The running sum at the end of what is older than a place in the outline: of the newest turn,
    /// if this row of it comes next.
    fn sum_before(&self, place: usize, current: Option<Seq>) -> u64 {
        let older = self.outlook.rows.get(place);
        let (recent, live) = older.map_or((0, 0), |row| (row.recent_sum, row.live_sum));
        current.map_or(recent, |next| self.sum_in_turn(live, next))
    }

    /// The running sum in the newest turn before an entry, by the sum at the levels of such a turn
    /// and the screens that were attached until then.
    pub(super) fn sum_in_turn(&self, live: u64, before: Seq) -> u64 {
        let screens = self.screens.iter().filter(|screen| screen.seq < before);
        let screens: u64 = screens.map(|screen| u64::from(screen.tokens)).sum();
        let within = live.saturating_sub(self.before_turn.live).saturating_add(screens);
        self.before_turn.recent.saturating_add(within)
    }

    /// The running sum at the end of the thread.
    pub(super) fn tail(&self) -> Result<u64, Stop> {
        match self.outlook.rows.first() {
            Some(newest) if self.is_current(newest) => {
                Ok(self.sum_in_turn(newest.live_sum, Seq(u64::MAX)))
            }
            Some(newest) => Ok(newest.recent_sum),
            None if self.outlook.whole => Ok(0),
            None => Err(Stop::More(More::Path)),
        }
    }
}
