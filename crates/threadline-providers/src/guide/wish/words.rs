//! Words: what stands before, after and between them, and what quotation marks keep together.

/// What follows a beginning, whatever its case.
pub(in crate::guide) fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// What stands before an end, whatever its case.
pub(super) fn strip_end<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    tail.eq_ignore_ascii_case(suffix).then_some(rest)
}

/// What follows the first of these beginnings that is there, unless that is nothing.
pub(super) fn after<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    let rest = prefixes.iter().find_map(|prefix| strip(text, prefix)).map(str::trim);
    rest.filter(|rest| !rest.is_empty())
}

/// What stands before the first of these ends that is there, unless that is nothing.
pub(super) fn before<'a>(text: &'a str, suffixes: &[&str]) -> Option<&'a str> {
    let rest = suffixes.iter().find_map(|suffix| strip_end(text, suffix)).map(str::trim);
    rest.filter(|rest| !rest.is_empty())
}

/// Whether a text is one of these, whatever its case.
pub(super) fn is_any(text: &str, known: &[&str]) -> bool {
    known.iter().any(|known| text.eq_ignore_ascii_case(known))
}

/// The two sides of the first of these words that is not within quotation marks.
pub(super) fn parted<'a>(text: &'a str, words: &[&str]) -> Option<(&'a str, &'a str)> {
    let (at, length) = places(text, words).next()?;
    sides(text, at, length)
}

/// The two sides of the last of these words that is not within quotation marks.
pub(super) fn parted_last<'a>(text: &'a str, words: &[&str]) -> Option<(&'a str, &'a str)> {
    let (at, length) = places(text, words).last()?;
    sides(text, at, length)
}

fn sides(text: &str, at: usize, length: usize) -> Option<(&str, &str)> {
    let (before, after) = (text.get(..at)?.trim(), text.get(at + length..)?.trim());
    (!before.is_empty() && !after.is_empty()).then_some((before, after))
}

/// Where these words stand outside of quotation marks, and how long they are. Of several at one
/// place the first is taken.
pub(super) fn places(text: &str, words: &[&str]) -> impl Iterator<Item = (usize, usize)> {
    let outside = outside(text);
    let found = outside.flat_map(move |(start, end)| (start..end).map(move |at| (at, end)));
    found.filter_map(move |(at, end)| {
        let rest = text.get(at..)?;
        let word = words.iter().find(|word| strip(rest, word).is_some())?;
        // A word may end with the blank before a quotation mark, and never within the marks.
        (at + word.len() <= end).then_some((at, word.len()))
    })
}

/// The stretches of a text that are not within quotation marks, the marks not included.
pub(super) fn outside(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let quotes = quotes(text);
    let starts = std::iter::once(0).chain(quotes.iter().map(|(_, end)| *end));
    let ends = quotes.iter().map(|(start, _)| *start).chain(std::iter::once(text.len()));
    starts.zip(ends).collect::<Vec<_>>().into_iter()
}

/// Where quotations begin and end, their marks included. A mark opens one at the beginning of a
/// word, if there is another one to close it; so inches and apostrophes are none.
fn quotes(text: &str) -> Vec<(usize, usize)> {
    let mut quotes = Vec::new();
    // Whatever is not closed once is not closed later either.
    let (mut straight, mut curly) = (true, true);
    let (mut at, mut opens) = (0, true);
    while let Some(rest) = text.get(at..) {
        let Some(first) = rest.chars().next() else { break };
        let mark = match first {
            '"' if straight => Some("\""),
            '“' if curly => Some("“"),
            '`' => rest.get(..rest.bytes().take_while(|byte| *byte == b'`').count()),
            _ => None,
        };
        let end = mark.filter(|_| opens).and_then(|mark| {
            let inner = rest.get(mark.len()..)?;
            let closing = if mark == "“" { "”" } else { mark };
            let end = closed(inner, closing);
            match (first, end) {
                ('"', None) => straight = false,
                ('“', None) => curly = false,
                (_, _) => {}
            }
            Some(at + mark.len() + end? + closing.len())
        });
        match end {
            Some(end) => {
                quotes.push((at, end));
                (at, opens) = (end, false);
            }
            None => {
                at += mark.map_or(first.len_utf8(), str::len);
                opens = first.is_whitespace() || matches!(first, '(' | '[' | ':' | ',' | ';' | '=');
            }
        }
    }
    quotes
}

/// Where a mark closes a quotation: a run of backticks by a run that is as long.
fn closed(inner: &str, mark: &str) -> Option<usize> {
    if !mark.starts_with('`') {
        return inner.find(mark);
    }
    let mut at = 0;
    while let Some(found) = inner.get(at..).and_then(|rest| rest.find('`')) {
        at += found;
        let run = inner.bytes().skip(at).take_while(|byte| *byte == b'`').count();
        if run == mark.len() {
            return Some(at);
        }
        at += run;
    }
    None
}

