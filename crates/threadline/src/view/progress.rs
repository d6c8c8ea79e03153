//! Progress of long work.

use std::io::{self, IsTerminal as _, Write as _};

use super::{View, grouped};

/// Progress of long work, on a terminal only: one line that is written over.
pub(crate) struct Progress {
    doing: &'static str,
    total: Option<u64>,
    shown: Option<u64>,
    terminal: bool,
}

impl Progress {
    /// Progress of some work on so many entries.
    pub(crate) fn new(doing: &'static str, total: Option<u64>, view: &View) -> Self {
        Self { doing, total, shown: None, terminal: io::stderr().is_terminal() && !view.json }
    }

    /// So many entries are done.
    pub(crate) fn at(&mut self, done: u64) {
        // Often enough to see it move, seldom enough to cost nothing.
        let step = 1000;
        let last = self.shown.unwrap_or(0);
        if !self.terminal || done / step == last / step {
            return;
        }
        let done_text = grouped(done);
        let of = self.total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
        self.shown = Some(done);
        let mut err = io::stderr();
        // Progress that cannot be shown is not missed.
        drop(write!(err, "\r\x1b[K{} {done_text}{of} entries…", self.doing));
        drop(err.flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }
}
