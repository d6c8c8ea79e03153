//! Seams: places between two letters of Chinese, Japanese and Korean that no token lies across.
//!
//! Words of these languages are not written apart, so that the tokeniser's pieces are whole clauses:
//! long, and seldom seen twice. To merge a piece takes time that grows faster than it does. But
//! tokens are made by merging tokens, and where no token of the vocabulary could lie across a place,
//! no merge ever does: the two sides come out the same apart as together. A text that is cut at
//! such places is counted exactly, several times as fast.

/// Which pairs of neighbours are inside some token: a bit for each, by their hash. Pairs that share
/// a bit with one are taken to be inside too, which costs time and changes no count.
pub(super) struct Seams(Vec<u64>);

/// The bits: a hundred times as many as a vocabulary has pairs, and 128 KiB.
const BITS_LOG: u32 = 20;

impl Seams {
    /// The seams of a vocabulary.
    pub(super) fn of(tokens: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut seams = Self(vec![0; 1 << (BITS_LOG - 6)]);
        for token in tokens {
            for at in 1..token.len() {
                let (left, right) = token.split_at(at);
                if matches!(right, [0xE3..=0xED, ..]) {
                    // Tokens may begin and end within a letter: then this is the part they have.
                    let left = left.last_chunk::<3>().map_or(left, <[u8; 3]>::as_slice);
                    let right = right.first_chunk::<3>().map_or(right, <[u8; 3]>::as_slice);
                    seams.mark(number(left), number(right));
                }
            }
        }
        seams
    }

    /// The parts of a text, in order, that are counted one by one.
    pub(super) fn parts<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let whole = rest?;
            let (part, after) =
                match self.first(whole.as_bytes()).and_then(|at| whole.split_at_checked(at)) {
                    Some((part, after)) => (part, Some(after)),
                    None => (whole, None),
                };
            rest = after;
            Some(part)
        })
    }

    /// The first seam of a text.
    fn first(&self, text: &[u8]) -> Option<usize> {
        let (mut at, mut before) = (0, None);
        loop {
            let letter = match text.get(at..)? {
                [] => return None,
                [lead @ 0xE3..=0xED, second, third, ..] => letter([*lead, *second, *third]),
                _ => None,
            };
            if let (Some(left), Some(right)) = (before, letter)
                && !self.inside(left, right)
            {
                return Some(at);
            }
            before = letter;
            at += if letter.is_some() { 3 } else { 1 };
        }
    }

    /// Whether a token may lie across the place between two letters, with the whole of either or
    /// with its last or first bytes.
    fn inside(&self, left: u32, right: u32) -> bool {
        let lefts = [left, left & 0xFFFF, left & 0xFF];
        let rights = [right, right >> 8, right >> 16];
        rights.iter().any(|right| lefts.iter().any(|left| self.is_marked(*left, *right)))
    }

    fn mark(&mut self, left: u32, right: u32) {
        let (word, bit) = place(left, right);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn is_marked(&self, left: u32, right: u32) -> bool {
        let (word, bit) = place(left, right);
        // What could not be looked up is no seam.
        self.0.get(word).is_none_or(|word| word & bit != 0)
    }
}

fn place(left: u32, right: u32) -> (usize, u64) {
    let pair = (u64::from(left) << 32) | u64::from(right);
    let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS_LOG);
    (usize::try_from(hash / 64).unwrap_or(usize::MAX), 1 << (hash % 64))
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// A letter as the number that its bytes are. All of these are of one kind (`Lo`): the tokeniser's
/// pieces never begin or end between two of them, so that a cut there makes two pieces of one and
/// changes no other.
fn letter(bytes: [u8; 3]) -> Option<u32> {
    match number(&bytes) {
        // Hiragana, katakana, the common ideographs, hangul.
        letter @ (0xE3_8181..=0xE3_8296
        | 0xE3_82A1..=0xE3_83BA
        | 0xE4_B880..=0xE9_BEA5
        | 0xEA_B080..=0xED_9EA3) => Some(letter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_with(tokens: &[&[u8]], text: &str) -> Vec<String> {
        let seams = Seams::of(tokens.iter().map(|token| token.to_vec()));
        seams.parts(text).map(str::to_owned).collect()
    }

    #[test]
    fn a_text_is_cut_where_no_token_lies_across() {
        assert_eq!(parts_with(&["天气".as_bytes()], "天气天气"), ["天气", "天气"]);
        assert_eq!(parts_with(&["天气天".as_bytes()], "天气天气"), ["天气天气"]);
        assert_eq!(parts_with(&[], "天气a天气 天"), ["天", "气a天", "气 天"]);
        assert_eq!(parts_with(&[], "한국かなカナ"), ["한", "국", "か", "な", "カ", "ナ"]);
    }

    #[test]
    fn a_token_with_a_part_of_a_letter_lies_across_too() {
        let (day, air) = ("天".as_bytes(), "气".as_bytes());
        for begin in 0..3 {
            for end in 1..=3 {
                let token = [&day[begin..], &air[..end]].concat();
                assert_eq!(parts_with(&[&token], "天气"), ["天气"], "{begin} {end}");
            }
        }
    }

    #[test]
    fn other_texts_stay_whole() {
        for text in ["", "words and 1234", "é天é", "ー・ー", "👍👍", "ㄅㄅ", "\u{3099}\u{3099}"]
        {
            assert_eq!(parts_with(&[], text), [text]);
        }
    }
}
