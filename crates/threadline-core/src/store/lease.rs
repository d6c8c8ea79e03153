//! A lease: the fenced right to append to one conversation for a while.

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
}

/// The random mark of one owner.
pub type ClaimId = [u8; 16];
