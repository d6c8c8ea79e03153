//! Small streams of our own making, one for every rule.

use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use threadline_core::history::fact::{Digest, FailureKind};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembler, Broken, Prepared};

use super::*;

/// What events mean, a line for each delta.
fn told(events: &[Json]) -> String {
    told_with(Names::default(), events.iter().map(Json::to_string))
}

fn told_with(names: Names, events: impl IntoIterator<Item = String>) -> String {
    let mut decode = ResponsesDecode::new(names);
    let (mut out, mut failed) = (Vec::new(), None);
    for event in events {
        failed = decode.event(&event, &mut out).err();
        if failed.is_some() {
            break;
        }
    }
    let failed = failed.or_else(|| decode.end(&mut out).err());
    let mut told = String::new();
    for delta in &out {
        line(delta, &mut told);
    }
    if let Some(Failed { kind, message, .. }) = failed {
        write!(told, "{kind:?}: {message}").unwrap();
    }
    told.trim_end().to_owned()
}

fn line(delta: &Delta, told: &mut String) {
    match delta {
        Delta::Begin { block, kind } => match kind {
            BlockKind::Thinking => writeln!(told, "{} thinks", block.0),
            BlockKind::Text => writeln!(told, "{} says", block.0),
            BlockKind::ToolCall { name, provider_id } => {
                let id = provider_id.as_deref().unwrap_or("no id");
                writeln!(told, "{} calls {name} ({id})", block.0)
            }
            BlockKind::Foreign { kind } => writeln!(told, "{} is a {kind}", block.0),
        },
        Delta::Fragment { block, text } => writeln!(told, "{} + {text:?}", block.0),
        Delta::State { block, state } => writeln!(told, "{} state {state}", block.0),
        Delta::End { block } => writeln!(told, "{} ends", block.0),
        Delta::Usage(usage) => writeln!(told, "{usage:?}"),
        Delta::Finished { stop, metadata } => {
            let values = metadata.iter().map(|(key, value)| format!(" {key}={value:?}"));
            writeln!(told, "{stop:?}{}", values.collect::<String>())
        }
        Delta::Prepared(_) | Delta::Started(_) | Delta::Cost(_) => panic!("{delta:?}"),
    }
    .unwrap();
}

fn added(index: u64, item: &Json) -> Json {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Json) -> Json {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

/// A piece of something, such as `output_text`.
fn delta(of: &str, index: u64, piece: &str) -> Json {
    json!({"type": format!("response.{of}.delta"), "output_index": index, "delta": piece})
}

fn message(text: &str) -> Json {
    json!({"type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(name: &str, arguments: &str) -> Json {
    json!({"type": "function_call", "id": "fc_1", "call_id": format!("call_{name}"),
        "name": name, "arguments": arguments, "status": "completed"})
}

fn completed() -> Json {
    json!({"type": "response.completed", "response": {"status": "completed"}})
}

fn incomplete(reason: &str) -> Json {
    json!({"type": "response.incomplete",
        "response": {"incomplete_details": {"reason": reason}}})
}

#[test]
fn text_comes_in_pieces_and_usage_at_the_end() {
    let end = json!({"type": "response.completed", "response": {"id": "resp_1", "model": "m-1",
        "usage": {"input_tokens": 7, "output_tokens": 3,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 2}}}});
    let begun = json!({"type": "message", "status": "in_progress", "content": []});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        added(0, &begun),
        json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0,
            "part": {"type": "output_text", "text": ""}}),
        delta("output_text", 0, "Hel"),
        delta("output_text", 0, "lo"),
        json!({"type": "response.output_text.done", "output_index": 0, "text": "Hello"}),
        done(0, &message("Hello")),
        end,
    ];
    assert_snapshot!(told(&events), @r#"
    0 says
    0 + "Hel"
    0 + "lo"
    0 ends
    Usage { input: 7, output: 3, cached_input: Some(0), cache_write: None, reasoning: Some(2), estimated: false }
    Done model=Text("m-1") response_id=Text("resp_1")
    "#);
}

