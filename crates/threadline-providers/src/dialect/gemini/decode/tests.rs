//! Streams of our own making, rule by rule, and any stream at all.

use proptest::prelude::*;
use serde_json::json;
use threadline_core::history::fact::{Block, Digest, FailureKind};
use threadline_core::provider::{Assembled, Assembler, Broken, Partial as Streamed, Prepared};

use super::*;

/// What became of a stream: the answer, or the error and what had streamed.
struct Read {
    deltas: Vec<Delta>,
    failed: Option<Failed>,
}

impl Read {
    fn of<S: AsRef<str>>(events: &[S]) -> Self {
        Self::named(events, Names::default())
    }

    fn named<S: AsRef<str>>(events: &[S], names: Names) -> Self {
        let mut decode = GeminiDecode::new(names);
        let mut deltas = Vec::new();
        let mut read = events.iter().try_for_each(|data| decode.event(data.as_ref(), &mut deltas));
        if read.is_ok() {
            read = decode.end(&mut deltas);
        }
        Self { deltas, failed: read.err() }
    }

    fn assembled(&self) -> Result<Result<Assembled, Box<Streamed>>, Broken> {
        let (body_digest, repairs) = (Digest::of(b""), Vec::new());
        let prepared = Prepared { body_digest, encoder_version: 1, repairs };
        let mut assembler = Assembler::default();
        assembler.push(&Delta::Prepared(prepared))?;
        assembler.push(&Delta::Started(Metadata::new()))?;
        for delta in &self.deltas {
            assembler.push(delta)?;
        }
        Ok(assembler.finish().map_err(Box::new))
    }

    fn answer(&self) -> Assembled {
        assert_eq!(self.failed, None);
        self.assembled().unwrap().unwrap()
    }

    /// The blocks of a whole answer, a line each.
    fn lines(&self) -> String {
        self.answer().blocks.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn line(block: &Block) -> String {
    match block {
        Block::Thinking(thinking) => format!("thinking {:?} {:?}", thinking.text, thinking.state),
        Block::Text(text) => format!("text {:?} {:?}", text.text, text.state),
        Block::ToolCall(call) => format!(
            "call {} {:?} {} {:?} {}",
            call.name,
            call.provider_id,
            call.arguments,
            call.state,
            if call.complete { "whole" } else { "cut" }
        ),
        Block::Foreign(foreign) => {
            format!("foreign {} {:?} {}", foreign.kind, foreign.text, foreign.state)
        }
    }
}

/// An event with these parts.
fn parts(parts: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}},"index":0}}]}}"#)
}

/// An event with a reason to finish.
fn finish(reason: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{}},"finishReason":"{reason}"}}]}}"#)
}

fn read(pieces: &[&str]) -> Read {
    let mut events: Vec<String> = pieces.iter().map(|piece| parts(piece)).collect();
    events.push(finish("STOP"));
    Read::of(&events)
}

