//! Wrappers around a store: one hook around every call, for logs, metrics and faults.

use async_trait::async_trait;

use super::{
    Attendance, Audit, Blobs, Changes, Conversation, DueFilter, Hit, Holder, Intake, Lease,
    Listing, Origin, Page, Query, Queued, Search, StageId, Storage, Store, StoreError, Upload,
};
use crate::history::batch::{AgentSums, Batch};
use crate::history::fact::Digest;
use crate::history::record::Record;
use crate::history::snapshot::Snapshot;
use crate::id::{AgentId, ConversationId, Seq};
use crate::inbox::{Item, ItemNumber};
use crate::outline::OutlineRow;

/// A hook around every call to a store. [`Layered`] makes a store of it.
#[async_trait]
pub trait Layer: Send + Sync {
    /// The store that does the work.
    fn inner(&self) -> &dyn Storage;

    /// Runs a call: `call` does nothing before it is awaited.
    async fn around<T: Send>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError>;
}

/// A call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The name of the method.
    pub name: &'static str,
    /// The conversation it is about, if it is about one.
    pub conversation: Option<ConversationId>,
    /// The kind of access.
    pub access: Access,
}

/// The kind of access of a call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It changes something that is visible to all.
    Write,
    /// It changes a lease.
    Lease,
    /// It prepares an upload or an import, which is invisible until it is finished.
    Staging,
}

/// A store that runs every call through a [`Layer`].
pub struct Layered<L>(pub L);

#[async_trait]
impl<L: Layer> Store for Layered<L> {
    fn audit(&self) -> Option<&dyn Audit> {
        self.0.inner().audit()
    }

    fn subscribe(&self, only: Option<ConversationId>) -> Box<dyn Changes> {
        self.0.inner().subscribe(only)
    }

    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError> {
        let operation = Operation { name: "create", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().create(id, base, first)).await
    }

    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError> {
        let operation =
            Operation { name: "conversation", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().conversation(id)).await
    }

    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError> {
        let operation = Operation { name: "agents", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().agents(id)).await
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError> {
        let operation = Operation { name: "list", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().list(listing)).await
    }

    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        let operation = Operation {
            name: "append",
            conversation: Some(lease.conversation),
            access: Access::Write,
        };
        self.0.around(operation, self.0.inner().append(lease, batch)).await
    }

    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError> {
        let operation = Operation { name: "read", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().read(id, page)).await
    }

    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        let operation = Operation { name: "records", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().records(id, seqs)).await
    }

    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let operation = Operation { name: "outline", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().outline(id, agent, from, rows)).await
    }

    async fn outline_rows(
        &self,
        id: ConversationId,
        agent: AgentId,
        seqs: &[Seq],
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let operation =
            Operation { name: "outline_rows", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().outline_rows(id, agent, seqs)).await
    }

    async fn outline_ledger(
        &self,
        id: ConversationId,
        after: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let operation =
            Operation { name: "outline_ledger", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().outline_ledger(id, after, rows)).await
    }

    async fn rewinds(&self, id: ConversationId, after: Seq) -> Result<Vec<(Seq, Seq)>, StoreError> {
        let operation = Operation { name: "rewinds", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().rewinds(id, after)).await
    }

    async fn delete(&self, id: ConversationId) -> Result<(), StoreError> {
        let operation = Operation { name: "delete", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().delete(id)).await
    }

    async fn claim(
        &self,
        id: ConversationId,
        ttl_ms: u64,
        attendance: Attendance,
    ) -> Result<Lease, StoreError> {
        let operation = Operation { name: "claim", conversation: Some(id), access: Access::Lease };
        self.0.around(operation, self.0.inner().claim(id, ttl_ms, attendance)).await
    }

    async fn lift_hold(&self, id: ConversationId) -> Result<(), StoreError> {
        let operation =
            Operation { name: "lift_hold", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().lift_hold(id)).await
    }

    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError> {
        let operation = Operation {
            name: "renew",
            conversation: Some(lease.conversation),
            access: Access::Lease,
        };
        self.0.around(operation, self.0.inner().renew(lease, ttl_ms)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let operation = Operation {
            name: "release",
            conversation: Some(lease.conversation),
            access: Access::Lease,
        };
        self.0.around(operation, self.0.inner().release(lease)).await
    }

    async fn holder(&self, id: ConversationId) -> Result<Option<Holder>, StoreError> {
        let operation = Operation { name: "holder", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().holder(id)).await
    }

    async fn due(&self, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        let operation = Operation { name: "due", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().due(limit)).await
    }

    async fn claim_due(
        &self,
        limit: usize,
        ttl_ms: u64,
        filter: &DueFilter,
    ) -> Result<Vec<Lease>, StoreError> {
        let operation = Operation { name: "claim_due", conversation: None, access: Access::Lease };
        self.0.around(operation, self.0.inner().claim_due(limit, ttl_ms, filter)).await
    }

    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let operation =
            Operation { name: "enqueue", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().enqueue(id, item)).await
    }

    async fn edit(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let operation = Operation { name: "edit", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().edit(id, item)).await
    }

    async fn withdraw(&self, id: ConversationId, key: &str) -> Result<Queued, StoreError> {
        let operation =
            Operation { name: "withdraw", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().withdraw(id, key)).await
    }

    async fn item(&self, id: ConversationId, key: &str) -> Result<Option<Queued>, StoreError> {
        let operation = Operation { name: "item", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().item(id, key)).await
    }

    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
        let operation = Operation { name: "waiting", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().waiting(id, after, most)).await
    }

    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError> {
        let operation =
            Operation { name: "snapshot", conversation: Some(id), access: Access::Read };
        self.0.around(operation, self.0.inner().snapshot(id, at_most)).await
    }

    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError> {
        let operation =
            Operation { name: "keep_snapshot", conversation: Some(id), access: Access::Write };
        self.0.around(operation, self.0.inner().keep_snapshot(id, snapshot, for_good)).await
    }
}

