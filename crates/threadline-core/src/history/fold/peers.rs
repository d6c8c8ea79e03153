//! How agents that call each other change the state: for whom a turn works, and who is owed an
//! answer.

use std::sync::Arc;

use super::super::entry::Entry;
use super::super::fact::{AgentJoined, CALL_AGENT, CallMode, Money, Sender};
use super::super::rule::Rule;
use super::super::state::{Agent, Caller, PathState, Peer, Reply};
use crate::id::{AgentId, CallId, Seq};

/// The most answers that wait for agents that did not wait for them, those that are still worked
/// on included; one beyond is not delivered.
const REPLIES_CAP: usize = 1024;

/// What an input brings along.
#[derive(Default)]
pub(super) struct Begun {
    /// The call that it comes from.
    pub(super) caller: Option<Caller>,
    /// For whom a turn works that it begins.
    pub(super) works_for: Vec<AgentId>,
    /// What was spent so that it could be said.
    pub(super) spent: (u64, Money),
}

impl PathState {
    /// The call that an input comes from, and for whom a turn works that it begins. A timer fires
    /// by it, an answer is delivered by it: what comes of a turn later is still for those for whom
    /// that turn worked.
    pub(super) fn begun_by(&mut self, entry: &Entry, from: &Sender) -> Result<Begun, Rule> {
        let (agent, call) = match *from {
            Sender::Timer { set } => {
                let works_for = self.timer_fired(set, entry)?;
                return Ok(Begun { works_for, ..Begun::default() });
            }
            Sender::Agent { agent, call: Some(call) } => (agent, call),
            Sender::Agent { call: None, .. } | Sender::Person { .. } | Sender::System => {
                return Ok(Begun::default());
            }
        };
        let to = entry.agent;
        let answers = |reply: &Reply| reply.to == to && reply.call == call && reply.from == agent;
        if let Some(place) = self.replies.iter().position(answers) {
            let Reply { works_for, spent, .. } = self.replies.remove(place);
            return Ok(Begun { caller: None, works_for, spent });
        }
        let Some(mode) = self.mode_of(agent, call, to) else { return Ok(Begun::default()) };
        // One that is called in a circle of tasks stands in it once.
        let above = self.works_for(agent).iter().copied().filter(|above| *above != agent);
        let works_for = std::iter::once(agent).chain(above).collect();
        Ok(Begun { caller: Some(Caller { agent, call, mode }), works_for, ..Begun::default() })
    }

    /// How an agent called another, by a call that is open.
    fn mode_of(&self, agent: AgentId, call: CallId, to: AgentId) -> Option<CallMode> {
        let open = self.agents.get(&agent)?.open_call(call)?;
        open.child.filter(|(child, _)| *child == to).map(|(_, mode)| mode)
    }

    /// For whom an agent works in the turn that it is in.
    pub(super) fn works_for(&self, agent: AgentId) -> &[AgentId] {
        let agent = self.agents.get(&agent).filter(|agent| agent.in_turn());
        let turn = agent.and_then(|agent| agent.turn.as_ref());
        turn.map_or(&[], |turn| &turn.works_for)
    }

    /// Whether one more answer could be delivered once it is there.
    pub(crate) fn has_room_for_answer(&self) -> bool {
        let sent = |agent: &Agent| {
            let caller = agent.turn.as_ref().filter(|_| agent.in_turn()).and_then(|t| t.caller);
            caller.is_some_and(|caller| caller.mode == CallMode::Send)
        };
        let open = self.agents.values().filter(|agent| sent(agent)).count();
        open + self.replies.len() < REPLIES_CAP
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
        turn.setup.peers = Arc::default();
        if let Some(Caller { agent: to, call, mode: CallMode::Send }) = turn.caller {
            let above = turn.works_for.iter().copied();
            let works_for = above.filter(|above| *above != to).collect();
            let spent = (turn.spent.tokens, turn.spent.cost);
            if !taken_back && self.known(to).is_ok() && self.replies.len() < REPLIES_CAP {
                self.replies.push(Reply { to, call, from: of, ended: at, works_for, spent });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::state::{Stage, Turn};

    #[test]
    fn an_answer_that_could_not_be_kept_is_not_asked_for() {
        let call = CallId::new(Seq(3), 0);
        let (to, from, ended) = (AgentId(1), AgentId(2), Seq(9));
        let reply = Reply { to, call, from, ended, works_for: Vec::new(), spent: (0, Money(0)) };
        let mut state = PathState { replies: vec![reply; REPLIES_CAP - 1], ..PathState::default() };
        assert!(state.has_room_for_answer());
        let mut agent = Agent::new(Arc::default());
        let turn = Turn::new(Seq(4), false, &agent, Arc::default(), Arc::default());
        let caller = Some(Caller { agent: to, call, mode: CallMode::Send });
        (agent.stage, agent.turn) = (Stage::Asked, Some(Turn { caller, ..turn }));
        state.agents.insert(from, Arc::new(agent));
        assert!(!state.has_room_for_answer(), "one that is worked on takes the last place");
    }
}
