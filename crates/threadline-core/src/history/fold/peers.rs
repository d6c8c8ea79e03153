//! How agents that call each other change the state: for whom a turn works, and who is owed an
//! answer.

use std::sync::Arc;

use super::super::entry::Entry;
use super::super::fact::{AgentJoined, CALL_AGENT, CallMode, Sender};
use super::super::rule::Rule;
use super::super::state::{Caller, PathState, Peer, Reply};
use crate::id::{AgentId, CallId, Seq};

/// The most answers that wait for agents that did not wait for them; one beyond is not delivered.
const REPLIES_CAP: usize = 1024;

impl PathState {
    /// The call that an input comes from, and for whom a turn works that it begins. A timer fires
    /// by it, an answer is delivered by it: what comes of a turn later is still for those for whom
    /// that turn worked.
    pub(super) fn begun_by(
        &mut self,
        entry: &Entry,
        from: &Sender,
    ) -> Result<(Option<Caller>, Vec<AgentId>), Rule> {
        let (agent, call) = match *from {
            Sender::Timer { set } => return Ok((None, self.timer_fired(set, entry)?)),
            Sender::Agent { agent, call: Some(call) } => (agent, call),
            Sender::Agent { call: None, .. } | Sender::Person { .. } | Sender::System => {
                return Ok((None, Vec::new()));
            }
        };
        let to = entry.agent;
        let answers = |reply: &Reply| reply.to == to && reply.call == call && reply.from == agent;
        if let Some(place) = self.replies.iter().position(answers) {
            return Ok((None, self.replies.remove(place).works_for));
        }
        let Some(mode) = self.mode_of(agent, call, to) else { return Ok((None, Vec::new())) };
        // One that is called in a circle of tasks stands in it once.
        let above = self.works_for(agent).iter().copied().filter(|above| *above != agent);
        let works_for = std::iter::once(agent).chain(above).collect();
        Ok((Some(Caller { agent, call, mode }), works_for))
    }

    /// How an agent called another, by a call that is open.
    fn mode_of(&self, agent: AgentId, call: CallId, to: AgentId) -> Option<CallMode> {
        let mut calls = self.agents.get(&agent)?.open_calls();
        let (_, open) = calls.find(|(id, _)| *id == call)?;
        open.child.filter(|(child, _)| *child == to).map(|(_, mode)| mode)
    }

    /// For whom an agent works in the turn that it is in.
    pub(super) fn works_for(&self, agent: AgentId) -> &[AgentId] {
        let agent = self.agents.get(&agent).filter(|agent| agent.in_turn());
        let turn = agent.and_then(|agent| agent.turn.as_ref());
        turn.map_or(&[], |turn| &turn.works_for)
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

    /// A turn has ended: who called and did not wait gets an answer, unless the turn was stopped
    /// or taken back, or nobody is there any more to get it.
    pub(super) fn ended(&mut self, of: AgentId, at: Seq, taken_back: bool) {
        let Some(agent) = self.agents.get_mut(&of).map(Arc::make_mut) else { return };
        agent.ended = Some(at);
        let Some(turn) = &mut agent.turn else { return };
        // Each agent's list of all others is the largest part of a state with many.
        turn.peers = Arc::default();
        if let Some(Caller { agent: to, call, mode: CallMode::Send }) = turn.caller {
            let above = turn.works_for.iter().copied();
            let works_for = above.filter(|above| *above != to).collect();
            if !taken_back && self.known(to).is_ok() && self.replies.len() < REPLIES_CAP {
                self.replies.push(Reply { to, call, from: of, ended: at, works_for });
            }
        }
    }
}
