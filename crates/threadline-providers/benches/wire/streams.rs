//! Streams: bytes to the assembled answer, ours against `eventsource-stream` and owned values.
//!
//! Ours reads, checks and numbers everything and ends with the blocks of an output. The other side
//! does the least that its user would: it parses every event and takes the texts out by their paths.

use bytes::Bytes;
use threadline_core::history::fact::{Block, Digest};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembled, Assembler, Delta, Prepared, Progress};
use threadline_providers::dialect::{Decode, Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::sse::{Frame, Sse};
use threadline_testing::bench::{Outcome, Report, Rounds, Target, float, timed};

use crate::values::{self, Said};
use crate::{Setting, answers};

/// More than any answer here takes.
const LIMIT_BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    for dialect in Dialect::ALL {
        against_values(setting, dialect, report)?;
    }
    for dialect in Dialect::ALL {
        by_size(setting, dialect, report)?;
    }
    Ok(())
}

fn against_values(setting: &Setting, dialect: Dialect, report: &mut Report) -> Outcome<()> {
    let (rounds, size) = setting.of((9, 3_000_000), (1, 200_000));
    let bytes = answers::answer(dialect, size);
    let megabytes = float(bytes.len()) / 1e6;
    for chunk_bytes in [1024, 16 * 1024] {
        let chunks = cut(&bytes, chunk_bytes);
        let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
        for _ in 0..rounds {
            let (answer, took) = timed(|| assemble(dialect, &chunks));
            ours.add(megabytes / took.as_secs_f64());
            let (expected, took) = timed(|| values::gather(dialect, &chunks));
            theirs.add(megabytes / took.as_secs_f64());
            same(&said(&answer?)?, &expected?)?;
        }
        let what = format!("{}, chunks of {} KB", dialect.name(), chunk_bytes / 1024);
        let target = setting.of(Some(Target::AtLeast(1.5)), None);
        report.ratio(&what, ours.median(), theirs.median(), "MB/s", target);
    }
    Ok(())
}

/// What a megabyte takes in a long stream and in a short one.
fn by_size(setting: &Setting, dialect: Dialect, report: &mut Report) -> Outcome<()> {
    let (rounds, unit) = setting.of((7, 1_000_000), (1, 50_000));
    let sizes = [1, 4, 16];
    let streams = sizes.map(|size| cut(&answers::answer(dialect, size * unit), 16 * 1024));
    let mut took: [Rounds; 3] = Default::default();
    for _ in 0..rounds {
        for (chunks, took) in streams.iter().zip(&mut took) {
            let bytes: usize = chunks.iter().map(Bytes::len).sum();
            let (answer, time) = timed(|| assemble(dialect, chunks));
            answer?;
            took.add(time.as_secs_f64() * 1e6 / (float(bytes) / 1e6));
        }
    }
    let [short, longer @ ..] = &took;
    for (size, long) in sizes.iter().skip(1).zip(longer) {
        let what = format!("{}, a MB of {size} MB / of 1 MB", dialect.name());
        let target = setting.of(Some(Target::AtMost(1.2)), None);
        report.ratio(&what, long.median(), short.median(), "us", target);
    }
    Ok(())
}

fn cut(bytes: &[u8], chunk_bytes: usize) -> Vec<Bytes> {
    bytes.chunks(chunk_bytes).map(Bytes::copy_from_slice).collect()
}

/// An answer, put together as it comes.
fn assemble(dialect: Dialect, chunks: &[Bytes]) -> Outcome<Assembled> {
    let mut answer = Answer {
        decoder: decoder(dialect, Names::default()),
        assembler: Assembler::new(LIMIT_BYTES),
        deltas: Vec::new(),
        finished: false,
    };
    let body_digest = Digest::of(b"");
    let prepared = Prepared { body_digest, encoder_version: 1, repairs: Vec::new() };
    answer.assembler.push(&Delta::Prepared(prepared))?;
    answer.assembler.push(&Delta::Started(Metadata::new()))?;
    let mut sse = Sse::default();
    for chunk in chunks {
        sse.push(chunk, |frame| answer.take(frame)).map_err(words)?;
    }
    sse.end(|frame| answer.take(frame)).map_err(words)?;
    answer.end().map_err(words)?;
    answer.assembler.finish().map_err(|_| "the answer broke off".into())
}

struct Answer {
    decoder: Box<dyn Decode>,
    assembler: Assembler,
    deltas: Vec<Delta>,
    finished: bool,
}

impl Answer {
    fn take(&mut self, frame: Frame<'_>) -> Result<(), Failed> {
        let Frame::Event(event) = frame else { return Ok(()) };
        if self.finished {
            return Ok(());
        }
        self.decoder.event(event.data, &mut self.deltas)?;
        self.put_together()
    }

    fn end(&mut self) -> Result<(), Failed> {
        if self.finished {
            return Ok(());
        }
        self.decoder.end(&mut self.deltas)?;
        self.put_together()
    }

    fn put_together(&mut self) -> Result<(), Failed> {
        for delta in self.deltas.drain(..) {
            let pushed = self.assembler.push(&delta);
            let progress = pushed.map_err(|broken| Failed::protocol(broken.to_string()))?;
            self.finished = progress == Progress::Finished;
        }
        Ok(())
    }
}

fn words(failed: Failed) -> String {
    failed.message
}

/// What an answer says, without its order.
fn said(answer: &Assembled) -> Outcome<Said> {
    let mut said = Said::default();
    for block in &answer.blocks {
        match block {
            Block::Thinking(thought) => said.thinking.push_str(&thought.text),
            Block::Text(text) => said.text.push_str(&text.text),
            Block::ToolCall(call) => {
                said.calls += 1;
                said.arguments.push_str(&call.arguments);
            }
            Block::Foreign(_) => return Err("there is nothing foreign in it".into()),
        }
    }
    Ok(said)
}

/// Speeds of different answers are not compared.
fn same(ours: &Said, theirs: &Said) -> Outcome<()> {
    let texts = ours.text == theirs.text && ours.thinking == theirs.thinking;
    let calls = ours.calls == theirs.calls && ours.arguments == theirs.arguments;
    if texts && calls { Ok(()) } else { Err("the two sides read different answers".into()) }
}
