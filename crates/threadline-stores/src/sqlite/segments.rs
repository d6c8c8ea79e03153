//! Segments: through which logs a conversation reads.
//!
//! A conversation that was never forked or taken in has one segment, all of its log. A fork has
//! those of its parent up to where it branched off, and its own.

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::history::fact::Digest;
use threadline_core::id::Seq;
use threadline_core::store::StoreError;

use super::conversation::Open;
use super::error::Failure;
use super::number::{LOG_MAX, count, entry_id, seq_int};

/// A run of entries of a conversation in one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) log: i64,
    /// Its first entry.
    pub(super) from: Seq,
    /// Its last entry.
    pub(super) to: Seq,
}

impl Segment {
    /// The segment of a conversation that holds the entry at a place, if there is such an entry.
    pub(super) fn at(
        connection: &Connection,
        open: Open,
        seq: Seq,
    ) -> rusqlite::Result<Option<Self>> {
        if seq == Seq::ZERO || seq > open.head {
            return Ok(None);
        }
        connection
            .prepare_cached(
                "SELECT log, from_seq,
                        (SELECT min(next.from_seq) FROM segment next
                         WHERE next.conversation = ?1 AND next.from_seq > segment.from_seq)
                 FROM segment WHERE conversation = ?1 AND from_seq <= ?2
                 ORDER BY from_seq DESC LIMIT 1",
            )?
            .query_row(params![open.num, seq_int(seq)], |row| {
                let next: Option<i64> = row.get(2)?;
                let to = next.map_or(open.head, |next| Seq(count(next)).before());
                Ok(Self { log: row.get(0)?, from: Seq(count(row.get(1)?)), to: to.min(open.head) })
            })
            .optional()
    }

    /// The numbers of its first and last entry.
    pub(super) fn ids(self) -> (i64, i64) {
        (entry_id(self.log, self.from), entry_id(self.log, self.to))
    }
}

/// The number of a conversation's entry, if there is one.
pub(super) fn locate(
    connection: &Connection,
    open: Open,
    seq: Seq,
) -> rusqlite::Result<Option<i64>> {
    Ok(Segment::at(connection, open, seq)?.map(|segment| entry_id(segment.log, seq)))
}

/// The hash of a conversation's entry, if there is one.
pub(super) fn hash_at(
    connection: &Connection,
    open: Open,
    seq: Seq,
) -> rusqlite::Result<Option<Digest>> {
    let Some(id) = locate(connection, open, seq)? else { return Ok(None) };
    connection
        .prepare_cached("SELECT hash FROM entry WHERE id = ?1")?
        .query_row([id], |row| Ok(Digest(row.get(0).unwrap_or_default())))
        .optional()
}

/// Adds a log whose entries follow a place. `staged` names the run that is filling it.
pub(super) fn new_log(
    connection: &Connection,
    conversation: Option<i64>,
    after: Seq,
    staged: Option<&str>,
) -> Result<i64, Failure> {
    let num: i64 = connection
        .prepare_cached("SELECT coalesce(max(num), 0) + 1 FROM log")?
        .query_row([], |row| row.get(0))?;
    if num > LOG_MAX {
        return Err(StoreError::Invalid(
            "this store is full of conversations: begin another".into(),
        )
        .into());
    }
    connection
        .prepare_cached(
            "INSERT INTO log (num, conversation, indexed_seq, staged) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![num, conversation.unwrap_or(num), seq_int(after), staged])?;
    Ok(num)
}

/// Lets a conversation read through a log from a place on.
pub(super) fn add_segment(
    connection: &Connection,
    conversation: i64,
    from: Seq,
    log: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO segment (conversation, from_seq, log) VALUES (?1, ?2, ?3)")?
        .execute(params![conversation, seq_int(from), log])
        .map(drop)
}

/// Lets a conversation read what another has up to a place.
pub(super) fn share_segments(
    connection: &Connection,
    parent: i64,
    child: i64,
    up_to: Seq,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO segment (conversation, from_seq, log)
             SELECT ?2, from_seq, log FROM segment WHERE conversation = ?1 AND from_seq <= ?3",
        )?
        .execute(params![parent, child, seq_int(up_to)])
        .map(drop)
}
