//! What a store could not do, by what the caller can do about it.

use crate::clock::Timestamp;
use crate::history::fact::Digest;
use crate::id::{ConversationId, Seq};
use crate::inbox::ItemNumber;
use crate::store::{Hold, ItemState};

/// What a store could not do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Look for another: there is no such conversation here.
    #[error("there is no conversation {0} in this store")]
    NotFound(ConversationId),

    /// Look again: the conversation has no such entry.
    #[error("conversation {id} has no entry {seq}; its last is {head}")]
    NoEntry {
        /// The conversation.
        id: ConversationId,
        /// The entry asked for.
        seq: Seq,
        /// Its last entry.
        head: Seq,
    },

    /// Choose another id: this conversation is there already.
    #[error("conversation {0} is already in this store")]
    Exists(ConversationId),

    /// Drop all state: someone else holds the lease now.
    #[error("the lease on conversation {0} was lost to another owner")]
    Fenced(ConversationId),

    /// Read again: the history has moved on.
    #[error("conversation {id} is at entry {head}, not at {expected}")]
    Conflict {
        /// The conversation.
        id: ConversationId,
        /// Where the batch wanted to go.
        expected: Seq,
        /// Where the history is.
        head: Seq,
    },

    /// Wait, or go through the inbox: someone else is driving.
    #[error("conversation {id} is held by {} until {until}", .by.owner)]
    Held {
        /// The conversation.
        id: ConversationId,
        /// Who holds it.
        by: LockedBy,
        /// Until when, if they do not renew.
        until: Timestamp,
    },

    /// Resume it by name: nothing runs in it before that.
    #[error("conversation {id} is on hold: {}", hold.reason())]
    OnHold {
        /// The conversation.
        id: ConversationId,
        /// Why.
        hold: Hold,
    },

    /// Choose another key: it was used for something else.
    #[error("the client key {key:?} was already used for something else in conversation {id}")]
    KeyConflict {
        /// The conversation.
        id: ConversationId,
        /// The key.
        key: String,
    },

    /// Read the inbox again: the item was edited or withdrawn meanwhile.
    #[error("inbox item {} of conversation {id} does not wait any more", .item.0)]
    ItemGone {
        /// The conversation.
        id: ConversationId,
        /// The item.
        item: ItemNumber,
    },

    /// Update Threadline, or skip the item: a newer version enqueued it.
    #[error("inbox item {} of conversation {id} is of a newer version of threadline", .item.0)]
    NewerItem {
        /// The conversation.
        id: ConversationId,
        /// The item.
        item: ItemNumber,
    },

    /// Check the key: no item of the conversation has it.
    #[error("conversation {id} has no inbox item with the client key {key:?}")]
    NoItem {
        /// The conversation.
        id: ConversationId,
        /// The key.
        key: String,
    },

    /// Too late: the item was taken or withdrawn.
    #[error("the message {key:?} cannot be changed any more: {}", match .state {
        ItemState::Taken(seq) => format!("it is entry {seq} of the conversation"),
        ItemState::Withdrawn => "it was withdrawn".to_owned(),
        ItemState::Waiting => "it is being changed".to_owned(),
    })]
    NotWaiting {
        /// The conversation.
        id: ConversationId,
        /// The client key of the item.
        key: String,
        /// Its state.
        state: ItemState,
    },

    /// Delete those first: other conversations share entries of this one.
    #[error("conversation {id} cannot be deleted: {by} is a fork of it and shares its entries")]
    Shared {
        /// The conversation.
        id: ConversationId,
        /// One of those that share its entries.
        by: ConversationId,
    },

    /// Go where it went: this conversation was moved away.
    #[error("conversation {0} was moved to another store; import it again to go on here")]
    MovedAway(ConversationId),

    /// Store it first: an entry names an attachment that is not kept here.
    #[error("the attachment {0} is not in this store")]
    NoAttachment(Digest),

    /// Make it smaller.
    #[error("{what} is over the cap of {cap} bytes")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The cap.
        cap: usize,
    },

    /// Mend the request: it cannot be meant.
    #[error("{0}")]
    Invalid(String),

    /// Try again later: another process keeps the store busy.
    #[error("the store is busy: another process has locked it; try again")]
    Busy,

    /// Make room and try again; nothing was written.
    #[error("the disk is full; nothing was written, make room and try again")]
    Full,

    /// Open it where it can be written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),

    /// Update Threadline: a newer version wrote this.
    #[error(
        "this store is of version {found}, this program knows up to {known}; use a newer threadline"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },

    /// Run `threadline doctor`: what is stored is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),

    /// Verify it: the stored data of one conversation is not what was written. Other conversations
    /// are not affected.
    #[error("conversation {id} is damaged: {why}; `threadline verify {id} --deep` shows more")]
    DamagedConversation {
        /// The conversation.
        id: ConversationId,
        /// What is wrong.
        why: String,
    },

    /// Do the same again to learn what became of it: the answer was lost.
    #[error("the answer was lost; do the same again to learn what became of it")]
    AnswerLost(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// Restart: the disk failed, and nothing can be promised any more.
    #[error("the store stopped because the disk failed: {0}, then start threadline again")]
    Poisoned(String),

    /// Look at the cause: the store could not be reached.
    #[error("could not {doing}")]
    Unavailable {
        /// What was attempted.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// The same error, said of one conversation if it is damage.
    #[must_use]
    pub fn of_conversation(self, id: ConversationId) -> Self {
        if let Self::Damaged(why) = self { Self::DamagedConversation { id, why } } else { self }
    }

    /// Whether the store cannot be written now, which says nothing about reading it.
    pub fn refuses_writes(&self) -> bool {
        match self {
            Self::Busy | Self::Full | Self::ReadOnly(_) => true,
            Self::NotFound(_)
            | Self::NoEntry { .. }
            | Self::Exists(_)
            | Self::Fenced(_)
            | Self::Conflict { .. }
            | Self::Held { .. }
            | Self::OnHold { .. }
            | Self::KeyConflict { .. }
            | Self::ItemGone { .. }
            | Self::NewerItem { .. }
            | Self::NoItem { .. }
            | Self::NotWaiting { .. }
            | Self::Shared { .. }
            | Self::MovedAway(_)
            | Self::NoAttachment(_)
            | Self::TooLarge { .. }
            | Self::Invalid(_)
            | Self::Newer { .. }
            | Self::Damaged(_)
            | Self::DamagedConversation { .. }
            | Self::AnswerLost(_)
            | Self::Poisoned(_)
            | Self::Unavailable { .. } => false,
        }
    }

    /// The description of the damage, if this error reports damage.
    pub fn damage(&self) -> Option<&str> {
        match self {
            Self::Damaged(why) | Self::DamagedConversation { why, .. } => Some(why),
            Self::NotFound(_)
            | Self::NoEntry { .. }
            | Self::Exists(_)
            | Self::Fenced(_)
            | Self::Conflict { .. }
            | Self::Held { .. }
            | Self::OnHold { .. }
            | Self::KeyConflict { .. }
            | Self::ItemGone { .. }
            | Self::NewerItem { .. }
            | Self::NoItem { .. }
            | Self::NotWaiting { .. }
            | Self::Shared { .. }
            | Self::MovedAway(_)
            | Self::NoAttachment(_)
            | Self::TooLarge { .. }
            | Self::Invalid(_)
            | Self::Busy
            | Self::Full
            | Self::ReadOnly(_)
            | Self::Newer { .. }
            | Self::AnswerLost(_)
            | Self::Poisoned(_)
            | Self::Unavailable { .. } => None,
        }
    }
}

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedBy {
    /// The owner's name.
    pub owner: String,
}
