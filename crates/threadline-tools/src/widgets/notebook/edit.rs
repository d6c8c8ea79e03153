//! From what a call asks for to what it changes.

use std::fmt::Write as _;

use super::change::{Recorded, Span, trim_end};
use crate::text::{counted, nearest, one_line, shortened};

/// How much is shown on each side of a place.
const AROUND_BYTES: usize = 40;
/// How many places are shown.
const PLACES_SHOWN: usize = 5;
/// How much of a line is shown.
const LINE_BYTES: usize = 120;
/// How much of a text stands in a gist.
const GIST_BYTES: usize = 60;

/// What a call comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The change; none if all is as asked already.
    pub(super) recorded: Option<Recorded>,
    /// What was done, as a sentence.
    pub(super) told: String,
    /// The same in one line, for later.
    pub(super) gist: String,
}

/// Why a call changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The reason in one word, for statistics.
    pub(super) code: &'static str,
    /// The reason, and what to do instead.
    pub(super) message: String,
}

impl Unfit {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A text as the notebook keeps it: line feeds only, no white space at the end, none if blank.
pub(super) fn normal(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut text = lines_normal(text);
    text.truncate(trim_end(&text).len());
    text
}

/// A text with line feeds only.
fn lines_normal(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Puts a text at the end, on a line of its own.
pub(super) fn append(before: &str, text: &str) -> Result<Edit, Unfit> {
    let text = normal(text);
    if text.is_empty() {
        return Err(Unfit::new("text_empty", "there is nothing to add: the text is blank"));
    }
    let added = match before {
        "" => text.trim_start_matches('\n').to_owned(),
        _ if text.starts_with('\n') => text.clone(),
        _ => format!("\n{text}"),
    };
    Ok(Edit {
        told: format!("added {}", counted(text.trim_start_matches('\n').lines().count(), "line")),
        gist: format!("noted: {}", head(&text)),
        recorded: Some(Recorded::Append(added)),
    })
}

/// Replaces a text that is there once, or the first one after an anchor.
pub(super) fn replace(
    before: &str,
    find: &str,
    with: &str,
    anchor: Option<&str>,
) -> Result<Edit, Unfit> {
    let (find, with) = (lines_normal(find), lines_normal(with));
    if find.is_empty() {
        let message = "there is nothing to find: give the text to replace, or use notebook_append";
        return Err(Unfit::new("find_empty", message));
    }
    let at = locate(before, &find, anchor.map(lines_normal).as_deref())?;
    let span = trimmed(before, with_line(before, Span { at, len: find.len(), with: with.clone() }));
    let line = line_of(before, at);
    let replaced = before.get(span.at..span.at + span.len).unwrap_or_default();
    if replaced == span.with {
        let told = format!("nothing changed: line {line} reads so already");
        return Ok(Edit { recorded: None, gist: told.clone(), told });
    }
    let (told, gist) = if with.is_empty() {
        (format!("deleted text in line {line}"), format!("forgot: {}", head(&find)))
    } else {
        let gist = format!("notebook: \"{}\" became \"{}\"", head(&find), head(&with));
        (format!("replaced text in line {line}"), gist)
    };
    Ok(Edit { recorded: Some(Recorded::Replace(span)), told, gist })
}

fn head(text: &str) -> String {
    shortened(&one_line(text), GIST_BYTES).into_owned()
}

/// The span of a deletion that leaves a line blank takes the line as well.
fn with_line(before: &str, span: Span) -> Span {
    let Span { at, len, with } = &span;
    let (head, rest) = before.split_at_checked(*at).unwrap_or((before, ""));
    let (gone, tail) = rest.split_at_checked(*len).unwrap_or((rest, ""));
    // One that ends at a line's border leaves no line of its own behind.
    if !with.is_empty() || gone.starts_with('\n') || gone.ends_with('\n') {
        return span;
    }
    let start = head.rfind('\n').map_or(0, |end| end + 1);
    let end = tail.find('\n').map_or(before.len(), |end| at + len + end);
    let blank = |part: Option<&str>| part.is_some_and(|part| part.trim().is_empty());
    if !blank(before.get(start..*at)) || !blank(before.get(at + len..end)) {
        return span;
    }
    // The line feed behind it goes with it, or that before it if it is the last.
    let (start, end) =
        if end < before.len() { (start, end + 1) } else { (start.saturating_sub(1), end) };
    Span { at: start, len: end - start, with: String::new() }
}

/// The span of a replacement at the end takes the white space there as well.
fn trimmed(before: &str, span: Span) -> Span {
    if span.at + span.len < before.len() {
        return span;
    }
    let with = trim_end(&span.with).to_owned();
    let head = before.get(..span.at).unwrap_or_default();
    let at = if with.is_empty() { trim_end(head).len() } else { span.at };
    Span { at, len: before.len() - at, with }
}

/// Where the text that is meant begins.
fn locate(text: &str, find: &str, anchor: Option<&str>) -> Result<usize, Unfit> {
    let Some(anchor) = anchor else {
        let places = places(text, find);
        return match *places {
            [] => Err(not_found(text, "find", find)),
            [only] => Ok(only),
            _ => Err(several(text, find, &places)),
        };
    };
    let Some(start) = text.find(anchor).map(|at| at + anchor.len()) else {
        return Err(not_found(text, "anchor", anchor));
    };
    let after = text.get(start..).unwrap_or_default();
    after.find(find).map(|at| start + at).ok_or_else(|| {
        let mut unfit = not_found(text, "find", find);
        if text.contains(find) {
            let line = line_of(text, start);
            unfit.message = format!(
                "the text is in the notebook, but not after the anchor, which ends in line {line}; \
                 give another anchor or none"
            );
        }
        unfit
    })
}

/// Where a text begins, each place, those that overlap included.
fn places(text: &str, find: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(find)) {
        places.push(from + at);
        from = text.ceil_char_boundary(from + at + 1);
    }
    places
}

fn not_found(text: &str, what: &str, wanted: &str) -> Unfit {
    let code = if what == "anchor" { "anchor_not_found" } else { "find_not_found" };
    if text.is_empty() {
        let message = "the notebook is empty; use notebook_append to write into it";
        return Unfit::new(code, message);
    }
    let mut message = format!("the notebook does not have this {what}, exactly as it is written");
    let first = wanted.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let lines = (1..).zip(text.lines()).map(|(number, line): (usize, _)| ((number, line), line));
    let alike = nearest(first, lines, 3);
    if !alike.is_empty() {
        message.push_str("; the nearest there is:");
    }
    for (number, line) in alike {
        let _ = write!(message, "\nline {number}: {}", shortened(line, LINE_BYTES));
    }
    Unfit::new(code, message)
}

fn several(text: &str, find: &str, places: &[usize]) -> Unfit {
    let count = places.len();
    let mut message = format!(
        "the text is in the notebook {count} times; give more of what is around the one that is \
         meant, or an anchor before it:"
    );
    for at in places.iter().take(PLACES_SHOWN) {
        let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES));
        let end = text.ceil_char_boundary((at + find.len()).saturating_add(AROUND_BYTES));
        let around = one_line(text.get(start..end).unwrap_or_default());
        let around = shortened(&around, LINE_BYTES + 2 * AROUND_BYTES);
        let _ = write!(message, "\nline {}: …{around}…", line_of(text, *at));
    }
    if count > PLACES_SHOWN {
        let _ = write!(message, "\nand {} more", count - PLACES_SHOWN);
    }
    Unfit::new("find_not_unique", message)
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + before.bytes().filter(|byte| *byte == b'\n').count()
}
