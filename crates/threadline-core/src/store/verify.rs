//! Verifying: whether what is stored is what was written, and what is derived from it is true.

mod contexts;
mod passed;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use contexts::compare_contexts;
use passed::{Folded, Passed};

use super::replay::Replay;
use super::{Conversation, PIECE_CAP_BYTES, Page, Storage, StoreError};
use crate::history::entry::Entry;
use crate::history::fact::{Digest, Fact};
use crate::history::record::{GENESIS, Record, UnreadableRecord};
use crate::history::{Counts, History};
use crate::id::{ConversationId, Seq};
use crate::inbox::ItemNumber;
use crate::outline::OutlineRow;
use crate::search;
use crate::tokens::{CounterId, TokenCounter};

/// How many records are read at a time.
const PAGE: usize = 1024;
/// The most findings that are told one by one.
pub const FINDINGS_CAP: usize = 100;

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The chain: every byte is what was written.
    Chain,
    /// Also the rules, the sums, the outline, the attachments and the search index.
    Deep,
}

/// What was looked at and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries looked at.
    pub entries: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// What is wrong, at most [`FINDINGS_CAP`] of it; empty if all is well.
    pub findings: Vec<Finding>,
    /// Entries of a newer version, which were kept but not understood.
    pub unrecognised: u64,
    /// Whether the search index was left out: the store offers no [`Audit`](super::Audit), or the
    /// index lags behind and the store cannot be written now.
    pub index_skipped: bool,
}

impl Report {
    /// Whether all is well.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Notes what is damaged, if that is what an error says; else it is an error.
    fn find_damage(&mut self, error: StoreError) -> Result<(), StoreError> {
        let Some(what) = error.damage().map(ToOwned::to_owned) else { return Err(error) };
        self.find(Seq::ZERO, what);
        Ok(())
    }

    fn find(&mut self, seq: Seq, what: impl Into<String>) {
        if self.findings.len() < FINDINGS_CAP {
            self.findings.push(Finding { seq, what: what.into() });
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The entry it is about; zero if it is about the conversation.
    pub seq: Seq,
    /// What is wrong.
    pub what: String,
}

/// Verifies a conversation. `progress` is told how many entries have been looked at.
///
/// The report lists what is wrong, including rows that cannot be read. An error means that the
/// conversation could not be checked.
pub async fn verify(
    storage: &dyn Storage,
    id: ConversationId,
    depth: Depth,
    counter: Arc<dyn TokenCounter>,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Report, StoreError> {
    let mut report = Report::default();
    match look(storage, id, depth, counter, progress, &mut report).await {
        Ok(()) => {}
        Err(error) => report.find_damage(error)?,
    }
    Ok(report)
}

async fn look(
    storage: &dyn Storage,
    id: ConversationId,
    depth: Depth,
    counter: Arc<dyn TokenCounter>,
    progress: &mut (dyn FnMut(u64) + Send),
    report: &mut Report,
) -> Result<(), StoreError> {
    let conversation = storage.conversation(id).await?;
    if let Some(damage) = &conversation.damage {
        report.find(Seq::ZERO, damage);
    }
    if depth == Depth::Deep
        && let Err(error) = check_inbox(storage, id).await
    {
        report.find_damage(error)?;
    }
    let mut deep = match depth {
        Depth::Chain => None,
        Depth::Deep => Some(Deep::new(storage, id, counter)),
    };
    let mut previous = GENESIS;
    while Seq(report.entries) < conversation.head {
        let records = storage.read(id, &Page::forward(Seq(report.entries).next(), PAGE)).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let seq = Seq(report.entries).next();
            if !record.follows(previous) {
                report.find(seq, "the record is not what was written: the chain breaks here");
            }
            previous = record.hash;
            report.bytes += u64::try_from(record.size()).unwrap_or(u64::MAX);
            if let Some(deep) = &mut deep {
                deep.record(seq, record, report).await?;
            }
            report.entries = seq.0;
        }
        progress(report.entries);
    }
    let last = Seq(report.entries);
    if last != conversation.head {
        report.find(
            last,
            format!("the history ends here, its head is said to be {}", conversation.head),
        );
    } else if previous != conversation.head_hash {
        report.find(
            conversation.head,
            "the last hash is not the one the conversation is said to have",
        );
    }
    if let Some(deep) = deep {
        deep.finish(&conversation, report).await?;
    }
    Ok(())
}

/// Reads every item that waits: a store decodes each and compares it with its digest.
async fn check_inbox(storage: &dyn Storage, id: ConversationId) -> Result<(), StoreError> {
    let mut after = ItemNumber::default();
    while let Some((last, _)) = storage.waiting(id, after, PAGE).await?.last() {
        after = *last;
    }
    Ok(())
}

/// The deeper look, entry by entry.
struct Deep<'a> {
    storage: &'a dyn Storage,
    id: ConversationId,
    counter: Arc<dyn TokenCounter>,
    /// None once a rule was broken: what follows cannot be judged.
    replay: Option<Replay>,
    passed: Passed,
    rows: Pages<OutlineRow>,
    index: Pages<(Seq, u64)>,
    /// Whether the rows, and the index, can be read and compared.
    compares_rows: bool,
    compares_index: bool,
    attachments: BTreeSet<Digest>,
    /// The last row that somebody else counted.
    last_foreign: Seq,
}

/// Something derived that is read in pages beside the entries.
struct Pages<T> {
    page: std::vec::IntoIter<T>,
    /// The next one, if it was read.
    next: Option<T>,
    /// The last place that was read.
    last: Seq,
    /// Whether there are no more pages.
    ended: bool,
}

impl<T> Pages<T> {
    fn new() -> Self {
        Self { page: Vec::new().into_iter(), next: None, last: Seq::ZERO, ended: false }
    }

