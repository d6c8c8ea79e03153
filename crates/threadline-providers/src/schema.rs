//! Schemas: what a tool's JSON schema becomes for a protocol that does not take all of it.
//!
//! Whatever text comes in, a JSON object comes out whose type is `object`. Arguments are checked
//! against the tool's own schema when they come back, so what a protocol cannot say is left out
//! here and still holds.

mod flat;
mod names;
mod openapi;
mod strict;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::json::{Json, Members, get, put};
use flat::{Book, Flat};
use serde_json::value::{RawValue, to_raw_value};
use threadline_core::provider::Repair;

/// The largest schema that is sent. A larger one would fill a model's window.
const SCHEMA_CAP_BYTES: usize = 128 * 1024;

/// A schema in a form that a protocol takes.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    /// The schema: a JSON object of type `object`.
    pub(crate) schema: Box<RawValue>,
    /// Whether it takes no arguments at all.
    pub(crate) empty: bool,
    /// What was changed, for people; nothing if nothing was.
    pub(crate) changes: Vec<String>,
}

impl Fitted {
    /// The changes as repairs of a request.
    pub(crate) fn repairs(&self, tool: &str) -> impl Iterator<Item = Repair> {
        self.changes.iter().map(move |change| Repair {
            entry: None,
            what: Arc::from(format!("tool {tool}: {change}")),
        })
    }

    /// The same without the properties whose names do not fit.
    pub(crate) fn with_names(self, fits: fn(&str) -> bool) -> Self {
        let Ok(Json::Object(mut members)) = serde_json::from_str(self.schema.get()) else {
            return self;
        };
        let mut dropped = Vec::new();
        names::drop_odd(&mut members, fits, &mut dropped);
        if dropped.is_empty() {
            return self;
        }
        let told = dropped
            .iter()
            .map(|name| format!("{name:?} is left out of its schema: such a name is not taken"));
        let changes = self.changes.into_iter().chain(told).collect();
        Self::new(members, changes)
    }

    fn new(members: Members, changes: Vec<String>) -> Self {
        let empty = is_empty(&members);
        // A tree of texts, numbers and lists can always be written.
        let schema = to_raw_value(&Json::Object(members)).unwrap_or_default();
        Self { schema, empty, changes }
    }

    /// A schema that cannot be sent: an object of anything.
    fn anything(why: &str) -> Self {
        Self::new(anything(), vec![format!("{why}: it is sent as one that takes any object")])
    }

    /// The text itself.
    fn verbatim(text: &str, members: Members) -> Self {
        match RawValue::from_string(text.trim().to_owned()) {
            Ok(schema) => Self { schema, empty: is_empty(&members), changes: Vec::new() },
            Err(_) => Self::new(members, Vec::new()),
        }
    }
}

/// The schema for a protocol that takes JSON Schema: its root says that it is an object.
pub(crate) fn json_schema(text: &str) -> Fitted {
    let mut members = match read(text) {
        Ok(members) => members,
        Err(why) => return Fitted::anything(why),
    };
    match root_type(&members) {
        RootType::Object => Fitted::verbatim(text, members),
        RootType::Unsaid => {
            members.insert(0, ("type".to_owned(), Json::text("object")));
            Fitted::new(members, vec!["its schema now says that it is an object".to_owned()])
        }
        RootType::AmongOthers => {
            put(&mut members, "type", Json::text("object"));
            Fitted::new(members, vec!["its schema now says that it is only an object".to_owned()])
        }
        RootType::Other => Fitted::anything(NOT_AN_OBJECT),
    }
}

/// The schema for a protocol that takes JSON Schema, but only a plain object at its root: one with
/// properties of its own, and no choice between several.
pub(crate) fn object_root(text: &str) -> Fitted {
    let members = match read(text) {
        Ok(members) => members,
        Err(why) => return Fitted::anything(why),
    };
    let properties = get(&members, "properties").is_some_and(|value| value.members().is_some());
    let plain = !members.iter().any(|(word, _)| NOT_AT_A_ROOT.contains(&&**word));
    match root_type(&members) {
        RootType::Object if plain && properties => Fitted::verbatim(text, members),
        RootType::Object | RootType::Unsaid | RootType::AmongOthers => mended_root(&members),
        RootType::Other => Fitted::anything(NOT_AN_OBJECT),
    }
}

/// The schema in the part of `OpenAPI` that Gemini's `parameters` take.
pub(crate) fn openapi_subset(text: &str) -> Fitted {
    let members = match read(text) {
        Ok(members) => members,
        Err(why) => return Fitted::anything(why),
    };
    match root_type(&members) {
        RootType::Object | RootType::Unsaid | RootType::AmongOthers => openapi::subset(&members),
        RootType::Other => Fitted::anything(NOT_AN_OBJECT),
    }
}

