//! Agents that call each other.

use std::sync::Arc;

use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{AgentJoined, EndReason, Fact, Input, Money};
use threadline_core::id::AgentId;
use threadline_core::inbox::{Body, Command, Item, Mode};
use threadline_runtime::NewAgent;

use crate::house::{House, house_of_many, item, scripted};

fn agent(name: &str, description: &str, tools: &[&str]) -> NewAgent {
    let joined = AgentJoined {
        name: name.into(),
        description: description.into(),
        tools: tools.iter().copied().map(Arc::from).collect(),
        primary: name == "planner",
        ..AgentJoined::default()
    };
    NewAgent { joined, instruction: None }
}

/// A planner that may call two workers, who may call it and each other.
pub(crate) async fn office(script: &str, limits: Limits) -> House {
    let all = ["call_agent", "wait", "set_timer", "clear_timer", "read", "pay", "ask"];
    let agents = [
        agent("planner", "plans", &all),
        agent("ada", "knows flowers", &all),
        agent("bob", "knows birds", &["call_agent", "read", "write"]),
    ];
    house_of_many(scripted(script), &agents, limits).await
}

#[tokio::test]
async fn two_workers_are_asked_side_by_side() {
    let house = office(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"name a flower"}
          call call_agent {"name":"bob","task":"name a bird","context":"in spring"}
        then
          say {results}
        turn when flower
          call read {"do":"slow"}
        then
          say a rose
        turn when bird
          say a lark
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "plan it").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: plan it
    planner asks scripted/scripted
    planner: → call_agent {"name":"ada","task":"name a flower"} | call_agent {"name":"bob","task":"name a bird","context":"in spring"}
    planner c6.0 calls ada
    planner c6.0 to ada: name a flower
    planner c6.1 calls bob
    planner c6.1 to bob {"sections":[{"text":"name a bird"},{"text":"in spring","title":"Context"}]}
    ada asks scripted/scripted
    bob asks scripted/scripted
    ada: → read {"do":"slow"}
    read c13.0 starts read
    bob: a lark
    bob returns to c6.1
    call_agent c6.1 ok: a lark
    read c13.0 ok: done
    ada results
    ada asks scripted/scripted
    ada: a rose
    ada returns to c6.0
    call_agent c6.0 ok: a rose
    planner results
    planner asks scripted/scripted
    planner: a rose
        a lark
    "#);
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_comes_as_a_message() {
    let house = office(
        r#"
        turn when later
          call call_agent {"name":"ada","task":"name a flower","wait":false}
        then
          say asked
        turn when flower
          say a rose
        turn when Answer
          say noted: {input}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "later").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: later
    planner asks scripted/scripted
    planner: → call_agent {"name":"ada","task":"name a flower","wait":false}
    planner c6.0 sends ada
    planner c6.0 to ada: name a flower
    call_agent c6.0 ok: ada has the task; its answer will come as a message
    planner results
    planner asks scripted/scripted
    ada asks scripted/scripted
    planner: asked
    ada: a rose
    ada c6.0 to planner {"sections":[{"text":"a rose","title":"Answer of ada"}]}
    planner asks scripted/scripted
    planner: noted: # Answer of ada
        a rose
    "#);
}

#[tokio::test]
async fn an_ask_that_would_wait_for_itself_is_refused() {
    let house = office(
        r#"
        turn when circle
          call call_agent {"name":"ada","task":"go around"}
        then
          say {result}
        turn when around
          call call_agent {"name":"planner","task":"circle"}
          call call_agent {"name":"ada","task":"around"}
          call call_agent {"name":"eve","task":"anything"}
        then
          say {results}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "circle").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: circle
    planner asks scripted/scripted
    planner: → call_agent {"name":"ada","task":"go around"}
    planner c6.0 calls ada
    planner c6.0 to ada: go around
    ada asks scripted/scripted
    ada: → call_agent {"name":"planner","task":"circle"} | call_agent {"name":"ada","task":"around"} | call_agent {"name":"eve","task":"anything"}
    call_agent c10.0 failed: planner waits for your answer: give it, then call planner
    call_agent c10.1 failed: an agent cannot call itself: do the task, or call another
    call_agent c10.2 failed: there is no agent named "eve"; there are: planner, bob
    ada results
    ada asks scripted/scripted
    ada: planner waits for your answer: give it, then call planner
        an agent cannot call itself: do the task, or call another
        there is no agent named "eve"; there are: planner, bob
    ada returns to c6.0
    call_agent c6.0 ok: planner waits for your answer: give it, then call planner
        an agent cannot call itself: do the task, or call another
        there is no agent named "eve"; there are: planner, bob
    planner results
    planner asks scripted/scripted
    planner: planner waits for your answer: give it, then call planner
        an agent cannot call itself: do the task, or call another
        there is no agent named "eve"; there are: planner, bob
    "#);
}

