//! The entries that were folded last: most rewinds lead to one of them or to one between them.

use std::collections::VecDeque;

use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::{Counts, History};
use crate::id::Seq;
use crate::outline::OutlineRow;
use crate::store::PAGE_CAP_BYTES;

/// The most entries that are kept.
const ENTRIES_CAP: usize = 128;

/// An entry that was folded.
pub(super) struct Folded {
    pub(super) entry: Entry,
    pub(super) hash: Digest,
    pub(super) counts: Counts,
    /// The row that is stored for it, if its sums cannot be counted again.
    pub(super) adopted: Option<OutlineRow>,
    /// What its record takes.
    pub(super) bytes: usize,
}

/// The entries that were folded last, oldest first and without a gap.
#[derive(Default)]
pub(super) struct Passed {
    entries: VecDeque<Folded>,
    bytes: usize,
}

impl Passed {
    pub(super) fn push(&mut self, folded: Folded) {
        self.bytes += folded.bytes;
        self.entries.push_back(folded);
        while self.entries.len() > ENTRIES_CAP || self.bytes > PAGE_CAP_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// Takes a state on to an entry as far as the entries after it are here.
    pub(super) fn fold_on(&self, history: &mut History, to: Seq) {
        for folded in &self.entries {
            let seq = folded.entry.seq;
            if seq > to || seq > history.head().next() {
                return;
            }
            // They were folded before, so they fold.
            if seq > history.head()
                && history.apply_or_break(&folded.entry, folded.hash, folded.counts.clone()).is_ok()
                && let Some(row) = &folded.adopted
            {
                history.adopt_sums(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::history::fact::Note;
    use crate::history::metadata::Metadata;
    use crate::history::record::GENESIS;
    use crate::id::{AgentId, EntryId};

    fn note(seq: u64, bytes: usize) -> Folded {
        let fact = Note { category: "test".into(), text: "noted".into() }.into();
        let entry = Entry {
            seq: Seq(seq),
            id: EntryId(uuid::Uuid::nil()),
            at: Timestamp::default(),
            agent: AgentId::CONVERSATION,
            cause: None,
            metadata: Metadata::new(),
            fact,
        };
        Folded { entry, hash: GENESIS, counts: Counts::default(), adopted: None, bytes }
    }

    /// How far the entries of `passed` take a history that ends at a place.
    fn reached(passed: &Passed, from: u64, to: u64) -> Seq {
        let mut history = History::new();
        for seq in 1..=from {
            let Folded { entry, hash, counts, .. } = note(seq, 1);
            history.apply_or_break(&entry, hash, counts).unwrap();
        }
        passed.fold_on(&mut history, Seq(to));
        history.head()
    }

    #[test]
    fn a_state_goes_on_through_entries_that_are_here() {
        let mut passed = Passed::default();
        (1..=200).for_each(|seq| passed.push(note(seq, 1)));
        assert_eq!(reached(&passed, 100, 150), Seq(150));
        assert_eq!(reached(&passed, 72, 200), Seq(200));
        assert_eq!(reached(&passed, 100, 100), Seq(100));
        assert_eq!(reached(&passed, 71, 150), Seq(71), "the 72nd is not here any more");
    }

    #[test]
    fn large_entries_are_not_kept() {
        let mut passed = Passed::default();
        passed.push(note(1, 1));
        passed.push(note(2, PAGE_CAP_BYTES));
        assert_eq!(reached(&passed, 1, 2), Seq(2));
        assert_eq!(reached(&passed, 0, 2), Seq(0));
        passed.push(note(3, PAGE_CAP_BYTES + 1));
        assert_eq!(reached(&passed, 2, 3), Seq(2));
    }
}
