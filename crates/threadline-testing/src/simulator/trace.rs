//! The trace: a digest of all that happened, and its text if someone wants to read it.

/// All that happened, in order.
#[derive(Debug)]
pub(super) struct Trace {
    digest: u64,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(super) fn new(kept: bool) -> Self {
        Self { digest: 0xcbf2_9ce4_8422_2325, lines: kept.then(Vec::new) }
    }

    /// Takes note of something: numbers for the digest, and words for whoever reads.
    pub(super) fn note(&mut self, at_ms: u64, numbers: &[u64], words: impl FnOnce() -> String) {
        for number in [at_ms].iter().chain(numbers) {
            self.digest = (self.digest ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{at_ms:>8} {}", words()));
        }
    }

    /// Takes note of a word for the digest.
    pub(super) fn word(word: &str) -> u64 {
        word.bytes().fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}
