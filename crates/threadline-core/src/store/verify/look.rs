//! Looking at records: what each says by itself, whatever came before it.
//!
//! That is most of the work of verifying, and it can be shared between threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, Builder, available_parallelism};

use crate::history::Counts;
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::record::{Record, UnreadableRecord};
use crate::search;
use crate::tokens::TokenCounter;

/// The most threads that look at records.
const THREADS_CAP: usize = 4;
/// The fewest records that are worth a thread of their own.
const WORTH_A_THREAD: usize = 64;

/// What a record says by itself.
pub(super) struct Look {
    /// Whether it follows the record before it, unchanged.
    pub(super) follows: bool,
    /// What is in it, if that was asked.
    pub(super) inside: Option<Result<Inside, UnreadableRecord>>,
}

/// What is in a record.
pub(super) struct Inside {
    /// The entry.
    pub(super) entry: Entry,
    /// What it takes.
    pub(super) counts: Counts,
    /// The checksum of its words, if it has any.
    pub(super) words: Option<u64>,
}

/// Looks at records that follow the hash `previous`; into them if a counter is given.
pub(super) fn look_at(
    records: &[Record],
    previous: Digest,
    counter: Option<&dyn TokenCounter>,
) -> Vec<Look> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS_CAP);
    let share = records.len().div_ceil(threads).max(WORTH_A_THREAD);
    let (own, others) = records.split_at(share.min(records.len()));
    thread::scope(|scope| {
        let mut previous_of_next = own.last().map_or(previous, |record| record.hash);
        let mut under_way = Vec::new();
        for part in others.chunks(share) {
            let before = previous_of_next;
            previous_of_next = part.last().map_or(before, |record| record.hash);
            let thread = Builder::new().spawn_scoped(scope, move || look(part, before, counter));
            under_way.push((part, before, thread));
        }
        let mut looks = look(own, previous, counter);
        for (part, before, thread) in under_way {
            looks.extend(match thread.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(looks)) => looks,
                Ok(Err(panic)) => resume_unwind(panic),
                // There is no further thread to be had.
                Err(_) => look(part, before, counter),
            });
        }
        looks
    })
}

fn look(records: &[Record], previous: Digest, counter: Option<&dyn TokenCounter>) -> Vec<Look> {
    let before = std::iter::once(previous).chain(records.iter().map(|record| record.hash));
    let look = |(record, previous): (&Record, Digest)| Look {
        follows: record.follows(previous),
        inside: counter.map(|counter| inside(record, counter)),
    };
    records.iter().zip(before).map(look).collect()
}

fn inside(record: &Record, counter: &dyn TokenCounter) -> Result<Inside, UnreadableRecord> {
    let entry = record.open()?;
    let counts = Counts::of(&entry.fact, counter);
    let words = search::entry_checksum(&entry);
    Ok(Inside { entry, counts, words })
}
