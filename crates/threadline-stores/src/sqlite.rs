//! The SQLite store: histories in one file, durable when an append returns.
//!
//! One thread writes, with group commit (`writer`); a few connections read. Several processes
//! may open the same file: appends are fenced by leases, and a dead owner is known by its run
//! file (`run_file`). Entries live in logs that forks share (`segments`).

mod append;
mod blobs;
mod connection;
mod conversation;
mod create;
mod delete;
mod error;
mod inbox;
mod index;
mod intake;
mod lease;
mod list;
mod migrate;
mod number;
mod outline;
mod read;
mod run_file;
mod search;
mod segments;
mod snapshot;
mod sweep;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection as Sqlite, OptionalExtension as _, Transaction, TransactionBehavior};
use threadline_core::clock::Clock;
use threadline_core::history::batch::{AgentSums, BATCH_CAP_BYTES, Batch};
use threadline_core::history::record::Record;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{AgentId, ConversationId, IdSource, Seq, TenantId};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    Attendance, Audit, Change, Changes, Conversation, DueFilter, Holder, Lease, Listing, Page,
    Queued, StageId, Store, StoreError, Upload,
};
use tokio::sync::Semaphore;

use crate::changes::ChangeSender;
use blobs::Uploading;
use connection::{Place, READERS, Readers};
use conversation::Open;
use error::{Failure, store_error};
use index::Checksums;
use intake::Stage;
use lease::Taker;
use run_file::{Living, RunFile, RunFolder, run_name};
use writer::{IdleWork, Poison, Writer, stopped};

/// How often subscribers of a store that is opened only to be read look for changes.
const READ_AGAIN: Duration = Duration::from_millis(500);
/// How many slices of leftovers are removed before a store is open; the rest follow when idle.
const SWEEPS_AT_OPEN: usize = 8;

/// How a SQLite store is opened.
#[derive(Clone)]
pub struct SqliteOptions {
    /// The file. It is made if it is not there, with the folder it is in.
    pub path: PathBuf,
    /// Whose conversations these are.
    pub tenant: TenantId,
    /// What others are told of who holds a lease.
    pub owner: String,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where randomness comes from.
    pub ids: Arc<dyn IdSource>,
    /// The virtual file system, if not the system's own. On another one there are no run files:
    /// leases end by time alone, and only one process may open the file.
    pub vfs: Option<String>,
    /// How an append is made to last.
    pub durability: Durability,
}

/// How an append is made to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It is on the disk before it is answered.
    #[default]
    Full,
    /// It may be lost when the power fails. It is here only for the control run of the
    /// power-loss test, which must see that this loses data.
    Normal,
}