#[async_trait]
impl<L: Layer> Blobs for Layered<L> {
    async fn begin_upload(&self) -> Result<Upload, StoreError> {
        let operation =
            Operation { name: "begin_upload", conversation: None, access: Access::Staging };
        self.0.around(operation, self.0.inner().begin_upload()).await
    }

    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError> {
        let operation = Operation { name: "upload", conversation: None, access: Access::Staging };
        self.0.around(operation, self.0.inner().upload(upload, piece)).await
    }

    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError> {
        let operation =
            Operation { name: "finish_upload", conversation: None, access: Access::Write };
        self.0.around(operation, self.0.inner().finish_upload(upload)).await
    }

    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError> {
        let operation =
            Operation { name: "abandon_upload", conversation: None, access: Access::Staging };
        self.0.around(operation, self.0.inner().abandon_upload(upload)).await
    }

    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError> {
        let operation = Operation { name: "blob_size", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().blob_size(digest)).await
    }

    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        let operation = Operation { name: "blob", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().blob(digest, offset, most)).await
    }
}

#[async_trait]
impl<L: Layer> Search for Layered<L> {
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        let operation = Operation { name: "search", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().search(query)).await
    }
}

#[async_trait]
impl<L: Layer> Intake for Layered<L> {
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError> {
        let operation =
            Operation { name: "begin_intake", conversation: Some(id), access: Access::Staging };
        self.0.around(operation, self.0.inner().begin_intake(id, base)).await
    }

    async fn stage(
        &self,
        stage: StageId,
        batch: &Batch,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError> {
        let operation = Operation { name: "stage", conversation: None, access: Access::Staging };
        self.0.around(operation, self.0.inner().stage(stage, batch, snapshot)).await
    }

    async fn staged(
        &self,
        stage: StageId,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let operation = Operation { name: "staged", conversation: None, access: Access::Read };
        self.0.around(operation, self.0.inner().staged(stage, from, most)).await
    }

    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        held: bool,
        waiting: &[Item],
    ) -> Result<(), StoreError> {
        let operation = Operation { name: "adopt", conversation: None, access: Access::Write };
        self.0.around(operation, self.0.inner().adopt(stage, origin, held, waiting)).await
    }

    async fn discard(&self, stage: StageId) -> Result<(), StoreError> {
        let operation = Operation { name: "discard", conversation: None, access: Access::Staging };
        self.0.around(operation, self.0.inner().discard(stage)).await
    }
}
