//! Agents that work for another: how long it waits for many of them, and what they cost it once
//! their entries lie beside its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use threadline_core::context::plan::Ask;
use threadline_core::context::{Body, Context};
use threadline_core::drive::Rest;
use threadline_core::history::fact::{AgentJoined, Input};
use threadline_core::id::{AgentId, ConversationId};
use threadline_core::inbox::{self, Item, Mode};
use threadline_core::provider::{BlockKind, DeltaStream, Provider, Request};
use threadline_core::store::{self, Store as _};
use threadline_core::tokens::Estimator;
use threadline_runtime::{Drive, NewAgent, Stepped};
use threadline_stores::sqlite::Durability;
use threadline_testing::bench::{Report, Rounds, Target, fact, float, micros};

use crate::house::{ANSWER_BYTES, House, Plan, answered, called, text};
use crate::{Outcome, Setting};

const WINDOW_TOKENS: u64 = 32_000;
/// How long the arguments of all calls are: the tool answers by it, and so do the workers.
const ASKED_BYTES: usize = r#"{"name":"w000","task":"work 20"}"#.len();

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(side_by_side(setting, report))?;
    setting.runtime.block_on(beside(setting, report))
}

/// A model that does what it is told: `ask N K` asks N workers to look K times each, `look N`
/// looks N times at once, `work K` looks K times one after the other; then it answers.
struct Told {
    latency: Duration,
}

impl Provider for Told {
    fn invoke(&self, request: Request) -> DeltaStream {
        answered(answer(&request.context), self.latency)
    }
}

