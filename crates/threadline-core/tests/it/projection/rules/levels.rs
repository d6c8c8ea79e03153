//! Levels: how much of an entry is shown.

use threadline_core::context::Body;
use threadline_core::context::plan::Ask;
use threadline_core::history::fact::Detail;
use threadline_testing::notation::Story;

use super::{ADA, PLENTY, long, projected, seen, story};

#[test]
fn earlier_turns_are_at_recent_and_the_current_one_is_live() {
    let lines = long(300);
    let told = story(&format!(
        "@ ada joins primary\nuser:\n{lines}ada: → read {{}}\nread c3.0 ok:\n{lines}ada results\n\
         ada: read\nuser:\n{lines}ada: → read {{}} | read {{}}\nread c8.0 ok:\n{lines}\
         read c8.1 ok:\n{}ada results",
        long(900)
    ));
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Recent 1435: line 0 of a long tex… (4127 bytes)
    3 Live 2: m1 says → read {}
    5 Recent 1447: results
      4 c3.0 read Success Recent 1447: line 0 of a long tex… (4159 bytes)
    6 Live 1: m1 says read
    7 Live 2437: line 0 of a long tex… (7089 bytes)
    8 Live 4: m1 says → read {} → read {}
    11 Live 3884: results
      9 c8.0 read Success Live 2437: line 0 of a long tex… (7089 bytes)
      10 c8.1 read Success Recent 1447: line 0 of a long tex… (4161 bytes)
    ");
    let levels = |detail| -> Vec<String> {
        let mut ask = Ask::bare(ADA, PLENTY);
        ask.options.detail = detail;
        let context = projected(&told, &ask).unwrap();
        let Body::Results(results) = &context.parts.last().unwrap().body else { panic!() };
        results.results.iter().map(|result| format!("{:?}", result.level)).collect()
    };
    assert_eq!(levels(Detail::Lean), ["Recent", "Recent"]);
    assert_eq!(levels(Detail::Normal), ["Live", "Recent"]);
    assert_eq!(levels(Detail::Full), ["Live", "Live"]);
}

#[test]
fn results_that_take_a_quarter_of_the_capacity_are_lowered_largest_first() {
    let mut told = story(&format!(
        "@ ada joins primary\nuser: read\nada: → read {{}} | list {{}}\nread c3.0 ok:\n{}\
         list c3.1 ok:\n{}ada results",
        long(400),
        long(20),
    ));
    insta::assert_snapshot!(seen(&told, 16_000), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Live 3411: results
      4 c3.0 read Success Live 3249: line 0 of a long tex… (9489 bytes)
      5 c3.1 list Success Live 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, 10_000), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Live 1609: results
      4 c3.0 read Success Recent 1447: line 0 of a long tex… (4159 bytes)
      5 c3.1 list Success Live 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, 4_000), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Live 191: results
      4 c3.0 read Success Gist 29: line 0 of a long text… (400 lines, 9489 bytes) [recall seq 4 gives it in full]
      5 c3.1 list Success Live 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, 400), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Gist 57: results
      4 c3.0 read Success Gist 29: line 0 of a long text… (400 lines, 9489 bytes) [recall seq 4 gives it in full]
      5 c3.1 list Success Gist 28: line 0 of a long text… (20 lines, 449 bytes) [recall seq 5 gives it in full]
    ");
    // What is lowered for one exchange stays so, whatever comes after it.
    let before = seen(&told, 4_000);
    told.tell("user: and?").unwrap();
    assert!(seen(&told, 4_000).starts_with(&before));
}

#[test]
fn without_recall_a_lowered_result_does_not_name_it() {
    let told = story(&format!(
        "@ ada joins primary\nuser: read\nada: → read {{}}\nread c3.0 ok:\n{}ada results",
        long(40),
    ));
    let text = |recall| {
        let ask = Ask { recall, ..Ask::bare(ADA, 400) };
        let context = projected(&told, &ask).unwrap();
        let Body::Results(results) = &context.parts.last().unwrap().body else { panic!() };
        results.results[0].text.to_string()
    };
    insta::assert_snapshot!(text(true), @"line 0 of a long text… (40 lines, 909 bytes) [recall seq 4 gives it in full]");
    insta::assert_snapshot!(text(false), @"line 0 of a long text… (40 lines, 909 bytes)");
}

