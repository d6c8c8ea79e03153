//! How agents that call each other change the state: for whom a turn works, and who is owed an
//! answer.

use std::sync::Arc;

use super::super::fact::{AgentJoined, CALL_AGENT, CallMode, Sender};
use super::super::state::{Caller, PathState, Peer, Reply};
use crate::id::{AgentId, Seq};

/// The most answers that wait for agents that did not wait for them; one beyond is not delivered.
const REPLIES_CAP: usize = 1024;

impl PathState {
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

    /// For whom a turn works that a call begins: whoever calls, and for whom that one works.
    pub(super) fn works_for(&self, caller: Caller) -> Vec<AgentId> {
        let turn = self.agents.get(&caller.agent).and_then(|agent| agent.turn.as_ref());
        let above = turn.map_or(&[][..], |turn| &turn.works_for).iter().copied();
        // One that is called in a circle of tasks stands in it once.
        std::iter::once(caller.agent).chain(above.filter(|agent| *agent != caller.agent)).collect()
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

    /// A turn has ended: who called and did not wait gets an answer, unless the turn was taken
    /// back or nobody is there any more to get it.
    pub(super) fn ended(&mut self, of: AgentId, at: Seq, taken_back: bool) {
        let Some(agent) = self.agents.get_mut(&of).map(Arc::make_mut) else { return };
        agent.ended = Some(at);
        let mut caller = None;
        if let Some(turn) = &mut agent.turn {
            caller = turn.caller;
            // Each agent's list of all others is the largest part of a state with many.
            turn.peers = Arc::default();
        }
        if let Some(Caller { agent: to, call, mode: CallMode::Send }) = caller
            && !taken_back
            && self.known(to).is_ok()
            && self.replies.len() < REPLIES_CAP
        {
            self.replies.push(Reply { to, call, from: of, ended: at });
        }
    }
}
