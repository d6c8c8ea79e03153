//! The part of `OpenAPI` that Gemini's `parameters` take.

use super::flat::{Book, Flat};
use super::{Fitted, list_of};
use crate::json::{Json, Members, get, put};

/// How deep properties and items may lie. What lies deeper is said by its type alone.
const DEPTH_CAP: usize = 16;

/// Words that are sent as they are, if their values are texts.
const TEXTS: [&str; 3] = ["title", "description", "pattern"];
/// Words that are sent as they are, if their values are numbers.
const NUMBERS: [&str; 8] = [
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
];
/// Formats that are taken; any other is refused.
const FORMATS: [&str; 5] = ["date-time", "int32", "int64", "float", "double"];
/// Words that demand nothing: that they are left out changes nothing.
const SILENT: [&str; 16] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "$vocabulary",
    "default",
    "definitions",
    "deprecated",
    "example",
    "examples",
    "format",
    "nullable",
    "readOnly",
    "type",
    "writeOnly",
];

/// A schema in that part.
pub(super) fn subset(root: &Members) -> Fitted {
    let mut writer = Writer { book: Book::new(root), changes: Vec::new() };
    let mut flat = writer.book.flat(root, 0);
    writer.join(&mut flat);
    let mut out = writer.typed(&flat, "object", 0);
    out.retain(|(word, _)| word != "nullable");
    if writer.book.cut {
        writer.changed("a reference in its schema was left out");
    }
    // An object without properties is refused, whatever else is said of it.
    let empty = get(&out, "properties").is_none();
    Fitted { empty, ..Fitted::new(out, writer.changes) }
}

struct Writer<'a> {
    book: Book<'a>,
    changes: Vec<String>,
}

impl<'a> Writer<'a> {
    fn changed(&mut self, change: &str) {
        if !self.changes.iter().any(|known| known == change) {
            self.changes.push(change.to_owned());
        }
    }

    /// The schema of a property or an item.
    fn schema(&mut self, schema: &'a Json, references: usize, depth: usize) -> Members {
        let Some(members) = schema.members().filter(|_| self.book.look()) else {
            self.changed("any value is said to be a text");
            return of_type("string");
        };
        let mut flat = self.book.flat(members, references);
        let choices = self.join(&mut flat);
        let types: Vec<&str> = flat.types().into_iter().filter(|name| *name != "null").collect();
        if depth >= DEPTH_CAP {
            self.changed("what lies deep in its schema is said by its type alone");
            return bare(types.first().copied().unwrap_or("object"));
        }
        match (&*choices, &*types) {
            ([_, _, ..], _) if flat.properties.is_empty() => self.choice(&flat, &choices, depth),
            (_, [first, rest @ ..]) if !rest.is_empty() => {
                self.changed("a choice of types is said as a choice of schemas");
                let mut all = vec![Json::Object(self.typed(&flat, first, depth))];
                all.extend(rest.iter().map(|name| Json::Object(self.typed(&flat, name, depth))));
                vec![("anyOf".to_owned(), Json::List(all))]
            }
            (_, [name, ..]) => self.typed(&flat, name, depth),
            (_, []) => {
                let name = self.guessed(&flat);
                self.typed(&flat, name, depth)
            }
        }
    }

    /// Takes the choices out. Null among them makes it nullable, which is found again by
    /// [`nullable`]; a single other one is joined.
    fn join(&mut self, flat: &mut Flat<'a>) -> Vec<&'a Json> {
        let mut choices = Vec::new();
        for word in ["anyOf", "oneOf"] {
            let list = flat.word(word).map(Json::items).unwrap_or_default();
            choices.extend(list.iter().filter(|choice| !is_null(choice)));
        }
        if let [only] = &*choices
            && let Some(members) = only.members()
        {
            let references = flat.references;
            self.book.gather(members, flat, references);
            choices.clear();
        }
        if choices.len() > 1 && !flat.properties.is_empty() {
            self.changed("a choice beside properties is left out of its schema");
        }
        choices
    }

    /// A choice stands alone: beside `anyOf` no other word is taken. So each of its schemas says
    /// what it is about and whether it may be null.
    fn choice(&mut self, flat: &Flat<'a>, choices: &[&'a Json], depth: usize) -> Members {
        let mut all = Vec::new();
        for choice in choices {
            if !self.book.look() {
                break;
            }
            let mut out = self.schema(choice, flat.references, depth + 1);
            if !out.iter().any(|(word, _)| word == "anyOf") {
                add_missing(&mut out, flat);
            }
            all.push(Json::Object(out));
        }
        if all.is_empty() { of_type("string") } else { vec![("anyOf".to_owned(), Json::List(all))] }
    }

    /// A schema of one type.
    fn typed(&mut self, flat: &Flat<'a>, name: &str, depth: usize) -> Members {
        let mut out = of_type(name);
        for (word, value) in &flat.words {
            self.word(word, value, &mut out);
        }
        self.values(flat, name, &mut out);
        match name {
            "object" => self.members(flat, depth, &mut out),
            "array" => self.items(flat, depth, &mut out),
            _ => {}
        }
        if nullable(flat) {
            out.push(("nullable".to_owned(), Json::Flag(true)));
        }
        out
    }

