//! `threadline watch`: driving what is due, in the foreground, and telling what happens.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Sender};
use threadline_core::history::one_line;
use threadline_core::history::sections::{self, Level};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::StoreError;
use threadline_runtime::{News, Runtime, Settled, WatchError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::args::{Bounds, Watch};
use crate::compose::Parts;
use crate::config::Config;
use crate::offer::market::Market;
use crate::talk::{Cast, Signals};
use crate::view::{Line, View, aside};
use crate::words;

/// How often to look for what is due, and for what other processes do.
const LOOK: Duration = Duration::from_millis(500);
/// How many conversations are taken up at a time.
const AT_ONCE: usize = 64;
/// How long a conversation is held to see that nobody else has it.
const CLAIM_MS: u64 = 10_000;
/// How long a conversation that did not move is let be, at least and at most.
const LET_BE: Duration = Duration::from_secs(2);
const LET_BE_CAP: Duration = Duration::from_mins(1);
/// How much of a text stands on a line.
const LINE_CAP: usize = 300;
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
        followed: BTreeSet::new(),
        let_be: BTreeMap::new(),
        tasks: JoinSet::new(),
    };
    if !view.json {
        let what = if only.is_some() { "this conversation" } else { "all conversations" };
        aside(Line::new().dim(format!("watching {what}; Ctrl-C ends it, and nothing is lost")));
    }
    if let Some(only) = &only {
        watch.want_models(only.id).await;
        watch.follow(only.id, only.head, Whose::All).await?;
        watch.start(only.id);
    }
    let only = only.map(|only| only.id);
    let mut signals = Signals::new()?;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => break,
            Some(line) = told.recv() => print(&line, view)?,
            _ = looks.tick() => watch.take_up(only).await?,
        }
    }
    runtime.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// What this process looks after.
struct Shift<'a> {
    parts: &'a Parts,
    market: std::sync::Arc<Market>,
    runtime: Runtime,
    sender: mpsc::Sender<Told>,
    /// The conversations that are told of.
    followed: BTreeSet<ConversationId>,
    /// When a conversation that did not move is looked at again, how long that was, and where it
    /// stood.
    let_be: BTreeMap<ConversationId, (Instant, Duration, Seq)>,
    tasks: JoinSet<()>,
}

