//! The "Earlier" section: folded exchanges as a line for each entry, a recap for what has none,
//! and a line that says how many are not listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::border::Kept;
use super::exchange::{Exchange, Exchanges};
use super::{LINE_TOKENS, Planner, Stop};
use crate::history::state::RecapRange;
use crate::id::Seq;
use crate::outline::{OutlineRow, RowKind};

/// What the heading takes, with the words on how to read an entry.
const HEADING_TOKENS: u32 = 36;
/// What the line takes that says how many exchanges are not listed.
const UNLISTED_TOKENS: u32 = 24;
/// What a recap's heading takes.
const RECAP_TOKENS: u32 = 16;

/// The folded exchanges, as they are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The first entry it stands for.
    pub from: Seq,
    /// The last entry it stands for.
    pub to: Seq,
    /// The recap of the oldest ones.
    pub recap: Option<ShownRecap>,
    /// Those that have no line.
    pub unlisted: Option<Unlisted>,
    /// A line for each entry of the others, oldest first.
    pub lines: Vec<Line>,
    /// The tokens it takes.
    pub tokens: u32,
}

/// A recap that is shown, whole or as much of it as fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownRecap {
    /// The recap.
    pub seq: Seq,
    /// How much of its text is shown, in parts of a thousand.
    pub share: u32,
}

/// Folded exchanges that have no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// How many they are; none if that is not known.
    pub exchanges: Option<u32>,
    /// The last entry of them.
    pub to: Seq,
}

/// A folded entry in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The entry.
    pub seq: Seq,
    /// What it is.
    pub kind: RowKind,
    /// What it says.
    pub gist: Arc<str>,
}

/// What a recap should stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecapWish {
    /// The first entry.
    pub from: Seq,
    /// The last entry.
    pub to: Seq,
    /// The recap that stands for the beginning of it, if there is one.
    pub base: Option<Seq>,
    /// The last entry that the recap before it stands for, or none.
    pub after: Seq,
    /// The most tokens it should take.
    pub most_tokens: u64,
}

/// What stands for folded exchanges so far.
struct Told<'p> {
    free: u64,
    opening: &'p BTreeSet<Seq>,
    pinned: &'p BTreeMap<Seq, &'p OutlineRow>,
    /// Newest first.
    lines: Vec<Line>,
    tokens: u64,
}

impl Told<'_> {
    /// Adds the lines of an exchange, if they fit.
    fn add(&mut self, exchange: &Exchange<'_>) -> bool {
        let (opening, pinned) = (self.opening, self.pinned);
        let listed =
            |row: &&OutlineRow| !opening.contains(&row.seq) && !pinned.contains_key(&row.seq);
        let rows = exchange.rows().filter(listed);
        let tokens: u64 = rows.map(line_tokens).sum();
        if self.tokens.saturating_add(tokens) > self.free {
            return false;
        }
        self.tokens += tokens;
        let lines = exchange.rows().rev().filter(listed).map(|row| Line {
            seq: row.seq,
            kind: row.kind,
            gist: Arc::clone(&row.gist),
        });
        self.lines.extend(lines);
        true
    }
}

fn line_tokens(row: &OutlineRow) -> u64 {
    u64::from(row.tokens.gist.saturating_add(LINE_TOKENS))
}

