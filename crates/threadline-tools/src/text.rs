//! Small things that tools do with text.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most bytes of a page. A model is shown about 4,000 tokens of a result whole, of a longer
/// one less: a page is what fits.
pub const PAGE_CAP_BYTES: usize = 12 * 1024;
/// How alike two texts have to be, in thousandths, for one to be offered instead of the other.
const ALIKE: usize = 400;

/// A text in one line: runs of white space become one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many line feeds a text has.
pub(crate) fn line_feeds(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// A name as it is, but for what would end the line or worse.
pub(crate) fn plain(name: &str) -> String {
    name.replace(char::is_control, "\u{FFFD}")
}

/// The head of a text, with a mark if there is more.
pub(crate) fn shortened(text: &str, cap_bytes: usize) -> Cow<'_, str> {
    if text.len() <= cap_bytes {
        return Cow::Borrowed(text);
    }
    let head = text.get(..text.floor_char_boundary(cap_bytes)).unwrap_or_default();
    Cow::Owned(format!("{head}…"))
}

/// A number of things, in words that fit the number.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A number of bytes in a unit for people.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

/// The candidates that are most like a text, best first, at most so many.
pub(crate) fn nearest<T, S: AsRef<str>>(
    wanted: &str,
    candidates: impl IntoIterator<Item = (T, S)>,
    most: usize,
) -> Vec<T> {
    let wanted = Pairs::of(wanted);
    let mut alike = candidates
        .into_iter()
        .map(|(candidate, text)| (wanted.alike(&Pairs::of(text.as_ref())), candidate))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect::<Vec<_>>();
    // The sort is stable: of two that are as good the first stays the first.
    alike.sort_by_key(|(alike, _)| std::cmp::Reverse(*alike));
    alike.into_iter().take(most).map(|(_, candidate)| candidate).collect()
}

/// The pairs of neighbouring characters of a text, upper and lower case alike.
struct Pairs {
    counts: BTreeMap<(char, char), usize>,
    total: usize,
}

impl Pairs {
    /// The text's ends count as characters, so that short texts have pairs, too.
    fn of(text: &str) -> Self {
        let mut counts = BTreeMap::new();
        let mut total = 0;
        let mut before = '\n';
        for c in text.trim().chars().flat_map(char::to_lowercase).chain(['\n']) {
            *counts.entry((before, c)).or_default() += 1;
            total += 1;
            before = c;
        }
        Self { counts, total }
    }

    /// How many pairs two texts share, in thousandths of all they have.
    fn alike(&self, other: &Self) -> usize {
        let shared = self
            .counts
            .iter()
            .map(|(pair, count)| other.counts.get(pair).map_or(0, |theirs| *count.min(theirs)));
        2000 * shared.sum::<usize>() / (self.total + other.total).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_come_first_and_strangers_not_at_all() {
        let names = ["README.md", "LICENSE", "readme.txt", "src", "main.rs"];
        let offered = |wanted, most| nearest(wanted, names.map(|name| (name, name)), most);
        assert_eq!(offered("REAMDE.md", 3), ["README.md"]);
        assert_eq!(offered("readme.tx", 3), ["readme.txt", "README.md"]);
        assert_eq!(offered("readme.tx", 1), ["readme.txt"]);
        assert_eq!(offered("mian.rs", 3), ["main.rs"]);
        assert_eq!(offered("zzz", 3), [""; 0]);
        assert_eq!(offered("", 3), [""; 0]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("雨雨雨", 4), "雨…");
        assert_eq!(shortened("雨", 3), "雨");
        assert_eq!(plain("a  b\n雨\u{1b}"), "a  b\u{FFFD}雨\u{FFFD}");
        assert_eq!(one_line(" a\n\tb  c "), "a b c");
    }
}
