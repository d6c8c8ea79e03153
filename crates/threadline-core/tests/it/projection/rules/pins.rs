//! Pins: entries that stay whole, from the turn after they were pinned.

use super::{PLENTY, long, long_turn, seen, story, talk};

#[test]
fn a_pinned_entry_stays_whole_when_its_exchange_is_folded() {
    let mut told = talk(10);
    told.tell("pin 4\npin 7\nuser: and then?").unwrap();
    insta::assert_snapshot!(seen(&told, 1200), @"
    4 Live 150: question 1⏎line 0 of… (414 bytes)
    7 Live 16: [Pinned entry 7]⏎answer 2
    1..13 Gist 130:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [4 earlier exchanges, up to entry 9, are not listed]
      | 10 user: question 4… (19 lines, 414 bytes)
      | 11 you: answer 4
      | 12 user: question 5… (19 lines, 414 bytes)
      | 13 you: answer 5
    14 Recent 150: question 6⏎line 0 of… (414 bytes)
    15 Live 3: m1 says answer 6
    16 Recent 150: question 7⏎line 0 of… (414 bytes)
    17 Live 3: m1 says answer 7
    18 Recent 150: question 8⏎line 0 of… (414 bytes)
    19 Live 3: m1 says answer 8
    20 Recent 150: question 9⏎line 0 of… (414 bytes)
    21 Live 3: m1 says answer 9
    24 Live 3: and then?
    ");
    told.tell("ada: this\nunpin 4\nunpin 7\nuser: go on").unwrap();
    let shown = seen(&told, 1200);
    assert!(!shown.contains("\n4 ") && !shown.contains("Pinned"), "{shown}");
}

#[test]
fn pinned_results_are_quoted_when_folded_and_whole_when_kept() {
    let mut told = story(&format!(
        "@ ada joins primary\nuser: look\nada: → read {{}} | list {{}}\nread c3.0 ok:\n{}\
         list c3.1 ok: a file\nada results\nada: seen\npin 6\nuser: and then?",
        long(200),
    ));
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Recent 1: look
    3 Live 4: m1 says → read {} → list {}
    6 Live 1626: results
      4 c3.0 read Success Live 1624: line 0 of a long tex… (4689 bytes)
      5 c3.1 list Success Live 2: a file
    7 Live 1: m1 says seen
    9 Live 3: and then?
    ");
    let more = "and so on, for a while, with many more words ".repeat(30);
    told.tell(&format!("ada: {more}\nuser: {more}\nada: {more}\nuser: and now?")).unwrap();
    insta::assert_snapshot!(seen(&told, 2600), @"
    6 Live 1663: [Pinned entry 6]⏎rea… (4725 bytes)
    1..12 Gist 264:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | 2 user: look
      | 3 you: → read {}, list {}
      | 7 you: seen
      | 9 user: and then?
      | 10 you: and so on, for a while, with many more words and so on, for a while, with many more words and so on, for a while, with many more words and so on, for a while, w…
      | 11 user: and so on, for a while, with many more words and so on, for a while, with many more words and so… (1350 bytes)
      | 12 you: and so on, for a while, with many more words and so on, for a while, with many more words and so on, for a while, with many more words and so on, for a while, w…
    13 Live 3: and now?
    ");
}

#[test]
fn a_pin_of_the_current_turn_counts_from_the_next() {
    let mut told = long_turn(14);
    told.tell("pin 8").unwrap();
    assert!(!seen(&told, 1000).contains("Pinned"));
    told.tell("ada: done\nuser: thanks").unwrap();
    assert!(seen(&told, 1000).contains("[Pinned entry 8]"), "{}", seen(&told, 1000));
}

#[test]
fn what_is_not_on_the_path_of_the_thread_is_not_shown_for_a_pin() {
    let told = story(
        "@ ada joins primary\n@ bob joins\nuser to bob: to bob\nbob: I am bob\nuser: one\n\
         ada: first\nuser: two\nada: second\nrewind 6\npin 3\npin 4\npin 7\npin 1\npin 6\n\
         user: three",
    );
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    5 Recent 1: one
    6 Live 1: m1 says first
    15 Live 1: three
    ");
}

#[test]
fn too_many_pins_are_named() {
    let mut told = talk(4);
    told.tell("pin 2\npin 4\npin 7\nuser: and then?").unwrap();
    insta::assert_snapshot!(seen(&told, 120), @"what is pinned (entries 2 to 7) takes 316 tokens, and 117 are free; shorten it or choose a model with a larger window");
}
