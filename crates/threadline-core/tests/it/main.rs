//! The core's integration tests, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod drive;
mod export_example;
mod format;
mod golden;
mod history;
mod projection;
mod properties;
mod records;
mod run_states;
mod strategies;
mod tokens;
