//! Opening a long history and reading a window of it, against the same of a short one.

use std::path::PathBuf;
use std::time::Instant;

use threadline_core::context::plan::Ask;
use threadline_core::history::fact::{EndReason, Input, TurnEnded};
use threadline_core::history::{Proposal, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{self, Attendance, Store as _};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::{Durability, SqliteStore};
use threadline_testing::generator::GeneratorOptions;
use threadline_testing::ids::SeededIds;

use crate::filling::{self, fill, forget_index};
use crate::memory::Mark;
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, fact, float, micros};

const WINDOW_TOKENS: u64 = 32_000;
const SHORT: u64 = 1000;
/// How many there are of a length: what a window holds differs, and one alone may be special.
const SHORTS: u64 = 5;
const LONGS: u64 = 3;
const FORKS: u64 = 10;
const LEASE_MS: u64 = 24 * 3_600_000;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(opening(setting, report))
}

/// A conversation to open, and what opening it took.
struct Case {
    name: String,
    path: PathBuf,
    /// The conversations, opened in turns.
    ids: Vec<ConversationId>,
    agent: AgentId,
    rows: Rounds,
    first: Rounds,
    again: Rounds,
    memory: Rounds,
    rust: Rounds,
}

async fn opening(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let long = setting.of(1_000_000, 5000);
    let steady = GeneratorOptions { rewinds_percent: 0, ..GeneratorOptions::mixed(1, 1) };
    let mut cases = vec![filled(setting, "short", &steady, (SHORT, SHORTS)).await?];
    cases.push(filled(setting, "long", &steady, (long, LONGS)).await?);
    cases.push(forked(setting, &cases).await?);
    let shares = vec![33, 33, 23, 10, 1];
    let shared = GeneratorOptions { agents: 5, shares, ..steady.clone() };
    let mut rare = filled(setting, "one agent's hundredth", &shared, (long, LONGS)).await?;
    rare.agent = AgentId(5);
    cases.push(rare);
    let rewinding = GeneratorOptions { rewinds_percent: 40, ..steady };
    let many = setting.of(300_000, 3000);
    cases.push(filled(setting, "rewinds", &rewinding, (many, LONGS)).await?);
    // How much of a window is whole depends on how far its end is from the last landmark: windows of
    // some sizes around the one that is meant see all of it, in a short history and in a long one.
    let sizes = (0..setting.of(9, 2)).map(|round| WINDOW_TOKENS - 4000 + 1000 * round);
    for tokens in sizes {
        for case in &mut cases {
            case.round(tokens).await?;
        }
    }
    let [short, others @ ..] = &cases[..] else { return Err("nothing to compare".into()) };
    fact(&short.name, format!("{} rows in its window", short.rows.median()));
    for case in others {
        case.tell(short, report);
    }
    Ok(())
}

/// Some conversations with generated histories, in a file of their own.
async fn filled(
    setting: &Setting,
    name: &str,
    options: &GeneratorOptions,
    (entries, some): (u64, u64),
) -> Outcome<Case> {
    let path = setting.path(&format!("{name}.db"));
    let store = filling::open(&path, Durability::Normal)?;
    let (mut ids, mut rewinds) = (Vec::new(), 0);
    for seed in 1..=some {
        let id = filling::conversation_id(seed);
        let filled =
            fill(&store, id, GeneratorOptions { seed, ..options.clone() }, entries).await?;
        rewinds += filled.rewinds;
        ids.push(id);
    }
    drop(store);
    forget_index(&path)?;
    let name = format!("{name}: {some} times {entries} entries, {rewinds} rewinds");
    Ok(Case::new(name, path, ids))
}

