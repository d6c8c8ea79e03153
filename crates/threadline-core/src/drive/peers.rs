//! Calls to other agents: who is there, what they are asked, and what they answer.
//!
//! A call is recorded, not run: `[AgentCalled, Input]` when the other agent rests, and
//! `[AgentReturned, ToolFinished]` when its turn has ended, are one batch each. So a call is made
//! once and answered once, whatever stops in between. An agent that is called without being waited
//! for answers with an input.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;

use super::Driver;
use super::calls::CallText;
use super::place::{Beside, Sheet, SheetMark};
use super::planted::planted;
use super::step::{Step, next_step};
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::{
    Address, AgentCalled, AgentReturned, CALL_AGENT, CallMode, EndReason, Fact, Input, Money,
    Sender, Status, ToolFinished, Verdict,
};
use crate::history::metadata::Metadata;
use crate::history::sections::Section;
use crate::history::state::{Agent, Caller, OpenCall, Peer, Reply};
use crate::id::{AgentId, CallId, Seq};
use crate::tool::{Handling, ToolSpec, Validated};

/// What the tool is. Models read who is there as well.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: CALL_AGENT.into(),
        description: "Gives a task to another agent of this conversation and waits for its \
            answer, or goes on if wait is false: then the answer comes as a message. The other \
            agent sees only the task and the context you give it, not this conversation. Calls of \
            one output run side by side."
            .into(),
        schema: r#"{"type":"object","properties":{"name":{"description":"the agent","type":"string"},"task":{"description":"what it is to do, complete in itself","type":"string","minLength":1},"context":{"description":"what it needs to know for it","type":"string"},"wait":{"description":"whether to wait for the answer; true unless told","type":"boolean"}},"required":["name","task"]}"#
            .into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Recorded,
    }
}

/// The tool as an agent is shown it; none if nobody else is there.
pub(super) fn shown(spec: &ToolSpec, peers: &[Peer]) -> Option<ToolSpec> {
    if peers.is_empty() {
        return None;
    }
    let mut description = format!("{}\n\nThere are:", spec.description);
    for Peer { name, description: what } in peers {
        let colon = if what.is_empty() { "" } else { ": " };
        let _ = write!(description, "\n- {name}{colon}{what}");
    }
    Some(ToolSpec { description: description.into(), ..spec.clone() })
}

/// What a call asks for.
#[derive(Deserialize)]
struct Wish {
    name: Arc<str>,
    task: Arc<str>,
    context: Option<Arc<str>>,
    wait: Option<bool>,
}

/// How a turn ended, as whoever called is told.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    at: Seq,
    status: Status,
    text: Arc<str>,
}

impl Ended {
    /// What an entry says if it ends its turn.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let (status, text) = match &entry.fact {
            Fact::Output(output) if output.calls().next().is_none() => {
                let text = output.text();
                let blank = text.trim().is_empty();
                (Status::Success, if blank { "(it answered nothing)".to_owned() } else { text })
            }
            Fact::TurnEnded(ended) => {
                let why = match ended.reason {
                    EndReason::Cancelled => "its turn was cancelled",
                    EndReason::Limit(_) => "its turn came to a limit",
                    EndReason::Failed => "no model answered it",
                    EndReason::DoesNotFit => "what it needs does not fit its window",
                    EndReason::Withdrawn => "its turn was withdrawn",
                };
                let colon = if ended.detail.is_empty() { "" } else { ": " };
                (Status::Failed, format!("no answer: {why}{colon}{}", ended.detail))
            }
            Fact::Rewound(_)
            | Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => return None,
        };
        Some(Self { at: entry.seq, status, text: text.into() })
    }
}

