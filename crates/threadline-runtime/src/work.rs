//! Work under way: commands as futures that end in events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use threadline_core::context::wanted_media;
use threadline_core::drive::{Event, Gather, GatherRecap, Past, Run, Setback, Standing, Ticket};
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{Digest, FailureKind};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::provider::{Delta, DeltaStream, ProviderError, Request};
use threadline_core::redact::Secrets;
use threadline_core::store::{
    Lease, Recall, Storage, StoreError, gather_recap, past_with_widgets, read_media,
};
use threadline_core::tool::{Cancel, FileLog, Progress, ProgressReport, ToolContext};
use tokio::sync::{mpsc, oneshot};

use crate::at_hand::AtHand;
use crate::change::{ChangeRecorder, ChangeRequest};
use crate::feed::{Feed, News};
use crate::health::Watched;
use crate::redact::{self, RedactedAnswer};
use crate::thread::StoredThread;
use crate::toolbox::kept;
use crate::world::World;

/// How many items of an inbox are read at a time.
const ITEMS: usize = 256;
/// How far the last snapshot may lie behind while a conversation is driven: so many entries are
/// folded in a fraction of the time that keeping a snapshot for each turn would take.
const SNAPSHOT_GAP: u64 = 256;

/// Reads the items of an inbox after a number; only an empty page is the last one. Items of a newer
/// version stay where they are.
pub(crate) async fn read_inbox(
    store: &dyn Storage,
    id: ConversationId,
    mut after: ItemNumber,
) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
    loop {
        match store.waiting(id, after, ITEMS).await {
            Err(StoreError::NewerItem { item, .. }) => {
                tracing::warn!(target: "History", conversation = %id, item = item.0, "left an item of a newer version in the inbox");
                after = item;
            }
            items => return items,
        }
    }
}

/// Something that was under way and is done.
pub(crate) enum Done {
    /// The driver is told.
    Event(Box<Event>),
    /// A batch is durable.
    Appended(Arc<Batch>),
    /// What a context is made of was read, or could not be.
    Gathered(AgentId, Box<AtHand>, Box<Event>),
    /// Nobody is told.
    Quiet,
    /// The inbox was read.
    Inbox(Result<Vec<(ItemNumber, Item)>, StoreError>),
    /// The lease was renewed, or could not be.
    Renewed(Result<Lease, StoreError>),
    /// A model's stream went on.
    Streamed(Box<Streamed>),
}

/// A model's stream with what it gave.
pub(crate) struct Streamed {
    agent: AgentId,
    ticket: Ticket,
    item: Option<Result<Delta, ProviderError>>,
    stream: DeltaStream,
}

/// All that is under way for one conversation. Dropping it ends all of it.
pub(crate) struct Work {
    world: Arc<World>,
    conversation: ConversationId,
    feed: Arc<Feed>,
    futures: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Streams that wait until their invocation is on record.
    held: BTreeMap<Ticket, (AgentId, DeltaStream)>,
    /// Invocations under way, for how their models are doing.
    watched: BTreeMap<Ticket, Watched>,
    /// How to end a stream.
    streams: BTreeMap<Ticket, AbortHandle>,
    /// How to stop a call.
    calls: BTreeMap<CallId, Cancel>,
    /// What is at hand of agents' contexts, and how often it was forgotten.
    at_hand: BTreeMap<AgentId, Box<AtHand>>,
    forgotten: u64,
    /// File changes that calls announce, and how to announce one.
    changes: mpsc::UnboundedReceiver<ChangeRequest>,
    announce: mpsc::UnboundedSender<ChangeRequest>,
    /// Calls that wait until their change is on record.
    announced: BTreeMap<CallId, oneshot::Sender<()>>,
    /// What waits to be kept as a snapshot, and the last one that was.
    standing: Option<Box<Standing>>,
    snapshot_kept: Seq,
}

impl Work {
    /// Nothing is under way; the conversation was opened at this entry.
    pub(crate) fn new(
        world: Arc<World>,
        conversation: ConversationId,
        feed: Arc<Feed>,
        head: Seq,
    ) -> Self {
        let (announce, changes) = mpsc::unbounded_channel();
        Self {
            world,
            conversation,
            feed,
            changes,
            announce,
            announced: BTreeMap::new(),
            futures: FuturesUnordered::new(),
            held: BTreeMap::new(),
            watched: BTreeMap::new(),
            streams: BTreeMap::new(),
            calls: BTreeMap::new(),
            at_hand: BTreeMap::new(),
            forgotten: 0,
            standing: None,
            snapshot_kept: head,
        }
    }