/// A schema, and whether the model is held to it: only if it may be, and if that does not change
/// what the schema says. Held to another than its own, a call would not fit the tool.
pub(crate) fn held(text: &str, may_be: bool) -> (Fitted, bool) {
    let strict = may_be.then(|| strict(text)).flatten();
    match strict.filter(|fitted| fitted.changes.is_empty()) {
        Some(fitted) => (fitted, true),
        None => (object_root(text), false),
    }
}

/// The schema for a model that is held to it: every property is required, one that was not may be
/// null, and no others are allowed. None if that would change what the schema says.
pub(crate) fn strict(text: &str) -> Option<Fitted> {
    let members = read(text).ok()?;
    match root_type(&members) {
        RootType::Object | RootType::Unsaid => strict::held(&members),
        RootType::AmongOthers | RootType::Other => None,
    }
}

const NOT_AN_OBJECT: &str = "its schema is not that of an object";

/// What stands at no root that is a plain object.
const NOT_AT_A_ROOT: [&str; 10] =
    ["$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then"];

/// What a root says of its type.
enum RootType {
    Object,
    Unsaid,
    AmongOthers,
    Other,
}

fn root_type(members: &Members) -> RootType {
    let object = |name: &Json| name.as_text() == Some("object");
    match get(members, "type") {
        None => RootType::Unsaid,
        Some(name) if object(name) => RootType::Object,
        Some(names) if names.items().iter().any(object) => RootType::AmongOthers,
        Some(_) => RootType::Other,
    }
}

fn read(text: &str) -> Result<Members, &'static str> {
    if text.len() > SCHEMA_CAP_BYTES {
        return Err("its schema is too large");
    }
    match serde_json::from_str(text) {
        Ok(Json::Object(members)) => Ok(members),
        Ok(Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) | Json::List(_)) => {
            Err("its schema is not an object")
        }
        Err(_) => Err("its schema is not JSON that can be read"),
    }
}

/// A root made plain: what it joins is joined, of several choices all are allowed.
fn mended_root(members: &Members) -> Fitted {
    let mut book = Book::new(members);
    let mut flat = book.flat(members, 0);
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = flat.take(word) {
            join_choices(&mut book, &mut flat, choices.items());
        }
    }
    flat.words.retain(|(word, _)| !NOT_AT_A_ROOT.contains(word));
    flat.words.retain(|(word, _)| !["type", "properties", "required"].contains(word));
    let mut out = vec![("type".to_owned(), Json::text("object"))];
    out.extend(flat.words.iter().map(|(word, value)| ((*word).to_owned(), (*value).clone())));
    let owned = |(name, schema): &(&str, &Json)| ((*name).to_owned(), (*schema).clone());
    put(&mut out, "properties", Json::Object(flat.properties.iter().map(owned).collect()));
    if !flat.required.is_empty() {
        put(&mut out, "required", list_of(&flat.required));
    }
    Fitted::new(out, vec!["the root of its schema is sent as a plain object".to_owned()])
}

/// Adds the properties of all choices; required is only what all of them require.
fn join_choices<'a>(book: &mut Book<'a>, flat: &mut Flat<'a>, choices: &'a [Json]) {
    let mut required: Option<Vec<&str>> = None;
    for choice in choices.iter().filter_map(Json::members) {
        let choice = book.flat(choice, flat.references);
        for (name, schema) in choice.properties {
            if book.look() && !flat.properties.iter().any(|(known, _)| *known == name) {
                flat.properties.push((name, schema));
            }
        }
        required = Some(match required {
            None => choice.required,
            Some(all) => all.into_iter().filter(|name| choice.required.contains(name)).collect(),
        });
    }
    for name in required.unwrap_or_default() {
        if !flat.required.contains(&name) {
            flat.required.push(name);
        }
    }
}

/// A list of names.
fn list_of(names: &[&str]) -> Json {
    Json::List(names.iter().map(|name| Json::text(name)).collect())
}

fn anything() -> Members {
    vec![
        ("type".to_owned(), Json::text("object")),
        ("properties".to_owned(), Json::Object(Members::new())),
    ]
}

/// Whether a schema takes no arguments at all.
fn is_empty(members: &Members) -> bool {
    members.iter().all(|(word, value)| match (&**word, value) {
        ("properties", Json::Object(properties)) => properties.is_empty(),
        ("required", Json::List(names)) => names.is_empty(),
        ("type" | "title" | "description" | "$schema" | "$id" | "$comment", _)
        | ("additionalProperties", Json::Flag(_)) => true,
        _ => false,
    })
}
