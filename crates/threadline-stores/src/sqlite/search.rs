//! Search: phrases in the index, entries found, and whether a rewind has left them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::history::path::Path;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::search::{Phrase, phrases};
use threadline_core::store::{Audit, Hit, Query, Search, StoreError};

use super::SqliteStore;
use super::conversation::{Open, conversation_id};
use super::error::Failure;
use super::index::{self, Checksums};
use super::number::{SEQ_MAX, entry_id, log_and_seq};
use super::read::rewinds;
use super::segments::Segment;

#[async_trait]
impl Search for SqliteStore {
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        match self.catch_up().await {
            // What is in the index can still be searched.
            Err(error) if error.refuses_writes() => {}
            caught_up => caught_up?,
        }
        let (tenant, query) = (self.tenant, query.clone());
        self.read_store("search", move |connection| search(connection, tenant, &query)).await
    }
}

#[async_trait]
impl Audit for SqliteStore {
    async fn index_lag(&self) -> Result<u64, StoreError> {
        self.read_store("look at the search index", |connection| Ok(index::lag(connection)?)).await
    }

    async fn index_checksums(
        &self,
        id: ConversationId,
        after: Seq,
        most: usize,
    ) -> Result<Vec<(Seq, u64)>, StoreError> {
        self.catch_up().await?;
        let (tenant, reading) = (self.tenant, Arc::clone(&self.reading));
        self.read_store("read the search index", move |connection| {
            let open = Open::get(connection, tenant, id)?;
            let mut kept = reading.checksums.lock().unwrap_or_else(PoisonError::into_inner);
            let checksums = match kept.take().filter(Checksums::is_current) {
                Some(checksums) => checksums,
                None => Checksums::read(reading.readers.open()?)?,
            };
            let checksums = kept.insert(checksums);
            Ok(page_of(connection, open, checksums, after, most)?)
        })
        .await
    }
}

impl SqliteStore {
    /// Lets the index catch up with everything that was appended before, and with nothing that is
    /// appended meanwhile.
    async fn catch_up(&self) -> Result<(), StoreError> {
        let doing = "bring the search index up to date";
        let behind =
            self.read_store(doing, |connection| Ok(index::behind(connection, usize::MAX)?)).await?;
        let behind = Arc::new(behind);
        let mut more = !behind.is_empty();
        while more {
            let behind = Arc::clone(&behind);
            more = self
                .write(doing, (0, None), move |connection| index::follow_to(connection, &behind))
                .await?;
        }
        Ok(())
    }
}

fn page_of(
    connection: &Connection,
    open: Open,
    checksums: &Checksums,
    after: Seq,
    most: usize,
) -> rusqlite::Result<Vec<(Seq, u64)>> {
    let mut page = Vec::new();
    let mut place = after.next();
    while page.len() < most
        && let Some(segment) = Segment::at(connection, open, place)?
    {
        let run = checksums.between(entry_id(segment.log, place), segment.ids().1);
        let left = most.saturating_sub(page.len());
        page.extend(run.iter().take(left).map(|(id, sum)| (log_and_seq(*id).1, *sum)));
        place = segment.to.next();
    }
    Ok(page)
}

fn search(connection: &Connection, tenant: i64, query: &Query) -> Result<Vec<Hit>, Failure> {
    let phrases = phrases(&query.text);
    if phrases.is_empty() || query.most == 0 {
        return Ok(Vec::new());
    }
    let finder = Finder { connection, tenant, words: match_text(&phrases), agent: query.agent };
    match query.conversation {
        Some(id) => finder.in_one(id, query),
        None => finder.in_all(query),
    }
}

/// The phrases as FTS5 reads them. Terms have no quotation marks in them.
fn match_text(phrases: &[Phrase]) -> String {
    let phrases: Vec<_> =
        phrases.iter().map(|phrase| format!("\"{}\"", phrase.join(" "))).collect();
    phrases.join(" AND ")
}

struct Finder<'a> {
    connection: &'a Connection,
    tenant: i64,
    words: String,
    agent: Option<AgentId>,
}

