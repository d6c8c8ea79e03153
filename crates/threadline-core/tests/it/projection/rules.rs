//! Each rule of the projection, by a story.

use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::project::{Material, options_for, project, wanted_tokens};
use threadline_core::context::{Body, Context};
use threadline_core::history::fact::{CallOptions, Detail, ProjectionOptions};
use threadline_core::id::AgentId;
use threadline_core::provider::Profile;
use threadline_core::tokens::Estimator;
use threadline_core::tool::Catalogue;

use super::{ADA, Kept, projected, seen, shown, story, window};

const PLENTY: u64 = 100_000;

/// Two turns, the second with calls and an input in the middle of it.
const TURNS: &str = r#"
@ ada joins primary
@ ada instruction: be brief
user: what is the capital of Norway?
ada asks scripted/m1
ada: Oslo.
user: and the weather there?
ada asks scripted/m2
ada: let me look → weather {"city":"Oslo"} | notes {}
weather c8.0 starts read
notes c8.1 ok: none
weather c8.0 ok: 4 °C, rain
ada results
user: in Fahrenheit, please
"#;

#[test]
fn what_fits_is_there_in_its_order() {
    let told = story(TURNS);
    insta::assert_snapshot!(seen(&told, Some("# [Live Screen]\n\nit is noon"), PLENTY), @r#"
    2 system 2: be brief
    3 Recent 7: what is the capital of Norway?
    5 Live 2: m1 says Oslo.
    6 Live 5: and the weather there?
    8 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    12 Live 6: results
      11 c8.0 weather Success Live 5: 4 °C, rain
      10 c8.1 notes Success Live 1: none
    13 Live 12: in Fahrenheit, please
      screen 8: # [Live Screen]⏎⏎it is noon
    "#);
}

#[test]
fn the_same_material_gives_the_same_bytes() {
    let (first, second) = (story(TURNS), story(TURNS));
    let context = |told| projected(told, Some("noon"), &window(60)).unwrap();
    assert_eq!(context(&first), context(&second));
    assert_eq!(context(&first).digest(), context(&second).digest());
}

#[test]
fn the_screen_goes_with_what_was_heard_last() {
    let mut told = story("@ ada joins primary\nuser: look");
    insta::assert_snapshot!(seen(&told, Some("it is noon"), PLENTY), @"
    2 Live 4: look
      screen 3: it is noon
    ");
    told.tell("ada: → list {}\nlist c3.0 ok: a file\nada results").unwrap();
    insta::assert_snapshot!(seen(&told, Some("it is noon"), PLENTY), @"
    2 Live 1: look
    3 Live 2: m1 says → list {}
    5 Live 5: results
      4 c3.0 list Success Live 2: a file
      screen 3: it is noon
    ");
    told.tell("ada (paused): wait").unwrap();
    insta::assert_snapshot!(seen(&told, Some("it is noon"), PLENTY), @"
    2 Live 1: look
    3 Live 2: m1 says → list {}
    5 Live 5: results
      4 c3.0 list Success Live 2: a file
      screen 3: it is noon
    6 Live 1: m1 says wait
    ");
    let off = ProjectionOptions { screen: false, ..window(PLENTY) };
    assert!(!shown(&projected(&told, Some("noon"), &off).unwrap()).contains("noon"));
    // At rest nothing was heard that waits for an answer.
    told.tell("ada: seen").unwrap();
    assert!(!seen(&told, Some("it is noon"), PLENTY).contains("noon"));
}

#[test]
fn a_blank_instruction_is_an_empty_system_message() {
    let told = story("@ ada joins primary\n@ ada instruction: \"  \\n \"\nuser: hello");
    let context = projected(&told, None, &window(PLENTY)).unwrap();
    let system = &context.system;
    assert_eq!((&*system.text, system.tokens, system.entry.map(|seq| seq.0)), ("", 0, Some(2)));
    let told = story("@ ada joins primary\nuser: hello");
    assert_eq!(projected(&told, None, &window(PLENTY)).unwrap().system.entry, None);
}

#[test]
fn calls_that_are_not_sealed_are_not_shown() {
    let mut told = story("@ ada joins primary\nuser: look\nada: → list {} | read {}");
    insta::assert_snapshot!(seen(&told, Some("noon"), PLENTY), @"
    2 Live 2: look
      screen 1: noon
    ");
    told.tell("list c3.0 ok: a file\nread c3.1 failed: no such file").unwrap();
    insta::assert_snapshot!(seen(&told, Some("noon"), PLENTY), @"
    2 Live 2: look
      screen 1: noon
    ");
    told.tell("ada results").unwrap();
    insta::assert_snapshot!(seen(&told, Some("noon"), PLENTY), @"
    2 Live 1: look
    3 Live 4: m1 says → list {} → read {}
    6 Live 6: results
      4 c3.0 list Success Live 2: a file
      5 c3.1 read Failed Live 3: no such file
      screen 1: noon
    ");
}

/// A text of so many lines.
fn long(lines: usize) -> String {
    (0..lines).fold(String::new(), |text, n| text + &format!("    line {n} of a long text\n"))
}

#[test]
fn earlier_turns_are_at_recent_and_the_current_one_is_live() {
    let lines = long(300);
    let told = story(&format!(
        "@ ada joins primary\nuser:\n{lines}ada: → read {{}}\nread c3.0 ok:\n{lines}ada results\n\
         ada: read\nuser:\n{lines}ada: → read {{}} | read {{}}\nread c8.0 ok:\n{lines}\
         read c8.1 ok:\n{}ada results",
        long(900)
    ));
    insta::assert_snapshot!(seen(&told, None, PLENTY), @"
    2 Recent 1435: line 0 of a long tex… (4127 bytes)
    3 Live 2: m1 says → read {}
    5 Recent 1435: results
      4 c3.0 read Success Recent 1435: line 0 of a long tex… (4127 bytes)
    6 Live 1: m1 says read
    7 Live 2437: line 0 of a long tex… (7089 bytes)
    8 Live 4: m1 says → read {} → read {}
    11 Live 3872: results
      9 c8.0 read Success Live 2437: line 0 of a long tex… (7089 bytes)
      10 c8.1 read Success Recent 1435: line 0 of a long tex… (4128 bytes)
    ");
    let lean = ProjectionOptions { detail: Detail::Lean, ..window(PLENTY) };
    let full = ProjectionOptions { detail: Detail::Full, ..window(PLENTY) };
    let levels = |options| -> Vec<String> {
        let context = projected(&told, None, &options).unwrap();
        let Body::Results(results) = &context.parts.last().unwrap().body else { panic!() };
        results.results.iter().map(|result| format!("{:?}", result.level)).collect()
    };
    assert_eq!(levels(lean), ["Recent", "Recent"]);
    assert_eq!(levels(full), ["Live", "Live"]);
}

#[test]
fn ends_of_turns_and_recaps_are_lines_of_ours() {
    let mut told = story(
        "@ ada joins primary\nuser: one\nada: first\nuser: two\nada ends cancelled: by the user\n\
         ada recap 2..3: they counted\nuser: three",
    );
    insta::assert_snapshot!(seen(&told, None, PLENTY), @"
    2 Recent 1: one
    3 Live 1: m1 says first
    4 Recent 1: two
    5 Gist 9: [turn ended: cancelled (by the user)]
    6 Live 12: [Recap of entries 2 to 3]⏎they counted
    7 Live 1: three
    ");
    // One that takes its place leaves it out; one that is written between calls and their
    // results does not part them.
    told.tell("ada: → list {}\nada recap 2..5: they counted to two\nlist c8.0 ok: a file").unwrap();
    told.tell("ada results").unwrap();
    insta::assert_snapshot!(seen(&told, None, PLENTY), @"
    2 Recent 1: one
    3 Live 1: m1 says first
    4 Recent 1: two
    5 Gist 9: [turn ended: cancelled (by the user)]
    9 Live 14: [Recap of entries 2 to 5]⏎they counted to two
    7 Live 1: three
    8 Live 2: m1 says → list {}
    11 Live 2: results
      10 c8.0 list Success Live 2: a file
    ");
}

#[test]
fn whole_exchanges_are_left_out_from_the_oldest_on() {
    let told = story(TURNS);
    let whole = projected(&told, None, &window(PLENTY)).unwrap().tokens();
    assert_eq!(seen(&told, None, whole), seen(&told, None, PLENTY));
    let before = "user: a first question with quite a few words\nada: a first answer\n";
    let told = story(&TURNS.replacen("user:", &format!("{before}user:"), 1).replace("c8", "c10"));
    insta::assert_snapshot!(seen(&told, None, whole + 10), @r#"
    2 system 2: be brief
    1..4 Gist 9: [… earlier exchanges are left out …]
    5 Recent 7: what is the capital of Norway?
    7 Live 2: m1 says Oslo.
    8 Live 5: and the weather there?
    10 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    14 Live 6: results
      13 c10.0 weather Success Live 5: 4 °C, rain
      12 c10.1 notes Success Live 1: none
    15 Live 4: in Fahrenheit, please
    "#);
    insta::assert_snapshot!(seen(&told, None, whole), @r#"
    2 system 2: be brief
    1..7 Gist 9: [… earlier exchanges are left out …]
    8 Live 5: and the weather there?
    10 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    14 Live 6: results
      13 c10.0 weather Success Live 5: 4 °C, rain
      12 c10.1 notes Success Live 1: none
    15 Live 4: in Fahrenheit, please
    "#);
    // Not even the line fits.
    insta::assert_snapshot!(seen(&told, None, whole - 8), @r#"
    2 system 2: be brief
    8 Live 5: and the weather there?
    10 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    14 Live 6: results
      13 c10.0 weather Success Live 5: 4 °C, rain
      12 c10.1 notes Success Live 1: none
    15 Live 4: in Fahrenheit, please
    "#);
}

/// A turn of seven calls.
fn long_turn() -> String {
    let mut text = "@ ada joins primary\nuser: an older one\nada: yes\nuser: read them\n\
                    user: all of them\n"
        .to_owned();
    for n in 0..7 {
        let output = 6 + 3 * n;
        let _ = writeln!(text, "ada: → read {{\"file\":{n}}}");
        let _ = writeln!(text, "read c{output}.0 ok: file {n} has words\nada results");
    }
    text
}

#[test]
fn a_turn_too_long_keeps_what_began_it_and_what_is_newest() {
    let told = story(&long_turn());
    insta::assert_snapshot!(seen(&told, None, 75), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    6..11 Gist 14: [… 2 earlier exchanges of this turn are left out …]
    12 Live 6: m1 says → read {"file":2}
    14 Live 5: results
      13 c12.0 read Success Live 5: file 2 has words
    15 Live 6: m1 says → read {"file":3}
    17 Live 5: results
      16 c15.0 read Success Live 5: file 3 has words
    18 Live 6: m1 says → read {"file":4}
    20 Live 5: results
      19 c18.0 read Success Live 5: file 4 has words
    21 Live 6: m1 says → read {"file":5}
    23 Live 5: results
      22 c21.0 read Success Live 5: file 5 has words
    24 Live 6: m1 says → read {"file":6}
    26 Live 5: results
      25 c24.0 read Success Live 5: file 6 has words
    "#);
    insta::assert_snapshot!(seen(&told, None, 32), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    6..23 Gist 14: [… 6 earlier exchanges of this turn are left out …]
    24 Live 6: m1 says → read {"file":6}
    26 Live 5: results
      25 c24.0 read Success Live 5: file 6 has words
    "#);
    // Not even the line fits.
    insta::assert_snapshot!(seen(&told, None, 22), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    24 Live 6: m1 says → read {"file":6}
    26 Live 5: results
      25 c24.0 read Success Live 5: file 6 has words
    "#);
}

#[test]
fn what_the_window_does_not_have_is_counted_too() {
    let told = story(&long_turn());
    let mut material = Kept::of(told.batches()).material(told.history(), ADA);
    // What began the turn and the last three rows; results without their output are in front.
    material.window.drain(4..material.window.len() - 3);
    material.window.drain(..2);
    let context =
        project(told.history(), ADA, &material, &Catalogue::default(), &window(PLENTY), &Estimator);
    insta::assert_snapshot!(shown(&context.unwrap()), @r#"
    4 Live 2: read them
    5 Live 3: all of them
    6..23 Gist 14: [… 6 earlier exchanges of this turn are left out …]
    24 Live 6: m1 says → read {"file":6}
    26 Live 5: results
      25 c24.0 read Success Live 5: file 6 has words
    "#);
}

#[test]
fn results_of_the_newest_exchange_are_lowered_before_it_does_not_fit() {
    let told = story(&format!(
        "@ ada joins primary\nuser: read\nada: → read {{}} | list {{}}\nread c3.0 ok:\n{}\
         list c3.1 ok:\n{}ada results",
        long(400),
        long(20),
    ));
    insta::assert_snapshot!(seen(&told, None, 3100), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Live 1597: results
      4 c3.0 read Success Recent 1435: line 0 of a long tex… (4127 bytes)
      5 c3.1 list Success Live 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, None, 1200), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Recent 179: results
      4 c3.0 read Success Gist 17: line 0 of a long text… (400 lines, 9489 bytes)
      5 c3.1 list Success Recent 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, None, 300), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Recent 179: results
      4 c3.0 read Success Gist 17: line 0 of a long text… (400 lines, 9489 bytes)
      5 c3.1 list Success Recent 162: line 0 of a long tex… (449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, None, 60), @"
    2 Live 1: read
    3 Live 4: m1 says → read {} → list {}
    6 Gist 33: results
      4 c3.0 read Success Gist 17: line 0 of a long text… (400 lines, 9489 bytes)
      5 c3.1 list Success Gist 16: line 0 of a long text… (20 lines, 449 bytes)
    ");
    insta::assert_snapshot!(seen(&told, None, 20), @"the newest exchange (entries 3 to 6) takes 37 tokens, and 19 are free; shorten it or choose a model with a larger window");
}

#[test]
fn what_must_be_there_is_named_if_it_does_not_fit() {
    let mut told = story(
        "@ ada joins primary\n@ ada instruction: be brief, and be careful\nuser: what is this?\n\
         user: and that?",
    );
    insta::assert_snapshot!(seen(&told, None, 3), @"the instruction takes 6 tokens, and 3 are free; shorten it or choose a model with a larger window");
    insta::assert_snapshot!(seen(&told, None, 12), @"what began the turn (entries 3 to 4) takes 7 tokens, and 6 are free; shorten it or choose a model with a larger window");
    insta::assert_snapshot!(seen(&told, Some("a screen"), 14), @"the live screen takes 2 tokens, and 1 are free; shorten it or choose a model with a larger window");
    told.tell("ada: → list {}\nlist c5.0 ok: a\nada results\nuser: faster").unwrap();
    insta::assert_snapshot!(seen(&told, None, 13), @"what waits for an answer (entry 8) takes 1 tokens, and 0 are free; shorten it or choose a model with a larger window");
    insta::assert_snapshot!(seen(&told, None, 16), @"the newest exchange (entries 5 to 7) takes 3 tokens, and 2 are free; shorten it or choose a model with a larger window");
    let tools = Catalogue::new(Vec::new(), 900).unwrap();
    let material = Material::default();
    let refused =
        project(told.history(), ADA, &material, &tools, &window(800), &Estimator).unwrap_err();
    assert_eq!(
        (&*refused.part, refused.tokens, refused.available),
        ("the list of tools", 900, 800)
    );
}

#[test]
fn nothing_of_another_thread_is_shown() {
    let told = story(
        "@ ada joins primary\n@ bob joins\nuser: to ada\nuser to bob: to bob\nbob: I am bob\n\
         ada: I am ada",
    );
    let kept = Kept::of(told.batches());
    let mut material = kept.material(told.history(), ADA);
    material.window.extend(kept.material(told.history(), AgentId(2)).window);
    let see = |agent: AgentId| {
        let (tools, options) = (Catalogue::default(), window(PLENTY));
        shown(&project(told.history(), agent, &material, &tools, &options, &Estimator).unwrap())
    };
    insta::assert_snapshot!(see(ADA), @"
    3 Recent 2: to ada
    6 Live 3: m1 says I am ada
    ");
    insta::assert_snapshot!(see(AgentId(2)), @"
    4 Recent 2: to bob
    5 Live 3: m1 says I am bob
    ");
    assert_eq!(see(AgentId(3)), "");
}

#[test]
fn options_leave_room_for_the_answer() {
    let profile = Profile {
        window_tokens: 100_000,
        output_cap_tokens: 32_000,
        factor_percent: 125,
        ..Profile::unknown()
    };
    let usual = options_for(&profile, &CallOptions::default());
    assert_eq!((usual.window_tokens, usual.reserve_tokens), (100_000, 25_000));
    assert_eq!((usual.capacity_tokens, wanted_tokens(&usual)), (80_000 - 25_000, 55_000));
    let call = CallOptions { max_output_tokens: Some(4_000), ..CallOptions::default() };
    assert_eq!(options_for(&profile, &call).capacity_tokens, 76_000);
    // A model that counts half as many tokens as we do answers twice as many of ours.
    let half = Profile { factor_percent: 50, ..profile.clone() };
    assert_eq!(options_for(&half, &call).capacity_tokens, 200_000 - 8_000);
    let none = Profile { window_tokens: 1_000, ..profile };
    assert_eq!(options_for(&none, &call).capacity_tokens, 0);
    let tighter = ProjectionOptions { capacity_tokens: 9, ..usual };
    assert_eq!(wanted_tokens(&tighter), 9);
}

#[test]
fn attachments_stay_with_what_named_them() {
    let digest = "aa".repeat(32);
    let attached = format!(
        "{{\"attachments\":[{{\"digest\":\"{digest}\",\"size\":3,\"media_type\":\"image/png\"}}]}}"
    );
    let told = story(&format!(
        "@ ada joins primary\nuser {attached}: see this\nada: → draw {{}}\n\
         draw c3.0 ok {attached}: drawn\nada results"
    ));
    let context: Context = projected(&told, None, &window(PLENTY)).unwrap();
    let named: Vec<Arc<str>> =
        context.attachments().map(|attachment| Arc::clone(&attachment.media_type)).collect();
    assert_eq!(named, ["image/png".into(), "image/png".into()] as [Arc<str>; 2]);
}
