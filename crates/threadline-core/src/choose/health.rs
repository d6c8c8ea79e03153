//! How models are doing, as far as one process has seen: how soon they answer, and which of them
//! failed again and again a moment ago.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::history::fact::{FailureKind, Invocation};
use crate::provider::Target;

/// After how many failures in a row a model is left alone, and for how long.
const BREAKS_AFTER: u32 = 3;
const OPEN_MS: u64 = 30_000;
/// What a new measurement weighs: one part in so many.
const WEIGHT: i128 = 4;
/// The most models that are remembered.
const MODELS_CAP: usize = 1_024;

/// How a model is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// How long it took of late until its answer began, if it was asked.
    pub latency_ms: Option<u64>,
    /// Whether the breaker is open: it failed several times in a row a moment ago.
    pub open: bool,
}

/// A source of the health of models: their latency and failures in this process.
pub trait HealthSource: Send + Sync {
    /// The health of a target.
    fn health(&self, target: &Target) -> Health;
}

/// A source that has seen nothing: every model is healthy.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllHealthy;

impl HealthSource for AllHealthy {
    fn health(&self, _target: &Target) -> Health {
        Health::default()
    }
}

/// What a process knows of how models are doing.
///
/// Whoever asks models notes what happens; time is given with what happens. A model that failed
/// three times in a row is left alone for half a minute. After that it may be asked again, and the
/// next failure opens the breaker anew, until an answer closes it.
///
/// # Example
///
/// ```
/// use threadline_core::choose::HealthBook;
/// use threadline_core::clock::Timestamp;
/// use threadline_core::history::fact::{FailureKind, Invocation};
///
/// let model = Invocation {
///     provider: "ollama".into(),
///     endpoint: "localhost".into(),
///     account: None,
///     dialect: "openai-chat".into(),
///     model: "qwen3".into(),
/// };
/// let (mut book, at) = (HealthBook::default(), Timestamp::from_micros(0));
/// for _ in 0..3 {
///     book.failed(&model, FailureKind::Unreachable, at);
/// }
/// assert!(book.health(&model, at).open);
/// assert!(!book.health(&model, at.plus_millis(30_000)).open);
/// ```
#[derive(Clone, Debug, Default)]
pub struct HealthBook(BTreeMap<Invocation, Pulse>);

/// What is known of one model.
#[derive(Clone, Copy, Debug, Default)]
struct Pulse {
    latency_ms: Option<u64>,
    failures: u32,
    open_until: Option<Timestamp>,
}

impl HealthBook {
    /// An answer began, so long after its request was sent.
    pub fn began(&mut self, model: &Invocation, latency_ms: u64) {
        self.change(model, |pulse| {
            pulse.latency_ms = Some(match pulse.latency_ms {
                None => latency_ms,
                Some(before) => averaged(before, latency_ms),
            });
        });
    }

    /// An answer came to its end.
    pub fn finished(&mut self, model: &Invocation) {
        self.change(model, |pulse| (pulse.failures, pulse.open_until) = (0, None));
    }

    /// An invocation failed.
    pub fn failed(&mut self, model: &Invocation, kind: FailureKind, at: Timestamp) {
        self.change(model, |pulse| match kind {
            FailureKind::Busy | FailureKind::Protocol | FailureKind::Unreachable => {
                pulse.failures = pulse.failures.saturating_add(1);
                if pulse.failures >= BREAKS_AFTER {
                    pulse.open_until = Some(at.plus_millis(OPEN_MS));
                }
            }
            // It is there and answers, if with a refusal.
            FailureKind::ContextTooLong
            | FailureKind::Unauthorised
            | FailureKind::QuotaSpent
            | FailureKind::Refused => (pulse.failures, pulse.open_until) = (0, None),
            FailureKind::Cancelled => {}
        });
    }

    /// How a model is doing.
    pub fn health(&self, model: &Invocation, at: Timestamp) -> Health {
        let Some(pulse) = self.0.get(model) else { return Health::default() };
        // A clock that was set back must not keep it open for longer than was meant.
        let left = pulse.open_until.map_or(0, |until| until.millis_since(at));
        Health { latency_ms: pulse.latency_ms, open: (1..=OPEN_MS).contains(&left) }
    }

    fn change(&mut self, model: &Invocation, change: impl FnOnce(&mut Pulse)) {
        if let Some(pulse) = self.0.get_mut(model) {
            change(pulse);
        } else if self.0.len() < MODELS_CAP {
            let mut pulse = Pulse::default();
            change(&mut pulse);
            self.0.insert(model.clone(), pulse);
        }
    }
}

/// An average in which what is newer weighs more.
fn averaged(before: u64, new: u64) -> u64 {
    let (before, new) = (i128::from(before), i128::from(new));
    u64::try_from(before + (new - before) / WEIGHT).unwrap_or(u64::MAX)
}
