//! What is placed and not durable yet. The next requests are prepared on it, so that the beginning
//! of an invocation shares the batch of what led to it.
//!
//! To prepare a request has no effect on the world: the store is read, and bytes are made. So a
//! filled sheet waits for the requests of the agents that it moves, and no longer: whatever else
//! happens is placed on it, and once nothing is prepared any more, it is appended as it is. If the
//! process ends before, it ends as if it had just before anything was placed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Driver;
use super::appending::Move;
use super::calls::CallText;
use super::command::Command;
use crate::history::batch::Batch;
use crate::history::{History, Proposed};
use crate::id::{AgentId, CallId};
use crate::widget::Widgets;

/// A sheet that is filled and not durable yet.
pub(super) struct Filled {
    pub(super) batch: Arc<Batch>,
    /// The history and the widgets as they are once it is durable.
    pub(super) history: History,
    pub(super) widgets: Widgets,
    /// The calls of outputs that are placed on it.
    pub(super) texts: BTreeMap<CallId, CallText>,
    /// How agents move by it, entry by entry.
    pub(super) moves: Vec<Move>,
    /// Whether it is to be appended at once: then it waits for nothing.
    pub(super) urgent: bool,
    pub(super) contents: Contents,
}

/// What a batch holds besides facts that the driver derives from the history.
///
/// The store may refuse a batch that takes a message, because its sender has just edited or withdrawn
/// it. The driver then drops the whole batch and derives another. So a batch that takes a message
/// holds nothing that only this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Nothing else.
    Derived,
    /// Messages from the inbox.
    Messages,
    /// Answers, results and ends of turns that only this process knows.
    Completions,
}

impl Filled {
    /// A batch that is to be appended at once.
    pub(super) fn urgent(proposed: Proposed, widgets: Widgets, moves: Vec<Move>) -> Self {
        let Proposed { batch, history } = proposed;
        let (batch, texts) = (Arc::new(batch), BTreeMap::new());
        let (urgent, contents) = (true, Contents::Completions);
        Self { batch, history, widgets, texts, moves, urgent, contents }
    }

    /// Whether an agent stands elsewhere once it is durable.
    fn moves(&self, agent: AgentId, now: &History) -> bool {
        self.history.agent(agent) != now.agent(agent)
    }
}

impl Driver {
    /// The history as it will be once what is placed is durable. It will be, or the driver stops.
    pub fn ahead(&self) -> &History {
        self.placed().map_or(&self.history, |placed| &placed.history)
    }

    /// The widgets as they will be once what is placed is durable.
    pub(super) fn widgets_ahead(&self) -> &Widgets {
        self.placed().map_or(&self.widgets, |placed| &placed.widgets)
    }

    /// What is placed and may not be in the store yet.
    pub(super) fn unstored(&self) -> Option<Arc<Batch>> {
        self.placed().map(|placed| Arc::clone(&placed.batch))
    }

    fn placed(&self) -> Option<&Filled> {
        self.filled.as_ref().or(self.appending.as_ref().map(|appending| &appending.filled))
    }

    /// Whether what moves an agent must be durable before anything follows from it.
    pub(super) fn is_moving(&self, agent: AgentId) -> bool {
        let waits = self.filled.as_ref().is_some_and(|filled| !filled.urgent);
        !waits && self.placed().is_some_and(|placed| placed.moves(agent, &self.history))
    }

    /// Appends what is placed, unless a request is being prepared that follows from it.
    pub(super) fn hand_in(&mut self, out: &mut Vec<Command>) {
        let Some(filled) = self.filled.take() else { return };
        let mut prepared = self.asking.iter().filter(|(_, asking)| asking.is_being_prepared());
        if !filled.urgent && prepared.any(|(agent, _)| filled.moves(*agent, &self.history)) {
            self.filled = Some(filled);
        } else {
            self.append(filled, out);
        }
    }
}
