//! The JSON of `OpenAI`'s Responses, as far as it is read.
//!
//! Reading borrows and is lenient: a field of a type that is not expected counts as absent, so
//! that an event of a kind that nobody knows never ends an answer.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::failed::Failed;
use crate::json::reported;

/// An event of a stream, of any kind.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Event<'a> {
    /// What kind it is of.
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Word<'a>,
    /// The item it is about, by its place.
    #[serde(default)]
    pub(super) output_index: Count,
    /// The item it is about, by its id. Some servers give a new one with every event.
    #[serde(borrow, default)]
    pub(super) item_id: Word<'a>,
    /// The part of a message or of reasoning.
    #[serde(default)]
    pub(super) content_index: Count,
    /// The part of a summary.
    #[serde(default)]
    pub(super) summary_index: Count,
    /// A piece of a text, or of arguments.
    #[serde(borrow, default)]
    pub(super) delta: Word<'a>,
    /// A whole text.
    #[serde(borrow, default)]
    pub(super) text: Word<'a>,
    /// A whole refusal.
    #[serde(borrow, default)]
    pub(super) refusal: Word<'a>,
    /// Whole arguments.
    #[serde(borrow, default)]
    pub(super) arguments: Word<'a>,
    /// An item.
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    /// The response as it stands.
    #[serde(borrow, default)]
    pub(super) response: Option<&'a RawValue>,
    /// What went wrong, where it is an object of its own.
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// An item of an output, of any kind.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Item<'a> {
    /// What kind it is of.
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Word<'a>,
    /// Its id.
    #[serde(borrow, default)]
    pub(super) id: Word<'a>,
    /// How far it is.
    #[serde(borrow, default)]
    pub(super) status: Word<'a>,
    /// A call's id.
    #[serde(borrow, default)]
    pub(super) call_id: Word<'a>,
    /// A called tool.
    #[serde(borrow, default)]
    pub(super) name: Word<'a>,
    /// A call's arguments: a text, or on some servers an object.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    /// Whether a message is a comment on the way or the answer.
    #[serde(borrow, default)]
    pub(super) phase: Option<&'a RawValue>,
    /// The parts of a message, or the open text of reasoning.
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    /// The parts of a summary of reasoning.
    #[serde(borrow, default)]
    pub(super) summary: Option<&'a RawValue>,
    /// Reasoning that only the service can read.
    #[serde(borrow, default)]
    pub(super) encrypted_content: Option<&'a RawValue>,
}

/// A part of a message, of a summary or of reasoning.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Part<'a> {
    /// What it says.
    #[serde(borrow, default)]
    pub(super) text: Word<'a>,
    /// Why the model declines.
    #[serde(borrow, default)]
    pub(super) refusal: Word<'a>,
}

/// A response at its end.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Response<'a> {
    /// Its id.
    #[serde(borrow, default)]
    pub(super) id: Word<'a>,
    /// The model that answered.
    #[serde(borrow, default)]
    pub(super) model: Word<'a>,
    /// What went wrong.
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// Why it is not whole.
    #[serde(borrow, default)]
    pub(super) incomplete_details: Option<&'a RawValue>,
    /// Its items. Some servers leave them out.
    #[serde(borrow, default)]
    pub(super) output: Option<&'a RawValue>,
    /// What it took.
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

/// Why a response is not whole.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Incomplete<'a> {
    /// The reason.
    #[serde(borrow, default)]
    pub(super) reason: Word<'a>,
}

/// What a response took.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Usage<'a> {
    /// All prompt tokens.
    #[serde(default, deserialize_with = "reported")]
    pub(super) input_tokens: Option<u64>,
    /// All generated tokens.
    #[serde(default, deserialize_with = "reported")]
    pub(super) output_tokens: Option<u64>,
    /// Which prompt tokens those were.
    #[serde(borrow, default)]
    pub(super) input_tokens_details: Option<&'a RawValue>,
    /// Which generated tokens those were.
    #[serde(borrow, default)]
    pub(super) output_tokens_details: Option<&'a RawValue>,
}

/// Which tokens were taken.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Details {
    /// Prompt tokens read from a cache.
    #[serde(default, rename = "cached_tokens", deserialize_with = "reported")]
    pub(super) cached: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(default, rename = "cache_write_tokens", deserialize_with = "reported")]
    pub(super) cache_write: Option<u64>,
    /// Generated tokens that were reasoning.
    #[serde(default, rename = "reasoning_tokens", deserialize_with = "reported")]
    pub(super) reasoning: Option<u64>,
}

/// What went wrong.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Error<'a> {
    /// What it is.
    #[serde(borrow, default)]
    pub(super) code: Word<'a>,
}

/// Reads a value about the answer, which may be absent or something else.
pub(super) fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Reads a part of the answer, which may be absent. What cannot be read is an error: it must not be
/// lost.
pub(super) fn read_part<'a, T: Deserialize<'a>>(
    name: &str,
    raw: Option<&'a RawValue>,
) -> Result<Option<T>, Failed> {
    let read = raw.map(|raw| serde_json::from_str(raw.get())).transpose();
    read.map_err(|error| {
        Failed::protocol(format!("`{name}` in an event could not be read: {error}"))
    })
}

/// A text; none if the value is something else.
#[derive(Debug, Default)]
pub(super) struct Word<'a>(pub(super) Option<Cow<'a, str>>);

impl Word<'_> {
    /// The text, which may be empty.
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text, if it says anything.
    pub(super) fn some(&self) -> Option<&str> {
        self.get().filter(|text| !text.is_empty())
    }

    /// Whether it is this text.
    pub(super) fn is(&self, text: &str) -> bool {
        self.get() == Some(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient).map(|scalar| match scalar {
            Scalar::Text(text) => Self(Some(text)),
            Scalar::Count(_) | Scalar::Other => Self(None),
        })
    }
}

/// A whole number that is not negative; none if the value is something else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient).map(|scalar| match scalar {
            Scalar::Count(count) => Self(Some(count)),
            Scalar::Text(_) | Scalar::Other => Self(None),
        })
    }
}

enum Scalar<'a> {
    Text(Cow<'a, str>),
    Count(u64),
    Other,
}

/// Takes any value.
struct Lenient;

impl<'de> Visitor<'de> for Lenient {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, count: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Count(count))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
