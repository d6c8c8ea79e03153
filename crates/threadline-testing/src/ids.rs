//! Ids and choices that are a function of a seed.

use std::sync::atomic::{AtomicU64, Ordering};

use threadline_core::id::IdSource;

/// Ids that are a function of a seed.
#[derive(Debug)]
pub struct SeededIds(AtomicU64);

impl SeededIds {
    /// The ids of a seed.
    pub fn new(seed: u64) -> Self {
        // Seeds that lie next to each other must not give ids that do.
        Self(AtomicU64::new(mix(seed)))
    }
}

impl IdSource for SeededIds {
    fn random(&self) -> [u8; 16] {
        let first = self.0.fetch_add(GOLDEN.wrapping_mul(2), Ordering::SeqCst);
        let words = [mix(first), mix(first.wrapping_add(GOLDEN))];
        let mut bytes = [0; 16];
        for (byte, from) in bytes.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
            *byte = from;
        }
        bytes
    }
}

/// A small generator of choices: the same seed, the same choices.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.any() % bound }
    }

    /// A place in something of so many; 0 if it is empty.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(u64::try_from(len).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of some things.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        things.get(self.index(things.len()))
    }
}

/// The increment of the `SplitMix64` sequence.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The output function of `SplitMix64`.
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
