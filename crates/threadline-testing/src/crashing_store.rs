//! A store whose process dies, or whose answer is lost, at the n-th write.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use async_trait::async_trait;
use threadline_core::history::batch::{AgentSums, Batch};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    Audit, Blobs, Conversation, Hit, Holder, Intake, Lease, Listing, Origin, Page, Query, Queued,
    Search, StageId, Storage, Store, StoreError, Upload,
};

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before anything is written.
    DiesBefore,
    /// The process dies after it is written, before anyone is told.
    DiesAfter,
    /// It is written, the answer is lost, and the process lives.
    AnswerLost,
    /// Nothing is written, the answer is lost, and the process lives.
    NeverCame,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost, Self::NeverCame];

    /// Those after which the process is gone.
    pub const DEATHS: [Self; 2] = [Self::DiesBefore, Self::DiesAfter];
}

/// A store as one process has it, with one fault at one of its writes.
///
/// Writes are counted: appends, items, snapshots, attachments, and leases, of which no answer is
/// lost. Once the process is dead no call comes back any more, be it one that was under way: what
/// awaits one is to be dropped, as a process that was killed drops everything.
pub struct CrashingStore {
    inner: Arc<dyn Storage>,
    fault: Option<(u64, Fault)>,
    writes: AtomicU64,
    death: Mutex<Death>,
}

#[derive(Default)]
struct Death {
    dead: bool,
    waiting: Vec<Waker>,
}

impl CrashingStore {
    /// A store on which all goes well, and whose writes are counted.
    pub fn counting(inner: Arc<dyn Storage>) -> Self {
        Self { inner, fault: None, writes: AtomicU64::new(0), death: Mutex::default() }
    }

    /// A store with a fault at its n-th write, from 1.
    pub fn new(inner: Arc<dyn Storage>, nth: u64, fault: Fault) -> Self {
        Self { fault: Some((nth, fault)), ..Self::counting(inner) }
    }

    /// How many writes there were, the one with the fault among them.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Waits until the process is dead.
    pub async fn died(&self) {
        poll_fn(|context| {
            let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
            if death.dead {
                return Poll::Ready(());
            }
            death.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn die<T>(&self) -> T {
        let waiting = {
            let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
            death.dead = true;
            std::mem::take(&mut death.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
        pending().await
    }

    async fn while_alive<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let is_dead = || self.death.lock().unwrap_or_else(PoisonError::into_inner).dead;
        if is_dead() {
            return pending().await;
        }
        let answer = call.await;
        if is_dead() { pending().await } else { answer }
    }

    /// A write at which all faults can happen.
    async fn write<T: Send>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next_fault() {
            None => self.while_alive(call).await,
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::DiesAfter) => {
                drop(call.await);
                self.die().await
            }
            Some(Fault::AnswerLost) => match call.await {
                Ok(_) => Err(StoreError::AnswerLost("as the test has it".into())),
                Err(refused) => Err(refused),
            },
            Some(Fault::NeverCame) => Err(StoreError::AnswerLost("as the test has it".into())),
        }
    }

    /// A write of which no answer is lost.
    async fn lease<T: Send>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next_fault() {
            None | Some(Fault::AnswerLost | Fault::NeverCame) => self.while_alive(call).await,
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::DiesAfter) => {
                drop(call.await);
                self.die().await
            }
        }
    }

    fn next_fault(&self) -> Option<Fault> {
        let nth = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        self.fault.filter(|(at, _)| *at == nth).map(|(_, fault)| fault)
    }
}