    fn word(&mut self, word: &str, value: &Json, out: &mut Members) {
        let keep = match value {
            Json::Text(text) => {
                TEXTS.contains(&word) || word == "format" && FORMATS.contains(&&**text)
            }
            Json::Number(_) => NUMBERS.contains(&word),
            Json::Null | Json::Flag(_) | Json::List(_) | Json::Object(_) => false,
        };
        let elsewhere =
            ["anyOf", "oneOf", "enum", "const", "items", "prefixItems", "properties", "required"];
        if keep {
            out.push((word.to_owned(), value.clone()));
        } else if !elsewhere.contains(&word) && !SILENT.contains(&word) {
            self.changed(&format!("{word:?} is left out of its schema"));
        }
    }

    /// Texts can be listed; other values are told in the description.
    fn values(&mut self, flat: &Flat<'a>, name: &str, out: &mut Members) {
        let values: Vec<&Json> = match (flat.word("enum"), flat.word("const")) {
            (Some(list), _) => list.items().iter().filter(|value| **value != Json::Null).collect(),
            (None, Some(Json::Null) | None) => Vec::new(),
            (None, Some(one)) => vec![one],
        };
        if values.is_empty() {
            return;
        }
        let texts: Vec<&str> = values.iter().filter_map(|value| value.as_text()).collect();
        if name == "string" && texts.len() == values.len() && !texts.contains(&"") {
            out.push(("enum".to_owned(), list_of(&texts)));
        } else {
            self.changed("values that are not texts are told in its description");
            describe(out, &values);
        }
    }

    fn members(&mut self, flat: &Flat<'a>, depth: usize, out: &mut Members) {
        let mut properties = Members::new();
        for (name, schema) in &flat.properties {
            let schema = self.schema(schema, flat.references, depth + 1);
            properties.push(((*name).to_owned(), Json::Object(schema)));
        }
        let known = |name: &&&str| properties.iter().any(|(known, _)| known == *name);
        let required: Vec<&str> = flat.required.iter().filter(known).copied().collect();
        if !properties.is_empty() {
            out.push(("properties".to_owned(), Json::Object(properties)));
        }
        if !required.is_empty() {
            out.push(("required".to_owned(), list_of(&required)));
        }
    }

    /// A list without a schema for its items is refused; one with a schema for each place cannot
    /// be said.
    fn items(&mut self, flat: &Flat<'a>, depth: usize, out: &mut Members) {
        let places = [flat.word("prefixItems"), flat.word("items")];
        let first = places.iter().flatten().find_map(|value| value.items().first());
        let items = match (first, flat.word("items")) {
            (Some(first), _) => {
                self.changed("a list with a schema for each place is said by that of its first");
                self.schema(first, flat.references, depth + 1)
            }
            (None, Some(items)) => self.schema(items, flat.references, depth + 1),
            (None, None) => of_type("string"),
        };
        out.push(("items".to_owned(), Json::Object(items)));
    }

    /// The type of a schema that names none.
    fn guessed(&mut self, flat: &Flat<'a>) -> &'static str {
        let says = |word: &str| flat.word(word).is_some();
        if !flat.properties.is_empty() || says("additionalProperties") {
            return "object";
        }
        if says("items") || says("prefixItems") {
            return "array";
        }
        let first = flat.word("const").or_else(|| flat.word("enum")?.items().first());
        match first {
            Some(Json::Number(number)) if number.is_f64() => "number",
            Some(Json::Number(_)) => "integer",
            Some(Json::Flag(_)) => "boolean",
            Some(Json::List(_)) => "array",
            Some(Json::Object(_)) => "object",
            Some(Json::Text(_)) => "string",
            Some(Json::Null) | None => {
                self.changed("any value is said to be a text");
                "string"
            }
        }
    }
}

fn of_type(name: &str) -> Members {
    let known = ["string", "number", "integer", "boolean", "array", "object"];
    let name = known.into_iter().find(|known| *known == name).unwrap_or("string");
    vec![("type".to_owned(), Json::text(name))]
}

/// A type and nothing more.
fn bare(name: &str) -> Members {
    let mut out = of_type(name);
    if name == "array" {
        out.push(("items".to_owned(), Json::Object(of_type("string"))));
    }
    out
}

fn is_null(schema: &Json) -> bool {
    let members = schema.members();
    members.and_then(|members| get(members, "type")).and_then(Json::as_text) == Some("null")
}

/// Whether a value may be null.
fn nullable(flat: &Flat<'_>) -> bool {
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|word| flat.word(word));
    flat.word("nullable") == Some(&Json::Flag(true))
        || flat.types().contains(&"null")
        || flat.word("enum").is_some_and(|values| values.items().contains(&Json::Null))
        || choices.flat_map(Json::items).any(is_null)
}

/// Adds what stands beside a choice to one of its schemas.
fn add_missing(out: &mut Members, flat: &Flat<'_>) {
    if let Some(description) = flat.word("description").filter(|value| value.as_text().is_some())
        && get(out, "description").is_none()
    {
        out.push(("description".to_owned(), description.clone()));
    }
    if nullable(flat) {
        put(out, "nullable", Json::Flag(true));
    }
}

/// Tells in the description which values there are.
fn describe(out: &mut Members, values: &[&Json]) {
    let told: Vec<String> =
        values.iter().map(|value| serde_json::to_string(value).unwrap_or_default()).collect();
    let told = format!("One of: {}", told.join(", "));
    let before = get(out, "description").and_then(Json::as_text);
    let whole = match before {
        Some(before) => format!("{before} ({told})"),
        None => told,
    };
    put(out, "description", Json::Text(whole));
}
