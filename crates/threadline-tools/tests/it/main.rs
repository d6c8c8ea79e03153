//! Tests of the tools and widgets in real conversations on a real store.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod samples;
mod talk;
mod widgets;
