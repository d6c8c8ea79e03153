//! Benches: what is measured by name, both sides of a ratio in one run, told as a table.
//!
//! A bench is a list of parts. `cargo bench -p CRATE` measures them all; names after `--` choose.
//! `-- --smoke`, or a run as a test, does the same with small numbers, to see that everything runs.
//! `--python=PATH` names the Python whose packages are measured against.

mod report;
mod rounds;

use std::path::PathBuf;
use std::process::ExitCode;

pub use report::{Report, Target, fact, line};
pub use rounds::{Rounds, bytes, float, micros, process_time, rate, timed};

/// Whatever went wrong; it ends the run.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Something that is measured: its name, and what measures it.
pub type Part<S> = (&'static str, fn(&S, &mut Report) -> Outcome<()>);

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whether it is only to be seen that everything runs.
    pub smoke: bool,
    /// The Python whose packages are measured against.
    pub python: Option<PathBuf>,
    names: Vec<String>,
}

impl Asked {
    fn new(arguments: impl Iterator<Item = String>) -> Self {
        let arguments: Vec<String> = arguments.collect();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        // Cargo says `--bench` when it measures; without it this is a test run.
        let smoke = has("--smoke") || !has("--bench");
        let python = arguments.iter().find_map(|argument| argument.strip_prefix("--python="));
        let python = python.map(PathBuf::from);
        let names = arguments.iter().filter(|name| !name.starts_with("--")).cloned().collect();
        Self { smoke, python, names }
    }

    /// One number to measure with, another to see that it runs.
    pub fn of<T>(&self, measuring: T, smoke: T) -> T {
        if self.smoke { smoke } else { measuring }
    }

    fn names(&self, part: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == part)
    }
}

/// Measures what the command line asks for, each part in a setting of its own.
pub fn main<S>(parts: &[Part<S>], setting: impl Fn(Asked) -> Outcome<S>) -> ExitCode {
    let mut report = Report::default();
    match run(parts, setting, &Asked::new(std::env::args().skip(1)), &mut report) {
        Ok(()) => {
            report.end();
            ExitCode::SUCCESS
        }
        Err(error) => {
            line(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run<S>(
    parts: &[Part<S>],
    setting: impl Fn(Asked) -> Outcome<S>,
    asked: &Asked,
    report: &mut Report,
) -> Outcome<()> {
    let is_known = |name: &&String| parts.iter().any(|(part, _)| part == name);
    if let Some(unknown) = asked.names.iter().find(|name| !is_known(name)) {
        let parts = parts.iter().map(|(part, _)| *part).collect::<Vec<_>>().join(", ");
        return Err(format!("nothing is called {unknown}; there are {parts}").into());
    }
    for (part, measure) in parts.iter().filter(|(part, _)| asked.names(part)) {
        report.begin(part);
        measure(&setting(asked.clone())?, report)?;
    }
    if report.is_empty() { Err("nothing was measured".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_measures_what_it_is_asked_for() {
        let asked = |words: &[&str]| Asked::new(words.iter().map(|word| (*word).to_owned()));
        assert!(asked(&["--bench", "--smoke"]).smoke);
        assert!(asked(&[]).smoke);
        let one = asked(&["--bench", "one", "--python=/bin/python3"]);
        assert_eq!((one.smoke, one.names("one"), one.names("two")), (false, true, false));
        assert_eq!(one.python, Some(PathBuf::from("/bin/python3")));
        let parts: [Part<Asked>; 1] = [("one", |_, report| {
            report.ratio("it", 1.0, 2.0, "s", Some(Target::AtMost(0.5)));
            Ok(())
        })];
        let mut report = Report::default();
        assert!(run(&parts, Ok, &one, &mut report).is_ok());
        let unknown = run(&parts, Ok, &asked(&["two"]), &mut report).unwrap_err();
        assert_eq!(unknown.to_string(), "nothing is called two; there are one");
    }
}