#[test]
fn a_result_that_is_shown_already_is_named() {
    let lines = long(5);
    let mut told = story(&format!(
        "@ ada joins primary\nuser: read\nada: → read {{}} | read {{}} | read {{}}\n\
         read c3.0 ok:\n{lines}read c3.1 ok:\n{lines}read c3.2 failed:\n{lines}ada results\n\
         ada: → read {{}} | list {{}} | list {{}}\nread c8.0 ok:\n{lines}list c8.1 ok: none\n\
         list c8.2 ok: none\nada results",
    ));
    // One that ended otherwise is not the same, and short ones are shown as they are.
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Live 1: read
    3 Live 6: m1 says → read {} → read {} → read {}
    7 Live 92: results
      4 c3.0 read Success Live 40: line 0 of a long tex… (109 bytes)
      5 c3.1 read Success Live 12: [same as seq 4]
      6 c3.2 read Failed Live 40: line 0 of a long tex… (109 bytes)
    8 Live 6: m1 says → read {} → list {} → list {}
    12 Live 14: results
      9 c8.0 read Success Live 12: [same as seq 4]
      10 c8.1 list Success Live 1: none
      11 c8.2 list Success Live 1: none
    ");
    // Once the first is folded, the next is the one that is shown.
    told.tell("ada recap-asked 1..7: files were read").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Live 1: read
    1..7 Gist 79:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [Recap of entries 1 to 7]
      | files were read
    8 Live 6: m1 says → read {} → list {} → list {}
    12 Live 42: results
      9 c8.0 read Success Live 40: line 0 of a long tex… (109 bytes)
      10 c8.1 list Success Live 1: none
      11 c8.2 list Success Live 1: none
    ");
}

/// An output that thinks and calls.
fn thinks(text: &str) -> String {
    format!(
        "ada {{\"blocks\":[{{\"thinking\":{{\"text\":\"{text}\"}}}},\
         {{\"tool_call\":{{\"name\":\"list\",\"arguments\":\"{{}}\",\"complete\":true}}}}]}}: x"
    )
}

#[test]
fn thinking_is_shown_in_its_own_turn_until_the_border_moves() {
    let more = "and so on, for a while, with many more words ".repeat(12);
    let mut told = story(&format!("@ ada joins primary\nuser: {more}\nada: {more}\nuser: look"));
    let step = |told: &mut Story, thought: &str| {
        let output = told.history().head().next();
        told.tell(&format!("{}\nlist c{output}.0 ok: {more}\nada results", thinks(thought)))
            .unwrap();
    };
    step(&mut told, "where to look?");
    step(&mut told, "and now?");
    insta::assert_snapshot!(seen(&told, 900), @"
    2 Recent 145: and so on, for a whi… (540 bytes)
    3 Live 145: m1 says and so on, for a whi… (540 bytes)
    4 Live 1: look
    5 Live 6: m1 says (where to look?) → list {}
    7 Live 145: results
      6 c5.0 list Success Live 145: and so on, for a whi… (540 bytes)
    8 Live 5: m1 says (and now?) → list {}
    10 Live 12: results
      9 c8.0 list Success Live 12: [same as seq 6]
    ");
    step(&mut told, "go on?");
    step(&mut told, "and on?");
    insta::assert_snapshot!(seen(&told, 900), @"
    4 Live 1: look
    1..7 Gist 111:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [1 earlier exchange, up to entry 3, is not listed]
      | 5 you: → list {}
      | 7 results: list ok: and so on, for a while, with many more words and so on, for a while, with many m…
    8 Recent 2: m1 says → list {}
    10 Live 145: results
      9 c8.0 list Success Live 145: and so on, for a whi… (540 bytes)
    11 Recent 2: m1 says → list {}
    13 Live 12: results
      12 c11.0 list Success Live 12: [same as seq 9]
    14 Recent 2: m1 says → list {}
    16 Live 12: results
      15 c14.0 list Success Live 12: [same as seq 9]
    ");
    step(&mut told, "at last");
    insta::assert_snapshot!(seen(&told, 900), @"
    4 Live 1: look
    1..7 Gist 111:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [1 earlier exchange, up to entry 3, is not listed]
      | 5 you: → list {}
      | 7 results: list ok: and so on, for a while, with many more words and so on, for a while, with many m…
    8 Recent 2: m1 says → list {}
    10 Live 145: results
      9 c8.0 list Success Live 145: and so on, for a whi… (540 bytes)
    11 Recent 2: m1 says → list {}
    13 Live 12: results
      12 c11.0 list Success Live 12: [same as seq 9]
    14 Recent 2: m1 says → list {}
    16 Live 12: results
      15 c14.0 list Success Live 12: [same as seq 9]
    17 Live 4: m1 says (at last) → list {}
    19 Live 12: results
      18 c17.0 list Success Live 12: [same as seq 9]
    ");
    told.tell("ada: seen\nuser: thanks").unwrap();
    let shown = seen(&told, PLENTY);
    assert!(shown.contains("list") && !shown.contains("at last"), "{shown}");
}
