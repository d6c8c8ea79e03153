//! Leases: who may append, and which conversations are due.

use std::collections::HashSet;

use rusqlite::{Connection, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::id::{ConversationId, IdSource, Seq};
use threadline_core::store::{
    ClaimId, Holder, Lease, LockedBy, PARK_AFTER_DEATHS, Predecessor, StoreError,
};

use super::conversation::{Known, OWN, Open, WORKING, conversation_id, hold};
use super::error::Failure;
use super::number::{count, int, moment, seq_int};
use super::run_file::Living;

/// Who takes a lease, when, and for how long.
pub(super) struct Taker<'a> {
    pub(super) tenant: i64,
    pub(super) owner: &'a str,
    pub(super) run: &'a str,
    pub(super) now: Timestamp,
    pub(super) ttl_ms: u64,
}

/// A conversation whose lease is asked for, and who has it.
struct Seen {
    num: i64,
    id: ConversationId,
    epoch: u64,
    head: Seq,
    claim: Option<ClaimId>,
    owner: Option<String>,
    run: Option<String>,
    until: Option<Timestamp>,
    /// Whether the last owner was a driver that nobody attends.
    unattended: bool,
    /// The last entry when the last owner took the lease.
    lease_head: Option<Seq>,
    held: bool,
    deaths: u32,
}

/// The columns of [`Seen`], in its order.
macro_rules! seen {
    ($from:literal) => {
        concat!(
            "SELECT c.num, c.id, c.epoch, c.head_seq, c.claim, c.owner, \
             c.run, c.lease_until, c.unattended, c.lease_head, c.held, c.deaths ",
            $from
        )
    };
}

