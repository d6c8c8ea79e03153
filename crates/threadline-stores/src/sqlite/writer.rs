//! The writer: one thread, one connection, and group commit.
//!
//! Jobs that wait are run in one transaction; one sync makes them all last, and only then are they
//! answered. A job that fails does not fail its neighbours: most fail before they write anything,
//! and if one has written, the group is run again with a savepoint for each, which costs copies of
//! all pages it changes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadline_core::store::StoreError;
use tokio::sync::oneshot;

use super::error::{Failure, Gravity, gravity, is_locked};
use super::fresh::{self, FRESH_CAP};

const GROUP_CAP_JOBS: usize = 256;
const GROUP_CAP_BYTES: usize = 1024 * 1024;
/// The longest wait for those that were in the last groups to come again.
const GROUP_PAUSE: Duration = Duration::from_millis(2);
/// How long nothing must come before work is done that nobody waits for.
const QUIET: Duration = Duration::from_millis(100);
/// The write-ahead log is brought into the file when it is longer than this.
const WAL_CAP_BYTES: i64 = 16 * 1024 * 1024;
/// How much is written between looks at how long the log is.
const WAL_LOOK_BYTES: usize = 512 * 1024;
/// How many jobs are done between counts of the fresh entries.
const FRESH_LOOK_JOBS: usize = 64;
/// What an append writes beside its own bytes, roughly: some pages of indexes and sums.
const OVERHEAD_BYTES: usize = 4 * 8192;

/// Why the store stopped, once it has.
pub(super) type Poison = Arc<OnceLock<String>>;

/// Work that nobody waits for, done in small slices when nothing else is to be done. Tells whether
/// there is more.
pub(super) type IdleWork = Box<dyn FnMut(&Connection) -> Result<bool, Failure> + Send>;

/// The way to the thread that writes. Dropping it stops the thread after the jobs that wait.
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    poison: Poison,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        connection: Connection,
        poison: Poison,
        idle: IdleWork,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let state = State {
            connection,
            poison: Arc::clone(&poison),
            idle,
            expected: 1,
            last_commit: Duration::ZERO,
            unseen_bytes: 0,
            unseen_jobs: 0,
            checkpointed: false,
        };
        let thread = std::thread::Builder::new()
            .name("threadline-sqlite".to_owned())
            .spawn(move || state.run(&waiting))
            .map_err(|error| StoreError::Unavailable {
                doing: "start the thread that writes to the store",
                source: Box::new(error),
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), poison })
    }

    /// Does some work in a transaction, and answers when it is durable. The work may be done more
    /// than once, each time as if it had not been done before.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        doing: &'static str,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let task = Task { doing, bytes, work, result: None, reply };
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Box::new(task)).is_ok());
        if !sent {
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

/// Something to do in a transaction.
trait Job: Send {
    fn bytes(&self) -> usize;
    fn run(&mut self, connection: &Connection) -> Ran;
    /// Answers with what came of it, or with why the whole group came to nothing.
    fn answer(self: Box<Self>, trouble: Option<&Trouble>);
}

/// What became of a job inside its transaction.
enum Ran {
    Done,
    Refused,
    Failed(Trouble),
}

/// What became of a group that was run without savepoints.
enum Group {
    /// All of it that was not refused is written.
    Whole,
    /// One has written and then failed: nothing of it may stay.
    Spoilt,
}

struct Task<T, F> {
    doing: &'static str,
    bytes: usize,
    work: F,
    result: Option<Result<T, Failure>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Failure> + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, connection: &Connection) -> Ran {
        let result = (self.work)(connection);
        let ran = match &result {
            Ok(_) => Ran::Done,
            Err(Failure::Refused(_)) => Ran::Refused,
            Err(Failure::Sqlite(error)) => Ran::Failed(Trouble::of(error)),
        };
        self.result = Some(result);
        ran
    }

    fn answer(self: Box<Self>, trouble: Option<&Trouble>) {
        let answer = match (trouble, self.result) {
            // What was refused would have been refused in any case.
            (_, Some(Err(Failure::Refused(error)))) => Err(error),
            (Some(trouble), _) => Err(trouble.store_error(self.doing)),
            (None, Some(result)) => result.map_err(|error| error.into_store_error(self.doing)),
            (None, None) => Err(StoreError::Busy),
        };
        // Whoever no longer waits for the answer does not need it.
        drop(self.reply.send(answer));
    }
}

/// Why a transaction came to nothing.
#[derive(Clone, Debug)]
enum Trouble {
    Busy,
    Full,
    /// Nothing was written, and the store goes on.
    Other(String),
    /// Nothing was written, and the store has stopped.
    Poisoned(String),
    /// Nobody knows whether it was written, and the store has stopped.
    Unknown(String),
}