impl Finder<'_> {
    /// Calls `found` with the entries of a range that match, the newest first, until it says that
    /// there are enough.
    fn each(
        &self,
        first: i64,
        last: i64,
        mut found: impl FnMut(i64, AgentId) -> Result<Enough, Failure>,
    ) -> Result<(), Failure> {
        let mut matching = self.connection.prepare_cached(
            "SELECT rowid FROM words
             WHERE words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3 ORDER BY rowid DESC",
        )?;
        let mut agent_of =
            self.connection.prepare_cached("SELECT agent FROM entry WHERE id = ?1")?;
        let mut rows = matching.query(params![self.words, first, last])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let agent = agent_of.query_row([id], |row| row.get(0)).optional()?.map(AgentId);
            let Some(agent) = agent.filter(|agent| self.agent.is_none_or(|only| only == *agent))
            else {
                continue;
            };
            if found(id, agent)? == Enough::Yes {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The hits of one conversation, those it shares with others included.
    fn in_one(&self, id: ConversationId, query: &Query) -> Result<Vec<Hit>, Failure> {
        let open = Open::get(self.connection, self.tenant, id)?;
        let path = path_of(self.connection, open)?;
        let mut hits = Vec::new();
        let mut place = query.after.map_or(open.head, |(_, seq)| seq.before()).min(open.head);
        while hits.len() < query.most
            && let Some(segment) = Segment::at(self.connection, open, place)?
        {
            self.each(segment.ids().0, entry_id(segment.log, place), |entry, agent| {
                let (_, seq) = log_and_seq(entry);
                hits.push(Hit { conversation: id, seq, agent, rewound: !path.contains(seq) });
                Ok(Enough::when(hits.len() >= query.most))
            })?;
            place = segment.from.before();
        }
        Ok(hits)
    }

    /// The hits of all conversations, each under the one that wrote it.
    ///
    /// A conversation has the number of its first log, and later logs have higher numbers. So
    /// what is found at one place comes, in the order of hits, before all that is found after it,
    /// or belongs to a later log.
    fn in_all(&self, query: &Query) -> Result<Vec<Hit>, Failure> {
        let later = later_logs(self.connection)?;
        let after = match query.after {
            Some((id, seq)) => Some((Open::get(self.connection, self.tenant, id)?.num, seq)),
            None => None,
        };
        let mut owners = HashMap::new();
        let mut best: BTreeMap<Reverse<(i64, Seq)>, Hit> = BTreeMap::new();
        self.each(0, last_entry(after, &later), |entry, agent| {
            let (log, seq) = log_and_seq(entry);
            let full = best.len() >= query.most;
            if full && best.last_key_value().is_some_and(|(worst, _)| worst.0 >= (log, seq)) {
                return Ok(Enough::Yes);
            }
            let num = later.get(&log).copied().unwrap_or(log);
            if after.is_some_and(|after| (num, seq) >= after) {
                return Ok(Enough::No);
            }
            let owner = match owners.entry(num) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => new.insert(self.owner(num)?),
            };
            if let Some((conversation, path)) = owner {
                let (conversation, rewound) = (*conversation, !path.contains(seq));
                best.insert(Reverse((num, seq)), Hit { conversation, seq, agent, rewound });
                if best.len() > query.most {
                    best.pop_last();
                }
            }
            Ok(Enough::No)
        })?;
        Ok(best.into_values().collect())
    }

    /// A conversation of this tenant, and its path.
    fn owner(&self, num: i64) -> Result<Option<(ConversationId, Path)>, Failure> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT num, head_seq, id FROM conversation WHERE num = ?1 AND tenant = ?2",
            )?
            .query_row([num, self.tenant], |row| Ok((conversation_id(row.get(2)?), Open::of(row)?)))
            .optional()?;
        let Some((id, open)) = found else { return Ok(None) };
        Ok(Some((id, path_of(self.connection, open)?)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Enough {
    Yes,
    No,
}

impl Enough {
    fn when(enough: bool) -> Self {
        if enough { Self::Yes } else { Self::No }
    }
}

/// The logs that conversations got after their first, and whose they are.
fn later_logs(connection: &Connection) -> rusqlite::Result<HashMap<i64, i64>> {
    connection
        .prepare_cached(
            "SELECT num, conversation FROM log INDEXED BY log_later WHERE conversation <> num",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The highest number that an entry after a hit can have.
fn last_entry(after: Option<(i64, Seq)>, later: &HashMap<i64, i64>) -> i64 {
    let Some((num, seq)) = after else { return i64::MAX };
    let highest = later.iter().filter(|(_, owner)| **owner <= num).map(|(log, _)| *log).max();
    match highest {
        Some(log) => entry_id(log.max(num), Seq(SEQ_MAX)),
        None => entry_id(num, seq),
    }
}

/// The entries of a conversation that no rewind has left.
fn path_of(connection: &Connection, open: Open) -> rusqlite::Result<Path> {
    Ok(Path::new(open.head, &rewinds(connection, open, Seq::ZERO)?))
}
