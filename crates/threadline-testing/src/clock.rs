//! A clock that stands still until it is moved.

use std::sync::atomic::{AtomicI64, Ordering};

use threadline_core::clock::{Clock, Timestamp};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at the first moment of 2026.
    pub fn new() -> Self {
        Self::at(Timestamp::from_micros(1_767_225_600_000_000))
    }

    /// A clock that stands at a moment.
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicI64::new(moment.micros()))
    }

    /// Moves it on.
    pub fn advance_ms(&self, millis: u64) {
        self.set(self.now().plus_millis(millis));
    }

    /// Moves it, backwards too.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.micros(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}
