//! What driving conversations costs: how it grows with their length, their number and their peers.
//!
//! `cargo bench -p threadline-runtime` measures; names after `--` choose what (`turns`, `peers`,
//! `crowd`, `idle`). `-- --smoke`, or a run as a test, does the same with small numbers, to see
//! that everything runs. Both sides of a ratio are measured in one run, in turns. `--python=PATH`
//! names the Python whose packages `peers` measures against; see `benches/peers`.

mod crowd;
mod house;
mod idle;
mod peers;
mod replay;
#[path = "../../../threadline-stores/benches/store/report.rs"]
mod report;
mod rounds;
mod turns;

use std::path::PathBuf;
use std::process::ExitCode;

use report::Report;

/// Whatever went wrong; it ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures something.
type Part = fn(&Setting, &mut Report) -> Outcome<()>;

/// What is measured, by name.
const PARTS: [(&str, Part); 4] = [
    ("turns", turns::measure),
    ("peers", peers::measure),
    ("crowd", crowd::measure),
    ("idle", idle::measure),
];

/// How much is measured, where, and with what.
struct Setting {
    smoke: bool,
    python: Option<PathBuf>,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Setting {
    fn new(smoke: bool, python: Option<PathBuf>) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        // On the disk where the build is: what syncs cost is part of what is measured.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self { smoke, python, runtime, folder })
    }

    /// One number to measure with, another to see that it runs.
    fn of<T>(&self, measuring: T, smoke: T) -> T {
        if self.smoke { smoke } else { measuring }
    }

    /// A file of this run.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // Cargo says `--bench` when it measures; without it this is a test run.
    let smoke = has("--smoke") || !has("--bench");
    let python = arguments.iter().find_map(|argument| argument.strip_prefix("--python="));
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|name| !name.starts_with("--")).collect();
    let mut report = Report::default();
    match run(smoke, python.map(PathBuf::from).as_ref(), &names, &mut report) {
        Ok(()) => {
            report.end();
            ExitCode::SUCCESS
        }
        Err(error) => {
            report::line(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(smoke: bool, python: Option<&PathBuf>, names: &[&str], report: &mut Report) -> Outcome<()> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|(part, _)| part != *name)) {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        return Err(format!("nothing is called {unknown}; there are {parts}").into());
    }
    for (part, measure) in PARTS {
        if names.is_empty() || names.contains(&part) {
            report.begin(part);
            measure(&Setting::new(smoke, python.cloned())?, report)?;
        }
    }
    if report.is_empty() { Err("nothing was measured".into()) } else { Ok(()) }
}
