//! Each rule of the projection, by a story.

mod folding;
mod levels;
mod pins;
mod recaps;
mod turns;

use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::Context;
use threadline_core::context::plan::Ask;
use threadline_core::id::AgentId;
use threadline_testing::notation::Story;

use super::{ADA, Kept, long, projected, seen, seen_with, shown, story};

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

/// So many turns, each of a question of about 160 tokens and a short answer, from entry 2 on.
fn talk(turns: usize) -> Story {
    let mut text = "@ ada joins primary\n".to_owned();
    for n in 0..turns {
        let _ = writeln!(text, "user:\n    question {n}\n{}ada: answer {n}", long(18));
    }
    story(&text)
}

/// A turn of so many calls, each with results of about 80 tokens; the first output is entry 6.
fn long_turn(calls: usize) -> Story {
    let mut told = story(
        "@ ada joins primary\nuser: an older one\nada: yes\nuser: read them\nuser: all of them",
    );
    (0..calls).for_each(|n| read_one(&mut told, n));
    told
}

fn read_one(told: &mut Story, n: usize) {
    let output = told.history().head().next();
    told.tell(&format!(
        "ada: → read {{\"file\":{n}}}\nread c{output}.0 ok:\n    file {n}\n{}ada results",
        long(9)
    ))
    .unwrap();
}

#[test]
fn what_fits_is_there_in_its_order() {
    let told = story(TURNS);
    insta::assert_snapshot!(seen_with(&told, &[(6, "# [Live Screen]\n\nit is noon")], PLENTY), @r#"
    2 system 2: be brief
    3 Recent 7: what is the capital of Norway?
    5 Live 2: m1 says Oslo.
    6 Live 13: and the weather there?
      screen 8: # [Live Screen]⏎⏎it is noon
    8 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    12 Live 6: results
      11 c8.0 weather Success Live 5: 4 °C, rain
      10 c8.1 notes Success Live 1: none
    13 Live 4: in Fahrenheit, please
    "#);
}

#[test]
fn the_same_history_gives_the_same_bytes() {
    let (first, second) = (story(TURNS), story(TURNS));
    let context = |told| projected(told, &Ask::bare(ADA, 200)).unwrap();
    assert_eq!(context(&first), context(&second));
    assert_eq!(context(&first).digest(), context(&second).digest());
}

#[test]
fn before_anything_is_said_there_is_the_system_message() {
    let mut told = Story::new();
    assert_eq!(projected(&told, &Ask::bare(ADA, PLENTY)).unwrap(), Context::default());
    told.tell("@ ada joins primary\n@ ada instruction: be brief").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"2 system 2: be brief");
}

#[test]
fn a_blank_instruction_is_an_empty_system_message() {
    let told = story("@ ada joins primary\n@ ada instruction: \"  \\n \"\nuser: hello");
    let context = projected(&told, &Ask::bare(ADA, PLENTY)).unwrap();
    let system = &context.system;
    assert_eq!((&*system.text, system.tokens, system.entry.map(|seq| seq.0)), ("", 0, Some(2)));
    let told = story("@ ada joins primary\nuser: hello");
    assert_eq!(projected(&told, &Ask::bare(ADA, PLENTY)).unwrap().system.entry, None);
}

#[test]
fn the_instruction_stays_as_it_was_when_the_turn_began() {
    let mut told = story(
        "@ ada joins primary\n@ ada instruction: be brief\nuser: hello\n\
         @ ada instruction: be long and winding",
    );
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 system 2: be brief
    3 Live 1: hello
    ");
    told.tell("ada: hi").unwrap();
    assert!(seen(&told, PLENTY).starts_with("2 system"), "at rest nothing has begun");
    told.tell("user: more").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    4 system 4: be long and winding
    3 Recent 1: hello
    5 Live 1: m1 says hi
    6 Live 1: more
    ");
}

#[test]
fn calls_that_are_not_sealed_are_not_shown() {
    let mut told = story("@ ada joins primary\nuser: look\nada: → list {} | read {}");
    insta::assert_snapshot!(seen(&told, PLENTY), @"2 Live 1: look");
    told.tell("list c3.0 ok: a file\nread c3.1 failed: no such file").unwrap();
    assert_eq!(seen(&told, PLENTY), "2 Live 1: look\n");
    told.tell("ada results").unwrap();
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Live 1: look
    3 Live 4: m1 says → list {} → read {}
    6 Live 5: results
      4 c3.0 list Success Live 2: a file
      5 c3.1 read Failed Live 3: no such file
    ");
}

#[test]
fn the_end_of_a_turn_is_a_line_of_ours() {
    let told = story(
        "@ ada joins primary\nuser: one\nada: first\nuser: two\nada ends cancelled: by the user\n\
         user: three",
    );
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Recent 1: one
    3 Live 1: m1 says first
    4 Recent 1: two
    5 Gist 19: [turn ended: cancelled (by the user)]
    6 Live 1: three
    ");
}

