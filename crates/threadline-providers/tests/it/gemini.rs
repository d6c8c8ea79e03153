//! Gemini's recorded answers decode to what they show, however they are cut.

use serde_json::Value;
use threadline_core::history::fact::{Block, Digest, FailureKind, Stop, ToolCall};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembled, Assembler, Delta, Partial, Prepared};
use threadline_providers::dialect::{Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::reply::told;
use threadline_providers::sse::{Frame, Sse, TooLarge};

use crate::recordings::{self, Case, framed, unframed};

/// The answer, or what had streamed and why it is not whole.
fn decode<S: AsRef<str>>(events: &[S]) -> Result<Assembled, (Box<Partial>, Failed)> {
    let mut decode = decoder(Dialect::Gemini, Names::default());
    let mut deltas = Vec::new();
    let mut read = events.iter().try_for_each(|data| decode.event(data.as_ref(), &mut deltas));
    if read.is_ok() {
        read = decode.end(&mut deltas);
    }
    let (body_digest, repairs) = (Digest::of(b""), Vec::new());
    let mut assembler = Assembler::default();
    let prepared = Prepared { body_digest, encoder_version: 1, repairs };
    assembler.push(&Delta::Prepared(prepared)).unwrap();
    assembler.push(&Delta::Started(Metadata::new())).unwrap();
    for delta in &deltas {
        assembler.push(delta).unwrap();
    }
    match (assembler.finish(), read) {
        (Ok(answer), Ok(())) => Ok(answer),
        (Err(partial), Err(failed)) => Err((Box::new(partial), failed)),
        (whole, read) => panic!("{whole:?} after {read:?}"),
    }
}

fn answer(case: &Case) -> Assembled {
    decode(&case.events)
        .unwrap_or_else(|(_, failed)| panic!("{} {}: {failed:?}", case.file, case.id))
}

fn streams() -> impl Iterator<Item = Case> {
    recordings::cases("gemini").into_iter().filter(Case::is_stream)
}

/// The answers of one file, in order; none if nothing is recorded.
fn of_file(file: &str) -> Vec<Assembled> {
    streams().filter(|case| case.file.ends_with(file)).map(|case| answer(&case)).collect()
}

fn text_of(answer: &Assembled) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(&*text.text),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Foreign(_) => None,
    });
    texts.collect()
}

fn calls_of(answer: &Assembled) -> Vec<&ToolCall> {
    let calls = answer.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Thinking(_) | Block::Text(_) | Block::Foreign(_) => None,
    });
    calls.collect()
}

fn state_of(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(thinking) => thinking.state.as_deref(),
        Block::Text(text) => text.state.as_deref(),
        Block::ToolCall(call) => call.state.as_deref(),
        Block::Foreign(_) => None,
    }
}

#[test]
fn every_answer_decodes_to_what_it_shows() {
    for case in streams() {
        let place = format!("{} {}", case.file, case.id);
        let answer = answer(&case);
        let facts = &case.facts["facts"];
        let text = text_of(&answer);
        assert!(text.starts_with(facts["text"].as_str().unwrap()), "{place}: {text}");
        assert_eq!(text.chars().count() as u64, facts["text_chars"].as_u64().unwrap(), "{place}");
        let calls = calls_of(&answer);
        let expected = facts["tools"].as_array().unwrap();
        assert_eq!(calls.len(), expected.len(), "{place}");
        for (call, expected) in calls.iter().zip(expected) {
            assert!(call.complete, "{place}");
            assert_eq!(call.provider_id.as_deref(), expected[0].as_str(), "{place}");
            assert_eq!(Some(&*call.name), expected[1].as_str(), "{place}");
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            let shown = expected[2].as_str().unwrap().replace("\"$.", "\"");
            assert_eq!(arguments, serde_json::from_str::<Value>(&shown).unwrap(), "{place}");
        }
        let usage = serde_json::to_value(answer.usage).unwrap();
        for (key, expected) in facts["usage"].as_object().unwrap() {
            let told = usage.get(key).and_then(Value::as_u64);
            let known = expected.as_u64();
            assert!(told == known || known == Some(0) && told.is_none(), "{place}: {key}");
        }
        let signatures = answer.blocks.iter().filter(|block| state_of(block).is_some()).count();
        assert_eq!(signatures as u64, facts["signatures"].as_u64().unwrap(), "{place}");
        for key in ["response_id", "model_version"] {
            assert!(answer.metadata.get(key).is_some(), "{place}: {key}");
        }
    }
}

