//! Reading the outline: along a thread's path, or over the whole ledger.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use threadline_core::history::sections::Levels;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::outline::{OutlineRow, RowKind};
use threadline_core::tokens::CounterId;

use super::conversation::Open;
use super::error::{Failure, damaged};
use super::number::{count, entry_id, int, log_and_seq};
use super::places::Places;
use super::segments::Segment;

const COLUMNS: &str = "id, agent, kind, live, recent, gist_tokens, recent_sum, \
     live_sum_more, previous_back, turn_back, exchange, counter, results, gist, record";
/// How far back a row may be to be stepped to: it pays to seek what is further.
const NEAR: u64 = 32;

/// Where an agent's rows lie: those of the first among all entries, those of others in threads.
const fn table(agent: AgentId) -> &'static str {
    if agent.0 == AgentId::FIRST.0 { "entries" } else { "threads" }
}

/// The row at `from` and those before it on its thread's path, newest first.
pub(super) fn path(
    connection: &Connection,
    places: &Places,
    (tenant, id): (i64, ConversationId),
    agent: AgentId,
    (from, most): (Seq, usize),
) -> Result<Vec<OutlineRow>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut walk = Walk { agent, next: Some(from), most, found: Vec::new(), places: Vec::new() };
    while walk.found.len() < most {
        let Some(next) = walk.next else { break };
        let Some(segment) = Segment::at(connection, open, next)? else { break };
        walk.back_through(connection, segment)?;
    }
    places.note(walk.places.into_iter());
    Ok(walk.found)
}

struct Walk {
    agent: AgentId,
    /// The next row on the path.
    next: Option<Seq>,
    most: usize,
    found: Vec<OutlineRow>,
    /// Where the records of their entries are.
    places: Vec<(i64, i64)>,
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
            let place = (row.get(0)?, row.get(14)?);
            let row = outline_row(row)?;
            if row.previous.is_some_and(|previous| previous >= seq) {
                return Err(damaged(format!("the outline row {seq} does not lead back")));
            }
            self.next = row.previous;
            self.found.push(row);
            self.places.push(place);
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
        Err(damaged(format!("the outline has no row {at} of agent {}", self.agent)))
    }
}

