//! Stores to measure with, and ways to fill them faster than by living through it.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::Proposal;
use threadline_core::history::fact::{AgentJoined, Fact, Input};
use threadline_core::history::{History, Proposed, Refused, Stamp};
use threadline_core::id::{AgentId, ConversationId, IdSource};
use threadline_core::store::{Attendance, Audit as _, DEFAULT_TENANT, Lease, Store as _};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::generator::{self, Generator, GeneratorOptions};
use threadline_testing::ids::SeededIds;

use crate::Outcome;

/// How long leases are taken for: longer than any run.
const LEASE_MS: u64 = 24 * 3_600_000;

/// Opens a store.
pub(crate) fn open(path: &Path, durability: Durability) -> Outcome<SqliteStore> {
    Ok(SqliteStore::open(SqliteOptions {
        path: path.to_owned(),
        tenant: DEFAULT_TENANT,
        owner: "bench".to_owned(),
        clock: Arc::new(ManualClock::new()),
        ids: Arc::new(SeededIds::new(1)),
        vfs: None,
        durability,
    })?)
}

/// The id of the n-th conversation.
pub(crate) fn conversation_id(number: u64) -> ConversationId {
    ConversationId::new(ManualClock::new().now(), &SeededIds::new(number))
}

/// Text of exactly so many bytes, other words for every number.
pub(crate) fn text(number: u64, bytes: usize) -> String {
    let ids = SeededIds::new(number);
    let mut text = String::with_capacity(bytes + 24);
    while text.len() < bytes {
        let [a, b, ..] = ids.random();
        let word = WORDS.get(usize::from(a) % WORDS.len()).copied().unwrap_or("word");
        text.push_str(word);
        text.push(if b % 12 == 0 { '\n' } else { ' ' });
    }
    text.truncate(bytes);
    text
}

const WORDS: [&str; 32] = [
    "the", "a", "of", "and", "to", "in", "is", "that", "server", "request", "thread", "index",
    "table", "history", "because", "before", "after", "result", "window", "parse", "error",
    "compile", "walk", "river", "morning", "paper", "number", "between", "several", "quickly",
    "answer", "question",
];

/// A conversation that is driven as a runtime would: proposed, appended, and on.
pub(crate) struct Driven {
    pub(crate) lease: Lease,
    history: Option<History>,
    ids: SeededIds,
    now: Timestamp,
}

impl Driven {
    /// Begins the n-th conversation with one agent.
    pub(crate) async fn begin(store: &SqliteStore, number: u64) -> Outcome<Self> {
        let ids = SeededIds::new(number);
        let now = ManualClock::new().now();
        let first = propose(&History::new(), &ids, now, [joined()])?;
        let id = conversation_id(number);
        store.create(id, None, &first.batch).await?;
        let lease = store.claim(id, LEASE_MS, Attendance::Attended).await?;
        Ok(Self { lease, history: Some(first.history), ids, now })
    }

    /// Proposes an input and appends it.
    pub(crate) async fn say(&mut self, store: &SqliteStore, text: &str) -> Outcome<()> {
        let history = self.history.take().ok_or("an append failed before")?;
        let input = Proposal::new(AgentId::FIRST, Input::from_person(text), &Estimator);
        self.now = self.now.plus_millis(1);
        let proposed = propose(&history, &self.ids, self.now, [input])?;
        self.history = Some(threadline_core::store::append(store, &self.lease, proposed).await?);
        Ok(())
    }
}

/// One agent joins.
pub(crate) fn joined() -> Proposal {
    let joined = AgentJoined { name: "agent".into(), primary: true, ..AgentJoined::default() };
    Proposal::new(AgentId::FIRST, joined, &Estimator)
}

fn propose(
    history: &History,
    ids: &dyn IdSource,
    at: Timestamp,
    proposals: impl IntoIterator<Item = Proposal>,
) -> Result<Proposed, Refused> {
    history.propose(proposals, Stamp { at, ids, counter: &Estimator })
}

/// Fills a conversation with a generated history: as an intake, so that it takes no sync for
/// every batch, with the snapshots it would have if it had been lived through.
pub(crate) async fn fill(
    store: &SqliteStore,
    id: ConversationId,
    options: GeneratorOptions,
    entries: u64,
) -> Outcome<Filled> {
    let mut generator = Generator::new(options);
    let mut filled = Filled::default();
    generator::fill(store, id, &mut generator, entries, |batch| {
        for placed in &batch.entries {
            filled.bytes += placed.record.size();
            filled.rewinds += usize::from(matches!(placed.entry.fact, Fact::Rewound(_)));
        }
    })
    .await?;
    Ok(filled)
}

/// What a store was filled with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Filled {
    /// Bytes of records.
    pub(crate) bytes: usize,
    /// Rewinds among the entries.
    pub(crate) rewinds: usize,
}

/// Waits until a store has nothing more to do by itself.
pub(crate) async fn settle(store: &SqliteStore) -> Outcome<()> {
    while store.index_lag().await? > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // After the index the write-ahead log is brought into the file, once it was quiet for a while.
    tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    Ok(())
}

/// Lets a closed store believe that its search index is complete, where searching is not measured
/// and indexing a million entries would only take time.
pub(crate) fn forget_index(path: &Path) -> Outcome<()> {
    Connection::open(path)?.execute_batch("DELETE FROM unindexed")?;
    Ok(())
}
