//! Schemas as Anthropic takes them: of answers, and of tools that a model is held to.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

use crate::json::{Json, Members, get, put};
use crate::schema;

/// What the form of an answer must not ask: it is told in words instead.
const IN_WORDS: [&str; 23] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "prefixItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "not",
    "if",
    "then",
    "else",
];

/// The form of an answer, and whether it had to be mended: objects are closed, and limits that the
/// server cannot hold it to are told in words.
pub(super) fn of_answer(text: &str) -> (Cow<'_, RawValue>, bool) {
    let read = serde_json::from_str::<Json>(text).ok();
    let members = match &read {
        Some(Json::Object(members)) => members.clone(),
        Some(_) | None => Members::new(),
    };
    let held = Json::Object(held(members));
    match serde_json::from_str::<&RawValue>(text) {
        Ok(unchanged) if read.as_ref() == Some(&held) => (Cow::Borrowed(unchanged), false),
        // A tree of texts, numbers and lists can always be written.
        Ok(_) | Err(_) => (Cow::Owned(to_raw_value(&held).unwrap_or_default()), true),
    }
}

/// A schema that an answer can be held to.
fn held(members: Members) -> Members {
    let mut made = Members::new();
    let mut words = Vec::new();
    for (key, value) in members {
        match (&*key, value) {
            (limit, value) if IN_WORDS.contains(&limit) => {
                let value = serde_json::to_string(&value).unwrap_or_default();
                words.push(format!("{limit}: {value}"));
            }
            ("properties" | "$defs" | "definitions", Json::Object(of)) => {
                let of = of.into_iter().map(|(name, schema)| (name, held_value(schema)));
                put(&mut made, &key, Json::Object(of.collect()));
            }
            // Exactly one of several cannot be asked, any of them can.
            ("anyOf" | "oneOf", Json::List(of)) => {
                put(&mut made, "anyOf", Json::List(of.into_iter().map(held_value).collect()));
            }
            ("allOf", Json::List(of)) => {
                put(&mut made, "allOf", Json::List(of.into_iter().map(held_value).collect()));
            }
            ("items", value) => put(&mut made, "items", held_value(value)),
            (_, value) => put(&mut made, &key, value),
        }
    }
    let object = |name: &Json| name.as_text() == Some("object");
    let is_object = get(&made, "type")
        .is_some_and(|name| object(name) || name.items().iter().any(object))
        || get(&made, "properties").is_some();
    if is_object {
        put(&mut made, "additionalProperties", Json::Flag(false));
    }
    if !words.is_empty() {
        let said = get(&made, "description").and_then(Json::as_text).unwrap_or_default();
        let said = format!("{said} ({})", words.join(", "));
        put(&mut made, "description", Json::text(said.trim_start()));
    }
    made
}

fn held_value(schema: Json) -> Json {
    match schema {
        Json::Object(members) => Json::Object(held(members)),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => schema,
    }
}

/// What may still be asked of a model that is held to the schemas of tools.
#[derive(Debug)]
pub(super) struct Strict {
    tools: usize,
    unions: usize,
}

impl Strict {
    /// What the server takes in one request. None of our schemas has optional parameters there.
    pub(super) const fn new() -> Self {
        Self { tools: 20, unions: 16 }
    }

    /// Whether a model is held to this schema: if it is already as strict as it can be, does not
    /// refer to itself, and fits with those before it.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        let strict = schema::strict(text).is_some_and(|fitted| fitted.changes.is_empty());
        let Some(unions) = serde_json::from_str::<Json>(text).ok().as_ref().and_then(unions) else {
            return false;
        };
        let takes = strict && self.tools > 0 && unions <= self.unions;
        if takes {
            self.tools -= 1;
            self.unions -= unions;
        }
        takes
    }
}

/// How many schemas within are of several types; none if one refers to another.
fn unions(schema: &Json) -> Option<usize> {
    let inner = match schema {
        Json::Object(members) => {
            if get(members, "$ref").is_some() {
                return None;
            }
            let several = get(members, "anyOf").is_some()
                || get(members, "type").is_some_and(|names| !names.items().is_empty());
            let inner = members.iter().map(|(_, value)| unions(value));
            return inner.sum::<Option<usize>>().map(|inner| inner + usize::from(several));
        }
        Json::List(items) => items,
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) => return Some(0),
    };
    inner.iter().map(unions).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_to_closed_objects_and_told_its_limits_in_words() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"how many"},"a":{"oneOf":[{"type":["object","null"],"additionalProperties":{}},{"type":"array","items":{"properties":{}},"minItems":2}]}}}"#;
        let (sent, mended) = of_answer(schema);
        assert!(mended);
        assert_eq!(
            sent.get(),
            r#"{"type":"object","properties":{"n":{"type":"integer","description":"how many (minimum: 1)"},"a":{"anyOf":[{"type":["object","null"],"additionalProperties":false},{"type":"array","items":{"properties":{},"additionalProperties":false},"description":"(minItems: 2)"}]}},"additionalProperties":false}"#
        );
        let again = sent.into_owned();
        let (sent, mended) = of_answer(again.get());
        assert_eq!((sent.get(), mended), (again.get(), false));
        assert_eq!(of_answer("true").0.get(), "{}");
    }

    #[test]
    fn a_model_is_held_to_no_more_than_the_server_takes() {
        let closed = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#;
        let mut strict = Strict::new();
        assert!(!strict.takes(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#));
        assert!(!strict.takes("{"));
        let union = closed.replace(r#""string""#, r#"["string","null"]"#);
        let taken = (0..30).filter(|_| strict.takes(&union)).count();
        assert_eq!(taken, 16);
        let taken = (0..30).filter(|_| strict.takes(closed)).count();
        assert_eq!(taken, 4);
    }
}
