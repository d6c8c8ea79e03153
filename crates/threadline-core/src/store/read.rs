//! Pages of a history.

use crate::id::{AgentId, Seq};

/// The most bytes of records in one page, unless a single record is larger.
pub const PAGE_CAP_BYTES: usize = 1024 * 1024;

/// Which records to read. A page may be shorter than asked for; only an empty one is the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first entry of the page, if it is there and of the thread, or the next that is.
    pub from: Seq,
    /// Which way it goes.
    pub direction: Direction,
    /// Of one thread only.
    pub thread: Option<AgentId>,
    /// The most records.
    pub most: usize,
}

/// Which way a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From older to newer.
    Forward,
    /// From newer to older.
    Backward,
}

impl Page {
    /// A page from an entry on, to newer ones.
    pub const fn forward(from: Seq, most: usize) -> Self {
        Self { from, direction: Direction::Forward, thread: None, most }
    }

    /// A page from an entry back, to older ones.
    pub const fn backward(from: Seq, most: usize) -> Self {
        Self { from, direction: Direction::Backward, thread: None, most }
    }

    /// The same page of one thread only.
    #[must_use]
    pub const fn of(self, thread: AgentId) -> Self {
        Self { thread: Some(thread), ..self }
    }
}
