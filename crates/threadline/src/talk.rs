//! Talking with one conversation: saying things, and following what comes of them.

mod cast;
mod lines;
mod report;
mod screen;
mod signals;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use threadline::{Ending, asked, asked_for, busy, changed, ending, item, taken};
use threadline_core::drive::{Circumstances, Notice, workspace_refusal};
use threadline_core::history::History;
use threadline_core::history::batch::State;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Address, Attachment, Fact, Input, Sender};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::store::{
    OpenError, PIECE_CAP_BYTES, Storage, StoreError, open, verified_entry,
};
use threadline_core::tool::{ToolResult, capped};
use threadline_runtime::{News, Runtime, Settled, WatchError, Watcher};
use tokio::time::{Instant, sleep, sleep_until};

use crate::outage::Outage;
use crate::view::{Line, aside};
use crate::words;

pub(crate) use cast::{Cast, EVERYONE, To, Unheard};
pub(crate) use lines::{LINE_CAP_BYTES, Lines, Said};
pub(crate) use report::Report;
pub(crate) use screen::Screen;
pub(crate) use signals::{Asked, Signals};

/// The most of a message that stays in its entry; the whole goes beside it.
const MESSAGE_CAP_BYTES: usize = 64 * 1024;
/// How long a change waits for the process that drives the conversation.
const DELIVERY: Duration = Duration::from_secs(10);
/// How long recording something may take before that is said.
const SLOW: Duration = Duration::from_secs(3);
/// How many bits of answers are kept until they can be shown.
const BITS_CAP: usize = 4_096;
/// How often to look for what other processes do with the conversation.
const LOOK_ELSEWHERE: Duration = Duration::from_millis(500);

/// A conversation that is talked with.
pub(crate) struct Talk {
    runtime: Runtime,
    id: ConversationId,
    watcher: Watcher,
    cast: Cast,
    own: Own,
    /// Turns that nobody here asked for, by the input that began them: those under way, and those
    /// that have ended and were not told of.
    begun: BTreeMap<AgentId, Seq>,
    ended: Vec<(AgentId, Seq)>,
    /// What was overheard and is not shown yet.
    overheard: Vec<News>,
    /// When to look again for what other processes do with it.
    look_at: Instant,
    /// Whether the database can be used.
    outage: Outage,
}

/// What following came to.
pub(crate) enum Came {
    /// The turn of this input came to this. Whether its time was up.
    To(Ending, Option<Seq>, TimeUp),
    /// Nothing goes on any more.
    Rest,
    /// Whoever sits there wants to leave at once. Nothing is lost.
    Quit,
}

/// Whether a turn was stopped because its time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeUp(pub(crate) bool);

/// What is followed.
pub(crate) enum Of<'a> {
    /// What comes of an item.
    Item(&'a Item),
    /// The turn that an input belongs to.
    Turn(Seq),
    /// Whatever goes on, until nothing does.
    All,
}

/// What is followed, and whether it is being cancelled.
struct Following<'a> {
    of: Of<'a>,
    until: Option<Instant>,
    cancelled: bool,
    time_up: TimeUp,
}

impl Talk {
    /// Talks with a conversation from an entry on.
    pub(crate) async fn new(
        runtime: Runtime,
        id: ConversationId,
        after: Seq,
    ) -> anyhow::Result<Self> {
        let watcher = runtime.watch(id, after).looking();
        let world = runtime.world();
        let (_, history) = open(&*world.store, id, &*world.setting.counter).await?;
        let refusal = workspace_refusal(&history, &world.setting, Circumstances::ATTENDED);
        if let Some(why) = refusal.and_then(|refusal| words::other_workspace(id, &refusal)) {
            anyhow::bail!(why);
        }
        let (cast, own) = (Cast::of(&history), Own::default());
        let look_at = Instant::now() + LOOK_ELSEWHERE;
        let (begun, ended, overheard) = (BTreeMap::new(), Vec::new(), Vec::new());
        let outage = Outage::default();
        Ok(Self { runtime, id, watcher, cast, own, begun, ended, overheard, look_at, outage })
    }

