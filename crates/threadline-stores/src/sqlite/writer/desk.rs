//! The desk where everything is written: the connection, its transactions and its upkeep.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::job::{Ended, Job, Ran, Trouble};
use super::{Around, IdleWork, Poison};
use crate::sqlite::connection::BUSY_TIMEOUT;
use crate::sqlite::error::{Failure, Gravity, explain, gravity};
use crate::sqlite::fresh;

/// The longest wait for a group to be full.
const GROUP_PAUSE: Duration = Duration::from_millis(2);
/// What a transaction may take for its caller's thread to write it.
const QUICK: Duration = Duration::from_millis(2);
/// How long nothing must come before work is done that nobody waits for.
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// The write-ahead log is brought into the file when it is longer than this: after a burst rather
/// than in the middle of it.
const WAL_CAP_BYTES: i64 = 48 * 1024 * 1024;
/// How much is written between looks at how long the log is.
const WAL_LOOK_BYTES: usize = 4 * 1024 * 1024;
/// How many jobs are done between counts of the fresh entries.
const FRESH_LOOK_JOBS: usize = 512;
/// What an append writes beside its own bytes, roughly: some pages of indexes and sums.
const OVERHEAD_BYTES: usize = 4 * 8192;

/// How much comes at the same time, and how long it takes.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// How many ask at the same time.
    pub(super) at_once: usize,
    /// How long the jobs of the last transaction took.
    running: Duration,
    /// How long it then took to make them last.
    committing: Duration,
}

impl Pace {
    /// Whether a transaction is no long wait.
    fn is_quick(&self) -> bool {
        self.running + self.committing <= QUICK
    }

    /// How long it pays to wait for all who were answered last to come again: for less than the sync
    /// that it saves, and not at all where it is not the disk that takes the time.
    pub(super) fn patience(&self) -> Duration {
        let by_disk = self.committing > 4 * self.running;
        if by_disk { GROUP_PAUSE.min(self.committing / 2) } else { Duration::ZERO }
    }
}

/// What became of a group that was run without savepoints.
enum Group {
    /// All of it that was not refused is written.
    Whole,
    /// One has written and then failed: nothing of it may stay.
    Spoilt,
}

/// What writing needs, whoever writes.
pub(super) struct Desk {
    connection: Connection,
    poison: Poison,
    idle: IdleWork,
    pub(super) pace: Pace,
    /// What jobs may know.
    pub(super) around: Arc<Around>,
    /// When the last transaction ended.
    last_written: Instant,
    /// Bytes written since the log's length was looked at.
    unseen_bytes: usize,
    /// Jobs done since the fresh entries were counted.
    unseen_jobs: usize,
    /// Whether nothing was written since the log was last brought into the file.
    checkpointed: bool,
    /// Whether the thread sleeps until it is told that something was written.
    asleep: bool,
    /// Whether it was told, and has not looked yet.
    told: bool,
}

impl Desk {
    pub(super) fn new(connection: Connection, poison: Poison, idle: IdleWork) -> Self {
        Self {
            connection,
            poison,
            idle,
            pace: Pace::default(),
            around: Arc::default(),
            last_written: Instant::now(),
            unseen_bytes: 0,
            unseen_jobs: 0,
            checkpointed: false,
            asleep: false,
            told: false,
        }
    }

    /// Does a job on its caller's thread, if it would not have to wait and none came with the last
    /// ones. Gives it back if the thread should do it.
    pub(super) fn do_at_once(&mut self, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let alone = self.pace.at_once <= 1 && self.pace.is_quick();
        if !alone || self.poison.get().is_some() || !self.begin_at_once() {
            return Err(job);
        }
        let mut group = vec![job];
        let done = self.run(&mut group);
        drop(Ended::new(group, done));
        Ok(())
    }

