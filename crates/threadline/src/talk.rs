//! Talking with one conversation: saying things, and following what comes of them.

mod lines;
mod report;
mod screen;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use threadline::{Ending, ending, item};
use threadline_core::history::fact::{Attachment, Fact, Input, Sender};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::store::{PIECE_CAP_BYTES, Storage, StoreError};
use threadline_core::tool::{ToolResult, capped};
use threadline_runtime::{Runtime, Settled, WatchError, Watcher};
use tokio::time::{Instant, sleep, sleep_until};

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

/// A conversation that is talked with.
pub(crate) struct Talk {
    runtime: Runtime,
    id: ConversationId,
    watcher: Watcher,
}

/// What following came to.
pub(crate) enum Came {
    /// The turn of this input came to this. Whether its time was up.
    To(Ending, Option<Seq>, TimeUp),
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
}

impl Talk {
    /// Talks with a conversation from an entry on.
    pub(crate) fn new(runtime: Runtime, id: ConversationId, after: Seq) -> Self {
        let watcher = runtime.watch(id, after);
        Self { runtime, id, watcher }
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

    /// Says something, to be answered by way of a route if one is named. It is durable once this
    /// returns.
    pub(crate) async fn say(&self, text: &str, route: Option<Arc<str>>) -> anyhow::Result<Item> {
        let input = Input { route, ..message(self.store(), text).await? };
        let item = item(Body::Input(input));
        self.runtime.submit(self.id, &item).await?;
        Ok(item)
    }

    /// Says something that takes over: before the next answer, and instead of what is asked.
    pub(crate) async fn steer(&self, text: &str, route: Option<Arc<str>>) -> anyhow::Result<()> {
        let input = Input { route, ..message(self.store(), text).await? };
        let item = Item { mode: Mode::Steer, ..item(Body::Input(input)) };
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
        loop {
            let settled = tokio::select! {
                biased;
                asked = signals.next() => {
                    if cancelled {
                        return Ok(Came::Quit);
                    }
                    cancelled = true;
                    screen.stopping(asked)?;
                    self.submit(Body::Cancel).await?;
                    continue;
                }
                news = self.watcher.next() => {
                    match news {
                        Ok(news) => screen.draw(&news)?,
                        Err(WatchError::CutOff(_)) => self.watch_again(),
                        Err(WatchError::Store(error)) => return Err(error.into()),
                    }
                    continue;
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)),
                    if until.is_some() && !time_up.0 =>
                {
                    time_up = TimeUp(true);
                    self.submit(Body::Cancel).await?;
                    continue;
                }
                settled = self.runtime.settled(self.id) => settled,
            };
            if let Settled::Failed(error) = settled {
                bail!(error);
            }
            self.catch_up(screen).await?;
            match self.ending(&of).await? {
                (Ending::Open, _) => {}
                (ending, input) => return Ok(Came::To(ending, input, time_up)),
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn ending(&self, of: &Of<'_>) -> anyhow::Result<(Ending, Option<Seq>)> {
        let input = match of {
            Of::Turn(seq) => Some(*seq),
            // The same item again only tells what became of it.
            Of::Item(item) => self.store().enqueue(self.id, item).await?.taken,
        };
        match input {
            Some(seq) => Ok((ending(&self.runtime, self.id, seq).await?, input)),
            None => Ok((Ending::Open, None)),
        }
    }

    /// Shows what is stored and was not shown yet, be it that another process wrote it.
    pub(crate) async fn catch_up(&mut self, screen: &mut Screen<'_>) -> anyhow::Result<()> {
        let head = self.store().conversation(self.id).await?.head;
        if self.watcher.last() < head {
            self.watch_again();
        }
        while self.watcher.last() < head {
            screen.draw(&self.watcher.next().await?)?;
        }
        Ok(())
    }

    /// Passes over what happened so far.
    pub(crate) async fn pass_over(&mut self) -> anyhow::Result<()> {
        let head = self.store().conversation(self.id).await?.head;
        self.watcher = self.runtime.watch(self.id, head);
        Ok(())
    }

    fn watch_again(&mut self) {
        self.watcher = self.runtime.watch(self.id, self.watcher.last());
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
