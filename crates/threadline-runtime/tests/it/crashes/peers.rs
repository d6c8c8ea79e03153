//! What holds of agents that call each other, whenever a process died: each is called once, each
//! answer is delivered once, and nobody works on for a turn that was cancelled.

use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{AgentCalled, CallMode, EndReason, Fact, Sender};
use threadline_core::id::{AgentId, CallId};

/// What does not hold.
pub(crate) fn wrong(entries: &[Entry]) -> Vec<String> {
    let calls = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::AgentCalled(called) => Some((entry, called)),
        _ => None,
    });
    calls.flat_map(|(entry, called)| wrong_with(entries, entry, called)).collect()
}

fn wrong_with(entries: &[Entry], at: &Entry, called: &AgentCalled) -> Vec<String> {
    let (parent, child, call) = (at.agent, called.child, called.call);
    let count = |what: &dyn Fn(&Entry) -> bool| entries.iter().filter(|entry| what(entry)).count();
    let returned = count(&|entry| match &entry.fact {
        Fact::AgentReturned(returned) => returned.call == call,
        _ => false,
    });
    let (returns, answers) = match called.mode {
        CallMode::Ask => (1, 0),
        CallMode::Send => (0, 1),
    };
    let counts = [
        ("was made", 1, count(&|entry| is_call(entry, call))),
        ("was told to the child", 1, count(&|entry| is_said(entry, parent, child, call))),
        ("was finished", 1, count(&|entry| is_finished(entry, call))),
        ("was returned", returns, returned),
        ("was answered", answers, count(&|entry| is_said(entry, child, parent, call))),
    ];
    let off = counts.into_iter().filter(|(_, wanted, is)| wanted != is);
    let mut wrong: Vec<String> =
        off.map(|(what, wanted, is)| format!("{call} {what} {is} times, not {wanted}")).collect();
    if called.mode == CallMode::Ask && works_on(entries, at, child) {
        wrong.push(format!("agent {child} works on for a turn that was cancelled"));
    }
    wrong
}

/// Whether the caller's turn was cancelled before the turn of the agent it waited for ended.
fn works_on(entries: &[Entry], called: &Entry, child: AgentId) -> bool {
    let mut after = entries.iter().filter(|entry| entry.seq > called.seq);
    let first = after.find(|entry| match &entry.fact {
        Fact::TurnEnded(ended) if entry.agent == called.agent => {
            ended.reason == EndReason::Cancelled
        }
        Fact::TurnEnded(_) => entry.agent == child,
        Fact::Output(output) => entry.agent == child && output.calls().next().is_none(),
        _ => false,
    });
    first.is_none_or(|entry| entry.agent == called.agent)
}

fn is_call(entry: &Entry, call: CallId) -> bool {
    match &entry.fact {
        Fact::AgentCalled(called) => called.call == call,
        _ => false,
    }
}

fn is_finished(entry: &Entry, call: CallId) -> bool {
    match &entry.fact {
        Fact::ToolFinished(finished) => finished.call == call,
        _ => false,
    }
}

fn is_said(entry: &Entry, from: AgentId, to: AgentId, about: CallId) -> bool {
    match &entry.fact {
        Fact::Input(input) => match input.from {
            Sender::Agent { agent, call } => (entry.agent, agent, call) == (to, from, Some(about)),
            _ => false,
        },
        _ => false,
    }
}