impl Driver {
    /// Records a call to another agent, once that one rests.
    pub(super) fn call_agent(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        arguments: &Validated,
    ) {
        let wish: Wish = match serde_json::from_str(&arguments.text) {
            Ok(wish) => wish,
            Err(error) => {
                let text = format!("the arguments do not fit: {error}");
                return self.finish(sheet, agent, id, Status::Failed, &text);
            }
        };
        if wish.task.trim().is_empty() {
            let text = "the task is blank: say what is to be done, complete in itself";
            return self.finish(sheet, agent, id, Status::Failed, text);
        }
        let child = match self.callable(sheet, agent, &wish.name) {
            Ok(child) => child,
            Err(why) => return self.finish(sheet, agent, id, Status::Failed, &why),
        };
        if !self.is_free(sheet.draft.history(), child) {
            return self.hold_up(sheet, agent, id, &wish.name);
        }
        let mode = if wish.wait.unwrap_or(true) { CallMode::Ask } else { CallMode::Send };
        if mode == CallMode::Send && !sheet.draft.history().state().has_room_for_answer() {
            let text = "not sent: too many answers are on their way; end this turn to hear them";
            return self.finish(sheet, agent, id, Status::Failed, text);
        }
        let mut sections = vec![Section::text(wish.task)];
        sections.extend(
            wish.context
                .filter(|context| !context.trim().is_empty())
                .map(|context| Section::titled("Context", context)),
        );
        let input = Input {
            sections,
            from: Sender::Agent { agent, call: Some(id) },
            to: Address::Agent(child),
            ..Input::from_person("")
        };
        let told = format!("{} has the task; its answer will come as a message", wish.name);
        let before = sheet.mark();
        let called = AgentCalled { call: id, child, mode };
        let placed = sheet.place_for(agent, called, id)
            && sheet.place(child, input, Beside::cause(id.output)).is_ok()
            && (mode == CallMode::Ask || self.place_told(sheet, agent, id, &told, arguments));
        if !placed {
            self.not_whole(sheet, before, agent, id, "not called: the task takes too much room");
        }
    }

    /// A call to an agent that is in a turn is made once that one rests. That it is held up must
    /// be seen from the history, so that nobody takes the agent for one that could go on.
    fn hold_up(&self, sheet: &mut Sheet<'_>, agent: AgentId, id: CallId, name: &str) {
        let state = sheet.draft.history().agent(agent);
        let call = state.and_then(|state| state.open_call(id));
        if call.is_none_or(|call| call.wants.as_deref() != Some(name)) {
            let text = format!("{name} is in the middle of something: call it again");
            self.finish(sheet, agent, id, Status::Failed, &text);
        }
    }

    /// What did not fit as a whole comes first in the next batch; if it does not fit even there,
    /// it is refused.
    pub(super) fn not_whole(
        &self,
        sheet: &mut Sheet<'_>,
        before: SheetMark,
        agent: AgentId,
        id: CallId,
        words: &str,
    ) {
        sheet.back_to(before);
        if sheet.draft.is_empty() {
            self.finish(sheet, agent, id, Status::Failed, words);
        }
    }

    /// The agent of a name, if this one may call it.
    fn callable(&self, sheet: &Sheet<'_>, agent: AgentId, name: &str) -> Result<AgentId, String> {
        let history = sheet.draft.history();
        let Some(child) = history.state().agent_named(name) else {
            let there = history.state().agents.iter();
            let there = there.filter(|(id, other)| **id != agent && other.present);
            let names: Vec<&str> = there.map(|(_, other)| &*other.joined.name).collect();
            let names = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            return Err(format!("there is no agent named {name:?}; there are: {names}"));
        };
        if child == agent {
            return Err("an agent cannot call itself: do the task, or call another".to_owned());
        }
        if self.waits_for(sheet, child, agent) && !planted!(WaitInCircles) {
            return Err(format!("{name} waits for your answer: give it, then call {name}"));
        }
        let limits = &self.setting.limits;
        if callers(history, agent).count() >= limits.depth {
            let text = format!("agents call each other {} deep already", limits.depth);
            return Err(format!("{text}: do the task yourself"));
        }
        if history.state().alone > limits.alone {
            let text = format!("{} turns went by without a person", limits.alone);
            return Err(format!("not called: {text}; tell what there is to tell, and stop"));
        }
        Ok(child)
    }

    /// Whether an input may begin a turn of an agent: it rests, and whoever called it has had its
    /// answer.
    pub(super) fn is_free(&self, history: &History, agent: AgentId) -> bool {
        let rests = history.agent(agent).is_some_and(|state| state.present && !state.in_turn());
        rests && !self.cancelling.contains_key(&agent) && owes(history, agent).is_none()
    }

