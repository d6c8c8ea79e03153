//! The stream of an answer becomes deltas.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::value::RawValue;
use threadline_core::history::fact::{FailureKind, Money, Stop, Usage};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

use super::calls::Calls;
use super::details::Details;
use super::wire::{self, Chunk, ContentPart};
use crate::dialect::Decode;
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::names::Names;

/// What ends the events; it says nothing of how the answer ended.
const DONE: &str = "[DONE]";
/// The kind of the block that holds a refusal.
pub(super) const REFUSAL: &str = "refusal";

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub(crate) struct ChatDecode {
    names: Names,
    blocks: Blocks,
    /// The block that what comes next may continue.
    speaking: Option<(Voice, BlockIndex)>,
    calls: Calls,
    details: Details,
    /// The refusal that is being said.
    refusal: String,
    has_refused: bool,
    /// Why the model stopped, once it is told: the protocol's sign of the end.
    stop: Option<Stop>,
    usage: Option<Usage>,
    cost: Option<Money>,
    id: Option<String>,
    model: Option<String>,
    stop_reason: Option<String>,
    /// Nothing more is read.
    over: bool,
}

/// What a model can go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Thinking,
    Text,
    Refusal,
}

impl ChatDecode {
    /// A decoder of the answer to a request that named its tools so.
    pub(crate) fn new(names: Names) -> Self {
        Self { names, ..Self::default() }
    }
}

impl Decode for ChatDecode {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let data = data.trim();
        if self.over || data.is_empty() {
            return Ok(());
        }
        let taken = if data == DONE { self.finish(out) } else { self.chunk(data, out) };
        self.over |= taken.is_err();
        taken
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        if self.over { Ok(()) } else { self.finish(out) }
    }
}

impl ChatDecode {
    fn chunk(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let unread =
            |why: &dyn Display| Failed::protocol(format!("an event could not be read: {why}"));
        // A list would be read as the fields of a chunk, in their order.
        if !data.starts_with('{') {
            return Err(unread(&"it is no object"));
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| unread(&error))?;
        let is_error = wire::label(chunk.object).is_some_and(|object| object == "error");
        if chunk.error.is_some() || is_error {
            return Err(told(data));
        }
        if self.id.is_none() {
            self.id = wire::label(chunk.id).map(Cow::into_owned);
        }
        if self.model.is_none() {
            self.model = wire::label(chunk.model).map(Cow::into_owned);
        }
        for choice in chunk.choices.into_iter().flatten() {
            if wire::number(choice.index).unwrap_or(0) == 0 {
                self.choice(&choice, data, out)?;
            }
        }
        let groq =
            chunk.x_groq.and_then(|raw| serde_json::from_str::<wire::Groq<'_>>(raw.get()).ok());
        if let Some(raw) = chunk.usage.or_else(|| groq?.usage) {
            self.usage(raw, out);
        }
        Ok(())
    }

    fn choice(
        &mut self,
        choice: &wire::Choice<'_>,
        data: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        if choice.error.is_some() {
            return Err(told(data));
        }
        if let Some(delta) = choice.delta.as_ref().or(choice.message.as_ref()) {
            self.delta(delta, out)?;
        }
        if let Some(reason) = wire::text("finish_reason", choice.finish_reason)? {
            self.stop = Some(stop(&reason)?);
            self.stop_reason = Some(reason.into_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &wire::Delta<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let thought = wire::text("reasoning_content", delta.reasoning_content)?;
        let thought = match thought {
            Some(thought) => Some(thought),
            None => wire::text("reasoning", delta.reasoning)?,
        };
        match delta.reasoning_details {
            Some(raw) => self.details(raw, thought.as_deref(), out)?,
            None => self.say(Voice::Thinking, thought.as_deref().unwrap_or_default(), out),
        }
        self.content(delta.content, out)?;
        self.refuse(wire::text("refusal", delta.refusal)?, out);
        for (place, piece) in (0..).zip(delta.tool_calls.iter().flatten()) {
            self.silence(out);
            self.calls.take((place, piece), &self.names, &mut self.blocks, out)?;
        }
        Ok(())
    }

    /// A text, or a list of parts that are texts and thoughts.
    fn content(&mut self, raw: Option<&RawValue>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(list) = raw.filter(|raw| wire::is_list(raw)) else {
            self.say(Voice::Text, &wire::text("content", raw)?.unwrap_or_default(), out);
            return Ok(());
        };
        for part in wire::list::<ContentPart<'_>>("content", list)? {
            self.thinking(part.thinking, out)?;
            let text = wire::text("text", part.text)?;
            self.say(Voice::Text, &text.unwrap_or_default(), out);
            self.refuse(wire::text("refusal", part.refusal)?, out);
        }
        Ok(())
    }

    /// A thought, or a list of parts that are thoughts.
    fn thinking(&mut self, raw: Option<&RawValue>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let Some(list) = raw.filter(|raw| wire::is_list(raw)) else {
            self.say(Voice::Thinking, &wire::text("thinking", raw)?.unwrap_or_default(), out);
            return Ok(());
        };
        for thought in wire::list::<ContentPart<'_>>("thinking", list)? {
            self.say(Voice::Thinking, &wire::text("text", thought.text)?.unwrap_or_default(), out);
        }
        Ok(())
    }

    fn refuse(&mut self, text: Option<Cow<'_, str>>, out: &mut Vec<Delta>) {
        let Some(text) = text else { return };
        self.say(Voice::Refusal, &text, out);
        self.refusal.push_str(&text);
        self.has_refused = true;
    }

    /// Details of thinking. They do not break off a text: some come with it, some after it.
    fn details(
        &mut self,
        raw: &RawValue,
        thought: Option<&str>,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let readable = self.details.take(raw)?;
        self.say(Voice::Thinking, thought.unwrap_or(&readable), out);
        if self.details.bearer.is_none() && !self.details.is_empty() {
            let open = self.speaking.filter(|(voice, _)| *voice == Voice::Thinking);
            let open = open.map(|(_, block)| block);
            let bearer = open.unwrap_or_else(|| self.blocks.begin(BlockKind::Thinking, out));
            self.details.bearer = Some(bearer);
        }
        Ok(())
    }

    /// Says a piece in a voice: a new block begins where the voice changes.
    fn say(&mut self, voice: Voice, text: &str, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let block = match self.speaking {
            Some((same, block)) if same == voice => block,
            Some(_) | None => {
                self.silence(out);
                let block = self.blocks.begin(voice.kind(), out);
                self.speaking = Some((voice, block));
                block
            }
        };
        self.blocks.fragment(block, text, out);
    }

    /// Ends the block that was spoken, unless its state is still to come.
    fn silence(&mut self, out: &mut Vec<Delta>) {
        let Some((voice, block)) = self.speaking.take() else { return };
        if voice == Voice::Refusal {
            self.refused(block, out);
        }
        if self.details.bearer != Some(block) {
            self.blocks.end(block, out);
        }
    }

    /// A refusal's state is the whole of it, as JSON.
    fn refused(&mut self, block: BlockIndex, out: &mut Vec<Delta>) {
        let refusal = std::mem::take(&mut self.refusal);
        let state = serde_json::Value::from(refusal).to_string();
        self.blocks.state(block, state.into(), out);
    }

    fn usage(&mut self, raw: &RawValue, out: &mut Vec<Delta>) {
        let Ok(told) = serde_json::from_str::<wire::Usage<'_>>(raw.get()) else { return };
        let usage = usage(&told);
        if usage.is_some() && usage != self.usage {
            self.usage = usage;
            out.extend(usage.map(Delta::Usage));
        }
        let cost = cost(&told);
        if cost.is_some() && cost != self.cost {
            self.cost = cost;
            out.extend(cost.map(Delta::Cost));
        }
    }

    /// The stream is at its end.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        self.over = true;
        let Some(stop) = self.stop else {
            return Err(Failed::protocol("the answer broke off before it was finished"));
        };
        if self.calls.any_nameless() && stop != Stop::Length {
            return Err(Failed::protocol("the answer has a call without a name"));
        }
        let refused = self.has_refused && stop != Stop::Blocked;
        let stop = if refused { Stop::Refusal } else { stop };
        if let Some((Voice::Refusal, block)) = self.speaking {
            self.refused(block, out);
        }
        if let (Some(block), Some(state)) = (self.details.bearer, self.details.state()) {
            self.blocks.state(block, state, out);
        }
        let told = [
            ("response_id", self.id.take()),
            ("model", self.model.take()),
            ("stop_reason", self.stop_reason.take()),
        ];
        let told = told.into_iter().filter_map(|(key, text)| Some((key, Value::Text(text?))));
        self.blocks.finish(stop, Metadata::fitted(told), out);
        Ok(())
    }
}

