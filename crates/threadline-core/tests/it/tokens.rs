//! Token counts: the estimate, held against the real o200k vocabulary, and the exact ones.

macro_rules! text {
    ($name:literal) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/texts/", $name, ".txt")))
    };
}

mod exact;

use threadline_core::tokens::{Estimator, TokenCounter as _};

/// Checks that the estimate is within so many percent of the exact count.
fn check(name: &str, text: &str, exact: u32, within_percent: u32) {
    let estimate = Estimator.count(text);
    let apart = estimate.abs_diff(exact) * 100;
    assert!(apart <= exact * within_percent, "{name}: {estimate} for {exact}");
}

#[test]
fn common_texts_are_close() {
    for ((name, text), exact) in [
        (text!("english"), 314),
        (text!("rust"), 1201),
        (text!("json"), 308),
        (text!("chinese"), 511),
        (text!("log"), 1659),
        (text!("hex"), 1132),
    ] {
        check(name, text, exact, 5);
    }
}

#[test]
fn other_languages_are_not_far_off() {
    for ((name, text), exact) in [
        (text!("arabic"), 104),
        (text!("french"), 85),
        (text!("german"), 108),
        (text!("hindi"), 68),
        (text!("japanese"), 210),
        (text!("korean"), 159),
        (text!("russian"), 203),
    ] {
        check(name, text, exact, 15);
    }
}

#[test]
fn small_texts_are_exact_where_the_rule_is() {
    for (text, exact) in [
        ("", 0),
        ("a", 1),
        (" the", 1),
        ("1234567", 3),
        ("\n\n", 1),
        (" don't", 1),
        ("fooBar", 2),
        ("    }\n", 2),
    ] {
        assert_eq!(Estimator.count(text), exact, "{text:?}");
    }
}
