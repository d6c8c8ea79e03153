//! A store in memory: the model that every other store is compared with.
//!
//! One lock, plain maps, and the shortest code that keeps the promises of
//! [`threadline_core::store`]; everything is looked for from the front. It is gone with the
//! process, but for handles that share its content.

mod blobs;
mod intake;
mod kept;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use threadline_core::clock::{Clock, Timestamp};
use threadline_core::history::batch::{AgentSums, Batch};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{AgentId, ConversationId, IdSource, Seq, TenantId};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    Attendance, Audit, Change, Changes, Conversation, Cursor, Direction, DueFilter, Holder,
    ItemState, Lease, Listing, PAGE_CAP_BYTES, Page, Queued, StageId, Store, StoreError, Upload,
};

use self::intake::Staged;
use self::kept::Kept;
use crate::changes::ChangeSender;

/// A store in memory.
pub struct MemoryStore {
    content: Arc<Mutex<Content>>,
    changes: ChangeSender,
    /// Tells handles apart: an upload or intake is of the handle that began it.
    handle: u64,
    tenant: TenantId,
    owner: String,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

/// What all handles of a store share.
#[derive(Default)]
struct Content {
    conversations: BTreeMap<(TenantId, ConversationId), Kept>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    uploads: BTreeMap<Upload, (u64, Vec<u8>)>,
    stages: BTreeMap<StageId, Staged>,
    /// The last number that was given to anything.
    last_number: u64,
}

impl MemoryStore {
    /// An empty store of a tenant, opened by an owner.
    pub fn new(
        tenant: TenantId,
        owner: String,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        let (content, changes) = (Arc::default(), ChangeSender::default());
        Self { content, changes, handle: 0, tenant, owner, clock, ids }
    }

    /// The same content opened by another owner, as by another process.
    #[must_use]
    pub fn another_owner(&self, owner: String) -> Self {
        self.another(self.tenant, owner)
    }

    /// The same content opened for another tenant.
    #[must_use]
    pub fn another_tenant(&self, tenant: TenantId) -> Self {
        self.another(tenant, self.owner.clone())
    }

    fn another(&self, tenant: TenantId, owner: String) -> Self {
        let (content, handle) = (Arc::clone(&self.content), self.content().number());
        let (clock, ids) = (Arc::clone(&self.clock), Arc::clone(&self.ids));
        Self { content, changes: self.changes.clone(), handle, tenant, owner, clock, ids }
    }

    /// Puts an item that was checked into an inbox.
    fn put(
        &self,
        content: &mut Content,
        id: ConversationId,
        item: &Item,
    ) -> Result<Queued, StoreError> {
        let number = ItemNumber(content.number());
        content.kept_mut(self.tenant, id)?.put(item, number, self.clock.now());
        self.changes.send(Change::Inbox(id));
        Ok(Queued { number, state: ItemState::Waiting })
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        // Nothing is left half done by a panic: all checks come before the first change.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(&self, kept: &mut Kept, ttl_ms: u64, attendance: Attendance) -> Lease {
        let until = self.clock.now().plus_millis(ttl_ms);
        kept.hold(self.owner.clone(), self.ids.random(), until, attendance)
    }
}

impl Content {
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn kept(&self, tenant: TenantId, id: ConversationId) -> Result<&Kept, StoreError> {
        self.conversations.get(&(tenant, id)).ok_or(StoreError::NotFound(id))
    }

    fn kept_mut(&mut self, tenant: TenantId, id: ConversationId) -> Result<&mut Kept, StoreError> {
        self.conversations.get_mut(&(tenant, id)).ok_or(StoreError::NotFound(id))
    }

    /// All conversations of a tenant.
    fn of(&self, tenant: TenantId) -> impl Iterator<Item = &Kept> {
        self.conversations.iter().filter(move |((t, _), _)| *t == tenant).map(|(_, kept)| kept)
    }

