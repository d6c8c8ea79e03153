//! What happened lately.

use std::collections::VecDeque;

/// How many are remembered: far more than can happen while a list is read. What a list still had from
/// before that would be refused by the store, which knows all of them.
const CAP: usize = 1024;

/// The last of some things.
#[derive(Debug)]
pub(super) struct Lately<T>(VecDeque<T>);

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Lately<T> {
    /// Remembers one more, and forgets the oldest if there are many.
    pub(super) fn note(&mut self, one: T) {
        if self.0.len() >= CAP {
            self.0.pop_front();
        }
        self.0.push_back(one);
    }

    /// Whether it was lately.
    pub(super) fn has(&self, one: &T) -> bool {
        self.0.iter().rev().any(|other| other == one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut lately = Lately::default();
        for number in 0..=CAP {
            lately.note(number);
        }
        assert!(!lately.has(&0));
        assert!((1..=CAP).all(|number| lately.has(&number)));
        assert_eq!(lately.0.len(), CAP);
    }
}