impl Seen {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            num: row.get(0)?,
            id: conversation_id(row.get(1)?),
            epoch: count(row.get(2)?),
            head: Seq(count(row.get(3)?)),
            // A holder that cannot be read holds nothing: it could not append either.
            claim: row.get(4).unwrap_or_default(),
            owner: row.get(5).unwrap_or_default(),
            run: row.get(6).unwrap_or_default(),
            until: row.get::<_, Option<i64>>(7).unwrap_or_default().map(moment),
            unattended: row.get(8).unwrap_or_default(),
            lease_head: row
                .get::<_, Option<i64>>(9)
                .unwrap_or_default()
                .map(|head| Seq(count(head))),
            held: row.get(10)?,
            deaths: row.get(11)?,
        })
    }

    fn get(connection: &Connection, num: i64) -> rusqlite::Result<Self> {
        connection
            .prepare_cached(seen!("FROM conversation c WHERE c.num = ?1"))?
            .query_row([num], Self::of)
    }

    /// Whether the last owner may still run. One that gave its lease back does not count.
    fn owner_lives(&self, living: &mut Living<'_>) -> bool {
        self.claim.is_some() && self.run.as_deref().is_none_or(|run| living.holds_lease(run))
    }

    /// Until when the lease stands in the way of others.
    fn stands_until(&self, now: Timestamp, living: &mut Living<'_>) -> Option<Timestamp> {
        let until = self.until.filter(|until| self.claim.is_some() && *until > now)?;
        let lives = self.owner_lives(living);
        if !lives {
            tracing::info!(
                target: "History",
                owner = self.owner.as_deref().unwrap_or_default(),
                "takes over a lease: its owner is dead"
            );
        }
        lives.then_some(until)
    }

    /// How often unattended drivers died in a row at this entry, the last owner included: it left
    /// its lease behind and appended nothing.
    fn count_deaths(&self) -> u32 {
        let died = self.claim.is_some() && self.unattended;
        match self.deaths_here() {
            deaths if died && self.lease_head == Some(self.head) => deaths.saturating_add(1),
            deaths => deaths,
        }
    }

    /// The deaths that were counted at this entry: others do not count any more.
    fn deaths_here(&self) -> u32 {
        if self.lease_head == Some(self.head) { self.deaths } else { 0 }
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
        let seen = self.free(connection, id, living)?;
        let deaths = seen.deaths_here();
        Ok(self.take(connection, &seen, claim, Attendance { unattended: false, deaths }, living)?)
    }

    /// The same for a driver that nobody attends. The outer result is what became of the
    /// transaction: that a conversation is parked is kept although its lease is refused.
    pub(super) fn acquire_unattended(
        &self,
        connection: &Connection,
        id: ConversationId,
        claim: ClaimId,
        living: &mut Living<'_>,
    ) -> Result<Result<Lease, StoreError>, Failure> {
        let seen = self.free(connection, id, living)?;
        let deaths = seen.count_deaths();
        if let Some(hold) = hold(seen.held, deaths) {
            park(connection, &seen, deaths)?;
            return Ok(Err(StoreError::OnHold { id, hold }));
        }
        let attendance = Attendance { unattended: true, deaths };
        Ok(Ok(self.take(connection, &seen, claim, attendance, living)?))
    }

    /// A conversation whose lease can be taken.
    fn free(
        &self,
        connection: &Connection,
        id: ConversationId,
        living: &mut Living<'_>,
    ) -> Result<Seen, Failure> {
        let known = Known::get(connection, self.tenant, id)?;
        if known.moved {
            return Err(StoreError::MovedAway(id).into());
        }
        let seen = Seen::get(connection, known.num)?;
        if let Some(until) = seen.stands_until(self.now, living) {
            let by = LockedBy { owner: seen.owner.unwrap_or_default() };
            return Err(StoreError::Held { id, by, until }.into());
        }
        Ok(seen)
    }

    fn take(
        &self,
        connection: &Connection,
        seen: &Seen,
        claim: ClaimId,
        Attendance { unattended, deaths }: Attendance,
        living: &mut Living<'_>,
    ) -> rusqlite::Result<Lease> {
        let epoch = seen.epoch.saturating_add(1);
        let until = self.now.plus_millis(self.ttl_ms);
        connection
            .prepare_cached(
                "UPDATE conversation SET epoch = ?2, claim = ?3, owner = ?4, run = ?5,
                   lease_until = ?6, unattended = ?7, lease_head = ?8, deaths = ?9
                 WHERE num = ?1",
            )?
            .execute(params![
                seen.num,
                int(epoch),
                claim,
                self.owner,
                self.run,
                until.micros(),
                unattended,
                seq_int(seen.head),
                deaths,
            ])?;
        let lives = seen.owner_lives(living);
        let predecessor = if lives { Predecessor::MayLive } else { Predecessor::Gone };
        let (conversation, head) = (seen.id, seen.head);
        Ok(Lease { conversation, epoch, claim, until, head, predecessor })
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
        let mut leases = Vec::new();
        for seen in self.due(connection, most, living)? {
            let deaths = seen.count_deaths();
            if hold(seen.held, deaths).is_some() {
                park(connection, &seen, deaths)?;
                continue;
            }
            let attendance = Attendance { unattended: true, deaths };
            leases.push(self.take(connection, &seen, ids.random(), attendance, living)?);
        }
        Ok(leases)
    }

    /// Who holds the lease of a conversation.
    pub(super) fn holder(
        &self,
        connection: &Connection,
        id: ConversationId,
        living: &mut Living<'_>,
    ) -> Result<Option<Holder>, Failure> {
        let open = Open::get(connection, self.tenant, id)?;
        let seen = Seen::get(connection, open.num)?;
        let until = seen.stands_until(self.now, living);
        Ok(until.map(|until| Holder { owner: seen.owner.unwrap_or_default(), until }))
    }

    /// The conversations that are due and free.
    pub(super) fn due_ids(
        &self,
        connection: &Connection,
        most: usize,
        living: &mut Living<'_>,
    ) -> Result<Vec<ConversationId>, Failure> {
        let due = self.due(connection, most, living)?;
        Ok(due.into_iter().map(|seen| seen.id).collect())
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
        let mut known = HashSet::new();
        while due.len() < most
            && let Some(row) = rows.next()?
        {
            // One that is due for two reasons is due since the first.
            if !known.insert(row.get::<_, i64>(0)?) {
                continue;
            }
            // One without an id cannot be driven; lists show that it is there.
            let Ok(seen) = Seen::of(row) else { continue };
            if seen.stands_until(self.now, living).is_none() {
                due.push(seen);
            }
        }
        Ok(due)
    }
}

