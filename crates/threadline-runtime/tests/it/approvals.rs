//! Questions about calls: who answers them, when, and what goes on meanwhile.

use std::sync::Arc;

use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{
    Answer, Approver, Authority, Digest, Fact, Input, PolicySet, Verdict,
};
use threadline_core::id::CallId;
use threadline_core::inbox::{Body, Command, Mode};
use threadline_core::policy::{Patterns, Rule};
use threadline_runtime::Runtime;

use crate::house::{House, house, item, scripted, world_of};

const QUARTER_OF_AN_HOUR_MS: u64 = 15 * 60 * 1000;

/// What was asked, in order.
async fn asked(house: &House) -> Vec<(CallId, Digest)> {
    let facts = house.entries().await.into_iter().map(|entry| entry.fact);
    let asked = facts.filter_map(|fact| match fact {
        Fact::ApprovalAsked(asked) => Some((asked.call, asked.digest)),
        _ => None,
    });
    asked.collect()
}

/// Who allowed the calls that were started, in order.
async fn authorities(house: &House) -> Vec<Authority> {
    let facts = house.entries().await.into_iter().map(|entry| entry.fact);
    let started = facts.filter_map(|fact| match fact {
        Fact::ToolStarted(started) => Some(started.authority),
        _ => None,
    });
    started.collect()
}

fn answered((call, digest): (CallId, Digest), answer: Answer) -> Body {
    Body::Approval { call, digest, answer, by: Approver::Person { name: None } }
}

fn set(verdict: Verdict, tool: &str, arguments: Option<&str>) -> Body {
    let arguments = arguments.map(Into::into);
    Body::Command(Command::SetPolicy(PolicySet { tool: tool.into(), arguments, verdict }))
}

fn rule(verdict: Verdict, tool: &str, arguments: &str) -> Rule {
    Rule {
        name: "of the house".into(),
        tool: tool.into(),
        server: None,
        arguments: Patterns::read(arguments).unwrap(),
        verdict,
        tightens: false,
    }
}

/// The same house after its process ended and another began, with these rules.
async fn restarted(house: House, script: &str, policy: Vec<Rule>) -> House {
    house.runtime.stop().await;
    let limits = Limits::default();
    let world = world_of(scripted(script), &house.store, &house.clock, &house.effects, limits);
    House { runtime: Runtime::new(world.with_policy(policy)), ..house }
}

fn steer(text: &str) -> Body {
    Body::Input(Input::from_person(text))
}

const ONE: &str = r#"
    turn
      call ask {"do":"one"}
    then
      say {results}
    turn else
      say Gladly.
    "#;

