//! Did-you-mean suggestions: the known word that is closest to a misspelt one.

/// The largest edit distance at which a word is suggested.
const NEAR: usize = 3;
/// The longest misspelt word, in characters, for which a suggestion is computed.
const GIVEN_CAP_CHARS: usize = 256;

/// Returns the known word that is closest to `given`, if one is close enough.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.chars().nth(GIVEN_CAP_CHARS).is_some() {
        return None;
    }
    let near = |word: &&str| distance(given, word) <= NEAR.min(word.chars().count() / 2);
    known.filter(near).min_by_key(|word| distance(given, word))
}

/// Returns the edit distance: how many characters to change, add or remove between two words.
pub fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for a in from.chars() {
        let mut cells = row.iter_mut();
        let Some(first) = cells.next() else { break };
        let mut diagonal = *first;
        *first += 1;
        let mut left = *first;
        for (cell, b) in cells.zip(to.chars()) {
            let above = *cell;
            *cell = (diagonal + usize::from(a != b)).min(above + 1).min(left + 1);
            (diagonal, left) = (above, *cell);
        }
    }
    row.last().copied().unwrap_or(0)
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
}
