//! The simulated store: what is durable, and the leases.
//!
//! It folds by itself what it is given, record by record as they are stored, so that what a
//! driver believes can be held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::context::Material;
use threadline_core::context::plan::DoesNotFit;
use threadline_core::context::recap::{Reach, RecapRows, RecapSource};
use threadline_core::drive::{Gather, GatherRecap, Past};
use threadline_core::history::batch::{AgentSums, Batch, Placed, State, Sums};
use threadline_core::history::by_seq::BySeq;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Input};
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::history::{Aftermath, Counts, History};
use threadline_core::id::{AgentId, Seq};
use threadline_core::inbox::{Body, Item, ItemNumber, Mode};
use threadline_core::outline::OutlineRow;
use threadline_core::tokens::Estimator;
use threadline_core::widget::Widgets;

use super::gear;

/// How long a lease holds.
pub(super) const TTL_MS: u64 = 4_000;

/// Who may append: the epoch and the mark of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) epoch: u64,
    pub(super) claim: u64,
}

/// A record, and what is known of it.
pub(super) struct Stored {
    pub(super) record: Arc<Record>,
    pub(super) entry: Arc<Entry>,
    pub(super) row: Option<Arc<OutlineRow>>,
    pub(super) epoch: u64,
}

/// An item, and where it went.
pub(super) struct Letter {
    pub(super) item: Item,
    pub(super) taken: Option<Seq>,
    /// Whether its sender withdrew it, or replaced it by another.
    pub(super) withdrawn: bool,
}

impl Letter {
    fn waits(&self) -> bool {
        self.taken.is_none() && !self.withdrawn
    }
}

/// Why a batch was not appended.
#[derive(Debug)]
pub(super) enum NotAppended {
    /// Someone else holds the lease, or nobody.
    Fenced,
    /// It does not fit.
    Never(String),
    /// It takes an item that was edited or withdrawn.
    Gone(ItemNumber),
    /// This key was used before.
    KeyTaken(Arc<str>),
    /// It is not what a driver may propose: which promise it breaks.
    Broken(&'static str, String),
}

/// How a batch was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// It was.
    New,
    /// It had been.
    Before,
}

