//! How facts about calls change the state.

use std::sync::Arc;

use super::super::counts::{Counts, result_gist};
use super::super::entry::Entry;
use super::super::fact::{
    AgentCalled, AgentJoined, AgentReturned, ApprovalAsked, ApprovalGiven, CALL_AGENT, Effect,
    Sender, Status, ToolFinished, ToolStarted,
};
use super::super::rule::Rule;
use super::super::state::{
    Approval, Caller, Finished, OpenCall, PathState, Peer, Reply, Stage, Started,
};
use crate::id::{AgentId, CallId};

impl PathState {
    pub(super) fn tool_started(
        &mut self,
        entry: &Entry,
        started: &ToolStarted,
    ) -> Result<(), Rule> {
        let id = started.call;
        let call = self.open_call(entry.agent, id)?;
        if call.finished.is_some() {
            return Err(Rule::Finished(id));
        }
        if call.withdrawn {
            return Err(Rule::Withdrawn(id));
        }
        if !call.complete {
            return Err(Rule::CutOff(id));
        }
        let expected = call.started.map_or(1, |last| last.attempt.saturating_add(1));
        if started.attempt != expected {
            return Err(Rule::Attempt { call: id, expected });
        }
        if call.started.is_some_and(|last| last.effect == Effect::Once) {
            return Err(Rule::StartedOnce(id));
        }
        call.started =
            Some(Started { seq: entry.seq, attempt: started.attempt, effect: started.effect });
        Ok(())
    }

    pub(super) fn tool_finished(
        &mut self,
        entry: &Entry,
        finished: &ToolFinished,
        counts: Counts,
    ) -> Result<(), Rule> {
        let id = finished.call;
        let call = self.open_call(entry.agent, id)?;
        if call.name != finished.name {
            let (expected, found) = (Arc::clone(&call.name), Arc::clone(&finished.name));
            return Err(Rule::CallName { call: id, expected, found });
        }
        if call.finished.is_some() {
            return Err(Rule::Finished(id));
        }
        let wrong = |why| Err(Rule::WrongStatus { call: id, status: finished.status, why });
        match finished.status {
            Status::Skipped if call.started.is_some() && !call.withdrawn => {
                return wrong("it was started");
            }
            Status::Unknown if call.started.is_none() && !call.withdrawn => {
                return wrong("it was not started");
            }
            Status::Success | Status::Failed | Status::Skipped | Status::Unknown => {}
        }
        call.finished = Some(Finished {
            seq: entry.seq,
            status: finished.status,
            tokens: counts.tokens,
            gist: result_gist(finished),
            gist_tokens: counts.line_tokens,
        });
        if let Some(timer) = call.timer {
            self.timers.remove(&timer);
        }
        Ok(())
    }

    pub(super) fn approval_asked(
        &mut self,
        entry: &Entry,
        asked: &ApprovalAsked,
    ) -> Result<(), Rule> {
        let call = self.open_call(entry.agent, asked.call)?;
        if call.approval.is_some() || call.started.is_some() || call.finished.is_some() {
            return Err(Rule::Question(asked.call));
        }
        call.approval = Some(Approval {
            asked: entry.seq,
            digest: asked.digest,
            until: asked.until,
            default: asked.default,
            answer: None,
            given: None,
        });
        Ok(())
    }

    pub(super) fn approval_given(
        &mut self,
        entry: &Entry,
        given: &ApprovalGiven,
    ) -> Result<(), Rule> {
        let call = self.open_call(entry.agent, given.call)?;
        match &mut call.approval {
            Some(approval) if approval.answer.is_none() => {
                (approval.answer, approval.given) = (Some(given.answer), Some(entry.seq));
            }
            Some(_) | None => return Err(Rule::Question(given.call)),
        }
        Ok(())
    }

