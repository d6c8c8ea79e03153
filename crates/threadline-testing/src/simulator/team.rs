//! Agents that work together: who they are, and what their models ask of one another and of time.

use std::sync::Arc;

use threadline_core::drive::{CLEAR_TIMER, SET_TIMER, WAIT};
use threadline_core::history::fact::{AgentJoined, CALL_AGENT};
use threadline_core::id::Seq;

use super::gear;
use crate::ids::Choices;

/// The agents, in the order in which they join; the first is the primary one.
pub(super) const NAMES: [&str; 4] = ["worker", "helper", "clerk", "guard"];
/// By which agents call each other and wait.
const ALL: [&str; 4] = [CALL_AGENT, WAIT, SET_TIMER, CLEAR_TIMER];

/// An agent of the team as it joins: each has tools that another lacks.
pub(super) fn member(index: usize) -> AgentJoined {
    let name = NAMES.get(index).copied().unwrap_or("worker");
    let may = |tool: &str| match name {
        "helper" => !matches!(tool, "set" | "send" | "ping"),
        "clerk" => matches!(tool, "look" | "ping" | "set_asked" | "send_known" | "send_asked"),
        _ => true,
    };
    let recorded: &[&str] = match name {
        "clerk" => &[CALL_AGENT, WAIT],
        "guard" => &[WAIT, SET_TIMER, CLEAR_TIMER],
        _ => &ALL,
    };
    let run = gear::TOOLS.iter().map(|(tool, ..)| *tool).filter(|tool| may(tool));
    let all = gear::agent();
    AgentJoined {
        name: name.into(),
        description: format!("the {name}").into(),
        tools: run.chain(recorded.iter().copied()).map(Arc::from).collect(),
        widgets: if name == "clerk" { Vec::new() } else { all.widgets.clone() },
        primary: index == 0,
        ..all
    }
}

/// The first agent of the team with fewer tools than before.
pub(super) fn lesser_member() -> AgentJoined {
    let member = member(0);
    let kept = |name: &Arc<str>| !matches!(&**name, "set" | "send" | "look" | "send_known");
    AgentJoined {
        tools: member.tools.iter().filter(|name| kept(name)).cloned().collect(),
        ..member
    }
}

/// A call to another agent, or one about time: its tool and its arguments.
pub(super) fn drawn_call(
    choices: &mut Choices,
    timers: &[Seq],
    others: &[Arc<str>],
    n: u64,
) -> (&'static str, String) {
    match choices.below(100) {
        0..=61 => (CALL_AGENT, task(choices, others, n)),
        62..=75 => (WAIT, waiting(choices)),
        76..=92 => (SET_TIMER, timer(choices, n)),
        _ => {
            let timer = choices.pick(timers).map_or(999_999, |timer| timer.0);
            (CLEAR_TIMER, format!("{{\"timer\":{timer}}}"))
        }
    }
}

/// The arguments of a call to another agent: mostly one that is there.
pub(super) fn task(choices: &mut Choices, others: &[Arc<str>], n: u64) -> String {
    let name = match choices.below(25) {
        0 => "nobody",
        1..=4 => choices.pick(&NAMES).copied().unwrap_or("helper"),
        _ => choices.pick(others).map_or("helper", |name| &**name),
    };
    let wait = match choices.below(10) {
        0..=2 => ",\"wait\":false",
        4 => ",\"wait\":true",
        _ => "",
    };
    let context = if choices.percent(15) { ",\"context\":\"as before\"" } else { "" };
    if choices.percent(2) {
        return format!("{{\"name\":\"{name}\"{wait}}}");
    }
    format!("{{\"name\":\"{name}\",\"task\":\"task {n}\"{context}{wait}}}")
}

fn waiting(choices: &mut Choices) -> String {
    match choices.below(12) {
        0 => "{}".to_owned(),
        1 => "{\"until\":\"2020-01-01T00:00:00Z\"}".to_owned(),
        2 | 3 => "{\"seconds\":30}".to_owned(),
        _ => format!("{{\"seconds\":{}}}", 1 + choices.below(4)),
    }
}

fn timer(choices: &mut Choices, n: u64) -> String {
    let seconds = 1 + choices.below(5);
    match choices.below(10) {
        0 => format!("{{\"text\":\"tick {n}\"}}"),
        1..=4 => {
            let every = 1 + choices.below(3);
            format!("{{\"text\":\"tick {n}\",\"seconds\":{seconds},\"every_seconds\":{every}}}")
        }
        _ => format!("{{\"text\":\"ring {n}\",\"seconds\":{seconds}}}"),
    }
}
