//! A story: a conversation that is told to a store, and known without it.

use std::sync::Arc;

use threadline_core::history::batch::Batch;
use threadline_core::history::fact::Fact;
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::{Aftermath, Counts, History, Proposal, Proposed};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{self, Attendance, Direction, Lease, Page, Storage, StoreError};

use super::facts::{ADA, Words, answered, instructed, joins, said};
use super::{ENDLESS, World};

/// How long a story's lease lasts.
pub(super) const LONG_MS: u64 = 100 * 24 * 3600 * 1000;

/// A conversation that is told to a store.
pub(super) struct Story<'w> {
    pub(super) world: &'w World,
    pub(super) store: Arc<dyn Storage>,
    pub(super) id: ConversationId,
    /// What it amounts to, known without reading the store.
    pub(super) history: History,
    /// What was appended, first to last.
    pub(super) batches: Vec<Batch>,
    lease: Option<Lease>,
}

impl<'w> Story<'w> {
    /// A conversation with an agent that has its instruction.
    pub(super) async fn begin(world: &'w World, store: &Arc<dyn Storage>) -> Self {
        let first =
            propose(world, &History::new(), [joins(ADA, "ada"), instructed(ADA, "answer briefly")]);
        let id = world.id();
        store.create(id, None, &first.batch).await.unwrap();
        Self::from_first(world, Arc::clone(store), id, first)
    }

    fn from_first(
        world: &'w World,
        store: Arc<dyn Storage>,
        id: ConversationId,
        first: Proposed,
    ) -> Self {
        let (history, batches) = (first.history, vec![first.batch]);
        Self { world, store, id, history, batches, lease: None }
    }

    /// What follows from facts, a second later.
    pub(super) fn propose(&self, facts: impl IntoIterator<Item = (AgentId, Fact)>) -> Proposed {
        propose(self.world, &self.history, facts)
    }

    /// The story's own lease, taken when it is first needed.
    pub(super) async fn lease(&mut self) -> Lease {
        if self.lease.is_none() {
            self.lease =
                Some(self.store.claim(self.id, LONG_MS, Attendance::Attended).await.unwrap());
        }
        self.lease.clone().unwrap()
    }

    /// Gives the lease back.
    pub(super) async fn rest(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.store.release(&lease).await.unwrap();
        }
    }

    /// Appends what was proposed.
    pub(super) async fn take(&mut self, proposed: Proposed) -> Seq {
        let lease = self.lease().await;
        self.store.append(&lease, &proposed.batch).await.unwrap();
        self.history = proposed.history;
        self.batches.push(proposed.batch);
        self.history.head()
    }

    /// Tries to append what was proposed; the story goes on as if it had not been.
    pub(super) async fn refuse(&mut self, proposed: &Proposed) -> StoreError {
        let lease = self.lease().await;
        self.store.append(&lease, &proposed.batch).await.unwrap_err()
    }

    /// Facts happen.
    pub(super) async fn append(&mut self, facts: impl IntoIterator<Item = (AgentId, Fact)>) -> Seq {
        let proposed = self.propose(facts);
        self.take(proposed).await
    }

    /// A person says something and gets an answer; gives the seq of the answer.
    pub(super) async fn turn(&mut self, text: &str, answer: &str) -> Seq {
        self.append([said(ADA, text), answered(ADA, answer)]).await
    }

    /// The conversation goes back to an entry.
    pub(super) async fn rewind(&mut self, to: Seq) -> Seq {
        self.world.clock.advance_ms(1000);
        let (past, aftermath) = self.past(to).await;
        let stamp = self.world.stamp();
        let proposed = self.history.propose_rewind(&past, &aftermath, stamp).unwrap();
        self.take(proposed).await
    }

    /// Another conversation branches off at an entry.
    pub(super) async fn fork(&self, at: Seq) -> Self {
        self.world.clock.advance_ms(1000);
        let (past, aftermath) = self.past(at).await;
        let first = past.propose_fork(self.id, &aftermath, self.world.stamp()).unwrap();
        let id = self.world.id();
        self.store.create(id, Some((self.id, at)), &first.batch).await.unwrap();
        Self::from_first(self.world, Arc::clone(&self.store), id, first)
    }

    async fn past(&self, at: Seq) -> (History, Aftermath) {
        store::past(&*self.store, self.id, at, &Words).await.unwrap()
    }

    /// The same story in a store that was opened again.
    pub(super) async fn reopen(mut self) -> Self {
        self.world.clock.advance_ms(LONG_MS);
        self.store = self.world.reopen(self.store).await;
        self.lease = None;
        self
    }

    /// The same story as it is known under another id.
    pub(super) fn told_as(&self, id: ConversationId) -> Self {
        let (store, batches) = (Arc::clone(&self.store), self.batches.clone());
        let history = self.history.clone();
        Self { world: self.world, store, id, history, batches, lease: None }
    }

    /// All records, read in pages of so many.
    pub(super) async fn records(&self, most: usize) -> Vec<Record> {
        read_all(&*self.store, self.id, Page::forward(Seq(1), most)).await
    }

    /// What the records amount to, folded naively: the history after each entry.
    pub(super) async fn fold(&self) -> Vec<History> {
        fold(&self.records(1000).await)
    }

    /// Checks that the store has this story and nothing else.
    pub(super) async fn check(&self) {
        let known = self.store.conversation(self.id).await.unwrap();
        assert_eq!(known.id, self.id);
        assert_eq!(known.head, self.history.head());
        assert_eq!(known.head_hash, self.history.head_hash());
        assert_eq!(known.sums, self.history.sums());
        assert_eq!(known.active_at, self.batches.last().unwrap().at());
        assert_eq!(self.store.agents(self.id).await.unwrap(), self.history.agent_sums());
        assert_eq!(self.fold().await.last(), Some(&self.history));
        let (_, opened) = store::open(&*self.store, self.id, &Words).await.unwrap();
        assert_eq!(opened, self.history);
    }
}

/// What follows a history from facts, a second later.
pub(super) fn propose(
    world: &World,
    history: &History,
    facts: impl IntoIterator<Item = (AgentId, Fact)>,
) -> Proposed {
    world.clock.advance_ms(1000);
    let proposals = facts.into_iter().map(|(agent, fact)| Proposal::new(agent, fact, &Words));
    history.propose(proposals, world.stamp()).unwrap()
}

/// All records from a page on, page after page.
pub(super) async fn read_all(store: &dyn Storage, id: ConversationId, first: Page) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    let mut page = first;
    loop {
        let records = store.read(id, &page).await.unwrap();
        let Some(last) = records.last() else { return all };
        assert!(records.len() <= page.most && all.len() < ENDLESS);
        let last = last.open().unwrap().seq;
        all.extend(records);
        page.from = match page.direction {
            Direction::Forward => last.next(),
            Direction::Backward => last.before(),
        };
    }
}

/// What records amount to: the history after each, with the empty one before the first.
fn fold(records: &[Record]) -> Vec<History> {
    let mut histories = vec![History::new()];
    let mut previous = GENESIS;
    for record in records {
        assert!(record.follows(previous), "the chain is broken");
        previous = record.hash;
        let entry = record.open().unwrap();
        let mut history = histories.last().unwrap().clone();
        if let Fact::Rewound(rewound) = &entry.fact {
            let past = &histories[usize::try_from(rewound.to.0).unwrap()];
            history.rewind(&entry, record.hash, past).unwrap();
        } else {
            history.apply(&entry, record.hash, Counts::of(&entry.fact, &Words)).unwrap();
        }
        histories.push(history);
    }
    histories
}
