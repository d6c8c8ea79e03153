//! Anthropic's events become deltas.
//!
//! An answer ends with `message_stop`, after a stop reason; anything else broke off. Blocks are
//! told apart by their index, so that they may be mixed.

mod foreign;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use threadline_core::history::fact::{Stop, Usage};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::provider::{ANSWER_CAP_BYTES, BlockIndex, BlockKind, Delta};

use self::foreign::ForeignBlock;
use super::wire::{Counts, Event, Head, Message, Piece, Start, StopDetails, Str, ThinkingState};
use crate::dialect::Decode;
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::names::Names;
use crate::reply;

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct AnthropicDecode {
    names: Names,
    blocks: Blocks,
    /// The blocks that have started and not stopped, by their index.
    open: Vec<(u64, Slot)>,
    /// The calls that have stopped without arguments.
    bare: Vec<BlockIndex>,
    /// The message's id, once it has started.
    message: Option<String>,
    counts: Counts,
    stop: Option<Stop>,
    told: Vec<(&'static str, Value)>,
    /// The bytes that are kept here before they are told, which no one else counts.
    kept_bytes: usize,
    finished: bool,
}

/// A block that has started.
#[derive(Debug)]
enum Slot {
    Text(BlockIndex),
    Thinking {
        block: BlockIndex,
        /// Empty until it is signed; some servers sign with nothing.
        signature: String,
    },
    Call {
        block: BlockIndex,
        /// The arguments that it had when it started: they count if no others stream.
        given: Option<Box<str>>,
    },
    /// Whole when it started, such as redacted thinking.
    Whole(BlockIndex),
    Foreign(ForeignBlock),
}

impl Decode for AnthropicDecode {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let data = data.trim();
        // One gateway adds the end of another protocol. It proves nothing.
        if self.finished || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str::<Event<'_>>(data) {
            Ok(event) => self.take(&event, data, out),
            Err(error) => unreadable(data, &error),
        }
    }

    fn end(&mut self, _: &mut Vec<Delta>) -> Result<(), Failed> {
        if self.finished {
            return Ok(());
        }
        Err(Failed::protocol("the answer broke off before its end"))
    }
}

impl AnthropicDecode {
    /// A decoder of one answer to a request with these names.
    pub(crate) fn new(names: Names) -> Self {
        Self {
            names,
            blocks: Blocks::default(),
            open: Vec::new(),
            bare: Vec::new(),
            message: None,
            counts: Counts::default(),
            stop: None,
            told: Vec::new(),
            kept_bytes: 0,
            finished: false,
        }
    }

    fn take(&mut self, event: &Event<'_>, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let kind = event.kind.as_ref().map(|kind| &*kind.0);
        match kind {
            Some("content_block_delta") => self.piece(event, out),
            Some("content_block_start") => self.start(event, out),
            Some("content_block_stop") => self.stop_block(event, out),
            Some("message_start") => self.message_start(event, out),
            Some("message_delta") => {
                self.message_delta(event, out);
                Ok(())
            }
            Some("message_stop") => self.message_stop(out),
            Some("message") => self.whole(data, out),
            Some("error") => Err(failed(data)),
            // Compatible servers tell errors in another vendor's form.
            None if event.error.is_some() => Err(failed(data)),
            Some(_) | None => Ok(()),
        }
    }

    fn message_start(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(raw) = event.message else { return Ok(()) };
        self.begin_message(&read(raw.get())?, out)
    }

    /// A message all at once: the answer of a server that does not stream.
    fn whole(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let message: Message<'_> = read(data)?;
        self.begin_message(&message, out)?;
        self.stop(message.stop_reason.as_ref(), message.stop_details);
        self.message_stop(out)
    }

    fn begin_message(&mut self, message: &Message<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let id = text(message.id.as_ref());
        if let Some(known) = &self.message {
            if known == id {
                return Ok(());
            }
            return Err(Failed::protocol("another message started within the answer"));
        }
        self.message = Some(id.to_owned());
        self.tell("response_id", id);
        self.tell("model", text(message.model.as_ref()));
        self.count(message.usage, out);
        let content = message.content.map(|raw| read::<Vec<&RawValue>>(raw.get())).transpose()?;
        for block in content.unwrap_or_default() {
            let slot = self.begin(block, out)?;
            self.settle(&slot, out);
            self.blocks.end(slot.block(), out);
        }
        Ok(())
    }

    fn start(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let (Some(index), Some(raw)) = (event.index, event.content_block) else {
            return Err(Failed::protocol("a block started without an index or without content"));
        };
        // An index that is used again begins another block.
        self.close(index, out);
        let slot = self.begin(raw, out)?;
        self.open.push((index, slot));
        Ok(())
    }

