//! Verifying: whether what is stored is what was written, and what is derived from it is true.

mod contexts;
mod look;
mod passed;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub use contexts::compare_contexts;
use look::{Inside, Lookers, Sheaf};
use passed::{Folded, Passed};

use super::ahead::Ahead;
use super::replay::Replay;
use super::{Conversation, PIECE_CAP_BYTES, Page, Storage, StoreError};
use crate::history::entry::Entry;
use crate::history::fact::{Digest, Fact};
use crate::history::record::{GENESIS, Record, UnreadableRecord};
use crate::history::{Counts, History};
use crate::id::{ConversationId, Seq};
use crate::inbox::ItemNumber;
use crate::outline::OutlineRow;
use crate::tokens::{CounterId, TokenCounter};

/// How many records are read at a time.
const PAGE: usize = 1024;
/// How many pages are looked at ahead of the one that is folded: who looks has always a next one.
const PAGES_AHEAD: usize = 2;
/// The most entries that the search index is compared with at once.
const UNCHECKED_CAP: usize = 65_536;
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
    /// Whether the search index was left out, because it lags behind and the store cannot be
    /// written now.
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
    let (mut deep, mut lookers) = match depth {
        Depth::Chain => (None, Lookers::new(None)),
        Depth::Deep => {
            let lookers = Lookers::new(Some(Arc::clone(&counter)));
            (Some(Deep::new(storage, id, counter).await), lookers)
        }
    };
    let (mut previous, mut next) = (GENESIS, Seq(1));
    let mut coming = Ahead::ask(read(storage, id, next)).await;
    // One page is read while those before it are looked at, and the one before them folded.
    let mut under_way: VecDeque<Arc<Sheaf>> = VecDeque::new();
    loop {
        let records = if next <= conversation.head { coming.answer().await? } else { Vec::new() };
        let last = match records.last() {
            Some(last) => last.hash,
            None => break,
        };
        next = next.plus(u64::try_from(records.len()).unwrap_or(u64::MAX));
        coming = Ahead::ask(read(storage, id, next)).await;
        if let Some(Deep { index: Pages { coming: Some(index), .. }, .. }) = &mut deep {
            index.nudge().await;
        }
        under_way.push_back(lookers.begin(records, std::mem::replace(&mut previous, last)));
        if under_way.len() > PAGES_AHEAD
            && let Some(sheaf) = under_way.pop_front()
        {
            take_in(&sheaf, deep.as_mut(), report).await?;
            progress(report.entries);
        }
    }
    for sheaf in under_way {
        take_in(&sheaf, deep.as_mut(), report).await?;
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

/// Reports what was seen in records, and what they amount to after those before them.
async fn take_in(
    sheaf: &Sheaf,
    mut deep: Option<&mut Deep<'_>>,
    report: &mut Report,
) -> Result<(), StoreError> {
    for (record, look) in sheaf.records.iter().zip(sheaf.finish()) {
        let seq = Seq(report.entries).next();
        if !look.follows {
            report.find(seq, "the record is not what was written: the chain breaks here");
        }
        report.bytes += u64::try_from(record.size()).unwrap_or(u64::MAX);
        if let (Some(deep), Some(inside)) = (&mut deep, look.inside) {
            deep.record(seq, record, inside, report).await?;
        }
        report.entries = seq.0;
    }
    Ok(())
}

async fn read(
    storage: &dyn Storage,
    id: ConversationId,
    from: Seq,
) -> Result<Vec<Record>, StoreError> {
    storage.read(id, &Page::forward(from, PAGE)).await
}

/// The deeper look, entry by entry.
struct Deep<'a> {
    storage: &'a dyn Storage,
    id: ConversationId,
    counter: Arc<dyn TokenCounter>,
    /// None once a rule was broken: what follows cannot be judged.
    replay: Option<Replay>,
    passed: Passed,
    rows: Pages<'a, OutlineRow>,
    index: Pages<'a, (Seq, u64)>,
    /// Whether the rows, and the index, can be read and compared.
    compares_rows: bool,
    compares_index: bool,
    /// What the index should hold of entries it was not yet compared with.
    unchecked: Vec<(Seq, u64)>,
    attachments: BTreeSet<Digest>,
    /// The last row that somebody else counted.
    last_foreign: Seq,
}

/// Something derived that is read in pages beside the entries.
struct Pages<'a, T> {
    page: std::vec::IntoIter<T>,
    next: Option<T>,
    /// The next page; none at the end.
    coming: Option<Ahead<'a, Result<Vec<T>, StoreError>>>,
}

