//! Reads Gemini's answers.
//!
//! There is no event that says that the answer is over: more may follow the first reason to
//! finish, so only the end of the stream ends it.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::history::fact::{Stop, Usage};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

use super::partial::Partial;
use super::wire::{Candidate, Chunk, FunctionCall, Part, PartialArg, Readable, UsageMetadata};
use crate::dialect::Decode;
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::names::Names;
use crate::reply::told;
use crate::surrogates::replace_lone_halves;

/// The most that is told of what a provider says about an end.
const MESSAGE_CAP_CHARS: usize = 300;

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct GeminiDecode {
    names: Names,
    blocks: Blocks,
    /// The block that the next unsigned text of its kind is added to.
    growing: Option<(BlockIndex, Voice)>,
    /// The call whose arguments come in pieces.
    partial: Option<(BlockIndex, Partial)>,
    usage: UsageMetadata,
    finish: Option<Finish>,
    /// Why the request itself was blocked.
    blocked: Option<String>,
    response_id: Option<String>,
    model_version: Option<String>,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Thinking,
    Text,
}

/// The reason to finish that was told last.
#[derive(Debug)]
struct Finish {
    reason: String,
    message: String,
}

impl Decode for GeminiDecode {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if data.starts_with('[') {
            let all: Vec<&RawValue> =
                serde_json::from_str(data).map_err(|error| unreadable(&error))?;
            return all.iter().try_for_each(|one| self.chunk(one.get(), out));
        }
        self.chunk(data, out)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let stop = self.stop()?;
        if let Some((block, _)) = self.partial.take() {
            self.blocks.cut(block);
        }
        self.blocks.finish(stop, self.metadata(), out);
        Ok(())
    }
}

impl GeminiDecode {
    /// A reader of an answer to a request with these names.
    pub(crate) fn new(names: Names) -> Self {
        Self {
            names,
            blocks: Blocks::default(),
            growing: None,
            partial: None,
            usage: UsageMetadata::default(),
            finish: None,
            blocked: None,
            response_id: None,
            model_version: None,
        }
    }

    fn chunk(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        // A list would be read as the fields of a chunk, in their order.
        if !data.starts_with('{') {
            return Err(unreadable(&"it is no object"));
        }
        let chunk: Chunk<'_, Part<'_>> =
            serde_json::from_str(data).map_err(|error| unreadable(&error))?;
        if chunk.error.is_some() {
            return Err(told(None, &[], data.as_bytes()));
        }
        let candidates = chunk.candidates.as_deref().unwrap_or_default();
        if has_foreign(candidates) {
            self.whole_parts(data, out)?;
        } else {
            for part in parts(candidates) {
                self.part(part, out)?;
            }
        }
        for candidate in candidates.iter().filter(|candidate| candidate.is_first()) {
            self.finish_reason(candidate);
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|told| told.block_reason) {
            self.blocked = Some(reason.0.into_owned()).filter(|reason| !reason.is_empty());
        }
        keep(&mut self.response_id, chunk.response_id.map(|text| text.0));
        keep(&mut self.model_version, chunk.model_version.map(|text| text.0));
        self.take_usage(chunk.usage_metadata, out);
        Ok(())
    }

