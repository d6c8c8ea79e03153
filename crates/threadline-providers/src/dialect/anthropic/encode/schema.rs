//! Schemas as Anthropic takes them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// What the root of a tool's schema must not have: alternatives and references.
const NOT_AT_ROOT: [&str; 4] = ["anyOf", "oneOf", "allOf", "$ref"];
/// What the form of an answer must not ask: it is told in words instead.
const IN_WORDS: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "format",
];
/// How often a reference may lead to another.
const REFERENCES: usize = 8;

/// A schema, and whether it had to be mended.
pub(super) type Mended<'a> = (Cow<'a, RawValue>, bool);

/// The schema of a tool's arguments: its root is an object, without alternatives.
pub(super) fn of_tool(schema: &str) -> Mended<'_> {
    match serde_json::from_str::<&RawValue>(schema) {
        Ok(raw) if is_plain_object(raw) => (Cow::Borrowed(raw), false),
        Ok(_) | Err(_) => (raw(&object(serde_json::from_str(schema).ok())), true),
    }
}

/// The form of an answer: closed objects, and no limits that the server cannot hold it to.
pub(super) fn of_answer(schema: &str) -> Mended<'_> {
    let Ok(read) = serde_json::from_str::<Value>(schema) else {
        return (raw(&object(None)), true);
    };
    let held = held(read.clone());
    match serde_json::from_str::<&RawValue>(schema) {
        Ok(unchanged) if held == read => (Cow::Borrowed(unchanged), false),
        Ok(_) | Err(_) => (raw(&held), true),
    }
}

fn is_plain_object(raw: &RawValue) -> bool {
    let root = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(raw.get());
    root.is_ok_and(|root| {
        let is_object = root.get("type").is_some_and(|kind| kind.get() == "\"object\"");
        is_object && !NOT_AT_ROOT.iter().any(|key| root.contains_key(*key))
    })
}

/// A root that is an object: references are followed, and of alternatives all properties are
/// shown. The tool itself checks what it is called with.
fn object(root: Option<Value>) -> Value {
    let whole = root.unwrap_or_default();
    let mut made = followed(&whole, &whole);
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(branches)) = made.remove(key) else { continue };
        for branch in &branches {
            let branch = followed(&whole, branch);
            add_properties(&mut made, &branch);
            if key == "allOf" {
                add_required(&mut made, &branch);
            }
        }
    }
    made.insert("type".to_owned(), "object".into());
    if !made.get("properties").is_some_and(Value::is_object) {
        made.insert("properties".to_owned(), Map::new().into());
    }
    made.into()
}

/// A schema's own keys, and those of what it refers to.
fn followed(whole: &Value, schema: &Value) -> Map<String, Value> {
    let mut made = schema.as_object().cloned().unwrap_or_default();
    for _ in 0..REFERENCES {
        let Some(reference) = made.remove("$ref") else { break };
        let path = reference.as_str().and_then(|path| path.strip_prefix('#'));
        let Some(Value::Object(found)) = path.and_then(|path| whole.pointer(path)) else { break };
        for (key, value) in found {
            made.entry(key).or_insert_with(|| value.clone());
        }
    }
    made.remove("$ref");
    made
}

fn add_properties(made: &mut Map<String, Value>, branch: &Map<String, Value>) {
    let Some(Value::Object(more)) = branch.get("properties") else { return };
    let all = made.entry("properties").or_insert_with(|| Map::new().into());
    let Value::Object(all) = all else { return };
    for (name, schema) in more {
        all.entry(name).or_insert_with(|| schema.clone());
    }
}

fn add_required(made: &mut Map<String, Value>, branch: &Map<String, Value>) {
    let Some(Value::Array(more)) = branch.get("required") else { return };
    let all = made.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(all) = all else { return };
    all.extend(more.iter().cloned());
}

/// A schema that an answer can be held to, at every depth.
fn held(schema: Value) -> Value {
    let Value::Object(keys) = schema else { return schema };
    let mut made = Map::new();
    let mut words = Vec::new();
    for (key, value) in keys {
        match (&*key, value) {
            (limit, value) if IN_WORDS.contains(&limit) && !value.is_object() => {
                words.push(format!("{limit}: {value}"));
            }
            ("properties" | "$defs" | "definitions", Value::Object(of)) => {
                let of = of.into_iter().map(|(name, schema)| (name, held(schema)));
                made.insert(key, of.collect::<Map<_, _>>().into());
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(of)) => {
                let of = of.into_iter().map(held);
                made.insert(key, of.collect::<Vec<_>>().into());
            }
            ("items", value) => {
                made.insert(key, held(value));
            }
            (_, value) => {
                made.insert(key, value);
            }
        }
    }
    let is_object = made.get("type").is_some_and(|kind| kind == "object");
    if is_object || made.contains_key("properties") {
        made.insert("additionalProperties".to_owned(), false.into());
    }
    if !words.is_empty() {
        let said = made.get("description").and_then(Value::as_str).unwrap_or_default();
        let said = format!("{said} ({})", words.join(", ")).trim_start().to_owned();
        made.insert("description".to_owned(), said.into());
    }
    made.into()
}

fn raw(schema: &Value) -> Cow<'static, RawValue> {
    // A value that was made here can always be written.
    Cow::Owned(to_raw_value(schema).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_object_is_sent_as_it_is_written() {
        let schema =
            r#" {"type":"object", "properties":{"n":{"minimum":12345678901234567890123}}}"#;
        let (sent, mended) = of_tool(schema);
        assert_eq!((sent.get(), mended), (schema.trim(), false));
    }

    #[test]
    fn anything_else_becomes_an_object_with_all_properties() {
        let cases = [
            ("true", r#"{"properties":{},"type":"object"}"#),
            ("{", r#"{"properties":{},"type":"object"}"#),
            (
                r#"{"type":["object","null"],"properties":{"a":{}}}"#,
                r#"{"properties":{"a":{}},"type":"object"}"#,
            ),
            (
                r##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{}}}}}"##,
                r#"{"$defs":{"A":{"properties":{"a":{}},"type":"object"}},"properties":{"a":{}},"type":"object"}"#,
            ),
            (r##"{"$ref":"#"}"##, r#"{"properties":{},"type":"object"}"#),
            (
                r#"{"type":"object","anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]}"#,
                r#"{"properties":{"a":{},"b":{}},"type":"object"}"#,
            ),
            (
                r#"{"allOf":[{"properties":{"a":{}},"required":["a"]}],"required":["b"]}"#,
                r#"{"properties":{"a":{}},"required":["b","a"],"type":"object"}"#,
            ),
        ];
        for (schema, expected) in cases {
            let (sent, mended) = of_tool(schema);
            assert_eq!((sent.get(), mended), (expected, true), "{schema}");
            assert_eq!(of_tool(expected).0.get(), expected, "{schema}");
        }
    }

    #[test]
    fn an_answer_is_held_to_closed_objects_and_told_its_limits_in_words() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"how many"},"of":{"type":"array","items":{"type":"object","properties":{}},"minItems":2}}}"#;
        let (sent, mended) = of_answer(schema);
        assert!(mended);
        assert_eq!(
            sent.get(),
            r#"{"additionalProperties":false,"properties":{"n":{"description":"how many (minimum: 1)","type":"integer"},"of":{"description":"(minItems: 2)","items":{"additionalProperties":false,"properties":{},"type":"object"},"type":"array"}},"type":"object"}"#
        );
        let again = sent.into_owned();
        let (sent, mended) = of_answer(again.get());
        assert_eq!((sent.get(), mended), (again.get(), false));
    }
}