fn answer(context: &Context) -> Vec<(BlockKind, Arc<str>)> {
    let parts = context.parts.iter().rev();
    let before = parts.take_while(|part| match part.body {
        Body::Input(_) => !part.is_message(),
        Body::Output(_) | Body::Results(_) => true,
    });
    let outputs = before.filter(|part| matches!(part.body, Body::Output(_))).count();
    let told = context.parts.iter().rev().find_map(|part| match &part.body {
        Body::Input(input) if part.is_message() => Some(&*input.text),
        _ => None,
    });
    let mut words = told.unwrap_or_default().split_whitespace();
    let word = words.next();
    let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
    let (first, second) = (number(), number());
    // As long as what is asked of a worker, and answered alike.
    let look =
        |at: usize| called("look", format!(r#"{{"at":"w{at:03}: do the work of 20"}}"#).into());
    match (word, outputs) {
        (Some("ask"), 0) => {
            let ask = |worker: usize| {
                let task = format!(r#"{{"name":"w{worker:03}","task":"work {second:02}"}}"#);
                called("call_agent", task.into())
            };
            (0..first).map(ask).collect()
        }
        (Some("look"), 0) => (0..first).map(look).collect(),
        (Some("work"), before) if before < first => vec![look(before)],
        _ => vec![(BlockKind::Text, text(ASKED_BYTES, ANSWER_BYTES).into())],
    }
}

fn agent(name: &str, primary: bool) -> AgentJoined {
    let tools = ["call_agent", "look"].map(Arc::from).into();
    AgentJoined { name: name.into(), tools, primary, ..AgentJoined::default() }
}

fn item(key: String, body: inbox::Body) -> Item {
    Item { client_key: key.into(), to: None, mode: Mode::Queue, due: None, body }
}

/// A conversation that is driven by hand.
struct Office {
    house: House,
    drive: Drive,
    turns: usize,
}

/// What a turn took.
struct Turn {
    ms: f64,
    appends: usize,
    entries: usize,
}

impl Office {
    async fn open(plan: &Plan, workers: usize) -> Outcome<Self> {
        let latency = Duration::from_millis(plan.latency_ms);
        let house = House::with(plan, Arc::new(Told { latency }))?;
        let planner = NewAgent { joined: agent("planner", true), instruction: None };
        let id = house.runtime.create(&[planner]).await?;
        for worker in 0..workers {
            let join = inbox::Command::Join(agent(&format!("w{worker:03}"), false));
            let item = item(format!("w{worker}"), inbox::Body::Command(join));
            house.store.enqueue(id, &item).await?;
        }
        let mut drive = house.runtime.drive(id).await?;
        drive.run().await?;
        Ok(Self { house, drive, turns: 0 })
    }

    fn id(&self) -> ConversationId {
        self.drive.conversation()
    }

    /// Says something, and counts what is recorded until all rest.
    async fn turn(&mut self, text: &str) -> Outcome<Turn> {
        self.turns += 1;
        let body = inbox::Body::Input(Input::from_person(text));
        let item = item(self.turns.to_string(), body);
        let start = Instant::now();
        self.house.store.enqueue(self.id(), &item).await?;
        self.drive.look();
        let (mut appends, mut entries) = (0, 0);
        loop {
            match self.drive.step().await? {
                Stepped::Moved(moved) => {
                    appends += 1;
                    entries += moved.len();
                }
                Stepped::Blocked(Rest::Idle) if entries > 0 => break,
                Stepped::Blocked(rest) => return Err(format!("{text:?} rests: {rest:?}").into()),
            }
        }
        let ms = start.elapsed().as_secs_f64() * 1e3;
        self.house.has_answered(self.id()).await?;
        Ok(Turn { ms, appends, entries })
    }
}

/// The same turn with many workers and with one.
async fn side_by_side(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (workers, latency_ms, rounds) = setting.of((100, 200, 11), (20, 20, 2));
    let plan = |name| {
        let (path, durability) = (setting.path(name), Durability::Full);
        Plan { path, durability, latency_ms, window_tokens: WINDOW_TOKENS, recaps: true }
    };
    let mut alone = Office::open(&plan("alone.db"), 1).await?;
    let mut many = Office::open(&plan("many.db"), workers).await?;
    let (mut alone_ms, mut many_ms) = (Rounds::default(), Rounds::default());
    let (mut appends, mut entries) = (Rounds::default(), Rounds::default());
    let mut alone_appends = Rounds::default();
    // The first turn of each is apart: it keeps the catalogue of every agent.
    let first = (alone.turn("ask 1 0").await?.ms, many.turn(&format!("ask {workers} 0")).await?.ms);
    for _ in 0..rounds {
        let one = alone.turn("ask 1 0").await?;
        alone_ms.add(one.ms);
        alone_appends.add(float(one.appends));
        let all = many.turn(&format!("ask {workers} 0")).await?;
        many_ms.add(all.ms);
        appends.add(float(all.appends));
        entries.add(float(all.entries));
    }
    let what = format!("a turn that asks {workers} / 1, answers of {latency_ms} ms");
    let target = setting.of(Some(Target::AtMost(1.3)), None);
    report.ratio(&what, many_ms.median(), alone_ms.median(), "ms", target);
    report.ratio("  the first of them", first.1, first.0, "ms", None);
    let (entries, appends) = (entries.median(), appends.median());
    report.ratio("  appends", appends, alone_appends.median(), "", None);
    fact("  entries of an append", format!("{:.1} of {entries}", entries / appends));
    Ok(())
}

/// A conversation that is opened, and what that took.
struct Beside {
    id: ConversationId,
    entries: u64,
    rows: usize,
    /// The history alone, and its window, after another conversation was read.
    history: Rounds,
    window: Rounds,
    /// Both, right after the same was read.
    again: Rounds,
}

/// How many workers there are beside the one that asks.
const WORKERS: usize = 20;

impl Beside {
    /// Takes so many turns, without waiting for the disk.
    async fn filled(plan: &Plan, turns: usize, text: &str) -> Outcome<Self> {
        let mut office = Office::open(plan, WORKERS).await?;
        for _ in 0..turns {
            office.turn(text).await?;
        }
        let (id, Office { house, drive, .. }) = (office.id(), office);
        drive.release().await?;
        let entries = house.store.conversation(id).await?.head.0;
        house.size().await?;
        house.close().await;
        let (history, window, again) = Default::default();
        Ok(Self { id, entries, rows: 0, history, window, again })
    }

    async fn round(&mut self, house: &House) -> Outcome<()> {
        let (history, window) = self.open(house).await?;
        self.history.add(history);
        self.window.add(window);
        let (history, window) = self.open(house).await?;
        self.again.add(history + window);
        Ok(())
    }

    /// Opens the history and reads the window of the one that asks; gives what each took.
    async fn open(&mut self, house: &House) -> Outcome<(f64, f64)> {
        let start = Instant::now();
        let (_, history) = store::open(&*house.store, self.id, &Estimator).await?;
        let opened = micros(start);
        let ask = Ask::bare(AgentId::FIRST, WINDOW_TOKENS);
        let material = store::gather(&*house.store, self.id, &history, &ask).await??;
        self.rows = material.entries.len();
        Ok((opened, micros(start) - opened))
    }

    fn whole(&self) -> f64 {
        self.history.median() + self.window.median()
    }
}

/// The same window with and without the entries of others beside it, in one file and in turns: a
/// store has more than one conversation to read.
async fn beside(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (turns, looks) = setting.of((50, 20), (3, 2));
    let (path, durability) = (setting.path("beside.db"), Durability::Normal);
    let mut plan =
        Plan { path, durability, latency_ms: 0, window_tokens: WINDOW_TOKENS, recaps: true };
    // The results of its calls are as long, whether workers give them or a tool.
    let looking = format!("look {WORKERS} {looks}");
    let mut without = Beside::filled(&plan, turns, &looking).await?;
    let asking = format!("ask {WORKERS} {looks}");
    let mut with = Beside::filled(&plan, turns, &asking).await?;
    plan.durability = Durability::Full;
    let house = House::with(&plan, Arc::new(Told { latency: Duration::ZERO }))?;
    for _ in 0..setting.of(100, 2) {
        without.round(&house).await?;
        with.round(&house).await?;
    }
    for (what, side) in [("without", &without), ("with", &with)] {
        fact(what, format!("{} entries, {} in the window", side.entries, side.rows));
    }
    let target = setting.of(Some(Target::AtMost(1.2)), None);
    let what = "a window opened, with / without workers beside it";
    report.ratio(what, with.whole(), without.whole(), "us", target);
    let (history, window) = (with.history.median(), with.window.median());
    report.ratio("  of it the history", history, without.history.median(), "us", None);
    report.ratio("  of it the window", window, without.window.median(), "us", None);
    report.ratio("  once more at once", with.again.median(), without.again.median(), "us", None);
    Ok(())
}