fn walk_sql(agent: AgentId) -> String {
    format!(
        "SELECT {COLUMNS} FROM {} WHERE id BETWEEN ?1 AND ?2 AND agent = ?3 AND kind IS NOT NULL
         ORDER BY id DESC",
        table(agent)
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
    let sql = format!(
        "SELECT {COLUMNS} FROM {} WHERE id = ?1 AND agent = ?2 AND kind IS NOT NULL",
        table(agent)
    );
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
    let all = format!(
        "SELECT {COLUMNS} FROM entries
         WHERE id BETWEEN ?1 AND ?2 AND (kind IS NOT NULL OR agent <> 1) ORDER BY id"
    );
    let mut all = connection.prepare_cached(&all)?;
    let of_thread =
        format!("SELECT {COLUMNS} FROM thread WHERE agent = ?1 AND id = ?2 AND kind IS NOT NULL");
    let mut of_thread = connection.prepare_cached(&of_thread)?;
    let mut found = Vec::new();
    let mut place = after.next();
    while let Some(segment) = Segment::at(connection, open, place)? {
        let mut rows = all.query([entry_id(segment.log, place), segment.ids().1])?;
        while let Some(row) = rows.next()? {
            if found.len() >= most {
                return Ok(found);
            }
            if row.get_ref(2)? == ValueRef::Null {
                let mut its = of_thread.query([row.get::<_, i64>(1)?, row.get(0)?])?;
                found.extend(its.next()?.map(outline_row).transpose()?);
            } else {
                found.push(outline_row(row)?);
            }
        }
        place = segment.to.next();
    }
    Ok(found)
}

/// How far one place is before another.
pub(super) fn back(from: Seq, to: Seq) -> i64 {
    int(from.0).wrapping_sub(int(to.0))
}

/// The place so far before another.
fn seq_back(from: Seq, back: i64) -> Seq {
    Seq(count(int(from.0).wrapping_sub(back)))
}

fn outline_row(row: &Row<'_>) -> Result<OutlineRow, Failure> {
    let (_, seq) = log_and_seq(row.get(0)?);
    let kind: u8 = row.get(2)?;
    let recent_sum = count(row.get(6)?);
    Ok(OutlineRow {
        seq,
        agent: AgentId(row.get(1)?),
        kind: RowKind::from_number(kind)
            .ok_or_else(|| damaged(format!("there is no kind of outline row {kind}")))?,
        tokens: Levels { live: row.get(3)?, recent: row.get(4)?, gist: row.get(5)? },
        recent_sum,
        live_sum: recent_sum.wrapping_add_signed(row.get(7)?),
        previous: row.get::<_, Option<i64>>(8)?.map(|back| seq_back(seq, back)),
        turn: seq_back(seq, row.get(9)?),
        exchange: row.get(10)?,
        counter: CounterId(row.get(11)?),
        results: read_results(row.get_ref(12)?, seq)?,
        gist: row.get(13)?,
    })
}

/// The tokens of results as bytes: seven bits in each, lowest first, the eighth for more. None if
/// there are no results.
pub(super) fn results(results: &[Levels<u32>]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(results.len() * 6);
    for number in results.iter().flat_map(|tokens| [tokens.live, tokens.recent, tokens.gist]) {
        let mut rest = number;
        while rest >= 0x80 {
            bytes.push(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        bytes.push(rest.to_le_bytes()[0]);
    }
    (!bytes.is_empty()).then_some(bytes)
}

fn read_results(value: ValueRef<'_>, seq: Seq) -> Result<Vec<Levels<u32>>, Failure> {
    let bytes = match value {
        ValueRef::Null => return Ok(Vec::new()),
        ValueRef::Blob(bytes) => bytes,
        _ => return Err(damaged(format!("the outline row {seq} has no tokens of results"))),
    };
    let numbers = numbers(bytes);
    let levels = numbers.as_deref().map(|numbers| numbers.chunks_exact(3));
    let Some(levels) = levels.filter(|levels| levels.remainder().is_empty()) else {
        return Err(damaged(format!("the outline row {seq} has half the tokens of results")));
    };
    let each = |levels: &[u32]| match levels {
        [live, recent, gist] => Levels { live: *live, recent: *recent, gist: *gist },
        _ => Levels::default(),
    };
    Ok(levels.map(each).collect())
}

/// The numbers in some bytes; none if the last one is cut off or one is too large.
fn numbers(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(bytes.len());
    let (mut number, mut shift) = (0_u64, 0_u32);
    for byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(u32::try_from(number).ok()?);
            (number, shift) = (0, 0);
        } else if shift > 28 {
            return None;
        }
    }
    (shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    #[test]
    fn no_row_is_sorted_or_looked_for() {
        let merged = |found: &str| {
            let fresh = "SEARCH fresh USING INDEX fresh_id (id>? AND id<?)";
            format!("MERGE (UNION ALL)\nLEFT\n{found}\nRIGHT\n{fresh}\n")
        };
        let first = "SEARCH entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)";
        assert_eq!(plan(&walk_sql(AgentId::FIRST)), merged(first));
        let others = "SEARCH thread USING PRIMARY KEY (agent=? AND id>? AND id<?)";
        assert_eq!(plan(&walk_sql(AgentId(2))), merged(others));
    }

    #[test]
    fn tokens_of_results_come_back() {
        let levels = |live, recent, gist| Levels { live, recent, gist };
        for kept in [vec![], vec![levels(0, 127, 128)], vec![levels(u32::MAX, 300, 1); 3]] {
            let bytes = results(&kept);
            let value = bytes.as_deref().map_or(ValueRef::Null, ValueRef::Blob);
            assert_eq!(read_results(value, Seq(1)).unwrap(), kept);
        }
    }

    #[test]
    fn bytes_that_are_no_tokens_are_damage() {
        for bytes in [&[0x80][..], &[1, 2], &[0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1], &[0xff; 9]] {
            assert!(read_results(ValueRef::Blob(bytes), Seq(1)).is_err(), "{bytes:?}");
        }
        assert!(read_results(ValueRef::Integer(1), Seq(1)).is_err());
    }
}
