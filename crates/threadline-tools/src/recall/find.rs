//! Finding entries by their words: the newest first, one line each.

use std::collections::BTreeSet;

use threadline_core::history::entry::Entry;
use threadline_core::id::Seq;
use threadline_core::search::{self, Phrase};
use threadline_core::store::{Direction, StoreError};
use threadline_core::tool::{ThreadReader, ToolContext};

use super::RECALL;
use super::told::{minute, told, without};

/// The most entries that are told of.
pub const HITS_CAP: usize = 10;
/// How many entries are asked for at a time.
const BATCH: usize = 32;
/// How many entries are looked at in all, however few of them are worth telling.
const LOOKED_CAP: usize = 256;
/// How much of an entry is shown.
const SNIPPET_CHARS: usize = 160;
/// How far back the beginning of the turn is looked for: pages, and entries of a page.
const TURN_PAGES: (usize, usize) = (4, 128);

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Newest first.
    pub(super) hits: Vec<Hit>,
    /// Whether there are more than these.
    pub(super) more: bool,
}

/// An entry that was found.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) seq: Seq,
    pub(super) line: String,
}

/// Finds entries that have all words of a query. What the agent sees anyway, the question of its
/// turn, and what it recalled before are passed over: they have the words because it looks for
/// them.
pub(super) async fn find(context: &ToolContext, query: &str) -> Result<Found, StoreError> {
    let thread = &*context.thread;
    let asked = asked(thread, context.call.output).await?;
    let phrases = search::phrases(query);
    let mut found = Found::default();
    let mut before = context.call.output;
    let mut looked = 0;
    while looked < LOOKED_CAP {
        let seqs = thread.search(query, Some(before), BATCH).await?;
        let Some(last) = seqs.last() else { break };
        before = *last;
        looked += seqs.len();
        for seq in seqs.iter().filter(|seq| !asked.contains(seq)) {
            let Some(entry) = thread.entry(*seq).await? else { continue };
            let Some(line) = line(&entry, query, &phrases) else { continue };
            if found.hits.len() == HITS_CAP {
                found.more = true;
                return Ok(found);
            }
            found.hits.push(Hit { seq: *seq, line });
        }
    }
    Ok(found)
}

/// The line of an entry that has the words where they can be read.
fn line(entry: &Entry, query: &str, phrases: &[Phrase]) -> Option<String> {
    let text = without(entry, RECALL)?;
    if !search::matches(&search::terms(&text), phrases) {
        return None;
    }
    let snippet = search::snippet(&text, query, SNIPPET_CHARS);
    let told = told(entry, &[]);
    Some(format!("{} {}, {}: {snippet}", entry.seq, told.kind(), minute(entry.at)))
}

/// The inputs of the turn that a call is made in, as far as they are near.
async fn asked(thread: &dyn ThreadReader, output: Seq) -> Result<BTreeSet<Seq>, StoreError> {
    let (pages, most) = TURN_PAGES;
    let mut inputs = BTreeSet::new();
    let mut from = output.before();
    for _ in 0..pages {
        let entries = thread.page(from, Direction::Backward, most).await?;
        let Some(last) = entries.last() else { break };
        from = last.seq.before();
        for entry in &entries {
            if entry.fact.can_end_turn() {
                return Ok(inputs);
            }
            if entry.fact.as_input().is_some() {
                inputs.insert(entry.seq);
            }
        }
    }
    Ok(inputs)
}
