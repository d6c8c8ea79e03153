//! Change notifications: a store signals that something changed, and subscribers read it.

use async_trait::async_trait;

use crate::id::ConversationId;

/// Something that changed in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A conversation was created, appended to, imported or deleted.
    History(ConversationId),
    /// An item was enqueued, edited or withdrawn.
    Inbox(ConversationId),
    /// The lease of a conversation was released.
    Lease(ConversationId),
    /// Anything may have changed: another process wrote, or the subscriber was too slow.
    Unknown,
}

impl Change {
    /// Returns whether the change can affect a conversation.
    pub fn concerns(self, id: ConversationId) -> bool {
        match self {
            Self::History(changed) | Self::Inbox(changed) | Self::Lease(changed) => changed == id,
            Self::Unknown => true,
        }
    }
}

/// A subscription to the changes of a store, from the moment of subscribing on.
#[async_trait]
pub trait Changes: Send {
    /// Waits for the next change. A future that is dropped loses no change.
    async fn next(&mut self) -> Change;
}
