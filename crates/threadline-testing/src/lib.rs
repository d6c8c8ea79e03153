//! Test gear: what the tests of every crate share.
//!
//! - [`clock`], [`ids`], [`tokens`]: time that is moved by hand, ids and choices that are a
//!   function of a seed, tokens that are quick to count.
//! - [`generator`]: histories of any length that are a function of a seed.

pub mod clock;
pub mod generator;
pub mod ids;
pub mod tokens;
