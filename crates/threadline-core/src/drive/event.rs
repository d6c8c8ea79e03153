//! Events: what happens to a driver.

use crate::context::Material;
use crate::context::plan::DoesNotFit;
use crate::context::recap::RecapSource;
use crate::history::fact::{Attachment, FileChanged};
use crate::history::metadata::Metadata;
use crate::history::{Aftermath, History};
use crate::id::{AgentId, CallId};
use crate::inbox::{Item, ItemNumber};
use crate::provider::{Delta, ProviderError};
use crate::store::{OpenError, StoreError};
use crate::tool::ToolOutcome;
use crate::widget::Widgets;

/// Something that happened, as a driver is told.
///
/// What belongs to an invocation carries its ticket: what comes late, after the driver gave it
/// up, is known by it and passed over.
#[derive(Debug)]
pub enum Event {
    /// The driver may begin.
    Begin,
    /// Items wait in the inbox; those it knows already are passed over.
    Arrived(Vec<(ItemNumber, Item)>),
    /// The append under way is durable.
    Appended,
    /// The append under way is not known to be durable.
    NotAppended(Setback),
    /// What an invocation's context is made of was read.
    Gathered {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// What was read, or which part does not fit.
        gathered: Box<Result<Material, DoesNotFit>>,
    },
    /// What a recap is written from was read; none if there is nothing to be recapped.
    RecapGathered {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// What was read.
        source: Option<Box<RecapSource>>,
    },
    /// It could not be read.
    NotGathered {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// Why not.
        setback: Setback,
    },
    /// A model answered a bit further.
    Delta {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// The bit.
        delta: Delta,
    },
    /// A model's stream ended without its terminal signal: with an error, or just so.
    Broke {
        /// The agent.
        agent: AgentId,
        /// The invocation.
        ticket: Ticket,
        /// The error, if there was one.
        error: Option<ProviderError>,
    },
    /// A running call is about to change a file, and waits until that is on record.
    FileChange {
        /// The change.
        change: Box<FileChanged>,
    },
    /// A call that was run has its outcome.
    Ran {
        /// The call.
        call: CallId,
        /// What came of it.
        outcome: Outcome,
    },
    /// It was found out what became of a call, or that there is no way to know.
    Reconciled {
        /// The call.
        call: CallId,
        /// What came of it, if that is known.
        outcome: Option<Outcome>,
    },
    /// The state at the place that a rewind leads to was read.
    Past {
        /// The item that asked for the rewind.
        item: ItemNumber,
        /// The state, and what became of what was open there; or why it could not be read.
        past: Result<Box<Past>, Setback>,
    },
    /// A pause is over.
    Alarm(Alarm),
    /// The moment that was asked for may have come.
    Due,
    /// Someone else holds the conversation now.
    LeaseLost,
}

/// One asking of one model, or one pause, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The state that a rewind leads to.
#[derive(Debug)]
pub struct Past {
    /// The history as it was there.
    pub history: History,
    /// What became later of what was open there.
    pub aftermath: Aftermath,
    /// The widgets as they were there.
    pub widgets: Widgets,
}

/// What came of a call, with what it made already kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the tool said; its attachments are the ones below.
    pub outcome: ToolOutcome,
    /// Its attachments, kept in the store.
    pub attachments: Vec<Attachment>,
    /// How long it ran.
    pub elapsed_ms: u64,
    /// What goes beside the entry.
    pub metadata: Metadata,
}

/// Why the store did not do something, by what a driver can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// Nobody knows whether it did: the same again tells.
    AnswerLost(String),
    /// It did not, and may later.
    Later(String),
    /// It never will: someone else holds the conversation.
    Fenced,
    /// It never will: this inbox item was edited or withdrawn.
    ItemGone(ItemNumber),
    /// It never will.
    Never(String),
}

/// What a driver pauses for. One that was given up in the meantime is known by its ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alarm {
    /// A model may be asked again.
    Backoff(AgentId, Ticket),
    /// A batch may be appended again.
    Append,
    /// Calls that were told to stop had their time.
    Grace(AgentId, Ticket),
    /// A rewind may be tried again.
    Rewind,
}

impl From<StoreError> for Setback {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::AnswerLost(_) => Self::AnswerLost(text),
            StoreError::Busy | StoreError::Full | StoreError::Unavailable { .. } => {
                Self::Later(text)
            }
            StoreError::Fenced(_) => Self::Fenced,
            StoreError::ItemGone { item, .. } => Self::ItemGone(item),
            StoreError::NotFound(_)
            | StoreError::NoEntry { .. }
            | StoreError::Exists(_)
            | StoreError::Conflict { .. }
            | StoreError::Held { .. }
            | StoreError::OnHold { .. }
            | StoreError::KeyConflict { .. }
            | StoreError::NewerItem { .. }
            | StoreError::NoItem { .. }
            | StoreError::NotWaiting { .. }
            | StoreError::Shared { .. }
            | StoreError::MovedAway(_)
            | StoreError::NoAttachment(_)
            | StoreError::TooLarge { .. }
            | StoreError::Invalid(_)
            | StoreError::ReadOnly(_)
            | StoreError::Newer { .. }
            | StoreError::Damaged(_)
            | StoreError::DamagedConversation { .. }
            | StoreError::Poisoned(_) => Self::Never(text),
        }
    }
}

impl From<OpenError> for Setback {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            OpenError::Unreadable { .. }
            | OpenError::BrokenChain { .. }
            | OpenError::NoOutlineRow { .. }
            | OpenError::Widget { .. }
            | OpenError::Broken { .. } => Self::Never(error.to_string()),
        }
    }
}
