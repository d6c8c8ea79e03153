//! Tests of the runtime: scripted models, real stores, real tools.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod agents;
mod approvals;
mod bounds;
mod crashes;
mod faults;
mod feed;
mod guides;
mod house;
mod leases;
mod lingering;
mod models;
mod secrets;
mod stops;
mod sums;
mod timers;
mod tools;
mod turns;
