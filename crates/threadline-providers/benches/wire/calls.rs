//! Calls: what one short answer takes over loopback, ours against `async-openai` and against the
//! `openai` package of Python. One connection, one thread, one call after the other on every side.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use threadline_testing::bench::{Outcome, Report, Rounds, Target, fact, float, process_time};
use tokio::runtime::{Builder, Runtime};

use crate::Setting;
use crate::asking::Asking;
use crate::peer::{Peer, Took};
use crate::server::{PIECE, PIECES, Server};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers/openai_calls.py");
/// The argument that names the program that calls through `async-openai`.
const RUST_PEER: &str = "--async-openai=";

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (rounds, calls) = setting.of((15, 50), (1, 5));
    let server = Server::begin()?;
    let base = format!("{}/v1", server.origin);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let ours = Asking::new(&base)?;
    let mut rust = match rust_peer() {
        Some(program) => Some(begin(Command::new(program), &base)?),
        None => None,
    };
    let mut python = match &setting.asked.python {
        Some(python) => {
            let mut command = Command::new(python);
            command.arg(SCRIPT);
            Some(begin(command, &base)?)
        }
        None => None,
    };
    call(&runtime, &ours, 5)?;
    let (mut our, mut by_rust, mut by_python) =
        (Calls::default(), Calls::default(), Calls::default());
    for _ in 0..rounds {
        our.add(call(&runtime, &ours, calls)?, calls)?;
        if let Some(rust) = &mut rust {
            by_rust.add(rust.call(calls)?, calls)?;
        }
        if let Some(python) = &mut python {
            let calls = calls.div_ceil(5);
            by_python.add(python.call(calls)?, calls)?;
        }
    }
    if rust.is_some() {
        let target = setting.of(Some(Target::AtMost(1.25)), None);
        ratios(report, "ours / async-openai", &our, &by_rust, target);
    } else {
        fact("against async-openai", "SKIPPED: benches/peers/wire builds it and measures");
    }
    if python.is_some() {
        let target = setting.of(Some(Target::AtLeast(10.0)), None);
        ratios(report, "openai of Python / ours", &by_python, &our, target);
    } else {
        fact("against openai of Python", "SKIPPED: benches/peers/wire installs it and measures");
    }
    report.ratio("our call / 1 ms", our.time.median(), 1e3, "us", None);
    report.ratio("our call's processor time / 1 ms", our.processor.median(), 1e3, "us", None);
    Ok(())
}

fn ratios(report: &mut Report, what: &str, one: &Calls, two: &Calls, target: Option<Target>) {
    let (time, processor) = (format!("{what}: time"), format!("{what}: processor time"));
    report.ratio(&time, one.time.median(), two.time.median(), "us", target);
    report.ratio(&processor, one.processor.median(), two.processor.median(), "us", target);
}

/// What a call took, in microseconds, round by round.
#[derive(Default)]
struct Calls {
    time: Rounds,
    processor: Rounds,
}

impl Calls {
    fn add(&mut self, took: Took, calls: usize) -> Outcome<()> {
        if took.bytes != calls * PIECES * PIECE.len() {
            return Err("an answer did not come whole".into());
        }
        self.time.add(took.time * 1e6 / float(calls));
        self.processor.add(took.processor * 1e6 / float(calls));
        Ok(())
    }
}

fn rust_peer() -> Option<PathBuf> {
    std::env::args().find_map(|argument| argument.strip_prefix(RUST_PEER).map(PathBuf::from))
}

/// Starts a peer; its first calls only warm it up.
fn begin(mut command: Command, base: &str) -> Outcome<Peer> {
    command.arg(base);
    let mut peer = Peer::begin(command)?;
    peer.call(5)?;
    Ok(peer)
}

fn call(runtime: &Runtime, ours: &Asking, calls: usize) -> Outcome<Took> {
    let (begun, processor) = (Instant::now(), process_time());
    let mut all = 0;
    for _ in 0..calls {
        let (_, bytes) = runtime.block_on(ours.ask(|| ()))?;
        all += bytes;
    }
    let processor = process_time().saturating_sub(processor).as_secs_f64();
    Ok(Took { time: begun.elapsed().as_secs_f64(), processor, bytes: all })
}