    /// Begins a block with what it has when it starts.
    fn begin(&mut self, raw: &RawValue, out: &mut Vec<Delta>) -> Result<Slot, Failed> {
        let head: Head<'_> = read(raw.get())?;
        match text(head.kind.as_ref()) {
            "text" => {
                let start: Start<'_> = read(raw.get())?;
                let block = self.blocks.begin(BlockKind::Text, out);
                self.blocks.fragment(block, text(start.text.as_ref()), out);
                Ok(Slot::Text(block))
            }
            "thinking" => {
                let start: Start<'_> = read(raw.get())?;
                let block = self.blocks.begin(BlockKind::Thinking, out);
                self.blocks.fragment(block, text(start.thinking.as_ref()), out);
                let signature = text(start.signature.as_ref()).to_owned();
                self.keep(&signature)?;
                Ok(Slot::Thinking { block, signature })
            }
            "redacted_thinking" => {
                let start: Start<'_> = read(raw.get())?;
                let block = self.blocks.begin(BlockKind::Thinking, out);
                let data = text(start.data.as_ref()).into();
                self.blocks.state(block, state(&ThinkingState::Redacted(data)), out);
                Ok(Slot::Whole(block))
            }
            "tool_use" => self.begin_call(&read(raw.get())?, out),
            kind => {
                self.keep(raw.get())?;
                let foreign = ForeignBlock::begin(kind, raw, &mut self.blocks, out);
                Ok(Slot::Foreign(foreign))
            }
        }
    }

    fn begin_call(&mut self, start: &Start<'_>, out: &mut Vec<Delta>) -> Result<Slot, Failed> {
        let name = self.names.from_wire(text(start.name.as_ref()));
        let id = text(start.id.as_ref());
        let provider_id = (!id.is_empty()).then(|| Arc::from(id));
        let block = self.blocks.begin(BlockKind::ToolCall { name, provider_id }, out);
        let given = start.input.map(RawValue::get).filter(|input| !is_empty_object(input));
        self.keep(given.unwrap_or_default())?;
        Ok(Slot::Call { block, given: given.map(Into::into) })
    }

    fn piece(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(piece) = &event.delta else { return Ok(()) };
        let place = self.open.iter().rposition(|(index, _)| Some(*index) == event.index);
        let Some((_, slot)) = place.and_then(|place| self.open.get_mut(place)) else {
            if says_something(piece) {
                return Err(Failed::protocol("a piece came of a block that is not open"));
            }
            return Ok(());
        };
        let kept = match (text(piece.kind.as_ref()), slot) {
            ("text_delta", Slot::Text(block)) => {
                self.blocks.fragment(*block, text(piece.text.as_ref()), out);
                0
            }
            ("thinking_delta", Slot::Thinking { block, .. }) => {
                self.blocks.fragment(*block, text(piece.thinking.as_ref()), out);
                0
            }
            ("input_json_delta", Slot::Call { block, .. }) => {
                self.blocks.fragment(*block, text(piece.partial_json.as_ref()), out);
                0
            }
            ("signature_delta", Slot::Thinking { signature, .. }) => {
                let more = text(piece.signature.as_ref());
                signature.push_str(more);
                more.len()
            }
            ("input_json_delta", Slot::Foreign(foreign)) => {
                foreign.more_input(text(piece.partial_json.as_ref()))
            }
            ("compaction_delta", Slot::Foreign(foreign)) => foreign.more_content(piece.content)?,
            // Citations, what is not known yet, and pieces of blocks that are not known yet.
            (kind, slot) => {
                let is_known =
                    matches!(kind, "" | "text_delta" | "thinking_delta" | "input_json_delta");
                if is_known && says_something(piece) && !matches!(slot, Slot::Foreign(_)) {
                    return Err(Failed::protocol(format!(
                        "a piece of type “{kind}” came of a block of another type"
                    )));
                }
                0
            }
        };
        self.keep_bytes(kept)
    }

    fn stop_block(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(index) = event.index else {
            return Err(Failed::protocol("a block stopped without an index"));
        };
        self.close(index, out);
        Ok(())
    }

    /// Ends an open block; nothing if there is none.
    fn close(&mut self, index: u64, out: &mut Vec<Delta>) {
        let Some(place) = self.open.iter().rposition(|(open, _)| *open == index) else { return };
        let (_, slot) = self.open.remove(place);
        self.settle(&slot, out);
        self.blocks.end(slot.block(), out);
    }

    /// Tells what was kept of a block until it was whole.
    fn settle(&mut self, slot: &Slot, out: &mut Vec<Delta>) {
        match slot {
            Slot::Text(_) | Slot::Whole(_) => {}
            Slot::Thinking { block, signature } => {
                if !signature.is_empty() {
                    let signed = ThinkingState::Signature(signature.into());
                    self.blocks.state(*block, state(&signed), out);
                }
            }
            Slot::Call { block, given } => {
                let streamed = self.blocks.arguments(*block).is_some_and(|all| !all.is_empty());
                match given {
                    _ if streamed => {}
                    Some(given) => self.blocks.fragment(*block, given, out),
                    None => self.bare.push(*block),
                }
            }
            Slot::Foreign(foreign) => foreign.settle(&mut self.blocks, out),
        }
    }

    fn message_delta(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) {
        self.count(event.usage, out);
        let Some(delta) = &event.delta else { return };
        self.stop(delta.stop_reason.as_ref(), delta.stop_details);
    }

