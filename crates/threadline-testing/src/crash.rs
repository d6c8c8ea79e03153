//! A disk in memory that can lose power, under the real `SQLite`.
//!
//! A [`Disk`] holds named files and writes down everything that would touch a real disk: a
//! [`Journal`] of writes, truncations, syncs, creations and deletions, with marks that a test puts
//! between them. The real `SQLite` runs on it through a VFS with emulated locks and shared memory,
//! so that write-ahead logs, several connections and several threads work as on a file system.
//!
//! Afterwards [`Journal::crash_points`] walks through the journal and stops before every operation.
//! Each [`CrashPoint`] hands out [`Image`]s: what a machine might find on its disk if the power went
//! away right there. [`Disk::from_image`] makes a disk of an image, to reopen and to check:
//!
//! ```
//! use threadline_testing::crash::Disk;
//!
//! let disk = Disk::new();
//! let db = disk.connect("main.db")?;
//! db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (n);")?;
//! db.execute("INSERT INTO t VALUES (1)", ())?;
//! disk.mark(1);
//!
//! for point in disk.journal().crash_points() {
//!     for image in point.images(42).take(5) {
//!         let db = Disk::from_image(&image).connect("main.db")?;
//!         if point.acknowledged() == Some(1) {
//!             assert_eq!(db.query_row("SELECT n FROM t", (), |row| row.get(0)), Ok(1));
//!         }
//!     }
//! }
//! # Ok::<(), threadline_testing::crash::SqliteError>(())
//! ```
//!
//! # What a disk promises
//!
//! * A sync of a file makes everything done to that file before durable.
//! * Each later write may be lost, kept, torn at sectors of 512 bytes, or leave garbage in the
//!   sectors it was writing, whatever becomes of its neighbours. Bytes outside of the written range
//!   stay as they were: the VFS claims "powersafe overwrite", as `SQLite` does on all file systems
//!   unless told otherwise.
//! * Creations and deletions of files may be lost until the directory is synced. That happens with
//!   the first sync of a new file, and with a deletion that asks for it. What was done to a name
//!   after a lost creation or deletion is lost with it.
//! * A failed sync drops the writes it was to make durable: a later sync does not bring them
//!   back, though reads still see them. This is how Linux treats them.
//!
//! # What is repeatable
//!
//! The same journal and the same seed give the same images. Two runs of the same workload give the
//! same operations, but for the salts in the head of a write-ahead log: `SQLite` draws them from one
//! generator per process, which is seeded by the default VFS.
//!
//! Errors instead of crashes come from [`Disk::fail`].

mod disk;
mod fault;
mod file;
mod image;
mod shm;
#[cfg(test)]
mod tests;
mod vfs;

/// The error that [`Disk::connect`] and its connections give.
pub use rusqlite::Error as SqliteError;

pub use disk::{Disk, Journal, Op};
pub use fault::{Fault, FaultKind, OpKinds};
pub use image::{CrashPoint, CrashPoints, Image};
