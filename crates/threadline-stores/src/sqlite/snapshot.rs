//! Snapshots: kept with the log their entry is in, so that a fork finds its parent's.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::history::fact::Digest;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::StoreError;

use super::conversation::Open;
use super::error::Failure;
use super::number::{entry_id, log_and_seq};
use super::segments::{Segment, hash_of, locate};

/// The newest snapshot at or before a place.
pub(super) fn newest(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    at_most: Seq,
) -> Result<Option<Snapshot>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut place = at_most.min(open.head);
    while let Some(segment) = Segment::at(connection, open, place)? {
        match newest_in(connection, segment, place)? {
            Some(Found::Good(snapshot)) => return Ok(Some(snapshot)),
            // One that does not belong to its entry is only a cache that went bad: look before it.
            Some(Found::Bad(seq)) => place = seq.before(),
            None => place = segment.from.before(),
        }
    }
    Ok(None)
}

enum Found {
    Good(Snapshot),
    Bad(Seq),
}

fn newest_in(
    connection: &Connection,
    segment: Segment,
    at_most: Seq,
) -> rusqlite::Result<Option<Found>> {
    let found = connection
        .prepare_cached(
            "SELECT id, hash, fold_version, body FROM snapshot
             WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
        )?
        .query_row([segment.ids().0, entry_id(segment.log, at_most)], |row| {
            let body: Vec<u8> = row.get(3)?;
            Ok((row.get::<_, i64>(0)?, Digest(row.get(1)?), row.get::<_, u32>(2)?, body))
        })
        .optional()?;
    let Some((id, hash, fold_version, body)) = found else { return Ok(None) };
    let (_, seq) = log_and_seq(id);
    let belongs = hash_of(connection, id)? == Some(hash);
    Ok(Some(match decode(&body).filter(|_| belongs) {
        Some((history, widgets)) => {
            Found::Good(Snapshot { seq, hash, fold_version, history, widgets })
        }
        None => Found::Bad(seq),
    }))
}

/// Keeps a snapshot; one that is not for good replaces the last such one of its log.
pub(super) fn keep(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    snapshot: &Snapshot,
    for_good: bool,
) -> Result<(), Failure> {
    let open = Open::get(connection, tenant, id)?;
    let seq = snapshot.seq;
    let entry =
        locate(connection, open, seq)?.ok_or(StoreError::NoEntry { id, seq, head: open.head })?;
    if hash_of(connection, entry)? != Some(snapshot.hash) {
        return Err(StoreError::Invalid(format!(
            "the snapshot at {seq} is not of the history of conversation {id}"
        ))
        .into());
    }
    if !for_good {
        let (log, _) = log_and_seq(entry);
        connection
            .prepare_cached("DELETE FROM snapshot WHERE id BETWEEN ?1 AND ?2 AND for_good = 0")?
            .execute([entry_id(log, Seq::ZERO), entry_id(log, Seq(u64::MAX))])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO snapshot (id, hash, fold_version, for_good, body)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET
               hash = ?2, fold_version = ?3, for_good = max(for_good, ?4), body = ?5",
        )?
        .execute(params![
            entry,
            snapshot.hash.0,
            snapshot.fold_version,
            for_good,
            encode(&snapshot.history, &snapshot.widgets)
        ])?;
    Ok(())
}

/// The history's state and then each widget's name and state, each after its length.
fn encode(history: &[u8], widgets: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(history.len() + 8);
    let mut push = |part: &[u8]| {
        bytes.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend(part);
    };
    push(history);
    for (name, state) in widgets {
        push(name.as_bytes());
        push(state);
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<(Vec<u8>, BTreeMap<String, Vec<u8>>)> {
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
        assert_eq!(decode(&[0xff; 12]), None);
        assert_eq!(decode(&[]), None);
    }
}
