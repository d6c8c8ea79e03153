//! What an invocation could not do, by what the caller can do about it.

use std::error::Error;
use std::sync::Arc;

use crate::history::fact::FailureKind;
use crate::history::metadata::Metadata;

/// An invocation failed. Its kind says what the caller can do.
#[derive(Debug, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider that was asked.
    pub provider: Arc<str>,
    /// What the caller can do about it.
    pub kind: FailureKind,
    /// When asking again may help, if the provider said so.
    pub retry_after_ms: Option<u64>,
    /// The most tokens that the model takes, if the provider said so of a request that was too
    /// long.
    pub limit_tokens: Option<u64>,
    /// What happened, for people: without keys, and short.
    pub message: String,
    /// What the provider told along, such as its request id and the status.
    pub metadata: Metadata,
    /// What caused it.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ProviderError {
    /// Whether the same request may get an answer when it is asked again.
    ///
    /// A request that is too long is not the same request once it is shorter.
    pub const fn may_pass(&self) -> bool {
        self.kind.may_pass()
    }
}
