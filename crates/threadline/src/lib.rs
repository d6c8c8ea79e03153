//! Threadline: a durable, provider-neutral runtime for LLM agents.
//!
//! This crate is the façade: it puts the parts together. The parts themselves are
//! [`core`] (the history and every decision over it) and [`stores`] (where histories live).

pub use threadline_core as core;
pub use threadline_stores as stores;

use threadline_core::clock::{Clock, Timestamp};
use threadline_core::id::IdSource;

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock that everyone else asks")]
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

/// Random ids from the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    #[expect(clippy::expect_used, reason = "no id is safer than one that may not be unique")]
    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        bytes
    }
}
