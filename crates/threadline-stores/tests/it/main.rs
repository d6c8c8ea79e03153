//! Every store against the suite and against the model.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod databases;
mod model;
mod rigs;
mod suite;
