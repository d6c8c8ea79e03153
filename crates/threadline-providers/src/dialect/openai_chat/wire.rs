//! The vendor's JSON: chunks of an answer.
//!
//! Servers differ in the type of almost every leaf, so leaves are kept raw and read as what they
//! turn out to be. Nothing is copied until it is known to be wanted.

use std::borrow::Cow;
use std::fmt::Display;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::failed::Failed;
use crate::json::reported;

/// One event of an answer.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// One of the answers that were asked for; we ask for one.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<&'a RawValue>,
    /// What is new.
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    /// All of it, from a server that does not stream.
    #[serde(borrow, default)]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// What is new in an answer.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
}

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionPiece<'a>>,
}

/// A piece of what is called.
#[derive(Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A part of a content that is a list.
#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<&'a RawValue>,
}

/// What an answer took.
#[derive(Deserialize)]
pub(super) struct Usage<'a> {
    #[serde(default, deserialize_with = "reported")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) total_tokens: Option<u64>,
    #[serde(default)]
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    pub(super) completion_tokens_details: Option<CompletionDetails>,
    /// `DeepSeek`'s name for what came from its cache.
    #[serde(default, deserialize_with = "reported")]
    pub(super) prompt_cache_hit_tokens: Option<u64>,
    /// `OpenRouter`'s price, in dollars.
    #[serde(borrow, default)]
    pub(super) cost: Option<&'a RawValue>,
    /// xAI's price, ten billion of which are a dollar.
    #[serde(default, deserialize_with = "reported")]
    pub(super) cost_in_usd_ticks: Option<u64>,
}

/// What the prompt took.
#[derive(Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default, deserialize_with = "reported")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "reported")]
    pub(super) cache_write_tokens: Option<u64>,
}

/// What the answer took.
#[derive(Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default, deserialize_with = "reported")]
    pub(super) reasoning_tokens: Option<u64>,
}

/// Groq's own, which some of its models tell the usage in.
#[derive(Deserialize)]
pub(super) struct Groq<'a> {
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A part of the answer as a text; none if it is absent or empty. A value that is no text, or a
/// text that cannot be read, is an error: it must not be lost.
pub(super) fn text<'a>(
    name: &str,
    raw: Option<&'a RawValue>,
) -> Result<Option<Cow<'a, str>>, Failed> {
    let Some(raw) = raw else { return Ok(None) };
    let Text(text) = serde_json::from_str(raw.get()).map_err(|error| unread(name, &error))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// A value about the answer as a text, such as an id; none if it is empty or no text.
pub(super) fn label(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let Text(text) = serde_json::from_str(raw?.get()).ok()?;
    (!text.is_empty()).then_some(text)
}

/// A part of the answer could not be read.
pub(super) fn unread(name: &str, why: &dyn Display) -> Failed {
    Failed::protocol(format!("`{name}` in an event could not be read: {why}"))
}

/// A leaf as a number; none if it is none.
pub(super) fn number(raw: Option<&RawValue>) -> Option<u64> {
    serde_json::from_str(raw?.get()).ok()
}

/// A part of the answer as a list.
pub(super) fn list<'a, T: Deserialize<'a>>(
    name: &str,
    raw: &'a RawValue,
) -> Result<Vec<T>, Failed> {
    serde_json::from_str(raw.get()).map_err(|error| unread(name, &error))
}

/// Whether a value is a list.
pub(super) fn is_list(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}