    pub(crate) fn id(&self) -> ConversationId {
        self.id
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn store(&self) -> &dyn Storage {
        &*self.runtime.world().store
    }

    async fn history(&self) -> Result<History, OpenError> {
        let world = self.runtime.world();
        let (_, history) = open(&*world.store, self.id, &*world.setting.counter).await?;
        Ok(history)
    }

    /// Says something to an agent or to all of them, to be answered by way of a route if one is
    /// named. It is durable once this returns; gives an item for each of them.
    pub(crate) async fn say(
        &mut self,
        to: &To,
        text: &str,
        route: Option<Arc<str>>,
    ) -> anyhow::Result<Vec<Item>> {
        let items = said(self.store(), &self.cast, to, text, route).await?;
        for item in &items {
            self.own.keys.push(Arc::clone(&item.client_key));
            self.keep(item).await?;
        }
        Ok(items)
    }

    /// Whom something is said to, if there is more than one agent.
    pub(crate) fn name_of(&self, item: &Item) -> Option<Arc<str>> {
        item.to.and_then(|agent| self.cast.name(agent))
    }

    /// Who takes part.
    pub(crate) fn cast(&self) -> &Cast {
        &self.cast
    }

    /// Says something that takes over: before the next answer, and instead of what is asked.
    pub(crate) async fn steer(
        &mut self,
        agent: AgentId,
        text: &str,
        route: Option<Arc<str>>,
    ) -> anyhow::Result<()> {
        let input = Input { route, ..message(self.store(), text).await? };
        let item = Item { to: Some(agent), mode: Mode::Steer, ..item(Body::Input(input)) };
        self.own.keys.push(Arc::clone(&item.client_key));
        self.keep(&item).await?;
        Ok(())
    }

    /// Asks to go on after a turn that ended without an answer.
    pub(crate) async fn say_go_on(&mut self) -> anyhow::Result<Item> {
        let input = Input { from: Sender::System, ..Input::from_person("go on") };
        let item = item(Body::Input(input));
        self.own.keys.push(Arc::clone(&item.client_key));
        self.keep(&item).await?;
        Ok(item)
    }

    /// Submits an item; it is durable once this returns. Says so if that takes long.
    async fn keep(&self, item: &Item) -> Result<(), StoreError> {
        let submitted = self.runtime.submit(self.id, item);
        tokio::pin!(submitted);
        tokio::select! {
            kept = &mut submitted => return kept.map(drop),
            () = sleep(SLOW) => {}
        }
        aside(Line::new().dim("· not recorded yet: another process may have locked the database"));
        submitted.await.map(drop)
    }

    /// Puts something into the inbox and has it taken.
    pub(crate) async fn submit(&self, body: Body) -> anyhow::Result<()> {
        self.keep(&item(body)).await?;
        Ok(())
    }

    /// Changes the conversation, and waits until that is done; says why if it cannot be. What
    /// comes of it is not shown: whoever did it knows.
    pub(crate) async fn change(&mut self, body: Body) -> anyhow::Result<Seq> {
        let rewinds = match &body {
            Body::Command(command) => command.rewinds(),
            Body::Input(_) | Body::Approval { .. } | Body::Cancel => false,
        };
        let item = item(body);
        self.keep(&item).await?;
        let waits = || self.runtime.is_held_elsewhere(self.id);
        let seq = delivered(self.store(), self.id, &item, waits).await?;
        // A rewind also settles what it took back.
        let last = if rewinds { self.store().conversation(self.id).await?.head } else { seq };
        self.knows(seq, last);
        Ok(seq)
    }

    /// An agent joined because of someone here, with its instruction if it was given one.
    pub(crate) async fn joined(&mut self, seq: Seq) -> anyhow::Result<()> {
        let history = self.history().await?;
        let mut agents = history.state().agents.values();
        let instructed =
            agents.any(|agent| agent.instruction.is_some_and(|(set, _)| set == seq.next()));
        self.knows(seq, if instructed { seq.next() } else { seq });
        self.cast.meet(&history);
        Ok(())
    }

    /// An agent left because of someone here.
    pub(crate) fn left(&mut self, agent: AgentId, seq: Seq) {
        self.knows(seq, seq);
        self.cast.miss(agent);
    }

    /// What was done here need not be shown: these entries.
    pub(crate) fn knows(&mut self, first: Seq, last: Seq) {
        self.own.entries.push((first, last));
    }

    /// Has what is unfinished go on.
    pub(crate) fn start(&self) {
        self.runtime.start(self.id);
    }

    /// Asks all agents that are in a turn to stop; the primary one if none is.
    pub(crate) async fn cancel(&self) -> anyhow::Result<()> {
        let history = self.history().await?;
        let agents: Vec<AgentId> = busy(&history).collect();
        let cancel = item(Body::Cancel);
        let items = if agents.is_empty() { vec![cancel] } else { cancel.to_each(agents) };
        for item in &items {
            self.keep(item).await?;
        }
        Ok(())
    }

    /// Waits until something happens that nobody here asked for, and has what is due driven. Bits
    /// of answers count unless someone is asked something. Nothing is lost if this is dropped.
    pub(crate) async fn overhear(&mut self, asking: bool) -> anyhow::Result<()> {
        loop {
            let news = tokio::select! {
                biased;
                news = self.watcher.next() => news,
                () = sleep_until(self.look_at) => {
                    self.look_at = Instant::now() + LOOK_ELSEWHERE;
                    match self.runtime.look(self.id).await {
                        Ok(()) => self.outage.end(),
                        Err(error) => self.outage.note(error.into())?,
                    }
                    continue;
                }
            };
            match news {
                Ok(news) if self.own.has(&news) => self.see(&news),
                Ok(news) if Screen::tells(&news) => {
                    let is_bit = matches!(news, News::Notice(Notice::Delta { .. }));
                    // An answer whose bits are left out is shown when it is whole.
                    if !is_bit || self.overheard.len() < BITS_CAP {
                        self.overheard.push(news);
                    }
                    if !(is_bit && asking) {
                        return Ok(());
                    }
                }
                Ok(news) => self.see(&news),
                Err(WatchError::CutOff(_)) => self.watch_again(),
                Err(error @ WatchError::Stopped) => return Err(error.into()),
                Err(error @ WatchError::Store(_)) => {
                    self.outage.note(error.into())?;
                    sleep(LOOK_ELSEWHERE).await;
                }
            }
        }
    }

    /// Shows what happens until the conversation rests, and tells what came of it. The first
    /// interrupt cancels the turn, a second one leaves it as it is. While the database cannot be
    /// used, it waits.
    pub(crate) async fn follow(
        &mut self,
        of: Of<'_>,
        screen: &mut Screen<'_>,
        signals: &mut Signals,
        until: Option<Instant>,
    ) -> anyhow::Result<Came> {
        let mut following = Following { of, until, cancelled: false, time_up: TimeUp(false) };
        for news in std::mem::take(&mut self.overheard) {
            self.draw(&news, screen)?;
        }
        loop {
            match self.follow_on(&mut following, screen, signals).await {
                Ok(Some(came)) => {
                    self.outage.end();
                    return Ok(came);
                }
                Ok(None) => {}
                Err(error) => {
                    self.outage.note(error)?;
                    tokio::select! {
                        _ = signals.next() => return Ok(Came::Quit),
                        () = sleep(LOOK_ELSEWHERE) => self.runtime.start(self.id),
                    }
                }
            }
        }
    }

    /// Shows what happens next; gives what came of what is followed, once it is over.
    async fn follow_on(
        &mut self,
        following: &mut Following<'_>,
        screen: &mut Screen<'_>,
        signals: &mut Signals,
    ) -> anyhow::Result<Option<Came>> {
        let (until, time_up) = (following.until, following.time_up);
        let settled = tokio::select! {
            biased;
            asked = signals.next() => {
                if following.cancelled {
                    return Ok(Some(Came::Quit));
                }
                following.cancelled = true;
                screen.stopping(asked)?;
                self.cancel().await?;
                return Ok(None);
            }
            news = self.watcher.next() => {
                match news {
                    Ok(news) => self.draw(&news, screen)?,
                    Err(WatchError::CutOff(_)) => self.watch_again(),
                    Err(error @ (WatchError::Store(_) | WatchError::Stopped)) => {
                        return Err(error.into());
                    }
                }
                return Ok(None);
            }
            () = sleep_until(until.unwrap_or_else(Instant::now)),
                if until.is_some() && !time_up.0 =>
            {
                following.time_up = TimeUp(true);
                self.cancel().await?;
                return Ok(None);
            }
            settled = self.runtime.settled(self.id) => settled,
        };
        if let Settled::Failed(error) = settled {
            return Err(anyhow::Error::new(error));
        }
        // Before it is looked at, so that no change is missed.
        let mut changes = self.store().subscribe(Some(self.id));
        self.catch_up(screen).await?;
        if let Some(came) = self.came(&following.of, time_up).await? {
            screen.settle(&self.cast)?;
            return Ok(Some(came));
        }
        // Whoever drove it may be gone, and whatever came may wait for someone who does.
        changed(&mut *changes, LOOK_ELSEWHERE).await;
        self.runtime.look(self.id).await?;
        self.outage.end();
        Ok(None)
    }

    /// Shows some news, unless they are of what was done here.
    fn draw(&mut self, news: &News, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.own.has(news) {
            self.see(news);
            return Ok(());
        }
        screen.draw(&mut self.cast, news)?;
        if let News::Notice(Notice::Entry(entry)) = news {
            self.note(entry);
        }
        Ok(())
    }

    /// Notes which turns begin and end that nobody here asked for.
    fn note(&mut self, entry: &Entry) {
        if entry.fact.as_input().is_some() && !self.cast.helps(entry.agent) {
            self.begun.entry(entry.agent).or_insert(entry.seq);
        }
        if entry.fact.can_end_turn()
            && let Some(begun) = self.begun.remove(&entry.agent)
        {
            self.ended.push((entry.agent, begun));
        }
    }

    /// The turns that have ended and that nobody here asked for: whose each was, and what came of
    /// it.
    pub(crate) async fn others(&mut self) -> anyhow::Result<Vec<(Option<Arc<str>>, Seq, Ending)>> {
        let mut others = Vec::new();
        for (agent, begun) in std::mem::take(&mut self.ended) {
            let ending = ending(&self.runtime, self.id, begun).await?;
            others.push((self.cast.name(agent), begun, ending));
        }
        Ok(others)
    }

    fn see(&mut self, news: &News) {
        if let News::Notice(Notice::Entry(entry)) = news {
            self.cast.see(entry);
        }
    }

    /// What came of what is followed, if it is over.
    async fn came(&self, of: &Of<'_>, time_up: TimeUp) -> anyhow::Result<Option<Came>> {
        let input = match of {
            Of::All => return self.all_came(time_up).await,
            Of::Turn(seq) => Some(*seq),
            Of::Item(item) => taken(self.store(), self.id, item).await?,
        };
        let Some(seq) = input else { return self.held_up(of, time_up).await };
        Ok(match ending(&self.runtime, self.id, seq).await? {
            Ending::Open => None,
            ending @ (Ending::Answered { .. }
            | Ending::Ended { .. }
            | Ending::Approval(_)
            | Ending::Refused(_)) => Some(Came::To(ending, input, time_up)),
        })
    }

    /// What an item that was not taken in waits for, if that is a person.
    async fn held_up(&self, of: &Of<'_>, time_up: TimeUp) -> anyhow::Result<Option<Came>> {
        let Of::Item(item) = of else { return Ok(None) };
        let history = self.history().await?;
        let Some(agent) = item.to.or_else(|| history.state().primary()) else { return Ok(None) };
        let asked: Vec<CallId> = asked_for(&history, agent).collect();
        let held_up = !asked.is_empty() && item.mode == Mode::Queue;
        Ok(held_up.then_some(Came::To(Ending::Approval(asked), None, time_up)))
    }

    /// What is left of all that goes on: nothing, questions, or more to come.
    async fn all_came(&self, time_up: TimeUp) -> anyhow::Result<Option<Came>> {
        let history = self.history().await?;
        let asked: Vec<CallId> = asked(&history).collect();
        Ok(match history.sums().state {
            State::Working => None,
            State::Resting | State::Waiting if asked.is_empty() => Some(Came::Rest),
            State::Resting | State::Waiting => {
                Some(Came::To(Ending::Approval(asked), None, time_up))
            }
        })
    }

    /// Shows what is stored and was not shown yet, be it that another process wrote it.
    pub(crate) async fn catch_up(&mut self, screen: &mut Screen<'_>) -> anyhow::Result<()> {
        let head = self.store().conversation(self.id).await?.head;
        if self.watcher.last() < head {
            self.watch_again();
        }
        while self.watcher.last() < head {
            let news = self.watcher.next().await?;
            self.draw(&news, screen)?;
        }
        Ok(())
    }

    /// Passes over what happened so far.
    pub(crate) async fn pass_over(&mut self) -> anyhow::Result<()> {
        let head = self.store().conversation(self.id).await?.head;
        self.watcher = self.runtime.watch(self.id, head).looking();
        Ok(())
    }

    fn watch_again(&mut self) {
        let last = self.watcher.last();
        self.watcher = self.runtime.watch(self.id, last).looking();
    }
}

/// What was said and done here.
#[derive(Default)]
struct Own {
    /// The keys of what was said; those of what was said to all begin with a common one.
    keys: Vec<Arc<str>>,
    /// The entries of what was changed: first and last.
    entries: Vec<(Seq, Seq)>,
}

impl Own {
    fn has(&self, news: &News) -> bool {
        let News::Notice(Notice::Entry(entry)) = news else { return false };
        let said = entry.fact.as_input().and_then(|input| input.client_key.as_ref());
        said.is_some_and(|key| self.keys.contains(key))
            || self.entries.iter().any(|(first, last)| (first..=last).contains(&&entry.seq))
    }
}

/// Waits until an item was taken, and returns its entry, or the reason if it was refused. What this
/// process does itself may take its time; another process is waited for only for a while.
pub(crate) async fn delivered(
    store: &dyn Storage,
    id: ConversationId,
    item: &Item,
    waits_for_other: impl Fn() -> bool,
) -> anyhow::Result<Seq> {
    let mut until = Instant::now() + DELIVERY;
    let mut changes = store.subscribe(Some(id));
    loop {
        if !waits_for_other() {
            until = Instant::now() + DELIVERY;
        }
        if let Some(seq) = taken(store, id, item).await? {
            if let Fact::Note(note) = verified_entry(store, id, seq).await?.fact {
                bail!("{}", note.text);
            }
            return Ok(seq);
        }
        if Instant::now() >= until {
            bail!(
                "another process is busy with this conversation: it takes this in as soon as it can"
            );
        }
        changed(&mut *changes, LOOK_ELSEWHERE).await;
    }
}

/// What is said to one agent or to all, as items for the inbox.
pub(crate) async fn said(
    store: &dyn Storage,
    cast: &Cast,
    to: &To,
    text: &str,
    route: Option<Arc<str>>,
) -> anyhow::Result<Vec<Item>> {
    if text.trim().is_empty() {
        return Err(Unheard::Blank.into());
    }
    let input = Input { route, ..message(store, text).await? };
    Ok(match to {
        To::Primary => vec![item(Body::Input(input))],
        To::One(name) => {
            let agent = cast.find(name)?;
            let input = Input { to: Address::Agent(agent), ..input };
            vec![Item { to: Some(agent), ..item(Body::Input(input)) }]
        }
        To::All => item(Body::Input(input)).to_each(cast.present().map(|(agent, _)| agent)),
    })
}

/// A message of a person. One that is too long for an entry is kept whole beside it.
async fn message(store: &dyn Storage, text: &str) -> Result<Input, StoreError> {
    let capped = capped(&ToolResult::text(text), MESSAGE_CAP_BYTES);
    let from = Sender::Person { name: None, channel: Some("terminal".into()) };
    let mut input = Input { sections: capped.sections, from, ..Input::from_person("") };
    if let Some(whole) = capped.whole {
        input.attachments.push(attached(store, &whole).await?);
    }
    Ok(input)
}

async fn attached(store: &dyn Storage, text: &Arc<str>) -> Result<Attachment, StoreError> {
    let upload = store.begin_upload().await?;
    for piece in text.as_bytes().chunks(PIECE_CAP_BYTES) {
        store.upload(upload, piece.to_vec()).await?;
    }
    Ok(Attachment {
        digest: store.finish_upload(upload).await?,
        size: u64::try_from(text.len()).unwrap_or(u64::MAX),
        media_type: "text/plain; charset=utf-8".into(),
        name: None,
        extent: None,
    })
}
