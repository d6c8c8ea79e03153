//! One timer for all times that a drive waits for.

use std::pin::Pin;
use std::time::Duration;

use threadline_core::clock::Timestamp;
use tokio::time::{Instant, Sleep, sleep_until};

/// The longest sleep before the clock is read again: it may have been set.
const CLOCK_MS: u64 = 30_000;
/// The shortest sleep: a clock that stands still must not spin.
const LEAST_MS: u64 = 20;

/// Rings at the earliest time that was asked for, or before. It stays set from step to step, because
/// setting a timer wakes the thread that waits for all of them.
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// When it rings, until it has rung.
    set_for: Option<Instant>,
}

impl Alarm {
    pub(crate) fn new(now: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(now)), set_for: None }
    }

    /// Sets it, unless it rings by then.
    pub(crate) fn set(&mut self, next: Option<Instant>) {
        if let Some(next) = next
            && self.set_for.is_none_or(|set| next < set)
        {
            self.set_for = Some(next);
            self.sleep.as_mut().reset(next);
        }
    }

    /// Waits until it rings; for ever if it is not set.
    pub(crate) async fn ring(&mut self) {
        if self.set_for.is_none() {
            std::future::pending::<()>().await;
        }
        self.sleep.as_mut().await;
        self.set_for = None;
    }
}

/// The moment by the clock that the driver waits for next.
#[derive(Debug, Default)]
pub(crate) struct DueTimer {
    due: Option<Timestamp>,
    check_at: Option<Instant>,
}

impl DueTimer {
    /// Waits for another moment.
    pub(crate) fn set(&mut self, due: Option<Timestamp>, now: Timestamp) {
        self.due = due;
        self.restart(now);
    }

    /// Computes anew when to read the clock.
    pub(crate) fn restart(&mut self, now: Timestamp) {
        self.check_at = self.due.map(|due| {
            let ms = due.millis_since(now).clamp(LEAST_MS, CLOCK_MS);
            Instant::now() + Duration::from_millis(ms)
        });
    }

    /// When to read the clock.
    pub(crate) fn check_at(&self) -> Option<Instant> {
        self.check_at
    }
}