    /// Whether one agent cannot go on before another's turn has ended.
    fn waits_for(&self, sheet: &Sheet<'_>, from: AgentId, goal: AgentId) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            if !seen.insert(at) {
                continue;
            }
            let Some(state) = sheet.draft.history().agent(at) else { continue };
            for (id, call) in state.open_calls().filter(|(_, call)| call.finished.is_none()) {
                let Some(on) = self.wanted(sheet, id, call) else { continue };
                if on == goal {
                    return true;
                }
                next.push(on);
            }
        }
        false
    }

    /// The agent that an open call waits for, be it that it rests or that it answers.
    fn wanted(&self, sheet: &Sheet<'_>, id: CallId, call: &OpenCall) -> Option<AgentId> {
        if call.child.is_some() {
            return call.asks();
        }
        if &*call.name != CALL_AGENT {
            return None;
        }
        let text = self.texts_in(sheet, id).map(CallText::raw)?;
        let known = self.setting.tools.get(CALL_AGENT)?;
        let wish: Wish = serde_json::from_str(&known.validate(text).ok()?.text).ok()?;
        sheet.draft.history().state().agent_named(&wish.name)
    }

    /// Gives callers the answers of agents whose turns have ended.
    pub(super) fn place_returns(&self, sheet: &mut Sheet<'_>) {
        let agents: Vec<AgentId> = sheet.draft.history().state().agents.keys().copied().collect();
        for child in agents {
            if sheet.full {
                return;
            }
            let Some(Caller { agent, call, .. }) = owes(sheet.draft.history(), child) else {
                continue;
            };
            let Some(Ended { at, status, text }) = self.ended(sheet, child) else { continue };
            let Some(written) = self.texts_in(sheet, call) else { continue };
            let finished = ToolFinished {
                result: vec![Section::text(text)],
                ..written.finished(call, status, "")
            };
            let before = sheet.mark();
            let times = if planted!(ReturnTwice) { 2 } else { 1 };
            let placed = (0..times).all(|_| {
                let returned = AgentReturned { call, child, ended: at };
                sheet.place(agent, returned, Beside::cause(at)).is_ok()
            }) && Self::place_finished(sheet, agent, finished, None);
            if !placed {
                let words = "its answer was too large to be recorded";
                self.not_whole(sheet, before, agent, call, words);
            }
        }
    }

    /// Delivers answers to agents that did not wait for them: once they rest, or when they do
    /// nothing but let time pass, which an answer ends.
    pub(super) fn place_replies(&self, sheet: &mut Sheet<'_>) {
        for reply in sheet.draft.history().state().replies.clone() {
            if sheet.full {
                return;
            }
            let history = sheet.draft.history();
            if self.is_free(history, reply.to) {
                self.place_reply(sheet, &reply);
            } else if only_waits(history, reply.to) && !self.cancelling.contains_key(&reply.to) {
                let before = sheet.mark();
                self.end_waits(sheet, reply.to);
                let sealed = match next_step(sheet.draft.history(), reply.to) {
                    Step::Seal(results) => {
                        let cause = Beside::cause(results.output);
                        sheet.place(reply.to, results, cause).is_ok()
                    }
                    Step::Rest | Step::Invoke | Step::Calls(_) => false,
                };
                if !sealed || !self.place_reply(sheet, &reply) {
                    sheet.back_to(before);
                }
            }
        }
    }

    /// Delivers an answer; tells whether it is placed.
    fn place_reply(&self, sheet: &mut Sheet<'_>, reply: &Reply) -> bool {
        let &Reply { to, call, from, ended, .. } = reply;
        let Some(answer) = self.ended_at(sheet, ended) else { return false };
        let name = sheet.draft.history().agent(from).map(|agent| Arc::clone(&agent.joined.name));
        let title = format!("Answer of {}", name.as_deref().unwrap_or("an agent"));
        let input = |title: String, text| Input {
            sections: vec![Section::titled(title, text)],
            from: Sender::Agent { agent: from, call: Some(call) },
            to: Address::Agent(to),
            ..Input::from_person("")
        };
        // What cannot be written is told in short, rather than tried for ever.
        let short = input("Answer".to_owned(), "its answer was too large to be recorded".into());
        sheet.place_or(to, input(title, answer.text), short, Metadata::new(), ended)
    }

    /// How an agent's newest turn ended.
    fn ended(&self, sheet: &Sheet<'_>, agent: AgentId) -> Option<Ended> {
        let at = sheet.draft.history().agent(agent)?.ended?;
        self.ended_at(sheet, at)
    }

    fn ended_at(&self, sheet: &Sheet<'_>, at: Seq) -> Option<Ended> {
        let here = sheet.draft.entries().find(|entry| entry.seq == at);
        here.and_then(Ended::of).or_else(|| self.endings.get(&at).cloned())
    }

    /// Keeps how turns ended while someone is to be told of it.
    pub(super) fn note_endings<'a, E: Iterator<Item = &'a Entry>>(&mut self, entries: E) {
        let wanted: BTreeSet<Seq> = wanted_endings(&self.history).collect();
        self.endings.retain(|at, _| wanted.contains(at));
        let ends = entries.filter(|entry| wanted.contains(&entry.seq)).filter_map(Ended::of);
        self.endings.extend(ends.map(|ended| (ended.at, ended)));
    }

    /// The agents that work for one's turn, those that work for them included, whether they are
    /// waited for or not.
    pub(super) fn workers(history: &History, agent: AgentId) -> Vec<AgentId> {
        let all = history.state().agents.keys().copied();
        all.filter(|other| works_within(history, *other).any(|above| above == agent)).collect()
    }

    /// The agent for which this one works that may not use a tool, if one may not.
    pub(super) fn beyond(history: &History, agent: AgentId, tool: &str) -> Option<Arc<str>> {
        let may = |of: &Agent| of.joined.tools.iter().any(|name| &**name == tool);
        let turn = history.agent(agent)?.turn.as_ref().filter(|_| !planted!(ExceedCaller))?;
        let mut above = turn.works_for.iter().filter_map(|caller| history.agent(*caller));
        above.find(|caller| !may(caller)).map(|caller| Arc::clone(&caller.joined.name))
    }
}