impl Trouble {
    fn of(error: &rusqlite::Error) -> Self {
        match (gravity(error), error.sqlite_error_code()) {
            (Gravity::Store, _) => Self::Poisoned(error.to_string()),
            (Gravity::Call, _) if is_locked(error) => Self::Busy,
            (
                Gravity::Call,
                Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure),
            ) => Self::Full,
            (Gravity::Call, Some(_) | None) => Self::Other(error.to_string()),
        }
    }

    /// Of a commit: a grave error leaves open whether the disk has it.
    fn of_commit(error: &rusqlite::Error) -> Self {
        match Self::of(error) {
            Self::Poisoned(why) => Self::Unknown(why),
            other => other,
        }
    }

    fn store_error(&self, doing: &'static str) -> StoreError {
        match self {
            Self::Busy => StoreError::Busy,
            Self::Full => StoreError::Full,
            Self::Other(why) => StoreError::Unavailable { doing, source: why.as_str().into() },
            Self::Poisoned(why) => StoreError::Poisoned(why.clone()),
            Self::Unknown(why) => StoreError::AnswerLost(why.as_str().into()),
        }
    }

    fn poison(&self) -> Option<&str> {
        match self {
            Self::Busy | Self::Full | Self::Other(_) => None,
            Self::Poisoned(why) | Self::Unknown(why) => Some(why),
        }
    }
}

struct State {
    connection: Connection,
    poison: Poison,
    idle: IdleWork,
    /// How many jobs the next group may have, going by the last ones.
    expected: usize,
    /// How long the last transaction took.
    last_commit: Duration,
    /// Bytes written since the log's length was looked at.
    unseen_bytes: usize,
    /// Jobs done since the fresh entries were counted.
    unseen_jobs: usize,
    /// Whether nothing was written since the log was last brought into the file.
    checkpointed: bool,
}

