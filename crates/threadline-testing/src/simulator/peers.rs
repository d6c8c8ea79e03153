//! Whether agents that call each other get what they are owed: each answer once, nobody left
//! behind, nobody beyond what whoever asked may do.

use std::collections::{BTreeMap, BTreeSet};

use threadline_core::clock::Timestamp;
use threadline_core::drive::Driver;
use threadline_core::history::History;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    AgentCalled, AgentReturned, CALL_AGENT, CallMode, EndReason, Fact, Input, Sender, Status,
    ToolFinished,
};
use threadline_core::history::state::{Agent, Stage};
use threadline_core::id::{AgentId, BroadcastId, CallId, Seq};

use super::mark::Mark;
use super::world::World;

/// What agents ask of one another, and what they owe.
#[derive(Default)]
pub(super) struct Peers {
    /// The calls that were made, rewound ones included.
    called: BTreeMap<CallId, Called>,
    /// Answers that are to be delivered: to whom, and the entry that gave them.
    owed: BTreeMap<CallId, (AgentId, Seq)>,
    /// For whom agents work in the turns that they are in, nearest first.
    works_for: BTreeMap<AgentId, Vec<AgentId>>,
    /// For whom agents worked when they called, and when they set timers: what comes of that later
    /// is for the same.
    called_for: BTreeMap<CallId, Vec<AgentId>>,
    set_for: BTreeMap<Seq, Vec<AgentId>>,
    /// Who was told what is told to all.
    heard: BTreeSet<(BroadcastId, AgentId)>,
    /// Questions of agents that worked for another.
    asked: BTreeSet<CallId>,
}

struct Called {
    by: AgentId,
    child: AgentId,
    mode: CallMode,
    begun: bool,
    returned: bool,
}

