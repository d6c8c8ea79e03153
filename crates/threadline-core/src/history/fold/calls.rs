//! How facts about calls change the state.

use std::sync::Arc;

use super::super::counts::Counts;
use super::super::entry::Entry;
use super::super::fact::{
    AgentCalled, AgentReturned, ApprovalAsked, ApprovalGiven, CALL_AGENT, FileChanged, Status,
    ToolCall, ToolFinished, ToolStarted,
};
use super::super::rule::Rule;
use super::super::state::{Approval, Finished, OpenCall, PathState, Stage, Started};
use crate::id::{AgentId, CallId};

/// The most files that one call says it changes.
const CHANGES_CAP: usize = 256;

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
        if call.started.is_some_and(|last| !last.effect.may_repeat()) {
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
            gist: counts.line,
            gist_tokens: counts.line_tokens,
        });
        if let Some(timer) = call.timer {
            self.timers.remove(&timer);
        }
        Ok(())
    }

    pub(super) fn file_changed(
        &mut self,
        entry: &Entry,
        changed: &FileChanged,
    ) -> Result<(), Rule> {
        let id = changed.call;
        let call = self.open_call(entry.agent, id)?;
        if call.finished.is_some() {
            return Err(Rule::Finished(id));
        }
        if call.started.is_none() {
            return Err(Rule::NotStarted(id));
        }
        if call.changes.len() >= CHANGES_CAP {
            return Err(Rule::TooMany { what: "file changes of one call", cap: CHANGES_CAP });
        }
        call.changes.push(entry.seq);
        Ok(())
    }

    /// Voids questions and answers about calls that have not started. They were given under other
    /// circumstances, so the person is asked again.
    pub(super) fn void_approvals(&mut self) {
        let has_approval = |call: &OpenCall| call.approval.is_some() && call.started.is_none();
        for agent in self.agents.values_mut() {
            if agent.open_calls().any(|(_, call)| has_approval(call))
                && let Stage::Calling(open) = &mut Arc::make_mut(agent).stage
            {
                for call in open.calls.iter_mut().filter(|call| has_approval(call)) {
                    call.approval = None;
                }
            }
        }
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
        if !call.takes_answer(given.answer) {
            return Err(Rule::Question(given.call));
        }
        if let Some(approval) = &mut call.approval {
            (approval.answer, approval.given) = (Some(given.answer), Some(entry.seq));
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
        let spent = child.map(|turn| (turn.spent.tokens, turn.spent.cost));
        if let (Some(spent), Some(turn)) = (spent, &mut self.agent_mut(entry.agent)?.turn) {
            turn.take_over(spent);
        }
        Ok(())
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
    pub(super) fn new(call: &ToolCall) -> Self {
        Self {
            name: Arc::clone(&call.name),
            complete: call.complete,
            wants: wants(call),
            withdrawn: false,
            started: None,
            finished: None,
            approval: None,
            child: None,
            timer: None,
            changes: Vec::new(),
        }
    }
}

/// The agent that a call is for, as its model wrote it.
fn wants(call: &ToolCall) -> Option<Arc<str>> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: Arc<str>,
    }
    if &*call.name != CALL_AGENT {
        return None;
    }
    serde_json::from_str(call.json_arguments()).ok().map(|Named { name }| name)
}
