//! Appending: a batch is checked and written in one transaction.

use rusqlite::{Connection, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{Batch, ForkedAt, Taken};
use threadline_core::id::ConversationId;
use threadline_core::outline::OutlineRow;
use threadline_core::store::{Lease, Origin, Schedule, StoreError};

use super::blobs;
use super::conversation::{
    Known, OWN, Open, forget_agents, keep_agents, labels_of, labels_text, message_number,
    origin_number, state_number,
};
use super::error::Failure;
use super::inbox;
use super::number::{SEQ_MAX, entry_id, int, seq_int};
use super::outline::results_text;
use super::segments::hash_at;

/// Appends a batch to the conversation of a lease.
pub(super) fn append(
    connection: &Connection,
    tenant: i64,
    lease: &Lease,
    batch: &Batch,
) -> Result<(), Failure> {
    let id = lease.conversation;
    let known = Known::get(connection, tenant, id)?;
    let follows = known.head == batch.base && known.head_hash == batch.base_hash;
    if !follows || known.moved || !known.is_held_by(lease) {
        return explain(connection, &known, lease, batch);
    }
    blobs::require(connection, &batch.attachments)?;
    let holder = inbox::Holder { num: known.num, id, is_fork: known.is_fork };
    holder.check_taken(connection, &batch.taken)?;
    holder.check_keys(connection, &batch.keys, &batch.taken)?;
    check(batch)?;
    write(connection, known.tail_log, known.num, batch, &batch.taken)?;
    mark_unindexed(connection, known.tail_log)?;
    Row::of(tenant, id, &known)?.update(connection, batch, Origin::Own)
}

/// Why a batch cannot be appended, unless it is there already.
fn explain(
    connection: &Connection,
    known: &Known,
    lease: &Lease,
    batch: &Batch,
) -> Result<(), Failure> {
    let id = lease.conversation;
    if is_stored(connection, known.open(), batch)? {
        Ok(())
    } else if !known.is_held_by(lease) {
        Err(StoreError::Fenced(id).into())
    } else if known.moved {
        Err(StoreError::MovedAway(id).into())
    } else {
        Err(StoreError::Conflict { id, expected: batch.base, head: known.head }.into())
    }
}

/// Whether a conversation holds all of a batch already.
pub(super) fn is_stored(
    connection: &Connection,
    open: Open,
    batch: &Batch,
) -> rusqlite::Result<bool> {
    if batch.entries.is_empty() {
        return Ok(false);
    }
    Ok(hash_at(connection, open, batch.head())? == Some(batch.head_hash()))
}

/// Refuses what is no batch.
pub(super) fn check(batch: &Batch) -> Result<(), Failure> {
    let fits = batch.head().0 <= SEQ_MAX;
    let checked = batch.check().and(if fits { Ok(()) } else { Err("its entries are numbered") });
    checked.map_err(|why| StoreError::Invalid(why.to_owned()).into())
}

/// Writes all of a batch but the conversation's own row. The items that it takes are given apart: a
/// batch that is imported takes none.
pub(super) fn write(
    connection: &Connection,
    log: i64,
    conversation: i64,
    batch: &Batch,
    taken: &[Taken],
) -> Result<(), Failure> {
    write_entries(connection, log, batch)?;
    if !batch.rewinds.is_empty() {
        // A batch with a rewind names all agents there are.
        forget_agents(connection, conversation)?;
    }
    keep_agents(connection, conversation, &batch.agents)?;
    inbox::take(connection, conversation, taken)?;
    Ok(inbox::keep_keys(connection, conversation, &batch.keys)?)
}

fn write_entries(connection: &Connection, log: i64, batch: &Batch) -> Result<(), Failure> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO entry
           (id, agent, kind, live, recent, gist_tokens, live_sum, recent_sum, previous, turn,
            exchange, counter, results, gist, salt, hash, envelope, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    let mut rows = batch.rows.iter().peekable();
    for placed in &batch.entries {
        let (entry, record) = (&placed.entry, &placed.record);
        let row: Option<&OutlineRow> = rows.next_if(|row| row.seq == entry.seq).map(|row| &**row);
        insert.execute(params![
            entry_id(log, entry.seq),
            entry.agent.0,
            row.map(|row| row.kind.number()),
            row.map(|row| row.tokens.live),
            row.map(|row| row.tokens.recent),
            row.map(|row| row.tokens.gist),
            row.map(|row| int(row.live_sum)),
            row.map(|row| int(row.recent_sum)),
            row.and_then(|row| row.previous).map(seq_int),
            row.map(|row| seq_int(row.turn)),
            row.map(|row| row.exchange),
            row.map(|row| row.counter.0),
            row.and_then(|row| results_text(&row.results)),
            row.map(|row| &*row.gist),
            record.salt,
            record.hash.0,
            record.envelope,
            record.body,
        ])?;
    }
    for (seq, to) in &batch.rewinds {
        connection
            .prepare_cached("INSERT INTO rewind (id, to_seq) VALUES (?1, ?2)")?
            .execute([entry_id(log, *seq), seq_int(*to)])?;
    }
    Ok(())
}

/// Notes that a log has entries that the search index does not.
pub(super) fn mark_unindexed(connection: &Connection, log: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO unindexed (log) VALUES (?1)")?
        .execute([log])
        .map(drop)
}

/// The row of a conversation, to be brought up to a batch.
pub(super) struct Row {
    pub(super) tenant: i64,
    pub(super) id: ConversationId,
    pub(super) num: i64,
    pub(super) created_at: i64,
    /// The labels that it has in the table of labels.
    pub(super) labels: Vec<String>,
}

impl Row {
    pub(super) fn of(tenant: i64, id: ConversationId, known: &Known) -> Result<Self, Failure> {
        let labels = labels_of(known.labels.as_deref())?;
        Ok(Self { tenant, id, num: known.num, created_at: known.created_at, labels })
    }

    /// Writes the head and the summary of a batch that was just written.
    pub(super) fn update(
        &self,
        connection: &Connection,
        batch: &Batch,
        origin: Origin,
    ) -> Result<(), Failure> {
        let sums = &batch.sums;
        let schedule = Schedule {
            origin,
            state: sums.state,
            wake_at: sums.wake_at,
            active_at: batch.at(),
            first_item: inbox::first_due(connection, self.num)?,
        };
        let due_at = schedule.due_at().filter(|_| !batch.closes);
        let last = sums.last_message.as_ref();
        connection
            .prepare_cached(
                "UPDATE conversation SET head_seq = ?2, head_hash = ?3, active_at = ?4,
                   origin = ?5, moved = ?6, wake_at = ?7, due_at = ?8, archived = ?9, state = ?10,
                   messages = ?11, cost = ?12, last_kind = ?13, last_at = ?14, last_text = ?15,
                   labels = ?16, title = ?17
                 WHERE num = ?1",
            )?
            .execute(params![
                self.num,
                seq_int(batch.head()),
                batch.head_hash().0,
                batch.at().micros(),
                origin_number(origin),
                batch.closes,
                sums.wake_at.map(Timestamp::micros),
                due_at.map(Timestamp::micros),
                sums.archived,
                state_number(sums.state),
                int(sums.messages),
                int(sums.cost.0),
                last.map(|last| message_number(last.kind)),
                last.map(|last| last.at.micros()),
                last.map(|last| last.text.as_str()),
                labels_text(&sums.labels)?,
                sums.title,
            ])?;
        Ok(self.relabel(connection, &sums.labels, batch.at())?)
    }

    /// Brings the rows of its labels up to date.
    fn relabel(
        &self,
        connection: &Connection,
        new: &[String],
        active_at: Timestamp,
    ) -> rusqlite::Result<()> {
        for label in self.labels.iter().filter(|label| !new.contains(label)) {
            connection
                .prepare_cached(
                    "DELETE FROM label WHERE tenant = ?1 AND label = ?2 AND conversation = ?3",
                )?
                .execute(params![self.tenant, label, self.num])?;
        }
        for label in new {
            connection
                .prepare_cached(
                    "INSERT INTO label (tenant, label, conversation, id, created_at, active_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (tenant, label, conversation) DO UPDATE SET active_at = ?6",
                )?
                .execute(params![
                    self.tenant,
                    label,
                    self.num,
                    self.id.0.as_bytes(),
                    self.created_at,
                    active_at.micros()
                ])?;
        }
        Ok(())
    }
}

/// Brings a conversation up to the last batch of what was imported, in its new log.
pub(super) fn advance(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    log: i64,
    last: &Batch,
) -> Result<(), Failure> {
    let known = Known::get(connection, tenant, id)?;
    connection
        .prepare_cached("UPDATE conversation SET tail_log = ?2 WHERE num = ?1")?
        .execute([known.num, log])?;
    Row::of(tenant, id, &known)?.update(connection, last, Origin::Own)
}

/// Says where a conversation branched off, once the entry that tells is imported.
pub(super) fn branch_off(
    connection: &Connection,
    num: i64,
    forked: ForkedAt,
) -> rusqlite::Result<()> {
    let at = forked.at.micros();
    connection
        .prepare_cached(
            "UPDATE conversation SET forked_from = ?2, forked_seq = ?3, created_at = ?4
             WHERE num = ?1",
        )?
        .execute(params![num, forked.from.0.as_bytes(), seq_int(forked.seq), at])?;
    connection
        .prepare_cached("UPDATE label SET created_at = ?2 WHERE conversation = ?1")?
        .execute([num, at])
        .map(drop)
}

/// Opens a conversation that was imported: it goes on here.
pub(super) fn reopen(connection: &Connection, num: i64, origin: Origin) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE conversation SET origin = ?2, moved = 0 WHERE num = ?1")?
        .execute([num, origin_number(origin)])
        .map(drop)
}

const _: () = assert!(OWN == 0, "the schema names origins by their numbers");
