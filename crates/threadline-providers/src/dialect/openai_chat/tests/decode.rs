//! Streams in, answers out.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use threadline_core::history::fact::{Block, Digest, FailureKind, Usage};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembler, Broken, Delta, Prepared};

use crate::dialect::Decode as _;
use crate::dialect::openai_chat::decode::ChatDecode;
use crate::failed::Failed;
use crate::names::Names;

/// All that a stream gives; the failure it ends with, if it fails.
fn deltas(events: &[&str]) -> (Vec<Delta>, Option<Failed>) {
    let mut decode = ChatDecode::new(Names::new(&[Arc::from("files.read")], 64));
    let mut out = Vec::new();
    for event in events {
        if let Err(failed) = decode.event(event, &mut out) {
            return (out, Some(failed));
        }
    }
    let end = decode.end(&mut out);
    (out, end.err())
}

fn assembled(deltas: &[Delta]) -> (Assembler, Option<Broken>) {
    let prepared =
        Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
    let begin = [Delta::Prepared(prepared), Delta::Started(Metadata::new())];
    let mut assembler = Assembler::default();
    let broken = begin.iter().chain(deltas).find_map(|delta| assembler.push(delta).err());
    (assembler, broken)
}

/// An answer as text: a line for each block, then how it ended and what it took.
fn read(events: &[&str]) -> String {
    let (deltas, failed) = deltas(events);
    let (assembler, broken) = assembled(&deltas);
    assert_eq!(broken, None);
    let partial = assembler.partial();
    let mut told = String::new();
    for block in &partial.streamed {
        match block {
            Block::Thinking(block) => write!(told, "thinks {:?} {:?}", block.text, block.state),
            Block::Text(block) => write!(told, "says {:?}", block.text),
            Block::ToolCall(call) => {
                let whole = if call.complete { "" } else { ", cut" };
                let id = call.provider_id.as_deref().unwrap_or("-");
                write!(told, "calls {}#{id} {:?}{whole}", call.name, call.arguments)
            }
            Block::Foreign(block) => {
                write!(told, "{} {:?} {}", block.kind, block.text, block.state)
            }
        }
        .unwrap();
        told.push('\n');
    }
    if let Some(Usage { input, output, cached_input, cache_write, reasoning, .. }) = partial.usage {
        let all = format!("{input} {output} {cached_input:?} {cache_write:?} {reasoning:?}");
        writeln!(told, "usage {}", all.replace("None", "-").replace("Some", "")).unwrap();
    }
    if let Some(cost) = partial.cost {
        writeln!(told, "cost {}", cost.0).unwrap();
    }
    match (failed, assembler.finish()) {
        (Some(failed), Err(_)) => write!(told, "{:?}: {}", failed.kind, failed.message),
        (None, Ok(whole)) => write!(told, "{:?}", whole.stop),
        (failed, finished) => panic!("{failed:?} and {finished:?} at once"),
    }
    .unwrap();
    told
}

/// A chunk of the only choice, with this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// What these deltas and this reason come to.
fn answer(deltas: &[&str], reason: &str) -> String {
    let mut events: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    events.push(finish(reason));
    events.push("[DONE]".to_owned());
    read(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn thinking_and_text_take_turns() {
    let told = answer(
        &[
            r#"{"role":"assistant","content":"","reasoning_content":null}"#,
            r#"{"reasoning_content":"Hm"}"#,
            r#"{"reasoning":", so","content":null}"#,
            r#"{"content":"Wait."}"#,
            r#"{"reasoning_content":"Yes","content":"\u00e9 \"ok\""}"#,
        ],
        "stop",
    );
    insta::assert_snapshot!(told, @r#"
    thinks "Hm, so" None
    says "Wait."
    thinks "Yes" None
    says "é \"ok\""
    Done
    "#);
}

#[test]
fn parts_of_a_content_are_texts_and_thoughts() {
    let told = answer(
        &[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"2+"},{"type":"text","text":"2"}]}]}"#,
            r#"{"content":[{"type":"thinking","thinking":" = 4","closed":true},{"type":"text","text":"4"}]}"#,
            r#"{"content":[{"type":"reference","reference_ids":[1]},{"type":"text","text":"."}]}"#,
        ],
        "stop",
    );
    insta::assert_snapshot!(told, @r#"
    thinks "2+2 = 4" None
    says "4."
    Done
    "#);
}

