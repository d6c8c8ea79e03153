//! One leased conversation, step after step.

use std::sync::Arc;

use futures_util::FutureExt as _;
use threadline_core::clock::Timestamp;
use threadline_core::drive::{
    Circumstances, Command, Driver, Event, Notice, Opening, Rest, Stopped,
};
use threadline_core::history::entry::Entry;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::store::{
    Attendance, Change, Changes, Lease, OpenError, StoreError, open_with_widgets, verified_entries,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::alarm::{Alarm, DueTimer};
use crate::feed::{Feed, News};
use crate::inbox_cursor::InboxCursor;
use crate::lease_timer::{LeaseTimer, Renewed};
use crate::work::{Done, Work, read_inbox};
use crate::world::World;

/// Drives one conversation in this process, under a lease.
///
/// It is not re-entrant: a step needs it for itself. Dropping it anywhere loses nothing that was
/// told: the next one goes on from what is recorded.
pub struct Drive {
    world: Arc<World>,
    conversation: ConversationId,
    /// Boxed to keep the futures of all callers small.
    driver: Box<Driver>,
    /// The time of the last entry: to the driver time does not go back, whatever the clock says.
    latest: Timestamp,
    lease: Lease,
    lease_timer: LeaseTimer,
    work: Work,
    feed: Arc<Feed>,
    /// Notified when the inbox should be read.
    wake: Arc<Notify>,
    /// True if the drive was woken and has not read the inbox since.
    woken: bool,
    /// Changes of the conversation that others make in the store.
    changes: Box<dyn Changes>,
    inbox: InboxCursor,
    due_timer: DueTimer,
    alarm: Alarm,
    /// What became durable and was not told yet.
    moved: Vec<Arc<Entry>>,
    rest: Option<Rest>,
    stopped: Option<Stopped>,
}

/// A lease that was just taken.
pub(crate) struct Leased {
    pub(crate) lease: Lease,
    /// When this process asked for it.
    pub(crate) requested: Instant,
    /// Whether a person has the conversation driven.
    pub(crate) attended: bool,
}

/// What a step came to.
#[derive(Clone, Debug)]
pub enum Stepped {
    /// These entries are durable.
    Moved(Vec<Arc<Entry>>),
    /// Nothing can move before something new comes.
    Blocked(Rest),
}

/// Why a conversation cannot be driven here.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The store said no; one that is held by another driver among them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The driver stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Something that it called panicked: a provider, a widget, a store.
    #[error("a panic while the conversation was driven: {0}")]
    Panicked(String),
}

impl Drive {
    /// Takes the lease of a conversation and opens it, for a person who named it.
    pub async fn open(world: Arc<World>, id: ConversationId) -> Result<Self, DriveError> {
        Self::begin(world, id, Arc::default(), Arc::default()).await
    }

    pub(crate) async fn begin(
        world: Arc<World>,
        id: ConversationId,
        feed: Arc<Feed>,
        wake: Arc<Notify>,
    ) -> Result<Self, DriveError> {
        let (requested, attended) = (Instant::now(), true);
        let lease = Self::claim(&world, id, attended).await?;
        let leased = Leased { lease: lease.clone(), requested, attended };
        let opened = Self::open_leased(Arc::clone(&world), leased, feed, wake).await;
        if opened.is_err()
            && let Err(error) = world.store.release(&lease).await
        {
            tracing::warn!(target: "History", conversation = %id, %error, "could not release a lease");
        }
        opened
    }

    /// Takes the lease of a conversation.
    pub(crate) async fn claim(
        world: &World,
        id: ConversationId,
        attended: bool,
    ) -> Result<Lease, DriveError> {
        let attendance = if attended { Attendance::Attended } else { Attendance::Unattended };
        Ok(world.store.claim(id, world.pace.lease_ms, attendance).await?)
    }

