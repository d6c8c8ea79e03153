//! Within a turn: landmarks, screens, and what is fixed until it ends.

use threadline_core::context::plan::{Ask, budget};
use threadline_core::context::render;
use threadline_core::history::fact::{CallOptions, Detail, Invocation};
use threadline_core::history::{Counts, History};
use threadline_core::id::Seq;
use threadline_core::provider::Profile;
use threadline_core::tokens::{Estimator, TokenCounter};
use threadline_core::tool::Catalogue;
use threadline_core::widget::Attached;
use threadline_testing::notation::Story;

use super::{ADA, Kept, PLENTY, long_turn, projected, read_one, seen_with, shown, story};

const NOON: &str = "# [Live Screen]\n\nit is noon";
const LATER: &str = "# [Live Screen]\n\nit is later";

#[test]
fn the_border_stands_still_and_then_moves_by_a_block() {
    let mut told = long_turn(0);
    let mut borders = Vec::new();
    for n in 0..40 {
        read_one(&mut told, n);
        let ask = Ask::bare(ADA, 1500);
        let plan = Kept::of(told.batches()).material(told.history(), &ask).unwrap().plan;
        borders.push(plan.border.map_or(0, |border| border.0));
    }
    assert!(borders.is_sorted());
    insta::assert_snapshot!(format!("{borders:?}"), @"[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 30, 30, 30, 30, 30, 30, 30, 30, 54, 54, 54, 54, 54, 54, 54, 54, 78, 78, 78, 78, 78, 78, 78, 78, 102]");
}

/// Counts three times as much as the others do.
struct Threefold;

impl TokenCounter for Threefold {
    fn id(&self) -> &'static str {
        "threefold"
    }

    fn count(&self, text: &str) -> u32 {
        Estimator.count(text) * 3
    }
}

#[test]
fn the_border_is_that_of_the_outline_whoever_folded_the_history() {
    let told = long_turn(30);
    let kept = Kept::of(told.batches());
    let mut folded = History::new();
    for placed in told.batches().iter().flat_map(|batch| &batch.entries) {
        let counts = Counts::of(&placed.entry.fact, &Threefold);
        folded.apply(&placed.entry, placed.record.hash, counts).unwrap();
    }
    assert_ne!(&folded, told.history());
    let ask = Ask::bare(ADA, 1500);
    let plan = |history| kept.material(history, &ask).unwrap().plan;
    assert!(plan(&folded).border.is_some());
    assert_eq!(plan(&folded), plan(told.history()));
}

