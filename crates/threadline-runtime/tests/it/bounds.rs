//! What agents that call each other cannot get around: authority, limits, and people who stop them.

use std::sync::Arc;

use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{AgentJoined, EndReason, Fact, Input};
use threadline_core::id::AgentId;
use threadline_core::inbox::{Body, Command, Item, Mode};
use threadline_runtime::NewAgent;

use crate::house::{House, house_of_many, item, scripted};

fn agent(name: &str, tools: &[&str]) -> NewAgent {
    let joined = AgentJoined {
        name: name.into(),
        tools: tools.iter().copied().map(Arc::from).collect(),
        primary: name == "planner",
        ..AgentJoined::default()
    };
    NewAgent { joined, instruction: None }
}

/// A planner that may not write, a worker that may, and one more.
async fn workshop(script: &str, limits: Limits) -> House {
    let agents = [
        agent("planner", &["call_agent", "set_timer", "wait", "read"]),
        agent("ada", &["call_agent", "set_timer", "clear_timer", "wait", "read", "write"]),
        agent("bob", &["call_agent", "read", "write"]),
    ];
    house_of_many(scripted(script), &agents, limits).await
}

/// How many turns were cancelled.
async fn cancelled(house: &House) -> usize {
    let entries = house.entries().await;
    let ends = entries.iter().filter(|entry| match &entry.fact {
        Fact::TurnEnded(ended) => ended.reason == EndReason::Cancelled,
        _ => false,
    });
    ends.count()
}

#[tokio::test]
async fn what_is_not_allowed_now_is_not_allowed_later() {
    let house = workshop(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"begin"}
        then
          say {result}
        turn when begin
          call set_timer {"text":"by timer","seconds":60}
          call call_agent {"name":"bob","task":"say it","wait":false}
        then
          say set
        turn when "say it"
          say by answer
        turn when "by timer"
          call write {"do":"1"}
        then
          say {result}
        turn when "by answer"
          call write {"do":"2"}
        then
          say {result}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "plan").await, Rest::Idle);
    house.clock.advance_ms(60_000);
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    let refused = "not run: planner, for whom you work, may not use write";
    let told = story.lines().filter(|line| line.starts_with("write c") && line.contains(refused));
    assert_eq!(told.count(), 2, "{story}");
    assert_eq!(house.done(), []);
}

#[tokio::test]
async fn a_second_cancel_stops_nothing_but_the_turn_it_was_meant_for() {
    let house = workshop(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"work"}
        then
          say {result}
        turn when work
          call read {"do":"until stopped"}
        then
          say {result}
        turn when next
          call read {"do":"1"}
        then
          say went on
        "#,
        Limits::default(),
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("plan"))).await;
    house.until("starts read").await;
    house.submit("k2", Body::Input(Input::from_person("next"))).await;
    let cancel = |key: &str, to| Item { to, ..item(key, Mode::Queue, Body::Cancel) };
    for (key, to) in [("c1", None), ("c2", None), ("c3", Some(AgentId(2))), ("c4", None)] {
        house.runtime.submit(house.id, &cancel(key, to)).await.unwrap();
    }
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert_eq!(cancelled(&house).await, 2, "{story}");
    assert!(story.contains("planner: went on"), "{story}");
}

#[tokio::test]
async fn a_task_that_is_cancelled_begins_nothing() {
    let house = workshop(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"work","wait":false}
        then
          say sent
        turn when work
          call read {"do":"until stopped"}
        then
          say {result}
        turn when Answer
          say again
        "#,
        Limits::default(),
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("plan"))).await;
    house.until("starts read").await;
    house.until("planner: sent").await;
    let cancel = Item { to: Some(AgentId(2)), ..item("c1", Mode::Queue, Body::Cancel) };
    house.runtime.submit(house.id, &cancel).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert_eq!(cancelled(&house).await, 1, "{story}");
    assert!(!story.contains("again"), "{story}");
}

#[tokio::test]
async fn those_who_are_asked_do_not_count_as_going_on_alone() {
    let house = workshop(
        r#"
        turn when plan
          call set_timer {"text":"remember","seconds":60}
        then
          call call_agent {"name":"ada","task":"work 1"}
          call call_agent {"name":"ada","task":"work 2"}
          call call_agent {"name":"ada","task":"work 3"}
        then
          say {results}
        turn when work
          say done
        turn when remember
          say remembered
        "#,
        Limits { alone: 1, ..Limits::default() },
    )
    .await;
    assert_eq!(house.say("k1", "plan").await, Rest::Idle);
    house.clock.advance_ms(60_000);
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert_eq!(story.lines().filter(|line| *line == "ada: done").count(), 3, "{story}");
    assert!(story.contains("planner: remembered"), "{story}");
}

