//! Test gear: what the tests of every crate share.
//!
//! - `bench`, with the feature `bench`: the table, the rounds and the command line of benches.
//! - [`clock`], [`ids`]: time that is moved by hand, ids and choices that are a function of a seed.
//! - [`crashing_store`]: a store whose process dies at the n-th write.
//! - [`generator`]: histories of any length that are a function of a seed.
//! - [`notation`]: histories as text, one line for each entry.
//! - [`provider_suite`]: what every dialect must do.
//! - [`scribe`]: the plainest widget.
//! - [`simulator`]: drivers in a world of its own, where everything goes wrong.
//! - [`store_suite`]: what every store must do.
//! - [`validator`]: the hard rules of the providers' request bodies, one list for each dialect.
//! - `crash`, with the feature `crash-vfs`: a disk in memory under the real `SQLite` that loses power.

#[cfg(feature = "bench")]
pub mod bench;
pub mod clock;
#[cfg(feature = "crash-vfs")]
pub mod crash;
pub mod crashing_store;
pub mod generator;
pub mod ids;
pub mod notation;
pub mod provider_suite;
pub mod scribe;
pub mod simulator;
pub mod store_suite;
pub mod validator;
