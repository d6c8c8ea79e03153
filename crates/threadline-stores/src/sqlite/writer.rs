//! The writer: one thread that writes, with group commit.
//!
//! Jobs that wait when a transaction begins are run in it, each in a savepoint of its own, so that
//! one that fails does not fail the others. One sync makes them all durable, and only then are they
//! answered. When nothing waits, the thread does idle work and copies the write-ahead log into the
//! file.

mod job;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use threadline_core::store::{Change, StoreError};
use tokio::sync::oneshot;

use super::error::{Failure, Gravity, explain, gravity};
use crate::changes::ChangeSender;
use job::{Job, Ran, Task, Trouble};

/// How long nothing must come before work is done that nobody waits for.
const QUIET: Duration = Duration::from_millis(100);
/// How often to look whether another process wrote, while someone subscribes to changes.
const WATCH: Duration = Duration::from_millis(100);
/// The most of one transaction.
const GROUP_CAP_JOBS: usize = 256;
const GROUP_CAP_BYTES: usize = 1024 * 1024;

/// Why the store stopped, once it has.
pub(super) type Poison = Arc<OnceLock<String>>;

/// Work that nobody waits for, done in small slices when nothing else is to be done. Returns whether
/// there is more.
pub(super) type IdleWork = Box<dyn FnMut(&Connection) -> Result<bool, Failure> + Send>;

/// A handle of the thread. Dropping it stops the thread after the jobs that wait.
pub(super) struct Writer {
    jobs: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    poison: Poison,
}

/// A message to the writer thread.
enum Message {
    /// Do some work in a transaction.
    Job(Box<dyn Job>),
    /// Someone subscribed to changes: look whether other processes write.
    Watch,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        connection: Connection,
        poison: Poison,
        changes: ChangeSender,
        idle: IdleWork,
    ) -> Result<Self, StoreError> {
        let (sender, jobs) = channel();
        let work = Work {
            data_version: None,
            connection,
            poison: Arc::clone(&poison),
            changes,
            idle,
            checkpointed: false,
        };
        let thread = std::thread::Builder::new()
            .name("threadline-sqlite".to_owned())
            .spawn(move || work.run(&jobs))
            .map_err(|error| StoreError::Unavailable {
                doing: "start the thread that writes to the store",
                source: Box::new(error),
            })?;
        Ok(Self { jobs: Some(sender), thread: Some(thread), poison })
    }

    /// Has the thread look for writes of other processes, as long as someone subscribes to changes.
    pub(super) fn watch(&self) {
        if let Some(jobs) = &self.jobs {
            // It fails only if the thread has ended.
            drop(jobs.send(Message::Watch));
        }
    }

    /// Does some work in a transaction, and answers when it is durable. Subscribers then learn of the
    /// change.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        doing: &'static str,
        (bytes, change): (usize, Option<Change>),
        work: impl FnMut(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Message::Job(Box::new(Task { doing, bytes, change, work, result: None, reply }));
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            return Err(stopped(&self.poison));
        }
        answer.await.unwrap_or_else(|lost| Err(StoreError::AnswerLost(Box::new(lost))))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(target: "History", "the thread that writes to the store panicked");
        }
    }
}

/// The error of every call after the store has stopped.
pub(super) fn stopped(poison: &Poison) -> StoreError {
    let why = poison.get().map_or("its writer has ended", String::as_str);
    StoreError::Poisoned(why.to_owned())
}

/// What the thread works with.
struct Work {
    connection: Connection,
    poison: Poison,
    changes: ChangeSender,
    /// SQLite's number for what other connections wrote, when someone subscribes to changes.
    data_version: Option<i64>,
    idle: IdleWork,
    /// Whether nothing was written since the log was last copied into the file.
    checkpointed: bool,
}

