//! What is measured round by round, in turns, so that what disturbs one side disturbs both.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The value below which a share of some values lies; 0.5 asks for the middle.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (float(sorted.len()) * share).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small place")]
    let place = (place as usize).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// A size of a file as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "files here are far below 2^52 bytes")]
pub(crate) fn bytes(size: u64) -> f64 {
    size as f64
}

/// The processor time that all threads of this process have taken.
pub(crate) fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
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

    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.extend(values);
    }

    pub(crate) fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    pub(crate) fn quantile(&self, share: f64) -> f64 {
        quantile(&self.0, share)
    }
}
