//! Guides that work together: what they read is what the driver writes.

use std::sync::Arc;

use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{AgentJoined, Fact};
use threadline_core::id::AgentId;
use threadline_providers::guide::Guide;
use threadline_providers::models::StaticModels;
use threadline_runtime::NewAgent;

use crate::house::{House, house_of_many};

async fn office() -> House {
    let agent = |name: &str, description: &str| {
        let tools = ["call_agent", "wait", "set_timer", "clear_timer", "calculator"];
        let joined = AgentJoined {
            name: name.into(),
            description: description.into(),
            tools: tools.into_iter().map(Arc::from).collect(),
            primary: name == "planner",
            ..AgentJoined::default()
        };
        NewAgent { joined, instruction: None }
    };
    let agents = [agent("planner", ""), agent("ada", "does sums"), agent("bob", "")];
    let models =
        (Arc::new(Guide::default()) as _, Arc::new(StaticModels::new([Guide::target()])) as _);
    house_of_many(models, &agents, Limits::default()).await
}

/// What the planner has said since an entry, and the newest entry.
async fn said(house: &House, since: usize) -> (String, usize) {
    let entries = house.entries().await;
    let told = entries.iter().skip(since).filter_map(|entry| match &entry.fact {
        Fact::Output(output) if entry.agent == AgentId::FIRST => Some(output.text()),
        _ => None,
    });
    let told = told.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n--\n");
    (told, entries.len())
}

#[tokio::test]
async fn a_planner_has_the_others_work() {
    let house = office().await;
    assert_eq!(house.say("k1", "who is here?").await, Rest::Idle);
    let (told, seen) = said(&house, 0).await;
    assert_snapshot!(told, @"
    Here are:

    - ada: does sums
    - bob
    ");
    assert_eq!(house.say("k2", "plan: add 2 and 3; add 4 and 5").await, Rest::Idle);
    let (told, seen) = said(&house, seen).await;
    assert_snapshot!(told, @"
    ada: 2 + 3 = 5.

    bob: 4 + 5 = 9.
    ");
    assert_eq!(house.say("k3", "tell bob to ask ada to add 1 and 1").await, Rest::Idle);
    let (told, _) = said(&house, seen).await;
    assert_snapshot!(told, @"
    bob has the task. I will tell you the answer when it comes.
    --
    bob says: ada: 1 + 1 = 2.
    ");
}

#[tokio::test]
async fn an_agent_waits_and_wakes_itself() {
    let house = office().await;
    let pass = async |ms| {
        house.clock.advance_ms(ms);
        house.runtime.start(house.id);
    };
    assert_eq!(house.say("k1", "wait an hour, then add 2 and 3").await, Rest::Time);
    pass(3_600_000).await;
    house.until("2 + 3 = 5.").await;
    assert_eq!(house.rest().await, Rest::Idle);
    let (told, seen) = said(&house, 0).await;
    assert_snapshot!(told, @"
    I have waited 3600 seconds.
    --
    2 + 3 = 5.
    ");
    let asked = "remind me in a minute to drink tea. Every hour add 1 and 1.";
    assert_eq!(house.say("k2", asked).await, Rest::Idle);
    pass(60_000).await;
    assert_eq!(house.rest().await, Rest::Idle);
    pass(3_540_000).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let (told, _) = said(&house, seen).await;
    assert_snapshot!(told, @"
    Timer 20 is set: it wakes me at 2026-01-01T01:01:00.000000Z. `stop timer 20` takes it back.

    Timer 22 is set: it wakes me at 2026-01-01T02:00:00.000000Z, then every 3600 seconds. `stop timer 22` takes it back.
    --
    It is time: drink tea
    --
    1 + 1 = 2.
    ");
}
