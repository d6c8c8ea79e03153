//! What is measured round by round, in turns, so that what disturbs one side disturbs both.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// What something gives, and the processor time of this thread that it took: what others do on a
/// busy machine does not show in it.
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let before = thread_time();
    let done = what();
    (done, thread_time().saturating_sub(before))
}

fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// What was measured of something, round by round.
#[derive(Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
