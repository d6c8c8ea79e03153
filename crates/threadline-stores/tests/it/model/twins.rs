//! Two stores that are told the same.

use std::sync::Arc;

use threadline_core::clock::Clock;
use threadline_core::history::batch::{Batch, Taken};
use threadline_core::history::{Proposal, Proposed, Stamp};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::store::{
    Attendance, DueFilter, Lease, Origin, Query, StageId, Storage, StoreError,
};
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;
use threadline_testing::store_suite::facts::{ADA, Words, instructed, item, joins};
use threadline_testing::store_suite::{MakeRig, Rig};

use super::op::{Fate, Op, What};
use super::told::{Told, facts, key_of, text};

/// Longer than any lease lasts.
const LONG_MS: u64 = 100_000;
const OWNERS: [&str; 2] = ["one", "two"];

/// The same of the model and of the store under test.
pub(crate) type Pair<T> = (T, T);

/// A lease that was given.
struct Given {
    leases: Pair<Lease>,
    owner: usize,
    /// Whether the process that it was given to may still be there.
    lives: bool,
}

/// Two stores that are told the same.
pub(crate) struct Twins {
    rigs: Pair<Box<dyn Rig>>,
    clock: Arc<ManualClock>,
    ids: SeededIds,
    pub(super) owners: Vec<Pair<Arc<dyn Storage>>>,
    /// Processes that hang: they are still there, and never heard of again.
    hung: Vec<Pair<Arc<dyn Storage>>>,
    pub(super) told: Vec<Told>,
    given: Vec<Given>,
    batches: Vec<(usize, Pair<Batch>)>,
}

