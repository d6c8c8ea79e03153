//! Anthropic's JSON: the events of an answer, the state of thinking, and the body of a request.

pub(super) mod body;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::reported;

/// A text that is borrowed where it has no escapes, also behind an `Option`.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Str<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Any event: the fields of all of them, read in one pass.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Str<'a>>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The `delta` of a block or of the message: the fields of all of them.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Str<'a>>,
    /// The text of a compaction; other deltas may have anything here.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
}

/// What an event or a block is, when nothing else of it could be read.
#[derive(Debug, Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Str<'a>>,
}

/// The message as it starts, or all of it.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
}

/// A block of a kind that we know, as it starts.
#[derive(Debug, Deserialize)]
pub(super) struct Start<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// What an answer took, so far: totals, of which a later one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Counts {
    #[serde(default, deserialize_with = "reported")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) output_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

/// What of an answer was thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "reported")]
    pub(super) thinking_tokens: Option<u64>,
}

/// Why an answer was refused.
#[derive(Debug, Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow)]
    pub(super) category: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) explanation: Option<Str<'a>>,
}

/// What people and other models can read of a block that only Anthropic understands.
#[derive(Debug, Deserialize)]
pub(super) struct Readable<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

/// One item of a server tool's result: a page that was found, a text, what a program printed.
#[derive(Debug, Deserialize)]
pub(super) struct ReadableItem<'a> {
    #[serde(borrow)]
    pub(super) title: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) url: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) stdout: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) error_code: Option<Str<'a>>,
}

/// The state of a thinking block: `{"signature":"…"}` or `{"redacted":"…"}`.
///
/// The thought itself is the block's text. A thought that broke off has no state, nor has one of a
/// server that signs with nothing.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThinkingState<'a> {
    /// A thought that may be shown: its signature.
    #[serde(borrow)]
    Signature(Cow<'a, str>),
    /// A thought that may not be shown: its encrypted data.
    #[serde(borrow)]
    Redacted(Cow<'a, str>),
}