impl<'a> Planner<'a> {
    /// What is told of the folded exchanges within a budget, and what a recap should stand for.
    pub(super) fn earlier(
        &self,
        kept: &Kept<'a>,
        budget: u64,
        opening: &BTreeSet<Seq>,
        pinned: &BTreeMap<Seq, &OutlineRow>,
    ) -> Result<Option<(Earlier, Option<RecapWish>)>, Stop> {
        let (Some(newest), Some(border)) = (kept.folded.as_ref(), kept.border()) else {
            return Ok(None);
        };
        let heading = u64::from(HEADING_TOKENS + UNLISTED_TOKENS);
        let Some(free) = budget.checked_sub(heading) else { return Ok(None) };
        let half = free / 2;
        let newest_recap = self.recap_before(border);
        let shown = self.shown_recap(newest_recap, free)?;
        let taken = shown.map_or(0, |(_, tokens)| tokens);
        let free = free.saturating_sub(taken);
        // One of which nothing fits stands for nothing.
        let recap = newest_recap.filter(|_| shown.is_some());
        let mut told = Told { free, opening, pinned, lines: Vec::new(), tokens: 0 };
        let covered = recap.map_or(Seq::ZERO, |recap| recap.to);
        let mut folded = Exchanges::from(self, newest.place);
        let mut unlisted = None;
        let mut wish = None;
        while let Some(exchange) = folded.next()? {
            if exchange.last() <= covered {
                break;
            }
            if wish.is_none() && told.tokens > half {
                // What a recap would stand for if one is wanted.
                wish = Some(exchange.last());
            }
            if !told.add(&exchange) {
                let (last, number) = (exchange.last(), exchange.number);
                let exchanges = match recap {
                    None => Some(number),
                    Some(recap) => {
                        let ends = self.rows_of(&[recap.to])?;
                        ends.first().and_then(|row| number.checked_sub(row.exchange))
                    }
                };
                unlisted = Some(Unlisted { exchanges, to: last });
                wish = wish.or(Some(last));
                break;
            }
        }
        if unlisted.is_none()
            && let Some(recap) = recap
            && self.something_before(recap.from)?
        {
            unlisted = Some(Unlisted { exchanges: None, to: recap.from.before() });
            wish = None;
        }
        let after = newest_recap.map_or(Seq::ZERO, |recap| recap.to);
        let wish = unlisted.and(wish).filter(|to| *to > after).map(|to| RecapWish {
            from: newest_recap.map_or(Seq(1), |recap| recap.from),
            to,
            base: newest_recap.map(|recap| recap.seq),
            after,
            most_tokens: half.saturating_sub(u64::from(RECAP_TOKENS)),
        });
        told.lines.reverse();
        let tokens = told.tokens.saturating_add(taken).saturating_add(heading);
        let earlier = Earlier {
            from: Seq(1),
            to: newest.last(),
            recap: shown.map(|(shown, _)| shown),
            unlisted,
            lines: told.lines,
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
        };
        Ok(Some((earlier, wish)))
    }

    /// Whether the thread has entries before one.
    fn something_before(&self, seq: Seq) -> Result<bool, Stop> {
        if seq <= Seq(1) {
            return Ok(false);
        }
        let rows = self.rows_of(&[seq])?;
        Ok(rows.first().is_none_or(|row| row.previous.is_some()))
    }

    /// The newest recap that stands for folded exchanges only.
    fn recap_before(&self, border: Seq) -> Option<RecapRange> {
        let recaps = self.history.state().recaps.iter();
        let own = recaps.filter(|recap| recap.agent == self.ask.agent && recap.to < border);
        own.max_by_key(|recap| (recap.to, recap.seq)).copied()
    }

    /// As much of a recap as fits, and the tokens of that.
    fn shown_recap(
        &self,
        recap: Option<RecapRange>,
        free: u64,
    ) -> Result<Option<(ShownRecap, u64)>, Stop> {
        let Some(recap) = recap else { return Ok(None) };
        let rows = self.rows_of(&[recap.seq])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let whole = u64::from(row.tokens.live.max(1));
        // A recap that was made for a larger window must not crowd out all lines.
        let most = (free * 3 / 4).saturating_sub(u64::from(RECAP_TOKENS));
        let share = if whole <= most { 1000 } else { most * 900 / whole };
        if share == 0 {
            return Ok(None);
        }
        let tokens = whole.min(most).saturating_add(u64::from(RECAP_TOKENS));
        let share = u32::try_from(share).unwrap_or(1000);
        Ok(Some((ShownRecap { seq: recap.seq, share }, tokens)))
    }
}
