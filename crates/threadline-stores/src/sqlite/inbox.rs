//! The inbox: items that wait for a conversation, and the keys of those that were taken.

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::Taken;
use threadline_core::history::fact::Digest;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{CLIENT_KEY_CAP_BYTES, Item, ItemNumber};
use threadline_core::store::{Queued, StoreError};

use super::append::Key;
use super::conversation::{Known, Open};
use super::error::{Failure, damaged};
use super::number::{count, int, rows, seq_int};

/// Puts an item into the inbox, or tells what became of it before.
pub(super) fn enqueue(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    item: &Item,
    now: Timestamp,
) -> Result<Queued, Failure> {
    let known = Known::get(connection, tenant, id)?;
    if known.moved {
        return Err(StoreError::MovedAway(id).into());
    }
    let (queued, due) = put(connection, known.num, id, item, now)?;
    if let Some(due) = due
        && known.due_at.is_none_or(|earlier| due < earlier)
    {
        connection
            .prepare_cached("UPDATE conversation SET due_at = ?2 WHERE num = ?1")?
            .execute([known.num, due])?;
    }
    Ok(queued)
}

/// Puts an item into the inbox of a conversation. Tells also when it is due, if it is new.
pub(super) fn put(
    connection: &Connection,
    conversation: i64,
    id: ConversationId,
    item: &Item,
    now: Timestamp,
) -> Result<(Queued, Option<i64>), Failure> {
    if item.client_key.len() > CLIENT_KEY_CAP_BYTES {
        let cap = CLIENT_KEY_CAP_BYTES;
        return Err(StoreError::TooLarge { what: "the client key", cap }.into());
    }
    let digest = item.digest();
    if let Some((there, queued)) = find_key(connection, conversation, &item.client_key)? {
        if there == digest {
            return Ok((queued, None));
        }
        let key = item.client_key.as_ref().to_owned();
        return Err(StoreError::KeyConflict { id, key }.into());
    }
    let bytes = serde_json::to_vec(item)
        .map_err(|error| StoreError::Invalid(format!("the item cannot be written: {error}")))?;
    // An item that may go in at once is due since now.
    let due = item.due.unwrap_or(now).micros();
    connection
        .prepare_cached(
            "INSERT INTO inbox (conversation, client_key, digest, due, item)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![conversation, item.client_key, digest.0, due, bytes])?;
    let number = ItemNumber(count(connection.last_insert_rowid()));
    Ok((Queued { number, taken: None }, Some(due)))
}

fn find_key(
    connection: &Connection,
    conversation: i64,
    key: &str,
) -> rusqlite::Result<Option<(Digest, Queued)>> {
    connection
        .prepare_cached(
            "SELECT num, digest, taken_seq FROM inbox WHERE conversation = ?1 AND client_key = ?2",
        )?
        .query_row(params![conversation, key], |row| {
            let number = ItemNumber(count(row.get(0)?));
            let taken = row.get::<_, Option<i64>>(2)?.map(|seq| Seq(count(seq)));
            Ok((Digest(row.get(1)?), Queued { number, taken }))
        })
        .optional()
}

/// Items that were not yet taken, after a number.
pub(super) fn waiting(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    after: ItemNumber,
    most: usize,
) -> Result<Vec<(ItemNumber, Item)>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut statement = connection.prepare_cached(
        "SELECT num, item FROM inbox INDEXED BY inbox_waiting
         WHERE conversation = ?1 AND taken_seq IS NULL AND num > ?2 ORDER BY num LIMIT ?3",
    )?;
    let mut found = statement.query(params![open.num, int(after.0), rows(most)])?;
    let mut items = Vec::new();
    while let Some(row) = found.next()? {
        let number = count(row.get(0)?);
        let item = serde_json::from_slice(row.get_ref(1)?.as_blob().unwrap_or_default())
            .map_err(|error| damaged(format!("inbox item {number} cannot be read: {error}")))?;
        items.push((ItemNumber(number), item));
    }
    Ok(items)
}

/// Marks items as taken. The entries hold what they said, so only their keys stay.
pub(super) fn take(
    connection: &Connection,
    conversation: i64,
    taken: &[Taken],
) -> Result<(), Failure> {
    for Taken { item, seq } in taken {
        let changed = connection
            .prepare_cached(
                "UPDATE inbox SET taken_seq = ?3, item = NULL
                 WHERE num = ?1 AND conversation = ?2 AND taken_seq IS NULL",
            )?
            .execute([int(item.0), conversation, seq_int(*seq)])?;
        if changed == 0 {
            return Err(StoreError::Invalid(format!(
                "inbox item {} is not waiting for this conversation",
                item.0
            ))
            .into());
        }
    }
    Ok(())
}

/// Remembers the keys of inputs, so that none is taken a second time.
pub(super) fn keep_keys(
    connection: &Connection,
    conversation: i64,
    keys: &[Key],
) -> rusqlite::Result<()> {
    for Key { key, digest, seq } in keys {
        connection
            .prepare_cached(
                "INSERT INTO inbox (conversation, client_key, digest, taken_seq)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (conversation, client_key) DO UPDATE SET taken_seq = ?4, item = NULL
                 WHERE taken_seq IS NULL",
            )?
            .execute(params![conversation, key, digest.0, seq_int(*seq)])?;
    }
    Ok(())
}

/// When a conversation is due: at its next timer, or at its earliest item.
pub(super) fn due_at(
    connection: &Connection,
    conversation: i64,
    wake_at: Option<i64>,
) -> rusqlite::Result<Option<i64>> {
    let item: Option<i64> = connection
        .prepare_cached(
            "SELECT min(due) FROM inbox INDEXED BY inbox_due
             WHERE conversation = ?1 AND taken_seq IS NULL",
        )?
        .query_row([conversation], |row| row.get(0))?;
    Ok(match (wake_at, item) {
        (Some(wake_at), Some(item)) => Some(wake_at.min(item)),
        (wake_at, item) => wake_at.or(item),
    })
}
