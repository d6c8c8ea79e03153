//! Opening: from a store's snapshot and the entries after it to a history, at the cost of a
//! window, whatever the length.

use std::collections::BTreeSet;

use super::{Conversation, Lease, Origin, Page, Store, StoreError};
use crate::history::entry::Entry;
use crate::history::fact::{Digest, Fact};
use crate::history::path::Path;
use crate::history::record::{Record, UnreadableRecord};
use crate::history::rule::BrokenRule;
use crate::history::snapshot::SNAPSHOT_EVERY;
use crate::history::{Aftermath, Counts, History, Proposed};
use crate::id::{AgentId, CallId, ConversationId, Seq};
use crate::outline::{OutlineRow, RowKind};
use crate::tokens::TokenCounter;

/// How many records are read at a time.
const PAGE: usize = 512;
/// How many outline rows are read at first.
const ROWS: usize = 128;
/// The most outline rows that are read at a time.
const ROWS_CAP: usize = 1024;

/// Why a history could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store could not give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record is not one of ours.
    #[error("entry {seq} of conversation {id} cannot be read")]
    Unreadable {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
        /// Why not.
        #[source]
        source: UnreadableRecord,
    },
    /// A record is not what was written.
    #[error("entry {seq} of conversation {id} does not fit the chain; run `threadline verify`")]
    BrokenChain {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
    },
    /// An entry cannot stand where it stands.
    #[error("conversation {id} cannot be opened")]
    Broken {
        /// The conversation.
        id: ConversationId,
        /// The rule that is broken.
        #[source]
        source: BrokenRule,
    },
}

/// The history of a conversation.
pub async fn open(
    store: &dyn Store,
    id: ConversationId,
    counter: &dyn TokenCounter,
) -> Result<(Conversation, History), OpenError> {
    let conversation = store.conversation(id).await?;
    let history = history_at(store, id, conversation.head, counter).await?;
    let history = match conversation.origin {
        Origin::Own => history,
        Origin::Copy => history.into_copy(),
    };
    Ok((conversation, history))
}

/// The history of a conversation as it was at an entry.
pub async fn history_at(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
) -> Result<History, OpenError> {
    let newest = snapshot(store, id, at).await?;
    let mut base = newest.clone();
    let path = loop {
        let mut rewinds = store.rewinds(id, base.head()).await?;
        rewinds.retain(|(stands, _)| *stands <= at);
        match Path::since(base.head(), at, &rewinds) {
            Ok(path) => break path,
            // The path left this snapshot behind: the state is that of an earlier one.
            Err(place) => base = snapshot(store, id, place).await?,
        }
    };
    let mut fold = Fold { store, id, counter, path: &path, history: base };
    if fold.history.head() < newest.head() {
        for (from, to) in path.runs() {
            if *from <= newest.head() {
                fold.history.skip_to(from.before());
                fold.entries(*from, (*to).min(newest.head()), None).await?;
            }
        }
        fold.history = fold.history.with_ledger_of(&newest);
    }
    let previous = fold.history.head_hash();
    fold.entries(fold.history.head().next(), at, Some(previous)).await?;
    Ok(fold.history)
}

/// The history as it was at an entry, and what became later of the calls that were open there:
/// what a rewind or a fork to that entry needs.
pub async fn past(
    store: &dyn Store,
    id: ConversationId,
    to: Seq,
    counter: &dyn TokenCounter,
) -> Result<(History, Aftermath), OpenError> {
    let history = history_at(store, id, to, counter).await?;
    let agents = history.state().agents.values();
    let calls = agents.flat_map(|agent| agent.open_calls());
    let mut open: BTreeSet<CallId> =
        calls.filter(|(_, call)| call.finished.is_none()).map(|(id, _)| id).collect();
    let mut aftermath = Aftermath::default();
    let mut next = to.next();
    // Calls go on only in the branch that follows directly: a rewind takes them back.
    'ledger: while !open.is_empty() {
        let records = store.read(id, &Page::forward(next, PAGE)).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let entry = read(id, next, record)?;
            next = next.next();
            match &entry.fact {
                Fact::Rewound(_) => break 'ledger,
                // Calls that others make in the meantime do not count.
                Fact::ToolFinished(finished) => {
                    open.remove(&finished.call);
                }
                _ => {}
            }
            aftermath.note(&entry);
        }
    }
    Ok((history, aftermath))
}

/// Appends what was proposed, and keeps a snapshot if one is due.
///
/// The history after it is durable when this returns. A snapshot that could not be kept is no
/// failure: it is a cache.
pub async fn append(
    store: &dyn Store,
    lease: &Lease,
    proposed: Proposed,
) -> Result<History, StoreError> {
    store.append(lease, &proposed.batch).await?;
    let Proposed { batch, history } = proposed;
    let for_good = batch.base.0 / SNAPSHOT_EVERY != batch.head().0 / SNAPSHOT_EVERY;
    let ends_turn = |row: &OutlineRow| matches!(row.kind, RowKind::Answer | RowKind::Ended);
    let rewound = batch.entries.iter().any(|p| matches!(p.entry.fact, Fact::Rewound(_)));
    if for_good || rewound || batch.rows.iter().any(ends_turn) {
        let kept = store.keep_snapshot(lease.conversation, &history.to_snapshot(), for_good).await;
        drop(kept);
    }
    Ok(history)
}

