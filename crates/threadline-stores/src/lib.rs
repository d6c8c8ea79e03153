//! Where histories live.
//!
//! - [`memory`]: the model, gone with the process.

pub mod memory;
