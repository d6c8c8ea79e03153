//! From what a call asks for to what it changes.

use super::change::{Recorded, Span, trim_end};
use super::find::{self, Argument};
use crate::matching::line_of;
use crate::text::{counted, one_line, shortened};
use crate::widgets::answer::Unfit;

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
pub(super) fn lines_normal(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
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
    wanted: &str,
    with: &str,
    anchor: Option<&str>,
) -> Result<Edit, Unfit> {
    let wanted = lines_normal(wanted);
    let at = find::one(before, Argument::Find, &wanted, anchor.map(lines_normal).as_deref())?;
    let place = Place { at, len: wanted.len() };
    Ok(replaced(before, &place, with, &head(&wanted)))
}

/// Replaces all from one marker to the next other one, both included. The first is there once, or
/// the first one after an anchor is meant.
pub(super) fn replace_span(
    before: &str,
    (start, end): (&str, &str),
    with: &str,
    anchor: Option<&str>,
) -> Result<Edit, Unfit> {
    let (start, end) = (lines_normal(start), lines_normal(end));
    find::given(Argument::End, &end)?;
    let at = find::one(before, Argument::Start, &start, anchor.map(lines_normal).as_deref())?;
    let behind = at + start.len();
    let until = find::end(before, &end, behind)? + end.len();
    let markers = format!("{} … {}", head(&start), head(&end));
    Ok(replaced(before, &Place { at, len: until - at }, with, &markers))
}

/// Bytes of the text that a call is about.
struct Place {
    at: usize,
    len: usize,
}

/// Puts a text in the place of another, which is told by these words.
fn replaced(before: &str, place: &Place, with: &str, words: &str) -> Edit {
    let with = lines_normal(with);
    let Place { at, len } = *place;
    let span = trimmed(before, with_line(before, Span { at, len, with: with.clone() }));
    let (first, last) = (line_of(before, at), line_of(before, at + len - 1));
    let lines =
        if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
    if before.get(span.at..span.at + span.len) == Some(&*span.with) {
        let reads = if first == last { "reads" } else { "read" };
        let told = format!("nothing changed: {lines} {reads} so already");
        return Edit { recorded: None, gist: told.clone(), told };
    }
    let (told, gist) = if with.is_empty() {
        (format!("deleted text in {lines}"), format!("forgot: {words}"))
    } else {
        let gist = format!("notebook: \"{words}\" became \"{}\"", head(&with));
        (format!("replaced text in {lines}"), gist)
    };
    Edit { recorded: Some(Recorded::Replace(span)), told, gist }
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
