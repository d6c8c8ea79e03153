//! When a lease must be renewed, and until when this process may rely on it.

use std::time::Duration;

use threadline_core::store::StoreError;
use tokio::time::Instant;

/// How long to wait before a renewal that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The times of one lease, by this process's clock.
///
/// The store counts the lease from the moment it writes it, which is not before the request was sent. So
/// this process counts from the request, never from the answer.
#[derive(Debug)]
pub(crate) struct LeaseTimer {
    term: Duration,
    valid_until: Instant,
    state: Renewal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewal {
    /// It is to be renewed then.
    At(Instant),
    /// A renewal was requested then and has no answer yet.
    Requested(Instant),
}

/// What a renewal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// The lease is held.
    Held,
    /// It may belong to another owner.
    Lost,
}

impl LeaseTimer {
    /// A lease for which this process asked at `requested`.
    pub(crate) fn new(requested: Instant, term_ms: u64) -> Self {
        let term = Duration::from_millis(term_ms);
        let state = Renewal::At(requested + term / 3);
        Self { term, valid_until: requested + term, state }
    }

    /// When to renew it; none while a renewal is under way.
    pub(crate) fn renew_at(&self) -> Option<Instant> {
        match self.state {
            Renewal::At(at) => Some(at),
            Renewal::Requested(_) => None,
        }
    }

    /// Returns whether a renewal is to be requested now, and notes that it is.
    pub(crate) fn request_renewal(&mut self, now: Instant) -> bool {
        let is_due = self.renew_at().is_some_and(|at| at <= now);
        if is_due {
            self.state = Renewal::Requested(now);
        }
        is_due
    }

    /// Notes the answer to the renewal that was requested.
    pub(crate) fn answered(&mut self, now: Instant, error: Option<&StoreError>) -> Renewed {
        let requested = match self.state {
            Renewal::Requested(requested) => requested,
            Renewal::At(_) => now,
        };
        match error {
            None => {
                self.valid_until = requested + self.term;
                self.state = Renewal::At(requested + self.term / 3);
                Renewed::Held
            }
            Some(StoreError::Fenced(_)) => Renewed::Lost,
            Some(_) if !self.is_valid(now) => Renewed::Lost,
            Some(_) => {
                self.state = Renewal::At(now + RETRY.min(self.term / 3));
                Renewed::Held
            }
        }
    }

    /// Whether no other process can hold the lease yet.
    pub(crate) fn is_valid(&self, now: Instant) -> bool {
        now < self.valid_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM_MS: u64 = 30_000;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The answer took so long that the lease had almost expired in the store.
    #[test]
    fn a_renewal_counts_from_its_request() {
        let start = Instant::now();
        let mut timer = LeaseTimer::new(start, TERM_MS);
        assert!(!timer.request_renewal(start + seconds(9)));
        assert!(timer.request_renewal(start + seconds(10)));
        assert!(!timer.request_renewal(start + seconds(11)), "one is under way");
        assert_eq!(timer.answered(start + seconds(35), None), Renewed::Held);
        assert!(timer.is_valid(start + seconds(39)));
        assert!(!timer.is_valid(start + seconds(40)));
        assert!(timer.request_renewal(start + seconds(35)), "the next one is overdue");
    }

    #[test]
    fn a_renewal_that_fails_is_tried_again_until_the_lease_expires() {
        let start = Instant::now();
        let mut timer = LeaseTimer::new(start, TERM_MS);
        for second in 10..30 {
            let now = start + seconds(second);
            assert!(timer.request_renewal(now), "at {second} s");
            assert_eq!(timer.answered(now, Some(&StoreError::Busy)), Renewed::Held);
        }
        let now = start + seconds(30);
        assert!(timer.request_renewal(now));
        assert_eq!(timer.answered(now, Some(&StoreError::Busy)), Renewed::Lost);
    }
}