/// The version of SQLite that is built in.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// What SQLite finds wrong with a file that is a store: its trees, and its indexes against what
/// they are indexes of. Nothing if all is well. It reads the whole file.
pub fn check_file(path: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |error| error::store_error("check the store's file", error);
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Sqlite::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(connection::BUSY_TIMEOUT).map_err(failed)?;
    let mut check = connection.prepare("PRAGMA integrity_check(10)").map_err(failed)?;
    let found = check.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

/// Histories in a SQLite file.
pub struct SqliteStore {
    // Dropped in this order: readers first, so that the writer closes the file last and brings the
    // write-ahead log into it; then the owner is gone.
    reading: Arc<Reading>,
    /// None if the store was opened only to be read.
    writer: Option<Writer>,
    _run_file: Option<RunFile>,
    run_name: String,
    run_folder: Option<RunFolder>,
    tenant: i64,
    owner: String,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    poison: Poison,
    changes: ChangeSender,
    uploads: Mutex<HashMap<Upload, Uploading>>,
    stages: Mutex<HashMap<StageId, Stage>>,
}

/// What reading needs.
struct Reading {
    readers: Readers,
    turns: Semaphore,
    checksums: Mutex<Option<Checksums>>,
}

impl SqliteStore {
    /// Opens a store, and makes it if it is not there.
    pub fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        match Self::try_open(options.clone()) {
            // SQLite reports a failed read as corruption: reading the file tells them apart.
            Err(StoreError::Damaged(_)) if options.vfs.is_none() => {
                connection::read_through(&options.path)?;
                Self::try_open(options)
            }
            opened => opened,
        }
    }

    fn try_open(options: SqliteOptions) -> Result<Self, StoreError> {
        let SqliteOptions { path, tenant, owner, clock, ids, vfs, durability } = options;
        let run_folder = vfs.is_none().then(|| RunFolder::of(&path));
        let place = Place { path, vfs, durability, immutable: false };
        place.check()?;
        let opening = run_folder.as_ref().map(RunFolder::lock).transpose()?;
        let connection = place.open_writer()?;
        let run_name = run_name(ids.as_ref());
        if let Some(folder) = &run_folder {
            folder.remove_dead();
        }
        let run_file = run_folder.as_ref().map(|folder| folder.hold(&run_name)).transpose()?;
        drop(opening);
        let tenant = tenant_number(&connection, tenant)
            .map_err(|error| place.explain(store_error("open the store", error)))?;
        let idle = idle_work(run_name.clone(), run_folder.clone());
        for _ in 0..SWEEPS_AT_OPEN {
            let more =
                sweep_once(&connection, &run_name, run_folder.as_ref()).map_err(|error| {
                    place.explain(store_error("remove what was left behind", error))
                })?;
            if !more {
                break;
            }
        }
        tracing::info!(target: "History", path = %place.path.display(), "opened the store");
        let poison = Poison::default();
        let changes = ChangeSender::default();
        let writer = Writer::start(connection, Arc::clone(&poison), changes.clone(), idle)?;
        let reading = Arc::new(Reading {
            readers: Readers::new(place),
            turns: Semaphore::new(READERS),
            checksums: Mutex::default(),
        });
        Ok(Self {
            writer: Some(writer),
            reading,
            _run_file: run_file,
            run_name,
            run_folder,
            tenant,
            owner,
            clock,
            ids,
            poison,
            changes,
            uploads: Mutex::default(),
            stages: Mutex::default(),
        })
    }

    /// Opens a store that is there only to be read: where the file or its folder may not be written,
    /// where the disk is full, or while another process keeps the file locked. Nothing is made or
    /// changed; whatever would write is refused ([`StoreError::ReadOnly`]).
    ///
    /// If there is no write-ahead log and none can be created, the file is opened as immutable; no
    /// process may write to it meanwhile.
    pub fn open_read_only(options: SqliteOptions) -> Result<Self, StoreError> {
        let SqliteOptions { path, tenant, owner, clock, ids, vfs, durability } = options;
        let place = Place { path, vfs, durability, immutable: false };
        place.check()?;
        let (connection, place) = place.open_only_to_read()?;
        let tenant = tenant.0.as_bytes();
        let number = connection
            .query_row("SELECT num FROM tenant WHERE id = ?1", [tenant], |row| row.get(0))
            .optional()
            .map_err(|error| place.explain(store_error("open the store", error)))?;
        drop(connection);
        let reading = Arc::new(Reading {
            readers: Readers::new(place),
            turns: Semaphore::new(READERS),
            checksums: Mutex::default(),
        });
        Ok(Self {
            reading,
            writer: None,
            _run_file: None,
            run_name: run_name(ids.as_ref()),
            run_folder: None,
            // One that never wrote here has no conversations; no tenant has the number zero.
            tenant: number.unwrap_or(0),
            owner,
            clock,
            ids,
            poison: Poison::default(),
            changes: ChangeSender::default(),
            uploads: Mutex::default(),
            stages: Mutex::default(),
        })
    }

    /// Writes in a transaction, and answers when it is durable. The work may be done more than once,
    /// each time as if it had not been done before.
    async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        size_and_change: (usize, Option<Change>),
        work: impl FnMut(&Sqlite) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.call(doing, size_and_change, work).await
    }

    /// The same, for one conversation.
    async fn write_of<T: Send + 'static>(
        &self,
        id: ConversationId,
        doing: &'static str,
        size_and_change: (usize, Option<Change>),
        work: impl FnMut(&Sqlite) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(doing, size_and_change, work).await.map_err(|error| error.of_conversation(id))
    }

    /// The writer, unless the store was opened only to be read.
    fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(|| {
            StoreError::ReadOnly(
                "it was opened only to be read, because it cannot be written".into(),
            )
        })
    }

    /// Reads of one conversation.
    async fn read_of<T: Send + 'static>(
        &self,
        id: ConversationId,
        doing: &'static str,
        work: impl FnOnce(&Sqlite) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_store(doing, work).await.map_err(|error| error.of_conversation(id))
    }

    /// Reads at one moment of the store, with everything whose write was answered.
    async fn read_store<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Sqlite) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.poison.get().is_some() {
            return Err(stopped(&self.poison));
        }
        let lost = |source| StoreError::Unavailable { doing, source };
        let _turn = self.reading.turns.acquire().await.map_err(|error| lost(Box::new(error)))?;
        let reading = Arc::clone(&self.reading);
        let read = tokio::task::spawn_blocking(move || reading.readers.with(work)).await;
        match read {
            Ok(answer) => answer.map_err(|error| error.into_store_error(doing)),
            Err(error) => Err(lost(Box::new(error))),
        }
    }
}

