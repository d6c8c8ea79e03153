//! How much memory something takes at its peak: Rust's own and SQLite's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use threadline_testing::bench::float;

/// The system's allocator, counting what is taken and not given back.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn take(bytes: usize) {
    let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(taken, Ordering::Relaxed);
}

fn give_back(bytes: usize) {
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator cannot be written without it")]
// SAFETY: everything is left to the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// Where memory stood when a measurement began.
pub(crate) struct Mark {
    taken: usize,
    sqlite: i64,
}

impl Mark {
    /// Begins to look for the peak.
    pub(crate) fn new() -> Self {
        let taken = TAKEN.load(Ordering::Relaxed);
        PEAK.store(taken, Ordering::Relaxed);
        Self { taken, sqlite: sqlite_peak(true).0 }
    }

    /// The most bytes that were taken since: Rust's, and SQLite's.
    pub(crate) fn peak(&self) -> (f64, f64) {
        let rust = PEAK.load(Ordering::Relaxed).saturating_sub(self.taken);
        let sqlite = sqlite_peak(false).1.saturating_sub(self.sqlite);
        (float(rust), float(usize::try_from(sqlite).unwrap_or(0)))
    }
}

/// What SQLite has now, and the most it had since this was last reset.
#[expect(unsafe_code, reason = "there is no safe way to ask SQLite for this")]
fn sqlite_peak(reset: bool) -> (i64, i64) {
    // SAFETY: these two take no pointers and may be called at any time from any thread.
    unsafe {
        (
            rusqlite::ffi::sqlite3_memory_used(),
            rusqlite::ffi::sqlite3_memory_highwater(i32::from(reset)),
        )
    }
}
