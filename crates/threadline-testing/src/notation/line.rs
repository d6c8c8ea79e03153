//! Lines: how text falls into words, braces and a text.

use serde_json::{Map, Value};

/// How far lines that go on with a text are indented.
const INDENT: &str = "    ";

/// What one entry is written as: a line, and those that go on with its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Its words.
    pub(super) words: Vec<&'a str>,
    /// What is in its braces.
    pub(super) rest: Map<String, Value>,
    /// What follows its colon, as it is written.
    pub(super) text: Option<String>,
}

/// The lines of a text, joined with those that go on with them; remarks and empty lines left out.
pub(super) fn join(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut empty = 0;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            empty += 1;
        } else if let Some(more) = line.strip_prefix(INDENT)
            && let Some((_, last)) = joined.last_mut()
        {
            for _ in 0..=empty {
                last.push('\n');
            }
            last.push_str(more);
            empty = 0;
        } else {
            empty = 0;
            if !line.starts_with("//") {
                joined.push((number, line.to_owned()));
            }
        }
    }
    joined
}

impl<'a> Line<'a> {
    /// A line in its parts.
    pub(super) fn parse(number: usize, line: &'a str) -> Result<Self, String> {
        let colon = colon(line);
        let brace = line.find(" {").filter(|brace| colon.is_none_or(|colon| *brace < colon));
        let head = line.get(..brace.or(colon).unwrap_or(line.len())).unwrap_or(line);
        let (rest, text) = match brace {
            None => (Map::new(), colon.and_then(|colon| line.get(colon..))),
            Some(brace) => {
                let json = line.get(brace + 1..).unwrap_or_default();
                let (rest, end) = object(json)?;
                (rest, Some(json.get(end..).unwrap_or_default()).filter(|after| !after.is_empty()))
            }
        };
        let text = match text {
            None => None,
            Some(text) => {
                let text = text.strip_prefix(':').ok_or("expected a colon after the braces")?;
                Some(text.strip_prefix([' ', '\n']).unwrap_or(text).to_owned())
            }
        };
        Ok(Self { number, words: head.split_whitespace().collect(), rest, text })
    }
}

/// The first colon that ends the words: one that a space, a new line or nothing follows.
fn colon(line: &str) -> Option<usize> {
    line.match_indices(':').map(|(at, _)| at).find(|at| {
        let after = line.get(at + 1..).unwrap_or_default();
        after.is_empty() || after.starts_with([' ', '\n'])
    })
}

/// The JSON object that a text begins with, and where it ends.
pub(super) fn object(json: &str) -> Result<(Map<String, Value>, usize), String> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Map<String, Value>>();
    match values.next() {
        Some(Ok(object)) => Ok((object, values.byte_offset())),
        Some(Err(error)) => Err(format!("what is in the braces is no JSON object: {error}")),
        None => Err("expected a JSON object".to_owned()),
    }
}

/// A text as it is written.
pub(super) fn quote(text: &str) -> String {
    if is_plain(text) {
        let indented =
            |line: &str| if line.is_empty() { String::new() } else { format!("{INDENT}{line}") };
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |written, line| written + "\n" + &indented(line))
    } else {
        Value::from(text).to_string()
    }
}

/// A text from how it is written, and what follows it after an arrow.
pub(super) fn unquote(written: &str) -> Result<(String, Option<&str>), String> {
    if written.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(written).into_iter::<String>();
        let text = match values.next() {
            Some(Ok(text)) => text,
            Some(Err(error)) => return Err(format!("the text is no JSON string: {error}")),
            None => return Err("expected a text".to_owned()),
        };
        let after = written.get(values.byte_offset()..).unwrap_or_default().trim();
        return match after.strip_prefix('→') {
            Some(after) => Ok((text, Some(after))),
            None if after.is_empty() => Ok((text, None)),
            None => Err(format!("expected nothing or an arrow after the text, not {after:?}")),
        };
    }
    match written.split_once('→') {
        Some((text, after)) => Ok((text.trim_end().to_owned(), Some(after))),
        None => Ok((written.to_owned(), None)),
    }
}

/// Whether a text can be written as it is and be read back.
fn is_plain(text: &str) -> bool {
    let blank_end = |line: &str| line.ends_with(char::is_whitespace);
    !text.is_empty()
        && !text.starts_with(|c: char| c == '"' || c.is_whitespace())
        && !text.ends_with('\n')
        && !text.contains('→')
        && !text.contains(|c: char| c.is_control() && c != '\n')
        && !text.split('\n').any(blank_end)
        // Other ends of lines would break it.
        && !text.contains(['\u{2028}', '\u{2029}', '\u{85}'])
}
