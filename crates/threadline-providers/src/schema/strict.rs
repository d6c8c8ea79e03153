//! A schema that a model is held to, as `OpenAI` has it.

use super::{Fitted, list_of};
use crate::json::{Json, Members, get, put};

/// How deep properties and items may lie.
const DEPTH_CAP: usize = 5;
/// How many properties there may be in all.
const PROPERTIES_CAP: usize = 100;
/// How many values may be listed in all.
const VALUES_CAP: usize = 500;

/// Formats of texts that are taken.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The schema of an object in that form; none if that would change what it says.
pub(super) fn held(root: &Members) -> Option<Fitted> {
    if get(root, "anyOf").is_some() || get(root, "$ref").is_some() {
        return None;
    }
    let mut writer = Writer::default();
    let mut root = root.clone();
    if get(&root, "type").is_none() {
        root.insert(0, ("type".to_owned(), Json::text("object")));
    }
    if get(&root, "properties").is_none() {
        root.push(("properties".to_owned(), Json::Object(Members::new())));
    }
    let out = writer.schema(&root, 0)?;
    Some(Fitted::new(out, writer.changes))
}

#[derive(Default)]
struct Writer {
    changes: Vec<String>,
    properties: usize,
    values: usize,
}

impl Writer {
    fn changed(&mut self, change: &str) {
        if !self.changes.iter().any(|known| known == change) {
            self.changes.push(change.to_owned());
        }
    }

    fn schema(&mut self, schema: &Members, depth: usize) -> Option<Members> {
        if depth > DEPTH_CAP {
            return None;
        }
        if let Some(reference) = get(schema, "$ref") {
            return self.reference(schema, reference);
        }
        let mut out = Members::new();
        for (word, value) in schema {
            self.word(word, value, depth, &mut out)?;
        }
        if is_object(&out) {
            self.close(schema, &mut out)?;
        }
        let list_of_anything = has_type(&out, "array") && get(&out, "items").is_none();
        let says_what = get(&out, "type").is_some() || get(&out, "anyOf").is_some();
        (says_what && !list_of_anything).then_some(out)
    }

    /// Beside a reference no other word is taken.
    fn reference(&mut self, schema: &Members, reference: &Json) -> Option<Members> {
        reference.as_text().filter(|pointer| pointer.starts_with('#'))?;
        if schema.len() > 1 {
            self.changed("what stands beside a reference is left out of its schema");
        }
        Some(vec![("$ref".to_owned(), reference.clone())])
    }

    /// Writes one word of a schema; none if it cannot be said in this form.
    fn word(&mut self, word: &str, value: &Json, depth: usize, out: &mut Members) -> Option<()> {
        let value = match (word, value) {
            ("properties", Json::Object(properties)) => self.map(properties, depth)?,
            ("$defs" | "definitions", Json::Object(all)) => self.map(all, depth)?,
            ("items", Json::Object(items)) => Json::Object(self.schema(items, depth + 1)?),
            ("anyOf", Json::List(choices)) => {
                let choices = choices
                    .iter()
                    .map(|choice| Some(Json::Object(self.schema(choice.members()?, depth + 1)?)));
                Json::List(choices.collect::<Option<_>>()?)
            }
            ("type", Json::Text(_) | Json::List(_)) => value.clone(),
            ("enum", Json::List(values)) => {
                self.values += values.len();
                (self.values <= VALUES_CAP).then(|| value.clone())?
            }
            (
                "const" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
                | "exclusiveMaximum" | "minItems" | "maxItems",
                _,
            )
            | ("description" | "title" | "pattern", Json::Text(_)) => value.clone(),
            ("format", Json::Text(format)) if FORMATS.contains(&&**format) => value.clone(),
            // Written again by `close`.
            ("required", _) | ("additionalProperties", Json::Flag(false)) => return Some(()),
            // What describes.
            (
                "$schema" | "$id" | "$comment" | "examples" | "deprecated" | "readOnly"
                | "writeOnly",
                _,
            ) => return Some(()),
            // What is checked when the arguments come back, and leaves their form as it is.
            (
                "default" | "format" | "minLength" | "maxLength" | "uniqueItems" | "minProperties"
                | "maxProperties",
                _,
            ) => {
                self.changed(&format!("{word:?} is left out of its schema"));
                return Some(());
            }
            _ => return None,
        };
        put(out, word, value);
        Some(())
    }

    fn map(&mut self, schemas: &Members, depth: usize) -> Option<Json> {
        self.properties += schemas.len();
        if self.properties > PROPERTIES_CAP {
            return None;
        }
        let written = schemas.iter().map(|(name, schema)| {
            let schema = self.schema(schema.members()?, depth + 1)?;
            Some((name.clone(), Json::Object(schema)))
        });
        Some(Json::Object(written.collect::<Option<_>>()?))
    }

    /// Closes an object: all of its properties are required and there are no others.
    fn close(&mut self, schema: &Members, out: &mut Members) -> Option<()> {
        let Json::Object(mut properties) = get(out, "properties")?.clone() else { return None };
        let required = get(schema, "required").map(Json::items).unwrap_or_default();
        let mut all = Vec::new();
        for (name, schema) in &mut properties {
            all.push(name.clone());
            let optional = !required.iter().any(|known| known.as_text() == Some(name));
            if optional && let Json::Object(members) = schema {
                self.changed("what is optional in its schema is required and may be null");
                or_null(members);
            }
        }
        if get(schema, "additionalProperties").is_none() {
            self.changed("its schema now allows no other properties");
        }
        put(out, "properties", Json::Object(properties));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        put(out, "required", list_of(&all));
        put(out, "additionalProperties", Json::Flag(false));
        Some(())
    }
}

/// Lets a schema be null as well.
fn or_null(schema: &mut Members) {
    let null = || vec![("type".to_owned(), Json::text("null"))];
    let with = |mut list: Vec<Json>, one: Json| {
        if !list.contains(&one) {
            list.push(one);
        }
        Json::List(list)
    };
    if let Some(Json::List(choices)) = get(schema, "anyOf") {
        let choices = with(choices.clone(), Json::Object(null()));
        put(schema, "anyOf", choices);
        return;
    }
    if get(schema, "$ref").is_some() || get(schema, "const").is_some() {
        let whole = std::mem::take(schema);
        let choices = vec![Json::Object(whole), Json::Object(null())];
        schema.push(("anyOf".to_owned(), Json::List(choices)));
        return;
    }
    let types = match get(schema, "type") {
        Some(Json::List(types)) => types.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    put(schema, "type", with(types, Json::text("null")));
    if let Some(Json::List(values)) = get(schema, "enum") {
        let values = with(values.clone(), Json::Null);
        put(schema, "enum", values);
    }
}

fn has_type(schema: &Members, name: &str) -> bool {
    let is = |value: &Json| value.as_text() == Some(name);
    get(schema, "type").is_some_and(|types| is(types) || types.items().iter().any(is))
}

fn is_object(schema: &Members) -> bool {
    has_type(schema, "object") || get(schema, "properties").is_some()
}
