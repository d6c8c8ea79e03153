//! What the wire costs: streams that are decoded, calls over loopback, many streams at once.
//!
//! `cargo bench -p threadline-providers` measures; names after `--` choose what (`streams`,
//! `calls`, `many`), `-- --smoke` only sees that everything runs. Both sides of a ratio are measured
//! in one run, in turns, and stand for the median of their rounds.

mod answers;
mod asking;
mod calls;
mod many;
mod memory;
mod peer;
mod server;
mod streams;
mod values;

use std::process::ExitCode;

use threadline_testing::bench::{self, Asked, Outcome, Part, line};

/// What is measured, by name.
const PARTS: [Part<Setting>; 3] =
    [("streams", streams::measure), ("calls", calls::measure), ("many", many::measure)];

/// How much is measured.
struct Setting {
    asked: Asked,
}

impl Setting {
    #[expect(clippy::unnecessary_wraps, reason = "settings of other benches can fail")]
    const fn new(asked: Asked) -> Outcome<Self> {
        Ok(Self { asked })
    }

    /// One number to measure with, another to see that it runs.
    fn of<T>(&self, measuring: T, smoke: T) -> T {
        self.asked.of(measuring, smoke)
    }
}

fn main() -> ExitCode {
    // The server of a run is this very program in another process.
    if server::is_wanted() {
        return match server::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                line(&format!("the server failed: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    bench::main(&PARTS, Setting::new)
}
