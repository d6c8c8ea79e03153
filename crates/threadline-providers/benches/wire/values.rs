//! The other side: `eventsource-stream`, an owned `serde_json` value of every event, and the texts
//! taken out of it by their paths.

use std::convert::Infallible;

use bytes::Bytes;
use eventsource_stream::Eventsource as _;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value;
use threadline_providers::dialect::Dialect;
use threadline_testing::bench::Outcome;

/// What an answer says.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: usize,
    pub(crate) arguments: String,
}

/// Reads a stream of events.
pub(crate) fn gather(dialect: Dialect, chunks: &[Bytes]) -> Outcome<Said> {
    let chunks = stream::iter(chunks.iter().cloned().map(Ok::<Bytes, Infallible>));
    let mut events = chunks.eventsource();
    let mut said = Said::default();
    // Everything is at hand, so nothing is waited for.
    while let Some(event) = events.next().now_or_never().flatten() {
        let event = event?;
        if event.data == "[DONE]" {
            continue;
        }
        let value: Value = serde_json::from_str(&event.data)?;
        match dialect {
            Dialect::OpenAiChat => said.chat(&value),
            Dialect::OpenAiResponses => said.responses(&value),
            Dialect::Anthropic => said.anthropic(&value),
            Dialect::Gemini => said.gemini(&value),
        }
    }
    Ok(said)
}

impl Said {
    fn chat(&mut self, event: &Value) {
        let Some(delta) = event.pointer("/choices/0/delta") else { return };
        add(&mut self.thinking, delta.get("reasoning_content"));
        add(&mut self.text, delta.get("content"));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls += usize::from(call.get("id").is_some());
            add(&mut self.arguments, call.pointer("/function/arguments"));
        }
    }

    fn responses(&mut self, event: &Value) {
        let delta = event.get("delta");
        match event.get("type").and_then(Value::as_str) {
            Some("response.reasoning_summary_text.delta") => add(&mut self.thinking, delta),
            Some("response.output_text.delta") => add(&mut self.text, delta),
            Some("response.function_call_arguments.delta") => add(&mut self.arguments, delta),
            Some("response.function_call_arguments.done") => self.calls += 1,
            Some(_) | None => {}
        }
    }

    fn anthropic(&mut self, event: &Value) {
        let Some(delta) = event.get("delta") else {
            let kind = event.pointer("/content_block/type").and_then(Value::as_str);
            self.calls += usize::from(kind == Some("tool_use"));
            return;
        };
        match delta.get("type").and_then(Value::as_str) {
            Some("thinking_delta") => add(&mut self.thinking, delta.get("thinking")),
            Some("text_delta") => add(&mut self.text, delta.get("text")),
            Some("input_json_delta") => add(&mut self.arguments, delta.get("partial_json")),
            Some(_) | None => {}
        }
    }

    fn gemini(&mut self, event: &Value) {
        let parts = event.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(arguments) = part.pointer("/functionCall/args") {
                self.calls += 1;
                self.arguments.push_str(&arguments.to_string());
                continue;
            }
            let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
            add(if is_thought { &mut self.thinking } else { &mut self.text }, part.get("text"));
        }
    }
}

fn add(text: &mut String, piece: Option<&Value>) {
    text.push_str(piece.and_then(Value::as_str).unwrap_or_default());
}
