//! Taking in what was exported elsewhere: written to a log that nobody sees, then adopted at once.

use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{Batch, ForkedAt};
use threadline_core::history::fact::Digest;
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::Item;
use threadline_core::store::{Change, Intake, Origin, StageId, StoreError};

use super::append::{self, Row, advance, branch_off, mark_unindexed, reopen};
use super::blobs;
use super::conversation::{Known, forget_agents, refresh_due_at};
use super::create;
use super::error::Failure;
use super::inbox;
use super::number::{count, int};
use super::read;
use super::segments::{add_segment, new_log};
use super::snapshot;
use super::sweep;
use super::{SqliteStore, sized};

/// An intake under way.
#[derive(Clone)]
pub(super) struct Stage {
    id: ConversationId,
    base: Seq,
    base_hash: Digest,
    /// Where the next batch must follow.
    head: Seq,
    head_hash: Digest,
    created_at: Timestamp,
    forked: Option<ForkedAt>,
    /// Whether any batch has a rewind.
    rewinds: bool,
    /// The last batch.
    last: Option<Arc<Batch>>,
}

#[async_trait]
impl Intake for SqliteStore {
    async fn begin_intake(&self, id: ConversationId, base: Seq) -> Result<StageId, StoreError> {
        let (tenant, run) = (self.tenant, self.run_name.clone());
        let (log, base_hash) = self
            .write("begin an intake", (0, None), move |connection| {
                begin(connection, tenant, id, base, &run)
            })
            .await?;
        let stage = StageId(count(log));
        let staged = Stage {
            id,
            base,
            base_hash,
            head: base,
            head_hash: base_hash,
            created_at: Timestamp::default(),
            forked: None,
            rewinds: false,
            last: None,
        };
        self.keep_stage(stage, staged);
        Ok(stage)
    }

    async fn stage(
        &self,
        stage: StageId,
        batch: &Batch,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError> {
        let mut staged = self.find_stage(stage)?;
        if (batch.base, batch.base_hash) != (staged.head, staged.head_hash) {
            let (id, expected, head) = (staged.id, batch.base, staged.head);
            return Err(StoreError::Conflict { id, expected, head });
        }
        if staged.head == Seq::ZERO {
            staged.created_at = batch.first_at();
        }
        if let Some(forked) = batch.forked {
            (staged.forked, staged.created_at) = (Some(forked), forked.at);
        }
        (staged.head, staged.head_hash) = (batch.head(), batch.head_hash());
        staged.rewinds |= !batch.rewinds.is_empty();
        let (log, snapshot) = (int(stage.0), snapshot.cloned());
        if let Some(snapshot) = &snapshot
            && (snapshot.seq, snapshot.hash) != (staged.head, staged.head_hash)
        {
            let (id, seq, head) = (staged.id, snapshot.seq, staged.head);
            return Err(StoreError::NoEntry { id, seq, head });
        }
        let batch = Arc::new(batch.clone());
        staged.last = Some(Arc::clone(&batch));
        self.write("import a batch", (sized(&batch)?, None), move |connection| {
            blobs::require(connection, &batch.attachments)?;
            append::check(&batch)?;
            append::write(connection, log, log, &batch, &[])?;
            if let Some(snapshot) = &snapshot {
                snapshot::write(connection, log, snapshot, true)?;
            }
            Ok(())
        })
        .await?;
        self.keep_stage(stage, staged);
        Ok(())
    }

    async fn staged(
        &self,
        stage: StageId,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        drop(self.find_stage(stage)?);
        let log = int(stage.0);
        self.read_store("read what was taken in", move |connection| {
            Ok(read::staged(connection, log, from, most)?)
        })
        .await
    }

    async fn adopt(
        &self,
        stage: StageId,
        origin: Origin,
        held: bool,
        waiting: &[Item],
    ) -> Result<(), StoreError> {
        let adoption = Adoption {
            tenant: self.tenant,
            log: int(stage.0),
            staged: self.find_stage(stage)?,
            origin,
            held,
            waiting: waiting.to_vec(),
            now: self.clock.now(),
        };
        let change = Some(Change::History(adoption.staged.id));
        self.write("commit an import", (0, change), move |connection| adoption.adopt(connection))
            .await?;
        drop(self.forget_stage(stage));
        Ok(())
    }

    async fn discard(&self, stage: StageId) -> Result<(), StoreError> {
        if self.forget_stage(stage).is_none() {
            return Ok(());
        }
        let log = int(stage.0);
        let doing = "discard what was taken in";
        self.write(doing, (0, None), move |connection| Ok(sweep::leave_log(connection, log)?))
            .await?;
        while self
            .write(doing, (0, None), move |connection| {
                Ok(sweep::remove_log_slice(connection, log)?)
            })
            .await?
        {}
        Ok(())
    }
}

impl SqliteStore {
    fn keep_stage(&self, stage: StageId, staged: Stage) {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).insert(stage, staged);
    }

    fn find_stage(&self, stage: StageId) -> Result<Stage, StoreError> {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.get(&stage).cloned().ok_or_else(|| {
            StoreError::Invalid(format!("there is no intake {} under way; begin one", stage.0))
        })
    }

    fn forget_stage(&self, stage: StageId) -> Option<Stage> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).remove(&stage)
    }
}