impl Twins {
    pub(crate) async fn new(model: MakeRig, tested: MakeRig) -> Self {
        let clock = Arc::new(ManualClock::new());
        let make =
            |rig: MakeRig| rig(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SeededIds::new(2)));
        let rigs = (make(model), make(tested));
        let mut owners = Vec::new();
        for owner in OWNERS {
            owners.push((rigs.0.open(owner).await, rigs.1.open(owner).await));
        }
        let ids = SeededIds::new(1);
        let (hung, told, given, batches) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { rigs, clock, ids, owners, hung, told, given, batches }
    }

    /// Takes a step, and compares the answers.
    pub(crate) async fn step(&mut self, op: Op) {
        // No two things happen at one moment, so that the order of what is due is certain.
        self.clock.advance_ms(1);
        match op {
            Op::Create => self.create().await,
            Op::Append { conversation, lease, what, outdated, take } => {
                self.append(conversation, lease, &what, outdated, take).await;
            }
            Op::Again { batch, lease } => self.again(batch, lease).await,
            Op::Rewind { conversation, lease, to } => self.rewind(conversation, lease, to).await,
            Op::Fork { conversation, at } => self.fork(conversation, at).await,
            Op::Acquire { owner, conversation, ttl_ms } => {
                let at = conversation % self.told.len();
                self.acquire(owner, at, ttl_ms).await;
            }
            Op::AcquireUnattended { owner, conversation } => {
                self.acquire_unattended(owner, conversation % self.told.len()).await;
            }
            Op::LiftHold { conversation } => {
                let id = self.told[conversation % self.told.len()].id;
                let (left, right) = &self.owners[0];
                agree("lift a hold", (left.lift_hold(id).await, right.lift_hold(id).await));
            }
            Op::Renew { lease, ttl_ms } => self.renew(lease, ttl_ms).await,
            Op::Release { lease } => self.release(lease).await,
            Op::Claim { owner, most } => self.claim(owner, most).await,
            Op::Enqueue { conversation, key, body, due_ms } => {
                let due = due_ms.map(|millis| self.clock.now().plus_millis(millis));
                let item = Item { due, ..item(&key_of(key), &text(body)) };
                self.enqueue(conversation, &item).await;
            }
            Op::Edit { conversation, key, body } => {
                let id = self.told[conversation % self.told.len()].id;
                let item = item(&key_of(key), &text(body));
                let (left, right) = &self.owners[0];
                agree("edit", (left.edit(id, &item).await, right.edit(id, &item).await));
            }
            Op::Withdraw { conversation, key } => {
                let (id, key) = (self.told[conversation % self.told.len()].id, key_of(key));
                let (left, right) = &self.owners[0];
                let answers = (left.withdraw(id, &key).await, right.withdraw(id, &key).await);
                if let Some((left, right)) = agree("withdraw", answers) {
                    assert_eq!(left.state, right.state);
                }
            }
            Op::Delete => self.delete().await,
            Op::Snapshot { conversation, for_good } => self.snapshot(conversation, for_good).await,
            Op::TakeIn { conversation, cut, origin, waiting, fate } => {
                let source = conversation % self.told.len();
                let cut = place(cut, self.told[source].head());
                let mut told = self.told[source].up_to(cut, self.id());
                told.source = Some(source);
                let batches = told.batches(Seq::ZERO, cut, 3);
                if self.take_in(told.id, Seq::ZERO, &batches, origin, waiting, fate).await {
                    told.origin = origin;
                    self.told.push(told);
                }
            }
            Op::FastForward { conversation, origin, waiting, fate } => {
                self.fast_forward(conversation, origin, waiting, fate).await;
            }
            Op::Tick { millis } => self.clock.advance_ms(millis),
            Op::Restart { owner, hangs } => self.restart(owner, hangs).await,
            Op::Search { word, conversation, most } => {
                let conversation = conversation.map(|n| self.told[n % self.told.len()].id);
                let text = format!("needle{word}");
                self.search(Query { text, conversation, agent: None, after: None, most }).await;
            }
        }
    }

    fn id(&self) -> ConversationId {
        ConversationId::new(self.clock.now(), &self.ids)
    }

    fn stamp(&self) -> Stamp<'_> {
        Stamp { at: self.clock.now(), ids: &self.ids, counter: &Words }
    }

    async fn create(&mut self) {
        let mut told = Told::new(self.id());
        let facts = [joins(ADA, "ada"), instructed(ADA, "be brief")];
        let proposals = facts.map(|(agent, fact)| Proposal::new(agent, fact, &Words));
        let first = told.history().propose(proposals, self.stamp()).unwrap().batch;
        let (left, right) = &self.owners[0];
        let answers =
            (left.create(told.id, None, &first).await, right.create(told.id, None, &first).await);
        agree("create", answers);
        told.push(&first);
        self.told.push(told);
    }

    async fn append(&mut self, at: usize, lease: usize, what: &What, outdated: bool, take: bool) {
        let at = at % self.told.len();
        let told = &self.told[at];
        let history = if outdated {
            told.history_at(Some(told.head().before())).clone()
        } else {
            told.history()
        };
        let facts = facts(what, &history, self.clock.now());
        let proposals = facts.into_iter().map(|(agent, fact)| Proposal::new(agent, fact, &Words));
        // What breaks a rule never gets to a store.
        let Ok(proposed) = history.propose(proposals, self.stamp()) else { return };
        let taken = if take { self.first_waiting(at).await } else { None };
        self.put(at, lease, proposed, taken).await;
    }

    async fn rewind(&mut self, at: usize, lease: usize, to: usize) {
        let at = at % self.told.len();
        let told = &self.told[at];
        let to = place(to, told.head());
        let (past, aftermath) = (told.history_at(Some(to)), told.aftermath(to));
        let Ok(proposed) = told.history().propose_rewind(past, &aftermath, self.stamp()) else {
            return;
        };
        self.put(at, lease, proposed, None).await;
    }

    /// Appends what was proposed, to both.
    async fn put(
        &mut self,
        at: usize,
        lease: usize,
        proposed: Proposed,
        taken: Option<Pair<ItemNumber>>,
    ) {
        let mut batches = (proposed.batch.clone(), proposed.batch);
        if let Some((left, right)) = taken {
            let seq = batches.0.head();
            batches.0.taken = vec![Taken { item: left, seq }];
            batches.1.taken = vec![Taken { item: right, seq }];
        }
        self.batches.push((at, batches));
        self.again(self.batches.len() - 1, lease).await;
    }

    async fn again(&mut self, batch: usize, lease: usize) {
        if self.batches.is_empty() {
            return;
        }
        let (at, batches) = self.batches[batch % self.batches.len()].clone();
        let Some(lease) = self.lease_of(at, lease).await else { return };
        let (left, right) = &self.owners[0];
        let answers =
            (left.append(&lease.0, &batches.0).await, right.append(&lease.1, &batches.1).await);
        let told = &mut self.told[at];
        if agree("append", answers).is_some() && batches.0.base == told.head() {
            told.push(&batches.0);
        }
    }

    async fn fork(&mut self, at: usize, seq: usize) {
        let parent = &self.told[at % self.told.len()];
        let seq = place(seq, parent.head());
        let (past, aftermath) = (parent.history_at(Some(seq)), parent.aftermath(seq));
        let first = past.propose_fork(parent.id, &aftermath, self.stamp()).unwrap().batch;
        let mut told = parent.up_to(seq, self.id());
        let base = Some((parent.id, seq));
        let (left, right) = &self.owners[1];
        let answers =
            (left.create(told.id, base, &first).await, right.create(told.id, base, &first).await);
        if agree("fork", answers).is_some() {
            told.push(&first);
            self.told.push(told);
        }
    }

    /// Deletes the newest conversation, so that the places of the others stay.
    async fn delete(&mut self) {
        let last = self.told.len() - 1;
        if last == 0 {
            return;
        }
        let id = self.told[last].id;
        let (left, right) = &self.owners[1];
        if agree("delete", (left.delete(id).await, right.delete(id).await)).is_some() {
            self.told.pop();
            self.batches.retain(|(at, _)| *at != last);
            self.given.retain(|given| given.leases.0.conversation != id);
            for told in &mut self.told {
                told.source = told.source.filter(|source| *source != last);
            }
        }
    }

    async fn acquire(&mut self, owner: usize, at: usize, ttl_ms: u64) -> Option<Pair<Lease>> {
        let id = self.told[at].id;
        let (left, right) = &self.owners[owner];
        let answers = (
            left.claim(id, ttl_ms, Attendance::Attended).await,
            right.claim(id, ttl_ms, Attendance::Attended).await,
        );
        let leases = agree("acquire", answers)?;
        assert_eq!(essence(&leases.0), essence(&leases.1));
        self.given.push(Given { leases: leases.clone(), owner, lives: true });
        Some(leases)
    }

    async fn acquire_unattended(&mut self, owner: usize, at: usize) {
        let id = self.told[at].id;
        let (left, right) = &self.owners[owner];
        let answers = (
            left.claim(id, LONG_MS, Attendance::Unattended).await,
            right.claim(id, LONG_MS, Attendance::Unattended).await,
        );
        if let Some(leases) = agree("acquire unattended", answers) {
            assert_eq!(essence(&leases.0), essence(&leases.1));
            self.given.push(Given { leases, owner, lives: true });
        }
    }

    /// One of the leases that were ever given for a conversation, or a new one.
    async fn lease_of(&mut self, at: usize, choice: usize) -> Option<Pair<Lease>> {
        let id = self.told[at].id;
        let given = self.given.iter().map(|given| &given.leases);
        let given = given.filter(|(lease, _)| lease.conversation == id);
        let mut given: Vec<Pair<Lease>> = given.cloned().collect();
        // Mostly the newest: it is the one that counts.
        let last = given.len().saturating_sub(1);
        let chosen = if choice.is_multiple_of(4) { choice / 4 % given.len().max(1) } else { last };
        if given.is_empty() {
            return self.acquire(choice % 2, at, LONG_MS).await;
        }
        Some(given.swap_remove(chosen))
    }

    async fn renew(&mut self, lease: usize, ttl_ms: u64) {
        // Nobody keeps the lease of a process that died.
        let living: Vec<&Given> = self.given.iter().filter(|given| given.lives).collect();
        let Some(Given { leases: lease, .. }) = pick(&living, lease) else { return };
        let (left, right) = &self.owners[0];
        let answers = (left.renew(&lease.0, ttl_ms).await, right.renew(&lease.1, ttl_ms).await);
        if let Some(leases) = agree("renew", answers) {
            assert_eq!(essence(&leases.0), essence(&leases.1));
        }
    }

    async fn release(&mut self, lease: usize) {
        let Some(Given { leases: lease, .. }) = pick(&self.given, lease) else { return };
        let (left, right) = &self.owners[1];
        agree("release", (left.release(&lease.0).await, right.release(&lease.1).await));
    }

    async fn claim(&mut self, owner: usize, most: usize) {
        let (left, right) = &self.owners[owner];
        let answers = (
            left.claim_due(most, LONG_MS, &DueFilter::default()).await,
            right.claim_due(most, LONG_MS, &DueFilter::default()).await,
        );
        let Some((left, right)) = agree("claim", answers) else { return };
        let essences = |leases: &[Lease]| leases.iter().map(essence).collect::<Vec<_>>();
        assert_eq!(essences(&left), essences(&right));
        let given = |leases| Given { leases, owner, lives: true };
        self.given.extend(left.into_iter().zip(right).map(given));
    }

    async fn enqueue(&mut self, at: usize, item: &Item) {
        let id = self.told[at % self.told.len()].id;
        let (left, right) = &self.owners[1];
        let answers = (left.enqueue(id, item).await, right.enqueue(id, item).await);
        if let Some((left, right)) = agree("enqueue", answers) {
            assert_eq!(left.state, right.state);
        }
    }

    async fn first_waiting(&self, at: usize) -> Option<Pair<ItemNumber>> {
        let id = self.told[at].id;
        let (left, right) = &self.owners[0];
        let first = ItemNumber(0);
        let left = left.waiting(id, first, 1).await.unwrap().pop();
        let right = right.waiting(id, first, 1).await.unwrap().pop();
        let (left, right) = (left.unzip(), right.unzip());
        assert_eq!(left.1, right.1);
        Some((left.0?, right.0?))
    }

    async fn snapshot(&mut self, at: usize, for_good: bool) {
        let told = &self.told[at % self.told.len()];
        let snapshot = told.history().to_snapshot();
        let (left, right) = &self.owners[0];
        let answers = (
            left.keep_snapshot(told.id, &snapshot, for_good).await,
            right.keep_snapshot(told.id, &snapshot, for_good).await,
        );
        agree("keep a snapshot", answers);
    }

    async fn fast_forward(&mut self, at: usize, origin: Origin, waiting: Option<u8>, fate: Fate) {
        let at = at % self.told.len();
        let told = &self.told[at];
        let source = &self.told[told.source.unwrap_or(at)];
        let (here, there) = (told.head(), source.head());
        let shared = here.min(there);
        // What went another way has nothing that follows, but may be opened again.
        let follows = source.history_at(Some(shared)).head_hash()
            == told.history_at(Some(shared)).head_hash();
        let batches = if follows { source.batches(shared, there, 2) } else { Vec::new() };
        let id = told.id;
        if self.take_in(id, shared, &batches, origin, waiting, fate).await {
            let told = &mut self.told[at];
            for batch in &batches {
                told.push(batch);
            }
            told.origin = origin;
        }
    }

    /// Takes in batches; tells whether they were adopted.
    async fn take_in(
        &mut self,
        id: ConversationId,
        base: Seq,
        batches: &[Batch],
        origin: Origin,
        waiting: Option<u8>,
        fate: Fate,
    ) -> bool {
        let Some(stages) = self.stage(id, base, batches).await else { return false };
        let waiting: Vec<Item> =
            waiting.map(|key| item(&key_of(key), &text(0))).into_iter().collect();
        let mut adopted = false;
        match fate {
            Fate::Adopt => {}
            Fate::AdoptTwice => adopted = self.adopt(stages, origin, &waiting).await,
            Fate::Overtaken => {
                let Some(others) = self.stage(id, base, batches).await else { return false };
                adopted = self.adopt(others, origin, &waiting).await;
            }
            Fate::Discard => {
                let (left, right) = &self.owners[0];
                agree("discard", (left.discard(stages.0).await, right.discard(stages.1).await));
            }
            Fate::Die => self.restart(0, false).await,
        }
        self.adopt(stages, origin, &waiting).await || adopted
    }

    async fn stage(
        &self,
        id: ConversationId,
        base: Seq,
        batches: &[Batch],
    ) -> Option<Pair<StageId>> {
        let (left, right) = &self.owners[0];
        let begun = (left.begin_intake(id, base).await, right.begin_intake(id, base).await);
        let stages = agree("begin an intake", begun)?;
        for batch in batches {
            let staged =
                (left.stage(stages.0, batch, None).await, right.stage(stages.1, batch, None).await);
            agree("stage", staged);
        }
        Some(stages)
    }

    async fn adopt(&self, stages: Pair<StageId>, origin: Origin, waiting: &[Item]) -> bool {
        let (left, right) = &self.owners[0];
        let held = origin != Origin::Own;
        let answers = (
            left.adopt(stages.0, origin, held, waiting).await,
            right.adopt(stages.1, origin, held, waiting).await,
        );
        agree("adopt", answers).is_some()
    }

    /// A process dies or hangs; its leases end, and another takes its place.
    async fn restart(&mut self, owner: usize, hangs: bool) {
        let name = OWNERS[owner];
        let old = self.owners.remove(owner);
        if hangs {
            self.hung.push(old);
        } else {
            drop(old);
            for given in self.given.iter_mut().filter(|given| given.owner == owner) {
                given.lives = false;
            }
        }
        let new = (self.rigs.0.open(name).await, self.rigs.1.open(name).await);
        self.owners.insert(owner, new);
        // Not every store can tell that an owner died.
        self.clock.advance_ms(LONG_MS);
    }

    pub(super) async fn search(&self, query: Query) {
        let (left, right) = &self.owners[1];
        let answers = (left.search(&query).await, right.search(&query).await);
        if let Some((left, right)) = agree("search", answers) {
            assert_eq!(left, right, "{query:?}");
        }
    }
}

/// What must be the same of two leases.
fn essence(lease: &Lease) -> (ConversationId, u64, threadline_core::clock::Timestamp) {
    (lease.conversation, lease.epoch, lease.until)
}

/// Two answers of one kind; gives what they are if they are no refusals.
pub(super) fn agree<T>(what: &str, answers: Pair<Result<T, StoreError>>) -> Option<Pair<T>> {
    match answers {
        (Ok(left), Ok(right)) => Some((left, right)),
        (Err(left), Err(right)) => {
            let kinds = (std::mem::discriminant(&left), std::mem::discriminant(&right));
            assert_eq!(kinds.0, kinds.1, "{what}: {left:?} but {right:?}");
            None
        }
        (Ok(_), Err(right)) => unreachable!("{what}: the model did, but: {right:?}"),
        (Err(left), Ok(_)) => unreachable!("{what}: the model refused: {left:?}"),
    }
}

/// An entry of a history that ends at `head`.
fn place(choice: usize, head: Seq) -> Seq {
    Seq(1 + u64::try_from(choice).unwrap() % head.0)
}

fn pick<T>(things: &[T], choice: usize) -> Option<&T> {
    things.get(choice % things.len().max(1))
}