/// The newest entries on an agent's thread that together take at most so many tokens at Recent,
/// oldest first: rows of the outline, each with its entry and, for sealed results, the results.
pub async fn window(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    agent: AgentId,
    tokens: u64,
) -> Result<Vec<(OutlineRow, Vec<Entry>)>, OpenError> {
    let Some(head) = history.agent(agent).and_then(|agent| agent.row) else {
        return Ok(Vec::new());
    };
    let mut rows: Vec<OutlineRow> = Vec::new();
    let mut from = Some(head);
    let mut taken = 0_u64;
    'rows: while let Some(next) = from {
        let most = rows_left(rows.len(), taken, tokens);
        let page = store.outline(id, agent, next, most).await?;
        from = page.last().and_then(|row| row.previous);
        for row in page {
            taken += u64::from(row.tokens.recent);
            if taken > tokens {
                break 'rows;
            }
            rows.push(row);
        }
    }
    rows.reverse();
    let seqs: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    let records = store.records(id, &seqs).await?;
    let mut shown = Vec::with_capacity(rows.len());
    let mut results: Vec<Seq> = Vec::new();
    for (row, record) in rows.into_iter().zip(&records) {
        let entry = read(id, row.seq, record)?;
        if let Fact::ToolResults(sealed) = &entry.fact {
            results.extend(&sealed.results);
        }
        shown.push((row, vec![entry]));
    }
    // From the end: a store has at hand what lies near the entries it gave last.
    results.reverse();
    let records = store.records(id, &results).await?;
    let mut finished = results.iter().zip(&records).rev();
    for (_, entries) in &mut shown {
        let sealed = entries.first().map(|entry| match &entry.fact {
            Fact::ToolResults(sealed) => sealed.results.len(),
            _ => 0,
        });
        for (seq, record) in finished.by_ref().take(sealed.unwrap_or(0)) {
            entries.push(read(id, *seq, record)?);
        }
    }
    Ok(shown)
}

/// How many more rows a window takes, judged by those it has, and a few to be sure.
fn rows_left(rows: usize, taken: u64, tokens: u64) -> usize {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    let left = rows.saturating_mul(tokens.saturating_sub(taken)).checked_div(taken);
    let judged = left.and_then(|left| usize::try_from(left.saturating_add(left / 16 + 1)).ok());
    judged.unwrap_or(ROWS).min(ROWS_CAP)
}

/// A fold over stored entries along a path.
struct Fold<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    counter: &'a dyn TokenCounter,
    path: &'a Path,
    history: History,
}

impl Fold<'_> {
    /// Takes in the entries of a range. The chain is checked from `previous` on, if it is known.
    async fn entries(
        &mut self,
        from: Seq,
        to: Seq,
        mut previous: Option<Digest>,
    ) -> Result<(), OpenError> {
        let mut next = from;
        while next <= to {
            let most = usize::try_from(to.0 - next.0 + 1).unwrap_or(PAGE).min(PAGE);
            let records = self.store.read(self.id, &Page::forward(next, most)).await?;
            if records.is_empty() {
                return Err(
                    StoreError::NoEntry { id: self.id, seq: next, head: next.before() }.into()
                );
            }
            for record in &records {
                if previous.is_some_and(|previous| !record.follows(previous)) {
                    return Err(OpenError::BrokenChain { id: self.id, seq: next });
                }
                previous = Some(record.hash);
                self.take(&read(self.id, next, record)?, record.hash)?;
                next = next.next();
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: &Entry, hash: Digest) -> Result<(), OpenError> {
        let folded = if !self.path.contains(entry.seq) {
            self.history.pass(entry, hash)
        } else if let Fact::Rewound(_) = entry.fact {
            self.history.rewind_in_place(entry, hash)
        } else {
            let counts = Counts::of(&entry.fact, self.counter);
            self.history.apply_or_break(entry, hash, counts).map(drop)
        };
        folded.map_err(|source| OpenError::Broken { id: self.id, source })
    }
}

async fn snapshot(
    store: &dyn Store,
    id: ConversationId,
    at_most: Seq,
) -> Result<History, StoreError> {
    let mut at_most = at_most;
    while let Some(snapshot) = store.snapshot(id, at_most).await? {
        if let Some(history) = History::from_snapshot(&snapshot) {
            return Ok(history);
        }
        // Of another version, or unreadable: an older one may do.
        at_most = snapshot.seq.before();
    }
    Ok(History::new())
}

fn read(id: ConversationId, seq: Seq, record: &Record) -> Result<Entry, OpenError> {
    record.open().map_err(|source| OpenError::Unreadable { id, seq, source })
}