#[test]
fn what_must_be_there_is_named_if_it_does_not_fit() {
    let mut told = story(
        "@ ada joins primary\n@ ada instruction: be brief, and be careful\nuser: what is this?\n\
         user: and that?",
    );
    insta::assert_snapshot!(seen(&told, 3), @"the instruction takes 6 tokens, and 3 are free; shorten it or choose a model with a larger window");
    insta::assert_snapshot!(seen(&told, 12), @"what began the turn (entries 3 to 4) takes 7 tokens, and 6 are free; shorten it or choose a model with a larger window");
    assert!(seen(&told, 13).starts_with("2 system"));
    let tools = Ask { catalogue_tokens: 900, ..Ask::bare(ADA, 800) };
    insta::assert_snapshot!(projected(&told, &tools).unwrap_err(), @"the list of tools takes 900 tokens, and 794 are free; shorten it or choose a model with a larger window");
    insta::assert_snapshot!(seen_with(&told, &[(3, "a screen of eight words, as you can see")], 80), @"what waits for an answer (entries 3 to 4) takes 10 tokens, and 3 are free; shorten it or choose a model with a larger window");
    told.tell("ada: → list {}\nlist c5.0 ok: a file and a folder\nada results").unwrap();
    insta::assert_snapshot!(seen(&told, 80), @"the newest exchange (entries 3 to 7) takes 7 tokens, and 3 are free; shorten it or choose a model with a larger window");
    told.tell("user: faster, if you can, because I have to go").unwrap();
    insta::assert_snapshot!(seen(&told, 90), @"the newest exchange (entries 3 to 8) takes 18 tokens, and 13 are free; shorten it or choose a model with a larger window");
}

#[test]
fn a_reserve_is_kept_free_and_counted_in_the_units_of_the_model() {
    let told = story("@ ada joins primary\nuser: what is this?");
    let ask = |factor_percent, reserve_tokens| {
        let mut ask = Ask::bare(ADA, 100);
        (ask.options.factor_percent, ask.options.reserve_tokens) = (factor_percent, reserve_tokens);
        ask
    };
    let free = |factor, reserve| {
        let mut ask = ask(factor, reserve);
        ask.catalogue_tokens = 10_000;
        projected(&told, &ask).unwrap_err().available
    };
    assert_eq!((free(100, 0), free(100, 40), free(125, 0)), (100, 60, 80));
    // A model that counts half as many tokens as we do answers twice as many of ours.
    assert_eq!((free(50, 20), free(125, 20)), (200 - 40, 80 - 20));
}

#[test]
fn nothing_of_another_thread_is_shown() {
    let told = story(
        "@ ada joins primary\n@ bob joins\nuser: to ada\nuser to bob: to bob\nbob: I am bob\n\
         ada: I am ada",
    );
    let kept = Kept::of(told.batches());
    let see = |agent: AgentId| {
        let ask = Ask::bare(agent, PLENTY);
        let material = kept.material(told.history(), &ask).unwrap();
        shown(&threadline_core::context::render(&material, &[]))
    };
    insta::assert_snapshot!(see(ADA), @"
    3 Live 2: to ada
    6 Live 3: m1 says I am ada
    ");
    insta::assert_snapshot!(see(AgentId(2)), @"
    4 Live 2: to bob
    5 Live 3: m1 says I am bob
    ");
    assert_eq!(see(AgentId(3)), "");
}

#[test]
fn what_is_taken_back_is_not_shown() {
    let told = story(
        "@ ada joins primary\nuser: one\nada: first\nuser: two\nada: second\nrewind 3\n\
         user: three",
    );
    insta::assert_snapshot!(seen(&told, PLENTY), @"
    2 Recent 1: one
    3 Live 1: m1 says first
    7 Live 1: three
    ");
}

#[test]
fn attachments_stay_with_what_named_them_unless_it_is_a_line() {
    let digest = "aa".repeat(32);
    let attached = format!(
        "{{\"attachments\":[{{\"digest\":\"{digest}\",\"size\":3,\"media_type\":\"image/png\"}}]}}"
    );
    let told = story(&format!(
        "@ ada joins primary\nuser {attached}: see this\nada: → draw {{}}\n\
         draw c3.0 ok {attached}:\n{}ada results",
        long(100),
    ));
    let named = |tokens| -> Vec<Arc<str>> {
        let context = projected(&told, &Ask::bare(ADA, tokens)).unwrap();
        context.attachments().map(|attachment| Arc::clone(&attachment.media_type)).collect()
    };
    assert_eq!(named(PLENTY), ["image/png".into(), "image/png".into()] as [Arc<str>; 2]);
    assert_eq!(named(12_000), ["image/png".into()] as [Arc<str>; 1]);
}
