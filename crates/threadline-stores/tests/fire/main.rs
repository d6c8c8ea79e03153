//! Tests under fire: the SQLite store while processes die, the power fails, disks fail, files are
//! damaged and exports are garbage.
//!
//! They are small by default. Environment variables make them larger, and repeat one that failed:
//! see "Tests under fire" in `CONTRIBUTING.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops where something is wrong, in its helpers too, and tells what it did"
)]

mod actor;
mod child;
mod damage;
mod errors;
mod files;
mod garbage;
mod kills;
mod power;
mod processes;
mod transfer;
mod witness;
mod world;
