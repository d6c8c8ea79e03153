//! Recall: what is known of a thread since it was last looked at, so that it is not read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::batch::Batch;
use crate::history::by_seq::BySeq;
use crate::history::entry::Entry;
use crate::id::{AgentId, Seq};
use crate::outline::OutlineRow;

/// The most bytes of records whose entries are recalled, and of those that were not shown last.
const ENTRIES_CAP_BYTES: usize = 4 * 1024 * 1024;
const UNSHOWN_CAP_BYTES: usize = 256 * 1024;
/// The most rows that are recalled.
const ROWS_CAP: usize = 4096;
/// The most rows that are recalled by themselves.
const OTHERS_CAP: usize = 1024;

/// Rows of one agent's thread and their entries, as they were read or written.
///
/// Neither ever changes, and a path leads only to what is on it: what is recalled is right
/// whatever was appended or taken back since. What is not recalled is read.
#[derive(Debug, Default)]
pub struct Recall {
    rows: BySeq<Arc<OutlineRow>>,
    /// Rows that were looked at by themselves, such as those of pins; none if there is no such row.
    others: BTreeMap<Seq, Option<Arc<OutlineRow>>>,
    /// With the bytes of their records.
    entries: BySeq<(Arc<Entry>, usize)>,
    /// All these bytes.
    bytes: usize,
}

impl Recall {
    /// Takes in what a durable batch adds to an agent's thread.
    pub fn note(&mut self, agent: AgentId, batch: &Batch) {
        if self.rows.len() >= ROWS_CAP {
            *self = Self::default();
        }
        self.note_rows(batch.rows.iter().filter(|row| row.agent == agent).cloned());
        for placed in batch.entries.iter().filter(|placed| placed.entry.agent == agent) {
            let seq = placed.entry.seq;
            let finished = placed.entry.fact.as_tool_finished().is_some();
            if (finished || self.rows.contains(seq)) && !self.entries.contains(seq) {
                self.note_entry(Arc::clone(&placed.entry), placed.record.size());
            }
        }
    }

    /// Takes in a batch that may not be in the store yet, all of it: what is not recalled would be
    /// looked for there. It will be, or nobody asks any more.
    pub fn note_unstored(&mut self, agent: AgentId, batch: &Batch) {
        self.note(agent, batch);
        for row in batch.rows.iter().filter(|row| row.agent == agent) {
            self.note_other(row.seq, self.rows.get(row.seq).cloned());
        }
        for placed in &batch.entries {
            if !self.entries.contains(placed.entry.seq) {
                self.note_entry(Arc::clone(&placed.entry), placed.record.size());
            }
        }
    }

    pub(super) fn note_rows(&mut self, rows: impl IntoIterator<Item = Arc<OutlineRow>>) {
        self.rows.extend(rows.into_iter().map(|row| (row.seq, row)));
    }

    /// An entry, and the bytes of its record.
    pub(super) fn note_entry(&mut self, entry: Arc<Entry>, bytes: usize) {
        self.bytes += bytes;
        if let Some((_, before)) = self.entries.insert(entry.seq, (entry, bytes)) {
            self.bytes -= before;
        }
    }

    pub(super) fn note_other(&mut self, seq: Seq, row: Option<Arc<OutlineRow>>) {
        if self.others.len() >= OTHERS_CAP {
            self.others.clear();
        }
        self.others.insert(seq, row);
    }

    pub(super) fn other(&self, seq: Seq) -> Option<&Option<Arc<OutlineRow>>> {
        self.others.get(&seq)
    }

    /// The row of an entry, with where it is; looked for first right before a place.
    pub(super) fn row_before(&self, place: usize, seq: Seq) -> Option<(usize, &Arc<OutlineRow>)> {
        self.rows.get_before(place, seq)
    }

    pub(super) fn entry(&self, seq: Seq) -> Option<&Arc<Entry>> {
        self.entries.get(seq).map(|(entry, _)| entry)
    }

    /// Keeps the rows from a place on and their entries, and those that are shown; forgets the
    /// others. Of much only what is shown is kept, and of too much nothing.
    pub(super) fn keep(&mut self, rows_from: Seq, shown: &BySeq<Arc<Entry>>) {
        self.rows.drop_before(rows_from);
        let is_much = self.bytes > UNSHOWN_CAP_BYTES;
        let mut kept = 0;
        self.entries.retain(|seq, (_, bytes)| {
            // The border between what is shown and what is folded moves back with a new turn.
            let stays = (seq >= rows_from && !is_much) || shown.contains(seq);
            kept += if stays { *bytes } else { 0 };
            stays
        });
        self.bytes = kept;
        if self.bytes > ENTRIES_CAP_BYTES {
            self.entries = BySeq::new();
            self.bytes = 0;
        }
    }
}
