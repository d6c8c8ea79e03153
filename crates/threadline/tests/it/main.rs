//! The program as people and other programs use it: the built binary in a home of its own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod agents;
mod authority;
mod carrying;
mod changing;
mod chatting;
mod checking;
mod connecting;
mod containment;
mod crashing;
mod disks;
mod documented;
mod examples;
mod exports;
mod faults;
#[cfg(unix)]
mod file_modes;
mod home;
mod hostile;
mod kills;
mod moving;
mod noting;
#[cfg(unix)]
mod parking;
mod pipes;
mod policies;
#[cfg(unix)]
mod project_files;
mod reading;
mod recalling;
mod recapping;
mod running;
mod seeing;
mod settings;
mod snapshots;
mod stories;
mod terminal;
mod together;
