//! What the SQLite store costs, as ratios to the least that anyone would have to do.
//!
//! `cargo bench -p threadline-stores` measures; names after `--` choose what (`single`, `many`,
//! `size`, `listing`, `verifying`, `opening`), `-- --smoke` only sees that everything runs. Both
//! sides of a ratio are measured in one run, in turns, and stand for the median of their rounds.

mod appends;
mod bare;
mod filling;
mod listing;
mod memory;
mod opening;
mod size;
mod verifying;

use std::process::ExitCode;

use threadline_testing::bench::{self, Asked, Outcome, Part};

/// What is measured, by name.
const PARTS: [Part<Setting>; 6] = [
    ("single", appends::one_by_one),
    ("many", appends::at_once),
    ("size", size::measure),
    ("listing", listing::measure),
    ("verifying", verifying::measure),
    ("opening", opening::measure),
];

/// How much is measured, and where.
struct Setting {
    asked: Asked,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Setting {
    fn new(asked: Asked) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        // On the disk where the build is: what syncs cost is part of what is measured.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self { asked, runtime, folder })
    }

    /// One number to measure with, another to see that it runs.
    fn of<T>(&self, measuring: T, smoke: T) -> T {
        self.asked.of(measuring, smoke)
    }

    /// A file of this run.
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

fn main() -> ExitCode {
    bench::main(&PARTS, Setting::new)
}
