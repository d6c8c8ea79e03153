//! Reading the outline: along a thread's path, or over the whole ledger.

use rusqlite::{Connection, Row};
use threadline_core::history::sections::Levels;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::outline::{OutlineRow, RowKind};
use threadline_core::tokens::CounterId;

use super::conversation::Open;
use super::error::{Failure, damaged};
use super::number::{count, entry_id, log_and_seq};
use super::segments::Segment;

const COLUMNS: &str = "id, agent, kind, live, recent, gist_tokens, recent_sum, live_sum, previous, \
     turn, exchange, counter, results, gist";
/// How far back a row may be to be stepped to: it pays to seek what is further.
const NEAR: u64 = 32;

/// The row at `from` and those before it on its thread's path, newest first.
pub(super) fn path(
    connection: &Connection,
    (tenant, id): (i64, ConversationId),
    agent: AgentId,
    (from, most): (Seq, usize),
) -> Result<Vec<OutlineRow>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut walk = Walk { agent, next: Some(from), most, found: Vec::new() };
    while walk.found.len() < most {
        let Some(next) = walk.next else { break };
        let Some(segment) = Segment::at(connection, open, next)? else { break };
        walk.back_through(connection, segment)?;
    }
    Ok(walk.found)
}

struct Walk {
    agent: AgentId,
    /// The next row on the path.
    next: Option<Seq>,
    most: usize,
    found: Vec<OutlineRow>,
}

impl Walk {
    /// Goes back along the path, to the beginning of a segment at most.
    fn back_through(&mut self, connection: &Connection, segment: Segment) -> Result<(), Failure> {
        while let Some(next) = self.next.filter(|next| *next >= segment.from) {
            if self.found.len() >= self.most {
                return Ok(());
            }
            let before = self.found.len();
            self.scan(connection, segment, next)?;
            if self.found.len() == before {
                return self.missing(next);
            }
        }
        Ok(())
    }

    /// Follows rows backward from `from` while they lie close together.
    fn scan(
        &mut self,
        connection: &Connection,
        segment: Segment,
        from: Seq,
    ) -> Result<(), Failure> {
        let mut statement = connection.prepare_cached(&walk_sql(self.agent))?;
        let agent = i64::from(self.agent.0);
        let mut rows = statement.query([segment.ids().0, entry_id(segment.log, from), agent])?;
        let mut passed = 0;
        while let Some(row) = rows.next()? {
            let Some(next) = self.next else { return Ok(()) };
            let (_, seq) = log_and_seq(row.get(0)?);
            if seq > next && passed < NEAR {
                passed += 1;
                continue;
            }
            if seq != next {
                return Ok(());
            }
            passed = 0;
            let row = outline_row(row)?;
            if row.previous.is_some_and(|previous| previous >= seq) {
                return Err(damaged(format!("the outline row {seq} does not lead back")));
            }
            self.next = row.previous;
            self.found.push(row);
            // What lies between rows of a thread is not of others.
            let apart = self.next.map(|previous| seq.0.saturating_sub(previous.0));
            let near = apart.is_some_and(|apart| apart <= NEAR || self.agent != AgentId::FIRST);
            if !near || self.found.len() >= self.most {
                return Ok(());
            }
        }
        Ok(())
    }

    /// There is no row where the path leads. At its very beginning that is an answer.
    fn missing(&mut self, at: Seq) -> Result<(), Failure> {
        if self.found.is_empty() {
            self.next = None;
            return Ok(());
        }
        Err(damaged(format!("the outline has no row for entry {at} of agent {}", self.agent)))
    }
}

/// Those of agents other than the first are found by the index of threads.
fn walk_sql(agent: AgentId) -> String {
    let other = if agent == AgentId::FIRST { "" } else { "AND agent <> 1 " };
    format!(
        "SELECT {COLUMNS} FROM entry
         WHERE id BETWEEN ?1 AND ?2 AND agent = ?3 {other}AND kind IS NOT NULL ORDER BY id DESC"
    )
}