#[test]
fn text_that_never_came_in_pieces_is_taken_from_where_it_is_whole() {
    let whole = json!({"type": "response.output_text.done", "output_index": 0, "text": "Hello"});
    let begun = added(0, &json!({"type": "message", "content": []}));
    let said = "0 says\n0 + \"Hello\"\n0 ends\nDone";
    assert_eq!(
        told(&[begun.clone(), whole.clone(), done(0, &message("Hello")), completed()]),
        said
    );
    assert_eq!(told(&[begun.clone(), done(0, &message("Hello")), completed()]), said);
    assert_eq!(told(&[done(0, &message("Hello")), completed()]), said);
    let piece = delta("output_text", 0, "Hel");
    let rest = told(&[begun.clone(), piece.clone(), whole, completed()]);
    assert_eq!(rest, "0 says\n0 + \"Hel\"\n0 + \"lo\"\n0 ends\nDone");
    // What contradicts the pieces does not replace them.
    let other = told(&[begun, piece, done(0, &message("Hurry")), completed()]);
    assert_eq!(other, "0 says\n0 + \"Hel\"\n0 ends\nDone");
    let only = json!({"type": "response.completed", "response": {"output": [message("Hello")]}});
    assert_eq!(told(&[only]), said);
}

#[test]
fn reasoning_goes_back_without_its_id_as_its_end_has_it() {
    let begun =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "early"});
    let summary = |index: u64, piece: &str| {
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0,
            "summary_index": index, "delta": piece})
    };
    let ended = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "late", "content": [],
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]});
    let events = [
        added(0, &begun),
        summary(0, "On"),
        summary(0, "e."),
        json!({"type": "response.reasoning_summary_text.done", "output_index": 0,
            "summary_index": 0, "text": "One."}),
        summary(1, "Two."),
        done(0, &ended),
        done(1, &message("x")),
        completed(),
    ];
    assert_snapshot!(told(&events), @r#"
    0 thinks
    0 + "On"
    0 + "e."
    0 + "\n\n"
    0 + "Two."
    0 state {"type":"reasoning","summary":[{"text":"One.","type":"summary_text"},{"text":"Two.","type":"summary_text"}],"encrypted_content":"late"}
    0 ends
    1 says
    1 + "x"
    1 ends
    Done
    "#);
}

#[test]
fn reasoning_in_the_open_goes_back_as_it_came() {
    let piece = json!({"type": "response.reasoning_text.delta", "output_index": 0,
        "content_index": 0, "delta": "Hm."});
    let item = json!({"type": "reasoning", "summary": [], "encrypted_content": "",
        "content": [{"type": "reasoning_text", "text": "Hm."}]});
    assert_snapshot!(told(&[piece, done(0, &item), completed()]), @r#"
    0 thinks
    0 + "Hm."
    0 state {"type":"reasoning","summary":[],"content":[{"text":"Hm.","type":"reasoning_text"}]}
    0 ends
    Done
    "#);
    // What the service could not read is no state.
    let empty = json!({"type": "reasoning", "summary": [], "encrypted_content": null});
    assert_eq!(told(&[done(0, &empty), completed()]), "0 thinks\n0 ends\nDone");
}

#[test]
fn the_phase_of_a_message_is_its_state() {
    let mut item = message("On it.");
    item["phase"] = "commentary".into();
    assert_snapshot!(told(&[done(0, &item), done(2, &message("Done.")), completed()]), @r#"
    0 says
    0 + "On it."
    0 state {"phase":"commentary"}
    0 ends
    1 says
    1 + "Done."
    1 ends
    Done
    "#);
}

#[test]
fn a_refusal_is_foreign_and_stops() {
    let ended = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]});
    let begun = added(0, &json!({"type": "message", "content": []}));
    let pieces = [
        begun.clone(),
        delta("refusal", 0, "I "),
        delta("refusal", 0, "won't."),
        json!({"type": "response.refusal.done", "output_index": 0, "refusal": "I won't."}),
        done(0, &ended),
        completed(),
    ];
    assert_snapshot!(told(&pieces), @r#"
    0 says
    1 is a refusal
    1 + "I "
    1 + "won't."
    0 ends
    1 state {"type":"refusal","refusal":"I won't."}
    1 ends
    Refusal
    "#);
    let whole = told(&[begun, done(0, &ended), completed()]);
    assert!(whole.contains("1 + \"I won't.\"\n") && whole.ends_with("Refusal"), "{whole}");
}

