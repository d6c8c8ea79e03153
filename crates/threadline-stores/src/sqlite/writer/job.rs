//! Jobs for the writer, and what can become of them.

use rusqlite::Connection;
use threadline_core::store::{Change, StoreError};
use tokio::sync::oneshot;

use crate::sqlite::error::{Failure, Gravity, explain, gravity, is_locked};

/// Something to do in a transaction.
pub(super) trait Job: Send {
    fn bytes(&self) -> usize;
    fn run(&mut self, connection: &Connection) -> Ran;
    /// The change that subscribers receive, if the job succeeded.
    fn change(&self) -> Option<Change>;
    /// Answers with what came of it, or with why the whole transaction came to nothing.
    fn answer(self: Box<Self>, trouble: Option<&Trouble>);
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
    pub(super) change: Option<Change>,
    pub(super) work: F,
    pub(super) result: Option<Result<T, Failure>>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
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

    fn change(&self) -> Option<Change> {
        self.change.filter(|_| matches!(self.result, Some(Ok(_))))
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
            trouble @ (Self::Busy | Self::Full | Self::Other(_) | Self::Unknown(_)) => trouble,
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
