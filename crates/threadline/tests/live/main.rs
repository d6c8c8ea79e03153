//! A real model in the tests: a small one, served on loopback, asked in every dialect it speaks.
//!
//! `.ci/local-model FOLDER` installs it, and `THREADLINE_LOCAL_MODEL` names that folder. The model
//! is very small: what it says is not looked at, only that it said it, and what was recorded.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod answers;
mod length;
mod lookup;
mod server;
mod switching;
mod talk;
