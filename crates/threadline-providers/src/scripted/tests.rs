//! Scripts in, transcripts out.

use std::time::Duration;

use proptest::prelude::*;
use threadline_core::history::fact::Status;
use threadline_core::provider::{Assembler, Broken, Delta, Progress, Provider as _};

use super::*;
use crate::testing::{Story, hear, transcript};

fn scripted(script: &str) -> Scripted {
    Scripted::new(script.parse().unwrap())
}

const WEATHER: &str = r#"
    turn when "weather"
      think They ask: {input}.
      call weather#w {"in":"{input}"}
      call clock
    then
      say It is {result}, at {result:2}; {result:3}{nothing}.
    turn
      say first of {turn}
    turn
      say second of {turn}
    turn else
      say more
"#;

#[test]
fn the_request_chooses_the_answer() {
    let model = scripted(WEATHER);
    let first = Story::new().says("hi");
    insta::assert_snapshot!(transcript(&model, first.request()), @"
    says: first of 1
    Done
    ");
    let asks = first.answers("first").says("the \"weather\"?");
    insta::assert_snapshot!(transcript(&model, asks.request()), @r#"
    thinks: They ask: the "weather"?.
    calls weather#w: {"in":"the \"weather\"?"}
    calls clock: 
    Done
    "#);
    let results = asks
        .calls("weather", "{}")
        .calls("clock", "")
        .gets(Status::Success, "4 °C")
        .gets(Status::Success, "noon");
    insta::assert_snapshot!(transcript(&model, results.request()), @"
    says: It is 4 °C, at noon; {nothing}.
    Done
    ");
    let second = results.clone().answers("4 °C").says("and now?");
    insta::assert_snapshot!(transcript(&model, second.request()), @"
    says: second of 3
    Done
    ");
    let third = second.answers("second").says("still there?");
    insta::assert_snapshot!(transcript(&model, third.request()), @"
    says: more
    Done
    ");
    let again = transcript(&scripted(WEATHER), results.request());
    assert_eq!(again, transcript(&model, results.request()), "whoever is asked, and how often");
}

#[test]
fn what_is_folded_is_no_input() {
    let model = scripted(WEATHER);
    let folded = Story::new().earlier("- hi").says("hi again");
    assert!(transcript(&model, folded.request()).contains("first of 1"));
    let told = Story::new().quotes("hi").earlier("- hi").ended("[cancelled]").says("hi again");
    assert!(transcript(&model, told.request()).contains("first of 1"));
    assert!(transcript(&model, Story::new().request()).contains("first of 1"));
}

#[test]
fn what_the_script_does_not_have_is_refused() {
    let model = scripted("turn\n say one");
    let story = Story::new().says("hi").answers("one");
    insta::assert_snapshot!(transcript(&model, story.request()), @"Refused None: scripted: the script has no answer 2 for input 1; add one, or a turn that is marked else");
    insta::assert_snapshot!(transcript(&model, story.says("and?").request()), @"Refused None: scripted: the script has no answer 1 for input 2; add one, or a turn that is marked else");
}

#[test]
fn a_second_try_is_another() {
    let model = scripted("turn\n fail busy after 1500\nagain\n say half\n ends\nagain\n say whole");
    let story = Story::new().says("hi");
    let tries = [(); 4].map(|()| transcript(&model, story.request()));
    insta::assert_snapshot!(tries.join("\n---\n"), @"
    Busy Some(1500): scripted: as the script has it
    ---
    says: half
    ---
    says: whole
    Done
    ---
    says: whole
    Done
    ");
    let other = transcript(&model, Story::new().says("ho").request());
    assert_eq!(other, tries[0], "another request is asked for the first time");
}

#[test]
fn in_order_every_try_is_played_once() {
    let script = "turn\n say one\nagain\n say two\nturn when never\n say three";
    let model = Scripted::in_order(script.parse().unwrap());
    let request = Story::new().says("hi").request();
    let heard = [(); 4].map(|()| transcript(&model, request.clone()));
    insta::assert_snapshot!(heard.join("\n---\n"), @"
    says: one
    Done
    ---
    says: two
    Done
    ---
    says: three
    Done
    ---
    Refused None: scripted: the script is at its end; add a turn
    ");
}

#[test]
fn a_stream_that_is_not_polled_has_no_place_in_the_order() {
    let model = Scripted::in_order("turn\n say one".parse().unwrap());
    let request = Story::new().says("hi").request();
    drop(model.invoke(request.clone()));
    assert!(transcript(&model, request).contains("one"));
}

#[test]
fn every_action_is_played() {
    let script = r#"
        turn
          say "a\n"
          state signature
          garbage
          usage 7 8
          cost 9
          huge 3
          cut add#x {"a":
          stop length
        turn
          say no
          stop refusal
        turn
          stop blocked
        turn
          say wait
          stop paused
        turn
          say half
          ends
        turn
          say half
          hang
        turn
          fail quota_spent pay first
    "#;
    let model = Scripted::in_order(script.parse().unwrap());
    let request = Story::new().request();
    let heard = [(); 7].map(|()| transcript(&model, request.clone()));
    insta::assert_snapshot!(heard.join("\n---\n"), @r#"
    says: a
    [signature]of no blockusage 7 8
    cost 9
    xxx
    calls add#x: {"a":Length
    ---
    says: no
    Refusal
    ---
    Blocked
    ---
    says: wait
    Paused
    ---
    says: half
    ---
    says: halfhangs
    ---
    QuotaSpent None: scripted: pay first
    "#);
}

#[test]
fn every_kind_of_failure_can_be_played() {
    for (name, kind) in [
        ("busy", FailureKind::Busy),
        ("context_too_long", FailureKind::ContextTooLong),
        ("unauthorised", FailureKind::Unauthorised),
        ("quota_spent", FailureKind::QuotaSpent),
        ("refused", FailureKind::Refused),
        ("protocol", FailureKind::Protocol),
        ("unreachable", FailureKind::Unreachable),
        ("cancelled", FailureKind::Cancelled),
    ] {
        let model = scripted(&format!("turn\n fail {name} after 5 \"so it is\""));
        let heard = hear(model.invoke(Story::new().request()));
        assert_eq!(heard.end, format!("{kind:?} Some(5): scripted: so it is"));
    }
}

#[test]
fn garbage_breaks_an_answer_and_a_huge_one_does_not_fit() {
    let broken = |script: &str| {
        let heard = hear(scripted(script).invoke(Story::new().request()));
        let mut answer = Assembler::default();
        heard.deltas.iter().find_map(|delta| answer.push(delta).err())
    };
    assert_eq!(broken("turn\n garbage"), Some(Broken::NotOpen { block: u32::MAX }));
    assert!(matches!(broken("turn\n huge 10000000"), Some(Broken::TooLarge { .. })));
    assert_eq!(broken("turn\n huge 1000"), None);
}

#[test]
fn equal_requests_have_equal_digests() {
    let digest =
        |story: &Story| match hear(scripted(WEATHER).invoke(story.request())).deltas.first() {
            Some(Delta::Prepared(prepared)) => prepared.body_digest,
            other => panic!("{other:?} is not how a stream begins"),
        };
    assert_eq!(digest(&Story::new().says("hi")), digest(&Story::new().says("hi")));
    assert_ne!(digest(&Story::new().says("hi")), digest(&Story::new().says("ho")));
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_while_it_waits() {
    let model = scripted("turn\n say a\n wait 30\n say b");
    let mut stream = model.invoke(Story::new().request());
    let mut next = async || std::future::poll_fn(|task| stream.as_mut().poll_next(task)).await;
    let start = tokio::time::Instant::now();
    let mut waited = Vec::new();
    while let Some(delta) = next().await {
        if let Delta::Fragment { text, .. } = delta.unwrap() {
            waited.push((text, start.elapsed()));
        }
    }
    let millis = Duration::from_millis;
    assert_eq!(waited, [("a".into(), millis(0)), ("b".into(), millis(30))]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let wrong = [
        "say hi",
        "turn maybe",
        "turn when",
        "turn\n\n# fine\n  shout hi",
        "turn\n say \"open",
        "turn\n call",
        "turn\n wait soon",
        "turn\n usage 1",
        "turn\n stop early",
        "turn\n fail badly",
        "turn\n fail busy after lunch",
        "turn\n ends here",
        "turn\n stop done\n say more",
        "turn\nthen what",
    ];
    let told = wrong.map(|script| script.parse::<Script>().unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"), @r#"
    line 1 of the script: a script begins with `turn`
    line 1 of the script: a turn is `turn`, `turn when TEXT` or `turn else`
    line 1 of the script: a turn is `turn`, `turn when TEXT` or `turn else`
    line 4 of the script: "shout" is not known; it is turn, then, again, say, think, state, call, cut, usage, cost, wait, huge, garbage, stop, fail, ends or hang
    line 2 of the script: a text in quotation marks is a JSON string: EOF while parsing a string at line 1 column 5
    line 2 of the script: a call is `call TOOL ARGUMENTS` or `call TOOL#ID ARGUMENTS`
    line 2 of the script: "soon" is not a number that fits here
    line 2 of the script: "" is not a number that fits here
    line 2 of the script: "early" is none of done, length, paused, refusal, blocked
    line 2 of the script: "badly" is none of busy, context_too_long, unauthorised, quota_spent, refused, protocol, unreachable, cancelled
    line 2 of the script: "lunch" is not a number that fits here
    line 2 of the script: "here" is too much here
    line 3 of the script: nothing is played after this answer's end; begin another with `then`, `again` or `turn`
    line 2 of the script: "what" is too much here
    "#);
}

proptest! {
    #[test]
    fn any_text_is_a_script_or_is_told_why_not(text in "(turn|then|again|say|call|fail|[ -~]|\n){0,40}") {
        let _read = text.parse::<Script>();
    }

    #[test]
    fn what_is_said_is_heard(texts in proptest::collection::vec("[^{}]{1,8}", 1..6)) {
        let actions = texts.iter().map(|text| Action::Say(text.as_str().into()));
        let model = Scripted::new(Script::of([Turn::of([Answer::of(actions)])]));
        let heard = hear(model.invoke(Story::new().request()));
        let mut answer = Assembler::default();
        let last = heard.deltas.iter().map(|delta| answer.push(delta)).last();
        prop_assert_eq!(last, Some(Ok(Progress::Finished)));
        let blocks = answer.finish().unwrap().blocks;
        let said = threadline_core::history::fact::Text { text: texts.concat().into(), state: None };
        prop_assert_eq!(blocks, [threadline_core::history::fact::Block::Text(said)]);
    }
}
