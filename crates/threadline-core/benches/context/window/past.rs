//! A generated history, held as far back as a window looks.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::Material;
use threadline_core::context::plan::{Ask, More, Outlook, Planned, budget, plan};
use threadline_core::history::History;
use threadline_core::history::batch::Batch;
use threadline_core::history::by_seq::BySeq;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Fact;
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_testing::generator::{Generator, GeneratorOptions};

use crate::Outcome;

/// How many entries are held before the first moment.
const HELD: u64 = 6000;
/// How many rows are looked at first, and how many more at a time.
const ROWS: usize = 128;

/// A history at a moment, with what is at hand of it.
pub(crate) struct Moment {
    pub(crate) history: History,
    past: Arc<Past>,
}

/// Rows and entries, as far as they are held.
#[derive(Default)]
struct Past {
    rows: BTreeMap<Seq, Arc<OutlineRow>>,
    entries: BTreeMap<Seq, Arc<Entry>>,
}

/// The last moments of a history of so many entries, so many entries apart.
pub(crate) fn moments(seed: u64, entries: u64, count: usize, apart: u64) -> Outcome<Vec<Moment>> {
    let steady = GeneratorOptions { rewinds_percent: 0, ..GeneratorOptions::mixed(seed, 1) };
    let mut generator = Generator::new(steady);
    let mut past = Past::default();
    let mut histories = Vec::new();
    let begin = entries.saturating_sub(apart * u64::try_from(count.saturating_sub(1))?);
    let held_from = begin.saturating_sub(HELD);
    loop {
        let head = generator.history().head().0;
        let wanted = begin + apart * u64::try_from(histories.len())?;
        if head >= wanted.min(entries) {
            histories.push(generator.history().clone());
        }
        if head >= entries {
            break;
        }
        past.take(&generator.next_within(entries - head)?.batch, Seq(held_from));
    }
    let past = Arc::new(past);
    let histories = histories.into_iter();
    Ok(histories.map(|history| Moment { history, past: Arc::clone(&past) }).collect())
}

impl Past {
    /// Holds what is new enough, and what stays in sight however old it is.
    fn take(&mut self, batch: &Batch, from: Seq) {
        let stays = |entry: &Entry| matches!(entry.fact, Fact::InstructionSet(_) | Fact::Recap(_));
        for row in batch.rows.iter().filter(|row| row.seq >= from) {
            self.rows.insert(row.seq, Arc::clone(row));
        }
        for placed in &batch.entries {
            if placed.entry.seq >= from || stays(&placed.entry) {
                self.entries.insert(placed.entry.seq, Arc::clone(&placed.entry));
            }
        }
    }
}

impl Moment {
    /// Plans a window and puts together what it shows, as gathering does with all at hand; with
    /// what was looked at for it.
    pub(crate) fn gather(&self, ask: &Ask) -> Outcome<(Outlook, Material)> {
        let mut outlook = Outlook::default();
        while !outlook.whole && taken(&outlook) <= budget(&ask.options) {
            self.further(&mut outlook);
        }
        let plan = loop {
            match plan(&self.history, ask, &outlook)? {
                Planned::Plan(plan) => break *plan,
                Planned::More(More::Path) => self.further(&mut outlook),
                Planned::More(More::Rows(seqs)) => {
                    let rows = seqs.into_iter().map(|seq| (seq, self.past.rows.get(&seq).cloned()));
                    outlook.others.extend(rows);
                }
            }
        };
        let known = |seq| self.past.entries.get(&seq).cloned();
        let entries = BySeq::with_sealed(plan.entries(), known);
        Ok((outlook, Material { plan, entries }))
    }

    fn further(&self, outlook: &mut Outlook) {
        let head = || self.history.agent(AgentId::FIRST).and_then(|agent| agent.row);
        let mut next = outlook.rows.last().map_or_else(head, |oldest| oldest.previous);
        for _ in 0..ROWS {
            let Some(row) = next.and_then(|seq| self.past.rows.get(&seq)) else { break };
            next = row.previous;
            outlook.rows.push(Arc::clone(row));
        }
        outlook.whole = next.is_none_or(|next| !self.past.rows.contains_key(&next));
    }
}

/// The tokens at Recent of the rows that were looked at.
fn taken(outlook: &Outlook) -> u64 {
    let ends = outlook.rows.first().zip(outlook.rows.last());
    ends.map_or(0, |(newest, oldest)| newest.recent_sum.saturating_sub(oldest.recent_sum))
}
