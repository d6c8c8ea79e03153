//! Fresh entries: those that came together lie apart, and are moved to the others many at a time.

use rusqlite::{CachedStatement, Connection, Statement, params};
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::OutlineRow;

use super::ahead;
use super::error::Failure;
use super::number::int;
use super::outline::{back, results};

/// How many entries are fresh before they are moved.
const FRESH_CAP: i64 = 4096;
/// How many conversations are ahead of their rows before these are brought up to date: a list reads
/// all of them.
const AHEAD_CAP: i64 = 1024;

/// How many must come at the same time for fresh entries to take fewer pages than settled ones.
const CROWD: usize = 4;

/// Those of other agents than the first go to their threads too, and leave their outline rows there.
const MOVE_OTHERS: &str = "INSERT INTO thread SELECT * FROM moving WHERE agent <> 1";
const MOVE: &str = "INSERT INTO entry SELECT * FROM moving ORDER BY id";
const MOVE_MIXED: &str = "INSERT INTO entry SELECT * FROM moving WHERE agent = 1
     UNION ALL SELECT id, record, agent, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                      NULL, NULL FROM moving WHERE agent <> 1
     ORDER BY id";

/// Where an entry is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tier {
    /// With those that came last: for one of several conversations that append at the same time,
    /// each of which has a page of its own among the others.
    Fresh,
    /// At its place in its log.
    Settled,
    /// At its place in its thread.
    Thread,
}

impl Tier {
    /// Where the entries go of one of so many batches that come together. Tests mostly write alone
    /// and are to see both: with debug assertions, many that come alone are fresh, too.
    pub(super) const fn of(at_once: usize, base: Seq) -> Self {
        let tried = cfg!(debug_assertions) && base.0 % 2 == 1;
        if at_once >= CROWD || tried { Self::Fresh } else { Self::Settled }
    }

    /// Makes ready to write entries there.
    pub(super) fn insert(self, connection: &Connection) -> rusqlite::Result<Insert<'_>> {
        let statement = connection.prepare_cached(self.sql())?;
        let threads = matches!(self, Self::Settled);
        Ok(Insert { connection, statement, threads })
    }

    const fn sql(self) -> &'static str {
        macro_rules! insert_into {
            ($table:literal) => {
                concat!(
                    "INSERT INTO ",
                    $table,
                    " (id, record, agent, kind, live, recent, gist_tokens, recent_sum,
                       live_sum_more, previous_back, turn_back, exchange, counter, results, gist)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
                )
            };
        }
        match self {
            Self::Fresh => insert_into!("fresh"),
            Self::Settled => insert_into!("entry"),
            Self::Thread => insert_into!("thread"),
        }
    }
}

/// Writes entries to a tier.
pub(super) struct Insert<'a> {
    connection: &'a Connection,
    statement: CachedStatement<'a>,
    /// Whether those of other agents than the first go to their threads too.
    threads: bool,
}

impl Insert<'_> {
    /// Writes an entry, with its outline row if models see it.
    pub(super) fn write(
        &mut self,
        entry: (i64, i64, AgentId),
        mut row: Option<&OutlineRow>,
    ) -> rusqlite::Result<()> {
        if self.threads && entry.2 != AgentId::FIRST {
            Tier::Thread.insert(self.connection)?.write(entry, row.take())?;
        }
        write(&mut self.statement, entry, row)
    }
}

/// Places and sums are kept by how far they are from others: small numbers take little room.
fn write(
    insert: &mut Statement<'_>,
    (id, record, agent): (i64, i64, AgentId),
    row: Option<&OutlineRow>,
) -> rusqlite::Result<()> {
    insert
        .execute(params![
            id,
            record,
            agent.0,
            row.map(|row| row.kind.number()),
            row.map(|row| row.tokens.live),
            row.map(|row| row.tokens.recent),
            row.map(|row| row.tokens.gist),
            row.map(|row| int(row.recent_sum)),
            row.map(|row| int(row.live_sum).wrapping_sub(int(row.recent_sum))),
            row.and_then(|row| row.previous.map(|previous| back(row.seq, previous))),
            row.map(|row| back(row.seq, row.turn)),
            row.map(|row| row.exchange),
            row.map(|row| row.counter.0),
            row.and_then(|row| results(&row.results)),
            row.map(|row| &*row.gist),
        ])
        .map(drop)
}

/// Whether enough is fresh to be moved.
pub(super) fn is_due(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM fresh) >= ?1 OR (SELECT count(*) FROM ahead) >= ?2",
        )?
        .query_row([FRESH_CAP, AHEAD_CAP], |row| row.get(0))
}

/// Moves the fresh entries to their places, and brings the rows of conversations up to them.
pub(super) fn settle(connection: &Connection) -> Result<(), Failure> {
    ahead::settle_all(connection)?;
    let others = connection.prepare_cached(MOVE_OTHERS)?.execute([])?;
    let sql = if others > 0 { MOVE_MIXED } else { MOVE };
    if connection.prepare_cached(sql)?.execute([])? > 0 {
        connection.prepare_cached("DELETE FROM fresh")?.execute([])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    /// They are moved in the order of the table they go to.
    #[test]
    fn nothing_is_sorted_to_be_moved() {
        assert_eq!(plan(MOVE), "SCAN fresh USING INDEX fresh_id\n");
        assert_eq!(plan(MOVE_OTHERS), "SCAN fresh\n");
        let merged = "MERGE (UNION ALL)\nLEFT\nSCAN fresh USING INDEX fresh_id\nRIGHT\nSCAN fresh \
                      USING INDEX fresh_id\n";
        assert_eq!(plan(MOVE_MIXED), merged);
    }
}
