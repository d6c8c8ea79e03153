//! Folding: old exchanges become lines in one section.

use threadline_core::context::plan::Ask;

use super::{ADA, long_turn, projected, seen, shown, story, talk};

#[test]
fn old_exchanges_are_folded_to_a_line_for_each_entry() {
    let told = talk(16);
    insta::assert_snapshot!(seen(&told, 2000), @"
    1..23 Gist 235:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [6 earlier exchanges, up to entry 13, are not listed]
      | 14 user: question 6… (19 lines, 414 bytes)
      | 15 you: answer 6
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
}

#[test]
fn a_turn_that_is_folded_keeps_what_began_it_in_front() {
    let told = long_turn(20);
    // What began the turn has no line: it is shown.
    insta::assert_snapshot!(seen(&told, 1500), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    1..29 Gist 146:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [7 earlier exchanges, up to entry 23, are not listed]
      | 24 you: → read {"file":6}
      | 26 results: read ok: file 6… (10 lines, 204 bytes)
      | 27 you: → read {"file":7}
      | 29 results: read ok: file 7… (10 lines, 204 bytes)
    30 Live 6: m1 says → read {"file":8}
    32 Live 76: results
      31 c30.0 read Success Live 76: file 8⏎line 0 of a l… (204 bytes)
    33 Live 6: m1 says → read {"file":9}
    35 Live 76: results
      34 c33.0 read Success Live 76: file 9⏎line 0 of a l… (204 bytes)
    36 Live 6: m1 says → read {"file":10}
    38 Live 76: results
      37 c36.0 read Success Live 76: file 10⏎line 0 of a … (205 bytes)
    39 Live 6: m1 says → read {"file":11}
    41 Live 76: results
      40 c39.0 read Success Live 76: file 11⏎line 0 of a … (205 bytes)
    42 Live 6: m1 says → read {"file":12}
    44 Live 76: results
      43 c42.0 read Success Live 76: file 12⏎line 0 of a … (205 bytes)
    45 Live 6: m1 says → read {"file":13}
    47 Live 76: results
      46 c45.0 read Success Live 76: file 13⏎line 0 of a … (205 bytes)
    48 Live 6: m1 says → read {"file":14}
    50 Live 76: results
      49 c48.0 read Success Live 76: file 14⏎line 0 of a … (205 bytes)
    51 Live 6: m1 says → read {"file":15}
    53 Live 76: results
      52 c51.0 read Success Live 76: file 15⏎line 0 of a … (205 bytes)
    54 Live 6: m1 says → read {"file":16}
    56 Live 76: results
      55 c54.0 read Success Live 76: file 16⏎line 0 of a … (205 bytes)
    57 Live 6: m1 says → read {"file":17}
    59 Live 76: results
      58 c57.0 read Success Live 76: file 17⏎line 0 of a … (205 bytes)
    60 Live 6: m1 says → read {"file":18}
    62 Live 76: results
      61 c60.0 read Success Live 76: file 18⏎line 0 of a … (205 bytes)
    63 Live 6: m1 says → read {"file":19}
    65 Live 76: results
      64 c63.0 read Success Live 76: file 19⏎line 0 of a … (205 bytes)
    "#);
}

#[test]
fn exchanges_that_have_no_line_are_counted() {
    let told = talk(16);
    insta::assert_snapshot!(seen(&told, 1000), @"
    1..25 Gist 95:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [11 earlier exchanges, up to entry 23, are not listed]
      | 24 user: question 11… (19 lines, 415 bytes)
      | 25 you: answer 11
    26 Recent 150: question 12⏎line 0 o… (415 bytes)
    27 Live 3: m1 says answer 12
    28 Recent 150: question 13⏎line 0 o… (415 bytes)
    29 Live 3: m1 says answer 13
    30 Recent 150: question 14⏎line 0 o… (415 bytes)
    31 Live 3: m1 says answer 14
    32 Live 150: question 15⏎line 0 o… (415 bytes)
    33 Live 3: m1 says answer 15
    ");
    let one = "[1 earlier exchange, up to entry 3, is not listed]";
    assert!((400..900).step_by(20).any(|tokens| seen(&talk(4), tokens).contains(one)));
}

#[test]
fn without_recall_nothing_says_how_to_recall() {
    let told = talk(8);
    let ask = Ask { recall: false, ..Ask::bare(ADA, 700) };
    insta::assert_snapshot!(shown(&projected(&told, &ask).unwrap()), @"
    1..15 Gist 60:
      | # Earlier
      |
      | Folded to a line for each entry.
      |
      | [7 earlier exchanges, up to entry 15, are not listed]
    16 Live 150: question 7⏎line 0 of… (414 bytes)
    17 Live 3: m1 says answer 7
    ");
}

#[test]
fn where_not_even_a_count_fits_nothing_is_said_of_what_is_folded() {
    let told = story(
        "@ ada joins primary\nuser: a first question with quite a few words\n\
         ada: a first answer\nuser: what is this?",
    );
    insta::assert_snapshot!(seen(&told, 40), @"4 Live 4: what is this?");
}

#[test]
fn the_last_exchange_of_the_turn_before_stays_if_it_fits() {
    let mut told = talk(3);
    told.tell("user: and then?").unwrap();
    let shown = seen(&told, 300);
    assert!(shown.contains("\n6 Recent") && shown.contains("\n7 Live"), "{shown}");
    let shown = seen(&told, 150);
    assert!(!shown.contains("\n7 Live") && shown.contains("\n8 Live"), "{shown}");
}
