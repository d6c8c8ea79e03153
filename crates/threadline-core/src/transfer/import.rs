//! Reading an export.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::sync::Arc;

use super::line::{LINE_CAP_BYTES, Line, NotALine, Part, read_line};
use crate::history::batch::{Batch, Placed};
use crate::history::entry::Entry;
use crate::history::fact::{Answer, Digest, PolicySet};
use crate::history::record::Record;
use crate::history::rule::BrokenRule;
use crate::history::snapshot::SNAPSHOT_EVERY;
use crate::history::{Counts, History};
use crate::id::{ConversationId, Seq};
use crate::inbox::{Body, Item};
use crate::outline::OutlineRow;
use crate::store::replay::Replay;
use crate::store::{
    OpenError, Origin, PIECE_CAP_BYTES, Page, StageId, Storage, StoreError, Upload, history_at,
};
use crate::tokens::TokenCounter;

/// How many entries are staged at a time.
const BATCH_ENTRIES: usize = 512;
/// How many bytes are staged at a time.
const BATCH_BYTES: usize = 2 * 1024 * 1024;
/// How many records are read at a time.
const PAGE: usize = 512;
/// The most inbox items that an export may bring.
const WAITING_CAP: usize = 10_000;

/// How to import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// Under a new id, as a conversation of its own.
    pub as_new: Option<ConversationId>,
    /// Keep what is sound of a broken export.
    pub salvage: bool,
    /// The person vouches for the file: policies, approvals and the workspace in it count here, and
    /// a conversation that was moved continues exactly.
    pub trusted: bool,
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    /// The conversation.
    pub id: ConversationId,
    /// Its entries now.
    pub entries: u64,
    /// How many of them are new here.
    pub new: u64,
    /// How many attachments were new here or already there.
    pub attachments: u64,
    /// How many inbox items came along.
    pub waiting: u64,
    /// Whether it goes on exactly here, rather than as a copy.
    pub moved: bool,
    /// What the file brings that confers nothing here, if nobody vouched for it.
    pub voided: Voided,
    /// Why it ends before the export does, where that was salvaged.
    pub salvaged: Option<ImportError>,
}

/// Authority in an export that confers nothing here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voided {
    /// Policies that were set.
    pub policies: Vec<PolicySet>,
    /// Calls that were approved and not started.
    pub approvals: u64,
    /// The folder it worked in.
    pub workspace: Option<Arc<str>>,
    /// Inbox items that were discarded: answers to approvals, cancels and commands.
    pub items: u64,
}

impl Voided {
    fn of(history: &History, items: u64) -> Self {
        let ledger = history.ledger();
        let calls = history.state().agents.values().flat_map(|agent| agent.open_calls());
        let approved = calls.filter(|(_, call)| {
            let answer = call.approval.and_then(|approval| approval.answer);
            call.started.is_none() && answer == Some(Answer::Allow)
        });
        Self {
            policies: ledger.policies.clone(),
            approvals: u64::try_from(approved.count()).unwrap_or(u64::MAX),
            workspace: ledger.workspace.as_ref().map(|workspace| Arc::clone(&workspace.path)),
            items,
        }
    }

