//! Beginning a conversation, on its own or as a fork.

use rusqlite::{Connection, params};
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::Digest;
use threadline_core::history::record::GENESIS;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::{Origin, StoreError};

use super::append::{self, Row, mark_unindexed};
use super::blobs;
use super::conversation::{Known, Open};
use super::error::Failure;
use super::inbox;
use super::number::seq_int;
use super::segments::{add_segment, hash_at, new_log, share_segments};

/// Begins a conversation, on its own or as a fork.
pub(super) fn create(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    base: Option<(ConversationId, Seq)>,
    first: &Batch,
) -> Result<(), Failure> {
    if let Some(known) = Known::find(connection, tenant, id)? {
        let same = append::is_stored(connection, known.open(), first)?;
        return if same { Ok(()) } else { Err(StoreError::Exists(id).into()) };
    }
    let parent = match base {
        Some((parent, at)) => Some(parent_at(connection, tenant, parent, at)?),
        None => None,
    };
    let (at, hash) = parent.map_or((Seq::ZERO, GENESIS), |(_, at, hash)| (at, hash));
    if (first.base, first.base_hash) != (at, hash) {
        return Err(StoreError::Conflict { id, expected: first.base, head: at }.into());
    }
    let num = new_log(connection, None, at, None)?;
    if let Some((parent, at, _)) = parent {
        share_segments(connection, parent, num, at)?;
    }
    add_segment(connection, num, at.next(), num)?;
    blobs::require(connection, &first.attachments)?;
    let holder = inbox::Holder { num, id, is_fork: base.is_some() };
    holder.check_taken(connection, &first.taken)?;
    holder.check_keys(connection, &first.keys, &first.taken)?;
    append::check(first)?;
    append::write(connection, num, num, first, &first.taken)?;
    mark_unindexed(connection, num)?;
    let created_at = first.first_at().micros();
    let row = Row { tenant, id, num, created_at, labels: Vec::new() };
    insert(connection, &row, base)?;
    row.update(connection, first, Origin::Own)
}

/// A fork's parent, the last entry it shares, and that entry's hash.
fn parent_at(
    connection: &Connection,
    tenant: i64,
    parent: ConversationId,
    at: Seq,
) -> Result<(i64, Seq, Digest), Failure> {
    let open = Open::get(connection, tenant, parent)?;
    let hash = match at {
        Seq::ZERO => Some(GENESIS),
        at => hash_at(connection, open, at)?,
    };
    match hash {
        Some(hash) => Ok((open.num, at, hash)),
        None => Err(StoreError::NoEntry { id: parent, seq: at, head: open.head }.into()),
    }
}

/// Adds the row of a new conversation, whose head and summary are still to be written.
pub(super) fn insert(
    connection: &Connection,
    row: &Row,
    forked_from: Option<(ConversationId, Seq)>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO conversation
               (num, id, tenant, tail_log, created_at, origin, forked_from, forked_seq, head_seq,
                head_hash, active_at, archived, state, messages, cost)
             VALUES (?1, ?2, ?3, ?1, ?4, 0, ?5, ?6, 0, x'', 0, 0, 0, 0, 0)",
        )?
        .execute(params![
            row.num,
            row.id.0.as_bytes(),
            row.tenant,
            row.created_at,
            forked_from.as_ref().map(|(from, _)| from.0.as_bytes()),
            forked_from.map(|(_, seq)| seq_int(seq)),
        ])
        .map(drop)
}
