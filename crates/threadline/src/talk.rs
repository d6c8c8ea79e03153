//! Talking with one conversation: saying things, and following what comes of them.

mod cast;
mod lines;
mod report;
mod screen;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use threadline::{Ending, asked, busy, ending, item};
use threadline_core::drive::Rest;
use threadline_core::history::batch::State;
use threadline_core::history::fact::{Address, Attachment, Fact, Input, Sender};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::store::{PIECE_CAP_BYTES, Storage, StoreError, open};
use threadline_core::tool::{ToolResult, capped};
use threadline_runtime::{News, Runtime, Settled, WatchError, Watcher};
use tokio::time::{Instant, sleep, sleep_until};

pub(crate) use cast::{Cast, EVERYONE, To, Unheard};
pub(crate) use lines::{LINE_CAP_BYTES, Lines, Said};
pub(crate) use report::Report;
pub(crate) use screen::Screen;
pub(crate) use signals::{Asked, Signals};

/// The most of a message that stays in its entry; the whole goes beside it.
const MESSAGE_CAP_BYTES: usize = 64 * 1024;
/// How long a change waits for the process that drives the conversation.
const DELIVERY: Duration = Duration::from_secs(10);
/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How often to look for what other processes do with the conversation.
const LOOK_ELSEWHERE: Duration = Duration::from_millis(500);

/// A conversation that is talked with.
pub(crate) struct Talk {
    runtime: Runtime,
    id: ConversationId,
    watcher: Watcher,
    cast: Cast,
    /// What was overheard and is not shown yet.
    overheard: Vec<News>,
    /// When to look again for what other processes do with it.
    look_at: Instant,
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

impl Talk {
    /// Talks with a conversation from an entry on.
    pub(crate) async fn new(
        runtime: Runtime,
        id: ConversationId,
        after: Seq,
    ) -> Result<Self, StoreError> {
        let watcher = runtime.watch(id, after).looking(LOOK_ELSEWHERE);
        let cast = Cast::new(&runtime.world().store.agents(id).await?);
        let look_at = Instant::now() + LOOK_ELSEWHERE;
        Ok(Self { runtime, id, watcher, cast, overheard: Vec::new(), look_at })
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
            self.runtime.submit(self.id, item).await?;
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
        &self,
        agent: AgentId,
        text: &str,
        route: Option<Arc<str>>,
    ) -> anyhow::Result<()> {
        let input = Input { route, ..message(self.store(), text).await? };
        let item = Item { to: Some(agent), mode: Mode::Steer, ..item(Body::Input(input)) };
        self.runtime.submit(self.id, &item).await?;
        Ok(())
    }

    /// Asks to go on after a turn that ended without an answer.
    pub(crate) async fn say_go_on(&self) -> anyhow::Result<Item> {
        let input = Input { from: Sender::System, ..Input::from_person("go on") };
        let item = item(Body::Input(input));
        self.runtime.submit(self.id, &item).await?;
        Ok(item)
    }

    /// Puts something into the inbox and has it taken.
    pub(crate) async fn submit(&self, body: Body) -> anyhow::Result<()> {
        self.runtime.submit(self.id, &item(body)).await?;
        Ok(())
    }

    /// Changes the conversation, and waits until that is done; says why if it cannot be.
    pub(crate) async fn change(&self, body: Body) -> anyhow::Result<Seq> {
        let item = item(body);
        self.runtime.submit(self.id, &item).await?;
        delivered(self.store(), self.id, &item).await
    }

    /// Has what is unfinished go on.
    pub(crate) fn start(&self) {
        self.runtime.start(self.id);
    }

    /// Asks all agents that are in a turn to stop; the primary one if none is.
    pub(crate) async fn cancel(&self) -> anyhow::Result<()> {
        let world = self.runtime.world();
        let (_, history) = open(&*world.store, self.id, &*world.setting.counter).await?;
        let agents: Vec<AgentId> = busy(&history).collect();
        let cancel = item(Body::Cancel);
        let items = if agents.is_empty() { vec![cancel] } else { cancel.to_each(agents) };
        for item in &items {
            self.runtime.submit(self.id, item).await?;
        }
        Ok(())
    }

    /// Waits until something happens that nobody here asked for, and has what is due driven.
    /// Nothing is lost if this is dropped.
    pub(crate) async fn overhear(&mut self) -> anyhow::Result<()> {
        loop {
            let news = tokio::select! {
                biased;
                news = self.watcher.next() => news,
                () = sleep_until(self.look_at) => {
                    self.look_at = Instant::now() + LOOK_ELSEWHERE;
                    self.runtime.look(self.id).await?;
                    continue;
                }
            };
            match news {
                Ok(news) if Screen::tells(&news) => {
                    self.overheard.push(news);
                    return Ok(());
                }
                Ok(_) => {}
                Err(WatchError::CutOff(_)) => self.watch_again(),
                Err(WatchError::Store(error)) => return Err(error.into()),
            }
        }
    }