#[test]
fn screens_stay_where_they_were_attached_until_the_next_turn() {
    let mut told = story("@ ada joins primary\nuser: look\nada: → list {}");
    told.tell("list c3.0 ok: a file\nada results\nuser: go on\nada (paused): wait").unwrap();
    let screens = [(2, NOON), (5, LATER)];
    insta::assert_snapshot!(seen_with(&told, &screens, PLENTY), @"
    2 Live 9: look
      screen 8: # [Live Screen]⏎⏎it is noon
    3 Live 2: m1 says → list {}
    5 Live 10: results
      4 c3.0 list Success Live 2: a file
      screen 8: # [Live Screen]⏎⏎it is later
    6 Live 2: go on
    7 Live 1: m1 says wait
    ");
    let mut off = Ask::bare(ADA, PLENTY);
    off.options.screen = false;
    off.screens = vec![Attached { seq: Seq(2), text: NOON.into(), tokens: 8 }];
    assert!(!shown(&projected(&told, &off).unwrap()).contains("noon"));
    // At rest the last one is still there.
    told.tell("ada: seen").unwrap();
    assert!(seen_with(&told, &screens, PLENTY).contains("later"));
    // With the next turn it is not, whoever still has it.
    told.tell("user: more").unwrap();
    insta::assert_snapshot!(seen_with(&told, &screens, PLENTY), @"
    2 Recent 1: look
    3 Live 2: m1 says → list {}
    5 Recent 2: results
      4 c3.0 list Success Recent 2: a file
    6 Recent 2: go on
    7 Live 1: m1 says wait
    8 Live 1: m1 says seen
    9 Live 1: more
    ");
}

#[test]
fn the_newest_screen_whose_place_is_folded_goes_with_what_began_the_turn() {
    let told = long_turn(14);
    let screens = [(4, NOON), (8, "# [Live Screen]\n\nit is one"), (47, LATER)];
    insta::assert_snapshot!(seen_with(&told, &screens, 900), @r#"
    4 Live 10: read them
      screen 8: # [Live Screen]⏎⏎it is one
    5 Live 3: all of them
    1..35 Gist 103:
      | # Earlier
      |
      | Folded to a line for each entry. recall with a seq reads that entry in full, with a query it finds entries.
      |
      | [10 earlier exchanges, up to entry 32, are not listed]
      | 33 you: → read {"file":9}
      | 35 results: read ok: file 9… (10 lines, 204 bytes)
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
    47 Live 84: results
      46 c45.0 read Success Live 76: file 13⏎line 0 of a … (205 bytes)
      screen 8: # [Live Screen]⏎⏎it is later
    "#);
}

fn target() -> (Invocation, Profile) {
    let told = story("@ ada joins primary\nuser: hello\nada asks scripted/m1");
    let (invocation, _) = told.history().agent(ADA).unwrap().asked.clone().unwrap();
    let profile = Profile {
        window_tokens: 100_000,
        output_cap_tokens: 32_000,
        factor_percent: 100,
        ..Profile::unknown()
    };
    (invocation, profile)
}

fn asked(told: &Story) -> Ask {
    let (invocation, profile) = target();
    let (call, tools) = (CallOptions::default(), Catalogue::default());
    Ask::new(told.history(), ADA, (&invocation, &profile), &call, &tools, &[])
}

#[test]
fn an_answer_gets_its_cap_or_a_quarter_of_the_window() {
    let told = story("@ ada joins primary\nuser: hello");
    let usual = asked(&told).options;
    assert_eq!((usual.window_tokens, usual.reserve_tokens), (100_000, 25_000));
    let (invocation, profile) = target();
    let call = CallOptions { max_output_tokens: Some(4_000), ..CallOptions::default() };
    let target = (&invocation, &profile);
    let ask = Ask::new(told.history(), ADA, target, &call, &Catalogue::default(), &[]);
    assert_eq!(ask.options.reserve_tokens, 4_000);
}

#[test]
fn an_agent_may_be_given_less_than_its_model_can_take() {
    let told = story("@ ada joins primary\nuser: hello");
    let (invocation, profile) = target();
    let call = CallOptions {
        window_tokens: Some(8_000),
        detail: Some(Detail::Lean),
        screen: Some(false),
        ..CallOptions::default()
    };
    let ask = |call| {
        let target = (&invocation, &profile);
        Ask::new(told.history(), ADA, target, call, &Catalogue::default(), &[]).options
    };
    let options = ask(&call);
    assert_eq!((options.window_tokens, options.reserve_tokens), (8_000, 2_000));
    assert_eq!((options.detail, options.screen), (Detail::Lean, false));
    let more = CallOptions { window_tokens: Some(1_000_000), ..CallOptions::default() };
    assert_eq!(ask(&more).window_tokens, 100_000);
}

#[test]
fn the_first_invocation_of_a_turn_fixes_the_capacity() {
    let asks = |capacity: u64| {
        format!(
            "ada asks scripted/m1 {{\"options\":{{\"window_tokens\":1000,\"reserve_tokens\":0,\
             \"capacity_tokens\":{capacity},\"factor_percent\":105,\"detail\":\"lean\",\
             \"screen\":true}}}}"
        )
    };
    let mut told = story("@ ada joins primary\nuser: hello");
    assert!(!asked(&told).fixed);
    told.tell(&format!("{}\nada (paused): wait\n{}", asks(500), asks(700))).unwrap();
    let ask = asked(&told);
    assert_eq!((ask.fixed, ask.options.capacity_tokens), (true, 500));
    assert_eq!((ask.options.window_tokens, ask.options.factor_percent), (1000, 105));
    // A quarter smaller once the model said that a request was too long, and not again.
    told.tell("ada failed context_too_long: too long").unwrap();
    assert_eq!(budget(&asked(&told).options), 713);
    told.tell(&format!("{}\nada failed context_too_long: again", asks(500))).unwrap();
    assert_eq!(budget(&asked(&told).options), 713);
    // Another model has its own.
    told.tell("ada asks scripted/m2\nada: done").unwrap();
    assert_eq!(asked(&told).options.capacity_tokens, 500);
    told.tell("user: more").unwrap();
    assert_eq!((asked(&told).fixed, asked(&told).options.window_tokens), (false, 100_000));
}

#[test]
fn later_turns_stay_within_the_limit_that_a_model_stated() {
    let mut told = story("@ ada joins primary\nuser: hello");
    told.tell("ada asks scripted/m1 {\"estimate_tokens\":9000}").unwrap();
    told.tell("ada failed context_too_long {\"limit_tokens\":8192}: no").unwrap();
    let turn = told.history().agent(ADA).unwrap().turn.clone().unwrap();
    assert_eq!(turn.frozen[0].refused_tokens, Some(9_000));
    assert!(!turn.frozen[0].takes(9_000) && turn.frozen[0].takes(8_999));
    told.tell("ada asks scripted/m1\nada: done\nuser: more").unwrap();
    let options = asked(&told).options;
    assert_eq!((options.window_tokens, options.reserve_tokens), (8_192, 2_048));
    // It is of this model alone, and a rewind takes it back with what showed it.
    let (mut other, profile) = target();
    other.model = "m2".into();
    let (call, tools) = (CallOptions::default(), Catalogue::default());
    let of_other = Ask::new(told.history(), ADA, (&other, &profile), &call, &tools, &[]);
    assert_eq!(of_other.options.window_tokens, 100_000);
    told.tell("rewind 2").unwrap();
    assert_eq!(asked(&told).options.window_tokens, 100_000);
}

#[test]
fn a_model_that_read_more_than_it_stated_takes_more_by_now() {
    for (usage, window) in [
        ("{\"input\":8192}", 8_192),
        ("{\"input\":8193}", 100_000),
        ("{\"input\":8193,\"estimated\":true}", 8_192),
    ] {
        let mut told = story("@ ada joins primary\nuser: hello\nada asks scripted/m1");
        told.tell("ada failed context_too_long {\"limit_tokens\":8192}: no").unwrap();
        told.tell(&format!("ada asks scripted/m1\nada {{\"usage\":{usage}}}: ok\nuser: more"))
            .unwrap();
        assert_eq!(asked(&told).options.window_tokens, window, "{usage}");
    }
}

#[test]
fn the_limits_of_a_great_many_models_are_not_all_kept() {
    let mut told = story("@ ada joins primary");
    for model in 0..40 {
        told.tell(&format!("user: hello\nada asks scripted/m{model}")).unwrap();
        told.tell("ada failed context_too_long {\"limit_tokens\":8192}: no").unwrap();
        told.tell("ada ends failed: no").unwrap();
    }
    let models: Vec<String> = told
        .history()
        .state()
        .limits
        .iter()
        .map(|known| known.invocation.model.to_string())
        .collect();
    assert_eq!(models.len(), 32);
    assert_eq!((models.first().unwrap().as_str(), models.last().unwrap().as_str()), ("m8", "m39"));
}

#[test]
fn a_fixed_capacity_is_used_as_far_as_there_is_room() {
    let told = long_turn(14);
    let capacity = |fixed: u64| {
        let mut ask = Ask { fixed: true, ..Ask::bare(ADA, 900) };
        ask.options.capacity_tokens = fixed;
        Kept::of(told.batches()).material(told.history(), &ask).unwrap().plan.options
    };
    assert_eq!(capacity(400).capacity_tokens, 400);
    let most = capacity(u64::MAX).capacity_tokens;
    assert!(most < 900 && most > 700, "{most}");
    let fresh = Ask::bare(ADA, 900);
    let material = Kept::of(told.batches()).material(told.history(), &fresh).unwrap();
    assert_eq!(material.plan.options.capacity_tokens, most);
    assert!(render(&material, &[]).tokens() <= 900);
}

#[test]
fn what_a_model_reports_corrects_the_factor_in_steps() {
    let factor = |expected: u64, counted: u64| {
        let told = story(&format!(
            "@ ada joins primary\nuser: hello\n\
             ada asks scripted/m1 {{\"estimate_tokens\":{expected}}}\n\
             ada {{\"usage\":{{\"input\":{counted},\"output\":1}}}}: hi\nuser: more"
        ));
        asked(&told).options.factor_percent
    };
    assert_eq!((factor(1000, 1000), factor(1000, 1010), factor(1000, 1230)), (100, 105, 125));
    assert_eq!((factor(1000, 700), factor(1000, 100), factor(1000, 9000)), (70, 50, 300));
    // A small request says little, and so does one that was not counted.
    assert_eq!((factor(499, 900), factor(1000, 0)), (100, 100));
}
