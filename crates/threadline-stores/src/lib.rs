//! Where histories live.
//!
//! - [`memory`]: the model, gone with the process.
//! - [`sqlite`]: one file, durable when an append returns.

mod changes;
pub mod memory;
pub mod private_file;
pub mod sqlite;
