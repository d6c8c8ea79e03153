//! The window: the newest rows of a thread with their entries, at the cost of what they are.

use std::sync::Arc;

use super::open::{OpenError, read};
use super::recall::Recall;
use super::{Page, Store};
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::Fact;
use crate::history::state::{Agent, Stage};
use crate::id::{AgentId, ConversationId, Seq};
use crate::outline::{OutlineRow, RowKind};

/// How many outline rows are read at first.
const ROWS: usize = 128;
/// The most outline rows that are read at a time.
const ROWS_CAP: usize = 1024;
/// How many records are read at a time in search of what began a turn.
const RECORDS: usize = 32;

/// A row of the outline with its entry and, for sealed results, the results.
pub type Shown = (OutlineRow, Vec<Arc<Entry>>);

/// The newest entries on an agent's thread that together take at most so many tokens at Recent,
/// oldest first.
///
/// If a turn is under way, the inputs that began it and its newest exchange are there whatever
/// they take.
pub async fn window(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    agent: AgentId,
    tokens: u64,
) -> Result<Vec<Shown>, OpenError> {
    window_with(store, id, history, agent, tokens, &mut Recall::default()).await
}

/// The same window, of which only what is not recalled is read. It is recalled the next time.
pub async fn window_with(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    agent: AgentId,
    tokens: u64,
    recall: &mut Recall,
) -> Result<Vec<Shown>, OpenError> {
    let Some((state, head)) = history.agent(agent).and_then(|state| Some((state, state.row?)))
    else {
        return Ok(Vec::new());
    };
    let mut reach = Reach::new(state, tokens);
    let mut rows: Vec<OutlineRow> = Vec::new();
    let mut from = Some(head);
    while let Some(next) = from {
        if recall.row(next).is_none() {
            let most = rows_left(rows.len(), reach.taken, tokens);
            recall.note_rows(store.outline(id, agent, next, most).await?);
        }
        let Some(row) = recall.row(next).filter(|row| reach.includes(row)) else { break };
        from = row.previous;
        rows.push(row.clone());
    }
    if let Some(turn) = reach.turn
        && rows.last().is_none_or(|oldest| oldest.seq > turn)
    {
        let oldest = rows.last().map_or(head.next(), |row| row.seq);
        let opening = opening(store, id, agent, turn).await?;
        rows.extend(opening.into_iter().filter(|row| row.seq < oldest));
    }
    rows.reverse();
    let seqs: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    fetch(store, id, &seqs, recall).await?;
    // From the end: a store has at hand what lies near the entries it gave last.
    let results: Vec<Seq> = seqs.iter().rev().flat_map(|seq| sealed(recall, *seq)).collect();
    fetch(store, id, &results, recall).await?;
    let shown = rows.into_iter().map(|row| {
        let of_row = [row.seq].into_iter().chain(sealed(recall, row.seq).into_iter().rev());
        let entries = of_row.filter_map(|seq| recall.entry(seq).map(Arc::clone)).collect();
        (row, entries)
    });
    let shown = shown.collect();
    // The row at which it ended is looked at the next time too.
    recall.forget_before(from.unwrap_or(Seq::ZERO));
    Ok(shown)
}

/// Reads the entries that are not recalled.
async fn fetch(
    store: &dyn Store,
    id: ConversationId,
    seqs: &[Seq],
    recall: &mut Recall,
) -> Result<(), OpenError> {
    let unknown = seqs.iter().copied().filter(|seq| recall.entry(*seq).is_none());
    let unknown: Vec<Seq> = unknown.collect();
    if unknown.is_empty() {
        return Ok(());
    }
    for (seq, record) in unknown.iter().zip(&store.records(id, &unknown).await?) {
        recall.note_entry(read(id, *seq, record)?, record);
    }
    Ok(())
}

/// The results that an entry seals, the last one first.
fn sealed(recall: &Recall, seq: Seq) -> Vec<Seq> {
    match recall.entry(seq).map(|entry| &entry.fact) {
        Some(Fact::ToolResults(sealed)) => sealed.results.iter().rev().copied().collect(),
        _ => Vec::new(),
    }
}

/// How many more rows a window takes, judged by those it has, and a few to be sure.
fn rows_left(rows: usize, taken: u64, tokens: u64) -> usize {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    let left = rows.saturating_mul(tokens.saturating_sub(taken)).checked_div(taken);
    let judged = left.and_then(|left| usize::try_from(left.saturating_add(left / 16 + 1)).ok());
    judged.unwrap_or(ROWS).clamp(1, ROWS_CAP)
}

/// How far back a window goes.
struct Reach {
    tokens: u64,
    taken: u64,
    /// The turn that is under way, if one is.
    turn: Option<Seq>,
    /// The output whose calls are not sealed.
    unsealed: Option<Seq>,
    /// Whether the rows so far belong to the newest exchange, which is there whatever it takes.
    newest: bool,
    answered: bool,
}

impl Reach {
    fn new(agent: &Agent, tokens: u64) -> Self {
        let turn = agent.turn.as_ref().filter(|_| agent.in_turn()).map(|turn| turn.start);
        let unsealed = match &agent.stage {
            Stage::Calling(open) => Some(open.output),
            Stage::Resting | Stage::Asked | Stage::Sealed { .. } => None,
        };
        Self { tokens, taken: 0, turn, unsealed, newest: turn.is_some(), answered: false }
    }

    /// Whether the window goes on to this row, the next older one.
    fn includes(&mut self, row: &OutlineRow) -> bool {
        let (output, before_output) = match row.kind {
            RowKind::Message | RowKind::Input | RowKind::Recap => (false, true),
            RowKind::Output | RowKind::Answer => (Some(row.seq) != self.unsealed, false),
            RowKind::Results | RowKind::Ended => (false, false),
        };
        self.taken = self.taken.saturating_add(u64::from(row.tokens.recent));
        self.newest &= Some(row.turn) == self.turn && (before_output || !self.answered);
        self.answered |= output;
        self.newest || self.taken <= self.tokens
    }
}

/// The rows of the inputs that began a turn which is under way, newest first.
///
/// No rewind lies in such a turn: it would have ended it. So its entries are all on the path.
async fn opening(
    store: &dyn Store,
    id: ConversationId,
    agent: AgentId,
    turn: Seq,
) -> Result<Vec<OutlineRow>, OpenError> {
    let mut last = turn;
    let mut next = turn;
    'thread: loop {
        let records = store.read(id, &Page::forward(next, RECORDS).of(agent)).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let entry = read(id, next, record)?;
            next = entry.seq.next();
            match &entry.fact {
                Fact::Input(_) => last = entry.seq,
                Fact::Output(_) => break 'thread,
                _ => {}
            }
        }
    }
    let mut rows = Vec::new();
    let mut from = Some(last);
    while let Some(next) = from.filter(|from| *from >= turn) {
        let page = store.outline(id, agent, next, ROWS).await?;
        from = page.last().and_then(|row| row.previous);
        rows.extend(page.into_iter().filter(|row| row.seq >= turn));
    }
    Ok(rows)
}
