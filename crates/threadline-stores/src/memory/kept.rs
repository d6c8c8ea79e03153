//! A conversation as it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{AgentSums, Batch, ClientKey, Placed, Sums};
use threadline_core::history::fact::Digest;
use threadline_core::history::path::Path;
use threadline_core::history::record::GENESIS;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::{Body, CLIENT_KEY_CAP_BYTES, Item, ItemNumber};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    self, Attendance, ClaimId, Conversation, Hold, ItemState, Lease, LockedBy, NOT_A_MESSAGE,
    Origin, PARK_AFTER_DEATHS, Predecessor, Queued, Schedule, StoreError,
};

/// A conversation as it is kept: its whole ledger, shared entries included.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) conversation: Conversation,
    /// When it came into this store, among all others.
    pub(super) number: u64,
    /// The conversation it shares entries with here, and the last of them.
    pub(super) base: Option<(ConversationId, Seq)>,
    pub(super) entries: Vec<Arc<Placed>>,
    pub(super) rows: BTreeMap<Seq, OutlineRow>,
    /// Where each rewind stands and where it leads.
    pub(super) rewinds: Vec<(Seq, Seq)>,
    pub(super) agents: BTreeMap<AgentId, AgentSums>,
    /// Items that wait, and since when they are due.
    pub(super) waiting: BTreeMap<ItemNumber, (Timestamp, Item)>,
    keys: BTreeMap<Arc<str>, Key>,
    /// Snapshots, and whether each is kept for good.
    snapshots: BTreeMap<Seq, (Snapshot, bool)>,
    epoch: u64,
    holder: Option<Holder>,
    /// The last entry when the lease was taken last.
    lease_head: Option<Seq>,
    /// How often unattended drivers died in a row at that entry.
    deaths: u32,
}

/// What is known of a client key.
#[derive(Clone, Copy)]
struct Key {
    digest: Digest,
    queued: Queued,
}

/// Who holds the lease.
#[derive(Clone)]
struct Holder {
    owner: String,
    claim: ClaimId,
    until: Timestamp,
    attendance: Attendance,
}

impl Kept {
    /// A conversation without entries.
    pub(super) fn new(id: ConversationId, number: u64) -> Self {
        let conversation = Conversation {
            id,
            head: Seq::ZERO,
            head_hash: GENESIS,
            created_at: Timestamp::default(),
            active_at: Timestamp::default(),
            origin: Origin::Own,
            hold: None,
            forked_from: None,
            moved_away: false,
            sums: Sums::default(),
            due_at: None,
            damage: None,
        };
        Self {
            conversation,
            number,
            base: None,
            entries: Vec::new(),
            rows: BTreeMap::new(),
            rewinds: Vec::new(),
            agents: BTreeMap::new(),
            waiting: BTreeMap::new(),
            keys: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            epoch: 0,
            holder: None,
            lease_head: None,
            deaths: 0,
        }
    }

    /// Another conversation with the entries of this one up to a place.
    pub(super) fn fork(
        &self,
        id: ConversationId,
        number: u64,
        at: Seq,
    ) -> Result<Self, StoreError> {
        let mut fork = Self::new(id, number);
        if at > Seq::ZERO {
            fork.conversation.head_hash = self.placed(at)?.record.hash;
        }
        fork.conversation.head = at;
        // The conversation that wrote the last shared entry.
        fork.base = match self.base {
            Some((parent, shared)) if at <= shared => Some((parent, at)),
            Some(_) | None => Some((self.conversation.id, at)).filter(|_| at > Seq::ZERO),
        };
        fork.entries = self.up_to(at).cloned().collect();
        fork.rows = self.rows.range(..=at).map(|(seq, row)| (*seq, row.clone())).collect();
        fork.rewinds = self.rewinds.iter().filter(|(stands, _)| *stands <= at).copied().collect();
        let was_taken = |key: &Key| key.queued.taken().is_some_and(|seq| seq <= at);
        let keys = self.keys.iter().filter(|(_, known)| was_taken(known));
        fork.keys = keys.map(|(key, known)| (Arc::clone(key), *known)).collect();
        Ok(fork)
    }

