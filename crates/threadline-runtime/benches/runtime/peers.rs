//! The same turns by others: LangGraph with its SQLite saver.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use threadline_core::id::ConversationId;
use threadline_stores::sqlite::Durability;

use crate::house::{ANSWER_BYTES, House, INPUT_BYTES, Plan, RESULT_BYTES};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, bytes, fact, float, process_time};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers/langgraph_turns.py");

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (from, blocks, turns) = setting.of((280, 4, 10), (10, 2, 5));
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
    let mut theirs = Theirs::begin(python, &setting.path("peer.db"))?;
    let sizes = (ours.size()?, theirs.take(from)?.size);
    let (mut our_time, mut their_time) = (Rounds::default(), Rounds::default());
    let mut their_size = sizes.1;
    for _ in 0..blocks {
        our_time.add(ours.take(turns)?.micros / float(turns));
        let block = theirs.take(turns)?;
        their_time.add(block.micros / float(turns));
        their_size = block.size;
    }
    let target = setting.of(Some(Target::AtLeast(100.0)), None);
    let at = from + blocks * turns / 2;
    let what = format!("processor time of turn {at}: LangGraph / ours");
    report.ratio(&what, their_time.median(), our_time.median(), "us", target);
    let grown = |before: u64, after: u64| bytes(after - before) / float(blocks * turns);
    let (theirs, ours) = (grown(sizes.1, their_size), grown(sizes.0, ours.size()?));
    report.ratio(
        &format!("bytes on disk for turn {at}: LangGraph / ours"),
        theirs,
        ours,
        "B",
        target,
    );
    Ok(())
}

/// What some turns took.
struct Block {
    micros: f64,
    size: u64,
}

struct Ours<'a> {
    setting: &'a Setting,
    house: House,
    id: ConversationId,
    turns: usize,
}

impl<'a> Ours<'a> {
    fn begin(setting: &'a Setting) -> Outcome<Self> {
        let path = setting.path("ours.db");
        let durability = Durability::Full;
        let plan = Plan { path, durability, latency_ms: 0, window_tokens: 8_192 };
        setting.runtime.block_on(async {
            let house = House::open(&plan)?;
            let id = house.begin().await?;
            Ok(Self { setting, house, id, turns: 0 })
        })
    }

    fn take(&mut self, turns: usize) -> Outcome<Block> {
        self.setting.runtime.block_on(async {
            let before = process_time();
            for _ in 0..turns {
                self.turns += 1;
                self.house.turn(self.id, self.turns).await?;
            }
            self.house.indexed().await?;
            let micros = process_time().saturating_sub(before).as_secs_f64() * 1e6;
            self.house.has_answered(self.id).await?;
            Ok(Block { micros, size: self.house.size().await? })
        })
    }

    fn size(&self) -> Outcome<u64> {
        self.setting.runtime.block_on(self.house.size())
    }
}

/// A process that takes as many turns as it is told and says what they took.
struct Theirs {
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Theirs {
    fn begin(python: &Path, file: &Path) -> Outcome<Self> {
        let mut child = Command::new(python)
            .arg(SCRIPT)
            .arg(file)
            .args([INPUT_BYTES, RESULT_BYTES, ANSWER_BYTES].map(|bytes| bytes.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut peer = Self { asks: child.stdin.take(), says, child };
        fact("against", peer.line()?);
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
