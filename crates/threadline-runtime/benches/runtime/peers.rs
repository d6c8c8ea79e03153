//! The same turns by others: LangGraph with its SQLite saver.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use threadline_core::drive::Rest;
use threadline_runtime::Drive;
use threadline_stores::sqlite::Durability;

use crate::house::{ANSWER_BYTES, House, INPUT_BYTES, Plan, RESULT_BYTES, item};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, bytes, fact, float, process_time};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers/langgraph_turns.py");

/// How much the model sees.
const WINDOW_TOKENS: u64 = 8_192;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (from, blocks, turns) = setting.of((200, 8, 25), (10, 2, 5));
    let mut ours = Ours::begin(setting)?;
    ours.take(from)?;
    let Some(python) = &setting.asked.python else {
        let mut time = Rounds::default();
        for _ in 0..2 * blocks {
            time.add(ours.take(turns)?.micros / float(turns));
        }
        report.ratio("processor time of our turn / 1 ms", time.median(), 1e3, "us", None);
        fact("against LangGraph", "not measured: benches/peers/run installs it and measures");
        return Ok(());
    };
    let mut whole = Theirs::begin(python, &setting.path("whole.db"), None)?;
    let mut trimmed = Theirs::begin(python, &setting.path("trimmed.db"), Some(WINDOW_TOKENS))?;
    fact("against", &trimmed.packages);
    let before = (ours.size()?, trimmed.take(from)?.size);
    whole.take(from)?;
    let (mut time, mut size) = (Times::default(), before.1);
    for _ in 0..blocks {
        time.ours.add(ours.take(turns)?.micros / float(turns));
        let block = trimmed.take(turns)?;
        size = block.size;
        time.trimmed.add(block.micros / float(turns));
        time.whole.add(whole.take(turns)?.micros / float(turns));
    }
    let target = |ratio: f64| setting.of(Some(Target::AtLeast(ratio)), None);
    let at = from + blocks * turns / 2;
    let Times { ours: our_time, trimmed, whole } = &time;
    let what = format!("processor time of turn {at}: LangGraph / ours");
    report.ratio(&what, trimmed.median(), our_time.median(), "us", target(50.0));
    let what = "the same with its whole history sent to the model";
    report.ratio(what, whole.median(), our_time.median(), "us", None);
    let grown = |before: u64, after: u64| bytes(after - before) / float(blocks * turns);
    let (theirs, ours) = (grown(before.1, size), grown(before.0, ours.size()?));
    let what = format!("bytes on disk for turn {at}: LangGraph / ours");
    report.ratio(&what, theirs, ours, "B", target(100.0));
    Ok(())
}

/// What a turn took of processors.
#[derive(Default)]
struct Times {
    ours: Rounds,
    /// Of one that keeps to the window that ours keeps to.
    trimmed: Rounds,
    /// Of one that keeps to none.
    whole: Rounds,
}

/// What some turns took.
struct Block {
    micros: f64,
    size: u64,
}

/// A conversation that is driven where it is talked to, step by step, on one thread: as a graph is
/// that is invoked. Like it, it writes no recaps.
struct Ours {
    runtime: tokio::runtime::Runtime,
    talk: Talk,
}

struct Talk {
    house: House,
    drive: Drive,
    turns: usize,
}

impl Ours {
    fn begin(setting: &Setting) -> Outcome<Self> {
        let path = setting.path("ours.db");
        let (durability, window_tokens) = (Durability::Full, WINDOW_TOKENS);
        let plan = Plan { path, durability, latency_ms: 0, window_tokens, recaps: false };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let talk = runtime.block_on(async {
            let house = House::open(&plan)?;
            let drive = house.runtime.drive(house.begin().await?).await?;
            Outcome::Ok(Talk { house, drive, turns: 0 })
        })?;
        Ok(Self { runtime, talk })
    }

    fn take(&mut self, turns: usize) -> Outcome<Block> {
        let Self { runtime, talk } = self;
        runtime.block_on(async {
            let before = process_time();
            for _ in 0..turns {
                talk.turn().await?;
            }
            talk.house.indexed().await?;
            let micros = process_time().saturating_sub(before).as_secs_f64() * 1e6;
            talk.house.has_answered(talk.drive.conversation()).await?;
            Ok(Block { micros, size: talk.house.size().await? })
        })
    }

    fn size(&self) -> Outcome<u64> {
        self.runtime.block_on(self.talk.house.size())
    }
}

impl Talk {
    /// An input, a call, its result, an answer.
    async fn turn(&mut self) -> Outcome<()> {
        self.turns += 1;
        self.drive.submit(&item(self.turns)).await?;
        match self.drive.run().await? {
            Rest::Idle => Ok(()),
            rest => Err(format!("turn {} rests: {rest:?}", self.turns).into()),
        }
    }
}

/// A process that takes as many turns as it is told and says what they took.
struct Theirs {
    /// What it is made of.
    packages: String,
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Theirs {
    /// With messages trimmed to a window, or all of them sent.
    fn begin(python: &Path, file: &Path, window_tokens: Option<u64>) -> Outcome<Self> {
        let mut child = Command::new(python)
            .arg(SCRIPT)
            .arg(file)
            .args([INPUT_BYTES, RESULT_BYTES, ANSWER_BYTES].map(|bytes| bytes.to_string()))
            .args(window_tokens.map(|tokens| tokens.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut peer = Self { packages: String::new(), asks: child.stdin.take(), says, child };
        peer.packages = peer.line()?;
        Ok(peer)
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.says.read_line(&mut line)? == 0 {
            return Err("the peer ended; what it printed says why".into());
        }
        Ok(line.trim().to_owned())
    }

    fn take(&mut self, turns: usize) -> Outcome<Block> {
        writeln!(self.asks.as_mut().ok_or("no input")?, "{turns}")?;
        let line = self.line()?;
        let (seconds, size) = line.split_once(' ').ok_or("the peer says something else")?;
        Ok(Block { micros: seconds.parse::<f64>()? * 1e6, size: size.parse()? })
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.asks.take());
        drop(self.child.wait());
    }
}