    fn up_to(&self, at: Seq) -> impl Iterator<Item = &Arc<Placed>> {
        self.entries.iter().take_while(move |placed| placed.entry.seq <= at)
    }

    /// The entry at a place.
    pub(super) fn placed(&self, seq: Seq) -> Result<&Placed, StoreError> {
        let found = self.entries.iter().find(|placed| placed.entry.seq == seq);
        let Conversation { id, head, .. } = self.conversation;
        found.map(|placed| &**placed).ok_or(StoreError::NoEntry { id, seq, head })
    }

    /// Whether a batch is here already.
    pub(super) fn has(&self, batch: &Batch) -> bool {
        !batch.entries.is_empty()
            && self.placed(batch.head()).is_ok_and(|placed| placed.record.hash == batch.head_hash())
    }

    pub(super) fn path(&self) -> Path {
        Path::new(self.conversation.head, &self.rewinds)
    }
}

/// What may be appended.
impl Kept {
    pub(super) fn check_open(&self) -> Result<(), StoreError> {
        let Conversation { id, moved_away, .. } = self.conversation;
        if moved_away { Err(StoreError::MovedAway(id)) } else { Ok(()) }
    }

    pub(super) fn check_follows(&self, batch: &Batch) -> Result<(), StoreError> {
        let Conversation { id, head, head_hash, .. } = self.conversation;
        if (batch.base, batch.base_hash) != (head, head_hash) {
            return Err(StoreError::Conflict { id, expected: batch.base, head });
        }
        batch.check().map_err(|why| StoreError::Invalid(why.to_owned()))
    }

    /// Refuses inputs whose key was taken before or stands for something else.
    pub(super) fn check_keys(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut seen = Vec::new();
        for ClientKey { key, digest, .. } in &batch.keys {
            let free = match self.keys.get(key) {
                None => !seen.contains(&key),
                Some(known) => {
                    let takes = batch.taken.iter().any(|taken| taken.item == known.queued.number);
                    let same = takes || known.digest == *digest;
                    let waits = known.queued.state == ItemState::Waiting;
                    waits && same && !seen.contains(&key)
                }
            };
            if !free {
                return Err(self.key_conflict(key));
            }
            seen.push(key);
        }
        Ok(())
    }

    pub(super) fn check_taken(&self, batch: &Batch) -> Result<(), StoreError> {
        let gone = batch.taken.iter().find(|taken| !self.waiting.contains_key(&taken.item));
        gone.map_or(Ok(()), |taken| {
            Err(StoreError::ItemGone { id: self.conversation.id, item: taken.item })
        })
    }

    /// Appends a batch that was checked.
    pub(super) fn append(&mut self, batch: &Batch, number: &mut dyn FnMut() -> u64) {
        for taken in &batch.taken {
            self.take(taken.item, taken.seq);
        }
        self.take_in(batch, number);
        self.conversation.origin = Origin::Own;
        self.conversation.moved_away = batch.closes;
    }

    /// Takes in entries, rows, sums and client keys, wherever they come from.
    pub(super) fn take_in(&mut self, batch: &Batch, number: &mut dyn FnMut() -> u64) {
        self.entries.extend(batch.entries.iter().cloned().map(Arc::new));
        self.rows.extend(batch.rows.iter().map(|row| (row.seq, OutlineRow::clone(row))));
        self.rewinds.extend(&batch.rewinds);
        if !batch.rewinds.is_empty() {
            self.agents.clear();
        }
        self.agents.extend(batch.agents.iter().map(|sums| (sums.agent, sums.clone())));
        for key in &batch.keys {
            self.know(key, number);
        }
        let conversation = &mut self.conversation;
        conversation.head = batch.head();
        conversation.head_hash = batch.head_hash();
        conversation.active_at = batch.at();
        conversation.sums = batch.sums.clone();
    }

    /// Takes note of the key of an input, and takes the item that waits under it.
    fn know(&mut self, taken: &ClientKey, number: &mut dyn FnMut() -> u64) {
        match self.keys.get(&taken.key) {
            Some(known) if known.queued.state != ItemState::Waiting => {}
            Some(known) => self.take(known.queued.number, taken.seq),
            None => {
                let state = ItemState::Taken(taken.seq);
                let queued = Queued { number: ItemNumber(number()), state };
                let known = Key { digest: taken.digest, queued };
                self.keys.insert(Arc::clone(&taken.key), known);
            }
        }
    }
}

