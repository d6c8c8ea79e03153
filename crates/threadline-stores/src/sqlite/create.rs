//! Beginning a conversation, on its own or as a fork.

use rusqlite::{Connection, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::fact::Digest;
use threadline_core::history::record::GENESIS;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::StoreError;

use super::append::{Labelled, Ready, mark_unindexed, update_head};
use super::blobs;
use super::conversation::{Known, OWN, Open, labels_text, state_number};
use super::error::Failure;
use super::fresh::Tier;
use super::inbox;
use super::number::{int, seq_int};
use super::segments::{add_segment, hash_at, new_log, share_segments};

/// Begins a conversation, on its own or as a fork.
pub(super) fn create(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    base: Option<(ConversationId, Seq)>,
    first: &Ready,
) -> Result<(), Failure> {
    if let Some(known) = Known::find(connection, tenant, id)? {
        let open = Open { num: known.num, head: known.head };
        let same = first.is_stored(connection, open)?;
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
    first.check(connection, &inbox::Holder { num, id, is_fork: base.is_some() })?;
    first.write(connection, num, num, Tier::Settled)?;
    mark_unindexed(connection, num)?;
    let row = NewRow {
        num,
        id,
        created_at: first.first_at,
        origin: OWN,
        forked_from: base,
        moved: first.moved,
    };
    row.insert(connection, tenant, first)
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

/// The row of a new conversation.
pub(super) struct NewRow {
    pub(super) num: i64,
    pub(super) id: ConversationId,
    pub(super) created_at: Timestamp,
    pub(super) origin: i64,
    pub(super) forked_from: Option<(ConversationId, Seq)>,
    pub(super) moved: bool,
}

impl NewRow {
    /// Writes it, with the sums of the last batch of its history.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        tenant: i64,
        last: &Ready,
    ) -> Result<(), Failure> {
        let sums = &last.sums;
        let wake_at = sums.wake_at.map(Timestamp::micros);
        connection
            .prepare_cached(
                "INSERT INTO conversation
                   (num, id, tenant, head_seq, head_hash, tail_log, created_at, active_at, origin,
                    moved, wake_at, due_at, archived, state, messages, cost, forked_from,
                    forked_seq, labels, title)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?1, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                    ?16, ?17, ?18, ?19)",
            )?
            .execute(params![
                self.num,
                self.id.0.as_bytes(),
                tenant,
                seq_int(last.head),
                last.head_hash.0,
                self.created_at.micros(),
                last.at.micros(),
                self.origin,
                self.moved,
                wake_at,
                if self.moved { None } else { wake_at },
                sums.archived,
                state_number(sums.state),
                int(sums.messages),
                int(sums.cost.0),
                self.forked_from.as_ref().map(|(from, _)| from.0.as_bytes()),
                self.forked_from.map(|(_, seq)| seq_int(seq)),
                labels_text(&sums.labels)?,
                sums.title,
            ])?;
        update_head(connection, self.num, last)?;
        let created_at = self.created_at.micros();
        let place = Labelled { tenant, num: self.num, id: self.id, created_at };
        place.relabel(connection, &[], &sums.labels, last.at)?;
        Ok(())
    }
}
