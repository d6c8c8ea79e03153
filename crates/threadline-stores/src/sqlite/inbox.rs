//! The inbox: items that wait for a conversation, and the keys of those that were taken.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{ClientKey, Taken};
use threadline_core::history::fact::Digest;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, CLIENT_KEY_CAP_BYTES, Item, ItemNumber};
use threadline_core::store::{ItemState, NOT_A_MESSAGE, Queued, StoreError};

use super::blobs;
use super::conversation::{Known, Open, refresh_due_at};
use super::error::{Failure, damaged};
use super::number::{count, int, moment, rows, seq_int};

/// The conversation whose inbox it is.
pub(super) struct Holder {
    pub(super) num: i64,
    pub(super) id: ConversationId,
    /// Whether it shares entries with another, and so knows the keys taken in them.
    pub(super) is_fork: bool,
}

/// Puts an item into the inbox, or tells what became of it before.
pub(super) fn enqueue(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    item: &Item,
    now: Timestamp,
) -> Result<Queued, Failure> {
    let known = Known::get(connection, tenant, id)?;
    let holder = Holder { num: known.num, id, is_fork: known.is_fork };
    if let Some(queued) = holder.known(connection, item)? {
        return Ok(queued);
    }
    if known.moved {
        return Err(StoreError::MovedAway(id).into());
    }
    check(connection, item)?;
    let (queued, due) = holder.put(connection, item, now)?;
    if known.due_at.is_none_or(|earlier| due < earlier) {
        connection
            .prepare_cached("UPDATE conversation SET due_at = ?2 WHERE num = ?1")?
            .execute([known.num, due])?;
    }
    Ok(queued)
}

/// Replaces the message that waits under a key.
pub(super) fn edit(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    item: &Item,
    now: Timestamp,
) -> Result<Queued, Failure> {
    let known = Known::get(connection, tenant, id)?;
    let holder = Holder { num: known.num, id, is_fork: known.is_fork };
    let waiting = holder.message(connection, &known, &item.client_key)?;
    check_message(item)?;
    check(connection, item)?;
    let number: i64 = connection
        .prepare_cached("SELECT max(num) + 1 FROM inbox")?
        .query_row([], |row| row.get(0))?;
    connection
        .prepare_cached(
            "UPDATE inbox SET num = ?2, digest = ?3, due = ?4, item = ?5 WHERE num = ?1",
        )?
        .execute(params![
            int(waiting.number.0),
            number,
            item.digest().0,
            holder.due(connection, item, now)?,
            bytes_of(item)?,
        ])?;
    refresh_due_at(connection, known.num)?;
    Ok(Queued { number: ItemNumber(count(number)), state: ItemState::Waiting })
}

/// Withdraws the message that waits under a key.
pub(super) fn withdraw(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    key: &str,
) -> Result<Queued, Failure> {
    let known = Known::get(connection, tenant, id)?;
    let holder = Holder { num: known.num, id, is_fork: known.is_fork };
    let number = match holder.message(connection, &known, key) {
        Ok(waiting) => waiting.number,
        Err(Failure::Refused(StoreError::NotWaiting { state: ItemState::Withdrawn, .. })) => {
            let found = holder.find(connection, key)?.map(|(_, queued)| queued);
            return found.ok_or_else(|| StoreError::NoItem { id, key: key.to_owned() }.into());
        }
        Err(error) => return Err(error),
    };
    connection
        .prepare_cached("UPDATE inbox SET taken_seq = 0, item = NULL WHERE num = ?1")?
        .execute([int(number.0)])?;
    refresh_due_at(connection, known.num)?;
    Ok(Queued { number, state: ItemState::Withdrawn })
}

fn bytes_of(item: &Item) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(item)
        .map_err(|error| StoreError::Invalid(format!("the item cannot be written: {error}")).into())
}

/// Refuses an item that is no message.
fn check_message(item: &Item) -> Result<(), Failure> {
    match item.body {
        Body::Input(_) => Ok(()),
        Body::Approval { .. } | Body::Cancel | Body::Command(_) => {
            Err(StoreError::Invalid(NOT_A_MESSAGE.to_owned()).into())
        }
    }
}

/// Refuses an item that no inbox takes.
pub(super) fn check(connection: &Connection, item: &Item) -> Result<(), Failure> {
    if item.client_key.len() > CLIENT_KEY_CAP_BYTES {
        let cap = CLIENT_KEY_CAP_BYTES;
        return Err(StoreError::TooLarge { what: "the client key", cap }.into());
    }
    match &item.body {
        Body::Input(input) => {
            let digests: Vec<Digest> = input.attachments.iter().map(|a| a.digest).collect();
            blobs::require(connection, &digests)
        }
        Body::Approval { .. } | Body::Cancel | Body::Command(_) => Ok(()),
    }
}

