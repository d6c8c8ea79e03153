//! What is to happen, by when; what is to happen at the same time happens in the order it came.

use std::collections::BTreeMap;

/// A queue of happenings in virtual time.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: BTreeMap<(u64, u64), T>,
    pushed: u64,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self { waiting: BTreeMap::new(), pushed: 0 }
    }

    /// Lets something happen at a time.
    pub(super) fn push(&mut self, at_ms: u64, what: T) {
        self.pushed += 1;
        self.waiting.insert((at_ms, self.pushed), what);
    }

    /// What happens next, and when.
    pub(super) fn pop(&mut self) -> Option<(u64, T)> {
        self.waiting.pop_first().map(|((at_ms, _), what)| (at_ms, what))
    }

    /// Takes out what does not happen after all.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.waiting.retain(|_, what| keep(what));
    }
}
