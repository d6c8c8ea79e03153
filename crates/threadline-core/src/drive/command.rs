//! Commands: what a driver wants done.

use std::sync::Arc;

use super::event::{Alarm, Ticket};
use super::step::RunState;
use crate::clock::Timestamp;
use crate::context::plan::Ask;
use crate::context::recap::RecapAsk;
use crate::history::History;
use crate::history::batch::Batch;
use crate::history::entry::Entry;
use crate::history::fact::{Digest, FileChanged};
use crate::history::snapshot::Snapshot;
use crate::id::{AgentId, CallId, Seq};
use crate::inbox::ItemNumber;
use crate::provider::{Delta, Request};
use crate::store::Predecessor;
use crate::tool::ToolSpec;
use crate::widget::Widgets;

/// Something a driver wants done. Whoever executes it decides nothing.
#[derive(Clone, Debug)]
pub enum Command {
    /// Append a batch under the lease, and tell what became of it. There is one at a time.
    Append(Arc<Batch>),
    /// Drop cached contexts: the store refused the batch that they were built on.
    DropContexts,
    /// Keep a snapshot; that it could not be kept is no failure.
    KeepSnapshot {
        /// What it is of.
        standing: Box<Standing>,
        /// Whether it is kept for good.
        for_good: bool,
    },
    /// Read what an invocation's context is made of.
    Gather {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// What to read.
        gather: Box<Gather>,
    },
    /// Read what a recap is written from.
    GatherRecap {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// What to read.
        gather: Box<GatherRecap>,
    },
    /// Ask a model, up to the delta that says that the request is prepared.
    Invoke {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// The request.
        request: Box<Request>,
    },
    /// The invocation is on record: let its answer come.
    Proceed {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
    },
    /// Give an invocation up, wherever it is.
    Abandon {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
    },
    /// Run a call: its start is on record.
    Run(Run),
    /// Find out what became of a call that someone started, without running it.
    Reconcile(Run),
    /// The file change that a running call announced is on record: it may be made.
    ChangeRecorded(CallId),
    /// The file change that a call announced is not on record and must not be made.
    ChangeRefused(CallId),
    /// Tell a running call to stop, and end it after a moment. Its outcome is still told.
    StopCall(CallId),
    /// Read the state that a rewind leads to.
    FetchPast {
        /// The item that asks for the rewind.
        item: ItemNumber,
        /// Where it leads.
        to: Seq,
    },
    /// Give an alarm after a while, whatever the clock says.
    Sleep {
        /// The alarm.
        alarm: Alarm,
        /// How long.
        ms: u64,
    },
    /// Say so when the clock has come to this moment; takes the place of the one before.
    WakeAt(Option<Timestamp>),
    /// Tell whoever watches.
    Publish(Notice),
    /// Nothing is left to do before something new comes: the lease may be given back.
    Rest(Rest),
    /// The driver has stopped: it must be dropped.
    Stop(Stopped),
}

/// What a history and its widgets have come to. Most are followed by the next before a snapshot of
/// them is kept, and so are never written as one.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The history.
    pub history: History,
    /// The widgets.
    pub widgets: Widgets,
}

impl Standing {
    /// The same as a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { widgets: self.widgets.encode(), ..self.history.to_snapshot() }
    }
}

/// What a context is made of, to be read.
#[derive(Clone, Debug)]
pub struct Gather {
    /// The history whose window is wanted.
    pub history: History,
    /// What of it may not be in the store yet: it is looked at before the store.
    pub unstored: Option<Arc<Batch>>,
    /// What the context is for.
    pub ask: Ask,
    /// The catalogue, which is to be kept as an attachment.
    pub catalogue: Option<(Digest, Arc<[u8]>)>,
}

/// What a recap is written from, to be read.
#[derive(Clone, Debug)]
pub struct GatherRecap {
    /// The history whose thread is read.
    pub history: History,
    /// What of it may not be in the store yet: it is looked at before the store.
    pub unstored: Option<Arc<Batch>>,
    /// What the recap is for.
    pub ask: RecapAsk,
}

/// A call to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The agent that called.
    pub agent: AgentId,
    /// The call.
    pub call: CallId,
    /// What it calls.
    pub tool: Arc<ToolSpec>,
    /// The arguments: JSON text that fits the schema.
    pub arguments: Arc<str>,
    /// Which attempt.
    pub attempt: u32,
    /// The key of its effect.
    pub effect_key: Arc<str>,
    /// When it was started.
    pub at: Timestamp,
    /// The file changes that it recorded before, in order.
    pub changes: Vec<FileChanged>,
    /// Whether the owner that started it before can still be running.
    pub predecessor: Predecessor,
}

/// What watchers are told.
#[derive(Clone, Debug)]
pub enum Notice {
    /// An entry is durable.
    Entry(Arc<Entry>),
    /// A model answered a bit further. It counts only once its output is an entry.
    Delta {
        /// The agent.
        agent: AgentId,
        /// The entry that began the invocation.
        started: Seq,
        /// The bit.
        delta: Delta,
    },
    /// An agent stands elsewhere.
    State {
        /// The agent.
        agent: AgentId,
        /// Where it stood.
        from: RunState,
        /// Where it stands.
        to: RunState,
    },
    /// Nothing can be recorded for the time being; it is tried again.
    Stalled(Arc<str>),
}

/// Why nothing is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// All agents rest.
    Idle,
    /// A person is asked.
    Approval,
    /// Agents wait for a time.
    Time,
}

/// Why a driver has stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Someone else holds the conversation.
    #[error("another driver has taken this conversation over")]
    LeaseLost,
    /// The history has entries of a newer version.
    #[error(
        "entry {0} is of a newer version of threadline: this history can be read but not driven"
    )]
    NotUnderstood(Seq),
    /// The conversation works in another folder than this process.
    #[error("the conversation works in the folder {path}, not in this one")]
    OtherWorkspace {
        /// The folder.
        path: Arc<str>,
    },
    /// The conversation has tools that work in a folder, and no folder was set.
    #[error("the conversation has no folder to work in yet")]
    NoWorkspace,
    /// The store cannot go on.
    #[error("{0}")]
    Store(String),
}