#[test]
fn a_signature_stays_with_its_part() {
    for answer in of_file("google-text.chunks.txt") {
        let [Block::Text(said), Block::Text(signed)] = &*answer.blocks else {
            panic!("{:?}", answer.blocks)
        };
        assert!(said.state.is_none() && !said.text.is_empty());
        assert!(signed.state.is_some() && signed.text.is_empty());
    }
    for answer in of_file("google-stream-tool-call-arguments.chunks.txt") {
        let calls = calls_of(&answer);
        let states: Vec<bool> = calls.iter().map(|call| call.state.is_some()).collect();
        assert_eq!(states, [true, false]);
        assert_eq!(&*calls[1].arguments, r#"{"location":"San Francisco"}"#);
    }
}

#[test]
fn the_ends_are_told_apart() {
    let answers = of_file("gemini/streams.json");
    if let [parallel, thinking, cut, twice] = &*answers {
        assert_eq!(calls_of(parallel).len(), 2);
        assert!(matches!(&*thinking.blocks, [Block::Thinking(_), Block::ToolCall(_)]));
        assert_eq!(cut.stop, Stop::Length);
        assert_eq!(twice.stop, Stop::Done);
        let foreign: Vec<&str> = twice
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Foreign(foreign) => Some(&*foreign.kind),
                Block::Thinking(_) | Block::Text(_) | Block::ToolCall(_) => None,
            })
            .collect();
        let pair = ["executableCode", "codeExecutionResult"];
        assert_eq!(foreign, [pair, pair].concat());
        assert!(matches!(twice.blocks.last(), Some(Block::Text(_))), "{:?}", twice.blocks);
    } else {
        assert!(answers.is_empty(), "four answers are in this file");
    }
    for case in recordings::cases("gemini") {
        if case.shows.contains("SAFETY") {
            let answer = decode(&[&*case.raw]).unwrap();
            assert_eq!(answer.stop, Stop::Blocked);
            assert!(answer.blocks.is_empty());
        }
    }
}

#[test]
fn errors_mean_what_the_caller_can_do() {
    for case in recordings::cases("gemini") {
        let expected = match &*case.shows {
            "429 with RetryInfo.retryDelay" => (FailureKind::Busy, Some(34_400)),
            "404 on streamGenerateContent" => (FailureKind::Refused, None),
            _ => continue,
        };
        // The same body as a reply of its own, and in the midst of a stream.
        let replied = told(case.status, &case.headers, case.raw.as_bytes());
        let (_, streamed) = decode(&[&*case.raw]).unwrap_err();
        let (_, listed) = decode(&[&*format!("[{}]", case.raw)]).unwrap_err();
        for failed in [replied, streamed, listed] {
            assert_eq!((failed.kind, failed.retry_after_ms), expected, "{failed:?}");
        }
    }
}

#[test]
fn any_prefix_is_an_answer_or_a_typed_error_with_what_had_streamed() {
    for case in streams() {
        let whole = answer(&case);
        let raw = framed(case.events.iter().map(String::as_str));
        let cuts = (0..=raw.len()).filter(|cut| raw.is_char_boundary(*cut));
        let mut seen = usize::MAX;
        for cut in cuts {
            let events = unframed(&raw[..cut]);
            // Between two ends of events nothing changes.
            if std::mem::replace(&mut seen, events.len()) == events.len() {
                continue;
            }
            let (blocks, of_all) = match decode(&events) {
                Ok(answer) => (answer.blocks, events.len() == case.events.len()),
                Err((partial, failed)) => {
                    assert_eq!(failed.kind, FailureKind::Protocol);
                    (partial.streamed, false)
                }
            };
            assert!(blocks.len() <= whole.blocks.len());
            assert!(!of_all || blocks == whole.blocks);
        }
        // An event that is itself cut is told, and never a panic.
        for event in &case.events {
            for cut in (1..event.len()).filter(|cut| event.is_char_boundary(*cut)).step_by(7) {
                let (_, failed) = decode(&[&event[..cut]]).unwrap_err();
                assert_eq!(failed.kind, FailureKind::Protocol, "{}", &event[..cut]);
            }
        }
    }
}

#[test]
fn however_the_bytes_are_cut_the_answer_is_the_same() {
    for case in streams() {
        let whole = answer(&case);
        for size in [1, 2, 3, 7, 61, 1_000] {
            let mut events = Vec::new();
            let mut sse = Sse::default();
            for chunk in case.raw.as_bytes().chunks(size) {
                sse.push(chunk, |frame| {
                    if let Frame::Event(event) = frame {
                        events.push(event.data.to_owned());
                    }
                    Ok::<(), TooLarge>(())
                })
                .unwrap();
            }
            assert_eq!(decode(&events).unwrap(), whole, "{} by {size}", case.file);
        }
    }
}

#[test]
fn all_events_as_one_list_are_the_same_answer() {
    for case in streams() {
        let list = format!("[{}]", case.events.join(",\n"));
        assert_eq!(decode(&[&*list]).unwrap(), answer(&case), "{} {}", case.file, case.id);
    }
}
