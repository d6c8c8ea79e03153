//! Probes and judgement, by example.

use super::*;

fn source(text: &str) -> RecapSource {
    RecapSource { from: Seq(1), to: Seq(9), text: text.into() }
}

#[test]
fn names_and_repeated_numbers_are_probes_and_plain_words_are_not() {
    let text = "2 user: fix `login flow` in src/auth/session.rs, see ORD-1234 and \"Ada L\"\n\
        3 assistant: port 8080, once 77; port 8080 again\n- [ ] write the test\nnothing else here";
    assert_eq!(
        probes(text),
        ["write the test", "8080", "src/auth/session.rs", "ORD-1234", "Ada L", "login flow"]
    );
    assert_eq!(probes("just a few plain words, twice plain words"), Vec::<String>::new());
}

#[test]
fn a_text_has_few_probes_however_long_it_is() {
    let text = (0..1000)
        .fold(String::new(), |text, n| text + &format!("file{n}.rs TODO\n- [ ] task {n}\n"));
    assert_eq!(probes(&text).len(), PROBES_CAP);
}

#[test]
fn what_is_left_out_is_added_in_one_line() {
    let long = "The user wants a.rs and b.rs mended, and c.rs looked at. That is all of it.";
    let written = judge("  a.rs and b.rs were mended  ", &source(long)).unwrap();
    assert_eq!(&*written.text, "a.rs and b.rs were mended\nAlso named there: c.rs");
    assert_eq!(written.dropped, ["c.rs"]);
    let whole = judge("A.RS, b.rs and c.rs", &source(long)).unwrap();
    assert_eq!((&*whole.text, whole.dropped.len()), ("A.RS, b.rs and c.rs", 0));
}

#[test]
fn a_recap_that_says_nothing_too_much_or_too_little_is_refused() {
    let text = "a.rs, b.rs and c.rs";
    assert_eq!(judge(" \n", &source(text)), Err(Refused::Empty));
    assert_eq!(judge(&"a.rs ".repeat(9), &source(text)), Err(Refused::Longer));
    let little = judge("only a.rs", &source(text));
    assert_eq!(little, Err(Refused::LeavesOut { missing: 2, named: 3 }));
    assert!(judge("some words", &source("no names in here at all")).is_ok());
}
