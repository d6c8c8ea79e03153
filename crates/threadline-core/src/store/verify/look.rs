//! Looking at records: what each says by itself, whatever came before it.
//!
//! That is most of the work of verifying, and it can be shared between threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder, available_parallelism};

use crate::history::Counts;
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::record::{Record, UnreadableRecord};
use crate::search;
use crate::tokens::TokenCounter;

/// The most threads that look at records.
const THREADS_CAP: usize = 4;
/// How many records a thread takes at a time.
const BLOCK: usize = 64;

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
) -> impl Iterator<Item = Look> {
    let blocks: Vec<_> = blocks(records, previous).collect();
    let next = AtomicUsize::new(0);
    // Each thread takes block after block, so that one that gets little time holds nobody up.
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((block, before)) = blocks.get(number) else { return done };
            done.push((number, look(block, *before, counter)));
        }
    };
    let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS_CAP);
    let others = threads.min(blocks.len()).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        // One that is not to be had is done without.
        let spawn = |_| Builder::new().spawn_scoped(scope, work).ok();
        let under_way: Vec<_> = (0..others).filter_map(spawn).collect();
        let mut done = work();
        for thread in under_way {
            done.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, looks)| looks)
}

/// Records in blocks, each with the hash before it.
fn blocks(records: &[Record], previous: Digest) -> impl Iterator<Item = (&[Record], Digest)> {
    records.chunks(BLOCK).scan(previous, |previous, block| {
        let before = block.last().map_or(*previous, |last| last.hash);
        Some((block, std::mem::replace(previous, before)))
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
