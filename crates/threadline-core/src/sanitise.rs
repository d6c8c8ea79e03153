//! What may be printed: text of models, tools and strangers, made inert.
//!
//! Everything that is shown to a person passes through here. Nothing is lost and nothing hides: a
//! control character becomes its picture (`␛`), a character that cannot be seen or that turns the
//! reading order around becomes its number (`<U+202E>`). Without the escape and its kin no
//! sequence can start, so a terminal moves no cursor and sets no clipboard.
//!
//! What stays although it cannot be seen, because people write with it: one variation selector
//! right after a symbol or a keycap digit, and one joiner right after a symbol or a letter of a
//! script that is written with joiners (Persian, Hindi, …). One each, never a run of them: that is
//! too narrow to hide a text in. Flags made of tag characters are shown by their numbers.
//!
//! Doing it again changes nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The picture of a carriage return.
const CR_PICTURE: char = '\u{240D}';
const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';
const TEXT_SELECTOR: char = '\u{FE0E}';
const EMOJI_SELECTOR: char = '\u{FE0F}';

/// A text for a place of one line: line ends and tabs become spaces.
pub fn line(text: &str) -> Cow<'_, str> {
    whole(Place::Line, text)
}

/// A text for a place of many lines: line feeds and tabs stay, CRLF becomes a line feed.
pub fn text(text: &str) -> Cow<'_, str> {
    whole(Place::Lines, text)
}

/// A text of many lines that arrives in pieces.
///
/// The pieces together come out as [`text`] of the whole would, wherever it is cut: only the last
/// character is carried over, and a carriage return is held back until it is known what follows.
///
/// ```
/// let mut stream = threadline_core::sanitise::Stream::new();
/// assert_eq!(stream.push("one\r"), "one");
/// assert_eq!(stream.push("\ntwo\u{1b}[2J"), "\ntwo␛[2J");
/// assert_eq!(stream.finish(), "");
/// ```
#[derive(Debug)]
pub struct Stream(Cleaner);

impl Stream {
    /// Before the first piece.
    pub const fn new() -> Self {
        Self(Cleaner::new(Place::Lines))
    }

    /// What of the text can be printed once this piece is here.
    pub fn push<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        self.0.clean(piece)
    }

    /// What was held back.
    pub fn finish(self) -> &'static str {
        if self.0.held_return { "\u{240D}" } else { "" }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Line,
    Lines,
}

fn whole(place: Place, text: &str) -> Cow<'_, str> {
    let mut cleaner = Cleaner::new(place);
    let mut clean = cleaner.clean(text);
    if cleaner.held_return {
        clean.to_mut().push(CR_PICTURE);
    }
    clean
}

#[derive(Debug)]
struct Cleaner {
    place: Place,
    /// The last character put out: it decides whether a joiner or a selector may stay.
    last: char,
    /// Whether the last character taken was a carriage return, of which nothing is out yet.
    held_return: bool,
}

impl Cleaner {
    const fn new(place: Place) -> Self {
        Self { place, last: ' ', held_return: false }
    }

    fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        // Plain ASCII, which most text is, is left alone without a look at its characters.
        let plain = if self.held_return {
            0
        } else {
            text.bytes().take_while(|byte| self.place.is_plain(*byte)).count()
        };
        if let Some(last) = text.get(..plain).and_then(|head| head.chars().next_back()) {
            self.last = last;
        }
        let rest = text.get(plain..).unwrap_or_default();
        let mut changed: Option<String> = None;
        for (at, c) in rest.char_indices() {
            let until_here = || text.get(..plain + at).unwrap_or_default().to_owned();
            if self.held_return && c != '\n' {
                changed.get_or_insert_with(until_here).push(CR_PICTURE);
                self.last = CR_PICTURE;
            }
            self.held_return = c == '\r';
            if self.held_return {
                changed.get_or_insert_with(until_here);
                continue;
            }
            match self.place.shown(self.last, c) {
                Shown::Itself => {
                    if let Some(changed) = &mut changed {
                        changed.push(c);
                    }
                    self.last = c;
                }
                Shown::As(other) => {
                    changed.get_or_insert_with(until_here).push(other);
                    self.last = other;
                }
                Shown::ByNumber => {
                    let changed = changed.get_or_insert_with(until_here);
                    let _ = write!(changed, "<U+{:04X}>", u32::from(c));
                    self.last = '>';
                }
            }
        }
        changed.map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

enum Shown {
    Itself,
    As(char),
    ByNumber,
}

impl Place {
    fn is_plain(self, byte: u8) -> bool {
        match byte {
            b' '..=b'~' => true,
            b'\n' | b'\t' => matches!(self, Self::Lines),
            _ => false,
        }
    }

