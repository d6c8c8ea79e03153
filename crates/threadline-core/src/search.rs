//! What search goes by: how text becomes terms, the same in every store.
//!
//! Chinese, Japanese and Korean text is cut by character, the rest by word; case is folded. A
//! word of a query that becomes several terms (`天气`, `snake_case`, `src/main.rs`) is found where
//! they stand next to each other.

use std::hash::{BuildHasher as _, Hasher as _};

use crate::history::entry::Entry;
use crate::history::fact::{Block, Fact, Output};
use crate::history::sections::{Section, floor_boundary};

/// The longest term; longer words are found by their first bytes.
pub const TERM_CAP_BYTES: usize = 64;
/// The most phrases in a query; what is beyond is not looked for.
pub const PHRASES_CAP: usize = 32;

/// The terms of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// Gives every term of a text, in order.
fn each_term(text: &str, mut give: impl FnMut(&str)) {
    let mut word = String::new();
    for c in text.chars() {
        // Nearly every text is nearly all of this.
        if c.is_ascii() {
            if c.is_ascii_alphanumeric() {
                word.push(c.to_ascii_lowercase());
            } else {
                finish(&mut word, &mut give);
            }
        } else if is_cjk(c) {
            finish(&mut word, &mut give);
            give(c.encode_utf8(&mut [0; 4]));
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase().filter(|c| !is_mark(*c)));
        } else if !is_mark(c) {
            finish(&mut word, &mut give);
        }
    }
    finish(&mut word, &mut give);
}

/// Terms that must stand next to each other.
pub type Phrase = Vec<String>;

/// The phrases of a query, all of which an entry must have: each word, and each run of words in
/// quotation marks.
pub fn phrases(query: &str) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    for (index, part) in query.split(['"', '“', '”']).enumerate() {
        if index % 2 == 1 {
            phrases.push(terms(part));
        } else {
            phrases.extend(part.split_whitespace().map(terms));
        }
    }
    phrases.retain(|phrase| !phrase.is_empty());
    phrases.truncate(PHRASES_CAP);
    phrases
}

/// Whether terms contain every phrase.
pub fn matches(terms: &[String], phrases: &[Phrase]) -> bool {
    phrases
        .iter()
        .all(|phrase| phrase.is_empty() || terms.windows(phrase.len()).any(|run| run == phrase))
}

/// A checksum of terms and their places that does not depend on the order they are added in:
/// what an index holds of an entry can be compared with the entry itself.
pub fn checksum(terms: &[String]) -> u64 {
    let parts = (0..).zip(terms).map(|(place, term)| place_checksum(place, term_hash(term)));
    parts.fold(0, u64::wrapping_add)
}

/// The [`checksum`] of a text's terms; none if it has no terms.
pub fn text_checksum(text: &str) -> Option<u64> {
    let (mut place, mut sum) = (0, 0_u64);
    each_term(text, |term| {
        sum = sum.wrapping_add(place_checksum(place, term_hash(term)));
        place += 1;
    });
    (place > 0).then_some(sum)
}

/// The part of one term at one place in a [`checksum`].
pub fn place_checksum(place: u64, hash: u64) -> u64 {
    // The output function of SplitMix64: every bit of both counts.
    let z = hash.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What a term is known by in a [`checksum`].
pub fn term_hash(term: &str) -> u64 {
    // A fixed-key hasher: the sum must be the same in every process.
    let mut hasher =
        std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().build_hasher();
    hasher.write(term.as_bytes());
    hasher.finish()
}

/// The text of an entry that can be found, if it has any.
pub fn text_of(entry: &Entry) -> Option<String> {
    let mut text = String::new();
    match &entry.fact {
        Fact::Input(input) => push_sections(&mut text, &input.sections),
        Fact::Output(output) => push_output(&mut text, output),
        Fact::ToolFinished(finished) => {
            push_sections(&mut text, &finished.result);
            push(&mut text, finished.error.as_deref().unwrap_or_default());
        }
        Fact::InstructionSet(instruction) => push(&mut text, &instruction.text),
        Fact::Recap(recap) => push(&mut text, recap.text.as_deref().unwrap_or_default()),
        Fact::Note(note) => push(&mut text, &note.text),
        Fact::Described(described) => {
            push(&mut text, described.title.as_deref().unwrap_or_default());
        }
        Fact::TurnEnded(ended) => push(&mut text, &ended.detail),
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::ToolStarted(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::PolicySet(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::Pinned(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::Unrecognised(_) => {}
    }
    (!text.is_empty()).then_some(text)
}

fn push_sections(text: &mut String, sections: &[Section]) {
    for section in sections {
        push(text, section.title.as_deref().unwrap_or_default());
        push(text, &section.text);
    }
}

fn push_output(text: &mut String, output: &Output) {
    for block in &output.blocks {
        match block {
            Block::Thinking(thinking) => push(text, &thinking.text),
            Block::Text(said) => push(text, &said.text),
            Block::ToolCall(call) => {
                push(text, &call.name);
                push(text, &call.arguments);
            }
            Block::Foreign(foreign) => push(text, &foreign.text),
        }
    }
}

fn push(text: &mut String, part: &str) {
    if part.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

fn finish(word: &mut String, give: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        word.truncate(floor_boundary(word, TERM_CAP_BYTES));
        give(word);
        word.clear();
    }
}

/// Letters that are words, or nearly.
fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x2E80..=0x2FDF      // radicals
        | 0x3005..=0x3007    // iteration marks
        | 0x3040..=0x30FF    // kana
        | 0x3100..=0x312F    // bopomofo
        | 0x31F0..=0x31FF    // kana extensions
        | 0x3400..=0x4DBF    // ideographs, extension A
        | 0x4E00..=0x9FFF    // ideographs
        | 0xAC00..=0xD7AF    // hangul
        | 0xF900..=0xFAFF    // compatibility ideographs
        | 0x20000..=0x3FFFF  // ideographs, further extensions
    )
}

/// Accents and joiners written as characters of their own: part of a word, not its end.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036F | 0x200C..=0x200D | 0xFE00..=0xFE0F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_ideographs_stand_alone() {
        assert_eq!(terms("Hello, 天气 in Zürich!"), ["hello", "天", "气", "in", "zürich"]);
        assert_eq!(terms("snake_case src/main.rs"), ["snake", "case", "src", "main", "rs"]);
        assert!(terms("…— \u{1b}[31m").iter().eq(["31m"]));
    }

    #[test]
    fn a_query_finds_its_words_and_its_phrases() {
        let text = terms("今天天气很好, the quick brown fox");
        assert!(matches(&text, &phrases("天气")));
        assert!(matches(&text, &phrases("fox quick")));
        assert!(matches(&text, &phrases("\"quick brown\"")));
        assert!(!matches(&text, &phrases("\"brown quick\"")));
        assert!(!matches(&text, &phrases("气天")));
    }

    #[test]
    fn a_long_word_is_found_by_its_head() {
        let word = "é".repeat(100);
        assert_eq!(terms(&word), ["é".repeat(32)]);
    }

    #[test]
    fn checksums_do_not_depend_on_order() {
        let part = |place, term| place_checksum(place, term_hash(term));
        let whole = checksum(&["a".to_owned(), "b".to_owned()]);
        assert_eq!(whole, part(1, "b").wrapping_add(part(0, "a")));
        assert_ne!(whole, part(0, "b").wrapping_add(part(1, "a")));
        assert_eq!(text_checksum("A, b!"), Some(whole));
        assert_eq!(text_checksum("…"), None);
    }
}