impl Work {
    /// Runs until nobody can ask for anything any more.
    fn run(mut self, messages: &Receiver<Message>) {
        let mut pause = Some(QUIET);
        loop {
            let next = match pause {
                Some(pause) => messages.recv_timeout(pause),
                None => messages.recv().map_err(RecvTimeoutError::from),
            };
            self.look_for_changes();
            pause = match next {
                Ok(Message::Job(first)) => {
                    self.write(group(first, messages));
                    Some(QUIET)
                }
                Ok(Message::Watch) => Some(QUIET),
                Err(RecvTimeoutError::Timeout) if self.idle_slice() => Some(Duration::ZERO),
                Err(RecvTimeoutError::Timeout) => self.data_version.map(|_| WATCH),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    /// Tells subscribers that another process has written, if it has. SQLite's data version changes
    /// with the writes of other connections, and nothing else in this process writes.
    fn look_for_changes(&mut self) {
        if !self.changes.has_subscribers() {
            self.data_version = None;
            return;
        }
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut version| version.query_row([], |row| row.get(0)));
        // Where the file cannot be read, subscribers find out why.
        let version = version.unwrap_or(i64::MIN);
        if self.data_version.replace(version).is_some_and(|before| before != version) {
            self.changes.send(Change::Unknown);
        }
    }

    /// Runs jobs in one transaction, and answers them.
    fn write(&mut self, mut group: Vec<Box<dyn Job>>) {
        let done = match self.poison.get() {
            Some(why) => Err(Trouble::Poisoned(why.clone())),
            None => self.transact(&mut group),
        };
        self.checkpointed = false;
        let trouble = done.err();
        if trouble.is_none() {
            group
                .iter()
                .filter_map(|job| job.change())
                .for_each(|change| self.changes.send(change));
        }
        for job in group {
            job.answer(trouble.as_ref());
        }
    }

    fn transact(&self, group: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        let done = self.execute("BEGIN IMMEDIATE").map_err(|error| Trouble::of(&error));
        let done = done
            .and_then(|()| group.iter_mut().try_for_each(|job| self.run_job(job.as_mut())))
            .and_then(|()| self.execute("COMMIT").map_err(|error| Trouble::of_commit(&error)));
        done.inspect_err(|trouble| {
            self.roll_back();
            self.note(trouble);
        })
    }

    /// Runs a job in a savepoint. Fails only if the whole transaction is lost.
    fn run_job(&self, job: &mut dyn Job) -> Result<(), Trouble> {
        let lost = |error| Trouble::of(&error);
        self.execute("SAVEPOINT job").map_err(lost)?;
        match job.run(&self.connection) {
            Ran::Done => {}
            Ran::Failed(trouble) if self.is_lost(&trouble) => return Err(trouble),
            Ran::Refused | Ran::Failed(_) => self.execute("ROLLBACK TO job").map_err(lost)?,
        }
        self.execute("RELEASE job").map_err(lost)
    }

    /// Whether an error of a job is one of the whole transaction: SQLite rolled it back, or nothing
    /// can be promised any more.
    fn is_lost(&self, trouble: &Trouble) -> bool {
        trouble.poison().is_some() || self.connection.is_autocommit()
    }

    /// Does a little of what nobody waits for. Returns whether there is more.
    fn idle_slice(&mut self) -> bool {
        if self.poison.get().is_some() {
            return false;
        }
        match self.idle_transaction() {
            Ok(true) => {
                self.checkpointed = false;
                return true;
            }
            Ok(false) => {}
            Err(error) => {
                self.roll_back();
                tracing::debug!(target: "History", %error, "put off idle work");
                if let Failure::Sqlite(error) = &error {
                    self.note(&Trouble::of(error));
                }
                return false;
            }
        }
        if !self.checkpointed {
            self.checkpointed = true;
            self.checkpoint();
        }
        false
    }

    fn idle_transaction(&mut self) -> Result<bool, Failure> {
        self.execute("BEGIN IMMEDIATE")?;
        let more = (self.idle)(&self.connection)?;
        self.execute("COMMIT")?;
        Ok(more)
    }

    /// Copies the write-ahead log into the file, as far as no reader is in the way.
    fn checkpoint(&self) {
        let copied = self
            .connection
            .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
            .and_then(|mut checkpoint| checkpoint.query_row([], |_| Ok(())));
        match copied {
            Ok(()) => {}
            Err(error) if gravity(&error) == Gravity::Store => {
                self.note(&Trouble::Poisoned(explain(&error)));
            }
            Err(error) => tracing::debug!(target: "History", %error, "put off a checkpoint"),
        }
    }

    /// Stops the store after an error that leaves open what is on the disk.
    fn note(&self, trouble: &Trouble) {
        if let Some(why) = trouble.poison()
            && self.poison.set(why.to_owned()).is_ok()
        {
            tracing::error!(target: "History", why, "the store stopped after a failed write");
        }
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            self.note(&Trouble::of(&error));
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }
}

/// The jobs of the next transaction: the first, and those that wait already.
fn group(first: Box<dyn Job>, messages: &Receiver<Message>) -> Vec<Box<dyn Job>> {
    let mut bytes = first.bytes();
    let mut group = vec![first];
    while group.len() < GROUP_CAP_JOBS
        && bytes < GROUP_CAP_BYTES
        && let Ok(message) = messages.try_recv()
    {
        let Message::Job(job) = message else { continue };
        bytes = bytes.saturating_add(job.bytes());
        group.push(job);
    }
    group
}
