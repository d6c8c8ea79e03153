//! A lease: the fenced right to append to one conversation for a while.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::id::{ConversationId, Seq};

/// The right to append to one conversation for a while.
///
/// The lease is for liveness; safety is in the fence, epoch and claim, which every append checks.
/// A lease need not be unexpired to append, only not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The conversation.
    pub conversation: ConversationId,
    /// Rises with every new owner.
    pub epoch: u64,
    /// This owner's random mark: two owners never share one, even if an epoch were given twice.
    pub claim: ClaimId,
    /// When others may take it, if it is not renewed.
    pub until: Timestamp,
    /// The conversation's last entry when the lease was taken.
    pub head: Seq,
    /// Whether the owner before this one can still be running.
    pub predecessor: Predecessor,
}

/// The holder of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner's name.
    pub owner: String,
    /// When others may take it, if it is not renewed.
    pub until: Timestamp,
}

/// What a new owner knows of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predecessor {
    /// There was none, it gave its lease back, or its process has ended.
    Gone,
    /// Its lease ran out and its process may still be running. It can no longer append, but an
    /// effect that it had begun may still happen.
    MayLive,
}

/// Whether a person asked for a conversation to be driven, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// A person did.
    Attended,
    /// It is driven because it is due.
    Unattended,
}

/// Which due conversations a worker claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueFilter {
    /// Conversations that the worker skips, for example because it does not have their folder.
    pub except: BTreeSet<ConversationId>,
}

/// How many times in a row an unattended driver may die at the same entry before the conversation
/// is parked.
pub const PARK_AFTER_DEATHS: u32 = 3;

/// The random mark of one owner.
pub type ClaimId = [u8; 16];
