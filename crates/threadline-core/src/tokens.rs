//! Counting tokens.

mod bpe;
mod estimate;
pub mod media;

use std::sync::Arc;

pub use bpe::{Cl100k, O200k};
pub use estimate::Estimator;

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
