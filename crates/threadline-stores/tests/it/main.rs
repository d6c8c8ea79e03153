//! Every store against the suite and against the model.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod rigs;
mod suite;
