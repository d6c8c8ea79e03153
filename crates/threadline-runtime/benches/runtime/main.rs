//! What driving conversations costs: how it grows with their length, their number and their peers.
//!
//! `cargo bench -p threadline-runtime` measures; names after `--` choose what (`turns`, `peers`,
//! `children`, `crowd`, `idle`, `widget`). `-- --smoke`, or a run as a test, does the same with small
//! numbers, to see that everything runs. Both sides of a ratio are measured in one run, in turns. `--python=PATH`
//! names the Python whose packages `peers` measures against; see `benches/peers`.

mod children;
mod crowd;
mod house;
mod idle;
mod peers;
mod replay;
mod turns;
mod widget;

use std::path::PathBuf;
use std::process::ExitCode;

use threadline_testing::bench::{self, Asked, Outcome, Part};

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured, by name.
const PARTS: [Part<Setting>; 6] = [
    ("turns", turns::measure),
    ("peers", peers::measure),
    ("children", children::measure),
    ("crowd", crowd::measure),
    ("idle", idle::measure),
    ("widget", widget::measure),
];

/// How much is measured, where, and with what.
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
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn main() -> ExitCode {
    bench::main(&PARTS, Setting::new)
}
