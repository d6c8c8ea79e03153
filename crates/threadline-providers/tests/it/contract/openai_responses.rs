//! Stories in Responses.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use threadline_core::history::fact::{Stop, Usage};
use threadline_testing::provider_suite::{Beat, Kind};

pub(super) const KNOWN_ITEMS: &str = "only items that are known to be taken are sent";

/// An item as far as it has come.
struct Item {
    kind: Kind,
    text: String,
    state: Option<&'static str>,
}

pub(super) fn tell(story: &[Beat]) -> Vec<String> {
    let mut events = Vec::new();
    let mut open: BTreeMap<usize, Item> = BTreeMap::new();
    for beat in story {
        match *beat {
            Beat::Begin(block, kind) => {
                let item = Item { kind, text: String::new(), state: None };
                events.push(about("response.output_item.added", block, "item", item.begun(block)));
                open.insert(block, item);
            }
            Beat::Piece(block, piece) => {
                let item = open.get_mut(&block).unwrap();
                item.text.push_str(piece);
                let event = match item.kind {
                    Kind::Thinking => "response.reasoning_summary_text.delta",
                    Kind::Text | Kind::Unknown { .. } => "response.output_text.delta",
                    Kind::Call { .. } => "response.function_call_arguments.delta",
                };
                events.push(about(event, block, "delta", piece.into()));
            }
            Beat::State(block, state) => open.get_mut(&block).unwrap().state = Some(state),
            Beat::End(block) => {
                let item = open.remove(&block).unwrap();
                events.push(about("response.output_item.done", block, "item", item.whole(block)));
            }
            Beat::Unknown => events.push(json!({"type": "response.hologram", "delta": 7})),
            Beat::Overloaded => {
                let error = json!({"code": "server_error", "message": "Overloaded"});
                events.push(json!({"type": "response.failed", "response": {"error": error}}));
            }
            Beat::Stop(stop, usage) => events.push(stopped(stop, usage)),
        }
    }
    events.iter().map(Value::to_string).collect()
}

impl Item {
    fn begun(&self, block: usize) -> Value {
        let id = format!("i{block}");
        match self.kind {
            Kind::Thinking => json!({"type": "reasoning", "id": id, "summary": []}),
            Kind::Text => json!({"type": "message", "id": id, "content": []}),
            Kind::Call { id: call, name } => {
                let kind = "function_call";
                json!({"type": kind, "id": id, "call_id": call, "name": name, "arguments": ""})
            }
            Kind::Unknown { kind, word } => json!({"type": kind, "id": id, "word": word}),
        }
    }

    fn whole(&self, block: usize) -> Value {
        let mut item = self.begun(block);
        item["status"] = "completed".into();
        match self.kind {
            Kind::Thinking => {
                if !self.text.is_empty() {
                    item["summary"] = json!([{"type": "summary_text", "text": self.text}]);
                }
                item["encrypted_content"] = self.state.into();
            }
            Kind::Text => item["content"] = json!([{"type": "output_text", "text": self.text}]),
            Kind::Call { .. } => item["arguments"] = self.text.as_str().into(),
            Kind::Unknown { .. } => {}
        }
        item
    }
}

/// An event about an item, with what it tells.
fn about(event: &str, block: usize, name: &str, told: Value) -> Value {
    let mut all = json!({"type": event, "output_index": block, "item_id": format!("i{block}")});
    all[name] = told;
    all
}

fn stopped(stop: Stop, usage: Usage) -> Value {
    let mut response = json!({"id": "a1", "usage": {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "input_tokens_details": {"cached_tokens": usage.cached_input},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    }});
    let reason = match stop {
        Stop::Length => "max_output_tokens",
        Stop::Blocked => "content_filter",
        Stop::Done | Stop::Refusal | Stop::Paused => {
            return json!({"type": "response.completed", "response": response});
        }
    };
    response["incomplete_details"] = json!({"reason": reason});
    json!({"type": "response.incomplete", "response": response})
}