    /// Conversations that are due and free, the longest due first.
    fn due(&self, tenant: TenantId, now: Timestamp) -> Vec<ConversationId> {
        let free = self.of(tenant).filter(|kept| kept.check_free(now).is_ok());
        let due = free.map(Kept::conversation).filter(|conversation| conversation.is_due(now));
        let due: BTreeSet<_> = due.map(|found| (found.due_at, found.id)).collect();
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// A conversation that shares entries which another one wrote.
    fn sharing(&self, tenant: TenantId, id: ConversationId) -> Option<ConversationId> {
        let mut all = self.of(tenant);
        let sharing = all.find(|kept| kept.base.is_some_and(|(parent, _)| parent == id));
        sharing.map(|kept| kept.conversation.id)
    }

    /// Refuses entries that name attachments that are not kept.
    fn check_attachments(
        &self,
        mut digests: impl Iterator<Item = Digest>,
    ) -> Result<(), StoreError> {
        let missing = digests.find(|digest| !self.blobs.contains_key(digest));
        missing.map_or(Ok(()), |digest| Err(StoreError::NoAttachment(digest)))
    }

    fn check_batch_attachments(&self, batch: &Batch) -> Result<(), StoreError> {
        self.check_attachments(batch.attachments.iter().copied())
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn audit(&self) -> Option<&dyn Audit> {
        Some(self)
    }

    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError> {
        let mut content = self.content();
        if let Ok(kept) = content.kept(self.tenant, id) {
            return if kept.has(first) { Ok(()) } else { Err(StoreError::Exists(id)) };
        }
        let number = content.number();
        let mut kept = match base {
            None => Kept::new(id, number),
            Some((parent, seq)) => content.kept(self.tenant, parent)?.fork(id, number, seq)?,
        };
        kept.check_follows(first)?;
        content.check_batch_attachments(first)?;
        kept.check_taken(first)?;
        kept.check_keys(first)?;
        kept.conversation.created_at = first.first_at();
        kept.append(first, &mut || content.number());
        kept.conversation.forked_from = base;
        content.conversations.insert((self.tenant, id), kept);
        self.changes.send(Change::History(id));
        Ok(())
    }

    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError> {
        Ok(self.content().kept(self.tenant, id)?.conversation())
    }

    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError> {
        Ok(self.content().kept(self.tenant, id)?.agents.values().cloned().collect())
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError> {
        let content = self.content();
        let mut found: Vec<(Cursor, &Kept)> = content
            .of(self.tenant)
            .filter(|kept| listing.filter.shows(&kept.conversation.sums))
            .map(|kept| (kept.conversation.cursor(listing.sort), kept))
            .filter(|(cursor, _)| listing.after.is_none_or(|after| *cursor < after))
            .collect();
        found.sort_by_key(|(cursor, _)| std::cmp::Reverse(*cursor));
        Ok(found.into_iter().take(listing.most).map(|(_, kept)| kept.conversation()).collect())
    }

    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        let mut content = self.content();
        let kept = content.kept(self.tenant, lease.conversation)?;
        if kept.has(batch) {
            return Ok(());
        }
        kept.check_fence(lease)?;
        kept.check_open()?;
        kept.check_follows(batch)?;
        content.check_batch_attachments(batch)?;
        kept.check_taken(batch)?;
        kept.check_keys(batch)?;
        let mut number = content.last_number;
        let kept = content.kept_mut(self.tenant, lease.conversation)?;
        kept.append(batch, &mut || {
            number += 1;
            number
        });
        content.last_number = number;
        self.changes.send(Change::History(lease.conversation));
        Ok(())
    }

    async fn delete(&self, id: ConversationId) -> Result<(), StoreError> {
        let mut content = self.content();
        content.kept(self.tenant, id)?.check_free(self.clock.now())?;
        if let Some(by) = content.sharing(self.tenant, id) {
            return Err(StoreError::Shared { id, by });
        }
        content.conversations.remove(&(self.tenant, id));
        self.changes.send(Change::History(id));
        Ok(())
    }

    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError> {
        let content = self.content();
        let kept = content.kept(self.tenant, id)?;
        let of_thread = |placed: &&Arc<_>| kept::is_of_thread(placed, page.thread);
        let mut entries: Vec<_> = match page.direction {
            Direction::Forward => {
                kept.entries.iter().filter(|placed| placed.entry.seq >= page.from).collect()
            }
            Direction::Backward => {
                kept.entries.iter().filter(|placed| placed.entry.seq <= page.from).rev().collect()
            }
        };
        entries.retain(of_thread);
        let mut bytes = 0;
        let records = entries.into_iter().take(page.most).map(|placed| &*placed.record);
        let fits = |record: &&Record| {
            let first = bytes == 0;
            bytes += record.size();
            first || bytes <= PAGE_CAP_BYTES
        };
        Ok(records.take_while(fits).cloned().collect())
    }

    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        let content = self.content();
        let kept = content.kept(self.tenant, id)?;
        seqs.iter().map(|seq| Ok((*kept.placed(*seq)?.record).clone())).collect()
    }

    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let content = self.content();
        let kept = content.kept(self.tenant, id)?;
        let row_at = |seq: Seq| kept.rows.get(&seq).filter(|row| row.agent == agent);
        let path = std::iter::successors(row_at(from), |row| row.previous.and_then(row_at));
        Ok(path.take(rows).cloned().collect())
    }

    async fn outline_rows(
        &self,
        id: ConversationId,
        agent: AgentId,
        seqs: &[Seq],
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let content = self.content();
        let kept = content.kept(self.tenant, id)?;
        let row_at = |seq: &Seq| kept.rows.get(seq).filter(|row| row.agent == agent);
        Ok(seqs.iter().filter_map(row_at).cloned().collect())
    }

    async fn outline_ledger(
        &self,
        id: ConversationId,
        after: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let content = self.content();
        let all = content.kept(self.tenant, id)?.rows.values();
        Ok(all.filter(|row| row.seq > after).take(rows).cloned().collect())
    }