    /// Reads the parts of an event of which some are kept whole. That is rare, so events are read
    /// without it first.
    fn whole_parts(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let chunk: Chunk<'_, &RawValue> =
            serde_json::from_str(data).map_err(|error| unreadable(&error))?;
        for whole in parts(chunk.candidates.as_deref().unwrap_or_default()) {
            let part: Part<'_> =
                serde_json::from_str(whole.get()).map_err(|error| unreadable(&error))?;
            match foreign_kind(whole) {
                Some(kind) if part.is_foreign() => self.foreign(kind, whole, out),
                Some(_) | None => self.part(&part, out)?,
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let signature = part.thought_signature.as_ref().map(|text| &*text.0);
        let signature = signature.filter(|text| !text.is_empty());
        if let Some(call) = &part.function_call {
            return self.call(call, signature, out);
        }
        let text = part.text.as_ref().map_or("", |text| &*text.0);
        let voice = if part.thought == Some(true) { Voice::Thinking } else { Voice::Text };
        match signature {
            Some(signature) => self.signed(voice, text, signature, out),
            None => self.unsigned(voice, text, out),
        }
        Ok(())
    }

    /// A text without a signature goes on with the one before it.
    fn unsigned(&mut self, voice: Voice, text: &str, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let block = match self.growing {
            Some((block, before)) if before == voice => block,
            Some(_) | None => {
                self.end_growing(out);
                let block = self.blocks.begin(voice.kind(), out);
                self.growing = Some((block, voice));
                block
            }
        };
        self.blocks.fragment(block, text, out);
    }

    /// A text with a signature stands alone, even if it is empty: the signature has to go back on
    /// the very part that it came with.
    fn signed(&mut self, voice: Voice, text: &str, signature: &str, out: &mut Vec<Delta>) {
        self.end_growing(out);
        let block = self.blocks.begin(voice.kind(), out);
        self.blocks.fragment(block, text, out);
        self.blocks.state(block, signature.into(), out);
        self.blocks.end(block, out);
    }

    fn foreign(&mut self, kind: String, whole: &RawValue, out: &mut Vec<Delta>) {
        self.end_growing(out);
        let block = self.blocks.begin(BlockKind::Foreign { kind: kind.into() }, out);
        // The part itself is kept whole; for others, half a pair is a replacement character.
        let text = replace_lone_halves(whole.get());
        if let Ok(readable) = serde_json::from_str::<Readable<'_>>(&text) {
            let code = readable.executable_code.and_then(|code| code.code);
            let output = readable.code_execution_result.and_then(|result| result.output);
            for text in [code, output].into_iter().flatten() {
                self.blocks.fragment(block, &text.0, out);
            }
        }
        self.blocks.state(block, whole.get().into(), out);
        self.blocks.end(block, out);
    }

    /// A call comes whole, or begins with its name and goes on without it.
    fn call(
        &mut self,
        call: &FunctionCall<'_>,
        signature: Option<&str>,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        self.end_growing(out);
        if let Some(name) = &call.name {
            self.begin_call(call, &name.0, out);
        }
        let Some((block, mut partial)) = self.partial.take() else {
            let has_pieces = call.partial_args.as_ref().is_some_and(|pieces| !pieces.is_empty());
            if call.args.is_some() || has_pieces {
                return Err(Failed::protocol("arguments came of a call that never began"));
            }
            // The end of a call that never began: nothing was called.
            return Ok(());
        };
        if let Some(signature) = signature {
            self.blocks.state(block, signature.into(), out);
        }
        add_pieces(&mut partial, call.partial_args.as_deref().unwrap_or_default())?;
        if call.will_continue == Some(true) {
            self.partial = Some((block, partial));
            return Ok(());
        }
        match call.args {
            Some(arguments) => self.blocks.fragment(block, arguments.get(), out),
            None => self.blocks.fragment(block, &partial.into_text(), out),
        }
        Ok(())
    }

    fn begin_call(&mut self, call: &FunctionCall<'_>, name: &str, out: &mut Vec<Delta>) {
        if let Some((block, _)) = self.partial.take() {
            self.blocks.cut(block);
        }
        let id = call.id.as_ref().filter(|id| !id.0.is_empty());
        let provider_id = id.map(|id| Arc::from(&*id.0));
        let kind = BlockKind::ToolCall { name: self.names.from_wire(name), provider_id };
        self.partial = Some((self.blocks.begin(kind, out), Partial::default()));
    }

    fn end_growing(&mut self, out: &mut Vec<Delta>) {
        if let Some((block, _)) = self.growing.take() {
            self.blocks.end(block, out);
        }
    }

    fn finish_reason(&mut self, candidate: &Candidate<'_, Part<'_>>) {
        let Some(reason) = &candidate.finish_reason else { return };
        if reason.0.is_empty() || reason.0 == "FINISH_REASON_UNSPECIFIED" {
            return;
        }
        let message = candidate.finish_message.as_ref().map_or("", |text| &*text.0);
        let message = message.chars().take(MESSAGE_CAP_CHARS).collect();
        self.finish = Some(Finish { reason: reason.0.as_ref().to_owned(), message });
    }

    /// Numbers that are not told again stay.
    fn take_usage(&mut self, told: Option<UsageMetadata>, out: &mut Vec<Delta>) {
        let Some(told) = told else { return };
        let before = self.usage;
        let known = UsageMetadata {
            prompt: told.prompt.or(before.prompt),
            tool_use_prompt: told.tool_use_prompt.or(before.tool_use_prompt),
            candidates: told.candidates.or(before.candidates),
            thoughts: told.thoughts.or(before.thoughts),
            cached_content: told.cached_content.or(before.cached_content),
        };
        if known != before {
            self.usage = known;
            out.push(Delta::Usage(usage(known)));
        }
    }

    /// Why it stopped: by the reason told last.
    fn stop(&self) -> Result<Stop, Failed> {
        if self.blocked.is_some() {
            return Ok(Stop::Blocked);
        }
        let Some(Finish { reason, message }) = &self.finish else {
            return Err(Failed::protocol("the answer broke off before its end"));
        };
        match &**reason {
            "STOP" => Ok(Stop::Done),
            "MAX_TOKENS" => Ok(Stop::Length),
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "MODEL_ARMOR" | "JAILBREAK" => Ok(Stop::Blocked),
            "CONTINUATION" => Ok(Stop::Paused),
            _ if reason.starts_with("IMAGE_") => Ok(Stop::Blocked),
            // A call or an answer that went wrong (`MALFORMED_…`, `UNEXPECTED_TOOL_CALL`,
            // `TOO_MANY_TOOL_CALLS`), an end for no reason (`OTHER`), and reasons not known yet.
            _ if message.is_empty() => {
                Err(Failed::protocol(format!("the model ended with {reason}")))
            }
            _ => Err(Failed::protocol(format!("the model ended with {reason}: {message}"))),
        }
    }

    fn metadata(&self) -> Metadata {
        let finish = self.finish.as_ref().map(|finish| &finish.reason);
        let all = [
            ("response_id", self.response_id.as_ref()),
            ("model_version", self.model_version.as_ref()),
            ("finish_reason", finish.filter(|reason| *reason != "STOP")),
            ("block_reason", self.blocked.as_ref()),
        ];
        let told =
            all.into_iter().filter_map(|(key, text)| Some((key, Value::Text(text?.clone()))));
        Metadata::fitted(told)
    }
}

impl Voice {
    const fn kind(self) -> BlockKind {
        match self {
            Self::Thinking => BlockKind::Thinking,
            Self::Text => BlockKind::Text,
        }
    }
}

fn unreadable(why: &dyn Display) -> Failed {
    Failed::protocol(format!("an event could not be read: {why}"))
}

/// The parts of the answer that was asked for.
fn parts<'c, P>(candidates: &'c [Candidate<'_, P>]) -> impl Iterator<Item = &'c P> {
    candidates
        .iter()
        .filter(|candidate| candidate.is_first())
        .filter_map(|candidate| candidate.content.as_ref()?.parts.as_ref())
        .flatten()
}

fn has_foreign(candidates: &[Candidate<'_, Part<'_>>]) -> bool {
    parts(candidates).any(Part::is_foreign)
}

/// The provider's name for a part: its first member that is not about parts as such. None if there
/// is no other, as with a signature alone.
fn foreign_kind(whole: &RawValue) -> Option<String> {
    let about_parts = ["thought", "thoughtSignature", "text", "functionCall"];
    let members: crate::json::Json =
        serde_json::from_str(&replace_lone_halves(whole.get())).ok()?;
    let mut names = members.members()?.iter().map(|(name, _)| name);
    names.find(|name| !about_parts.contains(&&***name)).cloned()
}

fn add_pieces(partial: &mut Partial, pieces: &[PartialArg<'_>]) -> Result<(), Failed> {
    let added = pieces.iter().try_for_each(|piece| partial.add(piece));
    added.map_err(|_| Failed::protocol("the arguments of a call could not be put together"))
}

/// Keeps the newest text, without writing it again if it is the same.
fn keep(kept: &mut Option<String>, told: Option<std::borrow::Cow<'_, str>>) {
    if let Some(told) = told
        && kept.as_deref() != Some(&*told)
    {
        *kept = Some(told.into_owned());
    }
}

fn usage(known: UsageMetadata) -> Usage {
    let sum = |one: Option<u64>, two: Option<u64>| {
        one.unwrap_or_default().saturating_add(two.unwrap_or_default())
    };
    Usage {
        input: sum(known.prompt, known.tool_use_prompt),
        output: sum(known.candidates, known.thoughts),
        cached_input: known.cached_content,
        cache_write: None,
        reasoning: known.thoughts,
        estimated: false,
    }
}

#[cfg(test)]
mod tests;
