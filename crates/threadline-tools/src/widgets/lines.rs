//! Texts by lines: pages, diffs, and lists that have to fit.

use std::fmt::Write as _;

use super::answer::Unfit;
use crate::text::{counted, line_feeds, shortened};

/// The most that a page has: one that a model gets to see whole, whatever is written on it.
pub(super) const PAGE_BYTES: usize = 8 * 1024;
/// How many lines of each side a diff shows.
const DIFF_LINES: usize = 12;
/// How much of a line a diff shows.
const DIFF_LINE_BYTES: usize = 200;

/// A page of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// What is on it, and at its end how to read on if there is more.
    pub(super) text: String,
    /// Which lines it has, of how many.
    pub(super) told: String,
}

/// The text from a line on, and from a byte of this line, as much as a page has.
pub(super) fn page(text: &str, line: usize, byte: usize) -> Result<Page, Unfit> {
    let lines = text.lines().count();
    let skipped = text.split_inclusive('\n').take(line.max(1) - 1).map(str::len).sum();
    let rest = text.get(skipped..).unwrap_or_default();
    let Some(first_line) = rest.split('\n').next().filter(|_| !rest.is_empty()) else {
        let message = format!("there is no line {line}: the last is {lines}");
        return Err(Unfit::new("line_not_found", message));
    };
    // A byte within a character is drawn to the character's first.
    let within = first_line.floor_char_boundary(byte.max(1) - 1);
    if within > 0 && within == first_line.len() {
        let message = format!("line {line} has only {}", counted(within, "byte"));
        return Err(Unfit::new("byte_not_found", message));
    }
    let rest = rest.get(within..).unwrap_or_default();
    let first = line.max(1);
    let shown = head(rest, PAGE_BYTES);
    let left = rest.get(shown.len()..).unwrap_or_default();
    let last = first + line_feeds(shown);
    let last = if shown.ends_with('\n') { last - 1 } else { last };
    let mut page = shown.to_owned();
    if left.len() > 1 && left.starts_with('\n') {
        let next = last + 1;
        let _ = write!(page, "\n[lines {first} to {last} of {lines}: read on with line {next}]");
    } else if left.len() > 1 {
        let next = within + shown.len() + 1;
        let _ = write!(page, "\n[line {last} of {lines} goes on: read on with byte {next} of it]");
    }
    let told = if first == last && lines == 1 {
        "the one line".to_owned()
    } else {
        format!("lines {first} to {last} of {lines}")
    };
    Ok(Page { text: page, told })
}

/// The whole lines that fit, or as much of the first one.
pub(super) fn head(text: &str, cap_bytes: usize) -> &str {
    if text.len() <= cap_bytes {
        return text;
    }
    let fits = text.get(..text.floor_char_boundary(cap_bytes)).unwrap_or_default();
    // A line that ends right at the cap is whole.
    if text.get(fits.len()..).is_some_and(|rest| rest.starts_with('\n')) {
        return fits;
    }
    fits.rfind('\n').and_then(|end| fits.get(..end)).unwrap_or(fits)
}

/// The lines that went and the lines that came.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (head, before, after) = parted(before, after);
    let (before, after) = (lines(before), lines(after));
    let same = before.iter().zip(&after).take_while(|(one, two)| one == two).count();
    let (before, after) = (skip(&before, same), skip(&after, same));
    let same = line_feeds(head) + same;
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(one, two)| one == two);
    let end = end.count();
    let mut text = format!("at line {}:", same + 1);
    for (sign, word, lines) in [("-", "removed", before), ("+", "added", after)] {
        let changed = lines.len() - end;
        for line in lines.iter().take(changed.min(DIFF_LINES)) {
            let _ = write!(text, "\n{sign} {}", shortened(line, DIFF_LINE_BYTES));
        }
        if changed > DIFF_LINES {
            let _ = write!(text, "\n{sign} … {} more {word}", changed - DIFF_LINES);
        }
    }
    text
}

/// The whole lines with which both texts begin, and the rest of each.
fn parted<'a>(one: &'a str, two: &'a str) -> (&'a str, &'a str, &'a str) {
    const CHUNK: usize = 64;
    let (ones, twos) = (one.as_bytes(), two.as_bytes());
    let chunks = ones.chunks_exact(CHUNK).zip(twos.chunks_exact(CHUNK));
    let chunks = CHUNK * chunks.take_while(|(one, two)| one == two).count();
    let bytes = ones.iter().zip(twos).skip(chunks).take_while(|(one, two)| one == two).count();
    let equal = ones.get(..chunks + bytes).unwrap_or_default();
    let at = memchr::memrchr(b'\n', equal).map_or(0, |end| end + 1);
    let (head, rest) = one.split_at_checked(at).unwrap_or(("", one));
    (head, rest, two.get(at..).unwrap_or_default())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn skip<'a, 'b>(lines: &'a [&'b str], count: usize) -> &'a [&'b str] {
    lines.get(count..).unwrap_or_default()
}

