//! Streams of our own making, one for each rule.

use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use threadline_core::history::fact::{Block, Digest, FailureKind};
use threadline_core::provider::{Assembler, Broken, Partial, Prepared};

use super::*;

const MESSAGE: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn stopped(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":7}}}}"#
    )
}

fn started(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn piece(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn ended(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// What a whole answer with these blocks comes to.
fn answer(reason: &str, events: &[String]) -> String {
    let mut all = vec![MESSAGE.to_owned()];
    all.extend_from_slice(events);
    all.extend([stopped(reason), STOP.to_owned()]);
    told(&all)
}

/// What events come to, as text: a line for each block, then the end.
fn told(events: &[String]) -> String {
    let (assembler, failed) = run(events, Names::default());
    let (blocks, end) = match assembler.finish() {
        Ok(all) => {
            let metadata = all.metadata.iter().map(|(key, value)| match value {
                Value::Text(text) => format!(" {key}={text}"),
                Value::Flag(_) | Value::Number(_) => String::new(),
            });
            let metadata = metadata.collect::<String>();
            (all.blocks, format!("{:?} {}{metadata}", all.stop, usage(&all.usage)))
        }
        Err(Partial { streamed, usage: took, .. }) => {
            let took = took.as_ref().map(usage).unwrap_or_default();
            (streamed, format!("broke off {took}"))
        }
    };
    let mut told = String::new();
    for block in &blocks {
        match block {
            Block::Thinking(thinking) => {
                writeln!(told, "thinks: {} {:?}", thinking.text, thinking.state).unwrap();
            }
            Block::Text(text) => writeln!(told, "says: {} {:?}", text.text, text.state).unwrap(),
            Block::ToolCall(call) => {
                let cut = if call.complete { "" } else { " (cut)" };
                let id = call.provider_id.as_deref().unwrap_or_default();
                writeln!(told, "calls {}#{id}{cut}: {}", call.name, call.arguments).unwrap();
            }
            Block::Foreign(foreign) => {
                writeln!(told, "{}: {} {}", foreign.kind, foreign.text, foreign.state).unwrap();
            }
        }
    }
    told.push_str(&end);
    if let Some(failed) = failed {
        write!(told, "\n{:?}: {}", failed.kind, failed.message).unwrap();
    }
    told
}

fn usage(usage: &Usage) -> String {
    let Usage { input, output, cached_input, cache_write, reasoning, estimated: _ } = usage;
    let some = |count: &Option<u64>| count.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let rest = [cached_input, cache_write, reasoning].map(some).join("/");
    format!("{input}+{output} ({rest})")
}

fn run(events: &[String], names: Names) -> (Assembler, Option<Failed>) {
    let mut decode = AnthropicDecode::new(names);
    let mut assembler = begun();
    for event in events {
        let mut out = Vec::new();
        let went = decode.event(event, &mut out);
        push(&mut assembler, &out);
        if let Err(failed) = went {
            return (assembler, Some(failed));
        }
    }
    let mut out = Vec::new();
    let failed = decode.end(&mut out).err();
    push(&mut assembler, &out);
    (assembler, failed)
}

fn begun() -> Assembler {
    let prepared =
        Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
    let mut assembler = Assembler::default();
    push(&mut assembler, &[Delta::Prepared(prepared), Delta::Started(Metadata::new())]);
    assembler
}

fn push(assembler: &mut Assembler, deltas: &[Delta]) {
    for delta in deltas {
        match assembler.push(delta) {
            Ok(_) | Err(Broken::TooLarge { .. }) => {}
            Err(broken) => panic!("{broken} at {delta:?}"),
        }
    }
}

#[test]
fn text_with_pings_padding_and_unknown_things_around_it() {
    let all = [
        r#"{"type":"ping"}"#.to_owned(),
        started(0, r#"{"type":"text","text":"Hel"}"#),
        format!("{}   ", piece(0, r#"{"type":"text_delta","text":"lo\n"}"#)),
        piece(0, r#"{"type":"citations_delta","citation":{"cited_text":"x"}}"#),
        piece(0, r#"{"type":"glow_delta","glow":{"text":1},"content":[1]}"#),
        r#"{"type":"weather","delta":"sunny","index":"here"}"#.to_owned(),
        piece(0, r#"{"type":"text_delta","text":"there"}"#),
        ended(0),
        "[DONE]".to_owned(),
    ];
    assert_snapshot!(answer("end_turn", &all), @"
    says: Hello
    there None
    Done 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=end_turn
    ");
}

#[test]
fn blocks_are_told_apart_by_index() {
    let all = [
        started(0, r#"{"type":"text","text":""}"#),
        started(7, r#"{"type":"tool_use","id":"toolu_a","name":"zoom","input":{}}"#),
        piece(7, r#"{"type":"input_json_delta","partial_json":""}"#),
        piece(0, r#"{"type":"text_delta","text":"both"}"#),
        piece(7, r#"{"type":"input_json_delta","partial_json":"{\"x\":"}"#),
        ended(0),
        piece(7, r#"{"type":"input_json_delta","partial_json":" 1}"}"#),
        ended(7),
        started(0, r#"{"type":"text","text":"again"}"#),
        ended(0),
    ];
    assert_snapshot!(answer("tool_use", &all), @r#"
    says: both None
    calls zoom#toolu_a: {"x": 1}
    says: again None
    Done 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=tool_use
    "#);
}

#[test]
fn thinking_has_its_signature_as_state_even_with_no_words() {
    let all = [
        started(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        piece(0, r#"{"type":"thinking_delta","thinking":"Let me "}"#),
        piece(0, r#"{"type":"thinking_delta","thinking":"see."}"#),
        piece(0, r#"{"type":"signature_delta","signature":"Eq/\"=="}"#),
        ended(0),
        started(1, r#"{"type":"thinking","thinking":"","signature":""}"#),
        piece(1, r#"{"type":"signature_delta","signature":"Er=="}"#),
        ended(1),
        started(2, r#"{"type":"redacted_thinking","data":"Em=="}"#),
        ended(2),
        started(3, r#"{"type":"thinking","thinking":"unsigned"}"#),
        ended(3),
        started(4, r#"{"type":"thinking","thinking":"signed with nothing"}"#),
        piece(4, r#"{"type":"signature_delta","signature":""}"#),
        ended(4),
    ];
    assert_snapshot!(answer("end_turn", &all), @r#"
    thinks: Let me see. Some("{\"signature\":\"Eq/\\\"==\"}")
    thinks:  Some("{\"signature\":\"Er==\"}")
    thinks:  Some("{\"redacted\":\"Em==\"}")
    thinks: unsigned None
    thinks: signed with nothing None
    Done 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=end_turn
    "#);
}

#[test]
fn a_call_may_have_its_whole_input_at_the_start_or_none_at_all() {
    let all = [
        started(0, r#"{"type":"tool_use","id":"a","name":"whole","input":{"x": 1}}"#),
        ended(0),
        started(1, r#"{"type":"tool_use","id":"b","name":"none","input":{ }}"#),
        ended(1),
        started(2, r#"{"type":"tool_use","name":"bare"}"#),
        piece(2, r#"{"type":"input_json_delta","partial_json":"{}"}"#),
        ended(2),
        started(3, r#"{"type":"tool_use","id":"d","name":"both","input":{"x":1}}"#),
        piece(3, r#"{"type":"input_json_delta","partial_json":"{\"x\":2}"}"#),
        ended(3),
    ];
    assert_snapshot!(answer("tool_use", &all), @r#"
    calls whole#a: {"x": 1}
    calls none#b: {}
    calls bare#: {}
    calls both#d: {"x":2}
    Done 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=tool_use
    "#);
}

#[test]
fn a_call_that_the_output_limit_cut_is_not_complete() {
    let all = [
        started(0, r#"{"type":"tool_use","id":"a","name":"zoom","input":{}}"#),
        piece(0, r#"{"type":"input_json_delta","partial_json":"{\"x\":1}"}"#),
        ended(0),
        started(1, r#"{"type":"tool_use","id":"b","name":"zoom","input":{}}"#),
        ended(1),
        started(2, r#"{"type":"tool_use","id":"c","name":"zoom","input":{}}"#),
        piece(2, r#"{"type":"input_json_delta","partial_json":"{\"x"}"#),
        ended(2),
    ];
    assert_snapshot!(answer("max_tokens", &all), @r#"
    calls zoom#a: {"x":1}
    calls zoom#b (cut): 
    calls zoom#c (cut): {"x
    Length 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=max_tokens
    "#);
}

#[test]
fn names_are_mapped_back() {
    let odd: Arc<str> = "files.read".into();
    let names = Names::new(std::slice::from_ref(&odd), 64);
    let start = started(0, r#"{"type":"tool_use","id":"a","name":"files_read","input":{}}"#);
    let (assembler, _) = run(&[start], names);
    let partial = assembler.partial();
    assert!(matches!(&*partial.streamed, [Block::ToolCall(call)] if call.name == odd));
}

#[test]
fn server_blocks_are_kept_whole_with_a_line_for_others() {
    let all = [
        started(0, r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
        piece(0, r#"{"type":"input_json_delta","partial_json":"{\"query\": \"s"}"#),
        piece(0, r#"{"type":"input_json_delta","partial_json":"ky\"}"}"#),
        ended(0),
        started(
            1,
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"Sky","url":"https://sky","encrypted_content":"E"},{"type":"odd","title":4}]}"#,
        ),
        ended(1),
        started(
            2,
            r#"{"type":"web_search_tool_result","tool_use_id":"t","content":{"type":"error","error_code":"max_uses_exceeded"}}"#,
        ),
        ended(2),
        started(3, r#"{"type":"compaction","content":null}"#),
        piece(3, r#"{"type":"compaction_delta","content":"So far: "}"#),
        piece(3, r#"{"type":"compaction_delta","content":"sky."}"#),
        ended(3),
        started(4, r#"{"type":"hologram","text":{"deep":12345678901234567890123}}"#),
        piece(4, r#"{"type":"text_delta","text":"ignored"}"#),
        ended(4),
        started(5, "{}"),
        started(6, r#"{"type":"server_tool_use","id":"u","name":"cut","input":{}}"#),
        piece(6, r#"{"type":"input_json_delta","partial_json":"{\"que"}"#),
    ];
    assert_snapshot!(answer("max_tokens", &all), @r#"
    server_tool_use: web_search {"query": "sky"} {"id":"s","input":{"query": "sky"},"name":"web_search","type":"server_tool_use"}
    web_search_tool_result: Sky · https://sky {"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"Sky","url":"https://sky","encrypted_content":"E"},{"type":"odd","title":4}]}
    web_search_tool_result: max_uses_exceeded {"type":"web_search_tool_result","tool_use_id":"t","content":{"type":"error","error_code":"max_uses_exceeded"}}
    compaction: So far: sky. {"content":"So far: sky.","type":"compaction"}
    hologram:  {"type":"hologram","text":{"deep":12345678901234567890123}}
    unknown:  {}
    server_tool_use: cut {} {"type":"server_tool_use","id":"u","name":"cut","input":{}}
    Length 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=max_tokens
    "#);
}

#[test]
fn a_message_may_start_with_content() {
    let all = [
        r#"{"type":"message_start","message":{"id":"m","content":[{"type":"text","text":"So:"},{"type":"tool_use","id":"a","name":"zoom","input":{"x":1}}]}}"#.to_owned(),
        started(0, r#"{"type":"text","text":"more"}"#),
        ended(0),
        stopped("tool_use"),
        STOP.to_owned(),
    ];
    assert_snapshot!(told(&all), @r#"
    says: So: None
    calls zoom#a: {"x":1}
    says: more None
    Done 0+7 (-/-/-) response_id=m stop_reason=tool_use
    "#);
}

#[test]
fn a_message_may_come_all_at_once() {
    let all = [r#"{"type":"message","id":"m","model":"n","content":[{"type":"thinking","thinking":"Hm.","signature":"Eq"},{"type":"tool_use","id":"a","name":"zoom","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#.to_owned()];
    assert_snapshot!(told(&all), @r#"
    thinks: Hm. Some("{\"signature\":\"Eq\"}")
    calls zoom#a: {"x":1}
    Done 3+4 (-/-/-) model=n response_id=m stop_reason=tool_use
    "#);
    assert_snapshot!(told(&[all[0].replace(r#""tool_use","usage""#, r#"null,"usage""#)]), @r#"
    thinks: Hm. Some("{\"signature\":\"Eq\"}")
    calls zoom#a (cut): {"x":1}
    broke off 3+4 (-/-/-)
    Protocol: the answer stopped without a reason
    "#);
}

#[test]
fn every_stop_reason_is_known_and_a_new_one_is_an_end() {
    let stops = [
        ("end_turn", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("tool_use", Stop::Done),
        ("max_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("refusal", Stop::Refusal),
        ("pause_turn", Stop::Paused),
        ("compaction", Stop::Paused),
        ("tired", Stop::Done),
    ];
    for (reason, expected) in stops {
        let all = [MESSAGE.to_owned(), stopped(reason), STOP.to_owned()];
        let (assembler, failed) = run(&all, Names::default());
        assert_eq!(failed, None);
        assert_eq!(assembler.finish().unwrap().stop, expected, "{reason}");
    }
}

#[test]
fn a_refusal_tells_why() {
    let all = [
        MESSAGE.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"cyber","explanation":"no"}},"usage":{}}"#.to_owned(),
        STOP.to_owned(),
    ];
    assert_snapshot!(told(&all), @"Refusal 10+1 (-/-/-) model=m response_id=msg_1 stop_category=cyber stop_explanation=no stop_reason=refusal");
}

#[test]
fn later_totals_count_and_the_input_includes_the_cache() {
    let all = [
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":3,"odd":[]}}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":900,"output_tokens":30,"output_tokens_details":{"thinking_tokens":12}}}"#.to_owned(),
        r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":"many"}}"#.to_owned(),
        STOP.to_owned(),
    ];
    assert_snapshot!(told(&all), @"Done 1020+30 (100/20/12) response_id=m stop_reason=end_turn");
}

#[test]
fn an_answer_without_its_end_broke_off() {
    let text = started(0, r#"{"type":"text","text":"hal"}"#);
    assert_snapshot!(told(&[MESSAGE.to_owned(), text.clone(), stopped("end_turn")]), @"
    says: hal None
    broke off 10+7 (-/-/-)
    Protocol: the answer broke off before its end
    ");
    assert_snapshot!(told(&[MESSAGE.to_owned(), text, STOP.to_owned()]), @"
    says: hal None
    broke off 10+1 (-/-/-)
    Protocol: the answer stopped without a reason
    ");
    assert_snapshot!(told(&["[DONE]".to_owned()]), @"
    broke off 
    Protocol: the answer broke off before its end
    ");
}

#[test]
fn the_same_message_may_start_twice_but_no_other() {
    let other = MESSAGE.replace("msg_1", "msg_2");
    let all = [MESSAGE.to_owned(), MESSAGE.to_owned(), stopped("end_turn"), STOP.to_owned()];
    assert_snapshot!(told(&all), @"Done 10+7 (-/-/-) model=m response_id=msg_1 stop_reason=end_turn");
    assert_snapshot!(told(&[MESSAGE.to_owned(), other]), @"
    broke off 10+1 (-/-/-)
    Protocol: another message started within the answer
    ");
}

#[test]
fn what_cannot_be_read_is_a_failure_only_where_it_matters() {
    let failures = [
        "not json".to_owned(),
        "{".to_owned(),
        "7".to_owned(),
        r#"{"type":"content_block_delta","index":-1,"delta":{}}"#.to_owned(),
        r#"{"type":"content_block_start","content_block":{"type":"text"}}"#.to_owned(),
        r#"{"type":"content_block_stop"}"#.to_owned(),
        started(0, r#"{"type":"text","text":4}"#),
        started(0, "[]"),
        piece(3, r#"{"type":"text_delta","text":"lost"}"#),
        STOP.to_owned(),
        r#"{"type":"message","id":"msg_1","delta":7}"#.to_owned(),
        r#"{"delta":{"type":"text_delta","text":"lost"},"index":-1}"#.to_owned(),
        r#"{"type":"message","id":"msg_2","content":"lost","stop_reason":"end_turn"}"#.to_owned(),
        // Pieces of a block of another type, and one that does not say its type.
        piece(1, r#"{"type":"text_delta","text":"lost"}"#),
        piece(2, r#"{"type":"thinking_delta","thinking":"lost"}"#),
        piece(2, r#"{"type":"input_json_delta","partial_json":"lost"}"#),
        piece(2, r#"{"text":"lost"}"#),
        piece(9, r#"{"type":"compaction_delta","content":"lost \ud83d!"}"#),
    ];
    let blocks = [
        started(1, r#"{"type":"tool_use","id":"t","name":"look","input":{}}"#),
        started(2, r#"{"type":"text","text":""}"#),
        started(9, r#"{"type":"compaction"}"#),
    ];
    for event in failures {
        let mut events = vec![MESSAGE.to_owned()];
        events.extend(blocks.iter().cloned().chain([event.clone()]));
        let (_, failed) = run(&events, Names::default());
        assert_eq!(failed.map(|failed| failed.kind), Some(FailureKind::Protocol), "{event}");
    }
    let harmless = ["", "null_event", r#"{"type":"usage_hint","usage":7,"message":[]}"#, "{}"];
    let ping = r#"{"type":"ping"}"#;
    for event in harmless.map(|event| if event == "null_event" { ping } else { event }) {
        let all = [MESSAGE, event, &stopped("end_turn"), STOP].map(str::to_owned);
        assert_eq!(run(&all, Names::default()).1, None, "{event}");
    }
}

#[test]
fn an_error_ends_the_answer() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let (assembler, failed) = run(&[MESSAGE.to_owned(), overloaded.to_owned()], Names::default());
    assert!(assembler.finish().is_err());
    assert_eq!(failed.unwrap().kind, FailureKind::Busy);
    let local = r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#;
    let (_, failed) = run(&[local.to_owned()], Names::default());
    assert_eq!(failed.unwrap().kind, FailureKind::ContextTooLong);
}

#[test]
fn what_is_kept_has_a_limit() {
    let mut all = vec![started(0, r#"{"type":"server_tool_use","name":"x","input":{}}"#)];
    let much = "7".repeat(64 * 1024);
    let more = piece(0, &format!(r#"{{"type":"input_json_delta","partial_json":"{much}"}}"#));
    all.extend(std::iter::repeat_n(more, ANSWER_CAP_BYTES / much.len() + 1));
    let failed = run(&all, Names::default()).1.unwrap();
    assert!(failed.message.starts_with("answer larger than"), "{}", failed.message);
}

/// Events that look like those of an answer, in any order.
fn events() -> impl Strategy<Value = Vec<String>> {
    let block = prop::sample::select(vec![
        r#"{"type":"text","text":"a"}"#,
        r#"{"type":"thinking","thinking":"b","signature":"c"}"#,
        r#"{"type":"redacted_thinking","data":"d"}"#,
        r#"{"type":"tool_use","id":"e","name":"f","input":{"g":1}}"#,
        r#"{"type":"tool_use","name":"h"}"#,
        r#"{"type":"server_tool_use","id":"i","name":"j","input":{}}"#,
        r#"{"type":"k"}"#,
        "{}",
        "null",
        "[]",
    ]);
    let delta = prop::sample::select(vec![
        r#"{"type":"text_delta","text":"l"}"#,
        r#"{"type":"thinking_delta","thinking":"m"}"#,
        r#"{"type":"signature_delta","signature":"n"}"#,
        r#"{"type":"input_json_delta","partial_json":"{"}"#,
        r#"{"type":"input_json_delta","partial_json":"}"}"#,
        r#"{"type":"compaction_delta","content":"o"}"#,
        r#"{"type":"p"}"#,
        "{}",
        "null",
        "3",
    ]);
    let reason = prop::sample::select(vec!["end_turn", "max_tokens", "pause_turn", "q"]);
    let event = prop_oneof![
        3 => (0u64..4, block).prop_map(|(index, block)| started(index, block)),
        6 => (0u64..4, delta).prop_map(|(index, delta)| piece(index, delta)),
        2 => (0u64..4).prop_map(ended),
        1 => reason.prop_map(stopped),
        1 => Just(MESSAGE.to_owned()),
        1 => Just(STOP.to_owned()),
        1 => "\\PC{0,20}",
        1 => "\\{\"type\":\"(message|content_block)_(start|delta|stop)\",\"(index|delta|message|usage|content_block)\":(0|null|\\[\\]|\\{\\}|\"x\")\\}",
    ];
    prop::collection::vec(event, 0..40)
}

proptest! {
    /// An event that is refused ends an answer; here the others go on, which is more than a
    /// stream ever asks.
    #[test]
    fn no_events_break_the_rules_of_deltas(events in events()) {
        let mut decode = AnthropicDecode::new(Names::default());
        let mut assembler = begun();
        for event in &events {
            let mut out = Vec::new();
            let _refused = decode.event(event, &mut out).is_err();
            push(&mut assembler, &out);
        }
        let mut out = Vec::new();
        let ended = decode.end(&mut out).is_ok();
        push(&mut assembler, &out);
        prop_assert_eq!(assembler.finish().is_ok(), ended);
    }
}
