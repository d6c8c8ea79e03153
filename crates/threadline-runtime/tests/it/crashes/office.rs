//! Scenes with several agents: they call each other two levels deep, ask people, wait for times,
//! and are told and cancelled together.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline_core::drive::Limits;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{AgentJoined, Answer, Fact};
use threadline_runtime::NewAgent;

use super::scenes::{Act, Scene, What, When, act};

/// A planner and three others, who may all do the same.
fn agents() -> Vec<NewAgent> {
    let tools = ["call_agent", "wait", "set_timer", "clear_timer", "read", "write", "pay", "ask"];
    let agent = |name: &str| NewAgent {
        joined: AgentJoined {
            name: name.into(),
            tools: tools.into_iter().map(Arc::from).collect(),
            widgets: vec!["notebook".into()],
            primary: name == "planner",
            ..AgentJoined::default()
        },
        instruction: Some(format!("you are {name}").into()),
    };
    ["planner", "ada", "bob", "eve"].map(agent).into()
}

/// A scene in which the planner is told to go. At its end something is said to all of them, so
/// that all that each was shown is shown once more.
fn office(name: &'static str, turns: &str, acts: &[Act]) -> Scene {
    let go = act("k1", When::Now, What::Say("go"));
    with(name, turns, [&[go], acts].concat())
}

fn with(name: &'static str, turns: &str, mut acts: Vec<Act>) -> Scene {
    acts.push(act("end", When::Rest, What::SayToAll("the end")));
    let script = format!("{turns}\nturn when \"the end\"\n say That was all.\n");
    Scene { name, agents: agents(), script, acts, limits: Limits::default(), loose: &[] }
}

/// All scenes with several agents.
pub(super) fn scenes() -> Vec<Scene> {
    vec![
        two_levels(),
        answered_later(),
        asked_of_people(),
        waits_and_timers(),
        told_to_all(),
        cancelled_together(),
    ]
}

fn two_levels() -> Scene {
    office(
        "two levels of agents",
        r#"
        turn when go
          call call_agent {"name":"ada","task":"name a flower"}
          call call_agent {"name":"bob","task":"name a bird","context":"in spring"}
          call notebook_append {"text":"asked"}
        then
          call notebook_append {"text":"told"}
        then
          say {screen}
        turn when flower
          call call_agent {"name":"eve","task":"which colour"}
          call pay {"do":"1"}
        then
          say A rose, {result:1}
          usage 100 10
          cost 50
        turn when bird
          call write {"do":"2"}
          call notebook_append {"text":"a bird"}
        then
          say A lark.
        turn when colour
          call read {"do":"3"}
          call notebook_append {"text":"a colour"}
        then
          say red.
          usage 10 1
          cost 5
        "#,
        &[],
    )
}

fn answered_later() -> Scene {
    office(
        "an answer that comes later",
        r#"
        turn when go
          call call_agent {"name":"ada","task":"name a flower","wait":false}
          call call_agent {"name":"bob","task":"name a bird"}
        then
          say {results}
        turn when flower
          call call_agent {"name":"eve","task":"which colour","wait":false}
        then
          say I shall see.
        turn when "Answer of ada"
          call notebook_append {"text":"it comes"}
        then
          say Noted.
        turn when "Answer of eve"
          say So it is red.
        turn when bird
          call pay {"do":"1"}
        then
          say A lark.
        turn when colour
          call read {"do":"2"}
        then
          say red.
        "#,
        &[],
    )
}

/// How many calls there are of which such a fact tells.
fn calls(entries: &[Entry], of: fn(&Fact) -> Option<threadline_core::id::CallId>) -> usize {
    entries.iter().filter_map(|entry| of(&entry.fact)).collect::<BTreeSet<_>>().len()
}

fn two_ask(entries: &[Entry]) -> bool {
    let asked = |fact: &Fact| match fact {
        Fact::ApprovalAsked(asked) => Some(asked.call),
        _ => None,
    };
    calls(entries, asked) == 2
}

fn two_run(entries: &[Entry]) -> bool {
    let started = |fact: &Fact| match fact {
        Fact::ToolStarted(started) => Some(started.call),
        _ => None,
    };
    calls(entries, started) == 2
}

/// Both levels ask, and are answered from elsewhere while another works on.
fn asked_of_people() -> Scene {
    office(
        "children that ask people",
        r#"
        turn when go
          call call_agent {"name":"ada","task":"name a flower"}
          call call_agent {"name":"bob","task":"name a bird"}
        then
          say {results}
        turn when flower
          call call_agent {"name":"eve","task":"which colour"}
          call ask {"do":"1"}
        then
          say A rose, {result:1}
        turn when bird
          call write {"do":"until told"}
        then
          say A lark.
        turn when colour
          call ask {"do":"2"}
        then
          say I may not.
        "#,
        &[
            act("a1", When::Has(two_ask), What::AnswerElsewhere(1, Answer::Deny)),
            act("a2", When::Has(two_ask), What::AnswerElsewhere(0, Answer::Allow)),
        ],
    )
}

/// The clock begins at midnight, and each life of the process may take a minute of it.
fn waits_and_timers() -> Scene {
    let pass = |minutes| act("", When::Rest, What::Pass(minutes));
    Scene {
        // It tells the number of the timer's entry.
        loose: &["set_timer"],
        ..office(
            "waits and timers",
            r#"
            turn when go
              call call_agent {"name":"ada","task":"be patient"}
              call set_timer {"text":"look again","at":"2026-01-01T02:00:00Z","every_seconds":3600}
              call set_timer {"text":"once only","at":"2026-01-01T01:30:00Z"}
            then
              say {result:1}
            turn when patient
              call call_agent {"name":"eve","task":"sleep"}
              call wait {"until":"2026-01-01T00:30:00Z"}
            then
              say {results}
            turn when sleep
              call wait {"until":"2026-01-01T01:00:00Z"}
            then
              say Slept.
            turn when "look again"
              call notebook_append {"text":"looked"}
            then
              say {screen}
            turn when "once only"
              call call_agent {"name":"bob","task":"name a bird"}
            then
              say {result}
            turn when bird
              say A lark.
            "#,
            // Half an hour, the whole, the timer, three times of the other, and one.
            &[pass(35), pass(30), pass(40), pass(140), pass(60)],
        )
    }
}

fn told_to_all() -> Scene {
    with(
        "told to all",
        r#"
        turn when "all of you"
          call write {"do":"1"}
          call notebook_append {"text":"I am here"}
        then
          say Here.
        turn when "and now"
          call read {"do":"1"}
        then
          say {screen}
        "#,
        vec![
            act("k1", When::Now, What::SayToAll("all of you")),
            act("k2", When::Now, What::SayToAll("and now")),
        ],
    )
}

/// Who is called has a smaller number than its caller, and another has a larger one.
fn cancelled_together() -> Scene {
    Scene {
        loose: &["read"],
        ..office(
            "cancelled with all who work for it",
            r#"
            turn when go
              call call_agent {"name":"bob","task":"name a bird"}
              call call_agent {"name":"eve","task":"name a flower"}
            then
              say Never said.
            turn when bird
              call read {"do":"until stopped"}
            then
              say Never said.
            turn when flower
              call call_agent {"name":"ada","task":"which colour"}
            then
              say Never said.
            turn when colour
              call read {"do":"until stopped"}
            then
              say Never said.
            "#,
            &[act("c1", When::Has(two_run), What::Cancel)],
        )
    }
}
