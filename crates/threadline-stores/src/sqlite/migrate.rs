//! Migrations: numbered steps from one form of the store to the next, each applied once.

use rusqlite::{Connection, TransactionBehavior};
use threadline_core::store::StoreError;

use super::error::store_error;

/// The mark of a Threadline store in the head of its file: `THRL`.
pub(super) const APPLICATION_ID: i64 = 0x5448_524c;

/// The steps; a store of version n has had the first n.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("0001_store.sql"),
    include_str!("0002_ahead.sql"),
    include_str!("0003_fresh.sql"),
    include_str!("0004_last.sql"),
    include_str!("0005_state.sql"),
    include_str!("0006_hold.sql"),
];

/// The version of a store's form, as its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An empty file.
    Empty,
    /// A store that has had so many steps.
    Version(usize),
}

/// What kind of file this is. Refuses those of other programs and of newer versions.
pub(super) fn form(connection: &Connection) -> Result<Form, StoreError> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let head = number("PRAGMA application_id").and_then(|application| {
        let version = number("PRAGMA user_version")?;
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        Ok((application, version, tables))
    });
    let (application, version, tables) =
        head.map_err(|error| store_error("read the head of the store", error))?;
    match (application, version, tables) {
        (0, 0, 0) => Ok(Form::Empty),
        (APPLICATION_ID, found, _) => known(found).map(Form::Version),
        _ => Err(StoreError::Damaged("it is a database of another program".to_owned())),
    }
}

fn known(found: i64) -> Result<usize, StoreError> {
    let known = MIGRATIONS.len();
    match usize::try_from(found) {
        Ok(version) if version <= known => Ok(version),
        Ok(_) | Err(_) => {
            Err(StoreError::Newer { found, known: i64::try_from(known).unwrap_or(i64::MAX) })
        }
    }
}

/// Refuses a store that must be brought to its newest form before it can be read.
pub(super) fn require_newest(connection: &Connection) -> Result<(), StoreError> {
    if form(connection)? == Form::Version(MIGRATIONS.len()) {
        return Ok(());
    }
    Err(StoreError::ReadOnly(
        "an older version wrote it, and it must be brought to its newest form before it is read"
            .to_owned(),
    ))
}

/// Brings a store to the newest form, all of it or nothing.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| store_error("bring the store to its newest form", error);
    let newest = MIGRATIONS.len();
    if form(connection)? == Form::Version(newest) {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
    // Another process may have been faster.
    let done = match form(&transaction)? {
        Form::Empty => 0,
        Form::Version(version) => version,
    };
    for step in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction
        .pragma_update(None, "user_version", i64::try_from(newest).unwrap_or(i64::MAX))
        .map_err(failed)?;
    transaction.commit().map_err(failed)?;
    tracing::info!(target: "History", from = done, to = newest, "migrated the store");
    Ok(())
}