    /// Opens a conversation whose lease was taken. On an error the caller still has the lease.
    pub(crate) async fn open_leased(
        world: Arc<World>,
        Leased { lease, requested: now, attended }: Leased,
        feed: Arc<Feed>,
        wake: Arc<Notify>,
    ) -> Result<Self, DriveError> {
        let id = lease.conversation;
        // Before the inbox is read, so that no item is missed in between.
        let changes = world.store.subscribe(Some(id));
        let circumstances = Circumstances { attended, predecessor: lease.predecessor };
        // Boxed to keep the futures of all callers small.
        let (active_at, opening, waiting) = Box::pin(begin(&world, id, circumstances)).await?;
        let driver = Box::new(Driver::new(id, Arc::clone(&world.setting), opening));
        let head = driver.history().head();
        let work = Work::new(Arc::clone(&world), id, Arc::clone(&feed), head);
        let mut drive = Self {
            lease_timer: LeaseTimer::new(now, world.pace.lease_ms),
            world,
            conversation: id,
            driver,
            latest: active_at,
            lease,
            work,
            feed,
            wake,
            woken: false,
            changes,
            inbox: InboxCursor::default(),
            due_timer: DueTimer::default(),
            alarm: Alarm::new(now),
            moved: Vec::new(),
            rest: None,
            stopped: None,
        };
        drive.inbox.request();
        if let Some(after) = drive.inbox.finish(now, Some(&waiting)) {
            drive.work.read_inbox(after);
        }
        drive.tell(Event::Arrived(waiting));
        Ok(drive)
    }

    /// The conversation.
    pub fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// The driver, to look at.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Goes on until something is durable, or until nothing can move.
    pub async fn step(&mut self) -> Result<Stepped, DriveError> {
        loop {
            if !self.moved.is_empty() {
                return Ok(Stepped::Moved(std::mem::take(&mut self.moved)));
            }
            if let Some(stopped) = &self.stopped {
                return Err(stopped.clone().into());
            }
            if let Some(rest) = self.rest
                && !self.inbox.is_reading()
            {
                return Ok(Stepped::Blocked(rest));
            }
            if let Some(event) = self.next_event().await {
                self.tell(event);
            }
        }
    }

    /// Enqueues an item, which is durable once this returns. Returns the entry that it became, if it
    /// was taken before.
    pub async fn submit(&mut self, item: &Item) -> Result<Option<Seq>, DriveError> {
        let queued = self.world.store.enqueue(self.conversation, item).await?;
        self.look();
        Ok(queued.taken())
    }

    /// Waits until there may be something to do again, or until it was woken and the inbox turned out
    /// to be empty.
    pub async fn wait(&mut self) -> Result<(), DriveError> {
        while self.rest.is_some() {
            if !self.inbox.is_reading() && std::mem::take(&mut self.woken) {
                // It may have been for a time that has come.
                self.tell(Event::Due);
                break;
            }
            if let Some(stopped) = &self.stopped {
                return Err(stopped.clone().into());
            }
            if let Some(event) = self.next_event().await {
                self.tell(event);
            }
        }
        Ok(())
    }

    /// Takes steps until nothing can move.
    pub async fn run(&mut self) -> Result<Rest, DriveError> {
        loop {
            if let Stepped::Blocked(rest) = self.step().await? {
                return Ok(rest);
            }
        }
    }

    /// Gives the lease back, so that others can go on at once.
    pub async fn release(self) -> Result<(), StoreError> {
        let store = Arc::clone(&self.world.store);
        store.release(&self.end().await).await
    }

    /// Ends all that is under way; gives the lease, which is still held.
    pub(crate) async fn end(self) -> Lease {
        let Self { lease, work, .. } = self;
        work.end().await;
        lease
    }

    /// Looks into the inbox at once.
    pub fn look(&mut self) {
        if let Some(after) = self.inbox.request() {
            self.work.read_inbox(after);
        }
    }

    /// Reads the inbox if it was woken meanwhile; returns whether it was.
    pub(crate) fn was_woken(&mut self) -> bool {
        let woken = self.wake.notified().now_or_never().is_some();
        if woken {
            self.wake_up();
        }
        woken
    }