    fn push(&self, future: impl Future<Output = Done> + Send + 'static) {
        self.futures.push(Box::pin(future));
    }

    /// What is done next; waits for it. None if nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<Done> {
        tokio::select! {
            biased;
            Some(done) = self.futures.next() => Some(done),
            Some(ChangeRequest { change, recorded }) = self.changes.recv() => {
                self.announced.insert(change.call, recorded);
                Some(Done::Event(Box::new(Event::FileChange { change })))
            }
            else => None,
        }
    }

    /// Answers a call that waits for its file change: it may be made, or it must not be.
    pub(crate) fn answer_change(&mut self, call: CallId, recorded: bool) {
        if let Some(answer) = self.announced.remove(&call)
            && recorded
        {
            // A call that was stopped in the meantime makes no change.
            let _ = answer.send(());
        }
    }

    pub(crate) fn append(&self, lease: &Lease, batch: Arc<Batch>) {
        let (world, lease) = (Arc::clone(&self.world), lease.clone());
        self.push(async move {
            match world.store.append(&lease, &batch).await {
                Ok(()) => Done::Appended(batch),
                Err(error) => Done::Event(Box::new(Event::NotAppended(error.into()))),
            }
        });
    }

    /// A batch is durable: what it adds is at hand.
    pub(crate) fn appended(&mut self, batch: &Batch) {
        for (agent, at_hand) in &mut self.at_hand {
            at_hand.note(*agent, batch);
        }
    }

    /// Keeps a snapshot, if it is for good or the last one is far behind; else it waits for the
    /// next one, or for the end.
    pub(crate) fn keep_snapshot(&mut self, standing: Box<Standing>, for_good: bool) {
        let head = standing.history.head();
        if !for_good && head.0 - self.snapshot_kept.0 < SNAPSHOT_GAP {
            self.standing = Some(standing);
            return;
        }
        self.snapshot_kept = head;
        self.standing = None;
        let (world, id) = (Arc::clone(&self.world), self.conversation);
        self.push(async move {
            keep(&world, id, &standing, for_good).await;
            Done::Quiet
        });
    }

    /// Ends all that is under way, and keeps the snapshot that waits.
    pub(crate) async fn end(self) {
        let Self { world, conversation, standing, futures, .. } = self;
        drop(futures);
        if let Some(standing) = standing {
            keep(&world, conversation, &standing, false).await;
        }
    }

    pub(crate) fn read_inbox(&self, after: ItemNumber) {
        let (world, id) = (Arc::clone(&self.world), self.conversation);
        self.push(async move { Done::Inbox(read_inbox(&*world.store, id, after).await) });
    }

    pub(crate) fn renew(&self, lease: &Lease) {
        let (world, lease) = (Arc::clone(&self.world), lease.clone());
        self.push(
            async move { Done::Renewed(world.store.renew(&lease, world.pace.lease_ms).await) },
        );
    }

    pub(crate) fn sleep(&self, ms: u64, event: Event) {
        self.push(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Done::Event(Box::new(event))
        });
    }

    pub(crate) fn gather(&mut self, agent: AgentId, ticket: Ticket, gather: Box<Gather>) {
        let (world, id) = (Arc::clone(&self.world), self.conversation);
        let at_hand = self.at_hand.remove(&agent);
        let mut at_hand = at_hand.unwrap_or_else(|| Box::new(AtHand::new(self.forgotten)));
        self.push(async move {
            let event = match at_hand.gather(&world, id, &gather).await {
                Ok(gathered) => Event::Gathered { agent, ticket, gathered: Box::new(gathered) },
                Err(error) => Event::NotGathered { agent, ticket, setback: error.into() },
            };
            Done::Gathered(agent, at_hand, Box::new(event))
        });
    }

    pub(crate) fn gather_recap(&self, agent: AgentId, ticket: Ticket, gather: Box<GatherRecap>) {
        let (world, id) = (Arc::clone(&self.world), self.conversation);
        self.push(async move {
            let GatherRecap { history, unstored, ask } = &*gather;
            let (store, mut recall) = (&*world.store, Recall::default());
            if let Some(batch) = unstored {
                recall.note_unstored(agent, batch);
            }
            let event = match gather_recap(store, id, history, ask, &mut recall).await {
                Ok(source) => Event::RecapGathered { agent, ticket, source: source.map(Box::new) },
                Err(error) => Event::NotGathered { agent, ticket, setback: error.into() },
            };
            Done::Event(Box::new(event))
        });
    }

    /// What a context is made of was read: it stays at hand.
    pub(crate) fn gathered(&mut self, agent: AgentId, at_hand: Box<AtHand>) {
        if at_hand.since() == self.forgotten {
            self.at_hand.insert(agent, at_hand);
        }
    }

    /// Nothing is at hand any more, also of what is being read: it may be of a batch that never
    /// came to be.
    pub(crate) fn forget_at_hand(&mut self) {
        self.at_hand.clear();
        self.forgotten += 1;
    }

    pub(crate) fn fetch_past(&self, item: ItemNumber, to: Seq) {
        let (world, id) = (Arc::clone(&self.world), self.conversation);
        self.push(async move {
            let setting = &world.setting;
            let (counter, widgets) = (&*setting.counter, &setting.widgets);
            let past = past_with_widgets(&*world.store, id, to, counter, widgets).await;
            let past = past.map_err(Setback::from).map(|(history, aftermath, widgets)| {
                Box::new(Past { history, aftermath, widgets })
            });
            Done::Event(Box::new(Event::Past { item, past }))
        });
    }

    /// Asks a model. Its stream is held once its request is prepared.
    pub(crate) fn invoke(&mut self, agent: AgentId, ticket: Ticket, request: Request) {
        tracing::debug!(
            target: "Provider",
            conversation = %self.conversation,
            %agent,
            model = %request.target.name,
            parts = request.context.parts.len(),
            tokens = request.context.tokens(),
            "asking"
        );
        let model = request.target.invocation.clone();
        self.watched.insert(ticket, Watched::new(Arc::clone(&self.world.observer), model));
        let wanted = wanted_media(&request.context, &request.target.profile);
        if wanted.is_empty() {
            let stream = invoked(&self.world, request);
            self.pump(agent, ticket, stream);
        } else {
            self.invoke_with(agent, ticket, request, wanted);
        }
    }

    /// Asks a model with the bytes of attachments. If they cannot be read, nothing was asked.
    fn invoke_with(
        &mut self,
        agent: AgentId,
        ticket: Ticket,
        mut request: Request,
        wanted: Vec<Digest>,
    ) {
        let world = Arc::clone(&self.world);
        let (abort, registration) = AbortHandle::new_pair();
        self.streams.insert(ticket, abort);
        let first = async move {
            request.media = read_media(&*world.store, &wanted).await?;
            Ok::<_, StoreError>(invoked(&world, request).into_future().await)
        };
        let first = Abortable::new(first, registration);
        self.push(async move {
            match first.await {
                Ok(Ok((item, stream))) => {
                    Done::Streamed(Box::new(Streamed { agent, ticket, item, stream }))
                }
                Ok(Err(error)) => {
                    let setback = error.into();
                    Done::Event(Box::new(Event::NotGathered { agent, ticket, setback }))
                }
                Err(_) => Done::Quiet,
            }
        });
    }

    pub(crate) fn proceed(&mut self, ticket: Ticket) {
        if let Some(watched) = self.watched.get_mut(&ticket) {
            watched.sent();
        }
        if let Some((agent, stream)) = self.held.remove(&ticket) {
            self.pump(agent, ticket, stream);
        }
    }

    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        self.watched.remove(&ticket);
        self.held.remove(&ticket);
        if let Some(abort) = self.streams.remove(&ticket) {
            abort.abort();
        }
    }

    /// Takes the next delta from a stream.
    fn pump(&mut self, agent: AgentId, ticket: Ticket, stream: DeltaStream) {
        let (abort, registration) = AbortHandle::new_pair();
        self.streams.insert(ticket, abort);
        let next = Abortable::new(stream.into_future(), registration);
        self.push(async move {
            match next.await {
                Ok((item, stream)) => {
                    Done::Streamed(Box::new(Streamed { agent, ticket, item, stream }))
                }
                Err(_) => Done::Quiet,
            }
        });
    }

    /// A stream went on: what the driver is told, while it goes further.
    pub(crate) fn streamed(&mut self, streamed: Streamed) -> Event {
        let Streamed { agent, ticket, item, stream } = streamed;
        self.streams.remove(&ticket);
        self.observe(ticket, item.as_ref());
        match item {
            Some(Ok(delta)) => {
                match &delta {
                    Delta::Prepared(_) => {
                        self.held.insert(ticket, (agent, stream));
                    }
                    Delta::Finished { .. } => {}
                    _ => self.pump(agent, ticket, stream),
                }
                Event::Delta { agent, ticket, delta }
            }
            Some(Err(error)) => {
                tracing::info!(target: "Provider", conversation = %self.conversation, %error, "failed");
                Event::Broke { agent, ticket, error: Some(error) }
            }
            None => Event::Broke { agent, ticket, error: None },
        }
    }

    /// Takes note of what a stream says about its model.
    fn observe(&mut self, ticket: Ticket, item: Option<&Result<Delta, ProviderError>>) {
        match item {
            Some(Ok(Delta::Finished { .. })) => {
                if let Some(watched) = self.watched.remove(&ticket) {
                    watched.finished();
                }
            }
            Some(Ok(Delta::Begin { .. } | Delta::Fragment { .. })) => {
                if let Some(watched) = self.watched.get_mut(&ticket) {
                    watched.answers();
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => self.observe_failure(ticket, error.kind),
            None => self.observe_failure(ticket, FailureKind::Protocol),
        }
    }

    fn observe_failure(&mut self, ticket: Ticket, kind: FailureKind) {
        if let Some(watched) = self.watched.remove(&ticket) {
            watched.failed(kind);
        }
    }

    pub(crate) fn run(&mut self, run: Run) {
        let (cancel, context) = self.context(&run);
        self.calls.insert(run.call, cancel);
        let world = Arc::clone(&self.world);
        tracing::debug!(target: "Tools", conversation = %self.conversation, call = %run.call, tool = %run.tool.name, "runs");
        self.push(async move {
            let (began, stop) = (Instant::now(), Duration::from_millis(world.pace.stop_ms));
            let redactor = world.secrets.redactor();
            let outcome = match redactor.placeholder_in(&run.arguments) {
                Some(name) => redact::refused(name),
                None => world.toolbox.run(&run, context, stop).await,
            };
            // A call may have made a key known.
            let outcome = redact::outcome(&world.secrets.redactor(), outcome);
            let outcome = kept(&*world.store, &run, outcome, began).await;
            tracing::debug!(target: "Tools", call = %run.call, ms = outcome.elapsed_ms, "has its outcome");
            Done::Event(Box::new(Event::Ran { call: run.call, outcome }))
        });
    }

    pub(crate) fn reconcile(&mut self, run: Run) {
        let (_, context) = self.context(&run);
        let world = Arc::clone(&self.world);
        self.push(async move {
            let began = Instant::now();
            let outcome = match world.toolbox.reconcile(&run, context).await {
                Some(outcome) => {
                    let outcome = redact::outcome(&world.secrets.redactor(), outcome);
                    Some(kept(&*world.store, &run, outcome, began).await)
                }
                None => None,
            };
            Done::Event(Box::new(Event::Reconciled { call: run.call, outcome }))
        });
    }

    fn context(&self, run: &Run) -> (Cancel, ToolContext) {
        let cancel = Cancel::new();
        let thread = StoredThread {
            store: Arc::clone(&self.world.store),
            conversation: self.conversation,
            agent: run.agent,
            until: run.call.output,
        };
        let context = ToolContext {
            conversation: self.conversation,
            agent: run.agent,
            call: run.call,
            attempt: run.attempt,
            effect_key: Arc::clone(&run.effect_key),
            at: run.at,
            thread: Arc::new(thread),
            cancel: cancel.clone(),
            progress: Arc::new(Reports {
                call: run.call,
                feed: Arc::clone(&self.feed),
                secrets: Arc::clone(&self.world.secrets),
            }),
            files: FileLog {
                recorder: Arc::new(ChangeRecorder {
                    call: run.call,
                    world: Arc::clone(&self.world),
                    announce: self.announce.clone(),
                }),
                recorded: run.changes.clone(),
                predecessor: run.predecessor,
            },
        };
        (cancel, context)
    }

    pub(crate) fn stop_call(&self, call: CallId) {
        if let Some(cancel) = self.calls.get(&call) {
            cancel.cancel();
        }
    }

    /// Forgets a call that has its outcome.
    pub(crate) fn call_is_over(&mut self, call: CallId) {
        self.calls.remove(&call);
    }
}

/// Asks a model; its answer comes without secrets.
fn invoked(world: &World, request: Request) -> DeltaStream {
    RedactedAnswer::stream(world.provider.invoke(request), Arc::clone(&world.secrets))
}

async fn keep(world: &World, id: ConversationId, standing: &Standing, for_good: bool) {
    if let Err(error) = world.store.keep_snapshot(id, &standing.snapshot(), for_good).await {
        tracing::debug!(target: "History", %error, "a snapshot was not kept");
    }
}

/// Where a call tells how far it is.
struct Reports {
    call: CallId,
    feed: Arc<Feed>,
    secrets: Arc<Secrets>,
}

impl Progress for Reports {
    fn report(&self, report: ProgressReport) {
        let report = redact::report(&self.secrets.redactor(), &report);
        self.feed.tell(News::Progress { call: self.call, report });
    }
}
