//! Recaps: a text in place of a range, where it is folded or someone asked for it.

use super::{PLENTY, long, long_turn, seen, talk};

#[test]
fn a_recap_stands_for_what_is_folded() {
    let mut told = talk(16);
    told.tell("ada recap 1..5: they talked about two things").unwrap();
    insta::assert_snapshot!(seen(&told, 2000), @"
    1..23 Gist 221:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 1 to 5]
      | they talked about two things
      |
      | [5 earlier exchanges, up to entry 15, are not listed]
      | 16 user: question 7… (19 lines, 414 bytes)
      | 17 you: answer 7
      | 18 user: question 8… (19 lines, 414 bytes)
      | 19 you: answer 8
      | 20 user: question 9… (19 lines, 414 bytes)
      | 21 you: answer 9
      | 22 user: question 10… (19 lines, 415 bytes)
      | 23 you: answer 10
    24 Recent 150: question 11⏎line 0 o… (415 bytes)
    25 Live 3: m1 says answer 11
    26 Recent 150: question 12⏎line 0 o… (415 bytes)
    27 Live 3: m1 says answer 12
    28 Recent 150: question 13⏎line 0 o… (415 bytes)
    29 Live 3: m1 says answer 13
    30 Recent 150: question 14⏎line 0 o… (415 bytes)
    31 Live 3: m1 says answer 14
    32 Live 150: question 15⏎line 0 o… (415 bytes)
    33 Live 3: m1 says answer 15
    ");
    // Where its range is not folded it is not shown.
    assert!(!seen(&told, PLENTY).contains("Recap"));
    // Neither where only a part of it is.
    told.tell("ada recap 1..31: they talked about many things").unwrap();
    assert!(!seen(&told, 2000).contains("many things"));
}

#[test]
fn a_recap_that_someone_asked_for_folds_what_would_fit() {
    let mut told = talk(4);
    told.tell("ada recap-asked 1..5: they talked about two things").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    1..5 Gist 81:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 1 to 5]
      | they talked about two things
    6 Recent 150: question 2⏎line 0 of… (414 bytes)
    7 Live 3: m1 says answer 2
    8 Live 150: question 3⏎line 0 of… (414 bytes)
    9 Live 3: m1 says answer 3
    ");
    // The newest exchange stays whatever was asked for.
    told.tell("ada recap-asked 1..9: they talked about four things").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    1..7 Gist 165:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | 2 user: question 0… (19 lines, 414 bytes)
      | 3 you: answer 0
      | 4 user: question 1… (19 lines, 414 bytes)
      | 5 you: answer 1
      | 6 user: question 2… (19 lines, 414 bytes)
      | 7 you: answer 2
    8 Live 150: question 3⏎line 0 of… (414 bytes)
    9 Live 3: m1 says answer 3
    ");
    // A recap that takes its place without being asked for does not bring it back.
    told.tell("user: and?\nada: so\nada recap 1..9: four things, then").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    1..9 Gist 80:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 1 to 9]
      | four things, then
    12 Live 2: and?
    13 Live 1: m1 says so
    ");
}

#[test]
fn a_recap_that_is_taken_back_stands_for_nothing() {
    let mut told = talk(4);
    told.tell("ada recap-asked 1..5: they talked about two things\nada recap 1..5").unwrap();
    assert_eq!(seen(&told, PLENTY), seen(&talk(4), PLENTY));
}

#[test]
fn what_comes_before_a_recap_is_said_to_be_there() {
    let mut told = talk(5);
    told.tell("ada recap-asked 4..7: they talked about the second and third").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    1..7 Gist 83:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 4 to 7]
      | they talked about the second and third
      |
      | [exchanges up to entry 3 are not listed]
    8 Recent 150: question 3⏎line 0 of… (414 bytes)
    9 Live 3: m1 says answer 3
    10 Live 150: question 4⏎line 0 of… (414 bytes)
    11 Live 3: m1 says answer 4
    ");
}

#[test]
fn a_recap_too_large_for_a_window_is_cut() {
    let mut told = talk(16);
    told.tell(&format!("ada recap 1..5:\n{}", long(40))).unwrap();
    let (small, large) = (seen(&told, 2000), seen(&told, 2400));
    assert!(small.contains("[the whole of it is entry 34]"), "{small}");
    let lines = |text: &str| text.matches("of a long text").count();
    assert!(lines(&small) < lines(&large) && lines(&large) < 40, "{small}\n{large}");
    // Of one that does not fit at all nothing is said.
    let none = seen(&told, 540);
    assert!(!none.contains("Recap") && none.contains("earlier exchanges, up to entry"), "{none}");
}

#[test]
fn a_recap_in_mid_turn_leaves_what_began_it() {
    let mut told = long_turn(4);
    told.tell("ada recap-asked 1..11: two files were read").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    1..11 Gist 80:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 1 to 11]
      | two files were read
    12 Live 6: m1 says → read {"file":2}
    14 Live 76: results
      13 c12.0 read Success Live 76: file 2⏎line 0 of a l… (204 bytes)
    15 Live 6: m1 says → read {"file":3}
    17 Live 76: results
      16 c15.0 read Success Live 76: file 3⏎line 0 of a l… (204 bytes)
    "#);
}