#[test]
fn calls_side_by_side_may_be_mixed_and_places_may_have_gaps() {
    let events = [
        added(3, &call("a", "")),
        added(9, &call("b", "")),
        delta("function_call_arguments", 9, "{\"x\":"),
        delta("function_call_arguments", 3, "{}"),
        delta("function_call_arguments", 9, "1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 9,
            "arguments": "{\"x\":1}"}),
        done(9, &call("b", "{\"x\":1}")),
        done(3, &call("a", "{}")),
        completed(),
    ];
    assert_snapshot!(told(&events), @r#"
    0 calls a (call_a)
    1 calls b (call_b)
    1 + "{\"x\":"
    0 + "{}"
    1 + "1}"
    0 ends
    1 ends
    Done
    "#);
}

#[test]
fn arguments_may_come_only_at_the_end_and_names_are_named_back() {
    let names = Names::new(&["files.read".into()], 64);
    let sent = names.to_wire("files.read").to_owned();
    let events = [added(0, &call(&sent, "")), done(0, &call(&sent, "{\"x\":1}")), completed()];
    let told_names = told_with(names, events.iter().map(Json::to_string));
    assert_snapshot!(told_names, @r#"
    0 calls files.read (call_files_read)
    0 + "{\"x\":1}"
    0 ends
    Done
    "#);
    let mut object = call("a", "");
    object["arguments"] = json!({"x": 1});
    assert!(told(&[done(0, &object), completed()]).contains(r#"0 + "{\"x\":1}""#));
    // A call begins when its name is known.
    let nameless = added(0, &json!({"type": "function_call", "call_id": "call_a"}));
    let lost = delta("function_call_arguments", 0, "{");
    let late = told(&[nameless, lost, done(0, &call("a", "{}")), completed()]);
    assert_eq!(late, "0 calls a (call_a)\n0 + \"{}\"\n0 ends\nDone");
}

#[test]
fn ids_may_differ_with_every_event() {
    let mut events = [
        added(0, &call("a", "")),
        delta("function_call_arguments", 0, "{}"),
        done(0, &call("a", "{}")),
        completed(),
    ];
    events[0]["item"]["id"] = "one".into();
    events[1]["item_id"] = "two".into();
    events[2]["item"]["id"] = "three".into();
    assert_eq!(told(&events), "0 calls a (call_a)\n0 + \"{}\"\n0 ends\nDone");
}

#[test]
fn where_no_place_is_told_items_go_by_their_ids() {
    let without = |mut event: Json| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    let piece = |of: &str, id: &str, piece: &str| json!({"type": format!("response.{of}.delta"), "item_id": id, "delta": piece});
    let mut said = message("Hi");
    said["id"] = "msg_1".into();
    let begun = |name: &str| {
        json!({"type": "function_call", "call_id": format!("call_{name}"), "name": name,
            "arguments": ""})
    };
    let ended = |name: &str| {
        let mut item = begun(name);
        item["arguments"] = "{}".into();
        item
    };
    let events = [
        without(added(0, &json!({"type": "message", "id": "msg_1", "content": []}))),
        piece("output_text", "msg_1", "Hi"),
        without(added(0, &begun("a"))),
        piece("function_call_arguments", "call_a", "{"),
        without(added(0, &begun("b"))),
        piece("function_call_arguments", "call_b", "{}"),
        without(done(0, &said)),
        without(done(0, &ended("a"))),
        without(done(0, &ended("b"))),
        completed(),
    ];
    assert_snapshot!(told(&events), @r#"
    0 says
    0 + "Hi"
    1 calls a (call_a)
    1 + "{"
    2 calls b (call_b)
    2 + "{}"
    0 ends
    1 + "}"
    1 ends
    2 ends
    Done
    "#);
}

#[test]
fn what_the_limit_cut_is_never_ended() {
    let mut cut = call("a", "{\"x\":1}");
    cut["status"] = "incomplete".into();
    let last = incomplete("max_output_tokens");
    let said = told(&[added(0, &call("a", "")), done(0, &cut), last.clone()]);
    assert_eq!(
        said,
        "0 calls a (call_a)\n0 + \"{\\\"x\\\":1}\"\nLength stop_reason=Text(\"max_output_tokens\")"
    );
    // Nor is a call whose own end never came, even if its arguments look whole.
    let open = delta("function_call_arguments", 0, "{}");
    let said = told(&[added(0, &call("a", "")), open, last.clone()]);
    assert!(!said.contains("ends"), "{said}");
    // One that was whole before the cut is.
    let said = told(&[done(0, &call("a", "{}")), delta("output_text", 1, "and"), last]);
    assert!(said.contains("0 ends") && !said.contains("1 ends"), "{said}");
}

#[test]
fn a_filter_blocks_and_other_reasons_cut() {
    for (reason, stop) in
        [("content_filter", "Blocked"), ("max_messages", "Length"), ("steered", "Length")]
    {
        assert!(told(&[incomplete(reason)]).starts_with(stop), "{reason}");
    }
    assert_eq!(told(&[json!({"type": "response.incomplete"})]), "Length");
}

#[test]
fn items_that_only_the_provider_understands_are_kept_whole() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "q"}});
    let custom = json!({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"});
    let events = [
        added(0, &json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"})),
        json!({"type": "response.web_search_call.searching", "output_index": 0}),
        done(0, &search),
        done(1, &custom),
        completed(),
    ];
    assert_snapshot!(told(&events), @r#"
    0 is a web_search_call
    0 state {"action":{"query":"q","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    0 ends
    1 is a custom_tool_call
    1 state {"call_id":"c","input":"i","name":"n","type":"custom_tool_call"}
    1 ends
    Done
    "#);
}

#[test]
fn what_nobody_knows_is_passed_over() {
    let events = [
        json!({"type": "response.surprise", "delta": {"a": [1]}, "item": 3, "output_index": -1}),
        json!({"type": "response.mcp_call_arguments.delta", "delta": {"x": 1}}),
        json!({"type": "response.output_item.added", "output_index": 0}),
        json!({"no": "type"}),
        completed(),
    ];
    assert_eq!(told(&events), "Done");
    let marked = ["", "  ", "[DONE]", "  {\"type\":\"response.completed\"}  ", "[DONE]"];
    assert_eq!(told_with(Names::default(), marked.map(str::to_owned)), "Done");
}

#[test]
fn a_part_of_the_answer_that_cannot_be_read_is_a_failure() {
    let raw = |text: &str| told_with(Names::default(), [text.to_owned()]);
    let half = r#"{"type":"message","content":[{"type":"output_text","text":"a\ud83d!"}]}"#;
    let ended = |item: &str| {
        raw(&format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#))
    };
    let completed =
        |response: &str| raw(&format!(r#"{{"type":"response.completed","response":{response}}}"#));
    for (told, words) in [
        (told(&[json!({"type": "response.output_text.delta", "delta": 7})]), "that is no text"),
        (told(&[json!({"type": "response.refusal.delta"})]), "that is no text"),
        (ended("\"no item\""), "`item` in an event could not be read"),
        (ended(r#"{"type":"message","content":[7]}"#), "`content` in an event could not be read"),
        (ended(half), "`content` in an event could not be read"),
        (ended(r#"{"type":"reasoning","summary":{}}"#), "`content` in an event could not be read"),
        (completed("7"), "`response` in an event could not be read"),
        (completed(r#"{"output":7}"#), "`output` in an event could not be read"),
        (
            completed(&format!(r#"{{"output":[{half}]}}"#)),
            "`content` in an event could not be read",
        ),
    ] {
        assert!(told.contains("Protocol: ") && told.contains(words), "{words}: {told}");
    }
    let text = json!({"type": "message", "content": "plain"});
    assert!(ended(&text.to_string()).contains("0 + \"plain\""));
}

#[test]
fn pieces_that_no_item_takes_are_a_failure() {
    let piece = delta("output_text", 0, "lost");
    let not_open = "Protocol: a piece of text came of an item that is not open for it";
    let after_end = told(&[done(0, &message("said")), piece.clone()]);
    assert!(after_end.ends_with(not_open), "{after_end}");
    let of_a_call = told(&[added(0, &call("look", "")), piece]);
    assert!(of_a_call.ends_with(not_open), "{of_a_call}");
    let arguments = delta("function_call_arguments", 0, "{}");
    assert_eq!(
        told(&[arguments.clone(), completed()]),
        "Protocol: the answer has a call without a name"
    );
    let named = told(&[arguments, done(0, &call("look", "{}")), completed()]);
    assert!(named.contains("calls look") && named.ends_with("Done"), "{named}");
}

#[test]
fn only_a_last_event_proves_the_end() {
    let broke_off = "0 says\n0 + \"Hi\"\nProtocol: the answer broke off before its end";
    assert_eq!(told(&[delta("output_text", 0, "Hi")]), broke_off);
    let marked = [delta("output_text", 0, "Hi").to_string(), "[DONE]".to_owned()];
    assert_eq!(told_with(Names::default(), marked), broke_off);
    let read = told_with(Names::default(), ["{\"type\":".to_owned()]);
    assert!(read.starts_with("Protocol: an event could not be read"), "{read}");
}

#[test]
fn an_error_is_told_once_by_what_can_be_done() {
    let nested = |code: &str| json!({"type": "error", "error": {"type": code, "code": code, "message": "so it is"}});
    let flat =
        json!({"type": "error", "code": "server_error", "message": "so it is", "param": null});
    let failed = |code: &str| {
        json!({"type": "response.failed", "response": {"id": "r", "error":
            {"code": code, "message": "so it is"},
            "usage": {"input_tokens": 5, "output_tokens": 0}}})
    };
    let mut decode = ResponsesDecode::new(Names::default());
    let mut out = Vec::new();
    let first = decode.event(&nested("insufficient_quota").to_string(), &mut out).unwrap_err();
    assert_eq!(first.kind, FailureKind::QuotaSpent);
    assert!(first.message.contains("so it is"), "{}", first.message);
    assert_eq!(decode.event(&failed("insufficient_quota").to_string(), &mut out), Ok(()));
    assert_eq!(decode.end(&mut out), Ok(()));
    assert_eq!(out, []);

    let kind = |event: &Json| {
        let mut decode = ResponsesDecode::new(Names::default());
        decode.event(&event.to_string(), &mut Vec::new()).unwrap_err().kind
    };
    assert_eq!(kind(&flat), FailureKind::Busy);
    for (code, expected) in [
        ("server_error", FailureKind::Busy),
        ("rate_limit_exceeded", FailureKind::Busy),
        ("invalid_prompt", FailureKind::Refused),
        ("bio_policy", FailureKind::Refused),
        ("vector_store_timeout", FailureKind::Refused),
        ("image_content_policy_violation", FailureKind::Refused),
        ("context_length_exceeded", FailureKind::ContextTooLong),
    ] {
        assert_eq!(kind(&failed(code)), expected, "{code}");
        assert_eq!(kind(&nested(code)), expected, "{code}");
    }
    let used = told(&[failed("server_error")]);
    assert!(used.starts_with("Usage { input: 5"), "{used}");
    assert_eq!(
        kind(&json!({"error": {"message": "no", "code": "server_error"}})),
        FailureKind::Busy
    );
}

#[test]
fn too_many_items_are_an_error() {
    let nameless = |index: u64| added(index, &json!({"type": "function_call"})).to_string();
    let said = told_with(Names::default(), (0..5000).map(nameless));
    assert_eq!(said, "Protocol: the answer has more than 4096 items");
}

/// Any event that looks a little like one of the protocol's.
fn any_event() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec![
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.refusal.delta",
        "response.refusal.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.in_progress",
        "response.incomplete",
    ]);
    let item = || {
        let kinds = ["reasoning", "message", "function_call", "web_search_call", "?"];
        let kinds = prop::sample::select(kinds.to_vec());
        let words = prop::sample::select(vec!["", "a", "b", "{}", "ab"]);
        let status = prop::sample::select(vec!["completed", "incomplete"]);
        (kinds, words.clone(), words, status).prop_map(|(kind, id, text, status)| {
            json!({"type": kind, "id": id, "call_id": id, "name": id, "arguments": text,
                "status": status, "phase": text, "encrypted_content": text,
                "summary": [{"text": text}],
                "content": [{"text": text}, {"refusal": id}]})
        })
    };
    let words = prop::sample::select(vec!["", "a", "b", "ab", "{", "{}"]);
    let place = prop::option::of(0u64..3);
    let ids = prop::option::of(prop::sample::select(vec!["", "a", "b"]));
    let whole = (kinds, words, place, ids, item(), 0u64..2).prop_map(
        |(kind, text, place, id, item, part)| {
            let mut event = json!({"type": kind, "delta": text, "text": text, "refusal": text,
                "arguments": text, "item": item, "content_index": part, "summary_index": part});
            if let Some(place) = place {
                event["output_index"] = place.into();
            }
            if let Some(id) = id {
                event["item_id"] = id.into();
            }
            event.to_string()
        },
    );
    let terminal = item().prop_map(|item| {
        json!({"type": "response.completed", "response": {"output": [item, 1], "usage": []}})
            .to_string()
    });
    prop_oneof![40 => whole, 1 => terminal, 1 => "\\PC{0,40}"]
}

proptest! {
    #[test]
    fn any_events_keep_the_rules(events in prop::collection::vec(any_event(), 0..40)) {
        let mut decode = ResponsesDecode::new(Names::default());
        let mut answer = Assembler::new(1 << 20);
        let body_digest = Digest::of(b"");
        let prepared = Prepared { body_digest, encoder_version: 1, repairs: Vec::new() };
        answer.push(&Delta::Prepared(prepared)).unwrap();
        answer.push(&Delta::Started(Metadata::new())).unwrap();
        let mut is_over = false;
        for event in &events {
            let mut out = Vec::new();
            let taken = decode.event(event, &mut out);
            prop_assert!(!is_over || (out.is_empty() && taken.is_ok()), "{event} after the end");
            is_over |= taken.is_err();
            for delta in &out {
                is_over |= matches!(delta, Delta::Finished { .. });
                match answer.push(delta) {
                    Ok(_) | Err(Broken::TooLarge { .. }) => {}
                    Err(broken) => prop_assert!(false, "{broken}: {delta:?} of {event}"),
                }
            }
        }
        let mut out = Vec::new();
        prop_assert_eq!(decode.end(&mut out).is_ok(), is_over);
        prop_assert_eq!(out, []);
    }
}
