//! Answers: a story comes to the same in every dialect, however its bytes come.

use serde_json::{Value, json};
use threadline_core::history::fact::{Block, Digest, FailureKind};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembler, Delta, Prepared};

use super::stories::USAGE;
use super::{Come, Heard, STORIES, Skip, Story, Voice};
use crate::ids::Choices;

/// In how many ways a stream is cut into chunks by chance.
const CUTS: u64 = 8;

/// Tells every story in a voice: panics where something else comes of it, and gives what the
/// voice cannot say.
pub fn answers(voice: &dyn Voice) -> Vec<Skip> {
    let mut skips = Vec::new();
    for story in STORIES {
        let dialect = voice.invocation().dialect.to_string();
        match voice.tell(story.beats) {
            Ok(events) => check(voice, story, &events, &format!("{dialect}, {}", story.name)),
            Err(why) => skips.push(Skip { dialect, story: story.name, why }),
        }
    }
    skips
}

fn check(voice: &dyn Voice, story: &Story, events: &[String], what: &str) {
    let plain = framed(events, "\n", "");
    check_bytes(voice, story, plain.as_bytes(), what);
    let odd = framed(events, "\r\n", ": alive\r\n\r\n");
    check_bytes(voice, story, odd.as_bytes(), &format!("{what}, with signs of life"));
    let more = events.iter().map(|event| with_unknown_fields(event)).collect::<Vec<_>>();
    let more = framed(&more, "\n", "");
    check_bytes(voice, story, more.as_bytes(), &format!("{what}, with unknown fields"));
    if story.comes == Come::ToNothing(FailureKind::Protocol) {
        let half = format!("{plain}data: {{\"cut\n\n");
        check_bytes(voice, story, half.as_bytes(), &format!("{what}, with half an event"));
    }
}

pub(super) fn framed(events: &[String], end: &str, between: &str) -> String {
    let mut stream = String::new();
    for event in events {
        stream.extend([between, "data: ", event, end, end]);
    }
    stream
}

/// The same comes of the bytes whole, one by one, and in chunks of any size.
fn check_bytes(voice: &dyn Voice, story: &Story, bytes: &[u8], what: &str) {
    let whole = voice.read(&[bytes]);
    assert_comes(&whole, story, what);
    let one_by_one = voice.read(&bytes.chunks(1).collect::<Vec<_>>());
    assert_eq!(one_by_one, whole, "{what}, byte by byte");
    for seed in 0..CUTS {
        let chunks = cut(bytes, &mut Choices::new(seed));
        assert_eq!(voice.read(&chunks), whole, "{what}, in chunks of seed {seed}");
    }
}

fn cut<'a>(mut bytes: &'a [u8], choices: &mut Choices) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let most = if choices.percent(50) { 6 } else { 200 };
        let (chunk, rest) = bytes.split_at(choices.index(most).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

fn assert_comes(heard: &Heard, story: &Story, what: &str) {
    let answer = assembled(heard, what);
    match (answer.finish(), story.comes) {
        (Ok(answer), Come::To(stop)) => {
            assert_eq!(heard.failed, None, "{what}");
            assert_eq!(lines(&answer.blocks), story.blocks, "{what}");
            assert_eq!(answer.stop, stop, "{what}");
            assert_eq!(answer.usage, USAGE, "{what}");
        }
        (Err(partial), Come::ToNothing(kind)) => {
            assert_eq!(heard.failed, Some(kind), "{what}");
            assert_eq!(lines(&partial.streamed), story.blocks, "{what}");
        }
        (came, expected) => panic!("{what}: {expected:?} was told, {came:?} came"),
    }
}

/// An answer put together; the rules of deltas hold.
pub(super) fn assembled(heard: &Heard, what: &str) -> Assembler {
    let prepared =
        Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
    let mut answer = Assembler::default();
    let begin = [Delta::Prepared(prepared), Delta::Started(Metadata::new())];
    for delta in begin.iter().chain(&heard.deltas) {
        let pushed = answer.push(delta);
        assert!(pushed.is_ok(), "{what}: {pushed:?} at {delta:?}");
    }
    answer
}

fn lines(blocks: &[Block]) -> Vec<String> {
    let mark = |state: bool| if state { "*" } else { "" };
    let line = |block: &Block| match block {
        Block::Text(text) => format!("text {}{}", text.text, mark(text.state.is_some())),
        Block::Thinking(thought) => {
            format!("thinking {}{}", thought.text, mark(thought.state.is_some()))
        }
        Block::ToolCall(call) => {
            let id = call.provider_id.as_deref().unwrap_or("none");
            let arguments = if call.complete { &*call.arguments } else { "~" };
            format!("call {}#{id} {arguments}{}", call.name, mark(call.state.is_some()))
        }
        Block::Foreign(foreign) => {
            format!("foreign {}{}", foreign.kind, mark(!foreign.state.is_empty()))
        }
    };
    blocks.iter().map(line).collect()
}

/// An event with more in every object than anybody has heard of; what a tool is called with stays.
fn with_unknown_fields(event: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(event) else { return event.to_owned() };
    add_unknown(&mut value);
    value.to_string()
}

fn add_unknown(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(add_unknown),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !["args", "input", "arguments"].contains(&name.as_str()) {
                    add_unknown(field);
                }
            }
            fields.insert("zz_hologram".to_owned(), json!({"a": [1, null, {"b": "c"}]}));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
