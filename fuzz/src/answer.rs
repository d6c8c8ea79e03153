//! An answer of bytes: it is read to its end, to a failure, or to where it is too large; and what
//! was read of it can be sent again.

use threadline_core::history::fact::{Block, Digest};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembler, Broken, Delta, Prepared, Progress};
use threadline_providers::dialect::{Decode, Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::sse::{Event, Frame, Sse, TooLarge};

use crate::again;
use crate::chunks::chunks;

/// Reads an answer in a dialect: an event a line if the first byte is even, else server-sent events
/// in chunks of any size.
///
/// # Panics
///
/// If a rule of deltas is broken, or if what was read cannot be sent again.
pub fn read(dialect: Dialect, input: &[u8]) {
    let Some((how, bytes)) = input.split_first() else { return };
    let mut reading = Reading::new(dialect);
    // Whoever reads stops at the end of the answer, at a failure, and when it is too large.
    let over = if how & 1 == 0 {
        by_lines(bytes, &mut reading)
    } else {
        by_events(bytes, *how, &mut reading)
    };
    let over = over.and_then(|()| reading.end());
    let finished = matches!(over, Err(Over::Finished));
    let blocks = match reading.answer.finish() {
        Ok(answer) => {
            assert!(finished, "an answer that is whole is over");
            answer.blocks
        }
        Err(partial) => {
            assert!(!finished, "an answer that is over is whole");
            partial.streamed
        }
    };
    check(&blocks, finished);
    again::send(dialect, blocks);
}

fn by_lines(bytes: &[u8], reading: &mut Reading) -> Result<(), Over> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().try_for_each(|line| reading.event(line))
}

fn by_events(bytes: &[u8], seed: u8, reading: &mut Reading) -> Result<(), Over> {
    let mut sse = Sse::capped(64 * 1024);
    let mut each = |frame: Frame<'_>| match frame {
        Frame::Event(Event { data, .. }) | Frame::Cut(Event { data, .. }) | Frame::Stray(data) => {
            reading.event(data)
        }
        Frame::Comment => Ok(()),
    };
    for chunk in chunks(bytes, seed) {
        sse.push(chunk, &mut each)?;
    }
    sse.end(each)
}

/// A call that is whole only if the answer is: no other may run.
fn check(blocks: &[Block], finished: bool) {
    for block in blocks {
        if let Block::ToolCall(call) = block {
            assert!(finished || !call.complete, "a call of half an answer is whole: {call:?}");
        }
    }
}

struct Reading {
    decode: Box<dyn Decode>,
    answer: Assembler,
}

/// Why nothing more is read.
enum Over {
    Finished,
    Failed,
    TooLarge,
}

impl Reading {
    fn new(dialect: Dialect) -> Self {
        let names = ["files.read".into(), "look".into()];
        let prepared =
            Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
        let mut reading = Self {
            decode: decoder(dialect, Names::new(&names, 64)),
            answer: Assembler::new(256 * 1024),
        };
        let begin = [Delta::Prepared(prepared), Delta::Started(Metadata::new())];
        assert!(reading.take(&begin, Ok(())).is_ok(), "an answer begins so");
        reading
    }

    fn event(&mut self, data: &str) -> Result<(), Over> {
        let mut deltas = Vec::new();
        let read = self.decode.event(data, &mut deltas);
        self.take(&deltas, read)
    }

    fn end(&mut self) -> Result<(), Over> {
        let mut deltas = Vec::new();
        let read = self.decode.end(&mut deltas);
        let whole = read.is_ok();
        self.take(&deltas, read)?;
        assert!(!whole, "the stream ended without a failure and without the end of the answer");
        Ok(())
    }

    /// What came before a failure counts.
    fn take(&mut self, deltas: &[Delta], read: Result<(), Failed>) -> Result<(), Over> {
        let mut progress = Progress::More;
        for delta in deltas {
            progress = match self.answer.push(delta) {
                Ok(progress) => progress,
                Err(Broken::TooLarge { .. }) => return Err(Over::TooLarge),
                Err(broken) => panic!("{broken}: {delta:?}"),
            };
        }
        match (read, progress) {
            (Err(_), Progress::More) => Err(Over::Failed),
            (Err(failed), Progress::Finished) => panic!("it ended and failed: {failed:?}"),
            (Ok(()), Progress::Finished) => Err(Over::Finished),
            (Ok(()), Progress::More) => Ok(()),
        }
    }
}

impl From<TooLarge> for Over {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}
