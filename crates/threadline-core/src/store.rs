//! Where histories live: the traits every store fills, and functions over them.
//!
//! [`Store`] keeps histories, [`Blobs`] keeps attachments, [`Search`] finds, [`Intake`] takes in
//! what was exported elsewhere. A store is held as `Arc<dyn Storage>`. One conformance suite
//! (`threadline_testing::store_suite`) says what all of them must do.

mod error;
mod lease;
mod listing;
mod open;
mod read;
pub(crate) mod replay;
pub mod verify;

use async_trait::async_trait;

pub use error::{LockedBy, StoreError};
pub use lease::{ClaimId, Lease};
pub use listing::{Conversation, Cursor, Filter, Listing, Origin, Sort};
pub use open::{OpenError, append, history_at, open, past, window};
pub use read::{Direction, PAGE_CAP_BYTES, Page};

use crate::history::batch::{AgentSums, Batch};
use crate::history::fact::Digest;
use crate::history::record::Record;
use crate::history::snapshot::Snapshot;
use crate::id::{AgentId, ConversationId, Seq, TenantId};
use crate::inbox::{Item, ItemNumber};
use crate::outline::OutlineRow;

/// Everything a store does.
pub trait Storage: Store + Blobs + Search + Intake {}

impl<T: Store + Blobs + Search + Intake + ?Sized> Storage for T {}

/// Keeps histories: appends are whole, fenced, in order, and durable when they return.
///
/// A store belongs to one tenant and sees no conversation of another.
#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a conversation with its first batch, on its own or as a fork.
    ///
    /// A fork shares the entries up to `base.1` with its parent and copies nothing; the batch
    /// follows them. Beginning the same conversation with the same batch again is no error.
    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError>;

    /// What is known of a conversation without reading it.
    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError>;

    /// What is known of a conversation's agents, in the order of their ids.
    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError>;

    /// A page of conversations.
    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError>;

    /// Appends a batch, and marks the inbox items it takes, in one transaction.
    ///
    /// Refused if the lease is no longer the conversation's ([`StoreError::Fenced`]) or if the
    /// batch does not follow its head ([`StoreError::Conflict`]). A batch that is already there
    /// is not appended again: after a lost answer, appending it again tells what became of it.
    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError>;

    /// A page of records, of the whole ledger or of one thread of it.
    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError>;

    /// The records at some places, in the order asked for.
    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError>;

    /// Up to `rows` outline rows of a thread: the row at `from` and those before it on its path,
    /// newest first.
    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError>;

    /// All outline rows after a place, rewound or not, in the order of their entries.
    async fn outline_ledger(
        &self,
        id: ConversationId,
        after: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError>;

    /// The rewinds after a place, in order: where each stands and where it leads.
    async fn rewinds(&self, id: ConversationId, after: Seq) -> Result<Vec<(Seq, Seq)>, StoreError>;

    /// Takes the right to append for a while. Refused ([`StoreError::Held`]) while a living owner
    /// holds it.
    async fn acquire(&self, id: ConversationId, ttl_ms: u64) -> Result<Lease, StoreError>;

    /// Keeps the right for another while.
    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError>;

    /// Gives the right back. A lease that was lost in the meantime is no error.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Takes the right to up to `most` conversations that are due: a timer or an inbox item has
    /// come, or a turn can go on; the longest due first.
    async fn claim(&self, most: usize, ttl_ms: u64) -> Result<Vec<Lease>, StoreError>;

    /// Puts an item into the inbox. The same key and body again gives the same answer; the same
    /// key and another body is refused ([`StoreError::KeyConflict`]).
    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError>;

    /// Items that were not yet taken, due or not, in order, after a number.
    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError>;

    /// The newest snapshot at or before a place.
    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError>;

    /// Keeps a snapshot. One that is not kept for good replaces the last such one.
    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError>;
}

/// What became of an item that was put into the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its number.
    pub number: ItemNumber,
    /// The entry it became, if it was taken already.
    pub taken: Option<Seq>,
}

/// The most bytes of one piece of an attachment.
pub const PIECE_CAP_BYTES: usize = 1024 * 1024;

/// Keeps attachments: streamed in and out, stored once under their digest.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Begins an upload.
    async fn begin_upload(&self) -> Result<Upload, StoreError>;

    /// Adds a piece of at most [`PIECE_CAP_BYTES`].
    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError>;

    /// Ends an upload: what was uploaded is now kept, under this digest.
    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError>;

    /// Forgets an upload.
    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError>;

    /// The size of an attachment, if it is kept.
    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError>;

    /// Up to `most` bytes of an attachment, from an offset.
    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError>;
}

/// An upload under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Upload(pub u64);

/// Finds entries by what they say.
#[async_trait]
pub trait Search: Send + Sync {
    /// A page of hits. The index has caught up with every append that returned before.
    ///
    /// Hits come by conversation, the newest in this store first, and within one the newest entry
    /// first.
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError>;

    /// How many entries the index lags behind.
    async fn index_lag(&self) -> Result<u64, StoreError>;

    /// For each entry of a conversation that has words, up to `most` after a place, the checksum
    /// of its terms as they are in the index (see [`crate::search::checksum`]).
    async fn index_checksums(
        &self,
        id: ConversationId,
        after: Seq,
        most: usize,
    ) -> Result<Vec<(Seq, u64)>, StoreError>;
}

/// What to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The words; all must be there, and those in quotation marks next to each other.
    pub text: String,
    /// In one conversation only.
    pub conversation: Option<ConversationId>,
    /// Of one agent only.
    pub agent: Option<AgentId>,
    /// Only after this hit.
    pub after: Option<(ConversationId, Seq)>,
    /// The most hits.
    pub most: usize,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The entry.
    pub seq: Seq,
    /// Its thread.
    pub agent: AgentId,
    /// Whether a rewind has left it off the path.
    pub rewound: bool,
}

/// Takes in what was exported elsewhere, in bounded memory: nothing of it is seen before it is
/// adopted, and nothing remains of what is not.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Begins to take in a conversation: whole, or what follows the entry it already has at
    /// `base`.
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError>;

    /// Adds a batch, and a snapshot after it that is kept for good, if there is one. Its entries
    /// follow those added before, or the base.
    async fn stage(
        &self,
        stage: StageId,
        batch: &Batch,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError>;

    /// Up to `most` records that were staged, from an entry on.
    async fn staged(
        &self,
        stage: StageId,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Record>, StoreError>;

    /// Makes it the conversation's history, with its inbox items. Refused
    /// ([`StoreError::Conflict`]) if the conversation has changed since it was begun.
    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        waiting: &[Item],
    ) -> Result<(), StoreError>;

    /// Forgets it.
    async fn discard(&self, stage: StageId) -> Result<(), StoreError>;
}

/// An intake under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageId(pub u64);

/// Whose store it is.
pub const DEFAULT_TENANT: TenantId = TenantId::NIL;