    /// Reads at one moment of the store.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.execute("BEGIN")?;
        let answer = work(&self.connection);
        if let Err(error) = self.execute("COMMIT") {
            self.roll_back();
            return Err(error.into());
        }
        answer
    }

    /// Whether the thread must be told to look after what was written.
    pub(super) fn wakes_thread(&mut self) -> bool {
        let wakes = !self.told && (self.asleep || self.is_upkeep_due());
        self.told |= wakes;
        wakes
    }

    /// Does jobs in one transaction. They are still to be answered, with its trouble if it had any.
    pub(super) fn do_group(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        if let Some(why) = self.poison.get() {
            return Err(Trouble::Poisoned(why.clone()));
        }
        let begun = self.execute("BEGIN IMMEDIATE").map_err(|error| Trouble::of(&error));
        begun.inspect_err(|trouble| self.note(trouble))?;
        self.run(group)
    }

    /// Begins a transaction, unless another process writes.
    fn begin_at_once(&self) -> bool {
        let patiently = |patience| self.connection.busy_timeout(patience).is_ok();
        let begun = patiently(Duration::ZERO) && self.execute("BEGIN IMMEDIATE").is_ok();
        if patiently(BUSY_TIMEOUT) {
            return begun;
        }
        self.roll_back();
        false
    }

    /// Runs jobs in the transaction that was begun.
    fn run(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        let bytes = group.iter().fold(0, |bytes: usize, job| bytes.saturating_add(job.bytes()));
        let written = bytes.saturating_add(group.len().saturating_mul(OVERHEAD_BYTES));
        self.unseen_bytes = self.unseen_bytes.saturating_add(written);
        self.unseen_jobs = self.unseen_jobs.saturating_add(group.len());
        self.around.at_once.store(group.len(), Ordering::Relaxed);
        self.around.remembered().look(&self.connection);
        let began = Instant::now();
        let ran = match self.run_bare(group) {
            Ok(Group::Whole) => Ok(()),
            Ok(Group::Spoilt) => self.run_again(group),
            Err(trouble) => Err(trouble),
        };
        let ran_at = Instant::now();
        let done =
            ran.and_then(|()| self.execute("COMMIT").map_err(|error| Trouble::of_commit(&error)));
        self.checkpointed = false;
        self.last_written = Instant::now();
        self.pace.running = ran_at.duration_since(began);
        self.pace.committing = self.last_written.duration_since(ran_at);
        done.inspect_err(|trouble| {
            self.roll_back();
            self.note(trouble);
        })
    }

    /// Whether enough was written to look after the fresh entries or the log.
    fn is_upkeep_due(&self) -> bool {
        self.unseen_jobs >= FRESH_LOOK_JOBS || self.unseen_bytes > WAL_LOOK_BYTES
    }

    /// Looks after the fresh entries and the log, if enough was written.
    pub(super) fn keep_up(&mut self) {
        (self.asleep, self.told) = (false, false);
        if self.unseen_jobs >= FRESH_LOOK_JOBS {
            self.unseen_jobs = 0;
            self.settle_fresh();
        }
        if self.unseen_bytes > WAL_LOOK_BYTES {
            self.unseen_bytes = 0;
            self.shorten_log();
        }
    }

    /// Does a little of what nobody waits for, once nothing was written for a while. Gives how long
    /// the thread may sleep, if there is more to do.
    pub(super) fn idle(&mut self) -> Option<Duration> {
        let rest = QUIET.saturating_sub(self.last_written.elapsed());
        if !rest.is_zero() {
            return Some(rest);
        }
        self.asleep = !self.idle_slice();
        (!self.asleep).then_some(Duration::ZERO)
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
        self.around.remembered().forget();
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
                self.around.remembered().forget();
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
        self.around.remembered().forget();
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            self.note(&Trouble::Poisoned(explain(&error)));
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
            Gravity::Store => self.note(&Trouble::Poisoned(explain(error))),
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
            let many = fresh::is_due(&state.connection)?;
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