impl<'a, T> Pages<'a, T> {
    fn new(first: Ahead<'a, Result<Vec<T>, StoreError>>) -> Self {
        Self { page: Vec::new().into_iter(), next: None, coming: Some(first) }
    }

    /// What comes next, if it is here; else a page must be taken in first, if one is to come.
    fn advance(&mut self) -> Option<Ahead<'a, Result<Vec<T>, StoreError>>> {
        if self.next.is_none() {
            self.next = self.page.next();
        }
        if self.next.is_none() { self.coming.take() } else { None }
    }

    fn take_in(&mut self, page: Vec<T>, coming: Option<Ahead<'a, Result<Vec<T>, StoreError>>>) {
        self.page = page.into_iter();
        self.next = self.page.next();
        self.coming = coming;
    }
}

impl<'a> Deep<'a> {
    async fn new(
        storage: &'a dyn Storage,
        id: ConversationId,
        counter: Arc<dyn TokenCounter>,
    ) -> Self {
        Self {
            storage,
            id,
            counter,
            replay: Some(Replay::new(History::new())),
            passed: Passed::default(),
            index: Pages::new(Ahead::ask(storage.index_checksums(id, Seq::ZERO, PAGE)).await),
            rows: Pages::new(Ahead::ask(storage.outline_ledger(id, Seq::ZERO, PAGE)).await),
            compares_rows: true,
            compares_index: true,
            unchecked: Vec::new(),
            attachments: BTreeSet::new(),
            last_foreign: Seq::ZERO,
        }
    }

    async fn record(
        &mut self,
        seq: Seq,
        record: &Record,
        inside: Result<Inside, UnreadableRecord>,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        let Inside { entry, counts, words } = match inside {
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
        self.check_index(seq, words, report).await?;
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
        let past = match &entry.fact {
            Fact::Rewound(rewound) => match replay.nearest(rewound.to).cloned() {
                Some(mut past) => {
                    self.passed.fold_on(&mut past, rewound.to);
                    Some(fold_on(self.storage, self.id, &*self.counter, past, rewound.to).await?)
                }
                None => None,
            },
            _ => None,
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
        if let Some(coming) = self.rows.advance() {
            let page = match coming.answer().await {
                Ok(page) => page,
                // What follows cannot be compared; the entries still can be.
                Err(error) => {
                    report.find_damage(error)?;
                    self.compares_rows = false;
                    return Ok(());
                }
            };
            let coming = match page.last() {
                Some(last) => {
                    Some(Ahead::ask(self.storage.outline_ledger(self.id, last.seq, PAGE)).await)
                }
                None => None,
            };
            self.rows.take_in(page, coming);
        }
        Ok(())
    }

    async fn next_indexed(&mut self) -> Result<(), StoreError> {
        if let Some(coming) = self.index.advance() {
            let page = match coming.answer().await {
                Err(error) if error.refuses_writes() => {
                    self.compares_index = false;
                    return Ok(());
                }
                page => page?,
            };
            let coming = match page.last() {
                Some((last, _)) => {
                    Some(Ahead::ask(self.storage.index_checksums(self.id, *last, PAGE)).await)
                }
                None => None,
            };
            self.index.take_in(page, coming);
        }
        Ok(())
    }

    /// Notes what the search index should hold of an entry. It is compared later, because reading
    /// an index may take as long as all the rest and is under way meanwhile.
    async fn check_index(
        &mut self,
        seq: Seq,
        words: Option<u64>,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        if let Some(sum) = words {
            self.unchecked.push((seq, sum));
        }
        if self.unchecked.len() >= UNCHECKED_CAP {
            self.compare_index(report).await
        } else {
            Ok(())
        }
    }

    async fn compare_index(&mut self, report: &mut Report) -> Result<(), StoreError> {
        for (seq, expected) in std::mem::take(&mut self.unchecked) {
            self.next_indexed().await?;
            if !self.compares_index {
                report.index_skipped = true;
                return Ok(());
            }
            while let Some((indexed, _)) = self.index.next
                && indexed < seq
            {
                report.find(indexed, "the search index holds an entry that has no words");
                self.index.next = None;
                self.next_indexed().await?;
            }
            match self.index.next {
                Some((indexed, sum)) if indexed == seq => {
                    self.index.next = None;
                    if sum != expected {
                        report.find(seq, "the search index does not hold what the entry says");
                    }
                }
                Some(_) | None => report.find(seq, "the search index does not hold it"),
            }
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
        self.compare_index(report).await?;
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
