//! The search index: it follows the logs in small slices.

mod checksums;

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::id::Seq;
use threadline_core::search::{joined_terms, text_of};

use super::error::Failure;
use super::number::{count, entry_id, log_and_seq, rows, seq_int};
pub(super) use checksums::Checksums;

/// How many entries are indexed at a time.
const SLICE_ENTRIES: usize = 512;
const SLICE_BYTES: usize = 1024 * 1024;

/// Up to `most` logs with entries that the index does not have, and the last entry of each.
pub(super) fn behind(connection: &Connection, most: usize) -> rusqlite::Result<Vec<(i64, Seq)>> {
    let mut statement = connection.prepare_cached(
        "SELECT unindexed.log,
                (SELECT id FROM entry
                 WHERE id BETWEEN unindexed.log << 36 AND (unindexed.log << 36) | ?1
                 ORDER BY id DESC LIMIT 1)
         FROM unindexed LIMIT ?2",
    )?;
    let found = statement.query_map([seq_int(Seq(u64::MAX)), rows(most)], |row| {
        let (_, last) = log_and_seq(row.get::<_, Option<i64>>(1)?.unwrap_or(0));
        Ok((row.get(0)?, last))
    })?;
    found.collect()
}

/// How many entries the index lags behind.
pub(super) fn lag(connection: &Connection) -> rusqlite::Result<u64> {
    let mut lag = 0_u64;
    for (log, last) in behind(connection, usize::MAX)? {
        let indexed = indexed(connection, log)?.unwrap_or(last);
        lag = lag.saturating_add(last.0.saturating_sub(indexed.0));
    }
    Ok(lag)
}

/// The last entry of a log that the index has; none if there is no such log.
fn indexed(connection: &Connection, log: i64) -> rusqlite::Result<Option<Seq>> {
    connection
        .prepare_cached("SELECT indexed_seq FROM log WHERE num = ?1")?
        .query_row([log], |row| Ok(Seq(count(row.get(0)?))))
        .optional()
}

/// Indexes a slice of what lags behind. Returns whether there may be more.
pub(super) fn follow(connection: &Connection) -> Result<bool, Failure> {
    let behind = behind(connection, SLICE_ENTRIES)?;
    Ok(follow_to(connection, &behind)? || behind.len() == SLICE_ENTRIES)
}

/// Indexes a slice of some logs, each up to an entry. Returns whether there may be more.
pub(super) fn follow_to(connection: &Connection, logs: &[(i64, Seq)]) -> Result<bool, Failure> {
    let mut slice = Slice { entries: SLICE_ENTRIES, bytes: SLICE_BYTES };
    for (log, last) in logs {
        if let Some(after) = indexed(connection, *log)?.filter(|after| after < last) {
            slice.index(connection, *log, after)?;
        }
        if !slice.has_room() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the first entries of a log from the index, as far as they are in it. They are still stored.
pub(super) fn forget(connection: &Connection, log: i64, entries: i64) -> rusqlite::Result<()> {
    let Some(indexed) = indexed(connection, log)? else { return Ok(()) };
    let mut select = connection.prepare_cached(
        "SELECT id, envelope, body FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
    )?;
    let mut delete = connection
        .prepare_cached("INSERT INTO words (words, rowid, text) VALUES ('delete', ?1, ?2)")?;
    let range = [entry_id(log, Seq::ZERO), entry_id(log, indexed), entries];
    let mut rows = select.query(range)?;
    while let Some(row) = rows.next()? {
        let terms = terms_of(row.get(1)?, row.get(2)?);
        if !terms.is_empty() {
            delete.execute(params![row.get::<_, i64>(0)?, terms])?;
        }
    }
    Ok(())
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
            "SELECT id, envelope, body FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id",
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