/// The size of a batch, unless it is too large.
fn sized(batch: &Batch) -> Result<usize, StoreError> {
    let size = batch.size();
    if size > BATCH_CAP_BYTES {
        return Err(StoreError::TooLarge { what: "the batch", cap: BATCH_CAP_BYTES });
    }
    Ok(size)
}

fn tenant_number(connection: &Sqlite, tenant: TenantId) -> rusqlite::Result<i64> {
    let id = tenant.0.as_bytes();
    let number = || {
        connection
            .query_row("SELECT num FROM tenant WHERE id = ?1", [id], |row| row.get(0))
            .optional()
    };
    if let Some(known) = number()? {
        return Ok(known);
    }
    // Not by RETURNING: its row comes before the commit, and a commit that fails would go unheard.
    connection.execute("INSERT INTO tenant (id) VALUES (?1) ON CONFLICT (id) DO NOTHING", [id])?;
    number()?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn sweep_once(
    connection: &Sqlite,
    run_name: &str,
    run_folder: Option<&RunFolder>,
) -> rusqlite::Result<bool> {
    // Immediate: one that begins by reading cannot wait for another process to write.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let more = sweep::sweep(connection, &mut Living::new(run_name, run_folder))?;
    transaction.commit()?;
    Ok(more)
}

/// What the writer does when nothing else is to be done.
fn idle_work(run_name: String, run_folder: Option<RunFolder>) -> IdleWork {
    Box::new(move |connection| {
        if index::follow(connection)? {
            return Ok(true);
        }
        let mut living = Living::new(&run_name, run_folder.as_ref());
        Ok(sweep::sweep(connection, &mut living)?)
    })
}

#[async_trait]
impl Store for SqliteStore {
    fn audit(&self) -> Option<&dyn Audit> {
        Some(self)
    }

    async fn create(
        &self,
        id: ConversationId,
        base: Option<(ConversationId, Seq)>,
        first: &Batch,
    ) -> Result<(), StoreError> {
        let (tenant, first) = (self.tenant, first.clone());
        let change = (sized(&first)?, Some(Change::History(id)));
        self.write_of(id, "begin a conversation", change, move |connection| {
            create::create(connection, tenant, id, base, &first)
        })
        .await
    }

    async fn conversation(&self, id: ConversationId) -> Result<Conversation, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read a conversation", move |connection| {
            conversation::conversation(connection, tenant, id)
        })
        .await
    }

    async fn agents(&self, id: ConversationId) -> Result<Vec<AgentSums>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read the agents of a conversation", move |connection| {
            conversation::agents(connection, tenant, id)
        })
        .await
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Conversation>, StoreError> {
        let (tenant, listing) = (self.tenant, listing.clone());
        self.read_store("list conversations", move |connection| {
            list::list(connection, tenant, &listing)
        })
        .await
    }

    async fn append(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        let (tenant, lease, batch) = (self.tenant, lease.clone(), batch.clone());
        let id = lease.conversation;
        tracing::debug!(
            target: "History",
            conversation = %id,
            base = batch.base.0,
            head = batch.head().0,
            "appends"
        );
        let change = (sized(&batch)?, Some(Change::History(id)));
        self.write_of(id, "append to a history", change, move |connection| {
            append::append(connection, tenant, &lease, &batch)
        })
        .await
    }

    async fn read(&self, id: ConversationId, page: &Page) -> Result<Vec<Record>, StoreError> {
        let (tenant, page) = (self.tenant, *page);
        self.read_of(id, "read a history", move |connection| {
            read::read(connection, tenant, id, &page)
        })
        .await
    }

    async fn records(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        let (tenant, seqs) = (self.tenant, seqs.to_vec());
        self.read_of(id, "read entries", move |connection| {
            read::records(connection, tenant, id, &seqs)
        })
        .await
    }

    async fn outline(
        &self,
        id: ConversationId,
        agent: AgentId,
        from: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read an outline", move |connection| {
            outline::path(connection, (tenant, id), agent, (from, rows))
        })
        .await
    }

    async fn outline_rows(
        &self,
        id: ConversationId,
        agent: AgentId,
        seqs: &[Seq],
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let (tenant, seqs) = (self.tenant, seqs.to_vec());
        self.read_of(id, "read an outline", move |connection| {
            outline::at(connection, tenant, id, agent, &seqs)
        })
        .await
    }

    async fn outline_ledger(
        &self,
        id: ConversationId,
        after: Seq,
        rows: usize,
    ) -> Result<Vec<OutlineRow>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read an outline", move |connection| {
            outline::ledger(connection, tenant, id, after, rows)
        })
        .await
    }

    async fn rewinds(&self, id: ConversationId, after: Seq) -> Result<Vec<(Seq, Seq)>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read the rewinds of a conversation", move |connection| {
            let open = Open::get(connection, tenant, id)?;
            Ok(read::rewinds(connection, open, after)?)
        })
        .await
    }

    async fn delete(&self, id: ConversationId) -> Result<(), StoreError> {
        let change = Some(Change::History(id));
        self.lease("delete a conversation", 0, change, move |taker, connection, living| {
            delete::delete(connection, taker, id, living)
        })
        .await
        .map_err(|error| error.of_conversation(id))
    }

    async fn claim(
        &self,
        id: ConversationId,
        ttl_ms: u64,
        attendance: Attendance,
    ) -> Result<Lease, StoreError> {
        let claim = (self.ids.random(), attendance);
        self.lease("take a lease", ttl_ms, None, move |taker, connection, living| {
            taker.claim(connection, id, claim, living)
        })
        .await
        .map_err(|error| error.of_conversation(id))?
    }

    async fn lift_hold(&self, id: ConversationId) -> Result<(), StoreError> {
        let tenant = self.tenant;
        self.write("take a conversation off hold", (0, None), move |connection| {
            lease::lift_hold(connection, tenant, id)
        })
        .await
    }

    async fn renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError> {
        let (id, lease) = (lease.conversation, lease.clone());
        self.lease("keep a lease", ttl_ms, None, move |taker, connection, _| {
            taker.renew(connection, &lease)
        })
        .await
        .map_err(|error| error.of_conversation(id))
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let (tenant, lease) = (self.tenant, lease.clone());
        let change = (0, Some(Change::Lease(lease.conversation)));
        self.write_of(lease.conversation, "give a lease back", change, move |connection| {
            lease::release(connection, tenant, &lease)
        })
        .await
    }

    async fn holder(&self, id: ConversationId) -> Result<Option<Holder>, StoreError> {
        self.look("look who holds a conversation", move |taker, connection, living| {
            taker.holder(connection, id, living)
        })
        .await
        .map_err(|error| error.of_conversation(id))
    }

    async fn due(&self, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        self.look("look what is due", move |taker, connection, living| {
            taker.due_ids(connection, limit, living)
        })
        .await
    }

    async fn item(&self, id: ConversationId, key: &str) -> Result<Option<Queued>, StoreError> {
        let (tenant, key) = (self.tenant, key.to_owned());
        self.read_of(id, "look for an inbox item", move |connection| {
            inbox::item(connection, tenant, id, &key)
        })
        .await
    }

    async fn claim_due(
        &self,
        limit: usize,
        ttl_ms: u64,
        filter: &DueFilter,
    ) -> Result<Vec<Lease>, StoreError> {
        let (ids, filter) = (Arc::clone(&self.ids), filter.clone());
        self.lease("claim what is due", ttl_ms, None, move |taker, connection, living| {
            taker.claim_due(connection, limit, &filter, ids.as_ref(), living)
        })
        .await
    }

    async fn enqueue(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let (tenant, item, now) = (self.tenant, item.clone(), self.clock.now());
        let change = (0, Some(Change::Inbox(id)));
        self.write_of(id, "put an item into an inbox", change, move |connection| {
            inbox::enqueue(connection, tenant, id, &item, now)
        })
        .await
    }

    async fn edit(&self, id: ConversationId, item: &Item) -> Result<Queued, StoreError> {
        let (tenant, item, now) = (self.tenant, item.clone(), self.clock.now());
        let change = (0, Some(Change::Inbox(id)));
        self.write_of(id, "edit an inbox item", change, move |connection| {
            inbox::edit(connection, tenant, id, &item, now)
        })
        .await
    }

    async fn withdraw(&self, id: ConversationId, key: &str) -> Result<Queued, StoreError> {
        let (tenant, key) = (self.tenant, key.to_owned());
        let change = (0, Some(Change::Inbox(id)));
        self.write_of(id, "withdraw an inbox item", change, move |connection| {
            inbox::withdraw(connection, tenant, id, &key)
        })
        .await
    }

    fn subscribe(&self, only: Option<ConversationId>) -> Box<dyn Changes> {
        match &self.writer {
            Some(writer) => {
                let changes = self.changes.subscribe(only);
                writer.watch();
                changes
            }
            None => Box::new(OnlyRead),
        }
    }

    async fn waiting(
        &self,
        id: ConversationId,
        after: ItemNumber,
        most: usize,
    ) -> Result<Vec<(ItemNumber, Item)>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read an inbox", move |connection| {
            inbox::waiting(connection, tenant, id, after, most)
        })
        .await
    }

    async fn snapshot(
        &self,
        id: ConversationId,
        at_most: Seq,
    ) -> Result<Option<Snapshot>, StoreError> {
        let tenant = self.tenant;
        self.read_of(id, "read a snapshot", move |connection| {
            snapshot::newest(connection, tenant, id, at_most)
        })
        .await
    }

    async fn keep_snapshot(
        &self,
        id: ConversationId,
        snapshot: &Snapshot,
        for_good: bool,
    ) -> Result<(), StoreError> {
        let (tenant, snapshot) = (self.tenant, snapshot.clone());
        let size = (snapshot.history.len(), None);
        self.write_of(id, "keep a snapshot", size, move |connection| {
            snapshot::keep(connection, tenant, id, &snapshot, for_good)
        })
        .await
    }
}