impl Voice {
    fn kind(self) -> BlockKind {
        match self {
            Self::Thinking => BlockKind::Thinking,
            Self::Text => BlockKind::Text,
            Self::Refusal => BlockKind::Foreign { kind: REFUSAL.into() },
        }
    }
}

/// An error that came in the stream.
fn told(data: &str) -> Failed {
    crate::reply::told(None, &[], data.as_bytes())
}

/// Why a model stopped. A reason that nobody has heard of is an end like any other.
fn stop(reason: &str) -> Result<Stop, Failed> {
    match reason {
        "length" | "max_tokens" | "model_length" => Ok(Stop::Length),
        "refusal" => Ok(Stop::Refusal),
        _ if reason.starts_with("content_filter") => Ok(Stop::Blocked),
        "insufficient_system_resource" => {
            Err(Failed::new(FailureKind::Busy, "the server ran out of resources in mid-answer"))
        }
        "error" | "abort" => Err(Failed::protocol("the server broke its answer off")),
        _ => Ok(Stop::Done),
    }
}

/// What an answer took; none if nothing is told.
fn usage(told: &wire::Usage<'_>) -> Option<Usage> {
    let (prompt, completion) = (told.prompt_tokens, told.completion_tokens);
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (input, output) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let details = told.prompt_tokens_details.as_ref();
    let reasoning = told.completion_tokens_details.as_ref().and_then(|told| told.reasoning_tokens);
    let all = input.saturating_add(output).saturating_add(reasoning.unwrap_or(0));
    // xAI does not count reasoning as completion; the total shows it.
    let is_apart = told.total_tokens == Some(all);
    let apart = reasoning.filter(|_| is_apart).unwrap_or(0);
    Some(Usage {
        input,
        output: output.saturating_add(apart),
        cached_input: details.and_then(|told| told.cached_tokens).or(told.prompt_cache_hit_tokens),
        cache_write: details.and_then(|told| told.cache_write_tokens),
        reasoning,
        estimated: false,
    })
}

/// What an answer cost, if the server says so.
fn cost(told: &wire::Usage<'_>) -> Option<Money> {
    let ticks = told.cost_in_usd_ticks.map(|ticks| Money(ticks / 10));
    told.cost.and_then(|raw| money(raw.get())).or(ticks)
}

/// Dollars in billionths; none if it is no amount.
fn money(dollars: &str) -> Option<Money> {
    let billionths = (dollars.parse::<f64>().ok()? * 1e9).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within the bounds"
    )]
    (0.0..=1e18).contains(&billionths).then_some(Money(billionths as u64))
}