#[tokio::test]
async fn a_wait_is_not_taken_back_as_a_timer() {
    // The wait's timer is the first entry after the output with both calls.
    let house = workshop(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"work"}
        then
          say {result}
        turn when work
          call wait {"seconds":60}
          call clear_timer {"timer":11}
        then
          say {results}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "plan").await, Rest::Time);
    let story = house.story().await;
    assert!(
        story.contains("ada timer") && story.contains("you have no timer 11; there are: none"),
        "{story}"
    );
    house.clock.advance_ms(60_000);
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
}

#[tokio::test]
async fn an_agent_that_comes_back_is_who_it_was() {
    let house = workshop("turn\n  say yes", Limits::default()).await;
    let leave = Body::Command(Command::Leave);
    let leave = Item { to: Some(AgentId(2)), ..item("k1", Mode::Queue, leave) };
    house.runtime.submit(house.id, &leave).await.unwrap();
    for (key, name) in [("k2", "eve"), ("k3", "ada")] {
        house.submit(key, Body::Command(Command::Join(agent(name, &[]).joined))).await;
    }
    assert_eq!(house.rest().await, Rest::Idle);
    let entries = house.entries().await;
    let joins = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::AgentJoined(joined) => Some((entry.agent.0, &*joined.name)),
        _ => None,
    });
    let joins: Vec<(u32, &str)> = joins.collect();
    assert_eq!(joins, [(1, "planner"), (2, "ada"), (3, "bob"), (4, "eve"), (2, "ada")]);
}

/// A planner that sends a task, and goes on until it is stopped.
const SENDS: &str = r#"
    turn when plan
      call call_agent {"name":"ada","task":"work","wait":false}
    then
      call read {"do":"until stopped"}
    then
      say {result}
    turn when work
      call call_agent {"name":"bob","task":"help","wait":false}
    then
      call read {"do":"until stopped"}
    then
      say {result}
    turn when help
      call read {"do":"until stopped"}
    then
      say {result}
    turn when Answer
      say again
"#;

#[tokio::test]
async fn a_cancel_stops_also_those_who_are_not_waited_for() {
    let house = workshop(SENDS, Limits::default()).await;
    house.submit("k1", Body::Input(Input::from_person("plan"))).await;
    while house.story().await.matches("starts read").count() < 3 {
        tokio::task::yield_now().await;
    }
    house.submit("c1", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let entries = house.entries().await;
    let ends = entries.iter().filter(|entry| matches!(entry.fact, Fact::TurnEnded(_)));
    let who: Vec<u32> = ends.map(|entry| entry.agent.0).collect();
    assert_eq!(who, [3, 2, 1], "the last that was called ends first");
    assert_eq!(cancelled(&house).await, 3);
}

#[tokio::test]
async fn what_a_task_took_counts_where_its_answer_is_heard() {
    let script = r#"
        turn when plan
          call call_agent {"name":"ada","task":"work","wait":false}
          usage 1 1
        then
          say sent
          usage 1 1
        turn when work
          say done
          usage 899 1
        turn when Answer
          call read {"do":"1"}
          usage 99 1
        then
          say noted
    "#;
    for (tokens, ended) in [(1_000, 1), (1_001, 0)] {
        let limits = Limits { turn_tokens: Some(tokens), ..Limits::default() };
        let house = workshop(script, limits).await;
        assert_eq!(house.say("k1", "plan").await, Rest::Idle);
        let story = house.story().await;
        assert_eq!(story.matches("of 1000 tokens in one turn").count(), ended, "{story}");
        assert_eq!(story.matches("planner: noted").count(), 1 - ended, "{story}");
    }
}

#[tokio::test]
async fn a_blank_task_is_not_given() {
    let house = workshop(
        r#"
        turn
          call call_agent {"name":"ada","task":"  "}
          call call_agent {"name":"ada","task":" ","context":"all of it"}
        then
          say {results}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "plan").await, Rest::Idle);
    let story = house.story().await;
    let told = story.lines().filter(|line| line.contains("failed: the task is blank"));
    assert_eq!(told.count(), 2, "{story}");
}
