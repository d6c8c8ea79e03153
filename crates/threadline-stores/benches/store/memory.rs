//! How much memory something takes at its peak: Rust's own and SQLite's.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use mimalloc::MiMalloc;
use threadline_testing::bench::float;

/// The program's allocator, counting what is taken and not given back while someone looks: threads
/// that share their counts hold each other up.
struct Counting;

static LOOKING: AtomicBool = AtomicBool::new(false);
/// What was taken since someone looks; less than nothing where older things were given back.
static TAKEN: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn take(bytes: usize) {
    if LOOKING.load(Ordering::Relaxed) {
        // Nothing is larger than half of what can be addressed.
        let bytes = bytes.cast_signed();
        let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(taken, Ordering::Relaxed);
    }
}

fn give_back(bytes: usize) {
    if LOOKING.load(Ordering::Relaxed) {
        TAKEN.fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "an allocator cannot be written without it")]
// SAFETY: everything is left to the program's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { MiMalloc.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { MiMalloc.realloc(place, layout, size) }
    }
}

/// Someone who looks for a peak. There is one at a time.
pub(crate) struct Mark {
    sqlite: i64,
}

impl Mark {
    /// Begins to look.
    pub(crate) fn new() -> Self {
        TAKEN.store(0, Ordering::Relaxed);
        PEAK.store(0, Ordering::Relaxed);
        LOOKING.store(true, Ordering::Relaxed);
        Self { sqlite: sqlite_peak(true).0 }
    }

    /// The most bytes that were taken since: Rust's, and SQLite's.
    pub(crate) fn peak(self) -> (f64, f64) {
        LOOKING.store(false, Ordering::Relaxed);
        let rust = PEAK.load(Ordering::Relaxed).cast_unsigned();
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