    /// How a character is shown after another; carriage returns are decided on elsewhere.
    fn shown(self, last: char, c: char) -> Shown {
        match c {
            ' '..='~' => Shown::Itself,
            '\n' | '\t' => match self {
                Self::Line => Shown::As(' '),
                Self::Lines => Shown::Itself,
            },
            '\0'..='\x1f' => Shown::As(picture(c)),
            '\x7f' => Shown::As('\u{2421}'),
            TEXT_SELECTOR | EMOJI_SELECTOR if takes_selector(last) => Shown::Itself,
            ZERO_WIDTH_JOINER if is_symbol(last) || last == EMOJI_SELECTOR => Shown::Itself,
            ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER if is_written_with_joiners(last) => {
                Shown::Itself
            }
            _ if is_hidden(c) => Shown::ByNumber,
            _ => Shown::Itself,
        }
    }
}

/// The picture of a control character: Unicode has them in the same order.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn takes_selector(c: char) -> bool {
    is_symbol(c) || matches!(c, '0'..='9' | '#' | '*')
}

/// Symbols that have a form as text and one as a little picture, and the little pictures.
fn is_symbol(c: char) -> bool {
    matches!(u32::from(c),
        0x00A9 | 0x00AE | 0x203C | 0x2049 | 0x2122 | 0x2139
        | 0x2190..=0x21FF    // arrows
        | 0x2300..=0x23FF    // technical
        | 0x24C2
        | 0x25A0..=0x27BF    // shapes, miscellaneous, dingbats
        | 0x2900..=0x297F    // more arrows
        | 0x2B00..=0x2BFF    // more arrows and stars
        | 0x3030 | 0x303D | 0x3297 | 0x3299
        | 0x1F000..=0x1FAFF  // emoji
    )
}

/// Letters of the scripts whose spelling needs joiners.
fn is_written_with_joiners(c: char) -> bool {
    matches!(u32::from(c),
        0x0620..=0x06D5      // Arabic and Persian
        | 0x06EE..=0x08E1    // further Arabic, Syriac
        | 0x0900..=0x0DFF    // the scripts of India and Sri Lanka
        | 0x1000..=0x109F    // Myanmar
        | 0x1780..=0x17B3    // Khmer
        | 0x17B6..=0x17DD
    )
}

