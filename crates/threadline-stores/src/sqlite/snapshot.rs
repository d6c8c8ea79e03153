//! Snapshots: kept with their conversation; a fork finds its parent's where they share entries.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use threadline_core::history::fact::Digest;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::StoreError;

use super::conversation::Open;
use super::error::Failure;
use super::number::{entry_id, log_and_seq};
use super::segments::{Segment, hash_at};

/// The newest snapshot at or before a place: the conversation's own, or one of those it shares
/// entries with.
pub(super) fn newest(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    at_most: Seq,
) -> Result<Option<Snapshot>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut place = at_most.min(open.head);
    let mut newest = newest_of(connection, open, open.num, place)?;
    while let Some(segment) = Segment::at(connection, open, place)? {
        let writer = writer_of(connection, segment.log)?;
        if writer != open.num {
            let shared = newest_of(connection, open, writer, place)?;
            newest = [newest, shared].into_iter().flatten().max_by_key(|found| found.seq);
        }
        // Those who wrote earlier segments have none that is newer and shared.
        if newest.as_ref().is_some_and(|newest| newest.seq >= segment.from) {
            break;
        }
        place = segment.from.before();
    }
    Ok(newest)
}

/// The newest snapshot that a conversation keeps at or before a place. One that does not belong
/// to its entry is only a cache that went bad: an older one may do.
fn newest_of(
    connection: &Connection,
    open: Open,
    conversation: i64,
    at_most: Seq,
) -> rusqlite::Result<Option<Snapshot>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, hash, fold_version, body FROM snapshot
         WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC",
    )?;
    let range = [entry_id(conversation, Seq::ZERO), entry_id(conversation, at_most)];
    let mut rows = statement.query(range)?;
    while let Some(row) = rows.next()? {
        let (_, seq) = log_and_seq(row.get(0)?);
        let (Ok(hash), Ok(fold_version)) = (row.get(1).map(Digest), row.get(2)) else { continue };
        if hash_at(connection, open, seq)? != Some(hash) {
            continue;
        }
        if let Some((history, widgets)) = decode(row.get_ref(3)?.as_blob().unwrap_or_default()) {
            return Ok(Some(Snapshot { seq, hash, fold_version, history, widgets }));
        }
    }
    Ok(None)
}

fn writer_of(connection: &Connection, log: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT conversation FROM log WHERE num = ?1")?
        .query_row([log], |row| row.get(0))
}

/// Keeps a snapshot; one that is not for good replaces the conversation's last such one.
pub(super) fn keep(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    snapshot: &Snapshot,
    for_good: bool,
) -> Result<(), Failure> {
    let open = Open::get(connection, tenant, id)?;
    let seq = snapshot.seq;
    if hash_at(connection, open, seq)? != Some(snapshot.hash) {
        return Err(StoreError::NoEntry { id, seq, head: open.head }.into());
    }
    if !for_good {
        connection
            .prepare_cached("DELETE FROM snapshot WHERE id BETWEEN ?1 AND ?2 AND for_good = 0")?
            .execute([entry_id(open.num, Seq::ZERO), entry_id(open.num, Seq(u64::MAX))])?;
    }
    Ok(write(connection, open.num, snapshot, for_good)?)
}

/// Writes a snapshot under a number. What is kept for good stays so.
pub(super) fn write(
    connection: &Connection,
    conversation: i64,
    snapshot: &Snapshot,
    for_good: bool,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO snapshot (id, hash, fold_version, for_good, body)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET
               hash = ?2, fold_version = ?3, for_good = max(for_good, ?4), body = ?5",
        )?
        .execute(params![
            entry_id(conversation, snapshot.seq),
            snapshot.hash.0,
            snapshot.fold_version,
            for_good,
            encode(&snapshot.history, &snapshot.widgets)
        ])
        .map(drop)
}

/// Gives a conversation the snapshots that were kept under the number of a staged log.
pub(super) fn hand_over(connection: &Connection, log: i64, to: i64) -> rusqlite::Result<()> {
    let moved_by = entry_id(to, Seq::ZERO) - entry_id(log, Seq::ZERO);
    connection
        .prepare_cached("UPDATE snapshot SET id = id + ?3 WHERE id BETWEEN ?1 AND ?2")?
        .execute([entry_id(log, Seq::ZERO), entry_id(log, Seq(u64::MAX)), moved_by])
        .map(drop)
}

/// The states of widgets, by name.
type Widgets = BTreeMap<String, Vec<u8>>;

/// A checksum of what follows it, the history's state, and then each widget's name and state, each
/// after its length. The chain does not cover snapshots, and a changed one could still be read.
fn encode(history: &[u8], widgets: &Widgets) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(history.len() + 40);
    bytes.extend([0; 32]);
    let mut push = |part: &[u8]| {
        bytes.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend(part);
    };
    push(history);
    for (name, state) in widgets {
        push(name.as_bytes());
        push(state);
    }
    if let Some((sum, rest)) = bytes.split_first_chunk_mut::<32>() {
        *sum = *blake3::hash(rest).as_bytes();
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<(Vec<u8>, Widgets)> {
    let (sum, mut bytes) = bytes.split_first_chunk::<32>()?;
    if blake3::hash(bytes) != *sum {
        return None;
    }
    let history = part(&mut bytes)?.to_vec();
    let mut widgets = BTreeMap::new();
    while !bytes.is_empty() {
        let name = std::str::from_utf8(part(&mut bytes)?).ok()?;
        widgets.insert(name.to_owned(), part(&mut bytes)?.to_vec());
    }
    Some((history, widgets))
}

fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_read_what_they_write_and_nothing_else() {
        let widgets = BTreeMap::from([
            ("plan".to_owned(), b"one\0two".to_vec()),
            (String::new(), Vec::new()),
        ]);
        let bytes = encode(b"history", &widgets);
        assert_eq!(decode(&bytes), Some((b"history".to_vec(), widgets)));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(decode(&changed), None, "byte {at}");
        }
        assert_eq!(decode(&[0xff; 12]), None);
        assert_eq!(decode(&[]), None);
    }
}