/// What is durable, and the leases.
pub(super) struct Store {
    pub(super) stored: Vec<Stored>,
    /// The state after each entry, from none on.
    states: Vec<(History, Widgets)>,
    pub(super) inbox: BTreeMap<ItemNumber, Letter>,
    keys: BTreeMap<Arc<str>, ItemNumber>,
    waiting: usize,
    /// Who holds the lease, and until when.
    pub(super) lease: Option<(Fence, u64)>,
    epoch: u64,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) full_until_ms: u64,
    pub(super) sums: Sums,
    agents: BTreeMap<AgentId, AgentSums>,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            stored: Vec::new(),
            states: vec![(History::new(), Widgets::new(gear::registry()))],
            inbox: BTreeMap::new(),
            keys: BTreeMap::new(),
            waiting: 0,
            lease: None,
            epoch: 0,
            snapshot: None,
            full_until_ms: 0,
            sums: Sums::default(),
            agents: BTreeMap::new(),
        }
    }

    pub(super) fn head(&self) -> Seq {
        self.history().head()
    }

    /// The history as it is durable.
    pub(super) fn history(&self) -> &History {
        static EMPTY: std::sync::OnceLock<History> = std::sync::OnceLock::new();
        self.states.last().map_or_else(|| EMPTY.get_or_init(History::new), |(history, _)| history)
    }

    /// The state after an entry.
    pub(super) fn state_at(&self, seq: Seq) -> Option<&(History, Widgets)> {
        self.states.get(usize::try_from(seq.0).ok()?)
    }

    pub(super) fn at(&self, seq: Seq) -> Option<&Stored> {
        self.stored.get(usize::try_from(seq.0.checked_sub(1)?).ok()?)
    }

    /// Appends a batch, if whoever asks may and it fits.
    pub(super) fn append(
        &mut self,
        fence: Option<Fence>,
        batch: &Batch,
    ) -> Result<Appended, NotAppended> {
        if self.lease.map(|(fence, _)| fence) != fence {
            return Err(NotAppended::Fenced);
        }
        if let Some(known) = self.at(batch.head())
            && known.record.hash == batch.head_hash()
        {
            return Ok(Appended::Before);
        }
        let head = self.history();
        if batch.base != head.head() || batch.base_hash != head.head_hash() {
            let text = format!("the batch follows {}, the head is {}", batch.base, head.head());
            return Err(NotAppended::Never(text));
        }
        for taken in &batch.taken {
            let letter = self.inbox.get(&taken.item);
            if letter.is_some_and(|letter| letter.withdrawn) {
                return Err(NotAppended::Gone(taken.item));
            }
            if letter.is_none_or(|letter| letter.taken.is_some()) {
                let text = format!("item {} does not wait", taken.item.0);
                return Err(NotAppended::Broken("I-10", text));
            }
        }
        let said = self.said(batch)?;
        self.fold(fence.map_or(0, |fence| fence.epoch), batch)?;
        for (item, seq) in said {
            self.keep_key(item, seq);
        }
        for taken in &batch.taken {
            if let Some(letter) = self.inbox.get_mut(&taken.item) {
                letter.taken = Some(taken.seq);
                self.waiting -= 1;
            }
        }
        self.sums = batch.sums.clone();
        self.agents.extend(batch.agents.iter().map(|sums| (sums.agent, sums.clone())));
        self.check_sums()?;
        Ok(Appended::New)
    }

    /// The inputs of a batch that do not come from the inbox, as items; refused if one came before.
    fn said(&self, batch: &Batch) -> Result<Vec<(Item, Seq)>, NotAppended> {
        let (mut said, mut keys) = (Vec::new(), BTreeSet::new());
        for Placed { entry, .. } in &batch.entries {
            let Some(input) = entry.fact.as_input() else { continue };
            let Some(key) = &input.client_key else { continue };
            let body = Body::Input(Input { client_key: None, ..input.clone() });
            let item = Item {
                client_key: Arc::clone(key),
                to: Some(entry.agent),
                mode: Mode::Queue,
                due: None,
                body,
            };
            let again = !keys.insert(Arc::clone(key));
            let number = self.keys.get(key);
            if !again
                && number
                    .is_some_and(|number| batch.taken.iter().any(|taken| taken.item == *number))
            {
                continue;
            }
            let known = number.and_then(|number| self.inbox.get(number));
            let taken = known
                .is_some_and(|letter| !letter.waits() || letter.item.digest() != item.digest());
            if again || taken {
                return Err(NotAppended::KeyTaken(Arc::clone(key)));
            }
            said.push((item, entry.seq));
        }
        Ok(said)
    }

    /// Knows an item that was taken without having waited, or while it waits.
    fn keep_key(&mut self, item: Item, seq: Seq) {
        let waits = self.keys.get(&item.client_key).copied();
        if let Some(letter) = waits.and_then(|number| self.inbox.get_mut(&number)) {
            letter.taken = Some(seq);
            self.waiting -= 1;
        } else {
            let number = self.next_number();
            self.keys.insert(Arc::clone(&item.client_key), number);
            self.inbox.insert(number, Letter { item, taken: Some(seq), withdrawn: false });
        }
    }

    fn next_number(&self) -> ItemNumber {
        ItemNumber(u64::try_from(self.inbox.len()).unwrap_or(u64::MAX) + 1)
    }

    fn fold(&mut self, epoch: u64, batch: &Batch) -> Result<(), NotAppended> {
        let mut rows = batch.rows.iter();
        for placed in &batch.entries {
            let (history, widgets) = self
                .states
                .last()
                .cloned()
                .unwrap_or_else(|| (History::new(), Widgets::new(gear::registry())));
            let broken = |promise, text: String| {
                NotAppended::Broken(promise, format!("entry {}: {text}", placed.entry.seq))
            };
            if !placed.record.follows(history.head_hash()) {
                return Err(broken("I-3", "it does not fit the chain".to_owned()));
            }
            let entry = placed.record.open().map_err(|error| broken("I-3", error.to_string()))?;
            if entry != *placed.entry {
                return Err(broken("I-3", "its record reads as another entry".to_owned()));
            }
            let (state, row) = self.after(history, widgets, &entry, placed.record.hash)?;
            let row = row.map(Arc::new);
            if row.is_some() && row.as_ref() != rows.next() {
                return Err(broken("outline", "its row is another".to_owned()));
            }
            self.states.push(state);
            self.stored.push(Stored {
                record: Arc::clone(&placed.record),
                entry: Arc::clone(&placed.entry),
                row,
                epoch,
            });
        }
        match rows.next() {
            Some(row) => Err(NotAppended::Broken("outline", format!("a row too many: {row:?}"))),
            None => Ok(()),
        }
    }

    fn after(
        &self,
        mut history: History,
        mut widgets: Widgets,
        entry: &Entry,
        hash: Digest,
    ) -> Result<((History, Widgets), Option<OutlineRow>), NotAppended> {
        let broken = |text: String| NotAppended::Broken("rules", text);
        if let Some(to) = entry.fact.rewinds_to() {
            let Some((past, widgets)) = self.state_at(to) else {
                return Err(broken(format!("a rewind to {to}, which is not there")));
            };
            history.rewind(entry, hash, past).map_err(|error| broken(error.to_string()))?;
            return Ok(((history, widgets.clone()), None));
        }
        let counts = Counts::of(&entry.fact, &Estimator);
        let followed = widgets.follow(&history, entry, &Estimator);
        followed.map_err(|error| broken(error.to_string()))?;
        let row = history.apply(entry, hash, counts).map_err(|error| broken(error.to_string()))?;
        Ok(((history, widgets), row))
    }

    fn check_sums(&self) -> Result<(), NotAppended> {
        let history = self.history();
        if history.sums() != self.sums {
            return Err(NotAppended::Broken("sums", format!("{:?}", self.sums)));
        }
        let kept: Vec<AgentSums> = self.agents.values().cloned().collect();
        let mut derived = history.agent_sums();
        // A rewind may leave out agents that the store still knows of.
        derived.retain(|sums| self.agents.contains_key(&sums.agent));
        if derived.iter().any(|sums| !kept.contains(sums)) {
            return Err(NotAppended::Broken("sums", format!("{kept:?} and not {derived:?}")));
        }
        Ok(())
    }

    /// Folds all records from the start, as a store is opened: abandoned entries are passed over.
    pub(super) fn folded_anew(&self) -> Result<(History, Widgets), String> {
        use threadline_core::history::path::Path;
        let rewinds: Vec<(Seq, Seq)> = self
            .stored
            .iter()
            .filter_map(|stored| Some((stored.entry.seq, stored.entry.fact.rewinds_to()?)))
            .collect();
        let path = Path::new(self.head(), &rewinds);
        let mut history = History::new();
        let mut widgets = Widgets::new(gear::registry());
        let mut previous = GENESIS;
        for stored in &self.stored {
            let (entry, hash) = (&stored.entry, stored.record.hash);
            if !stored.record.follows(previous) {
                return Err(format!("entry {} does not fit the chain", entry.seq));
            }
            previous = hash;
            let folded = if !path.contains(entry.seq) {
                history.pass(entry, hash)
            } else if entry.fact.rewinds_to().is_some() {
                history.rewind_in_place(entry, hash)
            } else {
                let followed = widgets.follow(&history, entry, &Estimator);
                followed.map_err(|error| error.to_string())?;
                history.apply(entry, hash, Counts::of(&entry.fact, &Estimator)).map(drop)
            };
            folded.map_err(|error| error.to_string())?;
        }
        Ok((history, widgets))
    }

    /// The state from the snapshot and the entries after it, if that is all that is needed.
    pub(super) fn opened_from_snapshot(&self) -> Option<(History, Widgets)> {
        let snapshot = self.snapshot.as_ref()?;
        let mut history = History::from_snapshot(snapshot)?;
        let (mut widgets, unreadable) = Widgets::decode(gear::registry(), &snapshot.widgets);
        if !unreadable.is_empty() {
            return None;
        }
        let tail = self.stored.iter().filter(|stored| stored.entry.seq > snapshot.seq);
        for stored in tail {
            if stored.entry.fact.rewinds_to().is_some() {
                return None;
            }
            let counts = Counts::of(&stored.entry.fact, &Estimator);
            widgets.follow(&history, &stored.entry, &Estimator).ok()?;
            history.apply(&stored.entry, stored.record.hash, counts).ok()?;
        }
        Some((history, widgets))
    }

    /// Takes in an item; gives its number. The same key is taken in once.
    pub(super) fn enqueue(&mut self, item: &Item) -> Result<ItemNumber, String> {
        if let Some(number) = self.keys.get(&item.client_key) {
            return match self.inbox.get(number) {
                Some(known) if known.item.digest() == item.digest() => Ok(*number),
                Some(_) | None => Err(format!("the key {} was used before", item.client_key)),
            };
        }
        let number = self.next_number();
        self.keys.insert(Arc::clone(&item.client_key), number);
        let letter = Letter { item: item.clone(), taken: None, withdrawn: false };
        self.inbox.insert(number, letter);
        self.waiting += 1;
        Ok(number)
    }

    /// Withdraws the waiting message with a key; returns whether there was one.
    pub(super) fn withdraw(&mut self, key: &str) -> bool {
        let number = self.keys.get(key).copied();
        let letter = number.and_then(|number| self.inbox.get_mut(&number));
        let Some(letter) = letter.filter(|letter| letter.waits()) else { return false };
        letter.withdrawn = true;
        self.waiting -= 1;
        true
    }

    /// Replaces the waiting message with a key; returns whether there was one.
    pub(super) fn edit(&mut self, item: &Item) -> bool {
        if !self.withdraw(&item.client_key) {
            return false;
        }
        self.keys.remove(&item.client_key);
        self.enqueue(item).is_ok()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// What waits, in order.
    pub(super) fn waiting(&self) -> Vec<(ItemNumber, Item)> {
        if self.waiting == 0 {
            return Vec::new();
        }
        let waiting = self.inbox.iter().filter(|(_, letter)| letter.waits());
        waiting.map(|(number, letter)| (*number, letter.item.clone())).collect()
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a driver would have something to do.
    pub(super) fn needs_driver(&self, wall: Timestamp) -> bool {
        self.waiting > 0
            || self.sums.state == State::Working
            || self.sums.wake_at.is_some_and(|due| due <= wall)
    }

    /// Takes the lease, if it is free or has run out.
    pub(super) fn claim(&mut self, now_ms: u64, claim: u64) -> Option<Fence> {
        if self.lease.is_some_and(|(_, until)| until > now_ms) {
            return None;
        }
        self.epoch += 1;
        let fence = Fence { epoch: self.epoch, claim };
        self.lease = Some((fence, now_ms + TTL_MS));
        Some(fence)
    }

    /// Holds the lease for longer; tells whether it is still held.
    pub(super) fn renew(&mut self, fence: Fence, now_ms: u64) -> bool {
        match &mut self.lease {
            Some((held, until)) if *held == fence => {
                *until = now_ms + TTL_MS;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Gives the lease back.
    pub(super) fn release(&mut self, fence: Fence) {
        if self.lease.is_some_and(|(held, _)| held == fence) {
            self.lease = None;
        }
    }

    /// What a context is made of.
    pub(super) fn gather(&self, gather: &Gather) -> Result<Material, DoesNotFit> {
        let Gather { history, unstored, ask, .. } = gather;
        let row = |seq| self.row(unstored.as_deref(), seq);
        Material::at_hand(history, ask, row, |seq| self.entry(unstored.as_deref(), seq))
    }

    /// The row of an entry: of a batch that may not be here yet, or of what is.
    fn row(&self, unstored: Option<&Batch>, seq: Seq) -> Option<Arc<OutlineRow>> {
        let mut rows = unstored.into_iter().flat_map(|batch| &batch.rows);
        let row = rows.find(|row| row.seq == seq).or_else(|| self.at(seq)?.row.as_ref());
        row.cloned()
    }

    /// An entry: of a batch that may not be here yet, or of what is.
    fn entry(&self, unstored: Option<&Batch>, seq: Seq) -> Option<Arc<Entry>> {
        let mut placed = unstored.into_iter().flat_map(|batch| &batch.entries);
        let entry = placed.find(|placed| placed.entry.seq == seq).map(|placed| &placed.entry);
        entry.or_else(|| Some(&self.at(seq)?.entry)).cloned()
    }

    /// What a recap is written from.
    pub(super) fn gather_recap(&self, gather: &GatherRecap) -> Option<RecapSource> {
        let GatherRecap { history, unstored, ask } = gather;
        let mut rows = RecapRows::default();
        let mut next = history.agent(ask.agent).and_then(|agent| agent.row);
        while let Some(row) = next.and_then(|seq| self.row(unstored.as_deref(), seq)) {
            next = row.previous;
            if rows.take(ask, history, &row) == Reach::Done {
                break;
            }
        }
        let entry = |seq| self.entry(unstored.as_deref(), seq);
        rows.source(ask, &BySeq::with_sealed(rows.entries(ask), entry))
    }

    /// The state that a rewind leads to, and what became later of what was open there.
    pub(super) fn past(&self, to: Seq) -> Option<Past> {
        let (history, widgets) = self.state_at(to)?.clone();
        let mut aftermath = Aftermath::default();
        let later = self.stored.iter().filter(|stored| stored.entry.seq > to);
        let branch = later.take_while(|stored| stored.entry.fact.rewinds_to().is_none());
        for stored in branch {
            aftermath.note(&stored.entry);
        }
        Some(Past { history, aftermath, widgets })
    }
}
