//! The effect ledger: what was done in the world outside, whatever anyone recorded of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::history::fact::Effect;

/// All effects, by their keys.
#[derive(Debug, Default)]
pub(super) struct Effects(BTreeMap<Arc<str>, Done>);

/// What became of an effect.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) class: Effect,
    /// The attempts that were started, in order.
    pub(super) starts: Vec<u32>,
    /// How often it took effect.
    pub(super) times: u32,
    /// Runs that may still take effect, by their numbers.
    pub(super) pending: Vec<u64>,
}

impl Effects {
    /// A run is started.
    pub(super) fn start(&mut self, key: &Arc<str>, class: Effect, attempt: u32) {
        let fresh = Done { class, starts: Vec::new(), times: 0, pending: Vec::new() };
        self.0.entry(Arc::clone(key)).or_insert(fresh).starts.push(attempt);
    }

    /// A run will take effect unless it is stopped before.
    pub(super) fn expect(&mut self, key: &str, run: u64) {
        if let Some(done) = self.0.get_mut(key) {
            done.pending.push(run);
        }
    }

    /// A run takes effect, unless it was stopped before.
    pub(super) fn take_effect(&mut self, key: &str, run: u64) {
        if let Some(done) = self.0.get_mut(key)
            && done.pending.contains(&run)
        {
            done.pending.retain(|other| *other != run);
            done.times += 1;
        }
    }

    /// A run is stopped: what it has not done it never will.
    pub(super) fn stop(&mut self, key: &str, run: u64) {
        if let Some(done) = self.0.get_mut(key) {
            done.pending.retain(|other| *other != run);
        }
    }

    pub(super) fn of(&self, key: &str) -> Option<&Done> {
        self.0.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Done)> {
        self.0.iter()
    }
}
