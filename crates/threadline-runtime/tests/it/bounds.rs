//! What agents that call each other cannot get around: authority, limits, and people who stop them.

use std::sync::Arc;

use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::AgentJoined;
use threadline_runtime::NewAgent;

use crate::house::{House, house_of_many, scripted};

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