impl Shift<'_> {
    /// Has what is due driven.
    async fn take_up(&mut self, only: Option<ConversationId>) -> anyhow::Result<()> {
        let store = &self.parts.store;
        let leases = match only {
            Some(id) => {
                // One that is due and that nobody has.
                self.runtime.look(id).await?;
                return Ok(());
            }
            None => store.claim(AT_ONCE, CLAIM_MS).await?,
        };
        while self.tasks.try_join_next().is_some() {}
        let now = Instant::now();
        for lease in leases {
            // Whoever drives it takes it anew.
            store.release(&lease).await?;
            let id = lease.conversation;
            let head = store.conversation(id).await?.head;
            if let Some((until, pause, stood)) = self.let_be.get_mut(&id) {
                if *stood == head && now < *until {
                    continue;
                }
                *pause = if *stood == head { (*pause * 2).min(LET_BE_CAP) } else { LET_BE };
                (*until, *stood) = (now + *pause, head);
            } else {
                self.let_be.insert(id, (now + LET_BE, LET_BE, head));
            }
            self.want_models(id).await;
            self.follow(id, head, Whose::Own).await?;
            self.start(id);
        }
        Ok(())
    }

    /// Makes the models that a conversation asks for by name ones that can be asked.
    async fn want_models(&self, id: ConversationId) {
        for name in self.parts.routes(id).await {
            // A name that nothing has any more is told when it is asked.
            drop(self.market.want(&name).await);
        }
    }

    /// Tells what happens in a conversation from an entry on, unless that is told already: what
    /// happens in this process, or everywhere.
    async fn follow(
        &mut self,
        id: ConversationId,
        after: Seq,
        whose: Whose,
    ) -> Result<(), StoreError> {
        if !self.followed.insert(id) {
            return Ok(());
        }
        let mut cast = Cast::new(&self.parts.store.agents(id).await?);
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        let watch = move |runtime: &Runtime, after| match whose {
            Whose::Own => runtime.watch(id, after),
            Whose::All => runtime.watch(id, after).looking(LOOK),
        };
        let mut watcher = watch(&runtime, after);
        self.tasks.spawn(async move {
            loop {
                let told = match watcher.next().await {
                    Ok(News::Notice(Notice::Entry(entry))) => {
                        cast.see(&entry);
                        Told::of(id, &cast, &entry)
                    }
                    Ok(_) => None,
                    Err(WatchError::CutOff(cut)) => {
                        watcher = watch(&runtime, cut.0);
                        None
                    }
                    Err(WatchError::Store(error)) => Some(Told::failed(id, error.to_string())),
                };
                let failed = told.as_ref().is_some_and(|told| told.seq.is_none());
                if let Some(told) = told
                    && (sender.send(told).await.is_err() || failed)
                {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Has a conversation driven, and tells if it cannot be.
    fn start(&mut self, id: ConversationId) {
        self.runtime.start(id);
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            if let Settled::Failed(error) = runtime.settled(id).await {
                drop(sender.send(Told::failed(id, error.to_string())).await);
            }
        });
    }
}

/// Whose entries are told of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Those of this process.
    Own,
    /// Those of all processes.
    All,
}

/// What happened in a conversation, in a line.
#[derive(Serialize)]
struct Told {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    what: &'static str,
    text: String,
}

impl Told {
    fn failed(id: ConversationId, text: String) -> Self {
        Self { id: id.to_string(), seq: None, agent: None, what: "failed", text }
    }

    /// What an entry says, if it is worth a line.
    fn of(id: ConversationId, cast: &Cast, entry: &Entry) -> Option<Self> {
        let (what, text) = match &entry.fact {
            Fact::Input(input) => {
                let text = sections::render(&input.sections, Level::Live).into_owned();
                let what = match input.from {
                    Sender::Timer { .. } => "woken",
                    Sender::Agent { .. } => "task",
                    Sender::Person { .. } | Sender::System => "input",
                };
                (what, text)
            }
            Fact::Output(output) => {
                let calls: Vec<&str> = output.calls().map(|call| &*call.name).collect();
                match calls.as_slice() {
                    [] => ("answer", output.text()),
                    calls => ("calls", calls.join(", ")),
                }
            }
            Fact::ToolFinished(finished) => ("result", words::finished(finished).1),
            Fact::TurnEnded(ended) => ("ended", words::ended(ended.reason, &ended.detail)),
            Fact::InvocationFailed(failed) => ("no answer", failed.message.clone()),
            Fact::ApprovalAsked(asked) => {
                ("asks", format!("{}: threadline approve {id} {}", asked.call, asked.call))
            }
            Fact::Note(note) => ("note", note.text.to_string()),
            _ => return None,
        };
        let agent = cast.name(entry.agent).map(|name| name.to_string());
        Some(Self { id: id.to_string(), seq: Some(entry.seq.0), agent, what, text })
    }
}

fn print(told: &Told, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        view.value(told)?;
    } else {
        let short = told.id.get(..8).unwrap_or(&told.id);
        let line = Line::new().name(short).plain("  ");
        let line = match &told.agent {
            Some(agent) => line.plain(format!("{agent}  ")),
            None => line,
        };
        let line = match told.what {
            "failed" | "no answer" | "ended" => line.bad(told.what),
            "asks" => line.bold(told.what),
            what => line.dim(what),
        };
        view.row(line.plain(format!("  {}", one_line(&told.text, LINE_CAP))))?;
    }
    view.finish()?;
    Ok(())
}