impl World {
    /// An entry that agents write on account of one another.
    pub(super) fn check_peers(&mut self, entry: &Entry, before: &History) {
        match &entry.fact {
            Fact::AgentCalled(called) => self.check_called(entry, called, before),
            Fact::AgentReturned(returned) => self.check_returned(entry, returned, before),
            Fact::Input(input) => self.check_said(entry, input, before),
            Fact::ToolFinished(finished) if &*finished.name == CALL_AGENT => {
                self.check_call_ended(finished);
            }
            Fact::ToolFinished(finished) => self.mark_wait(finished),
            Fact::ToolStarted(started) => {
                let name = self.written(started.call).map(|(name, _)| name).unwrap_or_default();
                let above = self.check.peers.works_for.get(&entry.agent).into_iter().flatten();
                let may = |agent: &AgentId| {
                    let joined = before.agent(*agent).map(|agent| &agent.joined);
                    joined.is_some_and(|joined| joined.tools.contains(&name))
                };
                if let Some(who) = above.copied().find(|agent| !may(agent)) {
                    let text = format!("{} runs {name} for agent {who}", started.call);
                    self.fail("authority", text);
                }
            }
            Fact::ApprovalAsked(asked)
                if before.agent(entry.agent).and_then(Agent::caller).is_some() =>
            {
                self.check.peers.asked.insert(asked.call);
                self.hit(Mark::ChildAsks);
            }
            Fact::Note(note) => {
                let late = |call: &CallId| note.text.contains(&format!("call {call} of"));
                if note.text.ends_with("is not waiting for an answer")
                    && self.check.peers.asked.iter().any(late)
                {
                    self.hit(Mark::ChildAskedInVain);
                }
            }
            Fact::TimerSet(_) => {
                let above = self.check.peers.works_for.get(&entry.agent).cloned();
                self.check.peers.set_for.insert(entry.seq, above.unwrap_or_default());
            }
            Fact::AgentLeft(_) => {
                self.check.peers.owed.retain(|_, (to, _)| *to != entry.agent);
            }
            Fact::Rewound(_) => {
                // All that was open is taken back.
                self.check.peers.owed.clear();
                self.check.peers.works_for.clear();
            }
            Fact::AgentJoined(_)
            | Fact::InstructionSet(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Unrecognised(_) => {}
        }
        let was_in_turn = before.agent(entry.agent).is_some_and(Agent::in_turn);
        let after = self.store.state_at(entry.seq).and_then(|(h, _)| h.agent(entry.agent));
        if was_in_turn && after.is_some_and(|agent| !agent.in_turn()) {
            self.turn_ends(entry, before);
        }
    }

    fn check_called(&mut self, entry: &Entry, called: &AgentCalled, before: &History) {
        let &AgentCalled { call, child, mode } = called;
        let known = Called { by: entry.agent, child, mode, begun: false, returned: false };
        if self.check.peers.called.insert(call, known).is_some() {
            return self.fail("agents", format!("{call} calls twice"));
        }
        if before.agent(child).is_none_or(|agent| !agent.present || agent.in_turn()) {
            return self.fail("agents", format!("{call} calls agent {child}, which does not rest"));
        }
        let task = self.store.at(entry.seq.next()).map(|stored| &stored.entry);
        let from = Sender::Agent { agent: entry.agent, call: Some(call) };
        let follows = task.is_some_and(|task| {
            let input = task.fact.as_input();
            task.agent == child && input.is_some_and(|input| input.from == from)
        });
        if !follows {
            return self.fail("agents", format!("{call} calls agent {child} and says nothing"));
        }
        let mut depth = 0;
        let mut at = entry.agent;
        while let Some(caller) = before.agent(at).and_then(Agent::caller) {
            (depth, at) = (depth + 1, caller.agent);
            if depth > self.swarm.limits.depth {
                break;
            }
        }
        if depth >= self.swarm.limits.depth {
            return self.fail("depth", format!("{call} is {} deep", depth + 1));
        }
        if before.state().alone > self.swarm.limits.alone {
            return self.fail("alone", format!("{call} is made though nobody took part"));
        }
        self.hit(if mode == CallMode::Ask { Mark::AgentAsked } else { Mark::AgentSent });
        if depth > 0 && mode == CallMode::Ask {
            self.hit(Mark::AgentNested);
        }
        let caller = before.agent(entry.agent);
        let asks = |caller: &Agent| {
            let mut open = caller.open_calls().filter(|(_, call)| call.finished.is_none());
            open.any(|(id, open)| id != call && open.asks().is_some())
        };
        if caller.is_some_and(asks) {
            self.hit(Mark::AgentsAtOnce);
        }
        // It was written before the batch in which it is made: something held it up.
        let batch = self.store.at(entry.seq).map(|stored| stored.entry.at);
        let output = self.store.at(call.output).map(|stored| stored.entry.at);
        if output < batch {
            self.hit(Mark::AgentBusy);
        }
        self.sees_agent_called(entry.agent, child);
    }

    fn check_returned(&mut self, entry: &Entry, returned: &AgentReturned, before: &History) {
        let &AgentReturned { call, child, ended } = returned;
        let known = self.check.peers.called.get_mut(&call);
        let Some(known) = known.filter(|known| known.child == child && !known.returned) else {
            return self.fail("agents", format!("{call} gets an answer twice, or of another"));
        };
        known.returned = true;
        let turn = before.agent(child).and_then(|agent| agent.turn.as_ref());
        let of_call = turn.and_then(|turn| turn.caller).is_some_and(|caller| caller.call == call);
        let is_newest = before.agent(child).is_some_and(|agent| agent.ended == Some(ended));
        if known.mode != CallMode::Ask || !of_call || !is_newest {
            return self.fail("agents", format!("{call} gets the answer to something else"));
        }
        let next = self.store.at(entry.seq.next()).map(|stored| &stored.entry.fact);
        let Some(finished) = next.and_then(Fact::as_tool_finished) else {
            return self.fail("agents", format!("{call} is answered and goes on"));
        };
        let told = finished.result.first().map(|section| section.text.to_string());
        let (status, told) = (finished.status, told.unwrap_or_default());
        if finished.call != call || !self.is_answer(ended, status, &told) {
            return self.fail("agents", format!("{call} is told {told:?}, which is no answer"));
        }
        let ok = status == Status::Success;
        self.hit(if ok { Mark::AgentReturned } else { Mark::AgentFailed });
    }

    /// Whether a text tells how a turn ended.
    fn is_answer(&self, ended: Seq, status: Status, told: &str) -> bool {
        if told.contains("too large to be recorded") {
            return true;
        }
        let Some(ended) = self.store.at(ended) else { return false };
        match &ended.entry.fact {
            Fact::Output(output) => {
                let text = output.text();
                let said = if text.trim().is_empty() { "(it answered nothing)" } else { &text };
                status == Status::Success && told == said
            }
            Fact::TurnEnded(_) => status == Status::Failed && told.starts_with("no answer"),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
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
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => false,
        }
    }

    fn check_said(&mut self, entry: &Entry, input: &Input, before: &History) {
        if let Some(id) = input.broadcast {
            self.hit(Mark::Broadcast);
            if !self.check.peers.heard.insert((id, entry.agent)) {
                let text = format!("agent {} is told twice what is told to all", entry.agent);
                return self.fail("broadcast", text);
            }
        }
        let begins = before.agent(entry.agent).is_some_and(|agent| agent.stage == Stage::Resting);
        if begins {
            let peers = &mut self.check.peers;
            let above = match input.from {
                Sender::Timer { set } => peers.set_for.get(&set).cloned(),
                Sender::Agent { call: Some(call), .. } => peers.called_for.get(&call).cloned(),
                Sender::Agent { call: None, .. } | Sender::Person { .. } | Sender::System => None,
            };
            peers.works_for.insert(entry.agent, above.unwrap_or_default());
        }
        let Sender::Agent { agent, call: Some(call) } = input.from else { return };
        if let Some(known) = self.check.peers.called.get_mut(&call)
            && known.by == agent
            && known.child == entry.agent
        {
            if std::mem::replace(&mut known.begun, true) || !begins {
                return self.fail("agents", format!("the task of {call} is given twice"));
            }
            let above = self.check.peers.works_for.get(&agent).into_iter().flatten().copied();
            let above: Vec<AgentId> = above.collect();
            self.check.peers.called_for.insert(call, above.clone());
            let above = std::iter::once(agent).chain(above).collect();
            self.check.peers.works_for.insert(entry.agent, above);
            return;
        }
        let told = input.sections.first().map(|section| section.text.to_string());
        let told = told.unwrap_or_default();
        let is_answer = |ended: Seq| {
            let status =
                if told.starts_with("no answer") { Status::Failed } else { Status::Success };
            self.is_answer(ended, status, &told)
        };
        match self.check.peers.owed.get(&call).copied() {
            Some((to, ended)) if to == entry.agent && is_answer(ended) => {
                self.check.peers.owed.remove(&call);
                self.hit(if begins { Mark::ReplyAtRest } else { Mark::ReplyEndedWait });
            }
            owed => {
                let text =
                    format!("agent {} gets an answer to {call}; owed: {owed:?}", entry.agent);
                self.fail("answers", text);
            }
        }
    }

    /// A call to another agent has its end: an answer that counts comes from there.
    fn check_call_ended(&mut self, finished: &ToolFinished) {
        let known = self.check.peers.called.get(&finished.call);
        let answered = known.is_none_or(|known| known.mode == CallMode::Send || known.returned);
        if finished.status == Status::Success && (known.is_none() || !answered) {
            let text = format!("{} has an answer that nobody gave", finished.call);
            return self.fail("agents", text);
        }
        let text = finished.result.first().map(|section| section.text.to_string());
        let text = text.unwrap_or_default();
        for (words, mark) in [
            ("waits for your answer", Mark::Circle),
            ("cannot call itself", Mark::CalledItself),
            ("there is no agent named", Mark::NoSuchAgent),
            ("deep already", Mark::TooDeep),
            ("went by without a person", Mark::TooLongAlone),
        ] {
            if text.contains(words) {
                self.hit(mark);
            }
        }
    }

    fn mark_wait(&mut self, finished: &ToolFinished) {
        let text = finished.result.first().map(|section| section.text.to_string());
        let text = text.unwrap_or_default();
        for (words, mark) in [
            ("the time has come", Mark::WaitOver),
            ("ended early", Mark::WaitEarly),
            ("for whom you work", Mark::Beyond),
        ] {
            if text.contains(words) {
                self.hit(mark);
            }
        }
    }

    /// A turn ends: whoever called and did not wait is owed an answer.
    fn turn_ends(&mut self, entry: &Entry, before: &History) {
        self.check.peers.works_for.remove(&entry.agent);
        let reason = entry.fact.as_turn_ended().map(|ended| ended.reason);
        let turn = before.agent(entry.agent).and_then(|agent| agent.turn.as_ref());
        let Some(caller) = turn.and_then(|turn| turn.caller) else { return };
        if reason == Some(EndReason::Cancelled) && caller.mode == CallMode::Ask {
            let above = before.agent(caller.agent).and_then(Agent::caller);
            self.hit(if above.is_some() { Mark::TreeCancelled } else { Mark::ChildCancelled });
        }
        let is_there = before.agent(caller.agent).is_some_and(|agent| agent.present);
        let taken_back = matches!(reason, Some(EndReason::Withdrawn | EndReason::Cancelled));
        if caller.mode == CallMode::Send && is_there && !taken_back {
            self.check.peers.owed.insert(caller.call, (caller.agent, entry.seq));
        }
    }

    /// Whoever works for another is waited for, and nobody waits for itself.
    pub(super) fn check_tree(&mut self) {
        let history = self.store.history();
        if history.state().agents.values().all(|agent| agent.caller().is_none()) {
            return;
        }
        let history = history.clone();
        let agents = &history.state().agents;
        for (child, caller) in agents.iter().filter_map(|(id, agent)| Some((*id, agent.caller()?)))
        {
            let waits = history.agent(caller.agent).is_some_and(|agent| {
                let mut open = agent.open_calls().filter(|(_, call)| call.finished.is_none());
                open.any(|(id, call)| id == caller.call && call.asks() == Some(child))
            });
            if !waits {
                let text =
                    format!("agent {child} works for {}, which no longer waits", caller.call);
                return self.fail("left behind", text);
            }
            let up = |agent: AgentId| Some(history.agent(agent)?.caller()?.agent);
            let above = std::iter::successors(up(child), |agent| up(*agent));
            if above.take(agents.len() + 1).any(|agent| agent == child) {
                return self.fail("circle", format!("agent {child} waits for itself"));
            }
        }
    }

    /// A driver rests: nothing is due, and whoever is in a turn waits for something that comes.
    pub(super) fn check_rest(&mut self, worker: usize, at: Timestamp) {
        let driver = self.workers.get(worker).and_then(|worker| worker.driver.as_ref());
        let Some(history) = driver.map(Driver::history) else { return };
        let state = history.state();
        let waits = state.agents.values().any(|agent| agent.present && agent.in_turn());
        let (due, moment) = (state.wake_at(), state.moments().next());
        if due.is_some_and(|due| due <= at) {
            return self.fail("I-23", format!("a driver rests at {at} and is due at {due:?}"));
        }
        if waits && moment.is_none() {
            self.fail("I-23", "agents wait for each other, and for nothing else".to_owned());
        }
    }

    /// All is at rest: every answer was delivered.
    pub(super) fn check_nothing_owed(&mut self) {
        let owed = self.check.peers.owed.iter().next();
        if let Some((call, (to, _))) = owed {
            let text = format!("agent {to} never got the answer to {call}");
            self.fail("answers", text);
        }
    }
}
