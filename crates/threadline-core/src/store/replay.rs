//! Replaying a whole ledger in order, rewinds included, with every rule checked.

use std::collections::{BTreeMap, VecDeque};

use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::rule::BrokenRule;
use crate::history::{Counts, History};
use crate::id::Seq;
use crate::outline::OutlineRow;

/// How many entries lie between states that are remembered for later rewinds.
const CHECKPOINT_EVERY: u64 = 256;
/// How many lie between those that are remembered for a while: most rewinds do not lead far.
const NEAR_EVERY: u64 = 32;
/// How many of those there are.
const NEAR: usize = 64;

/// A fold over a whole ledger in order.
///
/// A rewind needs the state the history had where it leads: the nearest remembered state is
/// given out by [`Replay::nearest`], and the caller folds the entries between.
pub(crate) struct Replay {
    history: History,
    checkpoints: BTreeMap<Seq, History>,
    /// Those that are remembered only for a while, the oldest first.
    near: VecDeque<Seq>,
}

impl Replay {
    pub(crate) fn new(history: History) -> Self {
        let checkpoints = BTreeMap::from([(history.head(), history.clone())]);
        Self { history, checkpoints, near: VecDeque::new() }
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn into_history(self) -> History {
        self.history
    }

    /// The last remembered state at or before an entry. No rewind lies between them.
    pub(crate) fn nearest(&self, at: Seq) -> Option<&History> {
        self.checkpoints.range(..=at).next_back().map(|(_, history)| history)
    }

    /// Takes in the next entry, with what it takes; a rewind with the state it leads to.
    ///
    /// An entry that breaks a rule may be folded in part: the caller must drop the replay or replace
    /// its state ([`Replay::restore`]).
    pub(crate) fn take(
        &mut self,
        entry: &Entry,
        hash: Digest,
        counts: Counts,
        past: Option<&History>,
    ) -> Result<Option<OutlineRow>, BrokenRule> {
        let row = if let (Some(_), Some(past)) = (entry.fact.rewinds_to(), past) {
            self.history.rewind(entry, hash, past)?;
            None
        } else {
            self.history.apply_or_break(entry, hash, counts)?
        };
        self.remember(entry);
        Ok(row)
    }

    /// The same, with the sums of the row that is stored for it.
    pub(crate) fn take_with_sums_of(
        &mut self,
        stored: &OutlineRow,
        entry: &Entry,
        hash: Digest,
        counts: Counts,
    ) -> Result<Option<OutlineRow>, BrokenRule> {
        let row = self.history.apply_or_break(entry, hash, counts)?;
        self.history.adopt_sums(stored);
        self.remember(entry);
        Ok(row)
    }

    /// Replaces the state after an entry broke a rule.
    pub(crate) fn restore(&mut self, history: History) {
        self.history = history;
    }

    fn remember(&mut self, entry: &Entry) {
        let rewound = entry.fact.rewinds_to().is_some();
        if rewound || entry.seq.0.is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoints.insert(entry.seq, self.history.clone());
        } else if entry.seq.0.is_multiple_of(NEAR_EVERY) {
            self.checkpoints.insert(entry.seq, self.history.clone());
            self.near.push_back(entry.seq);
            if self.near.len() > NEAR
                && let Some(far) = self.near.pop_front()
            {
                self.checkpoints.remove(&far);
            }
        }
    }
}