/// The inbox.
impl Kept {
    /// The answer that an item got before, if it was put in before.
    pub(super) fn known(&self, item: &Item) -> Result<Option<Queued>, StoreError> {
        match self.keys.get(&item.client_key) {
            None => Ok(None),
            Some(known) if known.digest == item.digest() => Ok(Some(known.queued)),
            Some(_) => Err(self.key_conflict(&item.client_key)),
        }
    }

    /// What became of the item with a key.
    pub(super) fn queued(&self, key: &str) -> Option<Queued> {
        self.keys.get(key).map(|known| known.queued)
    }

    pub(super) fn put(&mut self, item: &Item, number: ItemNumber, now: Timestamp) {
        let queued = Queued { number, state: ItemState::Waiting };
        self.keys.insert(Arc::clone(&item.client_key), Key { digest: item.digest(), queued });
        // The clock may have been ahead: an item without a time is due whatever the clock says.
        let due = item.due.unwrap_or_else(|| now.min(self.conversation.active_at));
        self.waiting.insert(number, (due, item.clone()));
    }

    pub(super) fn take(&mut self, number: ItemNumber, seq: Seq) {
        self.end(number, ItemState::Taken(seq));
    }

    pub(super) fn withdraw(&mut self, number: ItemNumber) -> Option<Queued> {
        self.end(number, ItemState::Withdrawn)
    }

    fn end(&mut self, number: ItemNumber, state: ItemState) -> Option<Queued> {
        let (_, item) = self.waiting.remove(&number)?;
        let known = self.keys.get_mut(&item.client_key)?;
        known.queued.state = state;
        Some(known.queued)
    }

    /// Forgets an item that waits, as if it had never been put in.
    pub(super) fn remove(&mut self, number: ItemNumber) {
        if let Some((_, item)) = self.waiting.remove(&number) {
            self.keys.remove(&item.client_key);
        }
    }

    /// The message that waits under a key and can be edited or withdrawn.
    pub(super) fn message(&self, key: &str) -> Result<Queued, StoreError> {
        self.check_open()?;
        let id = self.conversation.id;
        let Some(queued) = self.queued(key) else {
            return Err(StoreError::NoItem { id, key: key.to_owned() });
        };
        match self.waiting.get(&queued.number) {
            Some((_, item)) => check_message(item).map(|()| queued),
            None => Err(StoreError::NotWaiting { id, key: key.to_owned(), state: queued.state }),
        }
    }

    /// The conversation as callers see it, with its due time.
    pub(super) fn conversation(&self) -> Conversation {
        let Conversation { active_at, origin, moved_away, ref sums, .. } = self.conversation;
        let schedule = Schedule {
            origin,
            state: sums.state,
            wake_at: sums.wake_at,
            active_at,
            first_item: self.waiting.values().map(|(due, _)| *due).min(),
        };
        let due_at = schedule.due_at().filter(|_| !moved_away);
        Conversation { due_at, ..self.conversation.clone() }
    }

    fn key_conflict(&self, key: &str) -> StoreError {
        StoreError::KeyConflict { id: self.conversation.id, key: key.to_owned() }
    }
}

