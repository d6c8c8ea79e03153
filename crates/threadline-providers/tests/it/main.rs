//! The providers' integration tests, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod anthropic;
mod contract;
mod faults;
mod gemini;
mod openai_chat;
mod recordings;
mod reply;
mod responses;
mod server;
mod sse;
mod unread;
mod wired;
