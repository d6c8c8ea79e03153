//! The batch that is built and not durable yet.
//!
//! The driver prepares the next requests on top of it, so that the start of an invocation shares the
//! batch of the facts that led to it. Preparing a request has no effect outside the process: it reads the
//! store and makes bytes. So a built batch waits for the requests of the agents whose state it changes,
//! and for nothing else. If the process ends before the append, the batch never was.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::appending::Move;
use super::calls::CallText;
use super::command::Command;
use crate::history::batch::Batch;
use crate::history::{History, Proposed};
use crate::id::{AgentId, CallId};
use crate::widget::Widgets;

/// A batch that is built.
pub(super) struct BuiltBatch {
    pub(super) batch: Arc<Batch>,
    /// The history and the widgets as they are once it is durable.
    pub(super) history: History,
    pub(super) widgets: Widgets,
    /// The calls of its outputs.
    pub(super) texts: BTreeMap<CallId, CallText>,
    /// How it changes the states of agents, entry by entry.
    pub(super) moves: Vec<Move>,
    /// True if the append does not wait for a request.
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

impl BuiltBatch {
    /// A batch that is appended at once.
    pub(super) fn urgent(proposed: Proposed, widgets: Widgets, moves: Vec<Move>) -> Self {
        let Proposed { batch, history } = proposed;
        let (batch, texts) = (Arc::new(batch), BTreeMap::new());
        let (urgent, contents) = (true, Contents::Completions);
        Self { batch, history, widgets, texts, moves, urgent, contents }
    }

    /// Returns whether the batch changes an agent.
    pub(super) fn changes(&self, agent: AgentId, durable: &History) -> bool {
        self.history.agent(agent) != durable.agent(agent)
    }
}

/// The one batch that is on its way into the store.
#[derive(Default)]
pub(super) enum PendingBatch {
    /// There is none.
    #[default]
    None,
    /// It is built, and more facts can be added.
    Built(BuiltBatch),
    /// It is being appended.
    Appending {
        /// The batch.
        built: BuiltBatch,
        /// How often the append failed.
        failures: u32,
    },
}

impl PendingBatch {
    /// The batch, whether it is being appended or not.
    pub(super) fn built(&self) -> Option<&BuiltBatch> {
        match self {
            Self::None => None,
            Self::Built(built) | Self::Appending { built, .. } => Some(built),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(super) fn is_appending(&self) -> bool {
        matches!(self, Self::Appending { .. })
    }

    /// Takes the built batch out, so that facts can be added to it.
    pub(super) fn reopen(&mut self) -> Option<BuiltBatch> {
        match std::mem::take(self) {
            Self::Built(built) => Some(built),
            other @ (Self::None | Self::Appending { .. }) => {
                *self = other;
                None
            }
        }
    }

    /// Whether the change of an agent must be durable before anything follows from it.
    pub(super) fn holds_back(&self, agent: AgentId, durable: &History) -> bool {
        match self {
            Self::None => false,
            Self::Built(built) => built.urgent && built.changes(agent, durable),
            Self::Appending { built, .. } => built.changes(agent, durable),
        }
    }

    /// Takes the built batch out to be appended, unless `awaits` says that a request is still being
    /// prepared for it.
    pub(super) fn take_if_ready(
        &mut self,
        awaits: impl FnOnce(&BuiltBatch) -> bool,
    ) -> Option<BuiltBatch> {
        let built = self.reopen()?;
        if built.urgent || !awaits(&built) {
            return Some(built);
        }
        *self = Self::Built(built);
        None
    }

    /// The command that appends the batch again.
    pub(super) fn append_command(&self) -> Option<Command> {
        match self {
            Self::Appending { built, .. } => Some(Command::Append(Arc::clone(&built.batch))),
            Self::None | Self::Built(_) => None,
        }
    }

    /// Notes that the append failed; returns how often it has, from 1.
    pub(super) fn note_failure(&mut self) -> u32 {
        match self {
            Self::Appending { failures, .. } => {
                *failures = failures.saturating_add(1);
                *failures
            }
            Self::None | Self::Built(_) => 0,
        }
    }

    /// Takes the batch out that was being appended: it is durable, or it was refused.
    pub(super) fn take_appending(&mut self) -> Option<BuiltBatch> {
        match std::mem::take(self) {
            Self::Appending { built, .. } => Some(built),
            other @ (Self::None | Self::Built(_)) => {
                *self = other;
                None
            }
        }
    }
}