/// Forks of forks of … of the long conversations, each with a turn of its own.
async fn forked(setting: &Setting, cases: &[Case]) -> Outcome<Case> {
    let long = cases.last().ok_or("there is no long conversation")?;
    let path = setting.path("forked.db");
    std::fs::copy(&long.path, &path)?;
    let store = filling::open(&path, Durability::Normal)?;
    let mut ids = Vec::new();
    for (parent, first) in long.ids.iter().zip((0..).step_by(100)) {
        let mut id = *parent;
        let mut at = Seq(store.conversation(id).await?.head.0 / 2);
        for number in 0..FORKS {
            id = fork(&store, id, at, first + number).await?;
            at = store.conversation(id).await?.head.before();
        }
        ids.push(id);
    }
    drop(store);
    forget_index(&path)?;
    Ok(Case::new(format!("{} forks of depth {FORKS}", ids.len()), path, ids))
}

async fn fork(
    store: &SqliteStore,
    parent: ConversationId,
    at: Seq,
    number: u64,
) -> Outcome<ConversationId> {
    let ids = SeededIds::new(100 + number);
    let conversation = store.conversation(parent).await?;
    let stamp = Stamp { at: conversation.active_at, ids: &ids, counter: &Estimator };
    let (history, aftermath) = store::past(store, parent, at, &Estimator).await?;
    let forked = history.propose_fork(parent, &aftermath, stamp)?;
    let id = ConversationId::new(stamp.at, &ids);
    store.create(id, Some((parent, at)), &forked.batch).await?;
    let lease = store.claim(id, LEASE_MS, Attendance::Attended).await?;
    let asked = Input::from_person(filling::text(number, 2000));
    let ended = TurnEnded { reason: EndReason::Cancelled, detail: String::new(), by: None };
    let turn = [
        Proposal::new(AgentId::FIRST, asked, &Estimator),
        Proposal::new(AgentId::FIRST, ended, &Estimator),
    ];
    let proposed = forked.history.propose(turn, stamp)?;
    store::append(store, &lease, proposed).await?;
    Ok(id)
}

impl Case {
    fn new(name: String, path: PathBuf, ids: Vec<ConversationId>) -> Self {
        Self {
            name,
            path,
            ids,
            agent: AgentId::FIRST,
            rows: Rounds::default(),
            first: Rounds::default(),
            again: Rounds::default(),
            memory: Rounds::default(),
            rust: Rounds::default(),
        }
    }

    /// Opens it in a fresh store, and again in a warm one.
    async fn round(&mut self, tokens: u64) -> Outcome<()> {
        for id in self.ids.clone() {
            let store = filling::open(&self.path, Durability::Full)?;
            let mark = Mark::new();
            let start = Instant::now();
            self.rows.add(float(self.open(&store, id, tokens).await?));
            self.first.add(micros(start));
            let (rust, sqlite) = mark.peak();
            self.memory.add((rust + sqlite) / 1024.0);
            self.rust.add(rust / 1024.0);
            for _ in 0..5 {
                let start = Instant::now();
                self.open(&store, id, tokens).await?;
                self.again.add(micros(start));
            }
        }
        Ok(())
    }

    async fn open(&self, store: &SqliteStore, id: ConversationId, tokens: u64) -> Outcome<usize> {
        let (_, history) = store::open(store, id, &Estimator).await?;
        let ask = Ask::bare(self.agent, tokens);
        let material = store::gather(store, id, &history, &ask).await??;
        if material.entries.is_empty() {
            return Err(format!("{} has no window", self.name).into());
        }
        Ok(material.entries.len())
    }

    fn tell(&self, short: &Self, report: &mut Report) {
        let most = Some(Target::AtMost(2.0));
        fact(&self.name, format!("{} rows in its window", self.rows.median()));
        for (what, ours, theirs, unit, target) in [
            ("  opened first", &self.first, &short.first, "us", None),
            ("  opened again", &self.again, &short.again, "us", most),
            ("  peak memory", &self.memory, &short.memory, "KB", most),
            ("  of it Rust's", &self.rust, &short.rust, "KB", most),
        ] {
            report.ratio(what, ours.median(), theirs.median(), unit, target);
        }
        // What fits a window differs from one history to another.
        let a_row = |case: &Self| case.again.median() / case.rows.median().max(1.0);
        report.ratio("  opened again, for a row", a_row(self), a_row(short), "us", None);
    }
}
