//! Counting tokens.

mod bpe;
mod estimate;
pub mod media;

use std::sync::Arc;

pub use bpe::{Cl100k, O200k};
pub use estimate::Estimator;
use serde::{Deserialize, Serialize};

/// Who counted tokens, as a small number that a store keeps with each count.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CounterId(pub u8);

impl CounterId {
    /// The counters that are known by number; all others are 0.
    const KNOWN: [(u8, &str); 3] = [(1, "o200k"), (2, "cl100k"), (3, "estimate")];

    /// Whether a counter of this version has this number.
    pub fn is_known(self) -> bool {
        self.0 == 0 || Self::KNOWN.iter().any(|(number, _)| *number == self.0)
    }

    /// The number of a counter, by how its name begins.
    pub fn of(counter: &dyn TokenCounter) -> Self {
        let known = Self::KNOWN.iter().find(|(_, name)| counter.id().starts_with(name));
        Self(known.map_or(0, |(number, _)| *number))
    }
}

/// Counts the tokens of a text. Counts are estimates for budgets; a provider's usage is the truth.
pub trait TokenCounter: Send + Sync {
    /// Its name and version, kept with what it counted.
    fn id(&self) -> &str;

    /// The tokens of a text.
    fn count(&self, text: &str) -> u32;
}

/// The counter of an id, if this version has it: what was counted with it can be counted again.
pub fn by_id(id: &str) -> Option<Arc<dyn TokenCounter>> {
    match id {
        O200k::ID => Some(Arc::new(O200k)),
        Cl100k::ID => Some(Arc::new(Cl100k)),
        Estimator::ID => Some(Arc::new(Estimator)),
        _ => None,
    }
}
