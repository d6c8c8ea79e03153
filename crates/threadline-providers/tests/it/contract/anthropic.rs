//! Stories in Messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use threadline_core::history::fact::Stop;
use threadline_testing::provider_suite::{Beat, Kind};

pub(super) const NO_FILTER: &str = "what is filtered is refused";

pub(super) fn tell(story: &[Beat]) -> Result<Vec<String>, &'static str> {
    let mut events = Vec::new();
    let mut open = BTreeMap::new();
    if !matches!(story.first(), Some(Beat::Overloaded) | None) {
        let usage = json!({"input_tokens": 8, "cache_read_input_tokens": 4, "output_tokens": 1});
        let message = json!({"id": "a1", "model": "m", "content": [], "usage": usage});
        events.push(json!({"type": "message_start", "message": message}));
    }
    for beat in story {
        match *beat {
            Beat::Begin(block, kind) => {
                open.insert(block, kind);
                let content = match kind {
                    Kind::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
                    Kind::Text => json!({"type": "text", "text": ""}),
                    Kind::Call { id, name } => {
                        json!({"type": "tool_use", "id": id, "name": name, "input": {}})
                    }
                    Kind::Unknown { kind, word } => json!({"type": kind, "word": word}),
                };
                events.push(json!(
                    {"type": "content_block_start", "index": block, "content_block": content}
                ));
            }
            Beat::Piece(block, piece) => events.push(delta(
                block,
                &match open[&block] {
                    Kind::Thinking => json!({"type": "thinking_delta", "thinking": piece}),
                    Kind::Text | Kind::Unknown { .. } => {
                        json!({"type": "text_delta", "text": piece})
                    }
                    Kind::Call { .. } => json!({"type": "input_json_delta", "partial_json": piece}),
                },
            )),
            Beat::State(block, state) => {
                events.push(delta(block, &json!({"type": "signature_delta", "signature": state})));
            }
            Beat::End(block) => {
                open.remove(&block);
                events.push(json!({"type": "content_block_stop", "index": block}));
            }
            Beat::Unknown => events.push(json!({"type": "hologram", "index": "none"})),
            Beat::Overloaded => {
                let error = json!({"type": "overloaded_error", "message": "Overloaded"});
                events.push(json!({"type": "error", "error": error}));
            }
            Beat::Stop(stop, usage) => {
                let reason = match stop {
                    Stop::Done => "end_turn",
                    Stop::Length => "max_tokens",
                    Stop::Refusal => "refusal",
                    Stop::Paused => "pause_turn",
                    Stop::Blocked => return Err(NO_FILTER),
                };
                // What is cut is stopped as if it were whole.
                for block in open.keys() {
                    events.push(json!({"type": "content_block_stop", "index": block}));
                }
                let thinking = json!({"thinking_tokens": usage.reasoning});
                let took =
                    json!({"output_tokens": usage.output, "output_tokens_details": thinking});
                let why = json!({"stop_reason": reason, "stop_sequence": null});
                events.push(json!({"type": "message_delta", "delta": why, "usage": took}));
                events.push(json!({"type": "message_stop"}));
            }
        }
    }
    Ok(events.iter().map(Value::to_string).collect())
}

fn delta(block: usize, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": block, "delta": delta})
}
