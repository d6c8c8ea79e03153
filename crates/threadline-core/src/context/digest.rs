//! The digest of a context: equal for equal contexts, whatever the provider.
//!
//! It is BLAKE3 over a neutral form that is written nowhere: the version of the form, then every
//! field in the order of its declaration.
//!
//! - A number is eight bytes, lowest first.
//! - A text is its length in bytes as a number, then its bytes. A digest is its 32 bytes.
//! - A list is its length as a number, then its items.
//! - A choice is one byte that says which, then its fields; something that may be missing is a
//!   choice between nothing (0) and something (1).
//!
//! An attachment is fed by its digest, size, type and name: its bytes are behind the digest. The
//! form changes only together with its version.

use super::{
    Body, Context, InputPart, OutputPart, Part, ResultPart, ResultsPart, Screen, Source, System,
};
use crate::history::fact::{
    Attachment, Block, Digest, Foreign, Invocation, Status, Stop, Text, ThinkingBlock, ToolCall,
};
use crate::history::sections::Level;
use crate::id::{CallId, Seq};

/// The version of the neutral form.
const FORM: &str = "threadline context 1";

/// How much of the form is hashed at once, in bytes: in pieces of a few it takes several times as
/// long.
const PIECE: usize = 16 * 1024;

impl Context {
    /// The digest of everything in it.
    pub fn digest(&self) -> Digest {
        let Self { system, parts } = self;
        let mut form = Form::new();
        form.text(FORM);
        form.system(system);
        form.list(parts, Form::part);
        form.digest()
    }
}

/// The neutral form on its way into the digest.
struct Form {
    hasher: blake3::Hasher,
    /// What is not hashed yet.
    piece: Vec<u8>,
}

impl Form {
    fn new() -> Self {
        Self { hasher: blake3::Hasher::new(), piece: Vec::with_capacity(PIECE) }
    }

    fn digest(mut self) -> Digest {
        Digest(*self.hasher.update(&self.piece).finalize().as_bytes())
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        // Only whole pieces: what is left of a chunk of the hash takes several times as long.
        while let Some((fits, rest)) = bytes.split_at_checked(PIECE - self.piece.len()) {
            self.piece.extend_from_slice(fits);
            self.hasher.update(&self.piece);
            self.piece.clear();
            bytes = rest;
        }
        self.piece.extend_from_slice(bytes);
    }

    fn choice(&mut self, which: u8) {
        self.bytes(&[which]);
    }

    fn number(&mut self, number: impl Into<u64>) {
        self.bytes(&number.into().to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.number(u64::try_from(length).unwrap_or(u64::MAX));
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut feed: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for item in items {
            feed(self, item);
        }
    }

    fn maybe<T>(&mut self, value: Option<&T>, feed: impl FnOnce(&mut Self, &T))
    where
        T: ?Sized,
    {
        match value {
            None => self.choice(0),
            Some(value) => {
                self.choice(1);
                feed(self, value);
            }
        }
    }

    fn maybe_text(&mut self, text: Option<&str>) {
        self.maybe(text, Self::text);
    }

    fn seq(&mut self, seq: Seq) {
        self.number(seq.0);
    }

    fn system(&mut self, system: &System) {
        let System { entry, text, tokens } = system;
        self.maybe(entry.as_ref(), |form, seq| form.seq(*seq));
        self.text(text);
        self.number(*tokens);
    }

    fn part(&mut self, part: &Part) {
        let Part { source, level, tokens, body } = part;
        match source {
            Source::Entry(seq) => {
                self.choice(0);
                self.seq(*seq);
            }
            Source::Earlier { from, to } => {
                self.choice(1);
                self.seq(*from);
                self.seq(*to);
            }
        }
        self.level(*level);
        self.number(*tokens);
        match body {
            Body::Input(input) => {
                self.choice(0);
                self.input(input);
            }
            Body::Output(output) => {
                self.choice(1);
                self.output(output);
            }
            Body::Results(ResultsPart { results, screen }) => {
                self.choice(2);
                self.list(results, Self::result);
                self.maybe(screen.as_ref(), Self::screen);
            }
        }
    }

    fn level(&mut self, level: Level) {
        self.choice(match level {
            Level::Gist => 0,
            Level::Recent => 1,
            Level::Live => 2,
        });
    }

    fn input(&mut self, input: &InputPart) {
        let InputPart { text, attachments, screen } = input;
        self.text(text);
        self.list(attachments, Self::attachment);
        self.maybe(screen.as_ref(), Self::screen);
    }

    fn output(&mut self, output: &OutputPart) {
        let OutputPart { invocation, blocks, stop } = output;
        let Invocation { provider, endpoint, account, dialect, model } = invocation;
        self.text(provider);
        self.text(endpoint);
        self.maybe_text(account.as_deref());
        self.text(dialect);
        self.text(model);
        self.list(blocks, Self::block);
        self.choice(match stop {
            Stop::Done => 0,
            Stop::Length => 1,
            Stop::Refusal => 2,
            Stop::Blocked => 3,
            Stop::Paused => 4,
        });
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Thinking(ThinkingBlock { text, state }) => {
                self.choice(0);
                self.text(text);
                self.maybe_text(state.as_deref());
            }
            Block::Text(Text { text, state }) => {
                self.choice(1);
                self.text(text);
                self.maybe_text(state.as_deref());
            }
            Block::ToolCall(call) => {
                let ToolCall { name, arguments, repaired, provider_id, complete, state } = call;
                // Digests from before repairs were recorded stay as they were.
                self.choice(if repaired.is_some() { 4 } else { 2 });
                self.text(name);
                self.text(arguments);
                if let Some(repaired) = repaired {
                    self.text(repaired);
                }
                self.maybe_text(provider_id.as_deref());
                self.choice(u8::from(*complete));
                self.maybe_text(state.as_deref());
            }
            Block::Foreign(Foreign { kind, text, state }) => {
                self.choice(3);
                self.text(kind);
                self.text(text);
                self.text(state);
            }
        }
    }

    fn result(&mut self, result: &ResultPart) {
        let ResultPart { call, name, entry, status, text, attachments, level, tokens } = result;
        let CallId { output, index } = call;
        self.seq(*output);
        self.number(*index);
        self.text(name);
        self.seq(*entry);
        self.choice(match status {
            Status::Success => 0,
            Status::Failed => 1,
            Status::Skipped => 2,
            Status::Unknown => 3,
        });
        self.text(text);
        self.list(attachments, Self::attachment);
        self.level(*level);
        self.number(*tokens);
    }

    fn attachment(&mut self, attachment: &Attachment) {
        // The extent is a reading of the bytes, which the digest stands for.
        let Attachment { digest, size, media_type, name, extent: _ } = attachment;
        self.bytes(&digest.0);
        self.number(*size);
        self.text(media_type);
        self.maybe_text(name.as_deref());
    }

    fn screen(&mut self, screen: &Screen) {
        let Screen { text, tokens } = screen;
        self.text(text);
        self.number(*tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_hashed_in_order_however_many_come_at_once() {
        let (mut form, mut all) = (Form::new(), Vec::new());
        let lengths = [0, 1, PIECE - 1, 8, PIECE, 3, 2 * PIECE, PIECE - 3, 3, 1];
        for (number, length) in (1..).zip(lengths) {
            let bytes = vec![number; length];
            form.bytes(&bytes);
            all.extend(bytes);
        }
        assert_eq!(form.digest(), Digest::of(&all));
    }
}