/// A text without the quotation marks around all of it; of a code fence also without the lines of
/// its marks.
pub(super) fn unquoted(text: &str) -> &str {
    quoted(text).unwrap_or_else(|| text.trim())
}

/// What is between quotation marks, if all of a text is.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let text = text.trim();
    let single = || {
        let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
        (!inner.is_empty() && !inner.contains('\'')).then_some(inner)
    };
    let [(0, end)] = &*quotes(text) else { return single() };
    if *end != text.len() {
        return None;
    }
    let run = text.bytes().take_while(|byte| *byte == b'`').count();
    let mark = if text.starts_with('“') { '“'.len_utf8() } else { run.max(1) };
    let inner = text.get(mark..text.len().checked_sub(mark)?)?;
    let inner = match inner.split_once('\n') {
        Some((_, body)) if run >= 3 => body.strip_suffix('\n').unwrap_or(body),
        _ => inner,
    };
    (!inner.is_empty()).then_some(inner)
}

const BEFORE: [&str; 23] = [
    "please ",
    "please, ",
    "kindly ",
    "can you ",
    "could you ",
    "would you ",
    "will you ",
    "i want you to ",
    "i would like you to ",
    "i'd like you to ",
    "let's ",
    "guide, ",
    "guide: ",
    "hey guide, ",
    "hello, ",
    "hi, ",
    "hey, ",
    "ok, ",
    "okay, ",
    "now ",
    "also ",
    "then ",
    "and ",
];

const AFTER: [&str; 5] = [", please", " please", ", thanks", ", thank you", ", guide"];

/// A text without the forms of politeness around it.
pub(super) fn polite(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let bare = text.trim_end_matches(['.', '?', '!', ',', ';']).trim();
        let bare = BEFORE.iter().find_map(|before| strip(bare, before)).unwrap_or(bare).trim();
        let bare = AFTER.iter().find_map(|after| strip_end(bare, after)).unwrap_or(bare).trim();
        if bare == text {
            return text;
        }
        text = bare;
    }
}

/// A text without the forms of politeness before it: what it ends with may be meant as it is.
pub(super) fn begun(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = BEFORE.iter().find_map(|before| strip(text, before)) {
        text = rest.trim();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotation_marks_keep_words_together() {
        let within = |text: &str| {
            let within = quotes(text).into_iter().filter_map(|(start, end)| text.get(start..end));
            within.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(within(r#"write "a and b" to "c d.txt""#), [r#""a and b""#, r#""c d.txt""#]);
        assert_eq!(within("say “a “ b” and `c`"), ["“a “ b”", "`c`"]);
        assert_eq!(within("x:\n```\na ` b `` c\n```\n`d"), ["```\na ` b `` c\n```"]);
        assert!(within(r#"a 5" pipe and a 6" pipe, "not closed"#).is_empty());
        assert!(within("don't, isn't").is_empty());
    }

    #[test]
    fn what_is_quoted_is_taken_out_of_its_marks() {
        for (text, expected) in [
            (r#" "a b" "#, "a b"),
            ("'a b'", "a b"),
            ("“a b”", "a b"),
            ("`` a ` b ``", " a ` b "),
            ("```text\na\n\nb\n```", "a\n\nb"),
            (r#""a" and "b""#, r#""a" and "b""#),
            ("'a' and 'b'", "'a' and 'b'"),
            (r#""""#, r#""""#),
            ("a", "a"),
            ("", ""),
            ("`", "`"),
            ("```", "```"),
        ] {
            assert_eq!(unquoted(text), expected, "{text}");
        }
    }

    #[test]
    fn words_part_a_text_outside_of_quotation_marks() {
        assert_eq!(parted(r#""a to b" to c"#, &[" to "]), Some((r#""a to b""#, "c")));
        assert_eq!(parted("a to b TO c", &[" to "]), Some(("a", "b TO c")));
        assert_eq!(parted_last("a to b to c", &[" to "]), Some(("a to b", "c")));
        assert_eq!(parted_last(r#"a to "b to c""#, &[" to "]), Some(("a", r#""b to c""#)));
        assert_eq!(parted("a, and b", &[", and ", " and ", ", "]), Some(("a", "b")));
        assert_eq!(parted(" to b", &[" to "]), None);
        assert_eq!(parted("é to ü", &[" to "]), Some(("é", "ü")));
    }

    #[test]
    fn politeness_is_not_meant() {
        assert_eq!(polite("Please, could you read a.txt, please?"), "read a.txt");
        assert_eq!(begun("Please write a.txt: Hello."), "write a.txt: Hello.");
    }
}
