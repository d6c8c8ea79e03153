//! Explaining what is wrong with a config file: its line, the key, and what to write instead.
//!
//! A value is never repeated: it may be a key that someone wrote down by mistake.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::near::nearest;

/// How keys of the usual providers begin.
const KEY_BEGINNINGS: [&str; 7] = ["sk-", "sk_", "AIza", "gsk_", "xai-", "pplx-", "hf_"];
/// What people call a key.
const KEY_NAMES: [&str; 8] =
    ["key", "api_key", "apikey", "api-key", "token", "secret", "password", "authorization"];

/// Reads a config file; else says in which line what is wrong.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = without_mark(text);
    let table = parse(text)?;
    if let Some((at, path)) = literal_key(table.get_ref(), &mut Vec::new()) {
        let line = line_of(text, at);
        return Err(format!(
            "line {line}: {path}: a key does not belong in a config file; name where it is instead: key = {{ env = \"VARIABLE\" }}, {{ file = \"PATH\" }} or {{ command = [\"PROGRAM\", …] }}"
        ));
    }
    let read = toml::Deserializer::parse(text).and_then(T::deserialize);
    read.map_err(|error| explained(text, table.get_ref(), &error))
}

/// The tables of a file, with where everything is.
pub(super) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, String> {
    let text = without_mark(text);
    DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        format!("line {line}: {}", one_line(error.message()))
    })
}

/// A text without the mark that some editors put at its beginning.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The line of a place, from 1 on.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn explained(text: &str, table: &DeTable<'_>, error: &toml::de::Error) -> String {
    let message = without_values(error.message());
    let span = error.span().unwrap_or(0..0);
    let mut path = Vec::new();
    let inner = find(table, &span, &mut path);
    // What is wrong inside a table is told of the table; the message names the key.
    let named = message.split('`').nth(1);
    let mut at = span.start;
    if let (Some(inner), Some(name)) = (inner, named)
        && let Some((key, _)) = inner.get_key_value(name)
    {
        at = key.span().start;
        if path.last().is_none_or(|last| last != name) {
            path.push(name.to_owned());
        }
    }
    let (line, path) = (line_of(text, at), path.join("."));
    let hint = suggestion(&message).map(|meant| format!("; did you mean {meant}?"));
    let told = format!("line {line}: {path}: {message}{}", hint.unwrap_or_default());
    told.replace(": : ", ": ")
}

/// The path to what a span covers, and the innermost table on it.
fn find<'t, 'i>(
    table: &'t DeTable<'i>,
    span: &Range<usize>,
    path: &mut Vec<String>,
) -> Option<&'t DeTable<'i>> {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        let within = |of: Range<usize>| of.start <= span.start && span.end <= of.end;
        if let DeValue::Array(items) = value.get_ref() {
            for item in items {
                let DeValue::Table(inner) = item.get_ref() else { continue };
                if let Some(found) = find(inner, span, path) {
                    return Some(found);
                }
                if within(item.span()) {
                    return Some(inner);
                }
            }
        }
        if let DeValue::Table(inner) = value.get_ref() {
            if let Some(found) = find(inner, span, path) {
                return Some(found);
            }
            if within(value.span()) || within(key.span()) {
                return Some(inner);
            }
        } else if within(value.span()) || within(key.span()) {
            return Some(table);
        }
        path.pop();
    }
    None
}

/// Where a key is written down, if one is.
fn literal_key(table: &DeTable<'_>, path: &mut Vec<String>) -> Option<(usize, String)> {
    for (name, value) in table {
        path.push(name.get_ref().to_string());
        let found = match value.get_ref() {
            DeValue::Table(inner) => literal_key(inner, path),
            DeValue::String(text) => {
                let named = KEY_NAMES.contains(&name.get_ref().to_lowercase().as_str());
                (named || looks_like_a_key(text)).then(|| (name.span().start, path.join(".")))
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => None,
            DeValue::Array(items) => items
                .iter()
                .find(|item| item.get_ref().as_str().is_some_and(looks_like_a_key))
                .map(|item| (item.span().start, path.join("."))),
        };
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
}

fn looks_like_a_key(text: &str) -> bool {
    KEY_BEGINNINGS.iter().any(|begins| text.starts_with(begins))
}

/// A message in one line, without the value that it repeats.
fn without_values(message: &str) -> String {
    let message = one_line(message);
    let Some((before, rest)) = message.split_once(" \"") else { return message };
    match rest.rsplit_once("\", expected ") {
        Some((_, expected)) if before.starts_with("invalid") => {
            format!("{before}, expected {expected}")
        }
        _ => message,
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The known word that is nearest to the unknown one of a message.
fn suggestion(message: &str) -> Option<&str> {
    let marks = ["unknown field `", "unknown variant `"];
    let (_, rest) = marks.iter().find_map(|mark| message.split_once(mark))?;
    let mut words = rest.split('`').step_by(2);
    let given = words.next()?;
    nearest(given, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_repeated() {
        let message = "invalid type: string \"a \\\"secret\\\", expected x\", expected u64";
        assert_eq!(without_values(message), "invalid type: string, expected u64");
    }
}
