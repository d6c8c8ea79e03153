//! Rounds: several things measured in turns, so that what disturbs one disturbs all.

use std::time::{Duration, Instant};

/// The middle of some values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How often something happened in a second.
pub(crate) fn rate(times: usize, elapsed: Duration) -> f64 {
    float(times) / elapsed.as_secs_f64()
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// How long something took, in microseconds.
pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// What was measured of something, round by round.
#[derive(Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.0)
    }
}

/// The processor time this process has taken, in seconds, where the system tells: on a busy
/// machine it says more than a clock.
pub(crate) fn processor_seconds() -> Option<f64> {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) / TICKS)
}
