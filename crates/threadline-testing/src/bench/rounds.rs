//! Rounds: several things measured in turns, so that what disturbs one side disturbs both.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How often something happened in a second.
pub fn rate(times: usize, elapsed: Duration) -> f64 {
    float(times) / elapsed.as_secs_f64()
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}

/// A size of a file as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "files here are far below 2^52 bytes")]
pub fn bytes(size: u64) -> f64 {
    size as f64
}

/// How long something took, in microseconds.
pub fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// What something gives, and the processor time of this thread that it took: what others do on a
/// busy machine does not show in it.
pub fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let before = time(ClockId::ThreadCPUTime);
    let done = what();
    (done, time(ClockId::ThreadCPUTime).saturating_sub(before))
}

/// The processor time that all threads of this process have taken.
pub fn process_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// What was measured of something, round by round.
#[derive(Clone, Debug, Default)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    /// Adds what a round measured.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle of all rounds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value below which a share of all rounds lies.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = (float(sorted.len()) * share).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let place = (place as usize).min(sorted.len().saturating_sub(1));
        sorted.get(place).copied().unwrap_or(f64::NAN)
    }
}

impl Extend<f64> for Rounds {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        self.0.extend(values);
    }
}
