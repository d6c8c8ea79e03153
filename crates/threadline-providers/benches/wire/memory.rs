//! How much memory something takes. Only what is asked for while something is measured is counted:
//! elsewhere, counting would slow down whoever asks for more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The system's allocator, counting what is taken and not given back.
struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static TAKEN: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn take(bytes: usize) {
    if ON.load(Ordering::Relaxed) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
        PEAK.fetch_max(taken, Ordering::Relaxed);
    }
}

fn give_back(bytes: usize) {
    if ON.load(Ordering::Relaxed) {
        TAKEN.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
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

/// Counts while it lives.
pub(crate) struct Mark(());

impl Mark {
    /// Begins to count.
    pub(crate) fn new() -> Self {
        TAKEN.store(0, Ordering::Relaxed);
        PEAK.store(0, Ordering::Relaxed);
        ON.store(true, Ordering::Relaxed);
        Self(())
    }

    /// The bytes that are taken now.
    #[expect(clippy::unused_self, reason = "nothing is counted without a mark")]
    pub(crate) fn taken(&self) -> f64 {
        float(TAKEN.load(Ordering::Relaxed))
    }

    /// The most bytes that were taken at once.
    #[expect(clippy::unused_self, reason = "nothing is counted without a mark")]
    pub(crate) fn peak(&self) -> f64 {
        float(PEAK.load(Ordering::Relaxed))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        ON.store(false, Ordering::Relaxed);
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory here is far below 2^52 bytes")]
fn float(bytes: i64) -> f64 {
    bytes as f64
}