    /// Whether the export brought no authority.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why an export could not be imported. Nothing of it remains.
#[derive(Debug, thiserror::Error)]
#[error("line {line}")]
pub struct ImportError {
    /// The line of the export.
    pub line: u64,
    /// What is wrong.
    #[source]
    pub wrong: Wrong,
}

/// What is wrong with an export.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// It could not be read.
    #[error("could not read the export")]
    Read(#[source] io::Error),
    /// A line is not one of ours.
    #[error(transparent)]
    NotALine(#[from] NotALine),
    /// A line is too long.
    #[error("the line is longer than {LINE_CAP_BYTES} bytes")]
    TooLong,
    /// It does not begin as an export.
    #[error("the file does not begin with the header of an export")]
    NoHeader,
    /// It breaks off.
    #[error("the export breaks off here; it has no end")]
    BreaksOff,
    /// Something follows its end.
    #[error("something follows the end of the export")]
    AfterEnd,
    /// Its end does not fit its entries.
    #[error("the end does not fit the last entry")]
    WrongEnd,
    /// It has no entries.
    #[error("the export has no entries")]
    Empty,
    /// A record is not what was written.
    #[error("entry {0} is not what was written: the chain breaks here")]
    BrokenChain(Seq),
    /// Entries are out of order.
    #[error("expected entry {expected}, found entry {found}")]
    OutOfOrder {
        /// The entry that should be here.
        expected: Seq,
        /// The entry that is here.
        found: Seq,
    },
    /// A record cannot be read.
    #[error("the entry cannot be read")]
    Unreadable(#[source] crate::history::record::UnreadableRecord),
    /// An entry cannot stand where it stands.
    #[error("the entry breaks a rule")]
    Rule(#[from] BrokenRule),
    /// An attachment is not what its digest says.
    #[error("the attachment {0} is not what its digest says, or its parts are out of order")]
    Attachment(Digest),
    /// An entry names an attachment that did not come before it.
    #[error("entry {0} names the attachment {1}, which did not come before it")]
    NoAttachment(Seq, Digest),
    /// The conversation here went another way.
    #[error(
        "conversation {id} is already here and differs from entry {seq} on; import it as a conversation of its own with --as-new"
    )]
    Diverged {
        /// The conversation.
        id: ConversationId,
        /// The first entry that differs.
        seq: Seq,
    },
    /// More inbox items than can be.
    #[error("more than {WAITING_CAP} inbox items")]
    TooManyWaiting,
    /// The store could not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is here already could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Wrong {
    /// Whether it is the export that is broken, so that what comes before is sound.
    fn is_in_export(&self) -> bool {
        match self {
            Self::Read(_)
            | Self::NotALine(_)
            | Self::TooLong
            | Self::NoHeader
            | Self::BreaksOff
            | Self::AfterEnd
            | Self::WrongEnd
            | Self::Empty
            | Self::BrokenChain(_)
            | Self::OutOfOrder { .. }
            | Self::Unreadable(_)
            | Self::Rule(_)
            | Self::Attachment(_)
            | Self::NoAttachment(..)
            | Self::TooManyWaiting => true,
            Self::Diverged { .. } | Self::Store(_) | Self::Open(_) => false,
        }
    }
}

/// Takes in an export. `progress` is told how many entries have been read.
///
/// The same prefix here is extended; a conversation that went another way is refused. On an error
/// nothing of it remains, unless what is sound is to be salvaged.
pub async fn import(
    storage: &dyn Storage,
    from: &mut (dyn BufRead + Send),
    options: Import,
    counter: &dyn TokenCounter,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Imported, ImportError> {
    let mut lines = Lines { from, number: 0, bytes: Vec::new() };
    let begun = begin(storage, &mut lines, options, counter).await;
    let mut importer = begun.map_err(|wrong| ImportError { line: lines.number, wrong })?;
    let read = importer.read(&mut lines, progress).await;
    let broken = read.err().map(|wrong| ImportError { line: lines.number, wrong });
    let keeps = options.salvage && broken.as_ref().is_none_or(|error| error.wrong.is_in_export());
    match broken {
        Some(error) if !keeps => {
            importer.forget().await;
            Err(error)
        }
        broken => {
            let last = lines.number;
            importer.finish(broken).await.map_err(|wrong| ImportError { line: last, wrong })
        }
    }
}

async fn begin<'a>(
    storage: &'a dyn Storage,
    lines: &mut Lines<'_>,
    options: Import,
    counter: &'a dyn TokenCounter,
) -> Result<Importer<'a>, Wrong> {
    let header = match lines.next() {
        Ok(line) => line,
        Err(Wrong::NotALine(NotALine::Form(_) | NotALine::Kind) | Wrong::BreaksOff) => {
            return Err(Wrong::NoHeader);
        }
        Err(other) => return Err(other),
    };
    let Some(Line::Header(id)) = header else { return Err(Wrong::NoHeader) };
    let id = options.as_new.unwrap_or(id);
    let (here, closed, distrusted, history) = match storage.conversation(id).await {
        Ok(here) => {
            let history = history_at(storage, id, here.head, counter).await?;
            (here.head, here.moved_away, here.origin == Origin::Imported, history)
        }
        Err(StoreError::NotFound(_)) => (Seq::ZERO, false, false, History::new()),
        Err(error) => return Err(error.into()),
    };
    let stage = storage.begin_intake(id, here).await?;
    Ok(Importer {
        storage,
        id,
        here,
        closed,
        distrusted,
        stage,
        counter,
        previous: crate::history::record::GENESIS,
        last: Seq::ZERO,
        replay: Replay::new(history),
        pending: Pending::default(),
        attachment: None,
        attachments: BTreeSet::new(),
        waiting: Vec::new(),
        moved: false,
        options,
        discarded: 0,
        own: Vec::new().into_iter(),
    })
}

/// The lines of an export, counted.
struct Lines<'a> {
    from: &'a mut (dyn BufRead + Send),
    number: u64,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Line>, Wrong> {
        let (some, whole) = read_line(self.from, &mut self.bytes).map_err(Wrong::Read)?;
        if !some {
            return Ok(None);
        }
        self.number += 1;
        if self.bytes.len() > LINE_CAP_BYTES {
            return Err(Wrong::TooLong);
        }
        if !whole {
            return Err(Wrong::BreaksOff);
        }
        Line::parse(&self.bytes).map(Some).map_err(Wrong::NotALine)
    }
}

