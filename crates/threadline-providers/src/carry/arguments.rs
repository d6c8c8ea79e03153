//! The arguments of a call as every protocol can send them: the text of a JSON object.

use std::borrow::Cow;

use serde_json::value::RawValue;
use threadline_core::history::fact::ToolCall;
use threadline_core::tool::repair_json;

use crate::surrogates::replace_lone_halves;

/// The arguments of a call as an object, and what had to change for that. Raw text that is an
/// object is sent as it is; else the repaired form that was recorded with the call; else, for
/// calls that were recorded without one, a repair made now; and only then an empty object.
pub(super) fn object_of(call: &ToolCall) -> (Cow<'_, RawValue>, Option<&'static str>) {
    let raw = &*call.arguments;
    if let Some(object) = object(raw) {
        return match replace_lone_halves(object.get()) {
            Cow::Borrowed(_) => (Cow::Borrowed(object), None),
            Cow::Owned(text) => {
                let note = "half a surrogate pair in arguments is sent as a replacement character";
                (owned_object(text).unwrap_or_else(empty), Some(note))
            }
        };
    }
    let recorded = call.repaired.as_deref().map(replace_lone_halves);
    let recorded = recorded.and_then(|text| owned_object(text.into_owned()));
    let repaired = recorded.or_else(|| owned_object(repair_json(&replace_lone_halves(raw))?));
    match repaired {
        Some(repaired) => {
            (repaired, Some("arguments that are not valid JSON are sent in their repaired form"))
        }
        None if raw.trim().is_empty() => (empty(), None),
        None => (empty(), Some("arguments that are no object are sent as an empty one")),
    }
}

/// Arguments as text, for protocols that send them in a string.
pub(crate) fn arguments_text(arguments: Cow<'_, RawValue>) -> Cow<'_, str> {
    match arguments {
        Cow::Borrowed(raw) => Cow::Borrowed(raw.get()),
        Cow::Owned(raw) => Cow::Owned(Box::<str>::from(raw).into_string()),
    }
}

fn object(text: &str) -> Option<&RawValue> {
    let raw = serde_json::from_str::<&RawValue>(text).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

fn owned_object(text: String) -> Option<Cow<'static, RawValue>> {
    let raw = RawValue::from_string(text).ok()?;
    raw.get().starts_with('{').then_some(Cow::Owned(raw))
}

fn empty() -> Cow<'static, RawValue> {
    Cow::Borrowed(object("{}").unwrap_or(RawValue::NULL))
}
