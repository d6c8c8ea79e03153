//! Leases: who may append, and which conversations are due.

use rusqlite::{Connection, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::id::{ConversationId, IdSource, Seq};
use threadline_core::store::{
    Attendance, ClaimId, DueFilter, Holder, Lease, LockedBy, PARK_AFTER_DEATHS, Predecessor,
    StoreError,
};

use super::conversation::{Known, Open, conversation_id, hold};
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

    /// Refuses a lease that a living owner has.
    fn check_free(&self, now: Timestamp, living: &mut Living<'_>) -> Result<(), Failure> {
        let Some(until) = self.stands_until(now, living) else { return Ok(()) };
        let by = LockedBy { owner: self.owner.clone().unwrap_or_default() };
        Err(StoreError::Held { id: self.id, by, until }.into())
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
    /// Takes the lease of a conversation, unless a living owner has it. The outer result is that of the
    /// transaction: the store keeps that it parked a conversation although it refuses the lease.
    pub(super) fn claim(
        &self,
        connection: &Connection,
        id: ConversationId,
        (claim, attendance): (ClaimId, Attendance),
        living: &mut Living<'_>,
    ) -> Result<Result<Lease, StoreError>, Failure> {
        let seen = self.free(connection, id, living)?;
        let deaths = match attendance {
            Attendance::Attended => seen.deaths_here(),
            Attendance::Unattended => {
                let deaths = seen.count_deaths();
                if let Some(hold) = hold(seen.held, deaths) {
                    park(connection, &seen, deaths)?;
                    return Ok(Err(StoreError::OnHold { id, hold }));
                }
                deaths
            }
        };
        Ok(Ok(self.take(connection, &seen, claim, (attendance, deaths), living)?))
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
        seen.check_free(self.now, living)?;
        Ok(seen)
    }

    fn take(
        &self,
        connection: &Connection,
        seen: &Seen,
        claim: ClaimId,
        (attendance, deaths): (Attendance, u32),
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
                attendance == Attendance::Unattended,
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
    pub(super) fn claim_due(
        &self,
        connection: &Connection,
        limit: usize,
        filter: &DueFilter,
        ids: &dyn IdSource,
        living: &mut Living<'_>,
    ) -> Result<Vec<Lease>, Failure> {
        let mut leases = Vec::new();
        for seen in self.due(connection, limit, filter, living)? {
            let deaths = seen.count_deaths();
            if hold(seen.held, deaths).is_some() {
                park(connection, &seen, deaths)?;
                continue;
            }
            let unattended = (Attendance::Unattended, deaths);
            leases.push(self.take(connection, &seen, ids.random(), unattended, living)?);
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
        limit: usize,
        living: &mut Living<'_>,
    ) -> Result<Vec<ConversationId>, Failure> {
        let due = self.due(connection, limit, &DueFilter::default(), living)?;
        Ok(due.into_iter().map(|seen| seen.id).collect())
    }

    fn due(
        &self,
        connection: &Connection,
        limit: usize,
        filter: &DueFilter,
        living: &mut Living<'_>,
    ) -> rusqlite::Result<Vec<Seen>> {
        let mut statement = connection.prepare_cached(DUE)?;
        let mut rows = statement.query([self.tenant, self.now.micros()])?;
        let mut due = Vec::new();
        while due.len() < limit
            && let Some(row) = rows.next()?
        {
            // One without an id cannot be driven; lists show that it is there.
            let Ok(seen) = Seen::of(row) else { continue };
            let is_free = seen.stands_until(self.now, living).is_none();
            if is_free && !filter.except.contains(&seen.id) {
                due.push(seen);
            }
        }
        Ok(due)
    }

    /// Refuses a conversation that a living owner holds.
    pub(super) fn check_free(
        &self,
        connection: &Connection,
        num: i64,
        living: &mut Living<'_>,
    ) -> Result<(), Failure> {
        let seen = Seen::get(connection, num)?;
        seen.check_free(self.now, living)
    }
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

/// Conversations that are due, the longest due first; see [`Schedule`] for `due_at`. If the last entry is
/// later than the clock, its time counts as the present. The limit, which is none, keeps SQLite from
/// dropping the order.
///
/// [`Schedule`]: threadline_core::store::Schedule
const DUE: &str = seen!(
    "FROM (
      SELECT num, due_at AS due, id FROM conversation WHERE tenant = ?1 AND due_at <= active_at
      UNION ALL
      SELECT num, due_at, id FROM conversation
      WHERE tenant = ?1 AND due_at > active_at AND due_at <= ?2
      ORDER BY due, id LIMIT -1) AS due
    CROSS JOIN conversation c ON c.num = due.num
    WHERE c.moved = 0 AND c.held = 0 AND c.deaths < 3"
);
const _: () = assert!(PARK_AFTER_DEATHS == 3, "the query above names it");

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
        assert!(plan.contains("conversation_later"), "{plan}");
        assert!(plan.contains("MERGE (UNION ALL)"), "{plan}");
    }
}
