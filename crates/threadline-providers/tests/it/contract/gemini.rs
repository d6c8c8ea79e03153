//! Stories in generateContent.

use serde_json::{Value, json};
use threadline_core::history::fact::{Stop, Usage};
use threadline_testing::provider_suite::{Beat, Kind};

pub(super) const WHOLE_CALLS: &str = "calls come one after the other";
pub(super) const OBJECTS: &str = "arguments are an object and not its text";

pub(super) const SIGNED_PARTS: &str =
    "what is not shown is no part: a signature is on the next one";

/// A block that is told when it is whole.
struct Held {
    block: usize,
    kind: Kind,
    text: String,
    state: Option<&'static str>,
}

pub(super) fn tell(story: &[Beat]) -> Result<Vec<String>, &'static str> {
    let mut events = Vec::new();
    let mut held: Option<Held> = None;
    // A thought before a call is signed on the call.
    let mut signature = None;
    for (at, beat) in story.iter().enumerate() {
        match *beat {
            Beat::Begin(block, kind) => {
                if held.is_some() {
                    return Err(WHOLE_CALLS);
                }
                held = Some(Held { block, kind, text: String::new(), state: signature.take() });
            }
            Beat::Piece(block, piece) => {
                let open = held.as_mut().filter(|held| held.block == block).ok_or(WHOLE_CALLS)?;
                match open.kind {
                    Kind::Text => events.push(part(&json!({"text": piece}))),
                    Kind::Thinking | Kind::Call { .. } | Kind::Unknown { .. } => {
                        open.text.push_str(piece);
                    }
                }
            }
            Beat::State(_, state) => held.as_mut().unwrap().state = Some(state),
            Beat::End(_) => {
                let mut whole = held.take().unwrap();
                if matches!(story.get(at + 1), Some(Beat::Begin(_, Kind::Call { .. }))) {
                    signature = whole.state.take();
                }
                events.extend(whole.whole()?);
            }
            Beat::Unknown => events.push(json!({"hologram": {"candidates": []}})),
            Beat::Overloaded => {
                let error = json!({"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"});
                events.push(json!({"error": error}));
            }
            Beat::Stop(stop, usage) => {
                events.extend(held.take().and_then(|held| held.cut()));
                events.push(stopped(stop, usage));
            }
        }
    }
    Ok(events.iter().map(Value::to_string).collect())
}

impl Held {
    fn whole(self) -> Result<Option<Value>, &'static str> {
        let told = match self.kind {
            Kind::Text => return Ok(None),
            Kind::Thinking if self.text.is_empty() => return Err(SIGNED_PARTS),
            Kind::Thinking => {
                json!({"thought": true, "text": self.text, "thoughtSignature": self.state})
            }
            Kind::Call { id, name } => {
                let arguments = serde_json::from_str::<Value>(&self.text).map_err(|_| OBJECTS)?;
                let call = json!({"id": id, "name": name, "args": arguments});
                json!({"functionCall": call, "thoughtSignature": self.state})
            }
            Kind::Unknown { kind, word } => {
                let mut told = json!({});
                told[kind] = json!({"word": word});
                told
            }
        };
        Ok(Some(part(&told)))
    }

    /// A call whose arguments were still to come; of any other block, all has been told.
    fn cut(&self) -> Option<Value> {
        match self.kind {
            Kind::Call { id, name } => {
                let call = json!({"id": id, "name": name, "willContinue": true});
                Some(part(&json!({"functionCall": call})))
            }
            Kind::Text | Kind::Thinking | Kind::Unknown { .. } => None,
        }
    }
}

fn part(part: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]})
}

fn stopped(stop: Stop, usage: Usage) -> Value {
    let reason = match stop {
        Stop::Length => "MAX_TOKENS",
        Stop::Blocked => "SAFETY",
        Stop::Done | Stop::Refusal | Stop::Paused => "STOP",
    };
    let thoughts = usage.reasoning.unwrap_or(0);
    json!({
        "candidates": [{"content": {"role": "model"}, "finishReason": reason, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output - thoughts,
            "thoughtsTokenCount": thoughts,
            "cachedContentTokenCount": usage.cached_input,
        },
    })
}
