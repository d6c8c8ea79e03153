//! Where histories live: the traits every store fills, and functions over them.
//!
//! [`Store`] keeps histories, [`Blobs`] keeps attachments, [`Search`] finds, [`Intake`] takes in
//! what was exported elsewhere. A store is held as `Arc<dyn Storage>`. One conformance suite
//! (`threadline_testing::store_suite`) says what all of them must do.

mod chain;
mod change;
mod error;
mod gather;
mod layer;
mod lease;
mod listing;
mod media;
mod open;
mod read;
mod recall;
pub(crate) mod replay;
mod turns;
pub mod verify;

use async_trait::async_trait;

pub use chain::{
    changed_records, verified_entries, verified_entry, verified_page, verified_records,
};
pub use change::{Change, Changes};
pub use error::{LockedBy, StoreError};
pub use gather::{gather, gather_recap, gather_with};
pub use layer::{Access, Layer, Layered, Operation};
pub use lease::{Attendance, ClaimId, DueFilter, Holder, Lease, PARK_AFTER_DEATHS, Predecessor};
pub use listing::{Conversation, Cursor, Filter, Hold, Listing, Origin, Schedule, Sort};
pub use media::read_media;
pub use open::{
    OpenError, SnapshotDue, append, fork_base, history_at, history_with_widgets_at, open,
    open_with_widgets, past, past_with_widgets, replayed_with_widgets_at, snapshot_due,
};
pub use read::{Direction, PAGE_CAP_BYTES, Page};
pub use recall::Recall;
pub use turns::last_turns;

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
/// A store belongs to one tenant and sees no conversation of another. Whatever names a conversation
/// that is not there is refused ([`StoreError::NotFound`]).
#[async_trait]
pub trait Store: Send + Sync {
    /// What only verification reads, if the store offers it.
    fn audit(&self) -> Option<&dyn Audit> {
        None
    }

    /// Begins a conversation with its first batch, on its own or as a fork.
    ///
    /// A fork shares the entries up to `base.1` with its parent and copies nothing; the batch
    /// follows them. Beginning the same conversation with the same batch again is no error; with
    /// another batch it is refused ([`StoreError::Exists`]). The batch follows what it is begun
    /// on, else it is refused ([`StoreError::Conflict`]), and so is a base that the parent does
    /// not have ([`StoreError::NoEntry`]). What waits in the parent's inbox stays there.
    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError>;

    /// What is known of a conversation without reading it. A store that cannot read a part of it
    /// leaves that part out and says so ([`Conversation::damage`]).
    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError>;

    /// What is known of a conversation's agents, in the order of their ids.
    ///
    /// A batch with a rewind, and the first of a fork, name all agents: whom they do not name, the
    /// conversation no longer has.
    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError>;

    /// A page of conversations, by falling [`Cursor`]. Only [`Filter::Current`] and
    /// [`Filter::Archived`] look at whether one is archived. One that cannot be read is listed with
    /// its [`Conversation::damage`], and hides no other.
    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError>;

    /// Appends a batch, and marks the inbox items it takes, in one transaction.
    ///
    /// A batch that is already there is not appended again, whoever holds the lease by now: after
    /// a lost answer, appending it again tells what became of it. Else it is refused, in this
    /// order:
    ///
    /// - [`StoreError::Fenced`]: the lease was taken over or given back;
    /// - [`StoreError::MovedAway`]: the last entry closed the conversation;
    /// - [`StoreError::Conflict`]: the batch does not follow the head, by place and hash;
    /// - [`StoreError::NoAttachment`]: an entry names an attachment that is not kept here;
    /// - [`StoreError::ItemGone`]: it takes an item that does not wait, because it was edited or
    ///   withdrawn;
    /// - [`StoreError::KeyConflict`]: an input has a client key that was taken before, or that
    ///   waits under another body and is not taken here;
    /// - [`StoreError::Invalid`]: it has no entries.
    ///
    /// The client key of an input is known from then on as if the input had come through the
    /// inbox, and an input takes the item that waits under its key and has its body. A batch that
    /// ends with `Moved` closes the conversation. The first batch of a copy makes it an
    /// [`Origin::Own`] one.
    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError>;

    /// A page of records, of the whole ledger or of one thread of it. A page that begins beyond
    /// the last entry is empty if it goes forward, and begins at the last if it goes backward.
    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError>;

    /// The records at some places, in the order asked for. Refused if one is not there
    /// ([`StoreError::NoEntry`]).
    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError>;

    /// Up to `rows` outline rows of a thread: the row at `from` and those before it on its path,
    /// newest first. There are none if the thread has no row at `from`.
    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError>;

