//! The least that anyone would have to do: the same bytes in a plain table of SQLite.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use threadline_core::history::record::Record;
use tokio::sync::oneshot;

use crate::Outcome;

/// A plain table of records, with what makes the store's appends last.
pub(crate) struct Bare(Connection);

impl Bare {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA page_size = 8192;
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             CREATE TABLE record (
               id INTEGER PRIMARY KEY, envelope BLOB, body BLOB, salt BLOB, hash BLOB
             );",
        )?;
        Ok(Self(connection))
    }

    /// Inserts a record; outside of a transaction it is durable when this returns.
    pub(crate) fn insert(&self, record: &Record) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT INTO record (envelope, body, salt, hash) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![record.envelope, record.body, record.salt, record.hash.0])
            .map(drop)
    }

    fn insert_all(&mut self, group: &[Waiting]) -> rusqlite::Result<()> {
        self.0.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for waiting in group {
            self.insert(&waiting.record)?;
        }
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

/// A record that waits to be durable.
struct Waiting {
    record: Record,
    done: oneshot::Sender<bool>,
}

/// One thread that writes whatever waits in one transaction.
pub(crate) struct BareGroups {
    waiting: Option<Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

impl BareGroups {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let bare = Bare::open(path)?;
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || write_groups(bare, &receiver));
        Ok(Self { waiting: Some(sender), thread: Some(thread) })
    }

    /// Inserts a record and waits until it is durable.
    pub(crate) async fn insert(&self, record: Record) -> Outcome<()> {
        let (done, answer) = oneshot::channel();
        let waiting = self.waiting.as_ref().ok_or("the bare writer has ended")?;
        waiting.send(Waiting { record, done })?;
        if answer.await? { Ok(()) } else { Err("the bare writer could not write".into()) }
    }
}

impl Drop for BareGroups {
    fn drop(&mut self) {
        drop(self.waiting.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn write_groups(mut bare: Bare, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter());
        let written = bare.insert_all(&group).is_ok();
        for one in group {
            // Whoever no longer waits does not need to know.
            let _gone = one.done.send(written);
        }
    }
}
