//! An entry: a fact placed in a history.

use super::fact::{Attachment, Digest, Fact};
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
        let digests = |attachments: &[Attachment]| attachments.iter().map(|a| a.digest).collect();
        match &self.fact {
            Fact::Input(input) => digests(&input.attachments),
            Fact::ToolFinished(finished) => digests(&finished.attachments),
            Fact::InvocationStarted(started) => started.catalogue.into_iter().collect(),
            Fact::FileChanged(changed) => changed.content.iter().map(|a| a.digest).collect(),
            _ => Vec::new(),
        }
    }

    /// The results that it seals.
    pub fn sealed(&self) -> &[Seq] {
        match &self.fact {
            Fact::ToolResults(sealed) => &sealed.results,
            _ => &[],
        }
    }

    /// The entry that began the invocation which this one ends.
    pub fn ends_invocation(&self) -> Option<Seq> {
        match &self.fact {
            Fact::Output(_) => self.cause,
            Fact::InvocationFailed(failed) => Some(failed.started),
            _ => None,
        }
    }

    /// The entry after which the path goes on: the one before it, or where a rewind leads.
    pub fn parent(&self) -> Seq {
        match &self.fact {
            Fact::Rewound(rewound) => rewound.to,
            _ => self.seq.before(),
        }
    }
}