/// The first lines of a list, and how many there are beyond.
pub(super) fn first(list: &[String], most: usize) -> String {
    let mut text = list.iter().take(most).map(String::as_str).collect::<Vec<_>>().join("\n");
    if list.len() > most {
        let _ = write!(text, "\n… {} more", list.len() - most);
    }
    text
}

/// A heading and as many lines of a list as fit under a cap, with a note on where the others are.
/// The heading is there at any rate.
pub(super) fn fitted(heading: &str, list: &[String], cap_bytes: usize, tool: &str) -> String {
    let whole = heading.len() + list.iter().map(|line| 1 + line.len()).sum::<usize>();
    if whole <= cap_bytes {
        return list.iter().fold(heading.to_owned(), |text, line| text + "\n" + line);
    }
    let note = |left: usize| format!("\n[{left} more: {tool}]");
    let mut text = heading.to_owned();
    let mut shown = 0;
    for line in list {
        if text.len() + 1 + line.len() + note(list.len()).len() > cap_bytes {
            break;
        }
        text.push('\n');
        text.push_str(line);
        shown += 1;
    }
    text + &note(list.len() - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pages of a text, read as their ends say.
    fn read(text: &str) -> Vec<String> {
        let (mut line, mut byte, mut pages) = (1, 1, Vec::new());
        loop {
            let page = page(text, line, byte).unwrap().text;
            let Some((shown, note)) = page.rsplit_once("\n[line") else {
                pages.push(page);
                return pages;
            };
            let words = note.split_whitespace().collect::<Vec<_>>();
            let after = |word: &str| {
                let at = words.iter().position(|known| *known == word).unwrap() + 1;
                words[at].trim_end_matches(']').parse::<usize>().unwrap()
            };
            if words.contains(&"byte") {
                (line, byte) = (words[0].parse().unwrap(), after("byte"));
                pages.push(shown.to_owned());
            } else {
                (line, byte) = (after("line"), 1);
                pages.push(format!("{shown}\n"));
            }
        }
    }

    #[test]
    fn a_text_is_read_whole_page_by_page() {
        let many = (1..2000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
        let wide = format!("a\n{}\nb\n\n", "雨x".repeat(5000));
        for (text, pages) in [(&*many, 3), (&wide, 4), ("one", 1), ("one\n\n", 1)] {
            let read = read(text);
            assert_eq!(read.len(), pages);
            assert_eq!(read.concat(), text);
            assert!(read.iter().all(|page| page.len() <= PAGE_BYTES + 1));
        }
    }

    #[test]
    fn a_diff_has_the_lines_between_those_that_stayed() {
        let head = (1..=40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
        for (before, after, told_at) in [
            ("", "a", "at line 1:\n+ a"),
            ("a", "a\nb", "at line 2:\n+ b"),
            ("a\n", "a\nb", "at line 2:\n+ b"),
            ("x\nx", "x\nx\nx", "at line 3:\n+ x"),
            ("a\nb\nc", "a\nx\nc", "at line 2:\n- b\n+ x"),
            ("a\nb\nc", "a\nc", "at line 2:\n- b"),
            ("雨", "雪", "at line 1:\n- 雨\n+ 雪"),
            ("a", "a", "at line 2:"),
        ] {
            assert_eq!(diff(before, after), told_at);
            let (before, after) = (format!("{head}{before}"), format!("{head}{after}"));
            let later = told_at.split_once(':').unwrap();
            let line = later.0.strip_prefix("at line ").unwrap().parse::<usize>().unwrap();
            assert_eq!(diff(&before, &after), format!("at line {}:{}", line + 40, later.1));
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let wrong = |line, byte| page("one\ntwo", line, byte).unwrap_err().message;
        assert_eq!(wrong(3, 1), "there is no line 3: the last is 2");
        assert_eq!(wrong(2, 9), "line 2 has only 3 bytes");
        assert_eq!(page("one\ntwo", 2, 2).unwrap().text, "wo");
        assert_eq!(page("", 1, 1).unwrap_err().message, "there is no line 1: the last is 0");
    }

    #[test]
    fn a_list_shows_what_fits_and_where_the_rest_is() {
        let list = (1..=9).map(|n| format!("- {n}")).collect::<Vec<_>>();
        assert_eq!(fitted("## A\n", &list[..2], 100, "all"), "## A\n\n- 1\n- 2");
        assert_eq!(fitted("## A\n", &list, 27, "all"), "## A\n\n- 1\n- 2\n[7 more: all]");
        assert_eq!(fitted("## A\n", &list, 0, "all"), "## A\n\n[9 more: all]");
        assert_eq!(first(&list, 2), "- 1\n- 2\n… 7 more");
        for cap in 20..60 {
            assert!(fitted("## A\n", &list, cap, "all").len() <= cap, "{cap}");
        }
    }
}
