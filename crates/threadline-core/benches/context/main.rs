//! What deciding what a model sees costs.
//!
//! `cargo bench -p threadline-core` measures; names after `--` choose what (`tokens`, `window`,
//! `session`, `facts`). `-- --smoke`, or a run as a test, does the same with small numbers, to see
//! that everything runs. Both sides of a ratio are measured in one run, in turns. `--python=PATH`
//! names the Python whose packages `tokens` measures against; see `benches/peers`.

mod facts;
mod policies;
#[allow(dead_code, reason = "it is shared with other benches, and not all use all of it")]
#[path = "../../../threadline-stores/benches/store/report.rs"]
mod report;
mod request;
mod rounds;
mod session;
mod tokens;
mod window;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::Report;

/// Whatever went wrong; it ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures something.
type Part = fn(&Setting, &mut Report) -> Outcome<()>;

/// What is measured, by name.
const PARTS: [(&str, Part); 4] = [
    ("tokens", tokens::measure),
    ("window", window::measure),
    ("session", session::measure),
    ("facts", facts::measure),
];

/// How much is measured, and with what.
struct Setting {
    smoke: bool,
    python: Option<PathBuf>,
}

impl Setting {
    /// One number to measure with, another to see that it runs.
    fn of<T>(&self, measuring: T, smoke: T) -> T {
        if self.smoke { smoke } else { measuring }
    }

    /// A folder for files of a part, where the build is.
    fn folder(part: &str) -> Outcome<PathBuf> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("context").join(part);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // Cargo says `--bench` when it measures; without it this is a test run.
    let smoke = has("--smoke") || !has("--bench");
    let python = arguments.iter().find_map(|argument| argument.strip_prefix("--python="));
    let setting = Setting { smoke, python: python.map(PathBuf::from) };
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|name| !name.starts_with("--")).collect();
    let mut report = Report::default();
    match run(&setting, &names, &mut report) {
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

fn run(setting: &Setting, names: &[&str], report: &mut Report) -> Outcome<()> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|(part, _)| part != *name)) {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        return Err(format!("nothing is called {unknown}; there are {parts}").into());
    }
    for (part, measure) in PARTS {
        if names.is_empty() || names.contains(&part) {
            report.begin(part);
            measure(setting, report)?;
        }
    }
    if report.is_empty() { Err("nothing was measured".into()) } else { Ok(()) }
}
