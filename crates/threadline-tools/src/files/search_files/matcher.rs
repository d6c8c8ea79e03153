//! What lines are searched for.

use std::ops::ControlFlow;

use regex::bytes::{Regex, RegexBuilder};

/// The longest text that is searched for.
pub(super) const TEXT_CAP_BYTES: usize = 4096;
/// The most memory that a pattern may take, compiled.
const PATTERN_CAP_BYTES: usize = 1024 * 1024;

/// What lines are searched for.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    pattern: Option<Regex>,
    /// Whether each line is matched by itself. A text as it is may go over several.
    by_line: bool,
}

/// A line that has what was searched for.
#[derive(Clone, Copy)]
pub(super) struct Hit<'a> {
    /// Its number, counted from 1.
    pub(super) line: usize,
    pub(super) text: &'a [u8],
    /// Where in it the match begins.
    pub(super) at: usize,
}

impl Matcher {
    pub(super) fn new(text: &str, regex: bool, ignore_case: bool) -> Result<Self, String> {
        if text.is_empty() {
            return Err("there is nothing to search for: the text is empty".to_owned());
        }
        if text.len() > TEXT_CAP_BYTES {
            return Err(format!("search for less: at most {TEXT_CAP_BYTES} bytes at once"));
        }
        let pattern = if regex { text.to_owned() } else { as_it_is(text) };
        let pattern = RegexBuilder::new(&pattern)
            .case_insensitive(ignore_case)
            .size_limit(PATTERN_CAP_BYTES)
            .dfa_size_limit(2 * PATTERN_CAP_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    "the pattern is too large; search for something simpler".to_owned()
                }
                error => format!("the text is no regular expression: {error}"),
            })?;
        Ok(Self { pattern: Some(pattern), by_line: regex })
    }

    /// Tells each line that has it, until it is enough. The time this takes grows with the text,
    /// whatever the pattern: a line is matched by itself, and one as it is is found going forward.
    pub(super) fn each(
        &self,
        text: &[u8],
        on: &mut dyn FnMut(Hit<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(pattern) = &self.pattern else { return ControlFlow::Continue(()) };
        if self.by_line {
            return by_line(pattern, text, on);
        }
        // A line's start, and its number.
        let (mut from, mut line) = (0, 1);
        while let Some(found) = pattern.find_at(text, from) {
            let at = found.start();
            let passed = text.get(from..at).unwrap_or_default();
            line += passed.split(|byte| *byte == b'\n').count() - 1;
            let before = passed.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
            let start = from + before.unwrap_or_default();
            let rest = text.get(at..).unwrap_or_default();
            let end =
                rest.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end);
            let whole = text.get(start..end).unwrap_or_default();
            on(Hit { line, text: without_return(whole), at: at - start })?;
            if end == text.len() {
                break;
            }
            (from, line) = (end + 1, line + 1);
        }
        ControlFlow::Continue(())
    }
}

fn by_line(
    pattern: &Regex,
    text: &[u8],
    on: &mut dyn FnMut(Hit<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = without_return(line);
        if let Some(found) = pattern.find(line) {
            on(Hit { line: number, text: line, at: found.start() })?;
        }
    }
    ControlFlow::Continue(())
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A pattern for a text as it is, whichever way the lines of a file end.
fn as_it_is(text: &str) -> String {
    text.replace("\r\n", "\n").split('\n').map(regex::escape).collect::<Vec<_>>().join(r"\r?\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(
        text: &str,
        wanted: &str,
        regex: bool,
        ignore_case: bool,
    ) -> Vec<(usize, String, usize)> {
        let mut hits = Vec::new();
        let flow =
            Matcher::new(wanted, regex, ignore_case).unwrap().each(text.as_bytes(), &mut |hit| {
                hits.push((hit.line, String::from_utf8_lossy(hit.text).into_owned(), hit.at));
                ControlFlow::Continue(())
            });
        assert!(flow.is_continue());
        hits
    }

    fn lines(text: &str, wanted: &str, regex: bool) -> Vec<usize> {
        hits(text, wanted, regex, false).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn a_line_is_told_once_with_its_number_and_place() {
        let text = "one two two\n\nthree\r\ntwo";
        let expected = [(1, "one two two".to_owned(), 4), (4, "two".to_owned(), 0)];
        assert_eq!(hits(text, "two", false, false), expected);
        assert_eq!(hits(text, "two", true, false), expected);
        assert_eq!(hits(text, "THREE", false, true), [(3, "three".to_owned(), 0)]);
        assert_eq!(hits(text, "THREE", false, false), []);
    }

    #[test]
    fn a_text_is_taken_as_it_is_and_a_pattern_line_by_line() {
        assert_eq!(lines("a.c\nabc", "a.c", false), [1]);
        assert_eq!(lines("a.c\nabc", "a.c", true), [1, 2]);
        assert_eq!(lines("a\r\nb\nc", "a\nb", false), [1]);
        assert_eq!(lines("x\na\nb\n", "a\r\nb", false), [2]);
        assert_eq!(lines("a\r\nb\n\nc", "^$", true), [3]);
        assert_eq!(lines("a\r\nb", "a$", true), [1]);
        assert_eq!(lines("a\nb\n", r"a\nb", true), [0; 0]);
        assert_eq!(lines("a\nb\n", "x*", true), [1, 2]);
        assert_eq!(lines("\n\n", "\n", false), [1, 2]);
    }

    #[test]
    fn what_is_no_pattern_or_too_large_is_told() {
        let refused = |text: &str| Matcher::new(text, true, false).unwrap_err();
        assert!(
            refused("(").starts_with("the text is no regular expression: "),
            "{}",
            refused("(")
        );
        assert!(refused(r"(?:\w{1000}){1000}").contains("too large"));
        assert!(refused("").contains("empty"));
        assert!(refused(&"a".repeat(5000)).contains("at most"));
    }

    #[test]
    fn no_pattern_takes_longer_than_the_text_is_long() {
        // Each would take ages where a search begins again at every match or goes back.
        let text = format!("{}\n", "a".repeat(100_000)).repeat(4);
        assert_eq!(lines(&text, "(a+)+b", true), [0; 0]);
        assert_eq!(lines(&"b\n".repeat(200_000), r"[^z]*z|b", true).len(), 200_000);
        assert_eq!(lines(&"a".repeat(1_000_000), "aaaa", false), [1]);
    }
}
