//! Gathering: what a context is made of, read at the cost of what it shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::open::OpenError;
use super::recall::Recall;
use super::{Store, verified_records};
use crate::context::Material;
use crate::context::plan::{Ask, DoesNotFit, More, Outlook, Planned, budget, plan};
use crate::context::recap::{Reach, RecapAsk, RecapRows, RecapSource};
use crate::history::History;
use crate::history::by_seq::BySeq;
use crate::history::entry::Entry;
use crate::id::{AgentId, ConversationId, Seq};
use crate::outline::OutlineRow;

/// How many outline rows are read at first, and at least and at most after that.
const ROWS: usize = 128;
const ROWS_LEAST: usize = 64;
const ROWS_CAP: usize = 1024;

/// Plans what an agent's model sees, and reads the entries that the plan shows.
///
/// What does not fit is told as it is; nothing is read for it.
pub async fn gather(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    ask: &Ask,
) -> Result<Result<Material, DoesNotFit>, OpenError> {
    gather_with(store, id, history, ask, &mut Recall::default()).await
}

/// The same, of which only what is not recalled is read. It is recalled the next time.
pub async fn gather_with(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    ask: &Ask,
    recall: &mut Recall,
) -> Result<Result<Material, DoesNotFit>, OpenError> {
    let mut look =
        Look { store, id, history, agent: ask.agent, outlook: Outlook::default(), recall };
    look.first(budget(&ask.options)).await?;
    let plan = loop {
        match plan(history, ask, &look.outlook) {
            Ok(Planned::Plan(plan)) => break *plan,
            Ok(Planned::More(More::Path)) => look.further(ROWS).await?,
            Ok(Planned::More(More::Rows(seqs))) => look.at(&seqs).await?,
            Err(refused) => return Ok(Err(refused)),
        }
    };
    let entries = look.entries(plan.entries()).await?;
    let oldest = look.outlook.rows.last().map_or(Seq::ZERO, |row| row.seq);
    recall.keep(oldest, &entries);
    Ok(Ok(Material { plan, entries }))
}

/// Reads what a recap is written from, of which only what is not recalled is read; none if there
/// is nothing to be recapped.
pub async fn gather_recap(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
    ask: &RecapAsk,
    recall: &mut Recall,
) -> Result<Option<RecapSource>, OpenError> {
    let (agent, outlook) = (ask.agent, Outlook::default());
    let mut look = Look { store, id, history, agent, outlook, recall };
    let mut rows = RecapRows::default();
    let mut place = 0;
    'rows: while !look.outlook.whole {
        look.further(ROWS).await?;
        for row in look.outlook.rows.iter().skip(place) {
            if rows.take(ask, history, row) == Reach::Done {
                break 'rows;
            }
        }
        place = look.outlook.rows.len();
    }
    let entries = look.entries(rows.entries(ask)).await?;
    Ok(rows.source(ask, &entries))
}

/// A look at a thread, as far as it was read.
struct Look<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    history: &'a History,
    agent: AgentId,
    outlook: Outlook,
    recall: &'a mut Recall,
}