/// What cannot be seen, or moves what can: controls, bidi, zero-width, fillers, selectors, tags.
fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    matches!(code,
        0x0080..=0x009F      // the second set of controls
        | 0x00AD             // soft hyphen
        | 0x034F             // grapheme joiner
        | 0x061C             // Arabic letter mark
        | 0x070F             // Syriac abbreviation mark
        | 0x115F..=0x1160    // Hangul fillers
        | 0x17B4..=0x17B5    // Khmer inherent vowels
        | 0x180B..=0x180F    // Mongolian selectors and vowel separator
        | 0x200B..=0x200F    // zero width, direction marks
        | 0x2028..=0x202E    // line and paragraph separator, embeddings and overrides
        | 0x2060..=0x206F    // word joiner, invisible operators, isolates
        | 0x3164             // Hangul filler
        | 0xFE00..=0xFE0F    // variation selectors
        | 0xFEFF             // byte order mark
        | 0xFFA0             // half-width Hangul filler
        | 0xFFF0..=0xFFFB    // interlinear annotation, and unassigned ones that show nothing
        | 0x1_3430..=0x1_343F  // Egyptian format controls
        | 0x1_BCA0..=0x1_BCA3  // shorthand format controls
        | 0x1_D173..=0x1_D17A  // musical format controls
        | 0xE_0000..=0xE_0FFF  // tags and further variation selectors
    ) || code & 0xFFFE == 0xFFFE // not characters at all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    const SEED: u64 = 0x5a41;

    #[test]
    fn ordinary_text_is_borrowed() {
        for ordinary in
            ["", "hello\n\tworld", "今天天气很好。", "Zürich – “so”", "👩‍👩‍👧 ❤️ 1️⃣ ✈︎", "می‌خواهم"]
        {
            assert!(
                matches!(text(ordinary), Cow::Borrowed(same) if same == ordinary),
                "{ordinary}"
            );
        }
        assert!(matches!(line("one line"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_sequences_become_pictures() {
        assert_eq!(text("\x1b[31mred\x1b[0m\x07\x7f\0"), "␛[31mred␛[0m␇␡␀");
        assert_eq!(
            text("\u{9b}2J\u{9d}52;c;\u{9c}\u{85}"),
            "<U+009B>2J<U+009D>52;c;<U+009C><U+0085>"
        );
    }

    #[test]
    fn line_ends_are_normal() {
        assert_eq!(text("a\r\nb\rc\r\r\nd\r"), "a\nb␍c␍\nd␍");
        assert_eq!(line("a\r\nb\tc\nd\r"), "a b c d␍");
        assert_eq!(text("a\u{2028}b\u{2029}"), "a<U+2028>b<U+2029>");
    }

    #[test]
    fn hidden_text_is_shown_by_number() {
        assert_eq!(text("if user\u{202e} nimda \u{2066}"), "if user<U+202E> nimda <U+2066>");
        assert_eq!(text("pass\u{200b}word\u{feff}\u{ad}"), "pass<U+200B>word<U+FEFF><U+00AD>");
        assert_eq!(text("hi\u{e0041}\u{e0100}\u{e007f}"), "hi<U+E0041><U+E0100><U+E007F>");
        assert_eq!(
            text("\u{fff9}a\u{fffa}b\u{fffb}\u{ffff}"),
            "<U+FFF9>a<U+FFFA>b<U+FFFB><U+FFFF>"
        );
    }

    #[test]
    fn selectors_and_joiners_stay_only_where_people_write_them() {
        assert_eq!(text("a\u{fe0f}b\u{200d}"), "a<U+FE0F>b<U+200D>");
        assert_eq!(text("❤\u{fe0f}\u{fe0f}\u{fe01}"), "❤\u{fe0f}<U+FE0F><U+FE01>");
        assert_eq!(text("👩\u{200d}\u{200d}👧"), "👩\u{200d}<U+200D>👧");
        assert_eq!(text("\x1b\u{fe0f}"), "␛<U+FE0F>");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let character = prop_oneof![
            any::<char>(),
            prop::sample::select(vec!['\r', '\n', '\x1b', '\u{200d}', '\u{fe0f}', '👩', '1', 'ی']),
            prop::char::range('\0', '\u{9f}'),
            prop::char::range('\u{2000}', '\u{2070}'),
        ];
        prop::collection::vec(character, 0..40).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(SEED),
            failure_persistence: None,
            cases: 1024,
            ..ProptestConfig::default()
        })]

        #[test]
        fn nothing_that_controls_gets_through(hostile in hostile()) {
            let clean = text(&hostile);
            prop_assert!(clean.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{clean:?}");
            prop_assert!(!line(&hostile).chars().any(char::is_control));
            let bidi = |c| matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!clean.chars().any(bidi));
        }

        #[test]
        fn doing_it_again_changes_nothing(hostile in hostile()) {
            let (many, one) = (text(&hostile), line(&hostile));
            prop_assert_eq!(&text(&many), &many);
            prop_assert_eq!(&line(&one), &one);
        }

        #[test]
        fn a_stream_may_be_cut_anywhere(pieces in prop::collection::vec(hostile(), 0..6)) {
            let mut stream = Stream::new();
            let mut printed: String = pieces.iter().map(|piece| stream.push(piece)).collect();
            printed.push_str(stream.finish());
            let whole = pieces.concat();
            prop_assert_eq!(printed, text(&whole));
        }
    }
}
