//! What deciding what a model sees costs.
//!
//! `cargo bench -p threadline-core --bench context` measures; names after `--` choose what
//! (`tokens`, `window`, `session`, `facts`). `-- --smoke`, or a run as a test, does the same with
//! small numbers, to see that everything runs. Both sides of a ratio are measured in one run, in turns. `--python=PATH`
//! names the Python whose packages `tokens` measures against; see `benches/peers`.

mod facts;
mod policies;
mod request;
mod session;
mod tokens;
mod window;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use threadline_testing::bench::{self, Asked as Setting, Outcome, Part};

/// What is measured, by name.
const PARTS: [Part<Setting>; 4] = [
    ("tokens", tokens::measure),
    ("window", window::measure),
    ("session", session::measure),
    ("facts", facts::measure),
];

/// A folder for files of a part, where the build is.
fn folder(part: &str) -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("context").join(part);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn main() -> ExitCode {
    bench::main(&PARTS, Ok)
}