impl Holder {
    /// The answer that an item got before, if its key is known.
    pub(super) fn known(
        &self,
        connection: &Connection,
        item: &Item,
    ) -> Result<Option<Queued>, Failure> {
        match self.find(connection, &item.client_key)? {
            None => Ok(None),
            Some((digest, queued)) if digest == item.digest() => Ok(Some(queued)),
            Some(_) => Err(self.key_conflict(&item.client_key)),
        }
    }

    /// The message that waits under a key and can be edited or withdrawn.
    fn message(
        &self,
        connection: &Connection,
        known: &Known,
        key: &str,
    ) -> Result<Queued, Failure> {
        if known.moved {
            return Err(StoreError::MovedAway(self.id).into());
        }
        let (id, key) = (self.id, key.to_owned());
        let Some((_, queued)) = self.find(connection, &key)? else {
            return Err(StoreError::NoItem { id, key }.into());
        };
        if queued.state != ItemState::Waiting {
            return Err(StoreError::NotWaiting { id, key, state: queued.state }.into());
        }
        let before = ItemNumber(queued.number.0.saturating_sub(1));
        let found = waiting_after(connection, self.id, self.num, before, 1)?;
        found.iter().try_for_each(|(_, item)| check_message(item))?;
        Ok(queued)
    }

    /// Puts a new item in. Tells also from when on it is due.
    pub(super) fn put(
        &self,
        connection: &Connection,
        item: &Item,
        now: Timestamp,
    ) -> Result<(Queued, i64), Failure> {
        let due = self.due(connection, item, now)?;
        connection
            .prepare_cached(
                "INSERT INTO inbox (conversation, client_key, digest, due, item)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![self.num, item.client_key, item.digest().0, due, bytes_of(item)?])?;
        let number = ItemNumber(count(connection.last_insert_rowid()));
        Ok((Queued { number, state: ItemState::Waiting }, due))
    }

    /// When an item is due. The clock may have been ahead: an item without a time is due whatever the
    /// clock says.
    fn due(&self, connection: &Connection, item: &Item, now: Timestamp) -> rusqlite::Result<i64> {
        match item.due {
            Some(due) => Ok(due.micros()),
            None => Ok(now.micros().min(active_at(connection, self.num)?)),
        }
    }

    /// Refuses items that do not wait any more.
    pub(super) fn check_taken(
        &self,
        connection: &Connection,
        taken: &[Taken],
    ) -> Result<(), Failure> {
        for Taken { item, .. } in taken {
            let waits: bool = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM inbox
                                    WHERE num = ?1 AND conversation = ?2 AND taken_seq IS NULL)",
                )?
                .query_row([int(item.0), self.num], |row| row.get(0))?;
            if !waits {
                return Err(StoreError::ItemGone { id: self.id, item: *item }.into());
            }
        }
        Ok(())
    }

    /// Refuses inputs whose key was taken before, or waits under another body and is not taken
    /// with them.
    pub(super) fn check_keys(
        &self,
        connection: &Connection,
        keys: &[ClientKey],
        taken: &[Taken],
    ) -> Result<(), Failure> {
        for (index, ClientKey { key, digest, .. }) in keys.iter().enumerate() {
            let again = keys.iter().take(index).any(|earlier| earlier.key == *key);
            let free = match self.find(connection, key)? {
                None => true,
                Some((waits_as, queued)) => {
                    let takes = taken.iter().any(|taken| taken.item == queued.number);
                    queued.state == ItemState::Waiting && (takes || waits_as == *digest)
                }
            };
            if again || !free {
                return Err(self.key_conflict(key));
            }
        }
        Ok(())
    }

    fn key_conflict(&self, key: &str) -> Failure {
        StoreError::KeyConflict { id: self.id, key: key.to_owned() }.into()
    }

    fn find(
        &self,
        connection: &Connection,
        key: &str,
    ) -> rusqlite::Result<Option<(Digest, Queued)>> {
        let own = connection
            .prepare_cached(
                "SELECT num, digest, taken_seq FROM inbox
                 WHERE conversation = ?1 AND client_key = ?2",
            )?
            .query_row(params![self.num, key], key_row)
            .optional()?;
        if own.is_some() || !self.is_fork {
            return Ok(own);
        }
        // In the entries of a shared segment, the keys were taken by the one who wrote them.
        connection
            .prepare_cached(
                "SELECT inbox.num, digest, taken_seq
                 FROM segment CROSS JOIN log ON log.num = segment.log
                 CROSS JOIN inbox
                   ON inbox.conversation = log.conversation AND inbox.client_key = ?2
                 WHERE segment.conversation = ?1 AND log.conversation <> ?1
                   AND taken_seq >= segment.from_seq
                   AND taken_seq < (SELECT min(next.from_seq) FROM segment next
                                    WHERE next.conversation = ?1
                                      AND next.from_seq > segment.from_seq)
                 LIMIT 1",
            )?
            .query_row(params![self.num, key], key_row)
            .optional()
    }
}

