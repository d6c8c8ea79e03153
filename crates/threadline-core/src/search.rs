//! What search goes by: how text becomes terms, the same in every store.
//!
//! Chinese, Japanese and Korean text is cut by character, the rest by word; case is folded. A
//! word of a query that becomes several terms (`天气`, `snake_case`, `src/main.rs`) is found where
//! they stand next to each other.

use std::cmp::Reverse;
use std::collections::BTreeSet;

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

/// The terms of a text, in order, joined by blanks.
pub fn joined_terms(text: &str) -> String {
    let mut terms = String::with_capacity(text.len());
    each_term(text, |term| {
        if !terms.is_empty() {
            terms.push(' ');
        }
        terms.push_str(term);
    });
    terms
}

/// Gives every term of a text, in order.
fn each_term(text: &str, mut give: impl FnMut(&str)) {
    let mut word = String::with_capacity(TERM_CAP_BYTES);
    let mut rest = text;
    // Nearly every text is nearly all ASCII: it is looked at by the run, the rest by the letter.
    loop {
        let run = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (letters, after) = rest.split_at(run);
        word.push_str(letters);
        let Some(c) = after.chars().next() else { break };
        rest = after.get(c.len_utf8()..).unwrap_or_default();
        if c.is_ascii() {
            finish(&mut word, &mut give);
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

/// The part of a text around what a query finds in it: one line of at most so many characters,
/// and signs where there is more. It is where most of what is looked for stands together.
///
/// ```
/// use threadline_core::search::snippet;
///
/// let text = "The train leaves at noon.\nThe key lies under the red mat by the door.";
/// assert_eq!(snippet(text, "the KEY", 30), "…at noon. The key lies under t…");
/// ```
pub fn snippet(text: &str, query: &str, most_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = place_of(&line, &phrases(query), most_chars / 2);
    let before = line.get(..place).map_or(0, |head| head.chars().count());
    let skip = before.saturating_sub(most_chars / 3);
    let part: String = line.chars().skip(skip).take(most_chars).collect();
    let start = if skip > 0 { "…" } else { "" };
    let end = if line.chars().count() > skip.saturating_add(most_chars) { "…" } else { "" };
    format!("{start}{}{end}", part.trim())
}

/// Where in a text, of all places that have one of the phrases, the most phrases begin within
/// reach, in bytes: the first of them, or the text's beginning if it has none.
fn place_of(text: &str, phrases: &[Phrase], reach: usize) -> usize {
    let terms = placed_terms(text);
    let mut found = Vec::new();
    for (index, (place, _)) in terms.iter().enumerate() {
        let rest = || terms.iter().skip(index).map(|(_, term)| term);
        let begins = |phrase: &Phrase| rest().take(phrase.len()).eq(phrase);
        let begun = phrases.iter().enumerate().filter(|(_, phrase)| begins(phrase));
        found.extend(begun.map(|(phrase, _)| (*place, phrase)));
    }
    let together = |index: usize, place: usize| {
        let near = found.iter().skip(index).take_while(|(near, _)| near - place <= reach);
        near.map(|(_, phrase)| *phrase).collect::<BTreeSet<_>>().len()
    };
    let best = found.iter().enumerate().max_by_key(|(index, (place, _))| {
        // Of two that are as good the first is the best.
        (together(*index, *place), Reverse(*index))
    });
    best.map_or(0, |(_, (place, _))| *place)
}

/// The terms of a text, in order, and where they begin in it.
fn placed_terms(text: &str) -> Vec<(usize, String)> {
    let mut placed = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let alone = is_cjk(c);
        if !alone && (c.is_alphanumeric() || is_mark(c)) {
            start.get_or_insert(at);
            continue;
        }
        if let Some(start) = start.take() {
            let word = text.get(start..at).unwrap_or_default();
            placed.extend(terms(word).into_iter().map(|term| (start, term)));
        }
        if alone {
            placed.push((at, c.to_string()));
        }
    }
    placed
}

/// A checksum of terms and their places that does not depend on the order they are added in:
/// what an index holds of an entry can be compared with the entry itself.
pub fn checksum(terms: &[String]) -> u64 {
    let parts = (0..).zip(terms).map(|(place, term)| place_checksum(place, term_hash(term)));
    parts.fold(0, u64::wrapping_add)
}

/// The [`checksum`] of the terms of an entry; none if it has no terms.
pub fn entry_checksum(entry: &Entry) -> Option<u64> {
    let (mut place, mut sum) = (0, 0_u64);
    each_text(entry, |text| {
        each_term(text, |term| {
            sum = sum.wrapping_add(place_checksum(place, term_hash(term)));
            place += 1;
        });
    });
    (place > 0).then_some(sum)
}

/// The part of one term at one place in a [`checksum`].
pub fn place_checksum(place: u64, hash: u64) -> u64 {
    // Every bit of both counts.
    mixed(hash.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// What a term is known by in a [`checksum`].
pub fn term_hash(term: &str) -> u64 {
    // Simple and the same in every process: it tells what differs by accident, not by intent.
    let mut hash = u64::try_from(term.len()).unwrap_or(u64::MAX);
    let (whole, rest) = term.as_bytes().as_chunks::<8>();
    for bytes in whole {
        hash = mixed(hash ^ u64::from_le_bytes(*bytes));
    }
    mixed(hash ^ few(rest))
}

/// Fewer than eight bytes as one word; with how many they are it tells them apart.
fn few(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // They may overlap, and have every byte.
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Spreads every bit over all.
fn mixed(word: u64) -> u64 {
    // The output function of SplitMix64.
    let z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The text of an entry that can be found, if it has any.
pub fn text_of(entry: &Entry) -> Option<String> {
    let mut text = String::new();
    each_text(entry, |part| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    });
    (!text.is_empty()).then_some(text)
}

/// Gives every text of an entry that can be found, in order. No term goes from one to the next.
fn each_text(entry: &Entry, mut give: impl FnMut(&str)) {
    let mut give = |text: &str| {
        if !text.is_empty() {
            give(text);
        }
    };
    match &entry.fact {
        Fact::Input(input) => give_sections(&mut give, &input.sections),
        Fact::Output(output) => give_output(&mut give, output),
        Fact::ToolFinished(finished) => {
            give_sections(&mut give, &finished.result);
            give(finished.error.as_deref().unwrap_or_default());
        }
        Fact::InstructionSet(instruction) => give(&instruction.text),
        Fact::Recap(recap) => give(recap.text.as_deref().unwrap_or_default()),
        Fact::Note(note) => give(&note.text),
        Fact::Described(described) => {
            give(described.title.as_deref().unwrap_or_default());
        }
        Fact::TurnEnded(ended) => give(&ended.detail),
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
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Unrecognised(_) => {}
    }
}

fn give_sections(give: &mut impl FnMut(&str), sections: &[Section]) {
    for section in sections {
        give(section.title.as_deref().unwrap_or_default());
        give(&section.text);
    }
}

fn give_output(give: &mut impl FnMut(&str), output: &Output) {
    for block in &output.blocks {
        match block {
            Block::Thinking(thinking) => give(&thinking.text),
            Block::Text(said) => give(&said.text),
            Block::ToolCall(call) => {
                give(&call.name);
                give(&call.arguments);
            }
            Block::Foreign(foreign) => give(&foreign.text),
        }
    }
}

fn finish(word: &mut String, give: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        if word.len() > TERM_CAP_BYTES {
            word.truncate(floor_boundary(word, TERM_CAP_BYTES));
        }
        word.make_ascii_lowercase();
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
    fn a_snippet_shows_what_was_found() {
        let text = format!("{} the needle\n is here {}", "x ".repeat(200), "y ".repeat(200));
        let shown = snippet(&text, "NEEDLE", 40);
        assert_eq!(shown, "…x x x x the needle is here y y y y y y…");
        assert_eq!(snippet("今天天气很好", "天气", 40), "今天天气很好");
        assert_eq!(snippet(&"天".repeat(99), "地", 3), "天天天…");
        assert_eq!(snippet(&format!("{}地图", "天".repeat(99)), "地图", 6), "…天天地图");
        assert_eq!(snippet("", "a", 9), "");
        assert_eq!(snippet("a b", "", 9), "a b");
        // Words, not parts of words; and where both are, not where one is.
        let text = format!("cat {} the {} a the cat {0}", "- ".repeat(90), "+ ".repeat(90));
        assert_eq!(snippet(&text, "the cat", 12), "…+ a the cat…");
    }

    #[test]
    fn terms_are_the_same_with_their_places() {
        for text in ["Hello, 天气 in Zu\u{308}rich!", "a\u{300}", "x天y_z 9", "\u{301}é-İ", ""]
        {
            let placed = placed_terms(text);
            assert!(placed.iter().map(|(_, term)| term).eq(&terms(text)), "{text}: {placed:?}");
            assert!(placed.iter().all(|(place, _)| text.is_char_boundary(*place)));
        }
    }

    #[test]
    fn terms_are_told_apart_by_every_letter() {
        let letters = "abcdefghijklmnopqrst";
        let heads = (0..=letters.len()).filter_map(|end| letters.get(..end));
        for head in heads.clone() {
            assert_eq!(
                heads.clone().filter(|other| term_hash(other) == term_hash(head)).count(),
                1
            );
            for at in 0..head.len() {
                let mut other = head.to_owned();
                other.replace_range(at..=at, "z");
                assert_ne!(term_hash(&other), term_hash(head), "{other}");
            }
        }
    }

    #[test]
    fn checksums_do_not_depend_on_order() {
        let part = |place, term| place_checksum(place, term_hash(term));
        let whole = checksum(&["a".to_owned(), "b".to_owned()]);
        assert_eq!(whole, part(1, "b").wrapping_add(part(0, "a")));
        assert_ne!(whole, part(0, "b").wrapping_add(part(1, "a")));
        assert_eq!(checksum(&terms("A, b!")), whole);
    }
}
