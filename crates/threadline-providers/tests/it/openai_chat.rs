//! Recorded answers of Chat Completions, of `OpenAI` and of the servers that are compatible with
//! it: each decodes to what it shows, however it is cut.

use serde_json::{Value, json};
use threadline_core::history::fact::{Block, Digest, Money, Stop};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembled, Assembler, Delta, Partial, Prepared};
use threadline_providers::dialect::{Decode, Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::sse::{Frame, Sse, TooLarge};

use crate::recordings::{Case, cases};

/// The answers that are streams; those with an error's status are none.
fn streams() -> Vec<Case> {
    let all = ["openai-chat", "openai-compatible"].into_iter().flat_map(cases);
    all.filter(Case::is_stream).collect()
}

/// What events come to.
#[derive(Debug, PartialEq)]
struct Read {
    answer: Result<Assembled, Partial>,
    failed: Option<Failed>,
}

/// Reads the events of an answer one by one.
struct Reader {
    decode: Box<dyn Decode>,
    deltas: Vec<Delta>,
    failed: Option<Failed>,
}

impl Reader {
    fn new() -> Self {
        let prepared =
            Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
        let deltas = vec![Delta::Prepared(prepared), Delta::Started(Metadata::new())];
        Self { decode: decoder(Dialect::OpenAiChat, Names::default()), deltas, failed: None }
    }

    fn event(&mut self, data: &str) {
        if self.failed.is_none() {
            self.failed = self.decode.event(data, &mut self.deltas).err();
        }
    }

    fn end(mut self) -> Read {
        if self.failed.is_none() {
            self.failed = self.decode.end(&mut self.deltas).err();
        }
        let mut assembler = Assembler::default();
        for delta in &self.deltas {
            assembler.push(delta).unwrap();
        }
        Read { answer: assembler.finish(), failed: self.failed }
    }
}

fn read(events: impl IntoIterator<Item = impl AsRef<str>>) -> Read {
    let mut reader = Reader::new();
    for event in events {
        reader.event(event.as_ref());
    }
    reader.end()
}

/// The events of a body that comes in these chunks.
fn read_chunks(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Read {
    let mut reader = Reader::new();
    let mut sse = Sse::default();
    for chunk in chunks {
        let each = |frame: Frame<'_>| {
            if let Frame::Event(event) = frame {
                reader.event(event.data);
            }
            Ok::<(), TooLarge>(())
        };
        sse.push(chunk.as_ref(), each).unwrap();
    }
    reader.end()
}

/// An answer in the words of the facts.
fn facts(answer: &Assembled) -> Value {
    let (mut text, mut thought, mut refusal) = (String::new(), String::new(), String::new());
    let mut tools = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text(block) => text.push_str(&block.text),
            Block::Thinking(block) => thought.push_str(&block.text),
            Block::ToolCall(call) => {
                tools.push(json!([call.provider_id, call.name, call.arguments]));
            }
            Block::Foreign(block) => {
                assert_eq!(&*block.kind, "refusal");
                assert_eq!(serde_json::from_str::<String>(&block.state).unwrap(), *block.text);
                refusal.push_str(&block.text);
            }
        }
    }
    let usage = answer.usage;
    json!({
        "text": text.chars().take(80).collect::<String>(),
        "text_chars": text.chars().count(),
        "reasoning_chars": thought.chars().count(),
        "refusal": refusal,
        "tools": tools,
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
fn every_stream_decodes_to_what_it_shows() {
    for case in streams() {
        let Case { file, id, .. } = &case;
        let Read { answer, failed } = read(&case.events);
        assert_eq!(failed, None, "{file} {id}");
        let answer = answer.unwrap();
        let mut expected = case.facts["facts"].clone();
        let reason = expected.as_object_mut().unwrap().remove("stop").unwrap();
        if expected["usage"].is_null() {
            expected["usage"] = json!({
                "input": 0, "output": 0, "cached_input": null, "cache_write": null, "reasoning": null,
            });
        }
        assert_eq!(facts(&answer), expected, "{file} {id}");
        let stop = match reason.as_str().unwrap() {
            "length" => Stop::Length,
            _ if expected["refusal"] != "" => Stop::Refusal,
            _ => Stop::Done,
        };
        assert_eq!(answer.stop, stop, "{file} {id}");
        for block in &answer.blocks {
            if let Block::ToolCall(call) = block {
                assert_eq!(call.complete, stop == Stop::Done, "{file} {id}: {call:?}");
            }
        }
    }
}

#[test]
fn what_a_router_and_a_vendor_say_it_cost_is_kept() {
    let cost = |id: &str| {
        let case = streams().into_iter().find(|case| case.id.starts_with(id))?;
        read(&case.events).answer.unwrap().cost
    };
    if !streams().is_empty() {
        assert_eq!(cost("openrouter-streams-tool-call"), Some(Money(13_050)));
        assert_eq!(cost("xai-tool-call"), Some(Money(133_050)));
        assert_eq!(cost("groq-tool-call"), None);
    }
}

#[test]
fn thinking_comes_before_what_follows_from_it() {
    for case in streams() {
        let Case { file, id, .. } = &case;
        let blocks = read(&case.events).answer.unwrap().blocks;
        let kinds: Vec<_> = blocks.iter().map(std::mem::discriminant).collect();
        let repeats = kinds.windows(2).any(|pair| pair[0] == pair[1]);
        let calls = blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count();
        assert!(!repeats || calls > 1, "{file} {id}: {blocks:?}");
        let thought = blocks.iter().position(|block| matches!(block, Block::Thinking(_)));
        assert!(thought.is_none_or(|place| place == 0), "{file} {id}: {blocks:?}");
    }
}

/// The same stream in other pieces: byte by byte, line by line, and in chunks of any size.
#[test]
fn chunks_of_any_size_make_the_same_answer() {
    for case in streams() {
        let Case { file, id, raw, .. } = &case;
        let whole = read(&case.events);
        assert_eq!(read_chunks(raw.as_bytes().chunks(1)), whole, "{file} {id} byte by byte");
        let lines = raw.split_inclusive('\n').map(str::as_bytes);
        assert_eq!(read_chunks(lines), whole, "{file} {id} line by line");
        for seed in 0..20 {
            let chunks = random_chunks(raw.as_bytes(), seed);
            assert_eq!(read_chunks(chunks), whole, "{file} {id} with seed {seed}");
        }
    }
}

#[test]
fn every_beginning_is_a_failure_with_a_part_of_the_answer_or_the_whole_of_it() {
    for case in streams() {
        let Case { file, id, .. } = &case;
        let whole = read(&case.events).answer.unwrap();
        for end in 0..case.events.len() {
            let begun = read(&case.events[..end]);
            match (begun.answer, begun.failed) {
                (Err(partial), Some(failed)) => {
                    assert!(!failed.message.is_empty(), "{file} {id} at {end}");
                    assert_begins(
                        &partial.streamed,
                        &whole.blocks,
                        &format!("{file} {id} at {end}"),
                    );
                }
                (Ok(answer), None) => {
                    assert_eq!(answer.blocks, whole.blocks, "{file} {id} at {end}");
                    assert_eq!(answer.stop, whole.stop, "{file} {id} at {end}");
                }
                other => panic!("{file} {id} at {end}: {other:?}"),
            }
        }
    }
}

/// An event that was cut at any byte is not read, and nothing that came before it is lost.
#[test]
fn an_event_that_is_cut_fails_without_losing_what_came_before() {
    for case in streams() {
        let Case { file, id, .. } = &case;
        let Some((last, before)) = case.events.split_last() else { continue };
        for end in (1..last.len()).filter(|end| last.is_char_boundary(*end)) {
            let events = before.iter().map(String::as_str).chain([&last[..end]]);
            let read = read(events.collect::<Vec<_>>());
            let failed = read.failed.expect("half an event is none");
            assert!(
                failed.message.contains("could not be read"),
                "{file} {id} at {end}: {failed:?}"
            );
        }
        for event in case.events.iter().filter(|event| *event != "[DONE]") {
            for end in (1..event.len()).filter(|end| event.is_char_boundary(*end)) {
                assert!(read([&event[..end]]).failed.is_some(), "{file} {id}: {}", &event[..end]);
            }
        }
    }
}

/// What had come of an answer is how the whole one begins.
fn assert_begins(part: &[Block], whole: &[Block], what: &str) {
    assert!(part.len() <= whole.len(), "{what}: {part:?}");
    for (part, whole) in part.iter().zip(whole) {
        let begins = match (part, whole) {
            (Block::Text(part), Block::Text(whole)) => whole.text.starts_with(&*part.text),
            (Block::Thinking(part), Block::Thinking(whole)) => whole.text.starts_with(&*part.text),
            (Block::Foreign(part), Block::Foreign(whole)) => whole.text.starts_with(&*part.text),
            (Block::ToolCall(part), Block::ToolCall(whole)) => {
                !part.complete && whole.arguments.starts_with(&*part.arguments)
            }
            _ => false,
        };
        assert!(begins, "{what}: {part:?} is not how {whole:?} begins");
    }
}

/// Bytes in chunks of 1 to 600, as the seed has it.
fn random_chunks(mut bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let most = if state & 1 == 0 { 8 } else { 600 };
        let size = 1 + usize::try_from((state >> 8) % most).unwrap();
        let (chunk, rest) = bytes.split_at(size.min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}