#[test]
fn a_part_of_the_answer_that_cannot_be_read_is_a_failure() {
    for (delta, what) in [
        (r#"{"content":7}"#, "content"),
        (r#"{"content":["lost"]}"#, "content"),
        (r#"{"content":[{"type":"text","text":{}}]}"#, "text"),
        (r#"{"content":[{"type":"thinking","thinking":[7]}]}"#, "thinking"),
        (r#"{"reasoning_content":["lost"]}"#, "reasoning_content"),
        (r#"{"reasoning":"\ud83d!"}"#, "reasoning"),
        (r#"{"reasoning_details":"lost"}"#, "reasoning_details"),
        (r#"{"reasoning_details":["lost"]}"#, "reasoning_details"),
        (r#"{"refusal":{}}"#, "refusal"),
        (r#"{"tool_calls":[{"index":0,"function":{"name":7}}]}"#, "name"),
        (r#"{"tool_calls":[{"index":0,"function":{"name":"x","arguments":[1]}}]}"#, "arguments"),
    ] {
        let told = answer(&[delta], "stop");
        let expected = format!("Protocol: `{what}` in an event could not be read: ");
        assert!(told.contains(&expected), "{delta}: {told}");
    }
}

#[test]
fn details_of_thinking_are_kept_whole() {
    let told = answer(
        &[
            r#"{"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A","index":0,"format":"x","signature":null}]}"#,
            r#"{"reasoning":"B","reasoning_details":[{"type":"reasoning.text","text":"B","index":0}]}"#,
            r#"{"content":"so","reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]}"#,
            r#"{"content":" it is","reasoning_details":[{"type":"reasoning.encrypted","data":"q1","id":"r1","index":1}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"q2","id":"r2","index":1}]}"#,
            r#"{"content":".","reasoning_details":[]}"#,
        ],
        "stop",
    );
    insta::assert_snapshot!(told, @r#"
    thinks "AB" Some("[{\"type\":\"reasoning.text\",\"text\":\"AB\",\"index\":0,\"format\":\"x\",\"signature\":\"sig\"},{\"type\":\"reasoning.encrypted\",\"data\":\"q1\",\"id\":\"r1\",\"index\":1},{\"type\":\"reasoning.encrypted\",\"data\":\"q2\",\"id\":\"r2\",\"index\":1}]")
    says "so it is."
    Done
    "#);
    let bare = answer(
        &[
            r#"{"content":"first"}"#,
            r#"{"content":", then","reasoning_details":[{"type":"reasoning.encrypted","data":"q"}]}"#,
            r#"{"content":" more"}"#,
        ],
        "stop",
    );
    insta::assert_snapshot!(bare, @r#"
    says "first, then more"
    thinks "" Some("[{\"type\":\"reasoning.encrypted\",\"data\":\"q\"}]")
    Done
    "#);
    let summary = [r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"In short"}]}"#];
    insta::assert_snapshot!(answer(&summary, "stop"), @r#"
    thinks "In short" Some("[{\"type\":\"reasoning.summary\",\"summary\":\"In short\"}]")
    Done
    "#);
}

#[test]
fn a_refusal_is_a_block_of_its_own() {
    let refused =
        [r#"{"content":null,"refusal":""}"#, r#"{"refusal":"I \"can't"}"#, r#"{"refusal":"\"."}"#];
    insta::assert_snapshot!(answer(&refused, "stop"), @r#"
    refusal "I \"can't\"." "I \"can't\"."
    Refusal
    "#);
    insta::assert_snapshot!(answer(&refused, "content_filter"), @r#"
    refusal "I \"can't\"." "I \"can't\"."
    Blocked
    "#);
    let part = [r#"{"content":[{"type":"refusal","refusal":"No."}]}"#];
    insta::assert_snapshot!(answer(&part, "length"), @r#"
    refusal "No." "No."
    Refusal
    "#);
}

#[test]
fn pieces_of_calls_are_told_apart() {
    let mixed = answer(
        &[
            r#"{"content":"Both.","tool_calls":[{"index":1,"id":"a","type":"function","function":{"name":"files_read","arguments":""}},{"index":4,"id":"b","function":{"name":"g","arguments":"{"}}]}"#,
            r#"{"content":"","tool_calls":[{"index":4,"id":"","function":{"name":"","arguments":"}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":null,"function":{"name":null,"arguments":"{\"p\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"other","function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":null}"#,
        ],
        "tool_calls",
    );
    insta::assert_snapshot!(mixed, @r#"
    says "Both."
    calls files.read#a "{\"p\":1}"
    calls g#b "{}"
    Done
    "#);
}

#[test]
fn a_call_begins_when_its_name_is_known() {
    let late = [
        r#"{"tool_calls":[{"index":0,"id":"a"}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}}]}"#,
    ];
    insta::assert_snapshot!(answer(&late, "stop"), @r#"
    calls f#a "{\"p\":1}"
    Done
    "#);
    insta::assert_snapshot!(answer(&late[..2], "tool_calls"), @"Protocol: the answer has a call without a name");
    insta::assert_snapshot!(answer(&late[..2], "length"), @"Length");
}

#[test]
fn calls_without_an_index_of_their_own_are_still_several() {
    let one_chunk = [
        r#"{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":{"x":[1,2]}}}]}"#,
    ];
    insta::assert_snapshot!(answer(&one_chunk, "tool_calls"), @r#"
    calls f#a "{}"
    calls f#b "{\"x\":[1,2]}"
    Done
    "#);
    let no_index = [
        r#"{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}"#,
    ];
    insta::assert_snapshot!(answer(&no_index, "tool_calls"), @r#"
    calls f#a "{}"
    calls f#b "{}"
    Done
    "#);
    let nothing = [
        r#"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]}"#,
        r#"{"tool_calls":[{"function":{"name":"f","arguments":":1}"}}]}"#,
    ];
    insta::assert_snapshot!(answer(&nothing, "stop"), @r#"
    calls f#- "{}"
    calls f#- "{\"a\":1}"
    Done
    "#);
    let same_index = [
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#,
    ];
    insta::assert_snapshot!(answer(&same_index, "stop"), @r#"
    calls f#a "{}"
    calls g#b "{}"
    Done
    "#);
}

#[test]
fn a_call_that_was_cut_is_not_whole() {
    let calls = [
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]}"#,
        r#"{"tool_calls":[{"index":2,"id":"c","function":{"name":"f","arguments":""}}]}"#,
    ];
    insta::assert_snapshot!(answer(&calls, "length"), @r#"
    calls f#a "{\"x\":1}"
    calls f#b "{\"x\":", cut
    calls f#c "", cut
    Length
    "#);
    let broken =
        [r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{x"}}]}"#];
    insta::assert_snapshot!(answer(&broken, "tool_calls"), @r#"
    calls f#a "{x"
    Done
    "#);
}

#[test]
fn every_reason_to_stop_is_known_or_an_end() {
    let reasons = [
        "stop",
        "tool_calls",
        "function_call",
        "end_turn",
        "length",
        "max_tokens",
        "model_length",
        "content_filter",
        "content_filter: PROHIBITED",
        "refusal",
        "error",
        "abort",
        "insufficient_system_resource",
    ];
    let told = reasons.map(|reason| format!("{reason} -> {}", answer(&[], reason)));
    insta::assert_snapshot!(told.join("\n"), @"
    stop -> Done
    tool_calls -> Done
    function_call -> Done
    end_turn -> Done
    length -> Length
    max_tokens -> Length
    model_length -> Length
    content_filter -> Blocked
    content_filter: PROHIBITED -> Blocked
    refusal -> Refusal
    error -> Protocol: the server broke its answer off
    abort -> Protocol: the server broke its answer off
    insufficient_system_resource -> Busy: the server ran out of resources in mid-answer
    ");
}

#[test]
fn only_the_first_choice_counts() {
    let told = read(&[
        r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"},{"delta":{"content":"yes"}}]}"#,
        r#"{"choices":[{"index":0,"content_filter_offsets":{}}]}"#,
        r#"{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}"#,
    ]);
    insta::assert_snapshot!(told, @r#"
    says "yes"
    Done
    "#);
    let whole = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"at once"},"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(read(&[whole]), @r#"
    says "at once"
    Done
    "#);
}

#[test]
fn usage_is_counted_alike() {
    let usage = |usage: &str| read(&[&finish("stop"), &format!(r#"{{"choices":[],{usage}}}"#)]);
    let told = [
        r#""usage":{"prompt_tokens":9,"completion_tokens":5}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":null}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":4}}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":4},"cost_in_usd_ticks":1330500}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":8}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"cost":0.00001305}"#,
        r#""usage":{"prompt_tokens":9,"completion_tokens":5,"cost":-1}"#,
        r#""x_groq":{"id":"r","usage":{"prompt_tokens":9,"completion_tokens":5}}"#,
        r#""usage":null,"x_groq":{"id":"r"}"#,
        r#""usage":{}"#,
        r#""usage":{"prompt_tokens":"many"}"#,
    ];
    insta::assert_snapshot!(told.map(usage).join("\n---\n"), @"
    usage 9 5 - - -
    Done
    ---
    usage 9 5 - - -
    Done
    ---
    usage 9 5 (3) (2) (4)
    Done
    ---
    usage 9 9 - - (4)
    cost 133050
    Done
    ---
    usage 9 5 (8) - -
    Done
    ---
    usage 9 5 - - -
    cost 13050
    Done
    ---
    usage 9 5 - - -
    Done
    ---
    usage 9 5 - - -
    Done
    ---
    Done
    ---
    Done
    ---
    Done
    ");
    let (all, _) = deltas(&[
        r#"{"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
        r#"{"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
        r#"{"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
    ]);
    assert_eq!(all.len(), 2, "what did not change is not told again: {all:?}");
}

#[test]
fn what_the_server_tells_along_is_kept() {
    let (all, _) = deltas(&[
        r#"{"id":"","object":"","model":"","choices":[],"prompt_filter_results":[]}"#,
        r#"{"id":"c1","model":"m-2","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
        r#"{"id":"c2","model":"m-3","choices":[]}"#,
    ]);
    let Some(Delta::Finished { metadata, .. }) = all.last() else { panic!("{all:?}") };
    let told: Vec<String> =
        metadata.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    insta::assert_snapshot!(told.join(" "), @r#"model=Text("m-2") response_id=Text("c1") stop_reason=Text("stop")"#);
}

#[test]
fn errors_in_the_stream_are_told_by_kind() {
    let errors = [
        r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
        r#"{"error":{"message":"Provider returned error","code":502},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
        r#"{"error":{"message":"Failed to call a function","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<f>"}}"#,
        r#"{"code":"invalid-argument","error":"Model not found"}"#,
        r#"{"object":"error","message":"too many tokens","type":"BadRequestError","code":400}"#,
        r#"{"choices":[{"index":0,"error":{"code":429,"message":"slow down"}}]}"#,
    ];
    for error in errors {
        let (all, failed) = deltas(&[&delta(r#"{"content":"half"}"#), error, &finish("stop")]);
        assert!(failed.is_some(), "{error}");
        assert_eq!(all.len(), 2, "nothing follows an error: {all:?}");
    }
    let (_, busy) = deltas(&errors[..1]);
    assert_eq!(busy.unwrap().kind, FailureKind::Busy);
}

#[test]
fn a_stream_without_its_sign_of_the_end_broke_off() {
    let half = delta(r#"{"content":"half"}"#);
    for events in [&[&*half][..], &[&half, "[DONE]"], &[], &["[DONE]"], &["{\"type\":\"ping\"}"]] {
        let (_, failed) = deltas(events);
        assert_eq!(failed.unwrap().kind, FailureKind::Protocol, "{events:?}");
    }
    for events in [&["{"][..], &["7"], &["[]"], &["\u{0}"], &[r#"{"choices":[7]}"#]] {
        let (_, failed) = deltas(events);
        let message = failed.unwrap().message;
        assert!(message.starts_with("an event could not be read"), "{events:?}: {message}");
    }
}

#[test]
fn nothing_is_read_after_the_end() {
    let after = delta(r#"{"content":"more"}"#);
    let (all, failed) = deltas(&[" ", &finish("stop"), "  [DONE] ", &after, "{", "[DONE]"]);
    assert!(failed.is_none());
    assert!(matches!(&*all, [Delta::Finished { .. }]), "{all:?}");
}

/// JSON that looks like what servers send, and goes wrong in every way.
fn any_event() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just("\"\"".to_owned()),
        Just("null".to_owned()),
        Just("7".to_owned()),
        Just("{\"a\":1}".to_owned()),
        Just("[{\"type\":\"text\",\"text\":\"t\"},{\"thinking\":[{\"text\":\"h\"}]}]".to_owned()),
        "\"[a-z{}:]{1,4}\"",
    ];
    let index = prop_oneof![Just("null".to_owned()), (0..4u32).prop_map(|n| n.to_string())];
    let call = (index.clone(), text.clone(), text.clone(), text.clone()).prop_map(
        |(index, id, name, arguments)| {
            format!(r#"{{"index":{index},"id":{id},"function":{{"name":{name},"arguments":{arguments}}}}}"#)
        },
    );
    let calls = prop::collection::vec(call, 0..3).prop_map(|calls| calls.join(","));
    let details = (text.clone(), index.clone()).prop_map(|(text, index)| {
        format!(r#"[{{"type":"reasoning.text","text":{text},"index":{index}}}]"#)
    });
    let key = prop::sample::select(vec!["content", "refusal", "reasoning", "reasoning_content"]);
    let said = (key, text).prop_map(|(key, text)| format!(r#"{{"{key}":{text}}}"#));
    let delta = prop_oneof![
        4 => said,
        2 => calls.prop_map(|calls| format!(r#"{{"tool_calls":[{calls}]}}"#)),
        1 => details.prop_map(|details| format!(r#"{{"reasoning_details":{details}}}"#)),
    ];
    let chunk = (delta, index).prop_map(|(delta, index)| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{delta}}}]}}"#)
    });
    let reason =
        prop::sample::select(vec!["stop", "length", "tool_calls", "content_filter", "error"]);
    prop_oneof![
        20 => chunk,
        2 => reason.prop_map(finish),
        2 => Just(r#"{"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.5}}"#.to_owned()),
        1 => Just("[DONE]".to_owned()),
        1 => Just(r#"{"error":{"message":"no"}}"#.to_owned()),
        1 => "\\PC{0,12}",
    ]
}

proptest! {
    #[test]
    fn any_stream_keeps_the_order_of_deltas(events in prop::collection::vec(any_event(), 0..30)) {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (all, failed) = deltas(&events);
        let (assembler, broken) = assembled(&all);
        prop_assert_eq!(broken, None);
        prop_assert_eq!(failed.is_none(), assembler.finish().is_ok());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
        let (all, _) = deltas(&[&text]);
        prop_assert_eq!(assembled(&all).1, None);
    }
}
