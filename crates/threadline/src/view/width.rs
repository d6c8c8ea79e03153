//! Columns of a terminal: how many a text takes, and how to break it.
//!
//! Terminals do not agree on every character. What is wrong here is a line that ends a column
//! early or late, never a text that is lost.

/// How many columns a character takes.
pub(super) fn of_char(c: char) -> usize {
    match u32::from(c) {
        // Marks that stand on the character before, joiners, selectors.
        0x0300..=0x036F | 0x200C..=0x200D | 0xFE00..=0xFE0F => 0,
        // Hangul, Chinese, Japanese, full-width forms, pictures.
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// How many columns a text takes.
pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// As much of the beginning of a text as fits into so many columns.
pub(crate) fn head(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += of_char(c);
        if used > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// Breaks a line into parts that fit, between words if it can be.
pub(crate) fn wrap(line: &str, columns: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    loop {
        let fits = head(rest, columns);
        if fits.len() == rest.len() || fits.is_empty() {
            parts.push(rest);
            return parts;
        }
        let next_is_space = rest.get(fits.len()..).is_some_and(|after| after.starts_with(' '));
        // Not within the indentation: a line of code keeps it.
        let indented = rest.len() - rest.trim_start().len();
        let space = fits.rfind(' ').filter(|at| *at > indented);
        let end = if next_is_space { fits.len() } else { space.unwrap_or(fits.len()) };
        let (part, after) = rest.split_at(end);
        parts.push(part.trim_end());
        rest = after.trim_start_matches(' ');
        if rest.is_empty() {
            return parts;
        }
    }
}

/// Puts parts into lines of so many columns, with something between those on one line.
pub(crate) fn fill(parts: &[String], between: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if of(line) + of(between) + of(part) <= columns => {
                line.push_str(between);
                line.push_str(part);
            }
            Some(_) | None => lines.push(part.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted() {
        assert_eq!(of("abc"), 3);
        assert_eq!(of("天气"), 4);
        assert_eq!(of("e\u{301}"), 1);
        assert_eq!(head("天气 ok", 5), "天气 ");
        assert_eq!(head("天气", 3), "天");
    }

    #[test]
    fn a_line_is_broken_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("    let x = 1;", 12), ["    let x =", "1;"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("今天天气很好", 4), ["今天", "天气", "很好"]);
        // Not even one character fits: better too long than never done.
        assert_eq!(wrap("今天", 1), ["今天"]);
    }

    #[test]
    fn breaking_loses_no_word() {
        let line = "the quick  brown fox jumps over 今天天气很好 the lazy dog ";
        for columns in 2..70 {
            let words: String = wrap(line, columns).concat().split_whitespace().collect();
            assert_eq!(words, line.split_whitespace().collect::<String>(), "{columns}");
        }
    }

    #[test]
    fn parts_fill_lines() {
        let parts = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(fill(&parts, " · ", 9), ["one · two", "three"]);
        assert_eq!(fill(&parts, " · ", 2), ["one", "two", "three"]);
    }
}
