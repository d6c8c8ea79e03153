//! What all tests under fire stand on: opened stores, knobs, and runtimes.

use std::path::PathBuf;
use std::sync::Arc;

use threadline_core::id::TenantId;
use threadline_core::store::StoreError;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::crash::Disk;
use threadline_testing::ids::SeededIds;

/// How long leases are asked for.
pub(crate) const TTL_MS: u64 = 30_000;

/// A number from the environment, or else the usual one.
#[expect(clippy::disallowed_methods, reason = "these variables make the tests larger")]
pub(crate) fn knob(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text:?}")),
        Err(_) => usual,
    }
}

/// The seed of all choices, to repeat a run that failed.
pub(crate) fn seed() -> u64 {
    knob("THREADLINE_FIRE_SEED", 1)
}

/// A runtime for one thread.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// How to open a store on the system's own files.
pub(crate) fn on_file(path: impl Into<PathBuf>, seed: u64) -> SqliteOptions {
    SqliteOptions {
        path: path.into(),
        tenant: TenantId::NIL,
        owner: format!("fire {}", std::process::id()),
        clock: Arc::new(ManualClock::new()),
        ids: Arc::new(SeededIds::new(seed)),
        vfs: None,
        durability: Durability::Full,
    }
}

/// How to open a store on a disk that can lose power. Its clock stands so late that no lease of an
/// earlier `life` holds any more.
pub(crate) fn on_disk(disk: &Disk, seed: u64, life: u64) -> SqliteOptions {
    let clock = ManualClock::new();
    clock.advance_ms(life * 2 * TTL_MS);
    SqliteOptions {
        path: disk.path("main.db").into(),
        vfs: Some(disk.vfs().to_owned()),
        clock: Arc::new(clock),
        ..on_file("", seed)
    }
}

/// A store on a file, which must open.
pub(crate) fn open(path: impl Into<PathBuf>, seed: u64) -> SqliteStore {
    SqliteStore::open(on_file(path, seed)).unwrap()
}

/// An error and all its causes, in one line.
pub(crate) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// Whether an error says that a thread of the store panicked.
pub(crate) fn tells_of_panic(error: &StoreError) -> bool {
    let words = words(error);
    words.contains("panicked") || words.contains("channel closed")
}
