//! Explaining what is wrong with a config file: its line, the key, and what to write instead.
//!
//! A value is never repeated: it may be a key that someone wrote down by mistake.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most edits between a key and the one that was probably meant.
const NEAR: usize = 3;
/// How keys of the usual providers begin.
const KEY_BEGINNINGS: [&str; 7] = ["sk-", "sk_", "AIza", "gsk_", "xai-", "pplx-", "hf_"];
/// What people call a key.
const KEY_NAMES: [&str; 8] =
    ["key", "api_key", "apikey", "api-key", "token", "secret", "password", "authorization"];

/// Reads a config file; else says in which line what is wrong.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
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
    DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        format!("line {line}: {}", one_line(error.message()))
    })
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
                // The name of a header is a word of ours, and an empty text is no key.
                let is_key = named || KEY_BEGINNINGS.iter().any(|begins| text.starts_with(begins));
                is_key.then(|| (name.span().start, path.join(".")))
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => None,
        };
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
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
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let given = words.next()?;
    nearest(given, words)
}

/// The word that is nearest to another, if one is near.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |word: &str| distance(given, word);
    let near = |word: &&str| far(word) <= NEAR.min(word.chars().count() / 2);
    known.filter(near).min_by_key(|word| far(word))
}

/// How many letters must be added, left out or changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (down, letter) in one.chars().enumerate() {
        let mut diagonal = down;
        let mut left = down + 1;
        for (cell, across) in row.iter_mut().skip(1).zip(&other) {
            let changed = diagonal + usize::from(letter != *across);
            diagonal = *cell;
            left = changed.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = down + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_between_words_are_counted() {
        for (one, other, wanted) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("db", "bd", 2),
        ] {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
            assert_eq!(distance(other, one), wanted, "{other} {one}");
        }
        assert_eq!(nearest("colour", ["color", "db"].into_iter()), Some("color"));
        assert_eq!(nearest("zzz", ["color", "db"].into_iter()), None);
    }

    #[test]
    fn values_are_not_repeated() {
        let message = "invalid type: string \"a \\\"secret\\\", expected x\", expected u64";
        assert_eq!(without_values(message), "invalid type: string, expected u64");
    }
}
