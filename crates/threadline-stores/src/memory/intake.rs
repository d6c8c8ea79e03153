//! Taking in what was exported elsewhere, in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{Batch, ForkedAt};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::store::{Change, Hold, Intake, Origin, StageId, StoreError};

use super::kept::{self, Kept};
use super::{Content, MemoryStore};

/// What is being taken in.
#[derive(Clone)]
pub(super) struct Staged {
    handle: u64,
    id: ConversationId,
    base: (Seq, Digest),
    head: (Seq, Digest),
    batches: Vec<Batch>,
    snapshots: Vec<Snapshot>,
}

#[async_trait]
impl Intake for MemoryStore {
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError> {
        let mut content = self.content();
        let base = match content.kept(self.tenant, id) {
            Err(_) if base == Seq::ZERO => (base, GENESIS),
            Err(error) => return Err(error),
            Ok(_) if base == Seq::ZERO => return Err(StoreError::Exists(id)),
            Ok(kept) => {
                let (hash, head) = (kept.placed(base)?.record.hash, kept.conversation.head);
                if base != head {
                    return Err(StoreError::Conflict { id, expected: base, head });
                }
                (base, hash)
            }
        };
        let stage = StageId(content.number());
        let (batches, snapshots) = (Vec::new(), Vec::new());
        let staged = Staged { handle: self.handle, id, base, head: base, batches, snapshots };
        content.stages.insert(stage, staged);
        Ok(stage)
    }

    async fn stage(
        &self,
        stage: StageId,
        batch: &Batch,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError> {
        let mut content = self.content();
        let attachments = content.check_batch_attachments(batch);
        let staged = self.under_way(&mut content, stage)?;
        if (batch.base, batch.base_hash) != staged.head {
            let (id, head) = (staged.id, staged.head.0);
            return Err(StoreError::Conflict { id, expected: batch.base, head });
        }
        attachments?;
        staged.head = (batch.head(), batch.head_hash());
        staged.batches.push(batch.clone());
        staged.snapshots.extend(snapshot.cloned());
        Ok(())
    }

    async fn staged(
        &self,
        stage: StageId,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut content = self.content();
        let placed = self.under_way(&mut content, stage)?.batches.iter().flat_map(|b| &b.entries);
        let records =
            placed.filter(|placed| placed.entry.seq >= from).map(|placed| &*placed.record);
        Ok(records.take(most).cloned().collect())
    }

    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        held: bool,
        waiting: &[Item],
    ) -> Result<(), StoreError> {
        let mut content = self.content();
        let staged = self.under_way(&mut content, stage)?.clone();
        let Staged { id, base, .. } = staged;
        for item in waiting {
            kept::check_item(item)?;
            content.check_attachments(kept::item_attachments(item))?;
        }
        let mut number = content.number();
        let mut kept = match content.kept(self.tenant, id) {
            Ok(kept) if (kept.conversation.head, kept.conversation.head_hash) == base => {
                kept.clone()
            }
            Ok(kept) => {
                let (expected, head) = (base.0, kept.conversation.head);
                return Err(StoreError::Conflict { id, expected, head });
            }
            Err(_) if staged.batches.is_empty() => {
                return Err(StoreError::Invalid("there is nothing to take in".to_owned()));
            }
            Err(_) => Kept::new(id, number),
        };
        let mut next = || {
            number += 1;
            number
        };
        kept.adopt(&staged, origin, waiting, self.clock.now(), &mut next)?;
        kept.lift_hold();
        kept.conversation.hold = held.then_some(Hold::Imported);
        content.last_number = number;
        content.conversations.insert((self.tenant, id), kept);
        content.stages.remove(&stage);
        self.changes.send(Change::History(id));
        Ok(())
    }

    async fn discard(&self, stage: StageId) -> Result<(), StoreError> {
        self.content().stages.remove(&stage);
        Ok(())
    }
}

impl MemoryStore {
    fn under_way<'a>(
        &self,
        content: &'a mut Content,
        stage: StageId,
    ) -> Result<&'a mut Staged, StoreError> {
        let found = content.stages.get_mut(&stage).filter(|staged| staged.handle == self.handle);
        let gone =
            || StoreError::Invalid("this intake is not under way; begin it again".to_owned());
        found.ok_or_else(gone)
    }
}

impl Kept {
    /// Takes in what was staged. On an error it is half changed and must be dropped.
    fn adopt(
        &mut self,
        staged: &Staged,
        origin: Origin,
        waiting: &[Item],
        now: Timestamp,
        number: &mut dyn FnMut() -> u64,
    ) -> Result<(), StoreError> {
        for batch in &staged.batches {
            self.take_in(batch, number);
            self.note_origin(batch);
        }
        for snapshot in &staged.snapshots {
            self.keep_snapshot(snapshot, true)?;
        }
        if self.conversation.moved_away {
            let stay: BTreeSet<&Arc<str>> = waiting.iter().map(|item| &item.client_key).collect();
            let gone =
                self.waiting.iter().filter(|(_, (_, item))| !stay.contains(&item.client_key));
            let gone: Vec<ItemNumber> = gone.map(|(number, _)| *number).collect();
            let head = self.conversation.head;
            for number in gone {
                self.take(number, head);
            }
        }
        for item in waiting {
            if self.known(item)?.is_none() {
                self.put(item, ItemNumber(number()), now);
            }
        }
        self.conversation.origin = origin;
        self.conversation.moved_away = false;
        Ok(())
    }

    /// When and from where it came, as its entries say.
    fn note_origin(&mut self, batch: &Batch) {
        let conversation = &mut self.conversation;
        if batch.base == Seq::ZERO {
            conversation.created_at = batch.first_at();
        }
        if let Some(ForkedAt { from, seq, at }) = batch.forked {
            conversation.created_at = at;
            conversation.forked_from = Some((from, seq));
        }
    }
}