impl SqliteStore {
    /// Looks at leases, as this store, now.
    async fn look<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Taker<'_>, &Sqlite, &mut Living<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tenant, now) = (self.tenant, self.clock.now());
        let (owner, run) = (self.owner.clone(), self.run_name.clone());
        let folder = self.run_folder.clone();
        self.read_store(doing, move |connection| {
            let taker = Taker { tenant, owner: &owner, run: &run, now, ttl_ms: 0 };
            work(&taker, connection, &mut Living::new(&run, folder.as_ref()))
        })
        .await
    }

    /// Changes leases, as this store, now.
    async fn lease<T: Send + 'static>(
        &self,
        doing: &'static str,
        ttl_ms: u64,
        change: Option<Change>,
        work: impl Fn(&Taker<'_>, &Sqlite, &mut Living<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tenant, now) = (self.tenant, self.clock.now());
        let (owner, run) = (self.owner.clone(), self.run_name.clone());
        let folder = self.run_folder.clone();
        self.write(doing, (0, change), move |connection| {
            let taker = Taker { tenant, owner: &owner, run: &run, now, ttl_ms };
            work(&taker, connection, &mut Living::new(&run, folder.as_ref()))
        })
        .await
    }
}

/// The subscription to a store that is opened only to be read: it has no writer that could look for
/// changes, so subscribers look themselves from time to time.
struct OnlyRead;

#[async_trait]
impl Changes for OnlyRead {
    async fn next(&mut self) -> Change {
        tokio::time::sleep(READ_AGAIN).await;
        Change::Unknown
    }
}