impl State {
    fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut pause = Some(QUIET);
        loop {
            let first = match pause {
                Some(pause) => jobs.recv_timeout(pause),
                None => jobs.recv().map_err(RecvTimeoutError::from),
            };
            pause = match first {
                Ok(first) => {
                    let group = self.gather(first, jobs);
                    self.commit(group);
                    Some(QUIET)
                }
                Err(RecvTimeoutError::Timeout) => self.idle_slice().then_some(Duration::ZERO),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    /// The jobs that wait. Those that were answered together come again nearly together, so it
    /// pays to wait for as many, for as long as that costs less than another sync; one alone is
    /// never kept waiting.
    fn gather(&mut self, first: Box<dyn Job>, jobs: &Receiver<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
        let mut bytes = first.bytes();
        let mut group = vec![first];
        let began = Instant::now();
        let patience = GROUP_PAUSE.min(self.last_commit / 2);
        while group.len() < GROUP_CAP_JOBS && bytes < GROUP_CAP_BYTES {
            let next = match jobs.try_recv() {
                Ok(next) => Some(next),
                Err(_) if group.len() < self.expected => {
                    jobs.recv_timeout(patience.saturating_sub(began.elapsed())).ok()
                }
                Err(_) => None,
            };
            let Some(next) = next else { break };
            bytes = bytes.saturating_add(next.bytes());
            group.push(next);
        }
        self.expected = group.len().max(self.expected - self.expected.div_ceil(8));
        let written = bytes.saturating_add(group.len().saturating_mul(OVERHEAD_BYTES));
        self.unseen_bytes = self.unseen_bytes.saturating_add(written);
        self.unseen_jobs = self.unseen_jobs.saturating_add(group.len());
        group
    }

    fn commit(&mut self, mut group: Vec<Box<dyn Job>>) {
        let trouble = if self.poison.get().is_some() {
            Some(Trouble::Poisoned(self.poison.get().cloned().unwrap_or_default()))
        } else {
            self.transaction(&mut group).err()
        };
        if let Some(trouble) = &trouble {
            self.note(trouble);
        }
        for job in group {
            job.answer(trouble.as_ref());
        }
        if self.unseen_jobs >= FRESH_LOOK_JOBS {
            self.unseen_jobs = 0;
            self.settle_fresh();
        }
        if self.unseen_bytes > WAL_LOOK_BYTES {
            self.unseen_bytes = 0;
            self.shorten_log();
        }
    }

    fn transaction(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        let began = Instant::now();
        self.execute("BEGIN IMMEDIATE").map_err(|error| Trouble::of(&error))?;
        let ran = match self.run_bare(group) {
            Ok(Group::Whole) => Ok(()),
            Ok(Group::Spoilt) => self.run_again(group),
            Err(trouble) => Err(trouble),
        };
        let done =
            ran.and_then(|()| self.execute("COMMIT").map_err(|error| Trouble::of_commit(&error)));
        self.checkpointed = false;
        self.last_commit = began.elapsed();
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Runs jobs up to one that fails after it has written. Fails only if the whole transaction is
    /// lost.
    fn run_bare(&self, group: &mut [Box<dyn Job>]) -> Result<Group, Trouble> {
        for job in group {
            let before = self.connection.total_changes();
            match job.run(&self.connection) {
                Ran::Done => {}
                Ran::Failed(trouble) if self.is_lost(&trouble) => return Err(trouble),
                Ran::Refused if self.connection.total_changes() == before => {}
                Ran::Refused | Ran::Failed(_) => return Ok(Group::Spoilt),
            }
        }
        Ok(Group::Whole)
    }

    /// Begins again, and runs each job in a savepoint.
    fn run_again(&self, group: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        let lost = |error| Trouble::of(&error);
        self.execute("ROLLBACK").map_err(lost)?;
        self.execute("BEGIN IMMEDIATE").map_err(lost)?;
        group.iter_mut().try_for_each(|job| self.run_in_savepoint(job.as_mut()))
    }

    /// Runs a job in a savepoint. Fails only if the whole transaction is lost.
    fn run_in_savepoint(&self, job: &mut dyn Job) -> Result<(), Trouble> {
        let lost = |error| Trouble::of(&error);
        self.execute("SAVEPOINT job").map_err(lost)?;
        match job.run(&self.connection) {
            Ran::Done => self.execute("RELEASE job").map_err(lost),
            Ran::Failed(trouble) if self.is_lost(&trouble) => Err(trouble),
            Ran::Refused | Ran::Failed(_) => {
                self.execute("ROLLBACK TO job").map_err(lost)?;
                self.execute("RELEASE job").map_err(lost)
            }
        }
    }

    /// Whether a job's trouble ended the whole transaction.
    fn is_lost(&self, trouble: &Trouble) -> bool {
        trouble.poison().is_some() || self.connection.is_autocommit()
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            self.note(&Trouble::Poisoned(error.to_string()));
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn note(&self, trouble: &Trouble) {
        if let Some(why) = trouble.poison()
            && self.poison.set(why.to_owned()).is_ok()
        {
            tracing::error!(target: "History", why, "the store stopped after a failed write");
        }
    }

    /// Brings the log into the file if it has grown long.
    fn shorten_log(&mut self) {
        match self.checkpoint("PRAGMA wal_checkpoint(NOOP)") {
            Ok(pages) if pages.saturating_mul(8192) < WAL_CAP_BYTES => return,
            Ok(_) => {}
            Err(error) => return self.checkpoint_failed(&error),
        }
        self.empty_log();
    }

    /// The pages in the log, after a checkpoint of some kind.
    fn checkpoint(&self, sql: &str) -> rusqlite::Result<i64> {
        self.connection.prepare_cached(sql)?.query_row([], |row| row.get(1))
    }

    fn checkpoint_failed(&self, error: &rusqlite::Error) {
        match gravity(error) {
            Gravity::Store => self.note(&Trouble::Poisoned(error.to_string())),
            Gravity::Call => {
                tracing::debug!(target: "History", %error, "put off a checkpoint");
            }
        }
    }

    /// Does a little of what nobody waits for. Tells whether there is more.
    fn idle_slice(&mut self) -> bool {
        if self.poison.get().is_some() {
            return false;
        }
        match self.aside(|state| (state.idle)(&state.connection)) {
            Some(true) => return true,
            Some(false) => {}
            None => return false,
        }
        if !self.checkpointed {
            self.checkpointed = true;
            self.empty_log();
        }
        false
    }

    /// Moves the fresh entries to their places if there are many.
    fn settle_fresh(&mut self) {
        if self.poison.get().is_some() {
            return;
        }
        // A failed one is tried again after some jobs, or when nothing else is to be done.
        self.aside(|state| {
            let many = fresh::count(&state.connection)? >= FRESH_CAP;
            if many {
                fresh::settle(&state.connection)?;
            }
            Ok(many)
        });
    }

    /// Does work that nobody waits for, in a transaction of its own, unless it fails. Gives what
    /// the work tells: whether there is more.
    fn aside(&mut self, work: impl FnOnce(&mut Self) -> Result<bool, Failure>) -> Option<bool> {
        let done = self.execute("BEGIN IMMEDIATE").map_err(Failure::from).and_then(|()| {
            let more = work(self)?;
            self.execute("COMMIT")?;
            Ok(more)
        });
        match done {
            Ok(more) => {
                self.checkpointed &= !more;
                Some(more)
            }
            Err(error) => {
                self.roll_back();
                tracing::debug!(target: "History", %error, "put off idle work");
                match &error {
                    Failure::Refused(_) => {}
                    Failure::Sqlite(error) => self.note(&Trouble::of(error)),
                }
                None
            }
        }
    }

    /// Brings the log into the file, as far as no reader is in the way. The log keeps its length:
    /// to write over it takes half the time that it takes to make it grow again.
    fn empty_log(&self) {
        if let Err(error) = self.checkpoint("PRAGMA wal_checkpoint(PASSIVE)") {
            self.checkpoint_failed(&error);
        }
    }
}
