//! The invocations under way: one at a time for each agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking::Asking;
use super::event::Ticket;
use super::recapping::RecapItem;
use super::setting::{Setting, Shown};
use crate::history::fact::AgentJoined;
use crate::history::state::Peer;
use crate::id::AgentId;

/// The invocations of this process, and what is next for agents that have none.
#[derive(Default)]
pub(super) struct Invocations {
    pub(super) active: BTreeMap<AgentId, Asking>,
    /// Recaps that someone asked for.
    pub(super) recaps: BTreeMap<AgentId, RecapItem>,
    /// Agents whose model is not invoked before a pause is over.
    pauses: BTreeMap<AgentId, Ticket>,
    /// The tool catalogues of agents, by their settings and the other agents.
    catalogues: BTreeMap<AgentId, (CatalogueKey, Shown)>,
    tickets: u64,
}

/// An agent's settings and the agents that it may call: its catalogue follows from them.
type CatalogueKey = (Arc<AgentJoined>, Arc<Vec<Peer>>);

impl Invocations {
    /// A number that no other invocation or pause of this process has.
    pub(super) fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Whether nothing is under way and no pause runs.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.pauses.is_empty()
    }

    /// Whether an agent has an invocation or a pause.
    pub(super) fn is_busy(&self, agent: AgentId) -> bool {
        self.active.contains_key(&agent) || self.pauses.contains_key(&agent)
    }

    /// The invocation of an agent, if it is still this one.
    pub(super) fn get(&self, agent: AgentId, ticket: Ticket) -> Option<&Asking> {
        self.active.get(&agent).filter(|asking| asking.ticket == ticket)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, agent: AgentId, ticket: Ticket) -> Option<&mut Asking> {
        self.active.get_mut(&agent).filter(|asking| asking.ticket == ticket)
    }

    /// Whether an agent's request is still being prepared and can be made again.
    pub(super) fn can_begin_again(&self, agent: AgentId) -> bool {
        self.active.get(&agent).is_some_and(Asking::can_begin_again)
    }

    /// The agents whose request was not sent yet.
    pub(super) fn unsent(&self) -> Vec<AgentId> {
        let unsent = self.active.iter().filter(|(_, asking)| !asking.is_sent());
        unsent.map(|(agent, _)| *agent).collect()
    }

    /// The agents whose request is being prepared.
    pub(super) fn preparing(&self) -> impl Iterator<Item = AgentId> {
        let preparing = self.active.iter().filter(|(_, asking)| asking.is_being_prepared());
        preparing.map(|(agent, _)| *agent)
    }

    /// Begins a pause of an agent.
    pub(super) fn pause(&mut self, agent: AgentId) -> Ticket {
        let ticket = self.next_ticket();
        self.pauses.insert(agent, ticket);
        ticket
    }

    /// Ends a pause, unless another has begun since.
    pub(super) fn end_pause(&mut self, agent: AgentId, ticket: Ticket) {
        self.pauses.retain(|of, pause| *of != agent || *pause != ticket);
    }

    /// Ends whatever pause an agent has.
    pub(super) fn cancel_pause(&mut self, agent: AgentId) {
        self.pauses.remove(&agent);
    }

    /// The catalogue of an agent, made again only when its settings or the other agents change.
    pub(super) fn catalogue(
        &mut self,
        setting: &Setting,
        agent: AgentId,
        joined: &Arc<AgentJoined>,
        peers: &Arc<Vec<Peer>>,
    ) -> Shown {
        match self.catalogues.get(&agent) {
            Some(((of, beside), shown)) if of == joined && beside == peers => shown.clone(),
            Some(_) | None => {
                let shown = setting.shown_to(joined, peers);
                let key = (Arc::clone(joined), Arc::clone(peers));
                self.catalogues.insert(agent, (key, shown.clone()));
                shown
            }
        }
    }

    /// The catalogue that an agent with these settings was last shown.
    pub(super) fn known_catalogue(
        &self,
        agent: AgentId,
        joined: &Arc<AgentJoined>,
    ) -> Option<&Shown> {
        let (_, shown) = self.catalogues.get(&agent).filter(|((of, _), _)| of == joined)?;
        Some(shown)
    }
}
