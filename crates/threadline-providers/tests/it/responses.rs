//! Recorded answers of `OpenAI`'s Responses decode to what they show, whole and cut.

use serde_json::{Value, json};
use threadline_core::history::fact::{Block, Digest, FailureKind, Stop};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembled, Assembler, Delta, Partial, Prepared};
use threadline_providers::dialect::{Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;

use crate::recordings::{self, Case};

/// What events come to.
struct Read {
    answer: Result<Assembled, Partial>,
    failed: Option<Failed>,
}

fn read(events: &[&str]) -> Read {
    let mut decode = decoder(Dialect::OpenAiResponses, Names::default());
    let mut out = vec![
        Delta::Prepared(Prepared {
            body_digest: Digest::of(b""),
            encoder_version: 1,
            repairs: Vec::new(),
        }),
        Delta::Started(Metadata::new()),
    ];
    let mut failed = None;
    for event in events {
        failed = decode.event(event, &mut out).err();
        if failed.is_some() {
            break;
        }
    }
    let failed = failed.or_else(|| decode.end(&mut out).err());
    let mut answer = Assembler::default();
    for delta in &out {
        answer.push(delta).unwrap();
    }
    Read { answer: answer.finish(), failed }
}

/// The responses of every recorded stream, each with what is known of it: one file has several.
fn responses() -> Vec<(Case, Vec<String>, Value)> {
    let mut all = Vec::new();
    for case in recordings::cases("openai-responses") {
        if !case.is_stream() {
            continue;
        }
        let mut responses: Vec<Vec<String>> = Vec::new();
        for event in &case.events {
            let begins = event.contains("\"type\":\"response.created\"");
            if begins || responses.is_empty() {
                responses.push(Vec::new());
            }
            responses.last_mut().unwrap().push(event.clone());
        }
        let facts = case.facts["facts"].clone();
        let facts = facts.as_array().cloned().unwrap_or_else(|| vec![facts]);
        assert_eq!(responses.len(), facts.len(), "{}", case.file);
        let told = responses.into_iter().zip(facts);
        all.extend(told.map(|(events, facts)| (case.clone(), events, facts)));
    }
    all
}

/// What an answer shows, in the words of the facts.
fn shown(blocks: &[Block]) -> Value {
    let (mut text, mut refusal) = (String::new(), String::new());
    let (mut thoughts, mut encrypted) = (0, 0);
    let (mut tools, mut phases) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text(said) => {
                text.push_str(&said.text);
                let state = said.state.as_deref().unwrap_or("{}");
                let state: Value = serde_json::from_str(state).unwrap();
                phases.extend(state.get("phase").cloned());
            }
            Block::Thinking(thought) => {
                thoughts += 1;
                let state = thought.state.as_deref().unwrap_or("{}");
                let state: Value = serde_json::from_str(state).unwrap();
                assert_eq!(state.get("id"), None);
                encrypted += usize::from(state["encrypted_content"].is_string());
            }
            Block::ToolCall(call) => {
                let status = if call.complete { "completed" } else { "incomplete" };
                tools.push(json!([call.provider_id, call.name, call.arguments, status]));
            }
            Block::Foreign(foreign) => {
                assert_eq!(&*foreign.kind, "refusal");
                refusal.push_str(&foreign.text);
            }
        }
    }
    json!({"text": text.chars().take(80).collect::<String>(), "text_chars": text.chars().count(),
        "refusal": refusal, "reasoning_items": thoughts, "encrypted": encrypted,
        "tools": tools, "phases": phases, "other_items": []})
}

#[test]
fn every_recording_decodes_to_what_it_shows() {
    for (case, events, facts) in responses() {
        let name = format!("{} {}", case.file, case.id);
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let Read { answer, failed } = read(&events);
        let code = facts["error"]["code"].as_str();
        assert_eq!(failed.is_some(), code.is_some(), "{name}: {failed:?}");
        if let (Some(failed), Some(code)) = (&failed, code) {
            assert_eq!(code, "insufficient_quota");
            assert_eq!(failed.kind, FailureKind::QuotaSpent, "{name}: {failed:?}");
            continue;
        }
        let answer = answer.unwrap();
        let shown = shown(&answer.blocks);
        for (key, value) in shown.as_object().unwrap() {
            assert_eq!(value, &facts[key], "{name}: {key}");
        }
        let usage = answer.usage;
        let usage = json!({"input": usage.input, "output": usage.output,
            "cached_input": usage.cached_input, "cache_write": usage.cache_write,
            "reasoning": usage.reasoning});
        assert_eq!(usage, facts["usage"], "{name}");
        let stop = match (facts["incomplete"].as_str(), facts["refusal"].as_str()) {
            (Some("max_output_tokens"), _) => Stop::Length,
            (None, Some("")) => Stop::Done,
            (None, Some(_)) => Stop::Refusal,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(answer.stop, stop, "{name}");
        assert!(answer.metadata.get("response_id").is_some(), "{name}");
    }
}

/// A block's text, and whether more of it may follow.
fn words(block: &Block) -> &str {
    match block {
        Block::Thinking(thought) => &thought.text,
        Block::Text(said) => &said.text,
        Block::ToolCall(call) => &call.arguments,
        Block::Foreign(foreign) => &foreign.text,
    }
}

#[test]
fn every_prefix_is_an_error_or_a_part_of_the_answer() {
    for (case, events, _) in responses() {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let whole = read(&events);
        let all = match whole.answer {
            Ok(answer) => answer.blocks,
            Err(partial) => partial.streamed,
        };
        for count in 0..events.len() {
            let (before, cut) = (&events[..count], events[count]);
            let places = (0..=8).map(|ninth| cut.floor_char_boundary(cut.len() * ninth / 9));
            for place in places {
                let last = &cut[..place];
                let Read { answer, failed } = read(&[before, &[last]].concat());
                let name = format!("{} {} cut at {place} of event {count}", case.file, case.id);
                if let Ok(answer) = answer {
                    // What follows the last event of a response may be cut.
                    assert!(failed.is_none(), "{name}");
                    assert_eq!(answer.blocks, all, "{name}");
                    continue;
                }
                let (Err(partial), Some(_)) = (answer, failed) else { panic!("{name}") };
                let streamed = partial.streamed.iter().map(words);
                let is_part =
                    streamed.zip(&all).all(|(part, block)| words(block).starts_with(part));
                assert!(is_part, "{name}: {:?}", partial.streamed);
                let calls = partial.streamed.iter();
                let open = |block: &Block| !matches!(block, Block::ToolCall(call) if call.complete);
                assert!(calls.into_iter().all(open), "{name}: a call before the end is open");
            }
        }
    }
}