/// Whether an agent does nothing but let time pass.
fn only_waits(history: &History, agent: AgentId) -> bool {
    let Some(agent) = history.agent(agent) else { return false };
    let mut open = agent.open_calls().filter(|(_, call)| call.finished.is_none()).peekable();
    open.peek().is_some() && open.all(|(_, call)| call.timer.is_some())
}

/// What a turn and all that works for the same goal have taken: tokens and money.
pub(super) fn spent_together(history: &History, agent: AgentId) -> (u64, Money) {
    let root = callers(history, agent).last().unwrap_or(agent);
    let all = history.state().agents.iter().filter(|(id, state)| {
        **id == root || (state.in_turn() && callers(history, **id).last() == Some(root))
    });
    let turns = all.filter_map(|(_, state)| state.turn.as_ref());
    turns.fold((0, Money(0)), |(tokens, cost), turn| {
        (turn.spent.tokens.saturating_add(tokens), turn.spent.cost.plus(cost))
    })
}

/// The agents that wait for one's turn to end: its caller, the caller's caller, and so on.
fn callers(history: &History, agent: AgentId) -> impl Iterator<Item = AgentId> {
    let up = |agent: AgentId| history.agent(agent)?.caller().map(|caller| caller.agent);
    // An agent works for one other at a time and never, by way of others, for itself.
    std::iter::successors(up(agent), move |caller| up(*caller)).take(history.state().agents.len())
}

/// The call that waits for an agent whose turn has ended.
fn owes(history: &History, child: AgentId) -> Option<Caller> {
    let state = history.agent(child).filter(|state| !state.in_turn())?;
    let caller = state.turn.as_ref()?.caller.filter(|caller| caller.mode == CallMode::Ask)?;
    let call = history.agent(caller.agent)?.open_call(caller.call)?;
    (call.asks() == Some(child) && call.finished.is_none()).then_some(caller)
}

/// The agents for whose turns one works: turns that began before its own. So whoever ends after
/// those who work for it never waits for itself.
fn works_within(history: &History, agent: AgentId) -> impl Iterator<Item = AgentId> {
    let turn = |of: AgentId| history.agent(of).filter(|of| of.in_turn())?.turn.as_ref();
    let own = turn(agent);
    let above = own.map_or(&[][..], |own| &own.works_for).iter().copied();
    above.filter(move |above| {
        turn(*above).zip(own).is_some_and(|(above, own)| above.start < own.start)
    })
}

/// The agents whose turns cannot be stopped yet: those for whom others work that are being
/// stopped with them, and those that are to be told how another ended.
pub(super) fn stop_later(
    history: &History,
    stopping: impl Iterator<Item = AgentId>,
) -> BTreeSet<AgentId> {
    let agents = history.state().agents.keys();
    let owed = agents.filter_map(|child| owes(history, *child)).map(|caller| caller.agent);
    owed.chain(stopping.flat_map(|agent| works_within(history, agent))).collect()
}

/// The entries that ended turns of which someone is still to be told.
pub(super) fn wanted_endings(history: &History) -> impl Iterator<Item = Seq> {
    let agents = &history.state().agents;
    let owed = agents.iter().filter(|(id, _)| owes(history, **id).is_some());
    let owed = owed.filter_map(|(_, state)| state.ended);
    owed.chain(history.state().replies.iter().map(|reply| reply.ended))
}
