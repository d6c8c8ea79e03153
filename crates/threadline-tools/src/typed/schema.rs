//! The schema of a Rust type, in the plain form that models and their providers read best.
//!
//! Types that are used once stand where they are used; what is optional may be left out and is
//! not said to be null as well; a choice of words is an `enum` whose description has the words'
//! meanings; Rust's names and number formats are left out. Required parameters come first.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// What models read of a type.
pub(super) struct Written {
    pub(super) description: String,
    /// The schema as JSON text, without the description.
    pub(super) schema: String,
}

/// What models read of a type.
pub(super) fn of<A: JsonSchema>() -> Written {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut root = settings.into_generator().into_root_schema_for::<A>().to_value();
    plain(&mut root);
    let members = root.as_object_mut();
    let description = members.and_then(|members| members.remove("description"));
    let description = description.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut schema = String::new();
    write(&root, &mut schema);
    Written { description, schema }
}

/// Brings a schema, and all within it, into the plain form.
fn plain(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    members.remove("title");
    if members.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
        members.remove("format");
    }
    if members.get("default") == Some(&Value::Null) {
        members.remove("default");
    }
    if let Some(Value::String(description)) = members.get_mut("description") {
        *description = unwrapped(description);
    }
    for word in ["properties", "$defs"] {
        if let Some(Value::Object(inner)) = members.get_mut(word) {
            inner.values_mut().for_each(plain);
        }
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = members.get_mut(word) {
            plain(inner);
        }
    }
    for word in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(inner)) = members.get_mut(word) {
            inner.iter_mut().for_each(plain);
        }
    }
    without_null(members);
    words_as_enum(members);
}

fn is_rust_number(format: &str) -> bool {
    let int = format.strip_prefix('u').unwrap_or(format).strip_prefix("int");
    matches!(format, "float" | "double")
        || int.is_some_and(|bits| bits.is_empty() || bits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A doc comment as running text: lines of a paragraph become one.
fn unwrapped(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split('\n').map(str::trim).collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// What may be left out need not be null as well.
fn without_null(members: &mut Map<String, Value>) {
    let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
    let is_required = |name: &str| required.iter().any(|known| known.as_str() == Some(name));
    for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
        let Some(property) = property.as_object_mut() else { continue };
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = &**types {
                let only = only.clone();
                property.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(values)) = property.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Value::Array(branches)) = property.get_mut("anyOf") {
            branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
            if let [Value::Object(only)] = &**branches {
                let only = only.clone();
                property.remove("anyOf");
                for (word, value) in only {
                    property.entry(word).or_insert(value);
                }
            }
        }
    }
}

/// A choice of words, each with its meaning, becomes an enum with the meanings in its description.
fn words_as_enum(members: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = members.get("oneOf") else { return };
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for branch in branches {
        if let Some(word @ Value::String(text)) = branch.get("const") {
            words.push(word.clone());
            let meaning = branch.get("description").and_then(Value::as_str);
            meanings.extend(meaning.map(|meaning| format!("{text}: {meaning}")));
        } else if let (Some(Value::Array(plain)), None) =
            (branch.get("enum"), branch.get("properties"))
        {
            words.extend(plain.iter().cloned());
        } else {
            return;
        }
    }
    members.remove("oneOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), words.into());
    let own = members.get("description").and_then(Value::as_str).map(str::to_owned);
    let all = own.into_iter().chain(Some(meanings.join("; ")).filter(|text| !text.is_empty()));
    let all = all.collect::<Vec<_>>().join(" ");
    if !all.is_empty() {
        members.insert("description".to_owned(), all.into());
    }
}

/// Writes a schema with its words in one order, and required properties before the others.
fn write(schema: &Value, out: &mut String) {
    const FIRST: [&str; 5] = ["description", "type", "enum", "properties", "required"];
    let Some(members) = schema.as_object() else {
        out.push_str(&schema.to_string());
        return;
    };
    let first = FIRST.into_iter().filter(|word| members.contains_key(*word));
    let rest = members.keys().map(String::as_str).filter(|word| !FIRST.contains(word));
    let words = first.chain(rest).filter_map(|word| Some((word, members.get(word)?)));
    object(words, out, |word, value, out| match (word, value) {
        ("properties", Value::Object(properties)) => {
            let required = members.get("required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(Value::as_str);
            let required = required.collect::<Vec<_>>();
            let first = required.iter().copied().filter(|name| properties.contains_key(*name));
            let rest = properties.keys().map(String::as_str).filter(|n| !required.contains(n));
            let named = first.chain(rest).filter_map(|name| Some((name, properties.get(name)?)));
            object(named, out, |_, value, out| write(value, out));
        }
        ("$defs", Value::Object(definitions)) => {
            let named = definitions.iter().map(|(name, value)| (&**name, value));
            object(named, out, |_, value, out| write(value, out));
        }
        ("items" | "additionalProperties", value) => write(value, out),
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(branches)) => {
            out.push('[');
            for (index, branch) in branches.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(branch, out);
            }
            out.push(']');
        }
        (_, value) => out.push_str(&value.to_string()),
    });
}

fn object<'a>(
    members: impl Iterator<Item = (&'a str, &'a Value)>,
    out: &mut String,
    mut value_to: impl FnMut(&str, &Value, &mut String),
) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(name).to_string());
        out.push(':');
        value_to(name, value, out);
    }
    out.push('}');
}
