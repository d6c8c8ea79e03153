//! Turns that end without an answer: cancelled, at a limit, rewound.

use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::Input;
use threadline_core::id::Seq;
use threadline_core::inbox::{Body, Command, Mode};

use crate::house::{house, house_with, item};

#[tokio::test]
async fn cancel_while_a_model_answers() {
    let house = house("turn when \"long\"\n say It begins\n hang\nturn else\n say Again.").await;
    house.submit("k1", Body::Input(Input::from_person("a long one"))).await;
    house.until("asks").await;
    house.submit("c1", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    house.say("k2", "more").await;
    let story = house.story().await;
    assert!(story.contains("turn ended") || story.contains("cancelled"), "{story}");
    assert!(story.ends_with("assistant: Again."), "{story}");
}

#[tokio::test]
async fn cancel_while_tools_run() {
    let house = house(
        r#"
        turn
          call read {"do":"until stopped"}
          call pay {"do":"until stopped"}
          call write {"do":"hang"}
          call pay {"do":"hang"}
        "#,
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("go"))).await;
    house.until("c5.3 starts").await;
    house.submit("c1", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant: → read {"do":"until stopped"} | pay {"do":"until stopped"} | write {"do":"hang"} | pay {"do":"hang"}
    read c5.0 starts read
    pay c5.1 starts once
    write c5.2 starts idempotent
    pay c5.3 starts once
    read c5.0 failed: stopped on the way
    pay c5.1 unknown: stopped on the way
    write c5.2 failed: stopped before it answered
    pay c5.3 unknown: stopped before it answered
    assistant results
    assistant ends cancelled
    "#);
}

#[tokio::test]
async fn there_is_nothing_to_cancel_at_rest() {
    let house = house("turn\n say Hello.").await;
    house.say("k1", "hi").await;
    house.submit("c1", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: hi
    assistant asks scripted/scripted
    assistant: Hello.
    note refused: nothing to cancel: no turn was under way
    "#);
}

#[tokio::test]
async fn steps_calls_repeats_and_tokens_have_a_limit() {
    let again = r#"
        turn
          usage 1 1
          call read {"do":"1"}
        then
          usage 1 1
          call read {"do":"2"}
        then
          usage 1 1
          call read {"do":"2"}
        then
          usage 1 1
          call read {"do":"2"}
        then
          usage 900 200
          call read {"do":"3"}
          call read {"do":"4"}
        then
          say Never said.
        turn else
          say Here again.
        "#;
    let limits = Limits::default();
    let mut stories = String::new();
    for limits in [
        Limits { steps: 2, ..limits },
        Limits { calls: 3, ..limits },
        Limits { same_call: 2, ..limits },
        Limits { turn_tokens: Some(1_000), ..limits },
    ] {
        let house = house_with(again, limits).await;
        house.say("k1", "go").await;
        house.say("k2", "go on").await;
        let story = house.story().await;
        assert!(story.ends_with("assistant: Here again."), "{story}");
        let end = story.lines().rev().skip(3).take(4).collect::<Vec<_>>();
        stories += &end.into_iter().rev().collect::<Vec<_>>().join("\n");
        stories += "\n\n";
    }
    assert_snapshot!(stories, @r#"
    read c10.0 starts read
    read c10.0 ok: done
    assistant results
    assistant ends limit:steps: 2 steps in one turn

    assistant {"usage":{"input":1,"output":1}}: → read {"do":"2"}
    read c20.0 skipped: not started: the turn was ended before it ran
    assistant results
    assistant ends limit:calls: 4 calls in one turn

    assistant {"usage":{"input":1,"output":1}}: → read {"do":"2"}
    read c20.0 skipped: not started: the turn was ended before it ran
    assistant results
    assistant ends limit:same_call: the same call 3 times in a row

    read c25.0 ok: done
    read c25.1 ok: done
    assistant results
    assistant ends limit:tokens: 1108 of 1000 tokens in one turn
    "#);
}

#[tokio::test]
async fn a_rewind_takes_back_what_was_said_and_not_what_was_done() {
    let house = house(
        "turn when pay\n call pay {}\n call notebook_append {\"text\":\"paid\"}\nthen\n say Paid.\nturn else\n say {screen}",
    )
    .await;
    house.say("k1", "pay").await;
    house.submit("r1", Body::Command(Command::Rewind { to: Seq(2) })).await;
    assert_eq!(house.rest().await, Rest::Idle);
    house.say("k2", "what do you know?").await;
    let story = house.story().await;
    assert!(story.contains("rewind 2"), "{story}");
    assert!(story.contains("(empty)"), "{story}");
    assert_eq!(house.done(), [("c5.0".to_owned(), 1)]);
}

#[tokio::test]
async fn a_rewind_in_the_middle_of_a_step_is_refused() {
    let house = house("turn\n say It begins\n wait 100\n say , and ends.").await;
    house.submit("k1", Body::Input(Input::from_person("go"))).await;
    house.until("asks").await;
    house.submit("r1", Body::Command(Command::Rewind { to: Seq(2) })).await;
    house.rest().await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    note refused: a step is under way: cancel it first, then rewind
    assistant: It begins, and ends.
    "#);
}

#[tokio::test]
async fn queued_inputs_wait_for_their_turn_and_steering_ones_do_not() {
    let house = house(
        r#"
        turn
          call read {"do":"slow"}
        then
          say First: {input}
        turn else
          say Then: {input}
        "#,
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("one"))).await;
    house.until("starts").await;
    house.submit("k2", Body::Input(Input::from_person("two"))).await;
    let steer = item("k3", Mode::Steer, Body::Input(Input::from_person("three")));
    house.runtime.submit(house.id, &steer).await.unwrap();
    house.rest().await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: one
    assistant asks scripted/scripted
    assistant: → read {"do":"slow"}
    read c5.0 starts read
    read c5.0 ok: done
    assistant results
    user {"client_key":"k3"}: three
    assistant asks scripted/scripted
    assistant: Then: three
    user {"client_key":"k2"}: two
    assistant asks scripted/scripted
    assistant: Then: two
    "#);
}
