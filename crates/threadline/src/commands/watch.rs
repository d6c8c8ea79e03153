//! `threadline watch`: driving what is due, in the foreground, and telling what happens.

mod teller;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::ItemNumber;
use threadline_core::store::StoreError;
use threadline_runtime::{Runtime, Settled};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::teller::{Followed, Teller, Whose};
use self::told::Told;
use crate::args::{Bounds, Watch};
use crate::compose::Parts;
use crate::config::Config;
use crate::offer::market::Market;
use crate::outage::{Outage, passes};
use crate::talk::{Cast, Signals};
use crate::view::{Line, View, aside};
use crate::words;

/// How often to look for what is due, and for what other processes do.
const LOOK: Duration = Duration::from_millis(500);
/// How many conversations are taken up at a time.
const AT_ONCE: usize = 64;
/// How long a conversation that did not move is let be, at least and at most.
const LET_BE: Duration = Duration::from_secs(2);
const LET_BE_CAP: Duration = Duration::from_mins(1);
/// How many items of an inbox are read at a time.
const ITEMS: usize = 256;
/// How many lines wait to be printed.
const AHEAD: usize = 256;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Watch,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let only = match &arguments.conversation {
        Some(meant) => Some(parts.find(meant).await?),
        None => None,
    };
    let market = Market::new(Parts::offer(config)?);
    let workspace = arguments.workspace.folder.as_deref();
    let setup = parts.setup_with(config, &market, workspace, &Bounds::default())?;
    let runtime = setup.runtime()?;
    let (sender, mut told) = mpsc::channel(AHEAD);
    let mut watch = Shift {
        parts,
        market,
        runtime: runtime.clone(),
        sender,
        followed: Followed::default(),
        let_be: BTreeMap::new(),
        damage_printed: BTreeMap::new(),
        tasks: JoinSet::new(),
        elsewhere: Arc::default(),
    };
    if !view.json {
        let what = if only.is_some() { "this conversation" } else { "all conversations" };
        aside(Line::new().dim(format!("watching {what}; Ctrl-C ends it, and nothing is lost")));
    }
    if let Some(only) = &only {
        watch.follow(only.id, only.head).await?;
    }
    let only = only.map(|only| only.id);
    let (mut signals, mut outage) = (Signals::new()?, Outage::default());
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => break,
            Some(line) = told.recv() => line.print(view)?,
            _ = looks.tick() => match watch.take_up(only).await {
                Ok(()) => outage.end(),
                Err(error) => outage.note(error)?,
            },
        }
    }
    runtime.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// What this process looks after.
struct Shift<'a> {
    parts: &'a Parts,
    market: Arc<Market>,
    runtime: Runtime,
    sender: mpsc::Sender<Told>,
    followed: Followed,
    let_be: BTreeMap<ConversationId, LetBe>,
    /// What was printed about damaged conversations.
    damage_printed: BTreeMap<ConversationId, String>,
    tasks: JoinSet<()>,
    /// Conversations that were reported to belong to another folder: each is reported once.
    elsewhere: Arc<Mutex<BTreeSet<ConversationId>>>,
}

/// A conversation that was taken up, and is let be for a while if it does not move.
struct LetBe {
    until: Instant,
    pause: Duration,
    /// Where it stood.
    head: Seq,
    /// The newest item that waited for it.
    newest: ItemNumber,
}

