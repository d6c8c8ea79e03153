//! Where the records of entries are, as far as outlines were read: whoever reads an outline reads
//! entries of it next, and need not look for them again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered: some windows.
const PLACES_CAP: usize = 4096;

/// The numbers of records by those of their entries. A record says whose it is, so that a number
/// that is no longer right is noticed.
#[derive(Default)]
pub(super) struct Places(Mutex<BTreeMap<i64, i64>>);

impl Places {
    /// Remembers where records are.
    pub(super) fn note(&self, records: impl ExactSizeIterator<Item = (i64, i64)>) {
        let mut places = self.lock();
        if places.len() + records.len() > PLACES_CAP {
            places.clear();
        }
        places.extend(records);
    }

    /// The number of an entry's record, if it is remembered or follows from what is: the records of
    /// a log lie in its order, so that nothing is between two that are as far apart as their entries
    /// but the records of the entries between these.
    pub(super) fn of(&self, entry: i64) -> Option<i64> {
        let places = self.lock();
        let (after, its) = places.range(entry..).next()?;
        if *after == entry {
            return Some(*its);
        }
        let (before, place) = places.range(..entry).next_back()?;
        let is_dense = after - before == its - place;
        is_dense.then(|| place + (entry - before))
    }

    /// Whatever is there can be used: at worst something is looked for.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i64, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_is_known_if_nothing_else_does() {
        let places = Places::default();
        places.note([(10, 110), (14, 114), (18, 120)].into_iter());
        for (entry, place) in [(10, 110), (11, 111), (13, 113), (14, 114), (18, 120)] {
            assert_eq!(places.of(entry), Some(place), "{entry}");
        }
        for entry in [9, 15, 17, 19] {
            assert_eq!(places.of(entry), None, "{entry}");
        }
    }
}
