//! Schemas of tools and of answers, and what each service takes of JSON Schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::node::{Found, Node};

/// Where a schema holds another one.
const ONE: [&str; 8] =
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
/// Where a schema holds a list of others.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Where a schema holds others by name.
const MAPS: [&str; 5] =
    ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// A schema and all schemas within it.
pub(super) fn all<'a>(schema: &Node<'a>) -> Vec<Node<'a>> {
    let one = ONE.iter().filter_map(|key| schema.get(key));
    let lists = LISTS.iter().flat_map(|key| schema.list(key));
    let maps = MAPS.iter().filter_map(|key| schema.get(key)).flat_map(|map| map.fields());
    let inner = one.chain(lists).chain(maps.map(|(_, inner)| inner));
    let mut found = vec![schema.clone()];
    // Where a schema may be there can also be a flag or a list.
    for schema in inner.filter(|inner| inner.value.is_object()) {
        found.extend(all(&schema));
    }
    found
}

/// That the root is not an object's schema.
pub(super) fn not_of_an_object(schema: &Node<'_>) -> Option<Found> {
    let of_object = schema.text_of("type").is_some_and(|name| name.eq_ignore_ascii_case("object"));
    (!of_object).then(|| schema.found("the root is not of type object"))
}

/// That the root is put together from others.
pub(super) fn composed_root(schema: &Node<'_>) -> Vec<Found> {
    let keys = ["anyOf", "oneOf", "allOf", "$ref"];
    let composed = keys.iter().filter_map(|key| schema.get(key));
    composed.map(|at| at.found("not at the root")).collect()
}

/// Objects that leave open which properties they have.
pub(super) fn open_objects(schema: &Node<'_>) -> Vec<Found> {
    let closed = |at: &Node<'_>| at.value.get("additionalProperties") == Some(&Value::Bool(false));
    let objects = all(schema).into_iter().filter(is_object);
    objects
        .filter(|at| !closed(at))
        .map(|at| at.found("an object without additionalProperties: false"))
        .collect()
}

/// Keywords that are there although they are not taken.
pub(super) fn keywords(schema: &Node<'_>, banned: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    for at in all(schema) {
        let there = banned.iter().filter_map(|key| at.get(key));
        found.extend(there.map(|keyword| keyword.found("not taken in a strict schema")));
    }
    found
}

/// Properties that a call may leave out.
pub(super) fn optional<'a>(schema: &Node<'a>) -> Vec<Node<'a>> {
    let mut found = Vec::new();
    for at in all(schema) {
        let required = at.list("required");
        let needed = |key: &str| required.iter().any(|name| name.text() == Some(key));
        let properties = at.get("properties").map(|map| map.fields()).unwrap_or_default();
        found.extend(properties.into_iter().filter(|(key, _)| !needed(key)).map(|(_, at)| at));
    }
    found
}

/// Properties that are of several types.
pub(super) fn unions<'a>(schema: &Node<'a>) -> Vec<Node<'a>> {
    let several = |at: &Node<'_>| at.has("anyOf") || !at.list("type").is_empty();
    all(schema).into_iter().filter(several).collect()
}

/// What `OpenAI` refuses of a strict schema.
pub(super) fn openai_strict(schema: &Node<'_>) -> Vec<Found> {
    let mut found = open_objects(schema);
    found.extend(optional(schema).iter().map(|at| at.found("a property that is not required")));
    found.extend(composed_root(schema));
    found.extend(keywords(schema, &NOT_IN_OPENAI_STRICT));
    found
}

const NOT_IN_OPENAI_STRICT: [&str; 9] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
];

/// What Anthropic refuses in the schema of an answer: it belongs into descriptions.
pub(super) const NOT_IN_ANTHROPIC_FORMAT: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// What Gemini takes of a schema in the form of `OpenAPI`.
const IN_OPENAPI: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// What Gemini refuses of a schema in the form of `OpenAPI`.
pub(super) fn not_openapi(schema: &Node<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for at in all(schema) {
        for (key, value) in at.fields() {
            let of_texts = || value.items().iter().all(|item| item.text().is_some());
            if !IN_OPENAPI.contains(&key) {
                found.push(value.found(format_args!("Unknown name {key}")));
            } else if key == "type" && value.text().is_none() {
                found.push(value.found("several types"));
            } else if key == "enum" && !of_texts() {
                found.push(value.found("an enum that is not of texts"));
            } else if key == "items" && !value.value.is_object() {
                found.push(value.found("not a schema"));
            }
        }
        let properties = at.get("properties").map(|map| map.fields()).unwrap_or_default();
        let others = properties.into_iter().filter(|(_, property)| !property.value.is_object());
        found.extend(others.map(|(_, property)| property.found("not a schema")));
    }
    found
}

/// Names of parameters that Gemini refuses.
pub(super) fn parameter_names(schema: &Node<'_>) -> Vec<Found> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let taken = |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(plain);
    let maps = all(schema).into_iter().filter_map(|at| at.get("properties"));
    let named = maps.flat_map(|map| map.fields());
    named
        .filter(|(name, _)| !taken(name))
        .map(|(name, at)| at.found(format_args!("{name:?} is not 1 to 64 of A-Z a-z 0-9 _")))
        .collect()
}

/// References that lead back to where they are.
pub(super) fn recursion(schema: &Node<'_>) -> Vec<Found> {
    let references = all(schema).into_iter().filter(|at| at.text_of("$ref").is_some());
    references
        .filter(|at| reachable(schema, at).iter().any(|inner| std::ptr::eq(inner.value, at.value)))
        .map(|at| at.found("refers to what it is in"))
        .collect()
}

/// All schemas that a reference leads to, through others too.
fn reachable<'a>(root: &Node<'a>, reference: &Node<'a>) -> Vec<Node<'a>> {
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    let mut open: Vec<&str> = reference.text_of("$ref").into_iter().collect();
    while let Some(name) = open.pop() {
        let target = name.strip_prefix('#').and_then(|pointer| root.value.pointer(pointer));
        if let Some(target) = target.filter(|_| names.insert(name)) {
            let inner = all(&Node::root(target));
            open.extend(inner.iter().filter_map(|at| at.text_of("$ref")));
            found.extend(inner);
        }
    }
    found
}

fn is_object(at: &Node<'_>) -> bool {
    at.is("type", "object") || at.has("properties")
}
