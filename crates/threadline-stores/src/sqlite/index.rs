//! The search index: it follows the logs in small slices.

mod checksums;
mod leaf;
mod segment;

use rusqlite::{Connection, params};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::id::Seq;
use threadline_core::search::{joined_terms, text_of};

use super::error::Failure;
use super::number::{count, entry_id, log_and_seq, seq_int};
pub(super) use checksums::Checksums;

/// How many entries are indexed at a time.
const SLICE_ENTRIES: usize = 512;
const SLICE_BYTES: usize = 1024 * 1024;

/// Whether the index has every entry.
pub(super) fn is_complete(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT NOT EXISTS (SELECT 1 FROM unindexed)")?
        .query_row([], |row| row.get(0))
}

/// How many entries the index lags behind.
pub(super) fn lag(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(
        "SELECT log.indexed_seq,
                (SELECT id FROM entries
                 WHERE id BETWEEN log.num << 36 AND (log.num << 36) | ?1
                 ORDER BY id DESC LIMIT 1)
         FROM unindexed CROSS JOIN log ON log.num = unindexed.log",
    )?;
    let mut rows = statement.query([seq_int(Seq(u64::MAX))])?;
    let mut lag = 0_u64;
    while let Some(row) = rows.next()? {
        let (_, last) = log_and_seq(row.get::<_, Option<i64>>(1)?.unwrap_or(0));
        lag = lag.saturating_add(last.0.saturating_sub(count(row.get(0)?)));
    }
    Ok(lag)
}

/// Indexes a slice of what lags behind. Tells whether there may be more.
pub(super) fn follow(connection: &Connection) -> Result<bool, Failure> {
    let mut slice = Slice { entries: SLICE_ENTRIES, bytes: SLICE_BYTES };
    while slice.has_room() {
        let next = connection
            .prepare_cached(
                "SELECT log.num, log.indexed_seq
                 FROM unindexed CROSS JOIN log ON log.num = unindexed.log LIMIT 1",
            )?
            .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?
            .next()
            .transpose()?;
        let Some((log, indexed)) = next else { return Ok(false) };
        slice.index(connection, log, Seq(count(indexed)))?;
    }
    Ok(true)
}

/// What is left of a slice.
struct Slice {
    entries: usize,
    bytes: usize,
}

impl Slice {
    fn has_room(&self) -> bool {
        self.entries > 0 && self.bytes > 0
    }

    /// Indexes entries of a log after a place, to its end or to that of the slice.
    fn index(&mut self, connection: &Connection, log: i64, after: Seq) -> Result<(), Failure> {
        let mut select = connection.prepare_cached(
            "SELECT id, envelope, body
             FROM entries CROSS JOIN record ON record.num = entries.record
             WHERE id > ?1 AND id <= ?2 ORDER BY id",
        )?;
        let mut rows = select.query([entry_id(log, after), entry_id(log, Seq(u64::MAX))])?;
        let mut insert =
            connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        let mut indexed = after;
        let ended = loop {
            if !self.has_room() {
                break false;
            }
            let Some(row) = rows.next()? else { break true };
            let id: i64 = row.get(0)?;
            let body: Vec<u8> = row.get(2)?;
            self.entries = self.entries.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(body.len());
            let terms = terms_of(row.get(1)?, body);
            if !terms.is_empty() {
                insert.execute(params![id, terms])?;
            }
            (_, indexed) = log_and_seq(id);
        };
        connection
            .prepare_cached("UPDATE log SET indexed_seq = ?2 WHERE num = ?1")?
            .execute([log, seq_int(indexed)])?;
        if ended {
            connection.prepare_cached("DELETE FROM unindexed WHERE log = ?1")?.execute([log])?;
        }
        Ok(())
    }
}

/// The terms of an entry, joined by blanks. One that cannot be read has none; verifying tells of it,
/// search need not.
fn terms_of(envelope: Vec<u8>, body: Vec<u8>) -> String {
    let record = Record { envelope, body, salt: [0; 16], hash: Digest([0; 32]) };
    let text = record.open().ok().and_then(|entry| text_of(&entry));
    text.map(|text| joined_terms(&text)).unwrap_or_default()
}
