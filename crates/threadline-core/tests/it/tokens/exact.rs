//! Exact counts against another implementation of the same vocabularies.

use std::sync::Arc;

use proptest::prelude::*;
use threadline_core::tokens::{Cl100k, Estimator, O200k, TokenCounter, by_id};
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use crate::strategies::seeded;

fn both() -> [(&'static dyn TokenCounter, &'static CoreBPE); 2] {
    [(&O200k, o200k_base_singleton()), (&Cl100k, cl100k_base_singleton())]
}

/// Checks that both vocabularies give what the oracle gives.
fn check(text: &str) {
    for (ours, oracle) in both() {
        let counted = usize::try_from(ours.count(text)).unwrap();
        let expected = oracle.encode_ordinary(text).len();
        let head: String = text.chars().take(200).collect();
        assert_eq!(counted, expected, "{} of {head:?}", ours.id());
    }
}

#[test]
fn texts_of_many_kinds_count_as_the_oracle_says() {
    for (_, text) in [
        text!("arabic"),
        text!("chinese"),
        text!("english"),
        text!("french"),
        text!("german"),
        text!("hex"),
        text!("hindi"),
        text!("japanese"),
        text!("json"),
        text!("korean"),
        text!("log"),
        text!("russian"),
        text!("rust"),
    ] {
        check(text);
        // Cut elsewhere, the pieces of a text are others.
        for (at, _) in text.char_indices().step_by(97) {
            check(&text[..at]);
            check(&text[at..]);
        }
    }
}

#[test]
fn small_texts_are_counted_exactly() {
    for (text, o200k, cl100k) in [
        ("", 0, 0),
        ("a", 1, 1),
        (" the", 1, 1),
        ("hello world", 2, 2),
        ("1234567", 3, 3),
        ("\r\n\r\n", 1, 1),
        ("的", 1, 1),
        ("👩‍👩‍👧‍👦", 11, 18),
    ] {
        check(text);
        assert_eq!((O200k.count(text), Cl100k.count(text)), (o200k, cl100k), "{text:?}");
    }
}

#[test]
fn special_tokens_in_a_text_are_ordinary_text() {
    for text in ["<|endoftext|>", "<|endofprompt|>", "a<|fim_prefix|>b", "<|im_start|>system"] {
        check(text);
        assert!(O200k.count(text) > 3, "{text:?}");
        assert!(Cl100k.count(text) > 3, "{text:?}");
    }
}

#[test]
fn hostile_texts_are_counted_and_counted_right() {
    for (part, times) in [
        ("a", 300_000),
        ("A", 100_000),
        ("的", 30_000),
        ("👩‍👩‍👧‍👦", 3_000),
        ("\u{301}", 30_000),
        ("\u{301}A", 10_000),
        (" ", 100_000),
        ("\n", 100_000),
        (" \n", 30_000),
        ("\u{3000} ", 10_000),
        ("\0", 30_000),
        ("!", 100_000),
        ("'s", 30_000),
        ("/\n", 30_000),
        ("\u{10FFFF}", 10_000),
    ] {
        check(&part.repeat(times));
    }
    // A word that is in no vocabulary, as long as an entry may be.
    let word: String = (0_u32..1 << 20)
        .map(|n| char::from(b'a' + u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap() % 26))
        .collect();
    check(&word);
}

#[test]
fn a_counter_is_found_by_its_id() {
    let counters: [Arc<dyn TokenCounter>; 3] =
        [Arc::new(O200k), Arc::new(Cl100k), Arc::new(Estimator)];
    for counter in counters {
        assert_eq!(by_id(counter.id()).unwrap().id(), counter.id());
    }
    assert!(by_id("o200k").is_none());
    assert!(by_id("").is_none());
}

/// What pieces are cut at: kinds of letters, marks, spaces, line ends, endings and numbers.
fn part() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec![
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\u{a0}",
        "\u{3000}",
        "\u{85}",
        "'s",
        "'LL",
        "'",
        "/",
        "//\n",
        ".",
        "!?",
        "-----",
        "1",
        "٣",
        "½",
        "123456",
        "the",
        "The",
        "THE",
        "fooBar",
        "é",
        "ß",
        "ſ",
        "Ж",
        "中文",
        "かな",
        "한글",
        "ا",
        "ह",
        "ǅ",
        "ʰ",
        "\u{301}",
        "\u{200d}",
        "👍🏽",
        "\0",
        "\u{feff}",
        "<|endoftext|>",
        "{\"a\":1}",
        "K",
    ]);
    prop_oneof![
        6 => known.prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => (any::<char>(), 1..40_usize).prop_map(|(c, times)| c.to_string().repeat(times)),
    ]
}

/// Letters that are written without spaces, mostly the common ones, and what stands among them.
fn unspaced() -> impl Strategy<Value = char> {
    let common: Vec<char> = [text!("chinese"), text!("japanese"), text!("korean")]
        .iter()
        .flat_map(|(_, text)| text.chars())
        .collect();
    prop_oneof![
        12 => proptest::sample::select(common),
        2 => proptest::char::range('\u{4e00}', '\u{9fff}'),
        1 => proptest::char::range('\u{3000}', '\u{33ff}'),
        1 => proptest::char::range('\u{ac00}', '\u{d7ff}'),
        1 => proptest::sample::select(vec!['A', 'a', '1', ' ', '\'', 's', '\u{301}', 'é', 'Ж']),
    ]
}

proptest! {
    #![proptest_config(seeded(256))]

    #[test]
    fn generated_texts_count_as_the_oracle_says(parts in prop::collection::vec(part(), 0..40)) {
        check(&parts.concat());
    }

    #[test]
    fn unspaced_texts_count_as_the_oracle_says(
        letters in prop::collection::vec(unspaced(), 0..200),
    ) {
        check(&letters.into_iter().collect::<String>());
    }

    #[test]
    fn any_text_is_counted(text in any::<String>()) {
        check(&text);
    }
}
