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
    if is_shm_size(error) {
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
    if is_locked(&error) {
        return StoreError::Busy;
    }
    if is_unreadable_value(&error) {
        return StoreError::Damaged(error.to_string());
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(error.to_string()),
        // SQLite says so of a read that failed, too.
        Some(ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged(format!("{error}, or the disk failed to read it"))
        }
        Some(ErrorCode::NotADatabase) => StoreError::Damaged(error.to_string()),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            StoreError::Unavailable { doing, source: explain(&error).into() }
        }
        Some(_) | None => StoreError::Unavailable { doing, source: Box::new(error) },
    }
}

/// What failed, in words that say no more than SQLite knows, and what to do about it.
pub(super) fn explain(error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error().map(|error| error.extended_code) else {
        return error.to_string();
    };
    let what = match code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS => {
            "a read from the disk failed"
        }
        ffi::SQLITE_IOERR_WRITE => "a write to the disk failed",
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => {
            "the disk could not confirm a write (fsync failed)"
        }
        ffi::SQLITE_IOERR_TRUNCATE => "a file could not be made shorter or longer",
        ffi::SQLITE_IOERR_FSTAT | ffi::SQLITE_IOERR_ACCESS => "a file could not be looked at",
        ffi::SQLITE_IOERR_DELETE => "a file could not be removed",
        ffi::SQLITE_IOERR_CLOSE => "a file could not be closed",
        ffi::SQLITE_IOERR_LOCK
        | ffi::SQLITE_IOERR_UNLOCK
        | ffi::SQLITE_IOERR_RDLOCK
        | ffi::SQLITE_IOERR_CHECKRESERVEDLOCK
        | ffi::SQLITE_IOERR_SHMLOCK => "the file could not be locked",
        ffi::SQLITE_IOERR_SHMSIZE => {
            return "the -shm file beside the database could not be made larger; \
                    check whether the disk works and has room"
                .to_owned();
        }
        ffi::SQLITE_IOERR_SHMOPEN | ffi::SQLITE_IOERR_SHMMAP => {
            "the -shm file beside the database could not be opened or mapped"
        }
        ffi::SQLITE_IOERR_NOMEM => return "there is not enough memory".to_owned(),
        code if code & 0xff == ffi::SQLITE_CANTOPEN => {
            return "the database, or the -wal or -shm file beside it, cannot be opened; \
                    check that it is there and who may read and write it and its folder"
                .to_owned();
        }
        _ => return format!("{error} (SQLite code {code}); check the disk and its file system"),
    };
    format!("{what}; check the disk and its file system")
}

/// Whether the shared memory beside the write-ahead log could not be made longer. It holds no data,
/// so that this is no worse than failing to make the log longer.
fn is_shm_size(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// Whether a value in a row is not of the kind that is written there.
fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
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
        if is_unreadable_value(&error) {
            // A damaged row is no failure of SQLite: it concerns what it is a row of, and no other.
            return Self::Refused(StoreError::Damaged(error.to_string()));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    /// Disk errors are not reported as a full disk, and each says what to check.
    #[test]
    fn words_of_errors_are_true() {
        assert!(matches!(store_error("read", failed(ffi::SQLITE_FULL)), StoreError::Full));
        for code in [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_SHMMAP,
            ffi::SQLITE_IOERR_LOCK,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_CANTOPEN_ISDIR,
        ] {
            let error = store_error("read a history", failed(code));
            let StoreError::Unavailable { source, .. } = &error else { panic!("{code}: {error}") };
            let words = source.to_string();
            assert!(words.contains("check "), "{code}: {words}");
            assert!(!words.contains("backup"), "{code}: {words}");
            assert!(!words.contains("is full;"), "{code}: {words}");
        }
        assert_eq!(gravity(&failed(ffi::SQLITE_IOERR_SHMSIZE)), Gravity::Call);
        assert_eq!(gravity(&failed(ffi::SQLITE_IOERR_FSYNC)), Gravity::Store);
    }
}