/// How a lease is taken.
#[derive(Clone, Copy)]
struct Attendance {
    unattended: bool,
    deaths: u32,
}

/// Keeps how often unattended drivers died in a conversation, and forgets the last one's lease.
fn park(connection: &Connection, seen: &Seen, deaths: u32) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET deaths = ?2, claim = NULL, lease_until = NULL WHERE num = ?1",
        )?
        .execute(params![seen.num, deaths])
        .map(drop)
}

/// Takes a conversation off hold.
pub(super) fn lift_hold(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
) -> Result<(), Failure> {
    let known = Known::get(connection, tenant, id)?;
    connection
        .prepare_cached("UPDATE conversation SET held = 0, deaths = 0 WHERE num = ?1")?
        .execute([known.num])?;
    Ok(())
}

/// A turn that can go on has been due since the last entry, anything else since its time came. A
/// copy does not go on by itself. Where the last entry is later than the clock, the clock was ahead
/// when it was written, and the entry's time counts as the present. The limit that is none keeps
/// SQLite from dropping the order.
const DUE: &str = seen!(
    "FROM (
      SELECT num, active_at AS due, id, 1 AS goes_on FROM conversation
      WHERE tenant = ?1 AND archived = 0 AND state = 1
      UNION ALL
      SELECT num, active_at, id, 1 FROM conversation
      WHERE tenant = ?1 AND archived = 1 AND state = 1
      UNION ALL
      SELECT num, due_at, id, 0 FROM conversation WHERE tenant = ?1 AND due_at <= ?2
      UNION ALL
      SELECT num, active_at, id, 0 FROM conversation
      WHERE tenant = ?1 AND archived = 0 AND state = 0 AND active_at > ?2 AND due_at <= active_at
      UNION ALL
      SELECT num, active_at, id, 0 FROM conversation
      WHERE tenant = ?1 AND archived = 0 AND state = 2 AND active_at > ?2 AND due_at <= active_at
      UNION ALL
      SELECT num, active_at, id, 0 FROM conversation
      WHERE tenant = ?1 AND archived = 1 AND state = 0 AND active_at > ?2 AND due_at <= active_at
      UNION ALL
      SELECT num, active_at, id, 0 FROM conversation
      WHERE tenant = ?1 AND archived = 1 AND state = 2 AND active_at > ?2 AND due_at <= active_at
      ORDER BY due, id LIMIT -1) AS due
    CROSS JOIN conversation c ON c.num = due.num
    WHERE c.moved = 0 AND c.held = 0 AND c.deaths < 3 AND (c.origin = 0 OR NOT due.goes_on)"
);
const _: () = assert!(
    WORKING == 1 && OWN == 0 && PARK_AFTER_DEATHS == 3,
    "the query above names them by their numbers"
);

/// Gives a lease back, if it is still the conversation's.
pub(super) fn release(connection: &Connection, tenant: i64, lease: &Lease) -> Result<(), Failure> {
    // Whatever else is wrong with a conversation, its lease can be given back.
    let open = Open::get(connection, tenant, lease.conversation)?;
    connection
        .prepare_cached(
            "UPDATE conversation SET claim = NULL, lease_until = NULL
             WHERE num = ?1 AND epoch = ?2 AND claim = ?3",
        )?
        .execute(params![open.num, int(lease.epoch), lease.claim])?;
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