/// Entries that were read and not yet staged.
#[derive(Default)]
struct Pending {
    placed: Vec<Placed>,
    rows: Vec<Arc<OutlineRow>>,
    bytes: usize,
    base: Option<(Seq, Digest)>,
}

struct Importer<'a> {
    storage: &'a dyn Storage,
    id: ConversationId,
    /// The last entry that is here already.
    here: Seq,
    /// Whether it was moved away from here.
    closed: bool,
    /// Whether it is here already, from a file that nobody vouched for, and nothing was appended.
    distrusted: bool,
    stage: StageId,
    counter: &'a dyn TokenCounter,
    previous: Digest,
    last: Seq,
    replay: Replay,
    pending: Pending,
    attachment: Option<PartialAttachment>,
    attachments: BTreeSet<Digest>,
    waiting: Vec<Item>,
    moved: bool,
    options: Import,
    /// How many inbox items were left out because they confer authority.
    discarded: u64,
    /// The hashes of entries that are here already, read ahead.
    own: std::vec::IntoIter<Record>,
}

/// An attachment whose parts are still coming.
struct PartialAttachment {
    digest: Digest,
    size: u64,
    received: u64,
    /// Apart, because it is large.
    hasher: Box<blake3::Hasher>,
    upload: Upload,
}

impl Importer<'_> {
    async fn read(
        &mut self,
        lines: &mut Lines<'_>,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), Wrong> {
        loop {
            match lines.next()?.ok_or(Wrong::BreaksOff)? {
                Line::Header(_) => return Err(NotALine::Kind.into()),
                Line::Entry(record) => {
                    self.entry(record).await?;
                    if self.last.0.is_multiple_of(1024) {
                        progress(self.last.0);
                    }
                }
                Line::Attachment(part) => self.part(part).await?,
                Line::Waiting(_) if self.waiting.len() >= WAITING_CAP => {
                    return Err(Wrong::TooManyWaiting);
                }
                Line::Waiting(item) if self.options.trusted || is_input(&item) => {
                    self.waiting.push(item);
                }
                Line::Waiting(_) => self.discarded = self.discarded.saturating_add(1),
                Line::End(seq, hash) => {
                    if (seq, hash) != (self.last, self.previous) {
                        return Err(Wrong::WrongEnd);
                    }
                    progress(self.last.0);
                    return match lines.next() {
                        Ok(None) => Ok(()),
                        Ok(Some(_)) | Err(_) => Err(Wrong::AfterEnd),
                    };
                }
            }
        }
    }

    async fn entry(&mut self, record: Record) -> Result<(), Wrong> {
        let expected = self.last.next();
        let entry = Arc::new(record.open().map_err(Wrong::Unreadable)?);
        let record = Arc::new(record);
        if entry.seq != expected {
            return Err(Wrong::OutOfOrder { expected, found: entry.seq });
        }
        if !record.follows(self.previous) {
            return Err(Wrong::BrokenChain(expected));
        }
        if entry.seq <= self.here {
            self.compare(&record, entry.seq).await?;
        } else {
            for digest in entry.attachments() {
                let known = self.attachments.contains(&digest)
                    || self.storage.blob_size(digest).await?.is_some();
                if !known {
                    return Err(Wrong::NoAttachment(entry.seq, digest));
                }
            }
            let past = self.past(&entry).await?;
            let counts = Counts::of(&entry.fact, self.counter);
            let row = match self.replay.take(&entry, record.hash, counts, past.as_ref()) {
                Ok(row) => row,
                Err(broken) => {
                    self.fold_again().await?;
                    return Err(broken.into());
                }
            };
            self.pending.base.get_or_insert((self.last, self.previous));
            self.pending.bytes += record.size();
            self.pending.rows.extend(row.map(Arc::new));
            let (entry, record) = (Arc::clone(&entry), Arc::clone(&record));
            self.pending.placed.push(Placed { entry, record });
        }
        self.moved = entry.fact.closes_conversation();
        self.previous = record.hash;
        self.last = entry.seq;
        if self.pending.placed.len() >= BATCH_ENTRIES || self.pending.bytes >= BATCH_BYTES {
            self.stage().await?;
        }
        Ok(())
    }

    /// Whether an entry is the one that is here already.
    async fn compare(&mut self, record: &Record, seq: Seq) -> Result<(), Wrong> {
        let own = match self.own.next() {
            Some(own) => Some(own),
            None => {
                self.own = self.storage.read(self.id, &Page::forward(seq, PAGE)).await?.into_iter();
                self.own.next()
            }
        };
        match own {
            Some(own) if own.hash == record.hash => Ok(()),
            Some(_) | None => Err(Wrong::Diverged { id: self.id, seq }),
        }
    }

    /// The state a rewind leads to.
    async fn past(&mut self, entry: &Entry) -> Result<Option<History>, Wrong> {
        let Some(to) = entry.fact.rewinds_to() else { return Ok(None) };
        if to < self.here {
            return Ok(Some(history_at(self.storage, self.id, to, self.counter).await?));
        }
        self.stage().await?;
        let Some(mut past) = self.replay.nearest(to).cloned() else { return Ok(None) };
        while past.head() < to {
            let missing = usize::try_from(to.0 - past.head().0).unwrap_or(PAGE).min(PAGE);
            let records = self.storage.staged(self.stage, past.head().next(), missing).await?;
            if records.is_empty() {
                return Ok(None);
            }
            for record in records {
                let entry = record.open().map_err(Wrong::Unreadable)?;
                past.apply_or_break(&entry, record.hash, Counts::of(&entry.fact, self.counter))?;
            }
        }
        Ok(Some(past))
    }

    /// Rebuilds the state from the accepted entries after an entry broke a rule: the refused entry may
    /// have been folded in part, and a salvage must keep the state of the accepted entries only.
    async fn fold_again(&mut self) -> Result<(), Wrong> {
        let Some(mut history) = self.replay.nearest(self.last).cloned() else { return Ok(()) };
        let unstaged = self.pending.base.map_or(self.last, |(base, _)| base);
        while history.head() < unstaged {
            let missing = usize::try_from(unstaged.0 - history.head().0).unwrap_or(PAGE).min(PAGE);
            let records = self.storage.staged(self.stage, history.head().next(), missing).await?;
            if records.is_empty() {
                break;
            }
            for record in records {
                let entry = record.open().map_err(Wrong::Unreadable)?;
                history.apply_or_break(
                    &entry,
                    record.hash,
                    Counts::of(&entry.fact, self.counter),
                )?;
            }
        }
        for Placed { entry, record } in &self.pending.placed {
            if entry.seq > history.head() {
                let counts = Counts::of(&entry.fact, self.counter);
                history.apply_or_break(entry, record.hash, counts)?;
            }
        }
        self.replay.restore(history);
        Ok(())
    }

    async fn stage(&mut self) -> Result<(), Wrong> {
        let pending = std::mem::take(&mut self.pending);
        let Some(base) = pending.base else { return Ok(()) };
        let history = self.replay.history();
        let (sums, agents) = (history.sums(), history.agent_sums());
        let batch = Batch::new(base, pending.placed, pending.rows, sums, agents);
        let due = batch.base.0 / SNAPSHOT_EVERY != batch.head().0 / SNAPSHOT_EVERY;
        let snapshot = due.then(|| history.to_snapshot());
        self.storage.stage(self.stage, &batch, snapshot.as_ref()).await?;
        Ok(())
    }

    async fn part(&mut self, part: Part) -> Result<(), Wrong> {
        let upload = match &self.attachment {
            Some(current) => current.upload,
            None => self.storage.begin_upload().await?,
        };
        // From here on it is abandoned with the rest if anything fails.
        let current = self.attachment.get_or_insert_with(|| PartialAttachment {
            digest: part.digest,
            size: part.size,
            received: 0,
            hasher: Box::default(),
            upload,
        });
        let length = u64::try_from(part.bytes.len()).unwrap_or(u64::MAX);
        let fits = current.digest == part.digest
            && current.size == part.size
            && current.received == part.offset
            && current.received.saturating_add(length) <= current.size
            && (length > 0 || current.size == 0);
        if !fits {
            return Err(Wrong::Attachment(part.digest));
        }
        current.hasher.update(&part.bytes);
        current.received += length;
        let (received, digest) = (current.received, current.hasher.finalize());
        for piece in part.bytes.chunks(PIECE_CAP_BYTES) {
            self.storage.upload(upload, piece.to_vec()).await?;
        }
        if received < part.size {
            return Ok(());
        }
        // What is kept is never removed: it is not kept before it is known to be the right one.
        if Digest(*digest.as_bytes()) != part.digest {
            return Err(Wrong::Attachment(part.digest));
        }
        self.storage.finish_upload(upload).await?;
        self.attachment = None;
        self.attachments.insert(part.digest);
        Ok(())
    }

    async fn forget(mut self) {
        if let Some(partial) = self.attachment.take() {
            drop(self.storage.abandon_upload(partial.upload).await);
        }
        // What cannot be discarded now is swept when the store is opened next.
        drop(self.storage.discard(self.stage).await);
    }

    async fn finish(mut self, broken: Option<ImportError>) -> Result<Imported, Wrong> {
        if let Err(wrong) = self.adopt(broken.is_some()).await {
            self.forget().await;
            return Err(wrong);
        }
        if let Some(partial) = self.attachment.take() {
            drop(self.storage.abandon_upload(partial.upload).await);
        }
        let voided = if self.options.trusted || self.last <= self.here {
            Voided::default()
        } else {
            Voided::of(self.replay.history(), self.discarded)
        };
        Ok(Imported {
            id: self.id,
            entries: self.last.0.max(self.here.0),
            new: self.last.0.saturating_sub(self.here.0),
            attachments: u64::try_from(self.attachments.len()).unwrap_or(u64::MAX),
            waiting: u64::try_from(self.waiting.len()).unwrap_or(u64::MAX),
            moved: self.goes_on(broken.is_some()) && self.brings_something(true),
            voided,
            salvaged: broken,
        })
    }

    /// Whether the conversation goes on exactly here, rather than as a copy.
    fn goes_on(&self, broken: bool) -> bool {
        self.moved && self.options.as_new.is_none() && !broken
    }

    /// Whether there is something to adopt: entries that are new here, a move that is taken back
    /// where it began, which opens the conversation again, or trust in what is here already.
    fn brings_something(&self, exact: bool) -> bool {
        let vouches = self.distrusted && self.options.trusted;
        self.last > self.here || (self.last == self.here && ((self.closed && exact) || vouches))
    }

    async fn adopt(&mut self, broken: bool) -> Result<(), Wrong> {
        if self.last == Seq::ZERO {
            return Err(Wrong::Empty);
        }
        self.stage().await?;
        let exact = self.goes_on(broken);
        if !self.brings_something(exact) {
            self.storage.discard(self.stage).await?;
            return Ok(());
        }
        let origin = match (self.options.trusted, exact) {
            (true, true) => Origin::Own,
            (true, false) => Origin::Copy,
            (false, _) => Origin::Imported,
        };
        let waiting: &[Item] = if exact { &self.waiting } else { &[] };
        self.storage.adopt(self.stage, origin, true, waiting).await?;
        Ok(())
    }
}

/// Whether an inbox item only says something, rather than conferring authority or changing the
/// conversation.
fn is_input(item: &Item) -> bool {
    match item.body {
        Body::Input(_) => true,
        Body::Approval { .. } | Body::Cancel | Body::Command(_) => false,
    }
}
