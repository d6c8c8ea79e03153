//! Facts about asking a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Block, Digest, Money, Usage, is_default};
use crate::id::Seq;

/// One asking of one model: where, as whom, in which protocol, which model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    /// The provider, such as `anthropic`.
    #[serde(deserialize_with = "super::shared_text")]
    pub provider: Arc<str>,
    /// The named endpoint.
    #[serde(deserialize_with = "super::shared_text")]
    pub endpoint: Arc<str>,
    /// The account at that endpoint, if it matters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub account: Option<Arc<str>>,
    /// The wire protocol.
    #[serde(deserialize_with = "super::shared_text")]
    pub dialect: Arc<str>,
    /// The model's name there.
    #[serde(deserialize_with = "super::shared_text")]
    pub model: Arc<str>,
}

/// A model is about to be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationStarted {
    /// Which model, asked how.
    pub invocation: Invocation,
    /// What for.
    pub purpose: Purpose,
    /// How its context was projected.
    pub options: ProjectionOptions,
    /// The tokens we expect the request to take.
    pub estimate_tokens: u64,
    /// The tools it was shown: an attachment, stored once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub catalogue: Option<Digest>,
    /// Digest of the context, whatever the provider.
    pub context_digest: Digest,
    /// Digest of the bytes sent.
    pub body_digest: Digest,
    /// The version of the projection.
    pub projection_version: u32,
    /// The version of the encoder.
    pub encoder_version: u32,
    /// Why this model was chosen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub why: String,
}

/// What an invocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A step of the agent.
    Step,
    /// A recap of a range.
    Recap,
    /// A title for the conversation.
    Title,
}

/// How a context is projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectionOptions {
    /// The model's window.
    pub window_tokens: u64,
    /// What is kept free for the answer.
    pub reserve_tokens: u64,
    /// What is left for exchanges; fixed by the turn's first invocation for a target.
    pub capacity_tokens: u64,
    /// The model's tokens for 100 of ours, in steps of 5.
    pub factor_percent: u32,
    /// How generous the caps on parts are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub detail: Detail,
    /// Whether the live screen is shown.
    pub screen: bool,
}

/// How generous the caps on parts are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Half the usual caps.
    Lean,
    /// The usual caps.
    #[default]
    Normal,
    /// Twice the usual caps.
    Full,
}

/// A model gave no answer that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationFailed {
    /// The invocation that failed.
    pub started: Seq,
    /// What the caller can do about it.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
    /// Whether asking again may help.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: bool,
    /// When asking again may help, if the provider said so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry_after_ms: Option<u64>,
    /// The most tokens that the model takes, if it said so: of a request that was too long.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limit_tokens: Option<u64>,
    /// What had streamed until then. It is not context beyond one line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub streamed: Vec<Block>,
    /// What it took, if known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Option<Usage>,
    /// What that cost, if known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: Option<Money>,
}

/// What a caller can do about a failed invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Wait and ask again.
    Busy,
    /// Shorten the request.
    ContextTooLong,
    /// Mend the credentials.
    Unauthorised,
    /// Pay, or raise a limit.
    QuotaSpent,
    /// Change the request: the provider refuses it as it is.
    Refused,
    /// Ask again: the answer broke off or could not be read.
    Protocol,
    /// Check the network and ask again.
    Unreachable,
    /// Nothing: someone stopped it.
    Cancelled,
}

impl FailureKind {
    /// Whether the same request may get an answer when it is asked again.
    pub const fn may_pass(self) -> bool {
        match self {
            Self::Busy | Self::Protocol | Self::Unreachable => true,
            Self::ContextTooLong
            | Self::Unauthorised
            | Self::QuotaSpent
            | Self::Refused
            | Self::Cancelled => false,
        }
    }
}