    fn wake_up(&mut self) {
        self.woken = true;
        self.look();
    }

    /// When the clock will have come to what is due next, if anything is.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.due_timer.check_at()
    }

    /// What happens next to the driver; none if something happened that it need not know, and
    /// that it may rest now.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            let times =
                [self.lease_timer.renew_at(), self.inbox.retry_at(), self.due_timer.check_at()];
            self.alarm.set(times.into_iter().flatten().min());
            let wake = Arc::clone(&self.wake);
            // However much work there is, leases are renewed, and inboxes are looked into.
            tokio::select! {
                biased;
                () = self.alarm.ring() => {
                    if let Some(event) = self.time_has_come() {
                        return Some(event);
                    }
                }
                () = wake.notified() => {
                    self.wake_up();
                    return None;
                }
                change = self.changes.next() => match change {
                    Change::Inbox(_) | Change::Unknown => self.look(),
                    Change::History(_) | Change::Lease(_) => {}
                },
                Some(done) = self.work.next() => return self.done(done),
            }
        }
    }

    /// Does what is to be done by now; gives what the driver is to know of it.
    fn time_has_come(&mut self) -> Option<Event> {
        let now = Instant::now();
        if self.lease_timer.request_renewal(now) {
            self.work.renew(&self.lease);
        }
        if self.inbox.retry_at().is_some_and(|at| at <= now) {
            self.look();
        }
        if self.due_timer.check_at().is_some_and(|at| at <= now) {
            self.due_timer.restart(self.now());
            return Some(Event::Due);
        }
        None
    }

    fn done(&mut self, done: Done) -> Option<Event> {
        match done {
            Done::Event(event) => {
                if let Event::Ran { call, .. } = &*event {
                    self.work.call_is_over(*call);
                }
                Some(*event)
            }
            Done::Appended(batch) => {
                self.work.appended(&batch);
                Some(Event::Appended)
            }
            Done::Gathered(agent, at_hand, event) => {
                self.work.gathered(agent, at_hand);
                Some(*event)
            }
            Done::Quiet => None,
            Done::Streamed(streamed) => Some(self.work.streamed(*streamed)),
            Done::Inbox(items) => {
                if let Err(error) = &items {
                    // After a failed read nothing is known about the inbox.
                    self.woken = false;
                    tracing::warn!(target: "History", conversation = %self.conversation, %error, "could not read the inbox");
                    if error.damage().is_some() {
                        self.stopped = Some(Stopped::Store(error.to_string()));
                    }
                }
                if let Some(after) = self.inbox.finish(Instant::now(), items.as_deref().ok()) {
                    self.work.read_inbox(after);
                }
                items.ok().filter(|items| !items.is_empty()).map(Event::Arrived)
            }
            Done::Renewed(renewed) => self.renewed(renewed),
        }
    }

    fn renewed(&mut self, renewed: Result<Lease, StoreError>) -> Option<Event> {
        let held = self.lease_timer.answered(Instant::now(), renewed.as_ref().err());
        match renewed {
            Ok(lease) => self.lease = lease,
            Err(error) => {
                tracing::warn!(target: "History", conversation = %self.conversation, %error, "could not renew the lease");
            }
        }
        (held == Renewed::Lost).then_some(Event::LeaseLost)
    }

    /// Tells the driver what happened and does what it says.
    fn tell(&mut self, event: Event) {
        let now = self.now();
        for command in self.driver.on(event, now) {
            self.execute(command);
        }
        self.rest = self.driver.rests();
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::DropContexts => self.work.forget_at_hand(),
            Command::Append(batch) => self.work.append(&self.lease, batch),
            Command::KeepSnapshot { standing, for_good } => {
                self.work.keep_snapshot(standing, for_good);
            }
            Command::Gather { agent, ticket, gather } => self.work.gather(agent, ticket, gather),
            Command::GatherRecap { agent, ticket, gather } => {
                self.work.gather_recap(agent, ticket, gather);
            }
            Command::Invoke { agent, ticket, request } => {
                self.work.invoke(agent, ticket, *request);
            }
            Command::Proceed { ticket, .. } => self.work.proceed(ticket),
            Command::Abandon { ticket, .. } => self.work.abandon(ticket),
            Command::Run(run) => {
                // A lease that may have run out here may be someone else's by now: whoever took
                // over counts the call as started.
                if self.lease_timer.is_valid(Instant::now()) {
                    self.work.run(run);
                } else {
                    self.work.sleep(0, Event::LeaseLost);
                }
            }
            Command::Reconcile(run) => self.work.reconcile(run),
            Command::ChangeRecorded(call) => {
                // As with a call: whoever took over counts the change as not made.
                let is_ours = self.lease_timer.is_valid(Instant::now());
                self.work.answer_change(call, is_ours);
                if !is_ours {
                    self.work.sleep(0, Event::LeaseLost);
                }
            }
            Command::ChangeRefused(call) => self.work.answer_change(call, false),
            Command::StopCall(call) => self.work.stop_call(call),
            Command::FetchPast { item, to } => self.work.fetch_past(item, to),
            Command::Sleep { alarm, ms } => self.work.sleep(ms, Event::Alarm(alarm)),
            Command::WakeAt(moment) => {
                let now = self.now();
                self.due_timer.set(moment, now);
            }
            Command::Publish(notice) => self.publish(notice),
            // The driver is asked whether it rests after every event.
            Command::Rest(_) => {}
            Command::Stop(stopped) => {
                tracing::info!(target: "StateMachine", conversation = %self.conversation, %stopped, "stopped");
                self.stopped = Some(stopped);
            }
        }
    }

    fn publish(&mut self, notice: Notice) {
        match &notice {
            Notice::Entry(entry) => {
                tracing::debug!(target: "History", conversation = %self.conversation, seq = %entry.seq, kind = entry.fact.kind(), "appended");
                self.latest = self.latest.max(entry.at);
                self.moved.push(Arc::clone(entry));
            }
            Notice::State { agent, from, to } => {
                tracing::info!(target: "StateMachine", conversation = %self.conversation, %agent, "{from} -> {to}");
            }
            Notice::Stalled(why) => {
                tracing::warn!(target: "History", conversation = %self.conversation, %why, "stalled");
            }
            Notice::Delta { .. } => {}
        }
        self.feed.tell(News::Notice(notice));
    }

    /// The present as the driver sees it: not before the last entry.
    fn now(&self) -> Timestamp {
        self.world.clock.now().max(self.latest)
    }
}

/// What a driver begins with, the time of the last entry, and the items that wait.
async fn begin(
    world: &World,
    id: ConversationId,
    circumstances: Circumstances,
) -> Result<(Timestamp, Opening, Vec<(ItemNumber, Item)>), OpenError> {
    let (active_at, opening) = opening(world, id, circumstances).await?;
    Ok((active_at, opening, read_inbox(&*world.store, id, ItemNumber(0)).await?))
}

/// What a driver of a conversation begins with, and the time of the last entry. A person who has it
/// driven takes it off hold.
async fn opening(
    world: &World,
    id: ConversationId,
    circumstances: Circumstances,
) -> Result<(Timestamp, Opening), OpenError> {
    let setting = &world.setting;
    let (store, counter) = (&*world.store, &*setting.counter);
    let (conversation, history, widgets) =
        open_with_widgets(store, id, counter, &setting.widgets).await?;
    if circumstances.attended && conversation.hold.is_some() {
        world.store.lift_hold(id).await?;
    }
    let seqs: Vec<Seq> = Opening::needs(&history);
    let entries = verified_entries(store, id, &seqs).await?;
    Ok((conversation.active_at, Opening { history, widgets, entries, circumstances }))
}