    fn stop(&mut self, reason: Option<&Str<'_>>, details: Option<&RawValue>) {
        if let Some(reason) = reason {
            self.stop = Some(stop(&reason.0));
            self.tell("stop_reason", &reason.0);
        }
        let details = details.map(RawValue::get);
        let details = details.and_then(|raw| serde_json::from_str::<StopDetails<'_>>(raw).ok());
        if let Some(details) = details {
            self.tell("stop_category", text(details.category.as_ref()));
            self.tell("stop_explanation", text(details.explanation.as_ref()));
        }
    }

    fn message_stop(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(stop) = self.stop else {
            return Err(Failed::protocol("the answer stopped without a reason"));
        };
        for (_, slot) in std::mem::take(&mut self.open) {
            self.settle(&slot, out);
        }
        // A call without arguments has none, unless the output limit may have cut it.
        for block in std::mem::take(&mut self.bare) {
            if stop != Stop::Length {
                self.blocks.fragment(block, "{}", out);
            }
        }
        let metadata = Metadata::fitted(self.told.drain(..));
        self.blocks.finish(stop, metadata, out);
        self.finished = true;
        Ok(())
    }

    /// Takes in totals; those that cannot be read are not worth an answer.
    fn count(&mut self, raw: Option<&RawValue>, out: &mut Vec<Delta>) {
        let counts = raw.and_then(|raw| serde_json::from_str::<Counts>(raw.get()).ok());
        let Some(counts) = counts.filter(|counts| *counts != Counts::default()) else { return };
        self.counts = self.counts.then(counts);
        out.push(Delta::Usage(self.counts.usage()));
    }

    fn tell(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            self.told.retain(|(told, _)| *told != key);
            self.told.push((key, Value::Text(value.to_owned())));
        }
    }

    fn keep(&mut self, text: &str) -> Result<(), Failed> {
        self.keep_bytes(text.len())
    }

    fn keep_bytes(&mut self, bytes: usize) -> Result<(), Failed> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > ANSWER_CAP_BYTES {
            return Err(Failed::protocol(format!("answer larger than {ANSWER_CAP_BYTES} bytes")));
        }
        Ok(())
    }
}

impl Slot {
    const fn block(&self) -> BlockIndex {
        match self {
            Self::Text(block)
            | Self::Thinking { block, .. }
            | Self::Call { block, .. }
            | Self::Whole(block) => *block,
            Self::Foreign(foreign) => foreign.block(),
        }
    }
}

impl Counts {
    /// These, and those that came later where they say anything.
    fn then(self, later: Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }

    /// Their input excludes what the cache had to do with; ours includes it.
    fn usage(self) -> Usage {
        let cached = self.cache_read_input_tokens;
        let written = self.cache_creation_input_tokens;
        let fresh = self.input_tokens.unwrap_or_default();
        let input = fresh.saturating_add(cached.unwrap_or_default());
        Usage {
            input: input.saturating_add(written.unwrap_or_default()),
            output: self.output_tokens.unwrap_or_default(),
            cached_input: cached,
            cache_write: written,
            reasoning: self.output_tokens_details.and_then(|details| details.thinking_tokens),
            estimated: false,
        }
    }
}

/// Why it stopped. A reason that is not known yet is an end like any other.
fn stop(reason: &str) -> Stop {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Refusal,
        // After a compaction it goes on when it is asked again, as after a pause.
        "pause_turn" | "compaction" => Stop::Paused,
        _ => Stop::Done,
    }
}

/// An event that has another form than we know: it counts only if it is one that we know.
fn unreadable(data: &str, error: &serde_json::Error) -> Result<(), Failed> {
    let head = serde_json::from_str::<Head<'_>>(data);
    match head.as_ref().map(|head| text(head.kind.as_ref())) {
        Ok("error") => Err(failed(data)),
        Ok(
            "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message"
            | "",
        )
        | Err(_) => Err(Failed::protocol(format!("an event could not be read: {error}"))),
        Ok(_) => Ok(()),
    }
}

/// What an error event says.
fn failed(data: &str) -> Failed {
    reply::told(None, &[], data.as_bytes())
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Failed> {
    let read = serde_json::from_str(json);
    read.map_err(|error| Failed::protocol(format!("a part of the answer is unreadable: {error}")))
}

fn text<'a>(text: Option<&'a Str<'_>>) -> &'a str {
    text.map_or("", |text| &text.0)
}

fn state(state: &ThinkingState<'_>) -> Arc<str> {
    serde_json::to_string(state).unwrap_or_default().into()
}

fn is_empty_object(raw: &str) -> bool {
    raw.strip_prefix('{').is_some_and(|rest| rest.trim_start() == "}") || raw == "null"
}

fn says_something(piece: &Piece<'_>) -> bool {
    let texts = [&piece.text, &piece.partial_json, &piece.thinking];
    texts.into_iter().any(|part| !text(part.as_ref()).is_empty())
}

#[cfg(test)]
mod tests;
