//! What SQLite could not do, in the words of a store.

use std::fmt;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use threadline_core::store::StoreError;

/// What a failure means for the store as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gravity {
    /// This call failed; others need not.
    Call,
    /// Nothing can be promised any more.
    Store,
}

/// How grave an error is when it befalls the writer.
pub(super) fn gravity(error: &rusqlite::Error) -> Gravity {
    if is_no_room(error) {
        return Gravity::Call;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Gravity::Store
        }
        Some(_) | None => Gravity::Call,
    }
}

/// The error of a call.
pub(super) fn store_error(doing: &'static str, error: rusqlite::Error) -> StoreError {
    if is_no_room(&error) {
        return StoreError::Full;
    }
    if is_locked(&error) {
        return StoreError::Busy;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged(error.to_string())
        }
        Some(_) | None => StoreError::Unavailable { doing, source: Box::new(error) },
    }
}

/// Whether there was no room on the disk. The shared memory beside the write-ahead log holds no
/// data, so that failing to make it longer is no worse than failing to make the log longer.
fn is_no_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// Whether another connection stood in the way: for the whole wait, or again and again while this
/// one tried to begin to read.
pub(super) fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// A failure inside a transaction: of this call only, or of SQLite.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call was refused.
    Refused(StoreError),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

impl Failure {
    /// The error of a call that was doing something.
    pub(super) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => store_error(doing, error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

/// What is stored is not what was written.
pub(super) fn damaged(what: impl Into<String>) -> Failure {
    Failure::Refused(StoreError::Damaged(what.into()))
}
