//! The version of a store's file, and the steps from each to the next.

use rusqlite::{Connection, TransactionBehavior};
use threadline_core::store::StoreError;

use super::error::store_error;

/// The mark of a Threadline store in the head of its file: `THRL`.
pub(super) const APPLICATION_ID: i64 = 0x5448_524c;

/// The tables of a new store, in the newest version.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The first version whose files are kept. Development builds wrote files with lower numbers.
const FIRST: i64 = 7;

/// The steps from [`FIRST`] on, each from one version to the next.
const STEPS: &[&str] = &[include_str!("migrations/8.sql")];

/// The version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// An empty file.
    Empty,
    /// A store that has had so many steps.
    Steps(usize),
}

/// What kind of file this is. Refuses those of other programs, of development builds and of newer
/// versions.
fn version(connection: &Connection) -> Result<Version, StoreError> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let head = number("PRAGMA application_id").and_then(|application| {
        let version = number("PRAGMA user_version")?;
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        Ok((application, version, tables))
    });
    let (application, version, tables) =
        head.map_err(|error| store_error("read the head of the store", error))?;
    match (application, version, tables) {
        (0, 0, 0) => Ok(Version::Empty),
        (APPLICATION_ID, found, _) if found < FIRST => Err(StoreError::Invalid(
            "a development build of threadline wrote this file, and no release reads it: export \
             its conversations with that build, or choose another path"
                .to_owned(),
        )),
        (APPLICATION_ID, found, _) => steps_of(found).map(Version::Steps),
        _ => Err(StoreError::Damaged("it is a database of another program".to_owned())),
    }
}

fn steps_of(found: i64) -> Result<usize, StoreError> {
    match usize::try_from(found - FIRST) {
        Ok(steps) if steps <= STEPS.len() => Ok(steps),
        Ok(_) | Err(_) => Err(StoreError::Newer { found, known: newest() }),
    }
}

/// The newest version.
pub(super) fn newest() -> i64 {
    FIRST.saturating_add(i64::try_from(STEPS.len()).unwrap_or(i64::MAX))
}

/// Whether a file is empty.
pub(super) fn is_empty(connection: &Connection) -> Result<bool, StoreError> {
    Ok(version(connection)? == Version::Empty)
}

/// Refuses a store that must be brought to the newest version before it can be read.
pub(super) fn require_newest(connection: &Connection) -> Result<(), StoreError> {
    if version(connection)? == Version::Steps(STEPS.len()) {
        return Ok(());
    }
    Err(StoreError::ReadOnly(
        "an older version wrote it, and it must be migrated before it is read".to_owned(),
    ))
}

/// Brings a store to the newest version, all of it or nothing.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| store_error("migrate the store", error);
    if version(connection)? == Version::Steps(STEPS.len()) {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
    // Another process may have been faster.
    match version(&transaction)? {
        Version::Empty => transaction.execute_batch(SCHEMA).map_err(failed)?,
        Version::Steps(done) => {
            for step in STEPS.iter().skip(done) {
                transaction.execute_batch(step).map_err(failed)?;
            }
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", newest()).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    tracing::info!(target: "History", version = newest(), "migrated the store");
    Ok(())
}