#[tokio::test]
async fn two_that_call_each_other_at_once_do_not_wait_for_ever() {
    let house = office(
        r#"
        turn when you-a
          call read {"do":"slow"}
        then
          call call_agent {"name":"bob","task":"help-a"}
        then
          say ada: {result}
        turn when you-b
          call read {"do":"slow"}
        then
          call call_agent {"name":"ada","task":"help-b"}
        then
          say bob: {result}
        turn when help
          say helped
        "#,
        Limits::default(),
    )
    .await;
    for (key, to, text) in [("a", AgentId(2), "you-a"), ("b", AgentId(3), "you-b")] {
        let body = Body::Input(Input::from_person(text));
        let item =
            Item { client_key: key.into(), to: Some(to), mode: Mode::Queue, due: None, body };
        house.runtime.submit(house.id, &item).await.unwrap();
    }
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("waits for your answer"), "{story}");
    assert!(story.contains("helped"), "{story}");
}

#[tokio::test]
async fn a_cancelled_turn_takes_those_with_it_who_work_for_it() {
    let house = office(
        r#"
        turn when deep
          call call_agent {"name":"ada","task":"first"}
        then
          say {result}
        turn when first
          call call_agent {"name":"bob","task":"second"}
        then
          say {result}
        turn when second
          call read {"do":"until stopped"}
        then
          say {result}
        "#,
        Limits::default(),
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("deep"))).await;
    house.until("starts read").await;
    house.submit("k2", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let entries = house.entries().await;
    let ends = entries.iter().filter(|entry| match &entry.fact {
        Fact::TurnEnded(ended) => ended.reason == EndReason::Cancelled,
        _ => false,
    });
    let who: Vec<u32> = ends.map(|entry| entry.agent.0).collect();
    assert_eq!(who, [3, 2, 1], "the last that was called ends first");
}

#[tokio::test]
async fn depth_tokens_and_authority_flow_down() {
    let limits = Limits { depth: 1, ..Limits::default() };
    let house = office(
        r#"
        turn when top
          call call_agent {"name":"bob","task":"middle"}
        then
          say {result}
        turn when middle
          call call_agent {"name":"ada","task":"bottom"}
          call write {"do":"it"}
        then
          say {results}
        "#,
        limits,
    )
    .await;
    assert_eq!(house.say("k1", "top").await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("agents call each other 1 deep already"), "{story}");
    assert!(story.contains("not run: planner, for whom you work, may not use write"), "{story}");
    assert_eq!(house.done(), []);
}

/// What was said of turns that ended without an answer, and by whose agents.
async fn ends(house: &House) -> Vec<String> {
    let ends = house.entries().await.into_iter().filter_map(|entry| match entry.fact {
        Fact::TurnEnded(ended) => {
            Some(format!("{}: {:?} {}", entry.agent, ended.reason, ended.detail))
        }
        _ => None,
    });
    ends.collect()
}

/// A planner spends, then those it calls do, two levels down; the last would spend more.
const SPENDING: &str = r#"
    turn when plan
      call call_agent {"name":"ada","task":"flower"}
      usage 399 1
      cost 40000000
    then
      say {result}
      usage 1 1
    turn when flower
      call call_agent {"name":"bob","task":"bird"}
      usage 299 1
      cost 30000000
    then
      say {result}
      usage 1 1
    turn when bird
      call read {"do":"1"}
      usage 299 1
      cost 30000000
    then
      say a lark
      usage 1 1
"#;

#[tokio::test]
async fn what_children_spend_counts_for_their_callers() {
    let usual = Limits::default();
    let money = Limits { turn_cost: Some(Money(100_000_000)), ..usual };
    let tokens = Limits { turn_tokens: Some(1_000), ..usual };
    let mut all = Vec::new();
    for limits in [money, tokens] {
        let house = office(SPENDING, limits).await;
        assert_eq!(house.say("k1", "plan").await, Rest::Idle);
        all.extend(ends(&house).await);
        let story = house.story().await;
        assert!(story.contains("call_agent c10.0 failed: no answer: its turn came to a limit: "));
        assert!(story.contains("call_agent c6.0 failed: no answer: its turn came to a limit: "));
    }
    assert_snapshot!(all.join("\n"), @r"
    3: Limit(Money) $0.10 of $0.10 in one turn
    2: Limit(Money) $0.10 of $0.10 in one turn
    1: Limit(Money) $0.10 of $0.10 in one turn
    3: Limit(Tokens) 1000 of 1000 tokens in one turn
    2: Limit(Tokens) 1000 of 1000 tokens in one turn
    1: Limit(Tokens) 1000 of 1000 tokens in one turn
    ");
    // With a bit more of either the last of them still answers, and its callers do.
    let money = Limits { turn_cost: Some(Money(101_000_000)), ..usual };
    let tokens = Limits { turn_tokens: Some(1_010), ..usual };
    for limits in [money, tokens] {
        let house = office(SPENDING, limits).await;
        assert_eq!(house.say("k1", "plan").await, Rest::Idle);
        assert_eq!(ends(&house).await, [""; 0]);
        // What was spent for a turn that has ended says nothing of the next.
        assert_eq!(house.say("k2", "plan").await, Rest::Idle);
        assert_eq!(ends(&house).await, [""; 0]);
    }
}

#[tokio::test]
async fn who_is_sent_a_task_may_do_no_more_than_its_sender() {
    let house = office(
        r#"
        turn when top
          call call_agent {"name":"bob","task":"middle","wait":false}
        then
          say sent
        turn when middle
          call call_agent {"name":"ada","task":"bottom","wait":false}
          call write {"do":"1"}
        then
          say {result:2}
        turn when bottom
          call pay {"do":"2"}
          call read {"do":"3"}
        then
          say {results}
        turn when Answer
          say noted
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "top").await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("not run: planner, for whom you work, may not use write"), "{story}");
    assert!(story.contains("not run: bob, for whom you work, may not use pay"), "{story}");
    assert_eq!(house.done().len(), 1, "what all of them may do is done: {story}");
}