#[test]
fn texts_and_thoughts_are_joined_with_their_own_kind() {
    let read = read(&[
        r#"{"text":"Let me ","thought":true}"#,
        r#"{"text":"see.","thought":true},{"text":"It "}"#,
        r#"{"text":"is \"4\"."},{"text":""}"#,
        r#"{"text":"Sure?","thought":true}"#,
    ]);
    insta::assert_snapshot!(read.lines(), @r#"
    thinking "Let me see." None
    text "It is \"4\"." None
    thinking "Sure?" None
    "#);
    let answer = read.answer();
    assert_eq!((answer.stop, answer.metadata), (Stop::Done, Metadata::new()));
}

#[test]
fn a_signed_part_is_joined_with_no_other() {
    let read = read(&[
        r#"{"text":"a"},{"text":"b","thoughtSignature":"s1"}"#,
        r#"{"text":"c","thoughtSignature":"s2"},{"text":"d"}"#,
        r#"{"text":"why","thought":true,"thoughtSignature":"s3"}"#,
        r#"{"text":"","thoughtSignature":"s4"}"#,
        r#"{"thoughtSignature":"s5"}"#,
    ]);
    insta::assert_snapshot!(read.lines(), @r#"
    text "a" None
    text "b" Some("s1")
    text "c" Some("s2")
    text "d" None
    thinking "why" Some("s3")
    text "" Some("s4")
    text "" Some("s5")
    "#);
}

#[test]
fn calls_keep_their_raw_arguments_ids_and_signatures() {
    let names = Names::new(&["files.read".into()], 64);
    let events = [
        parts(
            r#"{"text":"Looking."},
               {"functionCall":{"id":"c1","name":"files_read","args":{"b": 1.0,  "a":[]}},"thoughtSignature":"s"},
               {"functionCall":{"name":"now"}}"#,
        ),
        finish("STOP"),
    ];
    let read = Read::named(&events, names);
    insta::assert_snapshot!(read.lines(), @r#"
    text "Looking." None
    call files.read Some("c1") {"b": 1.0,  "a":[]} Some("s") whole
    call now None  None whole
    "#);
}

#[test]
fn at_the_limit_a_call_is_whole_only_with_its_arguments() {
    let events = [
        parts(r#"{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"b"}}"#),
        finish("MAX_TOKENS"),
    ];
    let read = Read::of(&events);
    insta::assert_snapshot!(read.lines(), @r"
    call a None {} None whole
    call b None  None cut
    ");
    assert_eq!(read.answer().stop, Stop::Length);
}

#[test]
fn arguments_that_come_in_pieces_are_put_together() {
    let read = read(&[
        r#"{"functionCall":{"name":"weather","willContinue":true},"thoughtSignature":"s"}"#,
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Bos","willContinue":true}],"willContinue":true}}"#,
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"ton"},{"jsonPath":"$.days","numberValue":2}],"willContinue":true}}"#,
        r#"{"functionCall":{}}"#,
        r#"{"functionCall":{"name":"now","willContinue":true}}"#,
        r#"{"functionCall":{}}"#,
        r#"{"functionCall":{}}"#,
        r#"{"functionCall":{"name":"cut","willContinue":true}}"#,
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","boolValue":true}],"willContinue":true}}"#,
    ]);
    insta::assert_snapshot!(read.lines(), @r#"
    call weather None {"city":"Boston","days":2} Some("s") whole
    call now None  None whole
    call cut None  None cut
    "#);
    let odd = r#"{"functionCall":{"name":"x","partialArgs":[{"jsonPath":"?","stringValue":""}]}}"#;
    let failed = Read::of(&[parts(odd)]).failed.unwrap();
    assert_eq!(failed.kind, FailureKind::Protocol);
}

#[test]
fn a_part_of_the_answer_that_cannot_be_read_is_a_failure() {
    for odd in [
        parts(r#"{"text":7}"#),
        parts(r#"{"text":"a\ud83d!"}"#),
        parts(r#"{"functionCall":{"name":7}}"#),
        r#"[["no object"]]"#.to_owned(),
        "7".to_owned(),
    ] {
        let failed = Read::of(&[odd.as_str()]).failed.unwrap();
        assert_eq!(failed.kind, FailureKind::Protocol);
        assert!(failed.message.starts_with("an event could not be read: "), "{odd}: {failed:?}");
    }
    for lost in [
        r#"{"functionCall":{"args":{"a":1}}}"#,
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","boolValue":true}]}}"#,
    ] {
        let failed = Read::of(&[parts(lost)]).failed.unwrap();
        assert_eq!(failed.message, "arguments came of a call that never began");
    }
}

#[test]
fn what_others_can_read_of_a_part_has_no_half_of_a_pair() {
    let code = r#"{"executableCode":{"language":"PYTHON","code":"x\ud83d"}}"#;
    assert_eq!(read(&[code]).lines(), format!("foreign executableCode \"x\u{fffd}\" {code}"));
}

#[test]
fn what_only_the_provider_understands_is_kept_whole() {
    let read = read(&[
        r#"{"text":"So: "},{"executableCode":{"language":"PYTHON","code":"print(1)"},"thoughtSignature":"s"}"#,
        r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}},{"text":"one"}"#,
        r#"{"thought":true,"inlineData":{"mimeType":"image/png","data":"AA=="}},{"newThing":[1, 2]},{}"#,
    ]);
    insta::assert_snapshot!(read.lines(), @r#"
    text "So: " None
    foreign executableCode "print(1)" {"executableCode":{"language":"PYTHON","code":"print(1)"},"thoughtSignature":"s"}
    foreign codeExecutionResult "1\n" {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}
    text "one" None
    foreign inlineData "" {"thought":true,"inlineData":{"mimeType":"image/png","data":"AA=="}}
    foreign newThing "" {"newThing":[1, 2]}
    "#);
}

#[test]
fn the_last_reason_counts_and_text_after_the_first_too() {
    let events = [
        parts(r#"{"text":"one "}"#),
        finish("MAX_TOKENS"),
        parts(r#"{"text":"two"}"#),
        finish("STOP"),
    ];
    let answer = Read::of(&events).answer();
    assert_eq!(answer.stop, Stop::Done);
    assert_eq!(answer.blocks.iter().map(line).collect::<String>(), r#"text "one two" None"#);
}

#[test]
fn every_reason_to_finish_has_its_meaning() {
    let stops = [
        ("STOP", Stop::Done),
        ("MAX_TOKENS", Stop::Length),
        ("SAFETY", Stop::Blocked),
        ("RECITATION", Stop::Blocked),
        ("BLOCKLIST", Stop::Blocked),
        ("PROHIBITED_CONTENT", Stop::Blocked),
        ("SPII", Stop::Blocked),
        ("IMAGE_SAFETY", Stop::Blocked),
        ("IMAGE_PROHIBITED_CONTENT", Stop::Blocked),
        ("CONTINUATION", Stop::Paused),
    ];
    for (reason, stop) in stops {
        let answer = Read::of(&[finish(reason)]).answer();
        assert_eq!(answer.stop, stop, "{reason}");
        let told = answer.metadata.get("finish_reason").cloned();
        let expected = (reason != "STOP").then(|| Value::Text(reason.to_owned()));
        assert_eq!(told, expected, "{reason}");
    }
    let failures = [
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "OTHER",
        "LANGUAGE",
        "NO_IMAGE",
        "NOT_KNOWN_YET",
    ];
    for reason in failures {
        let failed = Read::of(&[finish(reason)]).failed.unwrap();
        assert_eq!(failed, Failed::protocol(format!("the model ended with {reason}")));
    }
    let event = r#"{"candidates":[{"finishReason":"OTHER","finishMessage":"No idea."}]}"#;
    let failed = Read::of(&[event]).failed.unwrap();
    assert_eq!(failed.message, "the model ended with OTHER: No idea.");
}

#[test]
fn a_request_that_is_blocked_is_an_answer() {
    let event = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7},"responseId":"r","modelVersion":"m"}"#;
    let answer = Read::of(&[event]).answer();
    assert_eq!((answer.stop, answer.usage.input), (Stop::Blocked, 7));
    assert!(answer.blocks.is_empty());
    let told = ["block_reason", "response_id", "model_version"].map(|key| answer.metadata.get(key));
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(told, [Some(&text("PROHIBITED_CONTENT")), Some(&text("r")), Some(&text("m"))]);
}

#[test]
fn a_stream_without_its_end_broke_off() {
    for events in [vec![], vec![parts(r#"{"text":"hel"}"#)], vec![finish("")]] {
        let read = Read::of(&events);
        let failed = Failed::protocol("the answer broke off before its end");
        assert_eq!(read.failed.as_ref(), Some(&failed));
        assert!(read.assembled().unwrap().is_err());
    }
}

#[test]
fn numbers_are_not_overwritten_with_nothing() {
    let usage = |usage: &str| format!(r#"{{"usageMetadata":{usage}}}"#);
    let events = [
        usage(r#"{"trafficType":"ON_DEMAND"}"#),
        usage(r#"{"promptTokenCount":10,"toolUsePromptTokenCount":5,"cachedContentTokenCount":4}"#),
        usage(r#"{"promptTokenCount":10,"thoughtsTokenCount":30}"#),
        usage(r#"{"candidatesTokenCount":2}"#),
        usage(r#"{"trafficType":"ON_DEMAND"}"#),
        finish("STOP"),
    ];
    let read = Read::of(&events);
    let expected = Usage {
        input: 15,
        output: 32,
        cached_input: Some(4),
        cache_write: None,
        reasoning: Some(30),
        estimated: false,
    };
    assert_eq!(read.answer().usage, expected);
    let told = read.deltas.iter().filter(|delta| matches!(delta, Delta::Usage(_))).count();
    assert_eq!(told, 3);
}

#[test]
fn errors_in_the_stream_are_told() {
    let error =
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    for event in [error.to_owned(), format!("[{error}]"), format!("[{error}\n]\n")] {
        let read = Read::of(&[parts(r#"{"text":"a"}"#), event]);
        let failed = read.failed.as_ref().unwrap();
        assert_eq!(failed.kind, FailureKind::Busy, "{failed:?}");
        assert!(failed.message.contains("overloaded"), "{}", failed.message);
        assert_eq!(read.assembled().unwrap().unwrap_err().streamed.len(), 1);
    }
    for event in ["nonsense", "{", "7", r#"{"candidates":7}"#, "[1]"] {
        assert_eq!(Read::of(&[event]).failed.unwrap().kind, FailureKind::Protocol, "{event}");
    }
}

#[test]
fn padding_lists_and_nulls_are_taken_and_other_answers_are_not() {
    let other = r#"{"candidates":[{"content":{"parts":[{"text":"no"}]},"index":1,"finishReason":"SAFETY"}]}"#;
    let events = [
        format!(
            "  [{},{}]  ",
            parts(r#"{"text":"yes","thought":null,"unknown":1}"#),
            finish("STOP")
        ),
        other.to_owned(),
        r#"{"candidates":null,"usageMetadata":null,"unknown":{}}"#.to_owned(),
        r#"{"candidates":[{"content":null,"finishReason":null}]}"#.to_owned(),
        r#"{"candidates":[{"content":{"parts":null}}]}"#.to_owned(),
        "[DONE]".to_owned(),
        " ".to_owned(),
    ];
    let read = Read::of(&events);
    assert_eq!(read.lines(), r#"text "yes" None"#);
    assert_eq!(read.answer().stop, Stop::Done);
}

/// Events that are nearly right, in any order.
fn events() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec!["", "a", "b c", "\"\\"]);
    let call = (prop::option::of(text.clone()), 0..4usize, any::<Option<bool>>()).prop_map(
        |(name, pieces, goes_on)| {
            let piece = json!({"jsonPath": "$.a[0]", "stringValue": "x"});
            let mut call = json!({"name": name, "willContinue": goes_on});
            match pieces {
                0 => call["args"] = json!({"a": 1}),
                1 => call["partialArgs"] = json!([piece]),
                2 => call["partialArgs"] = json!([piece, {"jsonPath": "$.a", "numberValue": 2}]),
                _ => {}
            }
            json!({"functionCall": call})
        },
    );
    let part = prop_oneof![
        (text.clone(), any::<bool>())
            .prop_map(|(text, thought)| json!({"text": text, "thought": thought})),
        text.clone().prop_map(|sign| json!({"text": sign, "thoughtSignature": sign})),
        call,
        Just(json!({"executableCode": {"code": 7}})),
        Just(json!({"text": 7})),
        Just(json!({})),
    ];
    let reason =
        prop::sample::select(vec!["STOP", "MAX_TOKENS", "SAFETY", "OTHER", "CONTINUATION"]);
    let event = (prop::collection::vec(part, 0..4), prop::option::weighted(0.3, reason), 0..30u8);
    let event = event.prop_map(|(parts, reason, odd)| {
        let candidate = json!({"content": {"parts": parts}, "finishReason": reason});
        let event = json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": odd}});
        match odd {
            0 => json!([event, event]),
            1 => json!({"error": {"code": 500, "message": "x"}}),
            2 => json!({"promptFeedback": {"blockReason": "SAFETY"}}),
            _ => event,
        }
        .to_string()
    });
    prop_oneof![19 => event, 1 => "\\PC{0,12}"]
}

proptest! {
    #[test]
    fn any_stream_keeps_the_rules_of_deltas(events in prop::collection::vec(events(), 0..12)) {
        let read = Read::of(&events);
        let answer = read.assembled();
        prop_assert!(answer.is_ok(), "{:?} of {events:#?}", answer);
        let finished = matches!(read.deltas.last(), Some(Delta::Finished { .. }));
        prop_assert_eq!(finished, read.failed.is_none());
    }

    #[test]
    fn how_texts_are_cut_into_events_changes_nothing(
        text in "\\PC{1,40}",
        cuts in prop::collection::vec(0usize..40, 0..5),
    ) {
        let letters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(letters.len())).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([letters.len()]);
        let mut from = 0;
        let mut events = Vec::new();
        for end in ends {
            let piece: String = letters[from..end].iter().collect();
            events.push(parts(&json!({"text": piece}).to_string()));
            from = end;
        }
        events.push(finish("STOP"));
        let expected = format!("text {text:?} None");
        prop_assert_eq!(Read::of(&events).lines(), expected);
    }
}