#[async_trait]
impl Store for CrashingStore {
    fn audit(&self) -> Option<&dyn Audit> {
        self.inner.audit()
    }

    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError> {
        self.write(self.inner.create(id, base, first)).await
    }

    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError> {
        self.while_alive(self.inner.conversation(id)).await
    }

    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError> {
        self.while_alive(self.inner.agents(id)).await
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError> {
        self.while_alive(self.inner.list(listing)).await
    }

    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        self.write(self.inner.append(lease, batch)).await
    }

    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError> {
        self.while_alive(self.inner.read(id, page)).await
    }

    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        self.while_alive(self.inner.records(id, seqs)).await
    }

    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        self.while_alive(self.inner.outline(id, agent, from, rows)).await
    }

    async fn outline_rows(
        &self,
        id: ConversationId,
        agent: AgentId,
        seqs: &[Seq],
    ) -> Result<Vec<OutlineRow>, StoreError> {
        self.while_alive(self.inner.outline_rows(id, agent, seqs)).await
    }

    async fn outline_ledger(
        &self,
        id: ConversationId,
        after: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        self.while_alive(self.inner.outline_ledger(id, after, rows)).await
    }

    async fn rewinds(&self, id: ConversationId, after: Seq) -> Result<Vec<(Seq, Seq)>, StoreError> {
        self.while_alive(self.inner.rewinds(id, after)).await
    }

    async fn acquire(&self, id: ConversationId, ttl_ms: u64) -> Result<Lease, StoreError> {
        self.lease(self.inner.acquire(id, ttl_ms)).await
    }

    async fn acquire_unattended(
        &self,
        id: ConversationId,
        ttl_ms: u64,
    ) -> Result<Lease, StoreError> {
        self.lease(self.inner.acquire_unattended(id, ttl_ms)).await
    }

    async fn lift_hold(&self, id: ConversationId) -> Result<(), StoreError> {
        self.write(self.inner.lift_hold(id)).await
    }

    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError> {
        self.lease(self.inner.renew(lease, ttl_ms)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.lease(self.inner.release(lease)).await
    }

    async fn holder(&self, id: ConversationId) -> Result<Option<Holder>, StoreError> {
        self.while_alive(self.inner.holder(id)).await
    }

    async fn due(&self, most: usize) -> Result<Vec<ConversationId>, StoreError> {
        self.while_alive(self.inner.due(most)).await
    }

    async fn item(&self, id: ConversationId, key: &str) -> Result<Option<Queued>, StoreError> {
        self.while_alive(self.inner.item(id, key)).await
    }

    async fn claim(&self, most: usize, ttl_ms: u64) -> Result<Vec<Lease>, StoreError> {
        self.lease(self.inner.claim(most, ttl_ms)).await
    }

    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        self.write(self.inner.enqueue(id, item)).await
    }

    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
        self.while_alive(self.inner.waiting(id, after, most)).await
    }

    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.while_alive(self.inner.snapshot(id, at_most)).await
    }

    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError> {
        self.write(self.inner.keep_snapshot(id, snapshot, for_good)).await
    }
}

#[async_trait]
impl Blobs for CrashingStore {
    async fn begin_upload(&self) -> Result<Upload, StoreError> {
        self.while_alive(self.inner.begin_upload()).await
    }

    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError> {
        self.while_alive(self.inner.upload(upload, piece)).await
    }

    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError> {
        self.write(self.inner.finish_upload(upload)).await
    }

    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError> {
        self.while_alive(self.inner.abandon_upload(upload)).await
    }

    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError> {
        self.while_alive(self.inner.blob_size(digest)).await
    }

    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        self.while_alive(self.inner.blob(digest, offset, most)).await
    }
}

#[async_trait]
impl Search for CrashingStore {
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        self.while_alive(self.inner.search(query)).await
    }
}

#[async_trait]
impl Intake for CrashingStore {
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError> {
        self.while_alive(self.inner.begin_intake(id, base)).await
    }

    async fn stage(
        &self,
        stage: StageId,
        batch: &Batch,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError> {
        self.while_alive(self.inner.stage(stage, batch, snapshot)).await
    }

    async fn staged(
        &self,
        stage: StageId,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.while_alive(self.inner.staged(stage, from, most)).await
    }

    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        held: bool,
        waiting: &[Item],
    ) -> Result<(), StoreError> {
        self.write(self.inner.adopt(stage, origin, held, waiting)).await
    }

    async fn discard(&self, stage: StageId) -> Result<(), StoreError> {
        self.while_alive(self.inner.discard(stage)).await
    }
}