    pub(super) fn agent_called(&mut self, entry: &Entry, called: &AgentCalled) -> Result<(), Rule> {
        let child = self.agents.get(&called.child).filter(|child| child.present);
        let child = child.ok_or(Rule::Present(called.child))?;
        if child.in_turn() || called.child == entry.agent {
            return Err(Rule::NotResting(called.child));
        }
        let call = self.open_call(entry.agent, called.call)?;
        if call.finished.is_some() || call.child.is_some() {
            return Err(Rule::Finished(called.call));
        }
        if call.withdrawn {
            return Err(Rule::Withdrawn(called.call));
        }
        call.child = Some((called.child, called.mode));
        Ok(())
    }

    pub(super) fn agent_returned(
        &mut self,
        entry: &Entry,
        returned: &AgentReturned,
    ) -> Result<(), Rule> {
        if returned.ended >= entry.seq {
            return Err(Rule::NoEntry(returned.ended));
        }
        let call = self.open_call(entry.agent, returned.call)?;
        if call.asks() != Some(returned.child) || call.finished.is_some() {
            return Err(Rule::NotCalled(returned.call));
        }
        // What the child spent was spent for its caller.
        let child = self.agents.get(&returned.child).and_then(|child| child.turn.as_ref());
        let spent = child.map(|turn| (turn.tokens, turn.cost));
        if let (Some((tokens, cost)), Some(turn)) = (spent, &mut self.agent_mut(entry.agent)?.turn)
        {
            turn.tokens = turn.tokens.saturating_add(tokens);
            turn.cost.0 = turn.cost.0.saturating_add(cost.0);
        }
        Ok(())
    }

    /// The call that an input comes from; one that answers a call comes from none, and is
    /// delivered by this.
    pub(super) fn caller_of(&mut self, to: AgentId, from: &Sender) -> Option<Caller> {
        let Sender::Agent { agent, call: Some(call) } = *from else { return None };
        let answers = |reply: &Reply| reply.to == to && reply.call == call && reply.from == agent;
        if let Some(place) = self.replies.iter().position(answers) {
            self.replies.remove(place);
            return None;
        }
        let mut calls = self.agents.get(&agent)?.open_calls();
        let (_, open) = calls.find(|(id, _)| *id == call)?;
        let mode = open.child.filter(|(child, _)| *child == to).map(|(_, mode)| mode)?;
        Some(Caller { agent, call, mode })
    }

    /// The agents on whose behalf a turn is that one begins: itself, and those it works for.
    pub(super) fn behalf(&self, caller: AgentId) -> Vec<AgentId> {
        let turn = self.agents.get(&caller).and_then(|agent| agent.turn.as_ref());
        let above = turn.map_or(&[][..], |turn| &turn.behalf).iter().copied();
        // One that is called in a circle of tasks stands in it once.
        std::iter::once(caller).chain(above.filter(|agent| *agent != caller)).collect()
    }

    /// The agents that one may call, by name.
    pub(super) fn peers(&self, of: AgentId) -> Arc<Vec<Peer>> {
        let calls = |joined: &AgentJoined| joined.tools.iter().any(|name| &**name == CALL_AGENT);
        if !self.agents.get(&of).is_some_and(|agent| calls(&agent.joined)) {
            return Arc::default();
        }
        let others = self.agents.iter().filter(|(id, agent)| **id != of && agent.present);
        let peer = |joined: &AgentJoined| Peer {
            name: Arc::clone(&joined.name),
            description: Arc::clone(&joined.description),
        };
        let mut peers: Vec<Peer> = others.map(|(_, agent)| peer(&agent.joined)).collect();
        peers.sort();
        Arc::new(peers)
    }

    pub(super) fn open_call(&mut self, agent: AgentId, id: CallId) -> Result<&mut OpenCall, Rule> {
        let Stage::Calling(open) = &mut self.agent_mut(agent)?.stage else {
            return Err(Rule::NotOpen(id));
        };
        let index = usize::try_from(id.index).ok().filter(|_| open.output == id.output);
        index.and_then(|index| open.calls.get_mut(index)).ok_or(Rule::NotOpen(id))
    }
}

impl OpenCall {
    pub(super) fn new(name: &Arc<str>, complete: bool) -> Self {
        Self {
            name: Arc::clone(name),
            complete,
            withdrawn: false,
            started: None,
            finished: None,
            approval: None,
            child: None,
            timer: None,
        }
    }
}
