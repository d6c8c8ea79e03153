//! Recorded answers of Anthropic: each decodes to what it shows, however it is cut.

use serde_json::{Value, json};
use threadline_core::history::fact::{Block, Digest, Stop};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembled, Assembler, Delta, Partial, Prepared};
use threadline_providers::dialect::{Dialect, decoder};
use threadline_providers::names::Names;
use threadline_providers::sse::{Frame, Sse, TooLarge};

use crate::recordings::{Case, cases, unframed};

/// The answers that are streams or whole messages; those with an error's status are neither.
fn answers() -> Vec<Case> {
    let mut answers = cases("anthropic");
    answers.retain(|case| case.status.is_none_or(|status| status == 200));
    for case in &mut answers {
        if case.events.is_empty() {
            case.events = vec![case.raw.clone()];
        }
    }
    answers
}

/// What events come to, and the words of the failure if there is one.
fn decoded(events: &[String]) -> (Result<Assembled, Partial>, Option<String>) {
    let mut decode = decoder(Dialect::Anthropic, Names::default());
    let prepared =
        Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
    let mut deltas = vec![Delta::Prepared(prepared), Delta::Started(Metadata::new())];
    let mut went = Ok(());
    for event in events {
        went = went.and_then(|()| decode.event(event, &mut deltas));
    }
    let went = went.and_then(|()| decode.end(&mut deltas));
    let mut assembler = Assembler::default();
    for delta in &deltas {
        assembler.push(delta).unwrap();
    }
    (assembler.finish(), went.err().map(|failed| failed.message))
}

/// An answer in the words of the facts.
fn facts(answer: &Assembled, reason: &Value) -> Value {
    let mut texts = String::new();
    let (mut thinking, mut redacted, mut signatures) = (0, 0, 0);
    let (mut tools, mut others) = (Vec::new(), Vec::new());
    for block in &answer.blocks {
        match block {
            Block::Text(text) => texts.push_str(&text.text),
            Block::Thinking(block) => {
                let state: Value = serde_json::from_str(block.state.as_deref().unwrap()).unwrap();
                signatures += i32::from(state.get("signature").is_some());
                thinking += i32::from(state.get("redacted").is_none());
                redacted += i32::from(state.get("redacted").is_some());
            }
            Block::ToolCall(call) => {
                assert!(call.complete);
                let arguments = if call.arguments.is_empty() { "{}" } else { &*call.arguments };
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                tools.push(json!([call.provider_id, call.name, arguments]));
            }
            Block::Foreign(foreign) => {
                let whole: Value = serde_json::from_str(&foreign.state).unwrap();
                assert_eq!(whole["type"], *foreign.kind);
                others.push(json!(foreign.kind));
            }
        }
    }
    let expected = match reason.as_str().unwrap() {
        "max_tokens" => Stop::Length,
        "refusal" => Stop::Refusal,
        _ => Stop::Done,
    };
    assert_eq!(answer.stop, expected);
    let usage = answer.usage;
    json!({
        "text": texts.chars().take(80).collect::<String>(),
        "text_chars": texts.chars().count(),
        "thinking_blocks": thinking,
        "redacted_blocks": redacted,
        "signatures": signatures,
        "tools": tools,
        "other_block_types": others,
        "stop": reason,
        "usage": {
            "input": usage.input,
            "output": usage.output,
            "cached_input": usage.cached_input,
            "cache_write": usage.cache_write,
            "reasoning": usage.reasoning,
        },
        "error": null,
    })
}

#[test]
fn every_answer_decodes_to_what_it_shows() {
    for case in answers() {
        let Case { file, id, .. } = &case;
        let (answer, failed) = decoded(&case.events);
        assert_eq!(failed, None, "{file} {id}");
        let mut expected = case.facts["facts"].clone();
        for tool in expected["tools"].as_array_mut().unwrap() {
            tool[2] = serde_json::from_str(tool[2].as_str().unwrap()).unwrap();
        }
        let answer = answer.unwrap();
        assert_eq!(facts(&answer, &expected["stop"]), expected, "{file} {id}");
    }
}

#[test]
fn however_it_is_cut_an_answer_is_the_same() {
    for case in cases("anthropic").iter().filter(|case| case.is_stream()) {
        let (whole, _) = decoded(&case.events);
        for longest in [1, 2, 7, 64, 1_000, 100_000] {
            let (answer, failed) = decoded(&chunked(case.raw.as_bytes(), longest));
            assert_eq!((&answer, failed), (&whole, None), "{} {} {longest}", case.file, case.id);
        }
    }
}

/// The data of the events of a stream that comes in chunks of odd lengths.
fn chunked(mut raw: &[u8], longest: usize) -> Vec<String> {
    let (mut sse, mut seen, mut odd) = (Sse::default(), Vec::new(), 1_usize);
    while !raw.is_empty() {
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = (odd >> 33) % longest + 1;
        let (chunk, rest) = raw.split_at(length.min(raw.len()));
        raw = rest;
        sse.push(chunk, |frame| {
            if let Frame::Event(event) = frame {
                seen.push(event.data.to_owned());
            }
            Ok::<(), TooLarge>(())
        })
        .unwrap();
    }
    seen
}

#[test]
fn every_beginning_is_a_failure_with_a_valid_part_of_the_answer() {
    for case in answers() {
        let Case { file, id, .. } = &case;
        let (whole, _) = decoded(&case.events);
        let whole = whole.unwrap();
        let mut seen = 0;
        for end in 0..case.raw.len() {
            let Some(begun) = case.raw.get(..end) else { continue };
            let events = unframed(begun);
            if events.len() == seen && end > 0 {
                continue;
            }
            seen = events.len();
            match decoded(&events) {
                (Err(partial), Some(words)) => {
                    assert!(!words.is_empty(), "{file} {id} at {end}");
                    assert!(is_beginning(&partial, &whole), "{file} {id} at {end}: {partial:?}");
                }
                (Ok(answer), None) => assert_eq!(answer, whole, "{file} {id} at {end}"),
                other => panic!("{file} {id} at {end}: {other:?}"),
            }
        }
    }
}

/// An event that was cut inside is no event of ours; its failure is typed, and what came before it
/// is kept.
#[test]
fn an_event_that_is_cut_fails_without_losing_what_came_before() {
    for case in answers() {
        let Some((last, before)) = case.events.split_last() else { continue };
        let (kept, _) = decoded(before);
        let cut = last.trim_end().strip_suffix('}').unwrap();
        let (answer, failed) = decoded(&[before, &[cut.to_owned()]].concat());
        assert!(failed.is_some(), "{} {}", case.file, case.id);
        assert_eq!(answer.unwrap_err(), kept.unwrap_err(), "{} {}", case.file, case.id);
    }
}

fn is_beginning(partial: &Partial, whole: &Assembled) -> bool {
    let said = |block: &Block| match block {
        Block::Thinking(thinking) => ("thinking".to_owned(), thinking.text.to_string()),
        Block::Text(text) => ("text".to_owned(), text.text.to_string()),
        Block::ToolCall(call) => (format!("call {}", call.name), call.arguments.to_string()),
        Block::Foreign(foreign) => (foreign.kind.to_string(), foreign.text.to_string()),
    };
    let mut all = whole.blocks.iter().map(said);
    partial.streamed.iter().map(said).all(|(kind, text)| {
        all.next().is_some_and(|(whole_kind, whole)| kind == whole_kind && whole.starts_with(&text))
    })
}
