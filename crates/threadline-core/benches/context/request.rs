//! A request as its pieces of text, to be compared with the one before it.

use std::collections::HashMap;
use std::sync::Arc;

use threadline_core::context::{Body, Context, Screen, Source};
use threadline_core::history::fact::{Block, ToolCall};
use threadline_core::id::Seq;
use threadline_core::tokens::{O200k, TokenCounter as _};

/// Counts texts, each once.
#[derive(Default)]
pub(crate) struct Counted(HashMap<Arc<str>, u64>);

impl Counted {
    pub(crate) fn tokens(&mut self, text: &Arc<str>) -> u64 {
        if let Some(known) = self.0.get(text) {
            return *known;
        }
        let tokens = u64::from(O200k.count(text));
        self.0.insert(Arc::clone(text), tokens);
        tokens
    }
}

/// What a model is sent: pieces of text in their order.
#[derive(Clone, Default)]
pub(crate) struct Request {
    pieces: Vec<(Arc<str>, u64)>,
    /// The lines that stand for entries, by entry.
    lines: Vec<(Seq, Arc<str>)>,
}

impl Request {
    /// A request that begins with the instruction and the tools.
    pub(crate) fn new(system: &Arc<str>, tools: &Arc<str>, counted: &mut Counted) -> Self {
        let mut request = Self::default();
        request.say(system, counted);
        request.say(tools, counted);
        request
    }

    /// The request of a context.
    pub(crate) fn of(context: &Context, tools: &Arc<str>, counted: &mut Counted) -> Self {
        let mut request = Self::new(&context.system.text, tools, counted);
        for part in &context.parts {
            let screen = match &part.body {
                Body::Input(input) => {
                    request.say(&input.text, counted);
                    if let Source::Earlier { .. } = part.source {
                        request.note_lines(&input.text);
                    }
                    &input.screen
                }
                Body::Output(output) => {
                    for block in &output.blocks {
                        request.say(&block_text(block), counted);
                    }
                    &None
                }
                Body::Results(results) => {
                    for result in &results.results {
                        request.say(&result.text, counted);
                    }
                    &results.screen
                }
            };
            if let Some(Screen { text, .. }) = screen {
                request.say(text, counted);
            }
        }
        request
    }

    pub(crate) fn say(&mut self, text: &Arc<str>, counted: &mut Counted) {
        self.pieces.push((Arc::clone(text), counted.tokens(text)));
    }

    /// Says a line that stands for an entry.
    pub(crate) fn say_line(&mut self, seq: Seq, line: &Arc<str>, counted: &mut Counted) {
        self.say(line, counted);
        self.lines.push((seq, Arc::clone(line)));
    }

    /// The lines of a section that begin with an entry's number.
    fn note_lines(&mut self, section: &str) {
        for line in section.lines() {
            let number = line.split(' ').next().and_then(|number| number.parse().ok());
            self.lines.extend(number.map(|number| (Seq(number), Arc::from(line))));
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.pieces.iter().map(|(_, tokens)| tokens).sum()
    }

    /// How many of its tokens the next request begins with.
    pub(crate) fn common(&self, next: &Self) -> u64 {
        let mut common = 0;
        for ((before, tokens), (after, _)) in self.pieces.iter().zip(&next.pieces) {
            if before == after {
                common += tokens;
                continue;
            }
            let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
            let same = u64::try_from(same).unwrap_or(0);
            let length = u64::try_from(before.len()).unwrap_or(u64::MAX).max(1);
            return common + tokens * same / length;
        }
        common
    }

    /// Whether a text occurs in it.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.pieces.iter().any(|(piece, _)| piece.contains(text))
    }

    /// The line that stands for an entry.
    pub(crate) fn line(&self, seq: Seq) -> Option<&str> {
        let line = self.lines.iter().find(|(known, _)| *known == seq);
        line.map(|(_, line)| &**line)
    }
}

/// A block as text.
pub(crate) fn block_text(block: &Block) -> Arc<str> {
    match block {
        Block::Thinking(thinking) => Arc::clone(&thinking.text),
        Block::Text(text) => Arc::clone(&text.text),
        Block::ToolCall(ToolCall { name, arguments, .. }) => format!("{name} {arguments}").into(),
        Block::Foreign(foreign) => Arc::clone(&foreign.text),
    }
}
