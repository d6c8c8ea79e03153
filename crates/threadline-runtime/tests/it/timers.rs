//! Agents that wait, and agents that are woken.

use std::time::Duration;

use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{Fact, Input, Sender, Status};
use threadline_core::id::AgentId;
use threadline_core::inbox::{Body, Command, Item, Mode};

use crate::agents::office;
use crate::house::{House, item, runtime};

const HOUR_MS: u64 = 3_600_000;

/// Lets time go by, and waits until all is quiet.
async fn pass(house: &House, ms: u64) -> Rest {
    house.clock.advance_ms(ms);
    house.runtime.start(house.id);
    house.rest().await
}

/// How often timers woke agents.
async fn woken(house: &House) -> usize {
    let entries = house.entries().await;
    let woken = entries.iter().filter(|entry| match &entry.fact {
        Fact::Input(input) => matches!(input.from, Sender::Timer { .. }),
        _ => false,
    });
    woken.count()
}

#[tokio::test]
async fn a_wait_ends_with_its_time_or_with_a_message() {
    let house = office(
        r#"
        turn when wait
          call wait {"seconds":3600}
        then
          say {result}
        turn when hello
          say hello
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "wait").await, Rest::Time);
    house.clock.advance_ms(3_600_000);
    house.runtime.start(house.id);
    house.until("the time has come").await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.say("k2", "wait").await, Rest::Time);
    house.submit("k3", Body::Input(Input::from_person("hello"))).await;
    house.until("ended early").await;
    assert_eq!(house.rest().await, Rest::Idle);
    let entries = house.entries().await;
    let told = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolFinished(finished) if finished.status == Status::Success => {
            Some(finished.result[0].text.to_string())
        }
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["the time has come", "ended early: a message came"]);
}

#[tokio::test]
async fn a_wait_for_what_has_passed_or_is_not_told_ends_at_once() {
    let house = office(
        r#"
        turn
          call wait {"until":"2020-01-01T00:00:00Z"}
          call wait {}
          call wait {"until":"2030-01-01T00:00:00Z","seconds":5}
          call wait {"until":"tomorrow"}
          call wait {"seconds":0}
        then
          say {results}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "wait").await, Rest::Idle);
    let story = house.story().await;
    let told: Vec<&str> = story.lines().filter(|line| line.starts_with("wait c")).collect();
    assert_snapshot!(told.join("\n"), @r"
    wait c6.0 ok: that time has passed
    wait c6.1 failed: give until or seconds
    wait c6.2 failed: give either until or seconds, not both
    wait c6.3 failed: the arguments do not fit the tool's schema:
    wait c6.4 failed: the arguments do not fit the tool's schema:
    ");
}

#[tokio::test]
async fn a_timer_that_repeats_fires_once_however_often_it_was_missed() {
    let house = office(
        r#"
        turn when begin
          call set_timer {"text":"look again","every_seconds":3600}
        then
          say {result}
        turn when "look again"
          say looked
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "begin").await, Rest::Idle);
    assert_eq!(pass(&house, HOUR_MS - 1).await, Rest::Idle);
    assert_eq!(woken(&house).await, 0);
    assert_eq!(pass(&house, 1).await, Rest::Idle);
    assert_eq!(woken(&house).await, 1);
    // A long sleep: what was missed is one turn, and the rhythm is kept.
    assert_eq!(pass(&house, 10 * HOUR_MS + HOUR_MS / 2).await, Rest::Idle);
    assert_eq!(woken(&house).await, 2);
    assert_eq!(pass(&house, HOUR_MS / 2 - 1).await, Rest::Idle);
    assert_eq!(woken(&house).await, 2);
    assert_eq!(pass(&house, 1).await, Rest::Idle);
    assert_eq!(woken(&house).await, 3);
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: begin
    planner asks scripted/scripted
    planner: → set_timer {"text":"look again","every_seconds":3600}
    planner timer 2026-01-01T01:00:00.000000Z every 3600000ms: look again
    set_timer c6.0 ok: timer 7 wakes you at 2026-01-01T01:00:00.000000Z, then every 3600 seconds
    planner results
    planner asks scripted/scripted
    planner: timer 7 wakes you at 2026-01-01T01:00:00.000000Z, then every 3600 seconds
    timer 7 to planner: look again
    planner asks scripted/scripted
    planner: looked
    timer 7 to planner: look again
    planner asks scripted/scripted
    planner: looked
    timer 7 to planner: look again
    planner asks scripted/scripted
    planner: looked
    "#);
}

