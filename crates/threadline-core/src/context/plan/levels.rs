//! Levels: how much of an entry is shown, which depends on its exchange alone.

use super::super::Level;
use super::{Row, Shape, ShownResult};
use crate::history::LIVE_RESULT_CAP_TOKENS;
use crate::history::fact::Detail;
use crate::history::sections::Levels;
use crate::outline::{OutlineRow, RowKind};

/// What the number and the kind of an entry take before its line, and the words around a quote.
pub const LINE_TOKENS: u32 = 10;
/// What the words take that say how to read the whole of a result that is shortened.
const RECALL_TOKENS: u32 = 12;
/// The results of one exchange may take this share of the capacity before they are lowered.
const RESULTS_SHARE: u64 = 4;

/// What the levels of an exchange depend on.
#[derive(Clone, Copy)]
pub(super) struct Caps {
    /// Up to this a result of the current turn is whole.
    live: u32,
    /// What the results of one exchange may take.
    results: u64,
}

impl Caps {
    pub(super) fn new(detail: Detail, capacity: u64) -> Self {
        let results = capacity / RESULTS_SHARE;
        match detail {
            Detail::Lean => Self { live: LIVE_RESULT_CAP_TOKENS / 2, results: results / 2 },
            Detail::Normal => Self { live: LIVE_RESULT_CAP_TOKENS, results },
            Detail::Full => Self { live: LIVE_RESULT_CAP_TOKENS * 2, results: results * 2 },
        }
    }

    /// How sealed results are shown: whole in the current turn unless they are long, else
    /// shortened; and lowered, largest first, if they take too much together.
    fn results(self, results: &[Levels<u32>], current: bool) -> Vec<(Level, u32)> {
        let mut shown: Vec<(Level, u32)> = results
            .iter()
            .map(|tokens| {
                let level =
                    if current && tokens.live <= self.live { Level::Live } else { Level::Recent };
                (level, taken(tokens, level))
            })
            .collect();
        for level in [Level::Recent, Level::Gist] {
            self.lower(results, &mut shown, level);
        }
        shown
    }

    /// Lowers results to a level, largest first, until they fit or none is left that would
    /// become smaller.
    fn lower(self, results: &[Levels<u32>], shown: &mut [(Level, u32)], to: Level) {
        let mut sum: u64 = shown.iter().map(|(_, tokens)| u64::from(*tokens)).sum();
        while sum > self.results {
            let lowered = |tokens: &Levels<u32>| taken(tokens, to);
            let smaller = shown
                .iter_mut()
                .zip(results)
                .filter(|((level, now), tokens)| *level > to && lowered(tokens) < *now);
            // The first of equals, so that it does not matter how they are looked through.
            let Some((largest, tokens)) = smaller.rev().max_by_key(|((_, now), _)| *now) else {
                return;
            };
            sum -= u64::from(largest.1 - lowered(tokens));
            *largest = (to, lowered(tokens));
        }
    }
}

/// What a result takes at a level, with the words that say how to read the whole of it.
fn taken(tokens: &Levels<u32>, level: Level) -> u32 {
    let hint = if is_shortened(tokens, level) { RECALL_TOKENS } else { 0 };
    tokens.at(level).saturating_add(hint)
}

/// Whether a result at a level is less than the whole, as far as counts tell.
fn is_shortened(tokens: &Levels<u32>, level: Level) -> bool {
    match level {
        Level::Live => false,
        Level::Recent => tokens.recent != tokens.live,
        Level::Gist => true,
    }
}

/// How a row that is kept is shown; its screen is not part of it.
pub(super) fn kept_row(row: &OutlineRow, caps: Caps, current: bool, pinned: bool) -> Option<Row> {
    let level = if current || pinned { Level::Live } else { Level::Recent };
    let (shape, tokens) = match row.kind {
        RowKind::Message | RowKind::Input => (Shape::Input(level), row.tokens.at(level)),
        RowKind::Output | RowKind::Answer => {
            let level = if current { Level::Live } else { Level::Recent };
            (Shape::Output { thinking: current }, row.tokens.at(level))
        }
        RowKind::Results if pinned => {
            let whole = row.results.iter().map(|tokens| ShownResult {
                level: Level::Live,
                tokens: tokens.live,
                shortened: false,
            });
            (Shape::Results(whole.collect()), row.tokens.live)
        }
        RowKind::Results => {
            let shown = caps.results(&row.results, current);
            let tokens = shown.iter().map(|(_, tokens)| *tokens).fold(0, u32::saturating_add);
            let shown = shown.into_iter().zip(&row.results);
            let shown = shown.map(|((level, tokens), of)| ShownResult {
                level,
                tokens,
                shortened: is_shortened(of, level),
            });
            (Shape::Results(shown.collect()), tokens)
        }
        RowKind::Ended => (Shape::Ended, row.tokens.gist.saturating_add(LINE_TOKENS)),
        RowKind::Recap => return None,
    };
    Some(Row { seq: row.seq, shape, tokens, screen: None })
}

/// A pinned entry whose exchange is folded. Kept, it takes no more.
pub(super) fn pinned_row(row: &OutlineRow) -> Row {
    match row.kind {
        RowKind::Message | RowKind::Input => whole_input(row),
        RowKind::Output | RowKind::Answer | RowKind::Results | RowKind::Ended | RowKind::Recap => {
            // Names of tools stand in its line, too, and so does what parts one call from another.
            let around = row.tokens.gist.saturating_add(LINE_TOKENS);
            let tokens = row.tokens.live.saturating_add(around);
            Row { seq: row.seq, shape: Shape::Quoted, tokens, screen: None }
        }
    }
}

/// An input as it was said.
pub(super) fn whole_input(row: &OutlineRow) -> Row {
    let (shape, tokens) = (Shape::Input(Level::Live), row.tokens.live);
    Row { seq: row.seq, shape, tokens, screen: None }
}