/// The rows of a thread at some places.
pub(super) fn at(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    agent: AgentId,
    seqs: &[Seq],
) -> Result<Vec<OutlineRow>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let sql =
        format!("SELECT {COLUMNS} FROM entry WHERE id = ?1 AND agent = ?2 AND kind IS NOT NULL");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = Vec::with_capacity(seqs.len());
    let mut within: Option<Segment> = None;
    for seq in seqs {
        let known = within.filter(|segment| (segment.from..=segment.to).contains(seq));
        let Some(segment) =
            known.map_or_else(|| Segment::at(connection, open, *seq), |s| Ok(Some(s)))?
        else {
            continue;
        };
        within = Some(segment);
        let mut rows = statement.query([entry_id(segment.log, *seq), i64::from(agent.0)])?;
        found.extend(rows.next()?.map(outline_row).transpose()?);
    }
    Ok(found)
}

/// All rows after a place, in the order of their entries.
pub(super) fn ledger(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    after: Seq,
    most: usize,
) -> Result<Vec<OutlineRow>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let sql = format!(
        "SELECT {COLUMNS} FROM entry WHERE id BETWEEN ?1 AND ?2 AND kind IS NOT NULL ORDER BY id"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = Vec::new();
    let mut place = after.next();
    while let Some(segment) = Segment::at(connection, open, place)? {
        let mut rows = statement.query([entry_id(segment.log, place), segment.ids().1])?;
        while let Some(row) = rows.next()? {
            if found.len() >= most {
                return Ok(found);
            }
            let row = outline_row(row)?;
            // In a damaged tree, rows are not in the order of their numbers.
            if row.seq < place || found.last().is_some_and(|last: &OutlineRow| last.seq >= row.seq)
            {
                return Err(damaged(format!("outline row {} is out of order", row.seq)));
            }
            found.push(row);
        }
        place = segment.to.next();
    }
    Ok(found)
}

fn outline_row(row: &Row<'_>) -> Result<OutlineRow, Failure> {
    let (_, seq) = log_and_seq(row.get(0)?);
    let kind: u8 = row.get(2)?;
    let results: Option<String> = row.get(12)?;
    Ok(OutlineRow {
        seq,
        agent: AgentId(row.get(1)?),
        kind: RowKind::from_number(kind)
            .ok_or_else(|| damaged(format!("there is no kind of outline row {kind}")))?,
        tokens: Levels { live: row.get(3)?, recent: row.get(4)?, gist: row.get(5)? },
        recent_sum: count(row.get(6)?),
        live_sum: count(row.get(7)?),
        previous: row.get::<_, Option<i64>>(8)?.map(|previous| Seq(count(previous))),
        turn: Seq(count(row.get(9)?)),
        exchange: row.get(10)?,
        counter: CounterId(row.get(11)?),
        results: read_results(results.as_deref(), seq)?,
        gist: row.get(13)?,
    })
}

/// The tokens of results as JSON, those of each as a list by level; none if there are no results.
pub(super) fn results_text(results: &[Levels<u32>]) -> Option<String> {
    let levels: Vec<[u32; 3]> =
        results.iter().map(|tokens| [tokens.live, tokens.recent, tokens.gist]).collect();
    // Numbers always encode.
    (!levels.is_empty()).then(|| serde_json::to_string(&levels).unwrap_or_default())
}

fn read_results(text: Option<&str>, seq: Seq) -> Result<Vec<Levels<u32>>, Failure> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let levels: Vec<[u32; 3]> = serde_json::from_str(text)
        .map_err(|error| damaged(format!("the results of outline row {seq}: {error}")))?;
    Ok(levels.into_iter().map(|[live, recent, gist]| Levels { live, recent, gist }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    #[test]
    fn no_row_is_sorted_or_looked_for() {
        let first = "SEARCH entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n";
        assert_eq!(plan(&walk_sql(AgentId::FIRST)), first);
        let others = "SEARCH entry USING INDEX entry_thread (agent=? AND rowid>? AND rowid<?)\n";
        assert_eq!(plan(&walk_sql(AgentId(2))), others);
    }

    #[test]
    fn tokens_of_results_come_back() {
        let levels = |live, recent, gist| Levels { live, recent, gist };
        for kept in [vec![], vec![levels(0, 127, 128)], vec![levels(u32::MAX, 300, 1); 3]] {
            let text = results_text(&kept);
            assert_eq!(read_results(text.as_deref(), Seq(1)).unwrap(), kept);
        }
        for text in ["", "7", "[[1,2]]", "[[1,2,-3]]"] {
            assert!(read_results(Some(text), Seq(1)).is_err(), "{text:?}");
        }
    }
}