    /// The outline rows of a thread at some places, in any order; none for a place at which the
    /// thread has no row.
    async fn outline_rows(
        &self,
        id: ConversationId,
        agent: AgentId,
        seqs: &[Seq],
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

    /// Deletes a conversation with its entries, inbox and snapshots.
    ///
    /// Refused while another conversation shares entries that this one wrote
    /// ([`StoreError::Shared`]), and while a living owner holds its lease ([`StoreError::Held`]).
    /// Attachments stay: other conversations may use them.
    async fn delete(&self, id: ConversationId) -> Result<(), StoreError>;

    /// Takes the lease of a conversation.
    ///
    /// Refused while a living owner holds it, this one included ([`StoreError::Held`]), and if the
    /// conversation was moved away ([`StoreError::MovedAway`]). An owner counts as living until its
    /// lease expires, or until the store detects that its process died.
    ///
    /// An unattended owner is also refused while the conversation is on hold
    /// ([`StoreError::OnHold`]). If the last owner was unattended too, died without releasing its
    /// lease, and appended nothing, the store counts that; after [`PARK_AFTER_DEATHS`] the
    /// conversation is on hold.
    async fn claim(
        &self,
        id: ConversationId,
        ttl_ms: u64,
        attendance: Attendance,
    ) -> Result<Lease, StoreError>;

    /// Takes a conversation off hold and forgets deaths that were counted.
    async fn lift_hold(&self, id: ConversationId) -> Result<(), StoreError>;

    /// Keeps the right for another while from now, also if it had ended and nobody took it. Refused
    /// ([`StoreError::Fenced`]) if it was taken over or given back.
    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError>;

    /// Gives the right back. A lease that was lost in the meantime is no error.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// The current lease holder; none if nobody holds the lease or the holder has died.
    async fn holder(&self, id: ConversationId) -> Result<Option<Holder>, StoreError>;

    /// Lists up to `limit` conversations that are due and that no living owner holds, the longest
    /// due first. This is a read: another process may claim them first.
    ///
    /// [`Schedule`] says when a conversation is due. One that was moved away or is on hold is
    /// never due.
    async fn due(&self, limit: usize) -> Result<Vec<ConversationId>, StoreError>;

    /// Takes the leases of up to `limit` conversations that are [`due`](Self::due) and that the
    /// filter lets through, in one step, for unattended owners.
    async fn claim_due(
        &self,
        limit: usize,
        ttl_ms: u64,
        filter: &DueFilter,
    ) -> Result<Vec<Lease>, StoreError>;

    /// Puts an item into the inbox. The same key and body again gives the same answer; the same
    /// key and another body is refused ([`StoreError::KeyConflict`]).
    ///
    /// A fork knows the keys that were taken at or before the entry it branched off at. A new key
    /// is refused if it is longer than [`CLIENT_KEY_CAP_BYTES`](crate::inbox::CLIENT_KEY_CAP_BYTES)
    /// ([`StoreError::TooLarge`]), if the conversation was moved away
    /// ([`StoreError::MovedAway`]), or if its input names an attachment that is not kept here
    /// ([`StoreError::NoAttachment`]).
    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError>;

    /// Replaces the message that waits under the item's client key. The new version goes to the end
    /// of the inbox and has a number of its own.
    ///
    /// Refused if no item has this key ([`StoreError::NoItem`]), if it does not wait any more
    /// ([`StoreError::NotWaiting`]), and if either version is not a message
    /// ([`StoreError::Invalid`]); otherwise like [`enqueue`](Self::enqueue).
    async fn edit(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError>;

    /// Withdraws the message that waits under a client key; doing so again is no error. The key
    /// stays in use: enqueuing the item again does not bring it back. Refused like
    /// [`edit`](Self::edit).
    async fn withdraw(&self, id: ConversationId, key: &str) -> Result<Queued, StoreError>;

    /// The state of the item or input with a client key; none if the key is not known.
    async fn item(&self, id: ConversationId, key: &str) -> Result<Option<Queued>, StoreError>;

    /// The items that wait, due or not, in commit order, after a number.
    ///
    /// A page ends before an item that a newer version enqueued. A page that begins with one is refused
    /// ([`StoreError::NewerItem`]); the caller can go on after it.
    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError>;

    /// Subscribes to changes of one conversation, or of all conversations, in any process. A change
    /// by another process may be reported late.
    fn subscribe(&self, only: Option<ConversationId>) -> Box<dyn Changes>;

    /// The newest snapshot at or before a place. A fork also sees its parent's, up to the entry it
    /// branched off at.
    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError>;

    /// Keeps a snapshot. One that is not kept for good replaces the conversation's last such one.
    /// Refused ([`StoreError::NoEntry`]) if the conversation does not have its entry with its
    /// hash.
    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError>;
}

/// An item of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its number.
    pub number: ItemNumber,
    /// Its state.
    pub state: ItemState,
}

impl Queued {
    /// The entry it became, if it was taken.
    pub fn taken(self) -> Option<Seq> {
        match self.state {
            ItemState::Taken(seq) => Some(seq),
            ItemState::Waiting | ItemState::Withdrawn => None,
        }
    }
}

/// Why an item that is no message cannot be edited or withdrawn.
pub const NOT_A_MESSAGE: &str =
    "only messages can be edited or withdrawn, not answers, cancels or commands";

/// The state of an inbox item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// No driver has taken it yet.
    Waiting,
    /// It became this entry, or led to it.
    Taken(Seq),
    /// Its sender withdrew it.
    Withdrawn,
}

