//! Looking at records: what each says by itself, whatever came before it.
//!
//! That is most of the work of verifying. Threads share it, and do it for some pages while another
//! is folded.

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, available_parallelism};

use crate::history::Counts;
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::record::{Record, UnreadableRecord};
use crate::search;
use crate::tokens::TokenCounter;

/// The most threads that look at records.
const THREADS_CAP: usize = 4;
/// How many records a thread takes at a time.
const BLOCK: usize = 32;

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

/// Those who look at records: whoever asks, and threads that help. They end with it.
pub(super) struct Lookers {
    /// Looks into records if there is one.
    counter: Option<Arc<dyn TokenCounter>>,
    /// How many there may be.
    threads: usize,
    helpers: Vec<Sender<Arc<Sheaf>>>,
}

impl Lookers {
    /// Looks at records; into them if a counter is given.
    pub(super) fn new(counter: Option<Arc<dyn TokenCounter>>) -> Self {
        let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS_CAP);
        Self { counter, threads, helpers: Vec::new() }
    }

    /// Begins to look at records that follow the hash `previous`.
    pub(super) fn begin(&mut self, records: Vec<Record>, previous: Digest) -> Arc<Sheaf> {
        let sheaf = Arc::new(Sheaf {
            blocks: records.len().div_ceil(BLOCK),
            records,
            previous,
            counter: self.counter.clone(),
            next: AtomicUsize::new(0),
            looked: Mutex::default(),
            progress: Condvar::new(),
        });
        let wanted = self.threads.min(sheaf.blocks).saturating_sub(1);
        while self.helpers.len() < wanted {
            let (sender, sheaves) = channel();
            // One that is not to be had is done without.
            if Builder::new().spawn(move || help(&sheaves)).is_err() {
                break;
            }
            self.helpers.push(sender);
        }
        for helper in &self.helpers {
            // One that has ended is done without, too.
            drop(helper.send(Arc::clone(&sheaf)));
        }
        sheaf
    }
}

fn help(sheaves: &Receiver<Arc<Sheaf>>) {
    while let Ok(sheaf) = sheaves.recv() {
        sheaf.work();
    }
}

/// Records that are looked at together.
pub(super) struct Sheaf {
    pub(super) records: Vec<Record>,
    previous: Digest,
    counter: Option<Arc<dyn TokenCounter>>,
    /// The next block to look at, and how many there are. Each thread takes block after block, so
    /// that one that gets little time holds nobody up.
    next: AtomicUsize,
    blocks: usize,
    looked: Mutex<Looked>,
    progress: Condvar,
}

/// What has been seen so far.
#[derive(Default)]
struct Looked {
    blocks: Vec<(usize, Vec<Look>)>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Sheaf {
    /// Helps until all is looked at; gives what was seen, in order.
    pub(super) fn finish(&self) -> impl Iterator<Item = Look> + use<> {
        self.work();
        let done =
            |looked: &mut Looked| looked.blocks.len() < self.blocks && looked.panic.is_none();
        let looked = self.progress.wait_while(self.looked(), done);
        let looked = std::mem::take(&mut *looked.unwrap_or_else(PoisonError::into_inner));
        if let Some(panic) = looked.panic {
            resume_unwind(panic);
        }
        let mut blocks = looked.blocks;
        blocks.sort_unstable_by_key(|(number, _)| *number);
        blocks.into_iter().flat_map(|(_, looks)| looks)
    }

    /// Looks at blocks that nobody looks at, until there are none.
    fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.blocks {
                return;
            }
            let looks = catch_unwind(AssertUnwindSafe(|| self.look(number)));
            let mut looked = self.looked();
            match looks {
                Ok(looks) => looked.blocks.push((number, looks)),
                Err(panic) => looked.panic = Some(panic),
            }
            self.progress.notify_all();
        }
    }

    fn look(&self, number: usize) -> Vec<Look> {
        let (before, rest) = self.records.split_at((number * BLOCK).min(self.records.len()));
        let previous = before.last().map_or(self.previous, |last| last.hash);
        let block = rest.get(..BLOCK).unwrap_or(rest);
        let before = std::iter::once(previous).chain(block.iter().map(|record| record.hash));
        let look = |(record, previous): (&Record, Digest)| Look {
            follows: record.follows(previous),
            inside: self.counter.as_ref().map(|counter| inside(record, &**counter)),
        };
        block.iter().zip(before).map(look).collect()
    }

    fn looked(&self) -> MutexGuard<'_, Looked> {
        // Nothing panics while it is held.
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn inside(record: &Record, counter: &dyn TokenCounter) -> Result<Inside, UnreadableRecord> {
    let entry = record.open()?;
    let counts = Counts::of(&entry.fact, counter);
    let words = search::entry_checksum(&entry);
    Ok(Inside { entry, counts, words })
}