/// The lease.
impl Kept {
    pub(super) fn check_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match &self.holder {
            Some(holder) if now < holder.until => Err(StoreError::Held {
                id: self.conversation.id,
                by: LockedBy { owner: holder.owner.clone() },
                until: holder.until,
            }),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn check_fence(&self, lease: &Lease) -> Result<(), StoreError> {
        let claim = self.holder.as_ref().map(|holder| holder.claim);
        if (self.epoch, claim) == (lease.epoch, Some(lease.claim)) {
            Ok(())
        } else {
            Err(StoreError::Fenced(lease.conversation))
        }
    }

    pub(super) fn check_not_on_hold(&self) -> Result<(), StoreError> {
        let Conversation { id, hold, .. } = self.conversation;
        hold.map_or(Ok(()), |hold| Err(StoreError::OnHold { id, hold }))
    }

    /// Who holds the lease.
    pub(super) fn holder(&self, now: Timestamp) -> Option<store::Holder> {
        let holder = self.holder.as_ref().filter(|holder| now < holder.until)?;
        Some(store::Holder { owner: holder.owner.clone(), until: holder.until })
    }

    /// Counts the death of an unattended driver that appended nothing. It left its lease behind.
    pub(super) fn count_death(&mut self) {
        self.forget_deaths_elsewhere();
        let attendance = self.holder.as_ref().map(|holder| holder.attendance);
        if attendance == Some(Attendance::Unattended)
            && self.lease_head == Some(self.conversation.head)
        {
            self.deaths = self.deaths.saturating_add(1);
        }
        if self.deaths >= PARK_AFTER_DEATHS {
            self.conversation.hold.get_or_insert(Hold::Parked { deaths: self.deaths });
        }
        if self.conversation.hold.is_some() {
            self.holder = None;
        }
    }

    /// Deaths count only in a row at the same entry.
    fn forget_deaths_elsewhere(&mut self) {
        if self.lease_head != Some(self.conversation.head) {
            self.deaths = 0;
        }
    }

    pub(super) fn lift_hold(&mut self) {
        (self.conversation.hold, self.deaths) = (None, 0);
    }

    pub(super) fn hold(
        &mut self,
        owner: String,
        claim: ClaimId,
        until: Timestamp,
        attendance: Attendance,
    ) -> Lease {
        let Conversation { id, head, .. } = self.conversation;
        self.forget_deaths_elsewhere();
        self.lease_head = Some(head);
        self.epoch += 1;
        let before = self.holder.replace(Holder { owner, claim, until, attendance });
        let predecessor = before.map_or(Predecessor::Gone, |_| Predecessor::MayLive);
        Lease { conversation: id, epoch: self.epoch, claim, until, head, predecessor }
    }

    pub(super) fn extend(&mut self, until: Timestamp) {
        if let Some(holder) = &mut self.holder {
            holder.until = until;
        }
    }

    pub(super) fn let_go(&mut self) {
        self.holder = None;
    }
}

/// Snapshots.
impl Kept {
    pub(super) fn snapshot(&self, at_most: Seq) -> Option<&Snapshot> {
        self.snapshots.range(..=at_most).next_back().map(|(_, (snapshot, _))| snapshot)
    }

    pub(super) fn keep_snapshot(
        &mut self,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError> {
        if self.placed(snapshot.seq)?.record.hash != snapshot.hash {
            let Conversation { id, head, .. } = self.conversation;
            return Err(StoreError::NoEntry { id, seq: snapshot.seq, head });
        }
        if !for_good {
            self.snapshots.retain(|_, (_, for_good)| *for_good);
        }
        let was_for_good = self.snapshots.get(&snapshot.seq).is_some_and(|(_, good)| *good);
        self.snapshots.insert(snapshot.seq, (snapshot.clone(), for_good || was_for_good));
        Ok(())
    }
}

/// Whether an entry is of a thread, if one is asked for.
pub(super) fn is_of_thread(placed: &Placed, thread: Option<AgentId>) -> bool {
    thread.is_none_or(|thread| placed.entry.agent == thread)
}

/// Refuses an item that no store takes.
pub(super) fn check_item(item: &Item) -> Result<(), StoreError> {
    if item.client_key.len() > CLIENT_KEY_CAP_BYTES {
        return Err(StoreError::TooLarge { what: "a client key", cap: CLIENT_KEY_CAP_BYTES });
    }
    Ok(())
}

/// Refuses an item that is no message.
pub(super) fn check_message(item: &Item) -> Result<(), StoreError> {
    match item.body {
        Body::Input(_) => Ok(()),
        Body::Approval { .. } | Body::Cancel | Body::Command(_) => {
            Err(StoreError::Invalid(NOT_A_MESSAGE.to_owned()))
        }
    }
}

/// The attachments that an item names.
pub(super) fn item_attachments(item: &Item) -> impl Iterator<Item = Digest> {
    let attachments = match &item.body {
        Body::Input(input) => &*input.attachments,
        Body::Approval { .. } | Body::Cancel | Body::Command(_) => &[],
    };
    attachments.iter().map(|attachment| attachment.digest)
}