/// The most bytes of one piece of an attachment.
pub const PIECE_CAP_BYTES: usize = 1024 * 1024;

/// Keeps attachments: streamed in and out, stored once under their digest.
///
/// An upload lives as long as the process that began it. What is finished, abandoned or was never
/// begun cannot be added to or finished ([`StoreError::Invalid`]).
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Begins an upload.
    async fn begin_upload(&self) -> Result<Upload, StoreError>;

    /// Adds a piece of at most [`PIECE_CAP_BYTES`]; a larger one is refused
    /// ([`StoreError::TooLarge`]) and the upload is as it was.
    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError>;

    /// Ends an upload: what was uploaded is now kept, under this digest.
    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError>;

    /// Forgets an upload.
    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError>;

    /// The size of an attachment, if it is kept.
    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError>;

    /// Up to `most` bytes of an attachment, from an offset; none only at its end. Refused
    /// ([`StoreError::NoAttachment`]) if it is not kept.
    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError>;
}

/// An upload under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Upload(pub u64);

/// Finds entries by what they say.
#[async_trait]
pub trait Search: Send + Sync {
    /// A page of hits. The index has caught up with every append that returned before, unless the
    /// store cannot be written now: then [`Audit::index_lag`] is the number of entries not searched.
    ///
    /// Hits come by conversation, the newest in this store first, and within one the newest entry
    /// first. An entry that forks share is a hit of the conversation that wrote it; in a search of
    /// one conversation, all of its entries are its own. A query without words finds nothing.
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError>;
}

/// Reads that only verification needs. A store need not offer them: see [`Store::audit`].
#[async_trait]
pub trait Audit: Send + Sync {
    /// How many entries the index lags behind.
    async fn index_lag(&self) -> Result<u64, StoreError>;

    /// For each entry of a conversation that has words, up to `most` after a place, the checksum
    /// of its terms as they are in the index (see [`crate::search::checksum`]). Shared entries of a
    /// fork are among them. An error ([`StoreError::refuses_writes`]) if the index lags behind and
    /// cannot be written now.
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
///
/// An intake lives as long as the process that began it. What is adopted, discarded or was never
/// begun cannot be added to or adopted ([`StoreError::Invalid`]).
#[async_trait]
pub trait Intake: Send + Sync {
    /// Begins to take in a conversation: whole, or what follows the entry it already has at
    /// `base`. Refused if a whole one is there already ([`StoreError::Exists`]), if there is no
    /// entry `base` ([`StoreError::NoEntry`]), or if it is not the last ([`StoreError::Conflict`]).
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError>;

    /// Adds a batch, and a snapshot after it that is kept for good, if there is one. Its entries
    /// follow those added before, or the base; if not, it is refused ([`StoreError::Conflict`]), as
    /// it is if an attachment is missing ([`StoreError::NoAttachment`]). The items it took are those
    /// of another store, and are not looked at.
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
    /// ([`StoreError::Conflict`]) if the conversation has changed since it was begun, or is there
    /// by now. A whole one has entries ([`StoreError::Invalid`]); what follows a base may be empty.
    ///
    /// The conversation is open from then on, even if its last entry is `Moved`. The client keys
    /// of its inputs are known, and an item that waits under one of them is taken. If the
    /// conversation had been moved away, what waited here went with it: what waits from then on is
    /// what is given. The items given are put in as by [`Store::enqueue`], all or nothing. If it is
    /// to be held, nothing runs in it before a person resumes it ([`Hold::Imported`]).
    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        held: bool,
        waiting: &[Item],
    ) -> Result<(), StoreError>;

    /// Forgets it. What is not there any more is no error.
    async fn discard(&self, stage: StageId) -> Result<(), StoreError>;
}

/// An intake under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageId(pub u64);

/// Whose store it is.
pub const DEFAULT_TENANT: TenantId = TenantId::NIL;
