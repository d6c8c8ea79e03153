//! Test gear: what the tests of every crate share.
//!
//! - [`clock`], [`ids`]: time that is moved by hand, ids and choices that are a function of a seed.

pub mod clock;
pub mod ids;
