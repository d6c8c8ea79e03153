//! Where histories live.

pub mod sqlite;
