//! Sweeping: what was staged and never adopted, and what was deleted, is removed in small slices.

use rusqlite::Connection;
use threadline_core::id::Seq;

use super::blobs;
use super::index;
use super::number::entry_id;
use super::run_file::Living;

/// How many entries are removed at a time.
const SLICE_ENTRIES: i64 = 1024;
/// How many chunks of attachments are removed at a time.
const SLICE_CHUNKS: i64 = 16;

/// Removes a slice of what nobody uses any more. Tells whether there may be more.
pub(super) fn sweep(connection: &Connection, living: &mut Living<'_>) -> rusqlite::Result<bool> {
    let logs = "SELECT num, staged FROM log WHERE staged IS NOT NULL";
    if let Some(log) = first_unused(connection, logs, living)? {
        remove_log_slice(connection, log)?;
        return Ok(true);
    }
    let uploads = "SELECT num, staged FROM blob WHERE staged IS NOT NULL";
    if let Some(upload) = first_unused(connection, uploads, living)? {
        blobs::remove_slice(connection, upload, SLICE_CHUNKS)?;
        return Ok(true);
    }
    Ok(false)
}

fn first_unused(
    connection: &Connection,
    sql: &str,
    living: &mut Living<'_>,
) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !living.uses(row.get_ref(1)?.as_str()?) {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// Leaves a staged log to be removed.
pub(super) fn leave_log(connection: &Connection, log: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE log SET staged = '' WHERE num = ?1 AND staged IS NOT NULL")?
        .execute([log])
        .map(drop)
}

/// Removes a slice of a staged log, its entries first and itself at last. Tells whether there is
/// more.
pub(super) fn remove_log_slice(connection: &Connection, log: i64) -> rusqlite::Result<bool> {
    let range = [entry_id(log, Seq::ZERO), entry_id(log, Seq(u64::MAX)), SLICE_ENTRIES];
    for sql in [
        "DELETE FROM rewind WHERE id IN
           (SELECT id FROM rewind WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)",
        "DELETE FROM snapshot WHERE id IN
           (SELECT id FROM snapshot WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)",
    ] {
        if connection.prepare_cached(sql)?.execute(range)? > 0 {
            return Ok(true);
        }
    }
    index::forget(connection, log, SLICE_ENTRIES)?;
    let entries = "DELETE FROM entry WHERE id IN
        (SELECT id FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3)";
    if connection.prepare_cached(entries)?.execute(range)? > 0 {
        return Ok(true);
    }
    forget_extras(connection, log)?;
    connection
        .prepare_cached("DELETE FROM log WHERE num = ?1 AND staged IS NOT NULL")?
        .execute([log])?;
    Ok(false)
}

/// Removes the agents and client keys that were kept under the number of a staged log.
pub(super) fn forget_extras(connection: &Connection, log: i64) -> rusqlite::Result<()> {
    for sql in
        ["DELETE FROM agent WHERE conversation = ?1", "DELETE FROM inbox WHERE conversation = ?1"]
    {
        connection.prepare_cached(sql)?.execute([log])?;
    }
    Ok(())
}
