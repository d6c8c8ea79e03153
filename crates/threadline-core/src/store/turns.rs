//! Finds where turns began, by the outline: at the cost of the rows of those turns.

use std::collections::{BTreeMap, VecDeque};

use super::{OpenError, Store, verified_entries};
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::{Input, Sender};
use crate::id::{AgentId, ConversationId, Seq};

/// How many outline rows are read at a time.
const ROWS: usize = 4096;
/// How many entries are read at a time.
const ENTRIES: usize = 1024;

/// The inputs that began the last `limit` turns, newest first; fewer if there are no more.
///
/// These are the turns that a person can rewind: a turn that works for another one is part of it,
/// and an input that was said to several agents began one turn.
pub async fn last_turns(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    limit: usize,
) -> Result<Vec<Seq>, OpenError> {
    let agents = history.state().agents.iter();
    let mut starts: Vec<TurnStarts> = agents
        .map(|(agent, state)| TurnStarts { agent: *agent, next: state.row, found: VecDeque::new() })
        .collect();
    let (mut turns, mut broadcast) = (Vec::new(), None);
    loop {
        let wanted = limit.saturating_sub(turns.len()).saturating_add(1).min(ENTRIES);
        let mut seqs = Vec::with_capacity(wanted);
        while seqs.len() < wanted
            && let Some(seq) = next_start(store, id, &mut starts).await?
        {
            seqs.push(seq);
        }
        if seqs.is_empty() {
            return Ok(turns);
        }
        let entries = verified_entries(store, id, &seqs).await?;
        let callers = callers(store, id, &entries).await?;
        for entry in &entries {
            let Some(input) = entry.fact.as_input() else { continue };
            if is_task(input, &callers) {
                continue;
            }
            match turns.last_mut() {
                Some(turn) if input.broadcast.is_some() && input.broadcast == broadcast => {
                    *turn = entry.seq;
                }
                Some(_) | None => {
                    if turns.len() == limit {
                        return Ok(turns);
                    }
                    turns.push(entry.seq);
                    broadcast = input.broadcast;
                }
            }
        }
    }
}

/// The inputs that began turns of one agent, from the newest on.
struct TurnStarts {
    agent: AgentId,
    /// The next row of its path.
    next: Option<Seq>,
    /// Those that were read and not yet given, newest first.
    found: VecDeque<Seq>,
}

impl TurnStarts {
    /// Reads on until one is found, or the path ends.
    async fn fill(&mut self, store: &dyn Store, id: ConversationId) -> Result<(), OpenError> {
        while self.found.is_empty()
            && let Some(next) = self.next
        {
            let rows = store.outline(id, self.agent, next, ROWS).await?;
            let Some(last) = rows.last() else {
                return Err(OpenError::NoOutlineRow { id, seq: next });
            };
            self.next = last.previous;
            let starts = rows.iter().filter(|row| row.seq == row.turn);
            self.found.extend(starts.map(|row| row.seq));
        }
        Ok(())
    }
}

/// Takes the newest start of all agents.
async fn next_start(
    store: &dyn Store,
    id: ConversationId,
    starts: &mut [TurnStarts],
) -> Result<Option<Seq>, OpenError> {
    for starts in &mut *starts {
        starts.fill(store, id).await?;
    }
    let newest = starts.iter_mut().max_by_key(|starts| starts.found.front().copied());
    Ok(newest.and_then(|starts| starts.found.pop_front()))
}

/// Who made the calls that inputs come from, by the output that made them.
async fn callers(
    store: &dyn Store,
    id: ConversationId,
    entries: &[Entry],
) -> Result<BTreeMap<Seq, AgentId>, OpenError> {
    let output = |entry: &Entry| Some(entry.fact.as_input()?.from.call()?.output);
    let outputs: Vec<Seq> = entries.iter().filter_map(output).collect();
    let outputs = verified_entries(store, id, &outputs).await?;
    Ok(outputs.into_iter().map(|output| (output.seq, output.agent)).collect())
}

/// Whether an input is a task: its sender made the call that it comes from. In an answer to a task
/// it was the receiver.
fn is_task(input: &Input, callers: &BTreeMap<Seq, AgentId>) -> bool {
    match input.from {
        Sender::Agent { agent, call: Some(call) } => callers.get(&call.output) == Some(&agent),
        Sender::Agent { call: None, .. }
        | Sender::Person { .. }
        | Sender::System
        | Sender::Timer { .. } => false,
    }
}
