//! Reading records: pages of the whole ledger or of one thread, and single ones.

use rusqlite::{Connection, OptionalExtension as _, Row};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{Direction, PAGE_CAP_BYTES, Page, StoreError};

use super::conversation::Open;
use super::error::{Failure, damaged};
use super::number::{count, entry_id, log_and_seq, rows, seq_int};
use super::segments::Segment;

const ALL_FORWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
const ALL_BACKWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT ?3";
const FIRST_FORWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 AND agent = ?4 ORDER BY id LIMIT ?3";
const FIRST_BACKWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 AND agent = ?4 ORDER BY id DESC LIMIT ?3";
// The condition that the index has lets SQLite use it.
const OTHER_FORWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 AND agent = ?4 AND agent <> 1 ORDER BY id LIMIT ?3";
const OTHER_BACKWARD: &str = "SELECT envelope, body, salt, hash FROM entry
     WHERE id BETWEEN ?1 AND ?2 AND agent = ?4 AND agent <> 1 ORDER BY id DESC LIMIT ?3";
const ONE: &str = "SELECT envelope, body, salt, hash FROM entry WHERE id = ?1";

/// A page of records.
pub(super) fn read(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    page: &Page,
) -> Result<Vec<Record>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut filling = Filling { records: Vec::new(), bytes: 0, most: page.most };
    let mut place = match page.direction {
        Direction::Forward => page.from.max(Seq(1)),
        Direction::Backward => page.from.min(open.head),
    };
    while let Some(segment) = Segment::at(connection, open, place)? {
        let (low, high) = match page.direction {
            Direction::Forward => (place, segment.to),
            Direction::Backward => (segment.from, place),
        };
        let (low, high) = (entry_id(segment.log, low), entry_id(segment.log, high));
        if filling.fill(connection, page, low, high)?.is_full() {
            break;
        }
        place = match page.direction {
            Direction::Forward => segment.to.next(),
            Direction::Backward => segment.from.before(),
        };
    }
    Ok(filling.records)
}

struct Filling {
    records: Vec<Record>,
    bytes: usize,
    most: usize,
}

enum Filled {
    Full,
    MoreFits,
}

impl Filled {
    fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

impl Filling {
    /// Adds records of one segment until the page is full.
    fn fill(
        &mut self,
        connection: &Connection,
        page: &Page,
        low: i64,
        high: i64,
    ) -> rusqlite::Result<Filled> {
        let left = rows(self.most.saturating_sub(self.records.len()));
        let (mut statement, mut found);
        match (page.thread, page.direction) {
            (None, direction) => {
                statement = connection.prepare_cached(match direction {
                    Direction::Forward => ALL_FORWARD,
                    Direction::Backward => ALL_BACKWARD,
                })?;
                found = statement.query([low, high, left])?;
            }
            (Some(thread), direction) => {
                statement = connection.prepare_cached(match (thread, direction) {
                    (AgentId::FIRST, Direction::Forward) => FIRST_FORWARD,
                    (AgentId::FIRST, Direction::Backward) => FIRST_BACKWARD,
                    (_, Direction::Forward) => OTHER_FORWARD,
                    (_, Direction::Backward) => OTHER_BACKWARD,
                })?;
                found = statement.query([low, high, left, i64::from(thread.0)])?;
            }
        }
        while let Some(row) = found.next()? {
            let record = record(row)?;
            self.bytes = self.bytes.saturating_add(record.size());
            if self.bytes > PAGE_CAP_BYTES && !self.records.is_empty() {
                return Ok(Filled::Full);
            }
            self.records.push(record);
        }
        let full = self.records.len() >= self.most || self.bytes >= PAGE_CAP_BYTES;
        Ok(if full { Filled::Full } else { Filled::MoreFits })
    }
}

/// The record in a row. A salt or hash of the wrong size becomes zeros: the record then fails its
/// check, and the records around it can still be read.
fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        envelope: row.get(0)?,
        body: row.get(1)?,
        salt: row.get(2).unwrap_or_default(),
        hash: Digest(row.get(3).unwrap_or_default()),
    })
}

/// The records at some places.
pub(super) fn records(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    seqs: &[Seq],
) -> Result<Vec<Record>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut statement = connection.prepare_cached(ONE)?;
    let mut records = Vec::with_capacity(seqs.len());
    let mut last: Option<Segment> = None;
    for &seq in seqs {
        // Mostly they lie in one segment, or in a few one after the other.
        let segment = match last.filter(|segment| segment.from <= seq && seq <= segment.to) {
            Some(segment) => segment,
            None => Segment::at(connection, open, seq)?.ok_or(StoreError::NoEntry {
                id,
                seq,
                head: open.head,
            })?,
        };
        last = Some(segment);
        let found = statement.query_row([entry_id(segment.log, seq)], record).optional()?;
        records.push(found.ok_or_else(|| damaged(format!("entry {seq} is missing")))?);
    }
    Ok(records)
}

/// Records of a log that is still being filled.
pub(super) fn staged(
    connection: &Connection,
    log: i64,
    from: Seq,
    most: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut filling = Filling { records: Vec::new(), bytes: 0, most };
    let (low, high) = (entry_id(log, from), entry_id(log, Seq(u64::MAX)));
    filling.fill(connection, &Page::forward(from, most), low, high)?;
    Ok(filling.records)
}

/// The rewinds of a conversation after a place, in order.
pub(super) fn rewinds(
    connection: &Connection,
    open: Open,
    after: Seq,
) -> rusqlite::Result<Vec<(Seq, Seq)>> {
    // The segments of a conversation lie one after the other, and each is short of the next.
    let mut statement = connection.prepare_cached(
        "SELECT rewind.id, rewind.to_seq
         FROM (SELECT log, from_seq,
                      coalesce(lead(from_seq) OVER (ORDER BY from_seq) - 1, ?2) AS to_seq
               FROM segment WHERE conversation = ?1) AS part
         CROSS JOIN rewind
           ON rewind.id BETWEEN part.log << 36 | max(part.from_seq, ?3)
                            AND part.log << 36 | part.to_seq
         ORDER BY part.from_seq, rewind.id",
    )?;
    let places = [open.num, seq_int(open.head), seq_int(after.next())];
    let found = statement.query_map(places, |row| {
        let (_, seq) = log_and_seq(row.get(0)?);
        Ok((seq, Seq(count(row.get(1)?))))
    })?;
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    /// Entries are found in their order, and those of other agents than the first by their index.
    #[test]
    fn no_page_is_sorted() {
        const { assert!(AgentId::FIRST.0 == 1, "the schema names the first agent by its number") };
        for sql in [ALL_FORWARD, ALL_BACKWARD, FIRST_FORWARD, FIRST_BACKWARD] {
            let found = "SEARCH entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n";
            assert_eq!(plan(sql), found);
        }
        for sql in [OTHER_FORWARD, OTHER_BACKWARD] {
            let found = "SEARCH entry USING INDEX entry_thread (agent=? AND rowid>? AND rowid<?)\n";
            assert_eq!(plan(sql), found);
        }
    }
}
