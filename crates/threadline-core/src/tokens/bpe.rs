//! Exact counts by the published vocabularies of `OpenAI`'s models.
//!
//! A vocabulary is unpacked once for a process, when something is first counted with it: that takes
//! about a tenth of a second and 24 MB. A counter itself is nothing, and making one is free.
//!
//! The time grows with the length of a text, whatever is in it, and what is remembered of one is
//! bounded: 4096 pieces for each thread that counts, 1.2 MB.

mod seams;

use std::sync::LazyLock;

use tiktoken::{CoreBpe, encoding};

use super::TokenCounter;
use seams::Seams;

static O200K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(encoding::o200k_base()));
static CL100K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(encoding::cl100k_base()));

/// Counts tokens of o200k, which outlines are counted in. It is the vocabulary of gpt-4o and later.
#[derive(Clone, Copy, Debug, Default)]
pub struct O200k;

impl O200k {
    /// Its name and version.
    pub const ID: &'static str = "o200k/1";

    /// Loads the vocabulary if it is not there yet, so that the first count need not wait for it.
    pub fn load() {
        LazyLock::force(&O200K);
    }
}

impl TokenCounter for O200k {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn count(&self, text: &str) -> u32 {
        count(&O200K, text)
    }
}

/// Counts tokens of cl100k, the vocabulary of gpt-4 and gpt-3.5.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cl100k;

impl Cl100k {
    /// Its name and version.
    pub const ID: &'static str = "cl100k/1";

    /// Loads the vocabulary if it is not there yet, so that the first count need not wait for it.
    pub fn load() {
        LazyLock::force(&CL100K);
    }
}

impl TokenCounter for Cl100k {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn count(&self, text: &str) -> u32 {
        count(&CL100K, text)
    }
}

struct Vocabulary {
    bpe: CoreBpe,
    seams: Seams,
}

impl Vocabulary {
    fn new(bpe: CoreBpe) -> Self {
        let ranks = 0..u32::try_from(bpe.vocab_size()).unwrap_or(u32::MAX);
        let seams = Seams::of(ranks.map(|rank| bpe.decode(&[rank])));
        Self { bpe, seams }
    }

    /// What looks like a special token is ordinary text: whoever writes `<|endoftext|>` ends
    /// nothing.
    fn count(&self, text: &str) -> usize {
        if text.is_ascii() {
            return self.bpe.count(text);
        }
        self.seams.parts(text).map(|part| self.bpe.count(part)).sum()
    }
}

fn count(vocabulary: &LazyLock<Vocabulary>, text: &str) -> u32 {
    // Nothing is nothing in any vocabulary, which need not be loaded to say so.
    if text.is_empty() {
        return 0;
    }
    u32::try_from(vocabulary.count(text)).unwrap_or(u32::MAX)
}
