//! An entry: a fact placed in a history.

use super::fact::{Digest, Fact};
use super::metadata::Metadata;
use crate::clock::Timestamp;
use crate::id::{AgentId, EntryId, Seq};

/// A fact placed in a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place in the conversation.
    pub seq: Seq,
    /// Its name, wherever the history is carried.
    pub id: EntryId,
    /// When it was placed.
    pub at: Timestamp,
    /// The thread it belongs to.
    pub agent: AgentId,
    /// The entry that led to it.
    pub cause: Option<Seq>,
    /// Small facts beside it.
    pub metadata: Metadata,
    /// What happened.
    pub fact: Fact,
}

impl Entry {
    /// The attachments it names, the catalogue of tools included.
    pub fn attachments(&self) -> Vec<Digest> {
        self.fact.attachments()
    }

    /// The results that it seals.
    pub fn sealed(&self) -> &[Seq] {
        self.fact.sealed()
    }

    /// The entry that began the invocation which this one ends.
    pub fn ends_invocation(&self) -> Option<Seq> {
        match &self.fact {
            Fact::Output(_) => self.cause,
            Fact::InvocationFailed(failed) => Some(failed.started),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => None,
        }
    }

    /// The entry after which the path goes on: the one before it, or where a rewind leads.
    pub fn parent(&self) -> Seq {
        self.fact.rewinds_to().unwrap_or_else(|| self.seq.before())
    }
}
