//! Leases: who may append, and which conversations are due.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use threadline_core::clock::Timestamp;
use threadline_core::id::{ConversationId, IdSource, Seq};
use threadline_core::store::{ClaimId, Lease, LockedBy, StoreError};

use super::ahead;
use super::conversation::{Known, OWN, WORKING, conversation_id};
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
            return Err(StoreError::Fenced(id).into());
        }
        let until = self.now.plus_millis(self.ttl_ms);
        connection
            .prepare_cached("UPDATE conversation SET lease_until = ?2 WHERE num = ?1")?
            .execute([known.num, until.micros()])?;
        Ok(Lease { until, ..lease.clone() })
    }

    /// Takes the leases of conversations that are due, the longest due first.
    pub(super) fn claim(
        &self,
        connection: &Connection,
        most: usize,
        ids: &dyn IdSource,
        living: &mut Living<'_>,
    ) -> Result<Vec<Lease>, Failure> {
        // What is due longest is told by the rows.
        ahead::settle_all(connection)?;
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
        let mut seen = HashSet::new();
        while due.len() < most
            && let Some(row) = rows.next()?
        {
            // One that is due for two reasons is due since the first.
            if !seen.insert(row.get::<_, i64>(0)?) {
                continue;
            }
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

/// A turn that can go on has been due since the last entry, anything else since its time came. A
/// copy does not go on by itself. The limit that is none keeps SQLite from dropping the order.
const DUE: &str = "
    SELECT c.num, c.id, c.epoch, c.head_seq, c.claim, c.owner, c.run, c.lease_until FROM (
      SELECT num, active_at AS due, id, 1 AS goes_on FROM conversation
      WHERE tenant = ?1 AND archived = 0 AND state = 1 AND active_at <= ?2
      UNION ALL
      SELECT num, active_at, id, 1 FROM conversation
      WHERE tenant = ?1 AND archived = 1 AND state = 1 AND active_at <= ?2
      UNION ALL
      SELECT num, due_at, id, 0 FROM conversation WHERE tenant = ?1 AND due_at <= ?2
      ORDER BY due, id LIMIT -1) AS due
    CROSS JOIN conversation c ON c.num = due.num
    WHERE c.moved = 0 AND (c.origin = 0 OR NOT due.goes_on)";
const _: () = assert!(WORKING == 1 && OWN == 0, "the query above names them by their numbers");

/// A conversation whose lease can be taken.
#[derive(Clone, Copy)]
struct Seen {
    num: i64,
    id: ConversationId,
    epoch: u64,
    head: Seq,
}

/// Gives a lease back, if it is still the conversation's.
pub(super) fn release(connection: &Connection, tenant: i64, lease: &Lease) -> Result<(), Failure> {
    let known = Known::get(connection, tenant, lease.conversation)?;
    if known.is_held_by(lease) {
        connection
            .prepare_cached(
                "UPDATE conversation SET claim = NULL, lease_until = NULL WHERE num = ?1",
            )?
            .execute([known.num])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    /// What is due is found by indexes, in order.
    #[test]
    fn what_is_due_is_neither_scanned_nor_sorted() {
        let plan = plan(DUE);
        assert!(!plan.contains("SCAN conversation"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        assert!(plan.contains("conversation_due"), "{plan}");
        assert!(plan.contains("MERGE (UNION ALL)"), "{plan}");
    }
}
