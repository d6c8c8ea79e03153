//! Appending: a batch made ready by its caller, then checked and written in one transaction.

use std::sync::Arc;

use rusqlite::{Connection, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{AgentSums, BATCH_CAP_BYTES, Batch, Placed, Sums, Taken};
use threadline_core::history::fact::{Digest, Fact};
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::input_digest;
use threadline_core::outline::{OutlineRow, RowKind};
use threadline_core::store::{Lease, StoreError};

use super::ahead::{self, Counted, Head, Load};
use super::blobs;
use super::conversation::{
    Known, OWN, Open, forget_agents, keep_agents, labels_of, labels_text, origin_number,
    state_number,
};
use super::error::Failure;
use super::fresh::Tier;
use super::inbox;
use super::number::{SEQ_MAX, entry_id, seq_int};
use super::segments::hash_at;
use super::writer::Around;

/// What a batch writes, without what it does not: sent to the writer whole.
pub(super) struct Ready {
    pub(super) base: Seq,
    pub(super) base_hash: Digest,
    pub(super) head: Seq,
    pub(super) head_hash: Digest,
    pub(super) first_at: Timestamp,
    pub(super) at: Timestamp,
    pub(super) sums: Sums,
    /// Whether its last entry says that the conversation was moved away.
    pub(super) moved: bool,
    pub(super) bytes: usize,
    /// Whether it has entries, each follows the one before it, and each outline row is one's.
    dense: bool,
    /// The conversation its last `Forked` entry names, if it has one, and when that was placed.
    pub(super) forked: Option<(ConversationId, Seq, Timestamp)>,
    entries: Vec<Line>,
    agents: Vec<AgentSums>,
    taken: Vec<Taken>,
    rewinds: Vec<(Seq, Seq)>,
    keys: Vec<Key>,
    pub(super) attachments: Vec<Digest>,
    /// What changes in the conversation's row, to be kept apart if nothing else does.
    load: Option<Load>,
}

/// An entry to be written, with its outline row if models see it.
struct Line {
    seq: Seq,
    agent: AgentId,
    record: Arc<Record>,
    row: Option<Arc<OutlineRow>>,
}

/// The key an input came with.
pub(super) struct Key {
    pub(super) text: Arc<str>,
    pub(super) digest: Digest,
    pub(super) seq: Seq,
}

impl Ready {
    /// Makes a batch ready to be written.
    pub(super) fn new(batch: &Batch) -> Result<Self, StoreError> {
        let (first, last) = (batch.entries.first(), batch.entries.last());
        let is_moved = |placed: &Placed| matches!(placed.entry.fact, Fact::Moved(_));
        let mut ready = Self {
            base: batch.base,
            base_hash: batch.base_hash,
            head: batch.head(),
            head_hash: batch.head_hash(),
            first_at: first.map(|placed| placed.entry.at).unwrap_or_default(),
            at: batch.at(),
            sums: batch.sums.clone(),
            moved: last.is_some_and(is_moved),
            bytes: 0,
            dense: !batch.entries.is_empty(),
            forked: None,
            entries: Vec::with_capacity(batch.entries.len()),
            agents: batch.agents.clone(),
            taken: batch.taken.clone(),
            rewinds: Vec::new(),
            keys: Vec::new(),
            attachments: Vec::new(),
            load: None,
        };
        let mut rows = batch.rows.iter().peekable();
        for placed in &batch.entries {
            let (entry, record) = (&placed.entry, &placed.record);
            let expected = ready.entries.last().map_or(batch.base, |line| line.seq).next();
            ready.dense &= entry.seq == expected && entry.seq.0 <= SEQ_MAX;
            ready.bytes += record.size();
            ready.attachments.extend(entry.attachments());
            match &entry.fact {
                Fact::Rewound(rewound) => ready.rewinds.push((entry.seq, rewound.to)),
                Fact::Forked(forked) => ready.forked = Some((forked.from, forked.seq, entry.at)),
                Fact::Input(input) => ready.keys.extend(input.client_key.as_ref().map(|key| Key {
                    text: Arc::clone(key),
                    digest: input_digest(input),
                    seq: entry.seq,
                })),
                _ => {}
            }
            ready.entries.push(Line {
                seq: entry.seq,
                agent: entry.agent,
                record: Arc::clone(record),
                row: rows.next_if(|row| row.seq == entry.seq && row.agent == entry.agent).cloned(),
            });
        }
        ready.dense &= rows.peek().is_none();
        if ready.bytes > BATCH_CAP_BYTES {
            return Err(StoreError::TooLarge { what: "the batch", cap: BATCH_CAP_BYTES });
        }
        Ok(ready)
    }

    /// With its sums made ready to be kept apart, if they can be: labels have rows that change with
    /// every append, and a rewind forgets agents.
    pub(super) fn apart(mut self) -> Result<Self, StoreError> {
        if self.sums.labels.is_empty() && !self.rewinds() && !self.moved {
            let load =
                Load::new(self.counted(), self.last_message(), &self.agents, self.sums.state);
            self.load = load.map_err(|error| error.into_store_error("count a batch"))?;
        }
        Ok(self)
    }

    /// The sums that change with every append.
    fn counted(&self) -> Counted<'_> {
        let Sums { messages, cost, last_message, .. } = &self.sums;
        (*messages, *cost, last_message.as_ref())
    }

    /// The last of its entries that is part of the transcript.
    fn last_message(&self) -> Option<Seq> {
        let is_message = |row: &OutlineRow| matches!(row.kind, RowKind::Message | RowKind::Answer);
        let mut rows = self.entries.iter().rev().filter_map(|line| line.row.as_ref());
        rows.find(|row| is_message(row)).map(|row| row.seq)
    }

    fn head(&self) -> Head {
        Head { seq: self.head, hash: self.head_hash, at: self.at }
    }

    /// Without the inbox items it takes: those are of the store it was written in.
    pub(super) fn forget_taken(&mut self) {
        self.taken.clear();
    }

    /// What brings a conversation's row up to it, once its entries are written.
    pub(super) fn without_entries(&self) -> Self {
        Self {
            sums: self.sums.clone(),
            moved: false,
            entries: Vec::new(),
            agents: Vec::new(),
            taken: Vec::new(),
            rewinds: Vec::new(),
            keys: Vec::new(),
            attachments: Vec::new(),
            load: None,
            ..*self
        }
    }

    /// Whether a conversation holds all of this batch already.
    pub(super) fn is_stored(&self, connection: &Connection, open: Open) -> rusqlite::Result<bool> {
        if self.entries.is_empty() {
            return Ok(false);
        }
        Ok(hash_at(connection, open, self.head)? == Some(self.head_hash))
    }

    /// Writes everything but the conversation's own row.
    pub(super) fn write(
        &self,
        connection: &Connection,
        log: i64,
        conversation: i64,
        tier: Tier,
    ) -> Result<(), Failure> {
        self.write_entries(connection, log, tier)?;
        if self.rewinds() {
            // A batch with a rewind names all agents there are.
            forget_agents(connection, conversation)?;
        }
        keep_agents(connection, conversation, &self.agents)?;
        inbox::take(connection, conversation, &self.taken)?;
        inbox::keep_keys(connection, conversation, &self.keys)?;
        Ok(())
    }

    fn write_entries(&self, connection: &Connection, log: i64, tier: Tier) -> rusqlite::Result<()> {
        let mut insert_record = connection.prepare_cached(
            "INSERT INTO record (entry, envelope, body, salt, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut insert_entry = tier.insert(connection)?;
        for line in &self.entries {
            let (id, record) = (entry_id(log, line.seq), &line.record);
            insert_record.execute(params![
                id,
                record.envelope,
                record.body,
                record.salt,
                record.hash.0
            ])?;
            let num = connection.last_insert_rowid();
            insert_entry.write((id, num, line.agent), line.row.as_deref())?;
        }
        for (seq, to) in &self.rewinds {
            connection
                .prepare_cached("INSERT INTO rewind (id, to_seq) VALUES (?1, ?2)")?
                .execute(params![entry_id(log, *seq), seq_int(*to)])?;
        }
        Ok(())
    }

    /// Refuses what is no batch, or has a client key that is taken. Tells whether it takes anything
    /// out of the inbox.
    pub(super) fn check(
        &self,
        connection: &Connection,
        holder: &inbox::Holder,
    ) -> Result<bool, Failure> {
        let waits = holder.check_keys(connection, &self.keys, &self.taken)?;
        self.check_entries()?;
        Ok(waits || !self.taken.is_empty())
    }

    /// Refuses what is no batch, or names an attachment that is not kept.
    pub(super) fn check_staged(&self, connection: &Connection) -> Result<(), Failure> {
        blobs::require(connection, &self.attachments)?;
        self.check_entries()
    }

    fn check_entries(&self) -> Result<(), Failure> {
        if self.dense {
            return Ok(());
        }
        let why =
            "a batch has entries, each follows the one before it, and outline rows are theirs";
        Err(StoreError::Invalid(why.to_owned()).into())
    }

    /// Whether it has a rewind.
    pub(super) fn rewinds(&self) -> bool {
        !self.rewinds.is_empty()
    }

    /// What it changes in the row of its conversation, if that can be kept apart.
    fn apart_from(&self, known: &Known) -> Result<Option<&Load>, Failure> {
        let apart = self.keeps_row(known)?;
        Ok(self.load.as_ref().filter(|load| apart && load.fits(known.whose)))
    }

    /// Whether it leaves the conversation's row as it is, but for what can be kept apart and for when
    /// it is due.
    fn keeps_row(&self, known: &Known) -> Result<bool, Failure> {
        let sums = &self.sums;
        Ok(known.origin == OWN
            && !self.moved
            && known.wake_at == sums.wake_at.map(Timestamp::micros)
            && known.archived == sums.archived
            && known.labels == labels_text(&sums.labels)?
            && known.title == sums.title)
    }

    /// Whether the inbox, or the keys it knows, may be others after this batch.
    fn changes_inbox(&self) -> bool {
        !self.taken.is_empty() || !self.keys.is_empty()
    }

    /// Whether it has all that is kept apart from a row, with the sums of an agent among it.
    fn is_instead_of(&self, whose: Option<u32>) -> bool {
        whose.is_none_or(|whose| self.agents.iter().any(|sums| sums.agent.0 == whose))
    }
}

/// Appends a batch to the conversation of a lease.
pub(super) fn append(
    connection: &Connection,
    around: &Around,
    tenant: i64,
    lease: &Lease,
    ready: &Ready,
) -> Result<(), Failure> {
    let id = lease.conversation;
    let tier = Tier::of(around.at_once(), ready.base);
    let known = match around.remembered().take(connection, id) {
        Some(known) => known,
        None => Known::get(connection, tenant, id)?,
    };
    let follows = known.head == ready.base && known.head_hash == ready.base_hash;
    if !follows || known.moved || !known.is_held_by(lease) {
        return settle(connection, &known, lease, ready);
    }
    let holder = inbox::Holder { num: known.num, id, is_fork: known.is_fork };
    require_attachments(connection, around, &ready.attachments)?;
    let takes = ready.check(connection, &holder)?;
    if known.unindexed.is_none() {
        mark_unindexed(connection, known.tail_log)?;
    }
    // What is taken out of the inbox changes when the conversation is due, which its row tells.
    if let Some(load) = ready.apart_from(&known)?.filter(|_| !takes) {
        ready.write_entries(connection, known.tail_log, tier)?;
        inbox::keep_keys(connection, known.num, &ready.keys)?;
        load.keep(connection, known.num, &ready.head())?;
        let known = Known {
            head: ready.head,
            head_hash: ready.head_hash,
            whose: load.whose().or(known.whose),
            unindexed: Some(known.tail_log),
            ..known
        };
        around.remembered().keep(connection, id, known);
        return Ok(());
    }
    let known = if known.head == known.row_head {
        known
    } else if ready.is_instead_of(known.whose) {
        ahead::forget(connection, known.num)?;
        known
    } else {
        ahead::settle(connection, known.num)?;
        Known::get(connection, tenant, id)?
    };
    ready.write(connection, known.tail_log, known.num, tier)?;
    let known = update(connection, tenant, id, &known, ready, takes)?;
    let known = Known { unindexed: Some(known.tail_log), ..known };
    around.remembered().keep(connection, id, known);
    Ok(())
}

/// Refuses attachments that are not kept.
fn require_attachments(
    connection: &Connection,
    around: &Around,
    digests: &[Digest],
) -> Result<(), Failure> {
    if digests.is_empty() {
        return Ok(());
    }
    let unknown = around.remembered().unknown(connection, digests);
    blobs::require(connection, &unknown)?;
    around.remembered().keep_attachments(unknown);
    Ok(())
}

/// Why a batch cannot be appended, unless it is there already.
fn settle(
    connection: &Connection,
    known: &Known,
    lease: &Lease,
    ready: &Ready,
) -> Result<(), Failure> {
    let id = lease.conversation;
    let open = Open { num: known.num, head: known.head };
    if ready.is_stored(connection, open)? {
        Ok(())
    } else if !known.is_held_by(lease) {
        Err(StoreError::Fenced(id).into())
    } else if known.moved {
        Err(StoreError::MovedAway(id).into())
    } else {
        Err(StoreError::Conflict { id, expected: ready.base, head: known.head }.into())
    }
}

/// Remembers that a log has entries that the search index does not.
pub(super) fn mark_unindexed(connection: &Connection, log: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO unindexed (log) VALUES (?1)")?
        .execute([log])
        .map(drop)
}

/// Brings a conversation's row up to a batch, which may take items out of the inbox; gives what is
/// known of it then. What seldom changes is written only when it does, because indexes hang on it.
fn update(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    known: &Known,
    ready: &Ready,
    takes: bool,
) -> Result<Known, Failure> {
    let sums = &ready.sums;
    let wake_at = sums.wake_at.map(Timestamp::micros);
    let due_at = if ready.moved {
        None
    } else if takes || wake_at != known.wake_at || known.origin != OWN {
        inbox::due_at(connection, known.num, wake_at)?
    } else {
        known.due_at
    };
    let labels = labels_text(&sums.labels)?;
    let state = state_number(sums.state);
    if known.due_at != due_at || known.row_state != state || !ready.keeps_row(known)? {
        connection
            .prepare_cached(
                "UPDATE conversation SET origin = ?2, wake_at = ?3, due_at = ?4, archived = ?5,
                   state = ?6, labels = ?7, title = ?8
                 WHERE num = ?1",
            )?
            .execute(params![
                known.num,
                OWN,
                wake_at,
                due_at,
                sums.archived,
                state,
                labels,
                sums.title
            ])?;
    }
    if ready.moved {
        connection
            .prepare_cached("UPDATE conversation SET moved = 1 WHERE num = ?1")?
            .execute([known.num])?;
    }
    update_head(connection, known.num, ready)?;
    let old = labels_of(known.labels.as_deref())?;
    let place = Labelled { tenant, num: known.num, id, created_at: known.created_at };
    place.relabel(connection, &old, &sums.labels, ready.at)?;
    Ok(Known {
        head: ready.head,
        head_hash: ready.head_hash,
        row_head: ready.head,
        whose: None,
        origin: OWN,
        moved: known.moved || ready.moved,
        wake_at,
        due_at,
        archived: sums.archived,
        row_state: state,
        labels,
        title: sums.title.clone(),
        ..*known
    })
}

/// Brings the head in a conversation's row up to a batch.
pub(super) fn update_head(
    connection: &Connection,
    num: i64,
    ready: &Ready,
) -> rusqlite::Result<()> {
    ready.head().write(connection, num, ready.counted())
}

/// A conversation among those with a label.
pub(super) struct Labelled {
    pub(super) tenant: i64,
    pub(super) num: i64,
    pub(super) id: ConversationId,
    pub(super) created_at: i64,
}

impl Labelled {
    /// Brings the rows of a conversation's labels up to date.
    pub(super) fn relabel(
        &self,
        connection: &Connection,
        old: &[String],
        new: &[String],
        active_at: Timestamp,
    ) -> rusqlite::Result<()> {
        for label in old.iter().filter(|label| !new.contains(label)) {
            connection
                .prepare_cached(
                    "DELETE FROM label WHERE tenant = ?1 AND label = ?2 AND conversation = ?3",
                )?
                .execute(params![self.tenant, label, self.num])?;
        }
        for label in new {
            connection
                .prepare_cached(
                    "INSERT INTO label (tenant, label, conversation, id, created_at, active_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (tenant, label, conversation) DO UPDATE SET active_at = ?6",
                )?
                .execute(params![
                    self.tenant,
                    label,
                    self.num,
                    self.id.0.as_bytes(),
                    self.created_at,
                    active_at.micros()
                ])?;
        }
        Ok(())
    }
}

/// Brings a conversation's row up to the last batch of what was taken in, in its new log.
pub(super) fn advance(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    log: i64,
    last: &Ready,
) -> Result<(), Failure> {
    let known = Known::get(connection, tenant, id)?;
    connection
        .prepare_cached("UPDATE conversation SET tail_log = ?2 WHERE num = ?1")?
        .execute([known.num, log])?;
    update(connection, tenant, id, &known, last, last.changes_inbox()).map(drop)
}

/// Says where a conversation branched off, once the entry that tells is taken in.
pub(super) fn branch_off(
    connection: &Connection,
    num: i64,
    from: (ConversationId, Seq),
    at: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET forked_from = ?2, forked_seq = ?3, created_at = ?4
             WHERE num = ?1",
        )?
        .execute(params![num, from.0.0.as_bytes(), seq_int(from.1), at.micros()])?;
    connection
        .prepare_cached("UPDATE label SET created_at = ?2 WHERE conversation = ?1")?
        .execute([num, at.micros()])
        .map(drop)
}

/// Opens a conversation that was taken in: it goes on here.
pub(super) fn reopen(
    connection: &Connection,
    num: i64,
    origin: threadline_core::store::Origin,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE conversation SET origin = ?2, moved = 0 WHERE num = ?1")?
        .execute([num, origin_number(origin)])
        .map(drop)
}