    /// Shows what happens until the conversation rests, and tells what came of it. The first
    /// interrupt cancels the turn, a second one leaves it as it is.
    pub(crate) async fn follow(
        &mut self,
        of: Of<'_>,
        screen: &mut Screen<'_>,
        signals: &mut Signals,
        until: Option<Instant>,
    ) -> anyhow::Result<Came> {
        let (mut cancelled, mut time_up) = (false, TimeUp(false));
        if let Of::Item(item) = of {
            screen.knows(item);
        }
        for news in std::mem::take(&mut self.overheard) {
            screen.draw(&mut self.cast, &news)?;
        }
        loop {
            let settled = tokio::select! {
                biased;
                asked = signals.next() => {
                    if cancelled {
                        return Ok(Came::Quit);
                    }
                    cancelled = true;
                    screen.stopping(asked)?;
                    self.cancel().await?;
                    continue;
                }
                news = self.watcher.next() => {
                    match news {
                        Ok(news) => screen.draw(&mut self.cast, &news)?,
                        Err(WatchError::CutOff(_)) => self.watch_again(),
                        Err(WatchError::Store(error)) => return Err(error.into()),
                    }
                    continue;
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)),
                    if until.is_some() && !time_up.0 =>
                {
                    time_up = TimeUp(true);
                    self.cancel().await?;
                    continue;
                }
                settled = self.runtime.settled(self.id) => settled,
            };
            let waits = match settled {
                Settled::Failed(error) => bail!(error),
                Settled::Resting(rest) => rest == Rest::Time,
            };
            self.catch_up(screen).await?;
            if let Some(came) = self.came(&of, time_up).await? {
                return Ok(came);
            }
            if waits {
                sleep(LOOK_ELSEWHERE).await;
                self.runtime.look(self.id).await?;
            } else {
                sleep(LOOK_AGAIN).await;
            }
        }
    }

    /// What came of what is followed, if it is over.
    async fn came(&self, of: &Of<'_>, time_up: TimeUp) -> anyhow::Result<Option<Came>> {
        let input = match of {
            Of::All => return self.all_came(time_up).await,
            Of::Turn(seq) => Some(*seq),
            // The same item again only tells what became of it.
            Of::Item(item) => self.store().enqueue(self.id, item).await?.taken,
        };
        let Some(seq) = input else { return Ok(None) };
        Ok(match ending(&self.runtime, self.id, seq).await? {
            Ending::Open => None,
            ending => Some(Came::To(ending, input, time_up)),
        })
    }

    /// What is left of all that goes on: nothing, questions, or more to come.
    async fn all_came(&self, time_up: TimeUp) -> anyhow::Result<Option<Came>> {
        let world = self.runtime.world();
        let (_, history) = open(&*world.store, self.id, &*world.setting.counter).await?;
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
            screen.draw(&mut self.cast, &news)?;
        }
        Ok(())
    }

    /// Passes over what happened so far.
    pub(crate) async fn pass_over(&mut self) -> anyhow::Result<()> {
        let head = self.store().conversation(self.id).await?.head;
        self.watcher = self.runtime.watch(self.id, head).looking(LOOK_ELSEWHERE);
        self.overheard.clear();
        self.cast = Cast::new(&self.store().agents(self.id).await?);
        Ok(())
    }

    fn watch_again(&mut self) {
        let last = self.watcher.last();
        self.watcher = self.runtime.watch(self.id, last).looking(LOOK_ELSEWHERE);
    }
}

/// Waits until an item was taken, and gives its entry; says why if it was refused.
pub(crate) async fn delivered(
    store: &dyn Storage,
    id: ConversationId,
    item: &Item,
) -> anyhow::Result<Seq> {
    let until = Instant::now() + DELIVERY;
    loop {
        if let Some(seq) = store.enqueue(id, item).await?.taken {
            let records = store.records(id, &[seq]).await?;
            for record in &records {
                if let Fact::Note(note) = record.open()?.fact {
                    bail!("{}", note.text);
                }
            }
            return Ok(seq);
        }
        if Instant::now() >= until {
            bail!(
                "another process is busy with this conversation: it takes this in as soon as it can"
            );
        }
        sleep(LOOK_AGAIN).await;
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
        return Err(Unheard("there is nothing in the message".to_owned()).into());
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