    /// Moves on to the next one. Returns whether a page must be read for that.
    fn needs_page(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.page.next();
        }
        self.next.is_none() && !self.ended
    }

    /// Continues with the next page. `last` is the seq of its last row.
    fn turn(&mut self, page: Vec<T>, last: Option<Seq>) {
        self.ended = last.is_none();
        self.last = last.unwrap_or(self.last);
        self.page = page.into_iter();
        self.next = self.page.next();
    }
}

/// What a record says by itself.
struct Inside {
    entry: Entry,
    counts: Counts,
    /// The checksum of its words, if it has any.
    words: Option<u64>,
}

fn inside(record: &Record, counter: &dyn TokenCounter) -> Result<Inside, UnreadableRecord> {
    let entry = record.open()?;
    let counts = Counts::of(&entry.fact, counter);
    let words = search::entry_checksum(&entry);
    Ok(Inside { entry, counts, words })
}

impl<'a> Deep<'a> {
    fn new(storage: &'a dyn Storage, id: ConversationId, counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            storage,
            id,
            counter,
            replay: Some(Replay::new(History::new())),
            passed: Passed::default(),
            index: Pages::new(),
            rows: Pages::new(),
            compares_rows: true,
            compares_index: true,
            attachments: BTreeSet::new(),
            last_foreign: Seq::ZERO,
        }
    }

    async fn record(
        &mut self,
        seq: Seq,
        record: &Record,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        let Inside { entry, counts, words } = match inside(record, &*self.counter) {
            Ok(inside) if inside.entry.seq == seq => inside,
            Ok(inside) => {
                report.find(seq, format!("the record says that it is entry {}", inside.entry.seq));
                self.replay = None;
                return Ok(());
            }
            Err(error) => {
                report.find(seq, error.to_string());
                self.replay = None;
                return Ok(());
            }
        };
        if let Fact::Unrecognised(_) = entry.fact {
            report.unrecognised += 1;
        }
        self.check_attachments(&entry, report).await?;
        if let Some(words) = words {
            self.check_index(seq, words, report).await?;
        }
        self.next_row(report).await?;
        while let Some(stray) = self.rows.next.take_if(|row| row.seq < seq) {
            report.find(stray.seq, "an outline row has no entry");
            self.next_row(report).await?;
        }
        let stored = self.rows.next.take_if(|row| row.seq == seq);
        let adopted = stored.as_ref().filter(|stored| !self.counts_alike(stored)).cloned();
        let (hash, bytes) = (record.hash, record.size());
        let folded = Folded { entry, hash, counts, adopted, bytes };
        let row = self.fold(&folded, report).await?;
        self.check_row(seq, stored, row, report);
        self.passed.push(folded);
        Ok(())
    }

    /// Whether the sums of a row can be counted again: not if another counter had a part in them.
    fn counts_alike(&self, stored: &OutlineRow) -> bool {
        let agent = self.replay.as_ref().and_then(|replay| replay.history().agent(stored.agent));
        let previous = agent.and_then(|agent| agent.row);
        stored.counter == CounterId::of(&*self.counter)
            && previous.is_none_or(|previous| previous > self.last_foreign)
    }

    async fn fold(
        &mut self,
        folded: &Folded,
        report: &mut Report,
    ) -> Result<Option<OutlineRow>, StoreError> {
        let Folded { entry, hash, counts, adopted, .. } = folded;
        let Some(replay) = &self.replay else { return Ok(None) };
        let to = entry.fact.rewinds_to();
        let past = match to.and_then(|to| Some((to, replay.nearest(to)?.clone()))) {
            Some((to, mut past)) => {
                self.passed.fold_on(&mut past, to);
                Some(fold_on(self.storage, self.id, &*self.counter, past, to).await?)
            }
            None => None,
        };
        let Some(replay) = &mut self.replay else { return Ok(None) };
        let taken = match adopted.as_ref().filter(|_| past.is_none()) {
            Some(stored) => replay.take_with_sums_of(stored, entry, *hash, counts.clone()),
            None => replay.take(entry, *hash, counts.clone(), past.as_ref()),
        };
        match taken {
            Ok(row) => Ok(row.map(|row| self.as_counted(row, adopted.as_ref()))),
            Err(broken) => {
                report.find(entry.seq, format!("a rule is broken: {}", broken.rule));
                self.replay = None;
                Ok(None)
            }
        }
    }

    /// The row that an entry gives, with what only another counter can know as it is stored.
    fn as_counted(&mut self, row: OutlineRow, adopted: Option<&OutlineRow>) -> OutlineRow {
        let Some(stored) = adopted else { return row };
        let OutlineRow { recent_sum, live_sum, counter, tokens, .. } = *stored;
        let row = OutlineRow { recent_sum, live_sum, ..row };
        if counter == row.counter {
            return row;
        }
        self.last_foreign = self.last_foreign.max(row.seq);
        let same_calls = stored.results.len() == row.results.len();
        let results = if same_calls { stored.results.clone() } else { row.results };
        OutlineRow { tokens, results, counter, ..row }
    }

    /// Compares the stored row of an entry, if it has one, with the one that the entry gives.
    fn check_row(
        &self,
        seq: Seq,
        stored: Option<OutlineRow>,
        expected: Option<OutlineRow>,
        report: &mut Report,
    ) {
        match (stored, expected) {
            (Some(stored), expected) => {
                if self.replay.is_some() && expected.as_ref() != Some(&stored) {
                    report.find(seq, "its outline row is not what its entry gives");
                } else if !stored.counter.is_known() {
                    report.find(seq, "nobody knows who counted the tokens of its outline row");
                }
            }
            (None, Some(_)) if self.compares_rows => report.find(seq, "its outline row is missing"),
            (None, _) => {}
        }
    }

    async fn next_row(&mut self, report: &mut Report) -> Result<(), StoreError> {
        if self.compares_rows && self.rows.needs_page() {
            match self.storage.outline_ledger(self.id, self.rows.last, PAGE).await {
                Ok(page) => {
                    let last = page.last().map(|row| row.seq);
                    self.rows.turn(page, last);
                }
                // What follows cannot be compared; the entries still can be.
                Err(error) => {
                    report.find_damage(error)?;
                    self.compares_rows = false;
                }
            }
        }
        Ok(())
    }

    async fn next_indexed(&mut self) -> Result<(), StoreError> {
        if self.compares_index && self.index.needs_page() {
            let Some(audit) = self.storage.audit() else {
                self.compares_index = false;
                return Ok(());
            };
            match audit.index_checksums(self.id, self.index.last, PAGE).await {
                Ok(page) => {
                    let last = page.last().map(|(last, _)| *last);
                    self.index.turn(page, last);
                }
                Err(error) if error.refuses_writes() => self.compares_index = false,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Compares what the search index holds of an entry that has words.
    async fn check_index(
        &mut self,
        seq: Seq,
        words: u64,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        self.next_indexed().await?;
        while let Some((stray, _)) = self.index.next.take_if(|(indexed, _)| *indexed < seq) {
            report.find(stray, "the search index holds an entry that has no words");
            self.next_indexed().await?;
        }
        match self.index.next.take_if(|(indexed, _)| *indexed == seq) {
            _ if !self.compares_index => report.index_skipped = true,
            Some((_, sum)) if sum == words => {}
            Some(_) => report.find(seq, "the search index does not hold what the entry says"),
            None => report.find(seq, "the search index does not hold it"),
        }
        Ok(())
    }

    async fn check_attachments(
        &mut self,
        entry: &Entry,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        for digest in entry.attachments() {
            if !self.attachments.insert(digest) {
                continue;
            }
            let wrong = match blob_digest(self.storage, digest).await {
                Ok(Some(found)) if found == digest => continue,
                Ok(None) => "is missing",
                Ok(Some(_)) => "is not what was stored",
                Err(error) if error.damage().is_some() => "is not what was stored",
                Err(error) => return Err(error),
            };
            report.find(entry.seq, format!("its attachment {digest} {wrong}"));
        }
        Ok(())
    }

    async fn finish(
        mut self,
        conversation: &Conversation,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        self.next_indexed().await?;
        if let Some((stray, _)) = self.index.next {
            report.find(stray, "the search index holds an entry that has no words");
        }
        self.next_row(report).await?;
        if let Some(row) = &self.rows.next {
            report.find(row.seq, "an outline row has no entry");
        }
        let Some(replay) = self.replay else { return Ok(()) };
        let history = replay.into_history();
        // What cannot be read of them was noted already.
        if conversation.damage.is_none() && history.sums() != conversation.sums {
            report.find(Seq::ZERO, "the sums are not what the history gives");
        }
        match self.storage.agents(self.id).await {
            Ok(agents) if agents == history.agent_sums() => {}
            Ok(_) => {
                report.find(Seq::ZERO, "the sums of the agents are not what the history gives");
            }
            Err(error) => report.find_damage(error)?,
        }
        Ok(())
    }
}

/// A remembered state taken on to an entry. The entries were folded before, so they fold, and
/// their rows were compared.
async fn fold_on(
    storage: &dyn Storage,
    id: ConversationId,
    counter: &dyn TokenCounter,
    mut history: History,
    to: Seq,
) -> Result<History, StoreError> {
    while history.head() < to {
        let before = history.head();
        let missing = usize::try_from(to.0 - before.0).unwrap_or(PAGE).min(PAGE);
        let records = storage.read(id, &Page::forward(before.next(), missing)).await?;
        let rows = storage.outline_ledger(id, before, missing).await?;
        let mut rows = rows.iter().peekable();
        for record in &records {
            let Ok(entry) = record.open() else { return Ok(history) };
            let counts = Counts::of(&entry.fact, counter);
            if history.apply_or_break(&entry, record.hash, counts).is_err() {
                return Ok(history);
            }
            if let Some(row) = rows.next_if(|row| row.seq <= entry.seq) {
                history.adopt_sums(row);
            }
        }
        if history.head() == before {
            break;
        }
    }
    Ok(history)
}

/// The digest of what is stored as an attachment, if it is.
async fn blob_digest(storage: &dyn Storage, digest: Digest) -> Result<Option<Digest>, StoreError> {
    let Some(size) = storage.blob_size(digest).await? else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    while offset < size {
        let piece = storage.blob(digest, offset, PIECE_CAP_BYTES).await?;
        if piece.is_empty() {
            break;
        }
        hasher.update(&piece);
        offset += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }
    Ok(Some(Digest(*hasher.finalize().as_bytes())))
}
