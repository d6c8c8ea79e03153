//! Stories in Chat Completions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use threadline_core::history::fact::{Stop, Usage};
use threadline_testing::provider_suite::{Beat, Kind};

pub(super) const NO_BLOCKS: &str = "an answer is a text, thoughts and calls, and nothing else";

pub(super) fn tell(story: &[Beat]) -> Result<Vec<String>, &'static str> {
    let mut events = Vec::new();
    let mut blocks = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for beat in story {
        match *beat {
            Beat::Begin(block, kind) => {
                blocks.insert(block, kind);
                match kind {
                    Kind::Thinking | Kind::Text => {}
                    Kind::Call { id, name } => {
                        let index = calls.len();
                        calls.insert(block, index);
                        let function = json!({"name": name, "arguments": ""});
                        let call = json!(
                            {"index": index, "id": id, "type": "function", "function": function}
                        );
                        events.push(delta(&json!({"tool_calls": [call]})));
                    }
                    Kind::Unknown { .. } => return Err(NO_BLOCKS),
                }
            }
            Beat::Piece(block, piece) => events.push(delta(&match blocks[&block] {
                Kind::Thinking => {
                    let detail = json!({"type": "reasoning.text", "text": piece, "index": 0});
                    json!({"reasoning": piece, "reasoning_details": [detail]})
                }
                Kind::Text => json!({"content": piece}),
                Kind::Call { .. } => {
                    let function = json!({"arguments": piece});
                    json!({"tool_calls": [{"index": calls[&block], "function": function}]})
                }
                Kind::Unknown { .. } => return Err(NO_BLOCKS),
            })),
            Beat::State(_, state) => {
                let detail = json!({"type": "reasoning.encrypted", "data": state, "index": 1});
                events.push(delta(&json!({"reasoning_details": [detail]})));
            }
            Beat::End(_) => {}
            Beat::Unknown => events.push(json!({"object": "hologram", "choices": []})),
            Beat::Overloaded => {
                events.push(json!({"error": {"message": "Overloaded", "code": 503}}));
            }
            Beat::Stop(stop, usage) => {
                let reason = match stop {
                    Stop::Length => "length",
                    Stop::Blocked => "content_filter",
                    Stop::Done | Stop::Refusal | Stop::Paused => "stop",
                };
                let choice = json!({"index": 0, "delta": {}, "finish_reason": reason});
                events.push(json!({"id": "a1", "choices": [choice]}));
                events.push(took(usage));
            }
        }
    }
    let mut events = events.iter().map(Value::to_string).collect::<Vec<_>>();
    if matches!(story.last(), Some(Beat::Stop(..))) {
        events.push("[DONE]".to_owned());
    }
    Ok(events)
}

fn delta(delta: &Value) -> Value {
    json!({"id": "a1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn took(usage: Usage) -> Value {
    json!({"choices": [], "usage": {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }})
}
