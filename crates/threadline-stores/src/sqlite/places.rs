//! Where the records of entries are, as far as outlines were read: whoever reads an outline reads
//! entries of it next, and need not look for them again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered: some windows.
const PLACES_CAP: usize = 4096;

/// The numbers of records by those of their entries. A record says whose it is, so that a number
/// that is no longer right is noticed.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<i64, i64>>);

impl Places {
    /// Remembers where records are.
    pub(super) fn note(&self, records: impl ExactSizeIterator<Item = (i64, i64)>) {
        let mut places = self.lock();
        if places.len() + records.len() > PLACES_CAP {
            places.clear();
        }
        places.extend(records);
    }

    /// The number of an entry's record, if it is remembered.
    pub(super) fn of(&self, entry: i64) -> Option<i64> {
        self.lock().get(&entry).copied()
    }

    /// Whatever is there can be used: at worst something is looked for.
    fn lock(&self) -> MutexGuard<'_, HashMap<i64, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