impl Look<'_> {
    /// Reads the newest rows, about as many as such a budget takes.
    async fn first(&mut self, tokens: u64) -> Result<(), OpenError> {
        let mut most = ROWS;
        while !self.outlook.whole && self.taken() <= tokens {
            self.further(most).await?;
            most = self.lacking(tokens);
        }
        Ok(())
    }

    /// How many more rows a budget seems to take, and a few: rows differ, and to ask again costs
    /// more than they do.
    fn lacking(&self, tokens: u64) -> usize {
        let read = u64::try_from(self.outlook.rows.len()).unwrap_or(u64::MAX);
        let taken = self.taken().max(1);
        let lacking = tokens.saturating_sub(taken).saturating_mul(read) / taken;
        let most = usize::try_from(lacking.saturating_add(lacking / 4)).unwrap_or(ROWS_CAP);
        most.clamp(ROWS_LEAST, ROWS_CAP)
    }

    /// The tokens at Recent of the rows that were read.
    fn taken(&self) -> u64 {
        let (newest, oldest) = (self.outlook.rows.first(), self.outlook.rows.last());
        let ends = newest.zip(oldest);
        ends.map_or(0, |(newest, oldest)| newest.recent_sum.saturating_sub(oldest.recent_sum))
    }

    /// Reads so many older rows of the path.
    async fn further(&mut self, most: usize) -> Result<(), OpenError> {
        let head = || self.history.agent(self.agent).and_then(|agent| agent.row);
        let last = self.outlook.rows.last();
        let mut from = last.map_or_else(head, |oldest| oldest.previous);
        let mut place = usize::MAX;
        for _ in 0..most {
            let Some(next) = from else { break };
            if self.recall.row_before(place, next).is_none() {
                let rows = self.store.outline(self.id, self.agent, next, most).await?;
                self.recall.note_rows(rows.into_iter().map(Arc::new));
            }
            let Some((at, row)) = self.recall.row_before(place, next) else {
                return Err(OpenError::NoOutlineRow { id: self.id, seq: next });
            };
            (place, from) = (at, row.previous);
            self.outlook.rows.push(Arc::clone(row));
        }
        self.outlook.whole = from.is_none();
        Ok(())
    }

    /// Reads the rows of some entries. What a pin or a recap names may no longer count.
    async fn at(&mut self, seqs: &[Seq]) -> Result<(), OpenError> {
        let counts = |seq: &&Seq| self.history.counts(**seq);
        let unknown = seqs.iter().filter(counts).filter(|seq| self.recall.other(**seq).is_none());
        let unknown: Vec<Seq> = unknown.copied().collect();
        if !unknown.is_empty() {
            let rows = self.store.outline_rows(self.id, self.agent, &unknown).await?;
            let mut rows: BTreeMap<Seq, OutlineRow> =
                rows.into_iter().map(|row| (row.seq, row)).collect();
            for seq in unknown {
                self.recall.note_other(seq, rows.remove(&seq).map(Arc::new));
            }
        }
        for seq in seqs {
            let known = self.recall.other(*seq).filter(|_| self.history.counts(*seq));
            self.outlook.others.insert(*seq, known.cloned().flatten());
        }
        Ok(())
    }

    /// Some entries, with the results that they seal.
    async fn entries(&mut self, seqs: Vec<Seq>) -> Result<BySeq<Arc<Entry>>, OpenError> {
        self.fetch(&seqs).await?;
        let shown: Vec<Arc<Entry>> = self.recalled(&seqs);
        // The newest first: they lie near what was read last.
        let sealed: Vec<Seq> =
            shown.iter().flat_map(|entry| entry.sealed()).rev().copied().collect();
        self.fetch(&sealed).await?;
        let all = shown.into_iter().chain(self.recalled(&sealed).into_iter().rev());
        Ok(all.map(|entry| (entry.seq, entry)).collect())
    }

    /// Those of some entries that are recalled.
    fn recalled(&self, seqs: &[Seq]) -> Vec<Arc<Entry>> {
        seqs.iter().filter_map(|seq| self.recall.entry(*seq).cloned()).collect()
    }

    /// Reads the entries that are not recalled.
    async fn fetch(&mut self, seqs: &[Seq]) -> Result<(), OpenError> {
        let unknown = seqs.iter().filter(|seq| self.recall.entry(**seq).is_none());
        let unknown: Vec<Seq> = unknown.copied().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let (id, records) = (self.id, verified_records(self.store, self.id, &unknown).await?);
        // Each record is let go as soon as its entry is there: they take as much again.
        for (seq, record) in unknown.iter().copied().zip(records) {
            let unreadable = |source| OpenError::Unreadable { id, seq, source };
            let entry = record.open().map_err(unreadable)?;
            self.recall.note_entry(Arc::new(entry), record.size());
        }
        Ok(())
    }
}
