//! Jobs for the writer, and what can become of them.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use threadline_core::store::StoreError;
use tokio::sync::oneshot;

use crate::sqlite::error::{Failure, Gravity, explain, gravity, is_locked};

/// Something to do in a transaction.
pub(super) trait Job: Send {
    fn bytes(&self) -> usize;
    fn run(&mut self, connection: &Connection) -> Ran;
    /// Answers with what came of it, or with why the whole group came to nothing. Others may go with
    /// the answer.
    fn answer(self: Box<Self>, trouble: Option<&Trouble>, others: Option<Others>);
}

/// Jobs whose transaction ended, with trouble or without. Letting go of them answers them, so that
/// none is ever forgotten.
pub(super) struct Ended {
    jobs: Vec<Box<dyn Job>>,
    trouble: Option<Trouble>,
}

impl Ended {
    pub(super) fn new(jobs: Vec<Box<dyn Job>>, done: Result<(), Trouble>) -> Self {
        Self { jobs, trouble: done.err() }
    }

    /// Answers one of them, who answers the others on the way: to wake tasks of a runtime takes a
    /// third of the time on one of its own threads. That one may not come to it, so the others are
    /// given back, too: whoever is first to let go of them answers them.
    pub(super) fn pass_on(mut self) -> Option<Others> {
        let job = self.jobs.pop()?;
        let trouble = self.trouble.clone();
        let others = Arc::new(Mutex::new(Some(self)));
        job.answer(trouble.as_ref(), Some(Others(Arc::clone(&others))));
        Some(Others(others))
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        for job in self.jobs.drain(..) {
            job.answer(self.trouble.as_ref(), None);
        }
    }
}

/// Jobs that are answered by whoever is first to let go of them.
pub(super) struct Others(Arc<Mutex<Option<Ended>>>);

impl Drop for Others {
    fn drop(&mut self) {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(ended);
    }
}

/// What is told to whoever asked for a job.
pub(super) struct Told<T> {
    pub(super) answer: Result<T, StoreError>,
    /// Others who are to be answered.
    pub(super) others: Option<Others>,
}

/// What became of a job inside its transaction.
pub(super) enum Ran {
    Done,
    Refused,
    Failed(Trouble),
}

pub(super) struct Task<T, F> {
    pub(super) doing: &'static str,
    pub(super) bytes: usize,
    pub(super) work: F,
    pub(super) result: Option<Result<T, Failure>>,
    pub(super) reply: oneshot::Sender<Told<T>>,
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

    fn answer(self: Box<Self>, trouble: Option<&Trouble>, others: Option<Others>) {
        let answer = match (trouble, self.result) {
            // What was refused would have been refused in any case.
            (_, Some(Err(Failure::Refused(error)))) => Err(error),
            (Some(trouble), _) => Err(trouble.store_error(self.doing)),
            (None, Some(result)) => result.map_err(|error| error.into_store_error(self.doing)),
            (None, None) => Err(StoreError::Busy),
        };
        // Whoever no longer waits for the answer does not need it.
        drop(self.reply.send(Told { answer, others }));
    }
}

/// Why a transaction came to nothing.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
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
    pub(super) fn of(error: &rusqlite::Error) -> Self {
        match (gravity(error), error.sqlite_error_code()) {
            (Gravity::Store, _) => Self::Poisoned(explain(error)),
            (Gravity::Call, _) if is_locked(error) => Self::Busy,
            (Gravity::Call, Some(rusqlite::ErrorCode::DiskFull)) => Self::Full,
            (Gravity::Call, Some(_) | None) => Self::Other(explain(error)),
        }
    }

    /// Of a commit: a grave error leaves open whether the disk has it.
    pub(super) fn of_commit(error: &rusqlite::Error) -> Self {
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

    pub(super) fn poison(&self) -> Option<&str> {
        match self {
            Self::Busy | Self::Full | Self::Other(_) => None,
            Self::Poisoned(why) | Self::Unknown(why) => Some(why),
        }
    }
}
