//! What is shown while an agent works: the answer on standard output, all else beside it.

use std::collections::BTreeMap;
use std::io;

use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Block, Fact, InvocationFailed, Output, ToolFinished};
use threadline_core::history::one_line;
use threadline_core::provider::{BlockIndex, BlockKind, Delta};
use threadline_core::sanitise;
use threadline_runtime::News;

use super::Asked;
use crate::view::{Line, View, aside, aside_piece};
use crate::words;

/// How much of a remark stands on a line.
const LINE_CAP: usize = 300;

/// Shows what happens in a conversation.
pub(crate) struct Screen<'a> {
    view: &'a mut View,
    how: How,
    streamed: Streamed,
    /// Where the cursor stands.
    at: At,
}

/// How things are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// To a person: answers as they come, thoughts too.
    Live,
    /// To a program that reads text: answers are printed when they are whole.
    Plain,
    /// Not at all: what came of it is printed as JSON.
    Silent,
}

/// What an invocation has said so far.
#[derive(Default)]
struct Streamed {
    kinds: BTreeMap<BlockIndex, Kind>,
    /// The block that is being said.
    last: Option<BlockIndex>,
    text: String,
    thought: bool,
    clean: sanitise::Stream,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Text,
    Thought,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(view: &'a mut View) -> Self {
        let how = match (view.json, view.width()) {
            (true, _) => How::Silent,
            (false, Some(_)) => How::Live,
            (false, None) => How::Plain,
        };
        Self { view, how, streamed: Streamed::default(), at: At::Start }
    }

    /// Whether answers are shown as they come.
    pub(crate) fn is_live(&self) -> bool {
        self.how == How::Live
    }

    /// Shows some news.
    pub(crate) fn draw(&mut self, news: &News) -> io::Result<()> {
        if self.how == How::Silent {
            return Ok(());
        }
        match news {
            News::Notice(Notice::Delta { delta, .. }) if self.is_live() => self.delta(delta),
            News::Notice(Notice::Entry(entry)) => self.entry(entry),
            News::Notice(Notice::Stalled(why)) => {
                self.tell(Line::new().dim(format!("· waiting: {}", one_line(why, LINE_CAP))))
            }
            News::Notice(Notice::Delta { .. } | Notice::State { .. }) | News::Progress { .. } => {
                Ok(())
            }
        }
    }

    /// Says that a turn is being stopped.
    pub(crate) fn stopping(&mut self, asked: Asked) -> io::Result<()> {
        match (self.how, asked) {
            (How::Silent, _) => Ok(()),
            (How::Live, Asked::Interrupt) => {
                self.tell(Line::new().dim("· stopping; Ctrl-C again leaves at once"))
            }
            (How::Live | How::Plain, _) => self.tell(Line::new().dim("· stopping")),
        }
    }

    /// Tells a line beside the answer.
    pub(crate) fn tell(&mut self, line: Line) -> io::Result<()> {
        self.end_line()?;
        if self.how != How::Silent {
            aside(line);
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match delta {
            Delta::Begin { block, kind } => {
                let kind = match kind {
                    BlockKind::Text => Kind::Text,
                    BlockKind::Thinking => Kind::Thought,
                    BlockKind::ToolCall { .. } | BlockKind::Foreign { .. } => Kind::Other,
                };
                self.streamed.kinds.insert(*block, kind);
                Ok(())
            }
            Delta::Fragment { block, text } => self.fragment(*block, text),
            Delta::Prepared(_)
            | Delta::Started(_)
            | Delta::State { .. }
            | Delta::End { .. }
            | Delta::Usage(_)
            | Delta::Cost(_)
            | Delta::Finished { .. } => Ok(()),
        }
    }

    fn fragment(&mut self, block: BlockIndex, text: &str) -> io::Result<()> {
        let kind = self.streamed.kinds.get(&block).copied().unwrap_or(Kind::Other);
        let is_next = self.streamed.last.replace(block).is_some_and(|last| last != block);
        match kind {
            Kind::Text => {
                // As the whole answer has it.
                if is_next && !self.streamed.text.is_empty() {
                    self.say("\n\n")?;
                }
                self.say(text)
            }
            Kind::Thought => {
                self.streamed.thought = true;
                self.think(text)
            }
            Kind::Other => Ok(()),
        }
    }

    /// Prints a piece of the answer.
    fn say(&mut self, piece: &str) -> io::Result<()> {
        if self.at == At::Thought {
            self.end_line()?;
        }
        self.streamed.text.push_str(piece);
        let inert = self.streamed.clean.push(piece);
        self.at = At::Text;
        self.view.piece(&inert)
    }

    fn think(&mut self, piece: &str) -> io::Result<()> {
        if self.at == At::Text {
            self.end_line()?;
        }
        self.at = At::Thought;
        aside_piece(&sanitise::text(piece));
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        match &entry.fact {
            Fact::Output(output) => self.output(output),
            Fact::InvocationFailed(failed) => self.failed(failed),
            Fact::ToolFinished(finished) => self.finished(finished),
            Fact::TurnEnded(ended) => {
                self.streamed = Streamed::default();
                let words = words::ended(ended.reason, &ended.detail);
                self.tell(Line::new().bad("· ended").plain(format!(" {words}")))
            }
            Fact::Note(note) if &*note.category == "refused" => {
                self.tell(Line::new().dim(format!("· {}", one_line(&note.text, LINE_CAP))))
            }
            _ => Ok(()),
        }
    }

    /// An answer is whole: what of it was not shown yet is, then the calls it makes.
    fn output(&mut self, output: &Output) -> io::Result<()> {
        if self.is_live() {
            self.rest_of(output)?;
        }
        self.streamed = Streamed::default();
        self.end_line()?;
        for call in output.calls() {
            let line = Line::new().dim("· ").name(&call.name);
            self.tell(line.plain(format!(" {}", words::arguments(&call.arguments))))?;
        }
        Ok(())
    }

    fn rest_of(&mut self, output: &Output) -> io::Result<()> {
        if !self.streamed.thought {
            for block in &output.blocks {
                if let Block::Thinking(thinking) = block {
                    self.think(&thinking.text)?;
                    self.end_line()?;
                }
            }
        }
        let whole = output.text();
        match whole.strip_prefix(&*self.streamed.text) {
            Some("") => Ok(()),
            Some(rest) => self.say(rest),
            None => {
                self.end_line()?;
                self.streamed = Streamed::default();
                self.say(&whole)
            }
        }
    }

    fn failed(&mut self, failed: &InvocationFailed) -> io::Result<()> {
        self.streamed = Streamed::default();
        let again = if failed.retry { "; it is asked again" } else { "" };
        let why = one_line(&failed.message, LINE_CAP);
        self.tell(Line::new().bad("✗").plain(format!(" the model gave no answer: {why}{again}")))
    }

    fn finished(&mut self, finished: &ToolFinished) -> io::Result<()> {
        let (mark, said) = words::finished(finished);
        let line = match mark {
            "✓" => Line::new().good(mark),
            _ => Line::new().bad(mark),
        };
        self.tell(line.plain(format!(" {said}")))
    }

    /// Ends the line that the cursor is in.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.at, At::Start) {
            At::Start => self.view.finish(),
            At::Text => self.view.piece("\n"),
            At::Thought => {
                aside_piece("\n");
                Ok(())
            }
        }
    }
}
