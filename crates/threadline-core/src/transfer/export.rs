//! Writing an export.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use super::line::{Line, PART_CAP_BYTES, Part};
use crate::history::batch::{Batch, Placed};
use crate::history::fact::{Digest, Moved};
use crate::history::record::{GENESIS, Record};
use crate::history::{Proposal, Proposed, Refused, Stamp};
use crate::id::{AgentId, ConversationId, Seq};
use crate::inbox::{Item, ItemNumber};
use crate::store::{Lease, OpenError, Origin, PIECE_CAP_BYTES, Page, Storage, StoreError};

/// How many records are read at a time.
const PAGE: usize = 512;

/// What was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// How many entries.
    pub entries: u64,
    /// How many attachments.
    pub attachments: u64,
    /// How many inbox items.
    pub waiting: u64,
}

/// Why a conversation could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be written.
    #[error("could not write the export")]
    Write(#[from] io::Error),
    /// It could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be moved as it is.
    #[error("the conversation cannot be moved")]
    Refused(#[from] Refused),
    /// Something new waits for it.
    #[error("something new came for the conversation while it was written; try again")]
    Changed,
    /// An entry names an attachment that is not there.
    #[error("entry {0} names the attachment {1}, which is missing")]
    NoAttachment(Seq, Digest),
    /// An attachment is not what was stored.
    #[error("the attachment {1} of entry {0} was changed after it was stored")]
    ChangedAttachment(Seq, Digest),
}

/// Writes a copy of a conversation, or of what it was up to an entry.
pub async fn export(
    storage: &dyn Storage,
    id: ConversationId,
    up_to: Option<Seq>,
    to: &mut (dyn Write + Send),
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Exported, ExportError> {
    let head = storage.conversation(id).await?.head;
    let head = up_to.map_or(head, |seq| seq.min(head));
    let mut writer = Exporter::new(storage, id, to)?;
    writer.entries(head, progress).await?;
    writer.finish(0)
}

/// Writes a conversation that goes on elsewhere. It is closed here by [`Move::close`], which the
/// caller calls once what was written is durable: it is never closed without its export.
pub async fn export_move(
    storage: &dyn Storage,
    id: ConversationId,
    where_to: Option<Arc<str>>,
    stamp: Stamp<'_>,
    to: &mut (dyn Write + Send),
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Move, ExportError> {
    let (conversation, history) = crate::store::open(storage, id, stamp.counter).await?;
    let moved = Proposal::new(AgentId::CONVERSATION, Moved { to: where_to }, stamp.counter);
    let Proposed { batch, .. } = history.propose([moved], stamp)?;
    let mut writer = Exporter::new(storage, id, to)?;
    writer.entries(conversation.head, progress).await?;
    for Placed { record, entry } in &batch.entries {
        writer.entry(entry.seq, record).await?;
    }
    let (waiting, last_item) = writer.waiting().await?;
    Ok(Move { exported: writer.finish(waiting)?, batch, last_item })
}

/// A conversation that was written to go on elsewhere, and is not yet closed here.
#[must_use = "the conversation is not closed before `close` is called"]
#[derive(Debug)]
pub struct Move {
    /// What was exported.
    pub exported: Exported,
    batch: Batch,
    /// The last inbox item that was written.
    last_item: ItemNumber,
}

impl Move {
    /// Closes the conversation here. Refused if it, or what waits for it, has changed since it was
    /// written: then what was written must be thrown away.
    pub async fn close(
        self,
        storage: &dyn Storage,
        lease: &Lease,
    ) -> Result<Exported, ExportError> {
        storage.append(lease, &self.batch).await?;
        // From here on nothing new can wait. What came before and is not in the file would be
        // lost: it goes on here instead.
        let id = lease.conversation;
        if storage.waiting(id, self.last_item, 1).await?.is_empty() {
            return Ok(self.exported);
        }
        let waiting = all_waiting(storage, id).await?;
        let waiting: Vec<Item> = waiting.into_iter().map(|(_, item)| item).collect();
        let stage = storage.begin_intake(id, self.batch.head()).await?;
        storage.adopt(stage, Origin::Own, false, &waiting).await?;
        Err(ExportError::Changed)
    }
}

struct Exporter<'a> {
    storage: &'a dyn Storage,
    id: ConversationId,
    to: &'a mut (dyn Write + Send),
    last: (Seq, Digest),
    written: BTreeSet<Digest>,
}

impl<'a> Exporter<'a> {
    fn new(
        storage: &'a dyn Storage,
        id: ConversationId,
        to: &'a mut (dyn Write + Send),
    ) -> io::Result<Self> {
        Line::Header(id).write(to)?;
        Ok(Self { storage, id, to, last: (Seq::ZERO, GENESIS), written: BTreeSet::new() })
    }

    async fn entries(
        &mut self,
        head: Seq,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), ExportError> {
        while self.last.0 < head {
            let next = self.last.0.next();
            let most = usize::try_from(head.0 - self.last.0.0).unwrap_or(PAGE).min(PAGE);
            let records = self.storage.read(self.id, &Page::forward(next, most)).await?;
            if records.is_empty() {
                return Err(OpenError::BrokenChain { id: self.id, seq: next }.into());
            }
            for record in &records {
                self.entry(self.last.0.next(), record).await?;
            }
            progress(self.last.0.0);
        }
        Ok(())
    }

    async fn entry(&mut self, seq: Seq, record: &Record) -> Result<(), ExportError> {
        if !record.follows(self.last.1) {
            return Err(OpenError::BrokenChain { id: self.id, seq }.into());
        }
        // Only what can name an attachment is worth decoding.
        if may_attach(&record.body) {
            let entry = record.open().map_err(|source| OpenError::Unreadable {
                id: self.id,
                seq,
                source,
            })?;
            for digest in entry.attachments() {
                if self.written.insert(digest) {
                    self.attachment(seq, digest).await?;
                }
            }
        }
        Line::Entry(record.clone()).write(self.to)?;
        self.last = (seq, record.hash);
        Ok(())
    }

    async fn attachment(&mut self, seq: Seq, digest: Digest) -> Result<(), ExportError> {
        let size =
            self.storage.blob_size(digest).await?.ok_or(ExportError::NoAttachment(seq, digest))?;
        let (mut offset, mut hasher) = (0, blake3::Hasher::new());
        loop {
            let mut bytes = Vec::new();
            while bytes.len() < PART_CAP_BYTES {
                let at = offset + u64::try_from(bytes.len()).unwrap_or(0);
                let piece = self.storage.blob(digest, at, PIECE_CAP_BYTES).await?;
                if piece.is_empty() {
                    break;
                }
                bytes.extend(piece);
            }
            let length = u64::try_from(bytes.len()).unwrap_or(0);
            hasher.update(&bytes);
            if offset + length >= size && Digest(*hasher.finalize().as_bytes()) != digest {
                return Err(ExportError::ChangedAttachment(seq, digest));
            }
            Line::Attachment(Part { digest, size, offset, bytes }).write(self.to)?;
            offset += length;
            if offset >= size {
                return Ok(());
            }
            if length == 0 {
                return Err(ExportError::NoAttachment(seq, digest));
            }
        }
    }

    async fn waiting(&mut self) -> Result<(u64, ItemNumber), ExportError> {
        let items = all_waiting(self.storage, self.id).await?;
        let last = items.last().map(|(number, _)| *number).unwrap_or_default();
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        for (_, item) in items {
            Line::Waiting(item).write(self.to)?;
        }
        Ok((count, last))
    }

    fn finish(self, waiting: u64) -> Result<Exported, ExportError> {
        Line::End(self.last.0, self.last.1).write(self.to)?;
        self.to.flush()?;
        let attachments = u64::try_from(self.written.len()).unwrap_or(u64::MAX);
        Ok(Exported { entries: self.last.0.0, attachments, waiting })
    }
}

/// Everything that waits for a conversation.
async fn all_waiting(
    storage: &dyn Storage,
    id: ConversationId,
) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map(|(number, _)| *number).unwrap_or_default();
        let page = storage.waiting(id, after, PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Whether a body can name an attachment: a quick look that may say yes too often, never too
/// seldom, since both keys are written only where there is one.
fn may_attach(body: &[u8]) -> bool {
    let has = |key: &[u8]| body.windows(key.len()).any(|window| window == key);
    has(b"\"attachments\"") || has(b"\"catalogue\"")
}