#[tokio::test]
async fn an_agent_leaves_only_when_it_rests() {
    let house = office(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"flower"}
        then
          say {result}
        turn when flower
          call read {"do":"slow"}
        then
          say a rose
        "#,
        Limits::default(),
    )
    .await;
    house.submit("k1", Body::Input(Input::from_person("plan"))).await;
    house.until("starts read").await;
    let leave = |key: &str| {
        let body = Body::Command(Command::Leave);
        Item { to: Some(AgentId(2)), ..item(key, Mode::Queue, body) }
    };
    house.runtime.submit(house.id, &leave("k2")).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    house.runtime.submit(house.id, &leave("k3")).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.say("k4", "plan").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    @ bob joins tools=call_agent,read,write: knows birds
    user {"client_key":"k1"}: plan
    planner asks scripted/scripted
    planner: → call_agent {"name":"ada","task":"flower"}
    planner c6.0 calls ada
    planner c6.0 to ada: flower
    ada asks scripted/scripted
    ada: → read {"do":"slow"}
    read c10.0 starts read
    note refused: entry 12 (agent_left): agent 2 is in the middle of a turn, or is the caller itself
    read c10.0 ok: done
    ada results
    ada asks scripted/scripted
    ada: a rose
    ada returns to c6.0
    call_agent c6.0 ok: a rose
    planner results
    planner asks scripted/scripted
    planner: a rose
    @ ada leaves
    user {"client_key":"k4"}: plan
    planner asks scripted/scripted
    planner: → call_agent {"name":"ada","task":"flower"}
    call_agent c25.0 failed: there is no agent named "ada"; there are: bob
    planner results
    planner asks scripted/scripted
    planner: there is no agent named "ada"; there are: bob
    "#);
}

#[tokio::test]
async fn an_answer_ends_a_wait() {
    let house = office(
        r#"
        turn when later
          call call_agent {"name":"ada","task":"name a flower","wait":false}
          call wait {"seconds":3600}
        then
          say noted: {input}
        turn when flower
          call read {"do":"slow"}
        then
          say a rose
        turn when Answer
          say noted: {input}
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "later").await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("wait c6.1 ok: ended early: a message came"), "{story}");
    let turns = story.lines().filter(|line| line.contains("planner: noted")).count();
    assert_eq!(turns, 1, "the answer is heard in the turn that waits for it: {story}");
}

/// A comma too many changes nothing: the call waits for the agent that is busy, as it would without.
#[tokio::test]
async fn a_call_with_repaired_arguments_waits_like_any_other() {
    let house = office(
        r#"
        turn when plan
          call call_agent {"name":"ada","task":"name a flower"}
          call call_agent {"name":"ada","task":"name a bird",}
        then
          say {results}
        turn when flower
          call read {"do":"slow"}
        then
          say a rose
        turn when bird
          say a lark
        "#,
        Limits::default(),
    )
    .await;
    assert_eq!(house.say("k1", "plan it").await, Rest::Idle);
    let entries = house.entries().await;
    let calls = entries.iter().find_map(|entry| match &entry.fact {
        Fact::Output(output) => Some(output.calls().cloned().collect::<Vec<_>>()),
        _ => None,
    });
    let calls = calls.unwrap();
    assert_eq!(calls[0].repaired, None);
    assert_eq!(
        &*calls[1].arguments, r#"{"name":"ada","task":"name a bird",}"#,
        "as it was written"
    );
    assert_eq!(calls[1].repaired.as_deref(), Some(r#"{"name":"ada","task":"name a bird"}"#));
    let story = house.story().await;
    assert!(story.contains("call_agent c6.0 ok: a rose"), "{story}");
    assert!(story.contains("call_agent c6.1"), "{story}");
    assert!(story.contains("ok: a lark") || story.contains("): a lark"), "{story}");
}