impl Shift<'_> {
    /// Has what is due driven.
    async fn take_up(&mut self, only: Option<ConversationId>) -> anyhow::Result<()> {
        while self.tasks.try_join_next().is_some() {}
        let now = Instant::now();
        self.let_be.retain(|_, let_be| now < let_be.until + LET_BE_CAP);
        let due = match only {
            Some(id) => self.is_due(id).await?.then_some(id).into_iter().collect(),
            None => self.due().await?,
        };
        let mut taken = 0;
        for id in due {
            match self.take_up_one(id, only.is_some(), taken < AT_ONCE, now).await {
                Ok(is_taken) => taken += usize::from(is_taken),
                // What is wrong with one must not keep the others from being driven.
                Err(error) if error.damage().is_some() => self.report_damage(id, &error).await,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Has a conversation that is due driven, if there is room and it can be expected to move.
    async fn take_up_one(
        &mut self,
        id: ConversationId,
        all_is_told: bool,
        has_room: bool,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let head = self.parts.store.conversation(id).await?.head;
        if !has_room || !self.is_to_move(id, head, now).await? {
            return Ok(false);
        }
        self.want_models(id).await;
        if all_is_told {
            self.start(id);
        } else {
            self.drive(id, head).await?;
        }
        Ok(true)
    }

    /// Prints once that a conversation is damaged.
    async fn report_damage(&mut self, id: ConversationId, error: &StoreError) {
        let text = error.to_string();
        if self.damage_printed.insert(id, text.clone()).as_ref() != Some(&text) {
            drop(self.sender.send(Told::failed(id, text)).await);
        }
    }

    /// The conversations that are due and that nobody has.
    async fn due(&self) -> Result<Vec<ConversationId>, StoreError> {
        let store = &self.parts.store;
        // Those that are let be are due as well, and must not stand in front of the others.
        store.due(AT_ONCE + self.let_be.len()).await
    }

    /// Whether a conversation is due and nobody has it.
    async fn is_due(&self, id: ConversationId) -> Result<bool, StoreError> {
        if !self.runtime.is_due(id).await? {
            return Ok(false);
        }
        let store = &self.parts.store;
        Ok(!store.conversation(id).await?.moved_away && store.holder(id).await?.is_none())
    }

    /// Whether a conversation that is due can be expected to move. One that did not is let be for a
    /// while, unless something has come since.
    async fn is_to_move(
        &mut self,
        id: ConversationId,
        head: Seq,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let known = self.let_be.get(&id).map(|let_be| let_be.newest);
        let newest = self.newest(id, known.unwrap_or_default()).await?;
        let new = LetBe { until: now + LET_BE, pause: LET_BE, head, newest };
        let next = match self.let_be.get(&id) {
            Some(LetBe { until, pause, head: stood, .. })
                if *stood == head && known == Some(newest) =>
            {
                if now < *until {
                    return Ok(false);
                }
                let pause = (*pause * 2).min(LET_BE_CAP);
                LetBe { until: now + pause, pause, ..new }
            }
            Some(_) | None => new,
        };
        self.let_be.insert(id, next);
        Ok(true)
    }

    /// The newest item that waits for a conversation, at least as new as one that is known.
    async fn newest(
        &self,
        id: ConversationId,
        known: ItemNumber,
    ) -> Result<ItemNumber, StoreError> {
        let mut newest = known;
        loop {
            let waiting = self.parts.store.waiting(id, newest, ITEMS).await?;
            let Some((last, _)) = waiting.last() else { return Ok(newest) };
            newest = *last;
        }
    }

    /// Makes the models that a conversation asks for by name ones that can be asked.
    async fn want_models(&self, id: ConversationId) {
        for name in self.parts.routes(id).await {
            // A name that nothing has any more is told when it is asked.
            drop(self.market.want(&name).await);
        }
    }

    /// Tells for good what happens in a conversation, wherever it does.
    async fn follow(&mut self, id: ConversationId, after: Seq) -> Result<(), StoreError> {
        let teller = self.teller(id, Whose::All).await?;
        let watcher = teller.watch(after);
        self.tasks.spawn(teller.run(watcher));
        Ok(())
    }

    /// Has a conversation driven, and tells what happens in it from an entry on, unless that is
    /// told already.
    async fn drive(&mut self, id: ConversationId, after: Seq) -> Result<(), StoreError> {
        let teller = self.teller(id, Whose::Own).await?;
        let all = self.followed.clone();
        // Whoever is about to stop telling sees either both, that it was taken up and that it is
        // driven, or neither.
        let mut followed = all.lock();
        let rounds = followed.entry(id).or_default();
        *rounds += 1;
        let watcher = (*rounds == 1).then(|| teller.watch(after));
        self.start(id);
        drop(followed);
        if let Some(watcher) = watcher {
            self.tasks.spawn(teller.run(watcher));
        }
        Ok(())
    }

    async fn teller(&self, id: ConversationId, whose: Whose) -> Result<Teller, StoreError> {
        let cast = Cast::new(&self.parts.store.agents(id).await?);
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        Ok(Teller { id, whose, cast, runtime, sender, followed: self.followed.clone() })
    }

    /// Has a conversation driven, and tells if it cannot be.
    fn start(&mut self, id: ConversationId) {
        self.runtime.start_unattended(id);
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        let elsewhere = Arc::clone(&self.elsewhere);
        self.tasks.spawn(async move {
            let settled = runtime.settled(id).await;
            let why = words::settled_elsewhere(id, &settled);
            if let Some(why) = &why
                && !lock(&elsewhere).insert(id)
            {
                tracing::debug!(target: "StateMachine", conversation = %id, why, "not driven here");
                return;
            }
            if let Settled::Failed(error) = settled {
                let text = why.unwrap_or_else(|| error.to_string());
                let error = anyhow::Error::new(error);
                // The main loop reports once that the database cannot be used.
                if !passes(&error) {
                    drop(sender.send(Told::failed(id, text)).await);
                }
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held, so that a poisoned lock still guards whole data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