/// Adds a log to take in to, and gives the hash that its entries must follow.
fn begin(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
    base: Seq,
    run: &str,
) -> Result<(i64, Digest), Failure> {
    let known = Known::find(connection, tenant, id)?;
    let (conversation, hash) = match (base, known) {
        (Seq::ZERO, None) => (None, GENESIS),
        (_, None) => return Err(StoreError::NotFound(id).into()),
        (Seq::ZERO, Some(_)) => return Err(StoreError::Exists(id).into()),
        (base, Some(known)) if base == known.head => (Some(known.num), known.head_hash),
        (base, Some(Known { head, .. })) if base > head => {
            return Err(StoreError::NoEntry { id, seq: base, head }.into());
        }
        (base, Some(Known { head, .. })) => {
            return Err(StoreError::Conflict { id, expected: base, head }.into());
        }
    };
    Ok((new_log(connection, conversation, base, Some(run))?, hash))
}

/// How an intake becomes a conversation's history.
struct Adoption {
    tenant: i64,
    log: i64,
    staged: Stage,
    origin: Origin,
    held: bool,
    waiting: Vec<Item>,
    now: Timestamp,
}

impl Adoption {
    fn adopt(&self, connection: &Connection) -> Result<(), Failure> {
        for item in &self.waiting {
            inbox::check(connection, item)?;
        }
        let known = Known::find(connection, self.tenant, self.staged.id)?;
        let num = match (known, &self.staged.last) {
            (None, Some(last)) if self.staged.base == Seq::ZERO => self.begin(connection, last)?,
            (None, None) if self.staged.base == Seq::ZERO => {
                let why = "nothing was taken in: stage a batch first".to_owned();
                return Err(StoreError::Invalid(why).into());
            }
            (None, _) => return Err(StoreError::NotFound(self.staged.id).into()),
            (Some(known), last) => self.go_on(connection, &known, last.as_deref())?,
        };
        let (known, id) = (Known::get(connection, self.tenant, self.staged.id)?, self.staged.id);
        let holder = inbox::Holder { num, id, is_fork: known.is_fork };
        for item in &self.waiting {
            if holder.known(connection, item)?.is_none() {
                holder.put(connection, item, self.now)?;
            }
        }
        connection
            .prepare_cached("UPDATE conversation SET held = ?2, deaths = 0 WHERE num = ?1")?
            .execute((num, self.held))?;
        refresh_due_at(connection, num)
    }

    /// A conversation that was not here.
    fn begin(&self, connection: &Connection, last: &Batch) -> Result<i64, Failure> {
        self.unstage(connection)?;
        add_segment(connection, self.log, Seq(1), self.log)?;
        let row = Row {
            tenant: self.tenant,
            id: self.staged.id,
            num: self.log,
            created_at: self.staged.created_at.micros(),
            labels: Vec::new(),
        };
        let forked_from = self.staged.forked.map(|forked| (forked.from, forked.seq));
        create::insert(connection, &row, forked_from)?;
        row.update(connection, last, self.origin)?;
        // Wherever it was moved, it goes on here.
        reopen(connection, self.log, self.origin)?;
        Ok(self.log)
    }

    /// A conversation that goes on where it was.
    fn go_on(
        &self,
        connection: &Connection,
        known: &Known,
        last: Option<&Batch>,
    ) -> Result<i64, Failure> {
        let (id, expected) = (self.staged.id, self.staged.base);
        let unchanged = known.head == expected && known.head_hash == self.staged.base_hash;
        if expected == Seq::ZERO || !unchanged {
            return Err(StoreError::Conflict { id, expected, head: known.head }.into());
        }
        match last {
            Some(last) => {
                self.unstage(connection)?;
                add_segment(connection, known.num, expected.next(), self.log)?;
                self.hand_over(connection, known.num)?;
                advance(connection, self.tenant, id, self.log, last)?;
                if let Some(forked) = self.staged.forked {
                    branch_off(connection, known.num, forked)?;
                }
            }
            None => sweep::leave_log(connection, self.log)?,
        }
        if known.moved {
            // What waited went with it; what still waits comes back with the intake.
            inbox::take_gone(connection, known.num, self.staged.head, &self.waiting)?;
        }
        reopen(connection, known.num, self.origin)?;
        Ok(known.num)
    }

    /// From now on the log's entries are there for good.
    fn unstage(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("UPDATE log SET staged = NULL WHERE num = ?1")?
            .execute([self.log])?;
        mark_unindexed(connection, self.log)
    }

    /// Gives the conversation what was kept under the number of the log.
    fn hand_over(&self, connection: &Connection, num: i64) -> rusqlite::Result<()> {
        if self.staged.rewinds {
            forget_agents(connection, num)?;
        }
        for sql in [
            "INSERT OR REPLACE INTO agent
             SELECT ?1, agent, name, present, interactions, last_kind, last_at, description
             FROM agent WHERE conversation = ?2",
            "INSERT INTO inbox (conversation, client_key, digest, taken_seq)
             SELECT ?1, client_key, digest, taken_seq FROM inbox WHERE conversation = ?2
             ON CONFLICT (conversation, client_key)
               DO UPDATE SET taken_seq = excluded.taken_seq, item = NULL WHERE taken_seq IS NULL",
        ] {
            connection.prepare_cached(sql)?.execute([num, self.log])?;
        }
        snapshot::hand_over(connection, self.log, num)?;
        sweep::forget_extras(connection, self.log)
    }
}
