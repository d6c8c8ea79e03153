//! Conversations by id: create them, put things into their inbox, watch them, and have them
//! driven in the background.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use threadline_core::drive::{Notice, Rest, UnknownName};
use threadline_core::history::fact::{AgentJoined, InstructionSet};
use threadline_core::history::{History, Proposal, Refused, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::Item;
use threadline_core::store::{Lease, StoreError};
use threadline_core::tool::Cancel;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::drive::{Drive, DriveError, Leased, Stepped};
use crate::feed::{Feed, News, Watcher};
use crate::toolbox::panic_text;
use crate::world::World;

/// How long to wait for a conversation that another process drives, before trying again.
const HELD_MS: u64 = 250;
/// How long drivers have to give their leases back when all driving ends.
const STOP_MS: u64 = 3_000;
/// How long to wait before a lease that could not be given back is tried again.
const RELEASE_AGAIN_MS: u64 = 1_000;

/// Drives conversations. Copies share what they drive.
#[derive(Clone)]
pub struct Runtime(Arc<Shared>);

struct Shared {
    world: Arc<World>,
    known: Mutex<BTreeMap<ConversationId, Arc<Known>>>,
    tasks: Mutex<JoinSet<()>>,
    stopping: Cancel,
}

/// What this process holds of a conversation that is driven or watched here.
struct Known {
    feed: Arc<Feed>,
    /// Wakes the driver to read the inbox.
    wake: Arc<Notify>,
    /// How often it was poked, and what became of it since.
    state: watch::Sender<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// How often something new came.
    pokes: u64,
    /// Whether a task drives it.
    driven: bool,
    /// Whether a person has it driven, by name.
    attended: bool,
    /// Whether that task waits because another process drives it.
    held_elsewhere: bool,
    /// Where it came to rest, and after how many pokes.
    settled: Option<(u64, Settled)>,
}

/// Where a conversation came to rest.
#[derive(Clone, Debug)]
pub enum Settled {
    /// Nothing can move before something new comes.
    Resting(Rest),
    /// It cannot be driven here.
    Failed(Arc<DriveError>),
}

/// An agent of a new conversation.
#[derive(Clone, Debug, Default)]
pub struct NewAgent {
    /// Its settings.
    pub joined: AgentJoined,
    /// Its instruction, if it has one.
    pub instruction: Option<Arc<str>>,
}

/// Why a conversation could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// No agent was given.
    #[error("a conversation needs at least one agent")]
    NoAgent,
    /// An agent names a tool or a widget that nothing provides.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// It breaks a rule.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store could not keep it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runtime {
    /// A runtime over these parts.
    pub fn new(world: World) -> Self {
        let world = Arc::new(world);
        Self(Arc::new(Shared {
            world,
            known: Mutex::new(BTreeMap::new()),
            tasks: Mutex::new(JoinSet::new()),
            stopping: Cancel::new(),
        }))
    }

    /// The parts it works with.
    pub fn world(&self) -> &Arc<World> {
        &self.0.world
    }

    /// Begins a conversation with these agents: at least one, and none may name a tool or a widget
    /// that this runtime does not have.
    pub async fn create(&self, agents: &[NewAgent]) -> Result<ConversationId, CreateError> {
        let world = self.world();
        let (setting, at) = (&world.setting, world.clock.now());
        if agents.is_empty() {
            return Err(CreateError::NoAgent);
        }
        for agent in agents {
            setting.check_names(&agent.joined, None)?;
        }
        let id = ConversationId::new(at, &*setting.ids);
        let counter = &*setting.counter;
        let mut facts = Vec::new();
        for (number, agent) in (AgentId::FIRST.0..).zip(agents) {
            let of = AgentId(number);
            facts.push(Proposal::new(of, agent.joined.clone(), counter));
            if let Some(text) = &agent.instruction {
                let set = InstructionSet { text: Arc::clone(text) };
                facts.push(Proposal::new(of, set, counter));
            }
        }
        if let Some(workspace) = &setting.workspace
            && agents.iter().any(|agent| setting.works_in_folder(&agent.joined))
        {
            facts.push(Proposal::new(AgentId::CONVERSATION, workspace.clone(), counter));
        }
        let stamp = Stamp { at, ids: &*setting.ids, counter };
        let first = History::new().propose(facts, stamp)?;
        world.store.create(id, None, &first.batch).await?;
        Ok(id)
    }

    /// Enqueues an item, which is durable once this returns, and drives the conversation. Returns the
    /// entry that the item became, if it was taken before.
    pub async fn submit(&self, id: ConversationId, item: &Item) -> Result<Option<Seq>, StoreError> {
        let queued = self.world().store.enqueue(id, item).await?;
        if queued.taken().is_none() {
            self.start(id);
        }
        Ok(queued.taken())
    }

    /// Has a conversation driven in the background until it rests, for a person who named it: that
    /// takes it off hold.
    pub fn start(&self, id: ConversationId) {
        self.start_for(id, true);
    }

    /// Has a conversation driven in the background until it rests, because it is due and not
    /// because a person named it. One that is on hold is not driven.
    pub fn start_unattended(&self, id: ConversationId) {
        self.start_for(id, false);
    }

    fn start_for(&self, id: ConversationId, attended: bool) {
        let mut all = lock(&self.0.known);
        let known = self.known_of(&mut all, id);
        let mut drives = false;
        known.state.send_modify(|state| {
            state.pokes += 1;
            state.attended |= attended;
            drives = !std::mem::replace(&mut state.driven, true);
            // Before the counter is visible, so that a driver that sees it also wakes.
            if !drives {
                known.wake.notify_one();
            }
        });
        // The lock keeps `forget` from removing it before it is marked as driven, so that a
        // conversation has at most one driver in this process.
        drop(all);
        if !drives {
            return;
        }
        let runtime = self.clone();
        let mut tasks = lock(&self.0.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move { runtime.background(id, known).await });
    }

    /// Whether a conversation has something to do that nobody here need have been told of: what
    /// another process put into its inbox or left half done, or a time that has come.
    pub async fn is_due(&self, id: ConversationId) -> Result<bool, StoreError> {
        let World { store, clock, .. } = &**self.world();
        Ok(store.conversation(id).await?.is_due(clock.now()))
    }

    /// Drives a conversation if it is due, now or later: this process waits for the time of its next
    /// timer, deadline or inbox item.
    pub async fn look(&self, id: ConversationId) -> Result<(), StoreError> {
        let World { store, clock, .. } = &**self.world();
        let conversation = store.conversation(id).await?;
        let waits = conversation.due_at.is_some() && conversation.hold.is_none();
        if conversation.is_due(clock.now()) || (waits && !self.is_driven(id)) {
            self.start(id);
        }
        Ok(())
    }

    /// Whether a task of this process drives a conversation, or waits for its time.
    fn is_driven(&self, id: ConversationId) -> bool {
        lock(&self.0.known).get(&id).is_some_and(|known| known.state.borrow().driven)
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.0.stopping.is_cancelled()
    }

    /// Waits until a conversation that was started here rests, or cannot be driven.
    pub async fn settled(&self, id: ConversationId) -> Settled {
        let subscribed = lock(&self.0.known).get(&id).map(|known| {
            // Under the lock, so that `forget` sees the subscriber.
            (Arc::clone(known), known.state.subscribe())
        });
        let Some((known, mut state)) = subscribed else { return Settled::Resting(Rest::Idle) };
        let settled = loop {
            {
                let state = state.borrow_and_update();
                if let Some((pokes, settled)) = &state.settled
                    && *pokes >= state.pokes
                {
                    break settled.clone();
                }
                if !state.driven {
                    break Settled::Resting(Rest::Idle);
                }
            }
            if state.changed().await.is_err() {
                break Settled::Resting(Rest::Idle);
            }
        };
        drop(state);
        self.forget(id, &known, true);
        settled
    }

    /// Whether a conversation that was started here is not driven because another process drives it.
    pub fn is_held_elsewhere(&self, id: ConversationId) -> bool {
        lock(&self.0.known).get(&id).is_some_and(|known| known.state.borrow().held_elsewhere)
    }

    /// Watches a conversation: what is stored after an entry, then what is new in this process.
    pub fn watch(&self, id: ConversationId, after: Seq) -> Watcher {
        let mut all = lock(&self.0.known);
        // Under the lock, so that `forget` sees the watcher.
        self.known_of(&mut all, id).feed.watch(Arc::clone(&self.world().store), id, after)
    }

    /// Opens a conversation to be driven by hand, step by step.
    pub async fn drive(&self, id: ConversationId) -> Result<Drive, DriveError> {
        let known = self.known_of(&mut lock(&self.0.known), id);
        let (feed, wake) = (Arc::clone(&known.feed), Arc::clone(&known.wake));
        Drive::begin(Arc::clone(self.world()), id, feed, wake).await
    }

    /// Ends all driving for good, and gives the leases back. What is recorded is safe; what was
    /// under way goes on where it is driven next.
    pub async fn stop(&self) {
        self.0.stopping.cancel();
        let mut tasks = std::mem::take(&mut *lock(&self.0.tasks));
        let ended = async { while tasks.join_next().await.is_some() {} };
        // A store that does not answer must not hold up the end: its leases run out by themselves.
        if tokio::time::timeout(Duration::from_millis(STOP_MS), ended).await.is_err() {
            tasks.shutdown().await;
        }
        for known in lock(&self.0.known).values() {
            known.feed.close();
        }
    }

    /// What this process holds of a conversation, created if it holds nothing yet.
    fn known_of(
        &self,
        all: &mut BTreeMap<ConversationId, Arc<Known>>,
        id: ConversationId,
    ) -> Arc<Known> {
        if let Some(known) = all.get(&id) {
            return Arc::clone(known);
        }
        // Watchers and drives by hand end without a word; this keeps what they leave in proportion.
        if all.len().is_power_of_two() {
            all.retain(|_, known| known.is_in_use(false));
        }
        let state = watch::Sender::new(State::default());
        let known = Arc::new(Known { feed: Arc::default(), wake: Arc::default(), state });
        if self.is_stopped() {
            known.feed.close();
        }
        all.insert(id, Arc::clone(&known));
        known
    }

    /// Drives a conversation until it rests and nobody needs it any more.
    async fn background(self, id: ConversationId, known: Arc<Known>) {
        let mut told = false;
        loop {
            let mut pokes = known.state.borrow().pokes;
            let settled = match caught(self.drive_until_rest(id, &known, &mut pokes)).await {
                Ok(None) => continue,
                Ok(Some(rest)) => Settled::Resting(rest),
                Err(DriveError::Store(held @ StoreError::Held { .. })) => {
                    known.state.send_modify(|state| state.held_elsewhere = true);
                    // Someone else drives it: what waits is theirs, unless they die.
                    if !std::mem::replace(&mut told, true) {
                        known.feed.tell(News::Notice(Notice::Stalled(held.to_string().into())));
                    }
                    let stopped = self.0.stopping.cancelled();
                    let held = Duration::from_millis(HELD_MS);
                    if tokio::time::timeout(held, stopped).await.is_err() {
                        continue;
                    }
                    Settled::Resting(Rest::Idle)
                }
                Err(error) => Settled::Failed(Arc::new(error)),
            };
            let mut done = false;
            known.state.send_modify(|state| {
                state.settled = Some((pokes, settled));
                done = state.pokes == pokes || self.0.stopping.is_cancelled();
                state.driven = !done;
            });
            if done {
                break;
            }
        }
        self.forget(id, &known, false);
    }

    /// Takes the lease, drives to rest, and keeps at hand for a while. None if something came
    /// while the lease was given back. `settled` is after how many pokes it rests.
    async fn drive_until_rest(
        &self,
        id: ConversationId,
        known: &Known,
        settled: &mut u64,
    ) -> Result<Option<Rest>, DriveError> {
        let attended = known.state.borrow().attended;
        let requested = Instant::now();
        let lease = Drive::claim(self.world(), id, attended).await?;
        let (feed, wake) = (Arc::clone(&known.feed), Arc::clone(&known.wake));
        let leased = Leased { lease: lease.clone(), requested, attended };
        let opened = caught(Drive::open_leased(Arc::clone(self.world()), leased, feed, wake)).await;
        let mut drive = match opened {
            Ok(drive) => drive,
            Err(error) => {
                self.release(lease).await;
                return Err(error);
            }
        };
        known.state.send_modify(|state| state.held_elsewhere = false);
        let driven = caught(self.drive_on(&mut drive, known, settled)).await;
        let wakes_at = drive.wakes_at();
        // Everything durable is whole, also after a panic: the next driver goes on from there.
        let ended = caught(async { Ok(drive.end().await) }).await;
        self.release(ended.unwrap_or(lease)).await;
        let rest = driven?;
        match rest {
            Some(rest) => self.wait_without_lease(known, *settled, rest, wakes_at).await,
            None => Ok(Some(Rest::Idle)),
        }
    }

    /// Releases a lease. If the store fails, a background task tries again until the lease expires: a
    /// lease that is not released blocks every driver, this process included.
    async fn release(&self, lease: Lease) {
        let Err(error) = self.world().store.release(&lease).await else { return };
        let (id, runtime) = (lease.conversation, self.clone());
        tracing::warn!(target: "History", conversation = %id, %error, "could not give a lease back");
        let runs_out = Instant::now() + Duration::from_millis(self.world().pace.lease_ms);
        lock(&self.0.tasks).spawn(async move {
            while Instant::now() < runs_out && !runtime.0.stopping.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(RELEASE_AGAIN_MS)).await;
                match runtime.world().store.release(&lease).await {
                    Ok(()) => return,
                    Err(error) => {
                        tracing::debug!(target: "History", conversation = %id, %error, "still holds a lease");
                    }
                }
            }
        });
    }

    /// Drives to rest, and keeps at hand for a while. None if all driving ends before that.
    async fn drive_on(
        &self,
        drive: &mut Drive,
        known: &Known,
        settled: &mut u64,
    ) -> Result<Option<Rest>, DriveError> {
        let linger = Duration::from_millis(self.world().pace.linger_ms);
        loop {
            let pokes = known.state.borrow().pokes;
            let stepped = tokio::select! {
                biased;
                () = self.0.stopping.cancelled() => return Ok(None),
                stepped = drive.step() => stepped?,
            };
            let rest = match stepped {
                Stepped::Moved(_) => continue,
                Stepped::Blocked(rest) => rest,
            };
            if drive.was_woken() {
                continue;
            }
            *settled = pokes;
            let mut quiet = false;
            known.state.send_modify(|state| {
                quiet = state.pokes == pokes;
                if quiet {
                    state.settled = Some((pokes, Settled::Resting(rest)));
                }
            });
            if !quiet {
                continue;
            }
            let waited = tokio::select! {
                () = self.0.stopping.cancelled() => false,
                waited = tokio::time::timeout(linger, drive.wait()) => waited.is_ok(),
            };
            if !waited {
                return Ok(Some(rest));
            }
        }
    }

    /// What waits for a time holds no lease until it has come.
    async fn wait_without_lease(
        &self,
        known: &Known,
        pokes: u64,
        rest: Rest,
        wakes_at: Option<Instant>,
    ) -> Result<Option<Rest>, DriveError> {
        let Some(wakes_at) = wakes_at else { return Ok(Some(rest)) };
        let mut state = known.state.subscribe();
        let poked = state.wait_for(|state| state.pokes != pokes);
        tokio::select! {
            () = self.0.stopping.cancelled() => Ok(Some(rest)),
            _ = poked => Ok(None),
            () = sleep_until(wakes_at) => Ok(None),
        }
    }

    /// Drops the state of a conversation that is not in use any more.
    fn forget(&self, id: ConversationId, known: &Arc<Known>, failure_seen: bool) {
        let mut all = lock(&self.0.known);
        let is_held = all.get(&id).is_some_and(|held| Arc::ptr_eq(held, known));
        if is_held && !known.is_in_use(failure_seen) {
            all.remove(&id);
        }
    }
}

impl Known {
    /// Whether someone drives or watches the conversation, or waits for it to settle. A failure is kept
    /// until a caller of [`Runtime::settled`] has seen it.
    fn is_in_use(&self, failure_seen: bool) -> bool {
        let state = self.state.borrow();
        let failed = matches!(state.settled, Some((_, Settled::Failed(_))));
        state.driven
            || (failed && !failure_seen)
            || self.state.receiver_count() > 0
            || Arc::strong_count(&self.feed) > 1
    }
}

/// What comes of driving; a panic is an error, too.
fn caught<'a, T: 'a>(
    driving: impl Future<Output = Result<T, DriveError>> + Send + 'a,
) -> BoxFuture<'a, Result<T, DriveError>> {
    let told = |panic: Box<dyn Any + Send>| Err(DriveError::Panicked(panic_text(&*panic)));
    let driven = AssertUnwindSafe(driving).catch_unwind();
    driven.map(move |driven| driven.unwrap_or_else(told)).boxed()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half way, so that a poisoned lock still guards whole data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
