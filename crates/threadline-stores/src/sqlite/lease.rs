//! Leases: who may append, and which conversations are due.

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::clock::Timestamp;
use threadline_core::id::{ConversationId, IdSource, Seq};
use threadline_core::store::{ClaimId, Lease, LockedBy, StoreError};

use super::conversation::{Known, WORKING, conversation_id};
use super::error::Failure;
use super::number::{count, int, moment};
use super::run_file::Living;

/// Who takes a lease, when, and for how long.
pub(super) struct Taker<'a> {
    pub(super) tenant: i64,
    pub(super) owner: &'a str,
    pub(super) run: &'a str,
    pub(super) now: Timestamp,
    pub(super) ttl_ms: u64,
}

/// Whose a lease is now.
struct Holder {
    claim: Option<ClaimId>,
    owner: Option<String>,
    run: Option<String>,
    until: Option<Timestamp>,
}

impl Holder {
    fn of(connection: &Connection, num: i64) -> rusqlite::Result<Self> {
        connection
            .prepare_cached(
                "SELECT claim, owner, run, lease_until FROM conversation WHERE num = ?1",
            )?
            .query_row([num], |row| {
                Ok(Self {
                    claim: row.get(0)?,
                    owner: row.get(1)?,
                    run: row.get(2)?,
                    until: row.get::<_, Option<i64>>(3)?.map(moment),
                })
            })
    }

    /// Until when the lease stands in the way of others.
    fn stands_until(&self, now: Timestamp, living: &mut Living<'_>) -> Option<Timestamp> {
        let until = self.until.filter(|until| self.claim.is_some() && *until > now)?;
        let lives = self.run.as_deref().is_none_or(|run| living.holds_lease(run));
        if !lives {
            tracing::info!(
                target: "History",
                owner = self.owner.as_deref().unwrap_or_default(),
                "takes over a lease: its owner is dead"
            );
        }
        lives.then_some(until)
    }
}

impl Taker<'_> {
    /// Takes the lease of a conversation, unless a living owner has it.
    pub(super) fn acquire(
        &self,
        connection: &Connection,
        id: ConversationId,
        claim: ClaimId,
        living: &mut Living<'_>,
    ) -> Result<Lease, Failure> {
        let known = Known::get(connection, self.tenant, id)?;
        if known.moved {
            return Err(StoreError::MovedAway(id).into());
        }
        let holder = Holder::of(connection, known.num)?;
        if let Some(until) = holder.stands_until(self.now, living) {
            let by = LockedBy { owner: holder.owner.unwrap_or_default() };
            return Err(StoreError::Held { id, by, until }.into());
        }
        let seen = Seen { num: known.num, id, epoch: known.epoch, head: known.head };
        Ok(self.take(connection, seen, claim)?)
    }

    fn take(&self, connection: &Connection, seen: Seen, claim: ClaimId) -> rusqlite::Result<Lease> {
        let epoch = seen.epoch.saturating_add(1);
        let until = self.now.plus_millis(self.ttl_ms);
        connection
            .prepare_cached(
                "UPDATE conversation SET epoch = ?2, claim = ?3, owner = ?4, run = ?5,
                   lease_until = ?6
                 WHERE num = ?1",
            )?
            .execute(params![seen.num, int(epoch), claim, self.owner, self.run, until.micros()])?;
        Ok(Lease { conversation: seen.id, epoch, claim, until, head: seen.head })
    }

    /// Keeps a lease for another while.
    pub(super) fn renew(&self, connection: &Connection, lease: &Lease) -> Result<Lease, Failure> {
        let id = lease.conversation;
        let known = Known::get(connection, self.tenant, id)?;
        if !known.is_held_by(lease) {
            let moved = known.moved;
            let error = if moved { StoreError::MovedAway(id) } else { StoreError::Fenced(id) };
            return Err(error.into());
        }
        let until = self.now.plus_millis(self.ttl_ms);
        connection
            .prepare_cached("UPDATE conversation SET lease_until = ?2 WHERE num = ?1")?
            .execute([known.num, until.micros()])?;
        Ok(Lease { until, head: known.head, ..lease.clone() })
    }

    /// Takes the leases of conversations that are due, the longest due first.
    pub(super) fn claim(
        &self,
        connection: &Connection,
        most: usize,
        ids: &dyn IdSource,
        living: &mut Living<'_>,
    ) -> Result<Vec<Lease>, Failure> {
        let due = self.due(connection, most, living)?;
        let leases = due.into_iter().map(|seen| self.take(connection, seen, ids.random()));
        Ok(leases.collect::<rusqlite::Result<_>>()?)
    }

    /// Conversations that are due and free.
    fn due(
        &self,
        connection: &Connection,
        most: usize,
        living: &mut Living<'_>,
    ) -> rusqlite::Result<Vec<Seen>> {
        let mut statement = connection.prepare_cached(DUE)?;
        let mut rows = statement.query([self.tenant, self.now.micros()])?;
        let mut due = Vec::new();
        while due.len() < most
            && let Some(row) = rows.next()?
        {
            let holder = Holder {
                claim: row.get(4)?,
                owner: row.get(5)?,
                run: row.get(6)?,
                until: row.get::<_, Option<i64>>(7)?.map(moment),
            };
            if holder.stands_until(self.now, living).is_none() {
                due.push(Seen {
                    num: row.get(0)?,
                    id: conversation_id(row.get(1)?),
                    epoch: count(row.get(2)?),
                    head: Seq(count(row.get(3)?)),
                });
            }
        }
        Ok(due)
    }
}

/// A turn that can go on has been due since the last entry, anything else since its time came.
const DUE: &str = "
    SELECT num, id, epoch, head_seq, claim, owner, run, lease_until FROM (
      SELECT num, active_at AS due FROM conversation
      WHERE tenant = ?1 AND archived = 0 AND state = 1
      UNION ALL
      SELECT num, active_at FROM conversation WHERE tenant = ?1 AND archived = 1 AND state = 1
      UNION ALL
      SELECT num, due_at FROM conversation
      WHERE tenant = ?1 AND due_at <= ?2 AND state <> 1
      ORDER BY due)
    CROSS JOIN conversation USING (num)
    WHERE moved = 0";
const _: () = assert!(WORKING == 1, "the query above names the state by its number");

/// A conversation whose lease can be taken.
struct Seen {
    num: i64,
    id: ConversationId,
    epoch: u64,
    head: Seq,
}

/// Gives a lease back, if it is still the conversation's.
pub(super) fn release(connection: &Connection, tenant: i64, lease: &Lease) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET claim = NULL, lease_until = NULL
             WHERE tenant = ?1 AND id = ?2 AND epoch = ?3 AND claim = ?4
             RETURNING num",
        )?
        .query_row(
            params![tenant, lease.conversation.0.as_bytes(), int(lease.epoch), lease.claim],
            |_| Ok(()),
        )
        .optional()
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is due is found by indexes, in order.
    #[test]
    fn what_is_due_is_neither_scanned_nor_sorted() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("0001_store.sql")).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {DUE}")).unwrap();
        let lines = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let plan: String = lines.map(|line| line.unwrap() + "\n").collect();
        assert!(!plan.contains("SCAN conversation"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        assert!(plan.contains("conversation_due"), "{plan}");
    }
}