    async fn rewinds(&self, id: ConversationId, after: Seq) -> Result<Vec<(Seq, Seq)>, StoreError> {
        let content = self.content();
        let rewinds = content.kept(self.tenant, id)?.rewinds.iter();
        Ok(rewinds.filter(|(stands, _)| *stands > after).copied().collect())
    }

    async fn claim(
        &self,
        id: ConversationId,
        ttl_ms: u64,
        attendance: Attendance,
    ) -> Result<Lease, StoreError> {
        let mut content = self.content();
        let kept = content.kept_mut(self.tenant, id)?;
        kept.check_open()?;
        kept.check_free(self.clock.now())?;
        match attendance {
            Attendance::Attended => {}
            Attendance::Unattended => {
                kept.count_death();
                kept.check_not_on_hold()?;
            }
        }
        Ok(self.lease(kept, ttl_ms, attendance))
    }

    async fn lift_hold(&self, id: ConversationId) -> Result<(), StoreError> {
        self.content().kept_mut(self.tenant, id)?.lift_hold();
        Ok(())
    }

    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError> {
        let mut content = self.content();
        let kept = content.kept_mut(self.tenant, lease.conversation)?;
        kept.check_fence(lease)?;
        let until = self.clock.now().plus_millis(ttl_ms);
        kept.extend(until);
        Ok(Lease { until, ..lease.clone() })
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut content = self.content();
        let kept = content.kept_mut(self.tenant, lease.conversation)?;
        if kept.check_fence(lease).is_ok() {
            kept.let_go();
            self.changes.send(Change::Lease(lease.conversation));
        }
        Ok(())
    }

    async fn holder(&self, id: ConversationId) -> Result<Option<Holder>, StoreError> {
        Ok(self.content().kept(self.tenant, id)?.holder(self.clock.now()))
    }

    async fn due(&self, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        Ok(self.content().due(self.tenant, self.clock.now()).into_iter().take(limit).collect())
    }

    async fn claim_due(
        &self,
        limit: usize,
        ttl_ms: u64,
        filter: &DueFilter,
    ) -> Result<Vec<Lease>, StoreError> {
        let mut content = self.content();
        let mut due = content.due(self.tenant, self.clock.now());
        due.retain(|id| !filter.except.contains(id));
        let mut leases = Vec::new();
        for id in due.into_iter().take(limit) {
            let kept = content.kept_mut(self.tenant, id)?;
            kept.count_death();
            if kept.check_not_on_hold().is_ok() {
                leases.push(self.lease(kept, ttl_ms, Attendance::Unattended));
            }
        }
        Ok(leases)
    }

    async fn item(&self, id: ConversationId, key: &str) -> Result<Option<Queued>, StoreError> {
        Ok(self.content().kept(self.tenant, id)?.queued(key))
    }

    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let mut content = self.content();
        let kept = content.kept(self.tenant, id)?;
        if let Some(known) = kept.known(item)? {
            return Ok(known);
        }
        kept.check_open()?;
        kept::check_item(item)?;
        content.check_attachments(kept::item_attachments(item))?;
        self.put(&mut content, id, item)
    }

    async fn edit(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let mut content = self.content();
        let kept = content.kept(self.tenant, id)?;
        let waiting = kept.message(&item.client_key)?;
        kept::check_message(item)?;
        content.check_attachments(kept::item_attachments(item))?;
        let kept = content.kept_mut(self.tenant, id)?;
        kept.remove(waiting.number);
        self.put(&mut content, id, item)
    }

    async fn withdraw(&self, id: ConversationId, key: &str) -> Result<Queued, StoreError> {
        let mut content = self.content();
        let kept = content.kept_mut(self.tenant, id)?;
        let withdrawn = match kept.message(key) {
            Ok(waiting) => kept.withdraw(waiting.number),
            Err(StoreError::NotWaiting { state: ItemState::Withdrawn, .. }) => kept.queued(key),
            Err(error) => return Err(error),
        };
        self.changes.send(Change::Inbox(id));
        withdrawn.ok_or_else(|| StoreError::NoItem { id, key: key.to_owned() })
    }

    fn subscribe(&self, only: Option<ConversationId>) -> Box<dyn Changes> {
        self.changes.subscribe(only)
    }

    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
        let content = self.content();
        let waiting = content.kept(self.tenant, id)?.waiting.iter();
        let waiting = waiting.filter(|(number, _)| **number > after).take(most);
        Ok(waiting.map(|(number, (_, item))| (*number, item.clone())).collect())
    }

    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError> {
        let content = self.content();
        let mut kept = content.kept(self.tenant, id)?;
        let mut at_most = at_most;
        let mut newest = kept.snapshot(at_most);
        while let Some((parent, shared)) = kept.base {
            kept = content.kept(self.tenant, parent)?;
            at_most = at_most.min(shared);
            newest = [newest, kept.snapshot(at_most)].into_iter().flatten().max_by_key(|s| s.seq);
        }
        Ok(newest.cloned())
    }

    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError> {
        self.content().kept_mut(self.tenant, id)?.keep_snapshot(snapshot, for_good)
    }
}
