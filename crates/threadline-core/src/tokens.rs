//! Counting tokens.

mod estimate;

pub use estimate::Estimator;

/// Counts the tokens of a text. Counts are estimates for budgets; a provider's usage is the truth.
pub trait TokenCounter: Send + Sync {
    /// Its name and version, kept with what it counted.
    fn id(&self) -> &str;

    /// The tokens of a text.
    fn count(&self, text: &str) -> u32;
}