#[tokio::test]
async fn an_agent_that_wakes_itself_stops_without_a_person() {
    let house = office(
        r#"
        turn when begin
          call set_timer {"text":"look again","every_seconds":60}
        then
          say set
        turn when "look again"
          say looked
        "#,
        Limits { alone: 3, ..Limits::default() },
    )
    .await;
    assert_eq!(house.say("k1", "begin").await, Rest::Idle);
    assert_eq!(pass(&house, 60_000).await, Rest::Idle);
    assert_eq!(pass(&house, 60_000).await, Rest::Idle);
    assert_eq!(woken(&house).await, 2);
    // A person counts anew.
    assert_eq!(house.say("k2", "begin").await, Rest::Idle);
    for _ in 0..5 {
        assert_eq!(pass(&house, 60_000).await, Rest::Idle);
    }
    assert_eq!(woken(&house).await, 5);
    let story = house.story().await;
    let notes: Vec<&str> = story.lines().filter(|line| line.contains("note")).collect();
    assert_snapshot!(notes.join("\n"), @r#"
    ! #1 note {"category":"alone","text":"timer 21 is taken back: 3 turns went by without a person; say something, and the agent can set it again"}
    ! #1 note {"category":"alone","text":"timer 7 is taken back: 3 turns went by without a person; say something, and the agent can set it again"}
    "#);
    // Nothing is left that would wake anyone.
    assert_eq!(house.store.conversation(house.id).await.unwrap().sums.wake_at, None);
}

#[tokio::test]
async fn a_timer_is_taken_back_by_whoever_set_it() {
    let house = office(
        r#"
        turn when begin
          call set_timer {"text":"look again","seconds":3600}
          call set_timer {"text":"and again","at":"2026-01-01T02:00:00Z"}
        then
          say {results}
        turn when stop
          call clear_timer {"timer":7}
          call clear_timer {"timer":7}
        then
          say {results}
        turn when again
          say looked
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "begin").await, Rest::Idle);
    let stop = Body::Input(Input::from_person("stop"));
    let to_another = Item { to: Some(AgentId(2)), ..item("k2", Mode::Queue, stop) };
    house.runtime.submit(house.id, &to_another).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.say("k3", "stop").await, Rest::Idle);
    assert_eq!(pass(&house, 3 * HOUR_MS).await, Rest::Idle);
    assert_eq!(woken(&house).await, 1, "the other one fires");
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: begin
    planner asks scripted/scripted
    planner: → set_timer {"text":"look again","seconds":3600} | set_timer {"text":"and again","at":"2026-01-01T02:00:00Z"}
    planner timer 2026-01-01T01:00:00.000000Z: look again
    set_timer c6.0 ok: timer 7 wakes you at 2026-01-01T01:00:00.000000Z
    planner timer 2026-01-01T02:00:00.000000Z: and again
    set_timer c6.1 ok: timer 9 wakes you at 2026-01-01T02:00:00.000000Z
    planner results
    planner asks scripted/scripted
    planner: timer 7 wakes you at 2026-01-01T01:00:00.000000Z
        timer 9 wakes you at 2026-01-01T02:00:00.000000Z
    user to ada {"client_key":"k2","to":null}: stop
    ada asks scripted/scripted
    ada: → clear_timer {"timer":7} | clear_timer {"timer":7}
    clear_timer c16.0 failed: you have no timer 7; there are: none
    clear_timer c16.1 failed: you have no timer 7; there are: none
    ada results
    ada asks scripted/scripted
    ada: you have no timer 7; there are: none
        you have no timer 7; there are: none
    user {"client_key":"k3"}: stop
    planner asks scripted/scripted
    planner: → clear_timer {"timer":7} | clear_timer {"timer":7}
    ! #1 timer_cleared {"timer":7}
    clear_timer c24.0 ok: the timer is taken back
    clear_timer c24.1 failed: you have no timer 7; there are: 9
    planner results
    planner asks scripted/scripted
    planner: the timer is taken back
        you have no timer 7; there are: 9
    timer 9 to planner: and again
    planner asks scripted/scripted
    planner: looked
    "#);
}

#[tokio::test]
async fn the_timers_of_an_agent_leave_with_it() {
    let house = office(
        r#"
        turn when begin
          call set_timer {"text":"look again","every_seconds":60}
        then
          say set
        "#,
        Limits::default(),
    )
    .await;
    let to_ada = |key: &str, body| Item { to: Some(AgentId(2)), ..item(key, Mode::Queue, body) };
    let begin = to_ada("k1", Body::Input(Input::from_person("begin")));
    for item in [begin, to_ada("k2", Body::Command(Command::Leave))] {
        house.runtime.submit(house.id, &item).await.unwrap();
        assert_eq!(house.rest().await, Rest::Idle);
    }
    assert_eq!(pass(&house, HOUR_MS).await, Rest::Idle);
    assert_eq!(woken(&house).await, 0);
    // Whoever looks for what is due does not find it again and again.
    assert_eq!(house.store.conversation(house.id).await.unwrap().sums.wake_at, None);
}

/// An application that only looks after a restart need not know when the next timer is due.
#[tokio::test(start_paused = true)]
async fn a_timer_fires_after_a_restart_although_nobody_does_more_than_look() {
    let script = r#"
        turn when begin
          call set_timer {"text":"look again","seconds":3600}
        then
          say {result}
        turn when "look again"
          say looked
        "#;
    let mut house = office(script, Limits::default()).await;
    assert_eq!(house.say("k1", "begin").await, Rest::Idle);
    house.runtime.stop().await;
    house.runtime = runtime(script, &house.store, &house.clock, &house.effects, Limits::default());
    for _ in 0..3 {
        house.runtime.look(house.id).await.unwrap();
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(woken(&house).await, 0);
    house.clock.advance_ms(HOUR_MS);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(woken(&house).await, 1);
    assert_eq!(house.rest().await, Rest::Idle);
}
