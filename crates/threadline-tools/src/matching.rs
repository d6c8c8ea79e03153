//! Finding the text that a change is about, and saying what is there instead.

use std::fmt::Write as _;

use crate::text::{line_feeds, nearest, one_line, shortened};

/// How many places are looked for. What is there more often is not what anybody means.
pub(crate) const PLACES_CAP: usize = 100;
/// How many places are shown.
const PLACES_SHOWN: usize = 5;
/// How much is shown on each side of a place.
const AROUND_BYTES: usize = 40;
/// How much of a line is shown.
const LINE_BYTES: usize = 120;
/// How many lines are compared to find the nearest.
const LINES_COMPARED: usize = 20_000;

/// Where a text begins, each place, those that overlap included; no more than there is a cap for.
pub(crate) fn places(text: &str, find: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(find)) {
        places.push(from + at);
        from = text.ceil_char_boundary(from + at + 1);
        if places.len() >= PLACES_CAP || find.is_empty() {
            break;
        }
    }
    places
}

/// The line that a place is in, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + line_feeds(before)
}

/// How often a text is there, in words.
pub(crate) fn times(places: &[usize]) -> String {
    match places.len() {
        PLACES_CAP.. => format!("{PLACES_CAP} times or more"),
        count => format!("{count} times"),
    }
}

/// The places of a text, each on a line of its own with what is around it.
pub(crate) fn surroundings(text: &str, find: &str, places: &[usize]) -> String {
    let mut shown = String::new();
    for at in places.iter().take(PLACES_SHOWN) {
        let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES));
        let end = text.ceil_char_boundary((at + find.len()).saturating_add(AROUND_BYTES));
        let around = one_line(text.get(start..end).unwrap_or_default());
        let around = shortened(&around, LINE_BYTES + 2 * AROUND_BYTES);
        let _ = write!(shown, "\nline {}: …{around}…", line_of(text, *at));
    }
    if places.len() > PLACES_SHOWN {
        let _ = write!(shown, "\nand {} more", places.len() - PLACES_SHOWN);
    }
    shown
}

/// What there is instead of a text that is not there: where its beginning is, or else the lines
/// most like its first. Empty if there is nothing of the kind.
#[cfg(unix)]
pub(crate) fn instead(text: &str, wanted: &str) -> String {
    departs(text, wanted).unwrap_or_else(|| alike(text, wanted, 1))
}

/// The lines most like the first of a text that is not there, with their numbers from one on. Empty
/// if there are none.
pub(crate) fn alike(text: &str, wanted: &str, number: usize) -> String {
    let first = wanted.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let lines = (number..).zip(text.lines().take(LINES_COMPARED));
    let lines = lines.map(|(number, line)| ((number, line), shortened(line, 400)));
    let alike = nearest(&shortened(first, 400), lines, 3);
    let mut shown = String::new();
    if !alike.is_empty() {
        shown.push_str("; the nearest there is:");
    }
    for (number, line) in alike {
        let _ = write!(shown, "\nline {number}: {}", shortened(line, LINE_BYTES));
    }
    shown
}

/// Where a text of several lines is there at first and then goes on otherwise.
#[cfg(unix)]
fn departs(text: &str, wanted: &str) -> Option<String> {
    let first = wanted.find('\n').map(|end| end + 1)?;
    if wanted.get(..first)?.trim().is_empty() {
        return None;
    }
    // Whatever is there has all its beginnings there, too: the longest is found by halving.
    let (mut there, mut not) = (0, wanted.len());
    while there + 1 < not {
        let middle = there + (not - there) / 2;
        let cut = wanted.floor_char_boundary(middle);
        if cut > there && text.contains(wanted.get(..cut)?) {
            there = cut;
        } else {
            not = middle;
        }
    }
    if there < first {
        return None;
    }
    let beginning = wanted.get(..there)?;
    let start = text.find(beginning)?;
    let end = start + beginning.len();
    let line = line_of(text, end);
    // Both are shown from the start of the line in which they part.
    let has = |of: &str, at: usize| {
        let from = of.get(..at).and_then(|head| head.rfind('\n')).map_or(0, |end| end + 1);
        let rest = of.get(from..).unwrap_or_default().lines().next().unwrap_or_default();
        shortened(rest, LINE_BYTES).into_owned()
    };
    let begins = format!("; it begins as line {} does", line_of(text, start));
    if end == text.len() {
        return Some(format!("{begins}, and goes on where line {line}, the last one, ends"));
    }
    let (has, not) = (has(text, end), has(wanted, there));
    Some(format!("{begins}, and parts from it in line {line}:\nline {line}: {has}\nnot: {not}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_may_overlap_and_are_counted_to_a_cap() {
        assert_eq!(places("aXbXc", "X"), [1, 3]);
        assert_eq!(places("aaa", "aa"), [0, 1]);
        assert_eq!(places("雨雨雨", "雨雨"), [0, 3]);
        assert_eq!(places("abc", "x"), [0; 0]);
        let many = places(&"a".repeat(10_000), "a");
        assert_eq!(many.len(), PLACES_CAP);
        assert_eq!(times(&many), "100 times or more");
        assert_eq!(times(&[1, 2]), "2 times");
    }

    #[test]
    fn several_places_are_shown_with_their_surroundings() {
        let text = "one x\ntwo x\nthree\n";
        let shown = surroundings(text, "x", &places(text, "x"));
        assert_eq!(shown, "\nline 1: …one x two x three…\nline 2: …one x two x three…");
        let text = "x ".repeat(8);
        assert!(surroundings(&text, "x", &places(&text, "x")).ends_with("\nand 3 more"));
    }

    #[test]
    fn a_text_that_is_not_there_is_answered_with_what_is() {
        let text = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
        assert_eq!(
            instead(text, "fn main() {\n    let a = 1;\n    let c = 3;\n}"),
            "; it begins as line 1 does, and parts from it in line 3:\n\
             line 3:     let b = 2;\nnot:     let c = 3;"
        );
        assert_eq!(
            instead(text, "let b = 3;"),
            "; the nearest there is:\nline 3:     let b = 2;\nline 2:     let a = 1;"
        );
        assert_eq!(instead(text, "zzz"), "");
        assert_eq!(instead("", "zzz\nz"), "");
        // The beginning of a line alone says nothing: other lines may be nearer.
        assert!(instead(text, "fn man() {\nlet").contains("line 1: fn main() {"));
    }

    #[test]
    fn what_parts_at_the_end_or_within_a_character_is_shown() {
        let shown = instead("a 雨\nb 雨", "a 雨\nb 雪");
        assert_eq!(
            shown,
            "; it begins as line 1 does, and parts from it in line 2:\nline 2: b 雨\nnot: b 雪"
        );
        let shown = instead("a\nb", "a\nb\nc");
        assert_eq!(
            shown,
            "; it begins as line 1 does, and goes on where line 2, the last one, ends"
        );
    }
}