#[tokio::test]
async fn other_calls_go_on_while_one_waits() {
    let house = house(
        r#"
        turn
          call ask {"do":"one"}
          call read {"do":"slow"}
          call pay {"do":"it"}
        then
          say All three.
        "#,
    )
    .await;
    assert_eq!(house.say("k1", "go").await, Rest::Approval);
    let done: Vec<String> = house.done().into_iter().map(|(call, _)| call).collect();
    assert_eq!(done, ["c5.1", "c5.2"], "its siblings have run and finished");
    let story = house.story().await;
    assert!(story.contains("read c5.1 ok") && story.contains("pay c5.2 ok"), "{story}");
    house.submit("a1", answered(asked(&house).await[0], Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(story.ends_with("assistant: All three."), "{story}");
}

#[tokio::test]
async fn a_question_survives_a_restart_and_is_answered_then() {
    let house = house(ONE).await;
    assert_eq!(house.say("k1", "go").await, Rest::Approval);
    let question = asked(&house).await[0];
    let house = restarted(house, ONE, Vec::new()).await;
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Approval);
    assert_eq!(asked(&house).await, [question], "it is not asked again");
    house.submit("a1", answered(question, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.done(), [("c5.0".to_owned(), 1)]);
}

#[tokio::test]
async fn a_queued_message_waits_for_the_answer_and_no_longer_than_the_question() {
    let house = house(ONE).await;
    house.say("k1", "go").await;
    assert_eq!(house.say("k2", "and then?").await, Rest::Approval);
    assert!(!house.story().await.contains("and then?"));
    house.clock.advance_ms(QUARTER_OF_AN_HOUR_MS);
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains(r#"ask c5.0 denied {"by":"timer"}"#), "{story}");
    assert!(story.ends_with("assistant: Gladly."), "{story}");
    assert!(house.done().is_empty());
}

#[tokio::test]
async fn a_message_that_steers_takes_over() {
    let script = r#"
        turn
          call ask {"do":"one"}
        turn else
          say I leave it.
        "#;
    let house = house(script).await;
    house.say("k1", "go").await;
    house.runtime.submit(house.id, &item("s1", Mode::Steer, steer("rather not"))).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    let lines: Vec<&str> = story.lines().skip(4).collect();
    assert_eq!(
        lines,
        [
            r#"ask c5.0 denied {"by":"new_message"}"#,
            "ask c5.0 skipped: not run: it was declined",
            "assistant results",
            r#"user {"client_key":"s1"}: rather not"#,
            "assistant asks scripted/scripted",
            "assistant: I leave it.",
        ],
        "{story}"
    );
    assert!(house.done().is_empty());
}

#[tokio::test]
async fn what_steers_waits_for_what_runs_and_then_takes_over() {
    let script = r#"
        turn
          call ask {"do":"one"}
          call read {"do":"slow"}
        turn else
          say I leave it.
        "#;
    let house = house(script).await;
    house.submit("k1", Body::Input(Input::from_person("go"))).await;
    house.until("c5.1 starts").await;
    house.runtime.submit(house.id, &item("s1", Mode::Steer, steer("rather not"))).await.unwrap();
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    let place = |text: &str| story.find(text).unwrap_or_else(|| panic!("no {text:?}: {story}"));
    assert!(place("read c5.1 ok") < place(r#"ask c5.0 denied {"by":"new_message"}"#), "{story}");
    assert!(place("denied") < place("rather not"), "{story}");
}

#[tokio::test]
async fn cancel_while_a_person_is_asked() {
    let house = house(ONE).await;
    house.say("k1", "go").await;
    let question = asked(&house).await[0];
    house.submit("c1", Body::Cancel).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert!(house.story().await.ends_with("assistant ends cancelled"));
    // An answer that comes now is about nothing.
    house.submit("a1", answered(question, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(
        story.ends_with("note refused: call c5.0 of agent 1 is not waiting for an answer"),
        "{story}"
    );
    assert!(house.done().is_empty());
}

#[tokio::test]
async fn an_answer_counts_once() {
    let script = r#"
        turn
          call ask {"do":"one"}
        then
          call ask {"do":"one"}
        then
          say Twice.
        "#;
    let house = house(script).await;
    house.say("k1", "go").await;
    let first = asked(&house).await[0];
    house.submit("a1", answered(first, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Approval, "the same call asks again");
    house.submit("a2", answered(first, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Approval, "the first answer is spent");
    assert!(house.story().await.ends_with("call c5.0 of agent 1 is not waiting for an answer"));
    let second = asked(&house).await[1];
    assert_eq!(first.1, second.1, "the arguments are the same");
    house.submit("a3", answered((second.0, Digest::of(b"other")), Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Approval, "an answer about something else");
    house.submit("a4", answered(second, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.done().len(), 2);
}

#[tokio::test]
async fn always_covers_the_same_call_and_not_one_with_another_byte() {
    let script = r#"
        turn
          call ask {"do":"one"}
        then
          call ask { "do" : "one" }
          call ask {"do":"onf"}
          call ask {"do":"one", "more":1}
        then
          say Three.
        "#;
    let house = house(script).await;
    house.say("k1", "go").await;
    house.submit("a1", answered(asked(&house).await[0], Answer::Allow)).await;
    house.submit("p1", set(Verdict::Allow, "ask", Some(r#"{"do":"one"}"#))).await;
    assert_eq!(house.rest().await, Rest::Approval);
    let questions = asked(&house).await;
    assert_eq!(questions.len(), 2, "{}", house.story().await);
    assert_eq!(questions[1].0.index, 1, "one byte is other");
    let by = authorities(&house).await;
    assert_eq!(by[1..], [rule_of("conversation: ask do=one"), rule_of("conversation: ask do=one")]);
    assert!(matches!(by[0], Authority::Approval(_)), "{by:?}");
}

fn rule_of(name: &str) -> Authority {
    Authority::Rule(Arc::from(name))
}

#[tokio::test]
async fn who_says_always_or_never_is_not_asked_about_what_is_open() {
    let script = r#"
        turn
          call ask {"do":"one"}
          call ask {"do":"two"}
          call ask {"do":"three"}
        then
          say {results}
        "#;
    let house = house(script).await;
    house.say("k1", "go").await;
    assert_eq!(asked(&house).await.len(), 3);
    house.submit("p1", set(Verdict::Allow, "ask", Some(r#"{"do":"t*"}"#))).await;
    assert_eq!(house.rest().await, Rest::Approval, "one is left");
    let done: Vec<String> = house.done().into_iter().map(|(call, _)| call).collect();
    assert_eq!(done, ["c5.1", "c5.2"]);
    house.submit("p2", set(Verdict::Deny, "*", Some(r#"{"do":"o*"}"#))).await;
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(house.done().len(), 2);
}

#[tokio::test]
async fn a_deny_of_the_operator_beats_always_and_an_approval() {
    let house = house(ONE).await;
    house.say("k1", "go").await;
    let question = asked(&house).await[0];
    let deny = vec![rule(Verdict::Deny, "ask", r#"{"do":"on*"}"#)];
    let house = restarted(house, ONE, deny).await;
    house.submit("p1", set(Verdict::Allow, "*", None)).await;
    assert_eq!(house.rest().await, Rest::Approval, "the rule answers nothing");
    house.submit("a1", answered(question, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    let told = "ask c5.0 skipped: not run: a rule does not allow it (operator: of the house)";
    assert!(story.contains(told), "{story}");
    assert!(house.done().is_empty());
}

#[tokio::test]
async fn the_operator_can_allow_ask_and_deny() {
    let script = r#"
        turn
          call ask {"do":"one"}
          call pay {"do":"one"}
          call read {"do":"one"}
        then
          say {results}
        "#;
    let house = house(script).await;
    let policy = vec![
        rule(Verdict::Allow, "ask", "{}"),
        rule(Verdict::Ask, "pay", r#"{"do":"*"}"#),
        rule(Verdict::Deny, "re*", "{}"),
    ];
    let house = restarted(house, script, policy).await;
    assert_eq!(house.say("k1", "go").await, Rest::Approval);
    let questions = asked(&house).await;
    assert_eq!(questions.iter().map(|(call, _)| call.index).collect::<Vec<_>>(), [1]);
    assert_eq!(authorities(&house).await, [rule_of("operator: of the house")]);
    house.submit("a1", answered(questions[0], Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let done: Vec<String> = house.done().into_iter().map(|(call, _)| call).collect();
    assert_eq!(done, ["c5.0", "c5.1"], "what is denied has not run");
}

#[tokio::test]
async fn what_is_denied_by_now_does_not_run_again_after_a_restart() {
    let script = "turn\n call write {\"do\":\"hang\"}\nthen\n say {results}";
    let house = house(script).await;
    house.submit("k1", Body::Input(Input::from_person("go"))).await;
    house.until("c5.0 starts").await;
    let house = restarted(house, script, vec![rule(Verdict::Deny, "write", "{}")]).await;
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("a rule does not allow it to run again (operator"), "{story}");
    assert_eq!(house.done(), [("c5.0".to_owned(), 1)]);
}

#[tokio::test]
async fn a_rule_that_is_none_is_refused_in_words() {
    let house = house(ONE).await;
    house.submit("p1", set(Verdict::Allow, "ask", Some("*one*"))).await;
    house.submit("p2", set(Verdict::Allow, "", None)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(story.contains("note refused: the arguments of a rule are a JSON object"), "{story}");
    assert!(story.contains("note refused: a rule names the tool it is about"), "{story}");
    assert_eq!(house.say("k1", "go").await, Rest::Approval);
}

#[tokio::test]
async fn an_answer_after_the_deadline_does_not_count() {
    let script = r#"
        turn
          call ask {"do":"one"}
        then
          say Done.
        "#;
    let house = house(script).await;
    house.say("k1", "go").await;
    let question = asked(&house).await[0];
    house.clock.advance_ms(QUARTER_OF_AN_HOUR_MS);
    house.submit("a1", answered(question, Answer::Allow)).await;
    assert_eq!(house.rest().await, Rest::Idle);
    let story = house.story().await;
    assert!(house.done().is_empty(), "{story}");
    assert!(story.contains("note refused: too late: the question expired at"), "{story}");
}
