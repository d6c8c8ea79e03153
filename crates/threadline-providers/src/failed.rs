//! What went wrong with an invocation, before it is known who was asked.

use std::sync::Arc;

use threadline_core::history::fact::FailureKind;
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::ProviderError;

/// An invocation failed: by what the caller can do, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What the caller can do about it.
    pub kind: FailureKind,
    /// What happened, for people: without keys, and short.
    pub message: String,
    /// When asking again may help, if the provider said so.
    pub retry_after_ms: Option<u64>,
    /// The most tokens that the model takes, if the provider said so of a request that was too
    /// long.
    pub limit_tokens: Option<u64>,
    /// What the provider told along, such as its request id and the status.
    pub metadata: Metadata,
}

impl Failed {
    /// A failure with nothing but its kind and words.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let (retry_after_ms, limit_tokens, metadata) = (None, None, Metadata::new());
        Self { kind, message: message.into(), retry_after_ms, limit_tokens, metadata }
    }

    /// The answer could not be read: asking again may help.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Protocol, message)
    }

    /// The error of the provider that was asked.
    pub fn of(self, provider: Arc<str>) -> ProviderError {
        let Self { kind, message, retry_after_ms, limit_tokens, metadata } = self;
        let source = None;
        ProviderError { provider, kind, retry_after_ms, limit_tokens, message, metadata, source }
    }
}