fn key_row(row: &Row<'_>) -> rusqlite::Result<(Digest, Queued)> {
    let number = ItemNumber(count(row.get(0)?));
    let state = match row.get::<_, Option<i64>>(2)? {
        None => ItemState::Waiting,
        Some(0) => ItemState::Withdrawn,
        Some(seq) => ItemState::Taken(Seq(count(seq))),
    };
    Ok((Digest(row.get(1)?), Queued { number, state }))
}

/// What became of the item with a key.
pub(super) fn item(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    key: &str,
) -> Result<Option<Queued>, Failure> {
    let known = Known::get(connection, tenant, id)?;
    let holder = Holder { num: known.num, id, is_fork: known.is_fork };
    Ok(holder.find(connection, key)?.map(|(_, queued)| queued))
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
    waiting_after(connection, id, open.num, after, most)
}

fn waiting_after(
    connection: &Connection,
    id: ConversationId,
    conversation: i64,
    after: ItemNumber,
    most: usize,
) -> Result<Vec<(ItemNumber, Item)>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT item.num, item.item, item.digest, item.client_key, item.conversation
         FROM inbox AS found INDEXED BY inbox_waiting
         CROSS JOIN inbox AS item NOT INDEXED ON item.num = found.num
         WHERE found.conversation = ?1 AND found.taken_seq IS NULL AND found.num > ?2
         ORDER BY found.num LIMIT ?3",
    )?;
    let mut found = statement.query(params![conversation, int(after.0), rows(most)])?;
    let mut items = Vec::new();
    while let Some(row) = found.next()? {
        let number = count(row.get(0)?);
        let bytes = row.get_ref(1)?.as_blob().unwrap_or_default();
        let item: Item = match serde_json::from_slice(bytes) {
            Ok(item) => item,
            Err(_) if is_json(bytes) && !items.is_empty() => break,
            Err(_) if is_json(bytes) => {
                return Err(StoreError::NewerItem { id, item: ItemNumber(number) }.into());
            }
            Err(error) => {
                return Err(damaged(format!("inbox item {number} cannot be read: {error}")));
            }
        };
        // The index says which they are, the row says whose: a damaged one must not lead astray.
        let (key, holder): (String, i64) = (row.get(3)?, row.get(4)?);
        let as_put = item.digest() == Digest(row.get(2)?) && *item.client_key == *key;
        if !as_put || holder != conversation {
            return Err(damaged(format!("inbox item {number} is not what was put in")));
        }
        items.push((ItemNumber(number), item));
    }
    Ok(items)
}

/// Whether bytes are JSON. An item that is JSON and not understood is taken for one of a newer version.
fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Marks items as taken. The entries hold what they said, so only their keys stay.
pub(super) fn take(
    connection: &Connection,
    conversation: i64,
    taken: &[Taken],
) -> rusqlite::Result<()> {
    let mut take = connection.prepare_cached(
        "UPDATE inbox SET taken_seq = ?3, item = NULL WHERE num = ?1 AND conversation = ?2",
    )?;
    for Taken { item, seq } in taken {
        take.execute([int(item.0), conversation, seq_int(*seq)])?;
    }
    Ok(())
}

/// Remembers the keys of inputs, so that none is taken a second time.
pub(super) fn keep_keys(
    connection: &Connection,
    conversation: i64,
    keys: &[ClientKey],
) -> rusqlite::Result<()> {
    for ClientKey { key, digest, seq } in keys {
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

/// Takes what waited in a conversation that was moved away and did not come back with it.
pub(super) fn take_gone(
    connection: &Connection,
    conversation: i64,
    at: Seq,
    back: &[Item],
) -> rusqlite::Result<()> {
    let back: BTreeSet<&str> = back.iter().map(|item| &*item.client_key).collect();
    let waiting: Vec<(i64, String)> = connection
        .prepare_cached(
            "SELECT num, client_key FROM inbox INDEXED BY inbox_waiting
             WHERE conversation = ?1 AND taken_seq IS NULL",
        )?
        .query_map([conversation], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut take =
        connection.prepare_cached("UPDATE inbox SET taken_seq = ?2, item = NULL WHERE num = ?1")?;
    for (number, _) in waiting.iter().filter(|(_, key)| !back.contains(key.as_str())) {
        take.execute([*number, seq_int(at)])?;
    }
    Ok(())
}

/// The time of a conversation's last entry.
fn active_at(connection: &Connection, conversation: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT active_at FROM conversation WHERE num = ?1")?
        .query_row([conversation], |row| row.get(0))
}

/// The earliest due time of the items that wait.
pub(super) fn first_due(
    connection: &Connection,
    conversation: i64,
) -> rusqlite::Result<Option<Timestamp>> {
    let due: Option<i64> = connection
        .prepare_cached(
            "SELECT min(due) FROM inbox INDEXED BY inbox_waiting
             WHERE conversation = ?1 AND taken_seq IS NULL",
        )?
        .query_row([conversation], |row| row.get(0))?;
    Ok(due.map(moment))
}
