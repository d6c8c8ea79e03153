//! Events that cannot be read: in every dialect and over a real socket, each is an error of the
//! stream, and no text is lost silently.

use threadline_core::history::fact::FailureKind;
use threadline_core::provider::Delta;
use threadline_providers::dialect::Dialect;

use crate::recordings::framed;
use crate::server::Server;
use crate::wired::{Asker, HEAD, Outcome, ask, ends, says, whole};

/// The two values that the answers below have in place of their pieces.
const PIECES: [&str; 2] = ["«first»", "«second»"];

/// An answer of two pieces of text.
fn text(dialect: Dialect) -> Vec<&'static str> {
    match dialect {
        Dialect::OpenAiChat => vec![
            r#"{"choices":[{"index":0,"delta":{"content":«first»}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":«second»}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        Dialect::OpenAiResponses => vec![
            r#"{"type":"response.output_text.delta","output_index":0,"delta":«first»}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"delta":«second»}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        Dialect::Anthropic => vec![
            r#"{"type":"message_start","message":{"id":"m"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":«first»}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":«second»}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Dialect::Gemini => vec![
            r#"{"candidates":[{"content":{"parts":[{"text":«first»}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":«second»}]},"finishReason":"STOP"}]}"#,
        ],
    }
}

/// An answer with one call, whose arguments come in two pieces.
fn call(dialect: Dialect) -> Vec<&'static str> {
    match dialect {
        Dialect::OpenAiChat => vec![
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":«first»}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":«second»}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        Dialect::OpenAiResponses => vec![
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"look"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":«first»}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":«second»}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"look"}}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        Dialect::Anthropic => vec![
            r#"{"type":"message_start","message":{"id":"m"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"look","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":«first»}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":«second»}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Dialect::Gemini => vec![
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","willContinue":true}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":«first»}],"willContinue":true}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":«second»}]}}]},"finishReason":"STOP"}]}"#,
        ],
    }
}

/// What comes of an answer with these JSON values in the place of its pieces.
async fn answered(dialect: Dialect, events: &[&str], pieces: [&str; 2]) -> Outcome {
    let filled = events
        .iter()
        .map(|event| event.replace(PIECES[0], pieces[0]).replace(PIECES[1], pieces[1]));
    let server = Server::start([whole(HEAD, &framed(filled))]).await;
    Asker::speaking(dialect, &server.base()).ask().await
}

#[track_caller]
fn assert_failed(outcome: &Outcome, words: &str, what: &str) {
    let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{what}: {outcome:?}"));
    assert_eq!(error.kind, FailureKind::Protocol, "{what}: {error}");
    assert!(error.message.contains(words), "{what}: {words:?} is not in {:?}", error.message);
    assert!(!outcome.is_finished(), "{what}");
}

#[tokio::test]
async fn a_surrogate_pair_that_is_split_over_events_is_whole() {
    for dialect in Dialect::ALL {
        let said = answered(dialect, &text(dialect), [r#""one \ud83d""#, r#""\ude00 two""#]).await;
        assert_eq!(said.text(), "one 😀 two", "{dialect:?}");
        assert!(said.is_finished(), "{dialect:?}: {said:?}");

        // Gemini puts the arguments together; the others send the text of an object.
        let pieces = match dialect {
            Dialect::Gemini => [r#""x\ud83d""#, r#""\ude00""#],
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
                [r#""{\"a\":\"x\ud83d""#, r#""\ude00\"}""#]
            }
        };
        let called = answered(dialect, &call(dialect), pieces).await;
        assert_eq!(called.text(), r#"{"a":"x😀"}"#, "{dialect:?}");
        assert!(called.is_finished(), "{dialect:?}: {called:?}");
    }
}

#[tokio::test]
async fn half_a_surrogate_pair_fails_the_stream() {
    let table = [
        ([r#""one \ud83d""#, r#""two""#], "half of a surrogate pair"),
        ([r#""one""#, r#""two \ud83d""#], "half of a surrogate pair"),
        ([r#""one""#, r#""\ude00 two""#], "could not be read"),
        ([r#""one \ud83d!""#, r#""two""#], "could not be read"),
    ];
    for dialect in Dialect::ALL {
        for (pieces, words) in table {
            for events in [text(dialect), call(dialect)] {
                let outcome = answered(dialect, &events, pieces).await;
                assert_failed(&outcome, words, &format!("{dialect:?} {pieces:?}"));
            }
        }
    }
}

#[tokio::test]
async fn a_piece_that_is_no_text_fails_the_stream() {
    for dialect in Dialect::ALL {
        for piece in ["7", "true", r#"{"text":"lost"}"#] {
            for events in [text(dialect), call(dialect)] {
                if dialect == Dialect::OpenAiChat && piece.starts_with('{') {
                    // Some servers write the object of a call's arguments itself.
                    continue;
                }
                let outcome = answered(dialect, &events, [r#""said""#, piece]).await;
                let what = format!("{dialect:?} {piece} {}", events[0]);
                let words = if dialect == Dialect::OpenAiResponses {
                    "no text"
                } else {
                    "could not be read"
                };
                assert_failed(&outcome, words, &what);
            }
        }
    }
}

#[tokio::test]
async fn usage_that_is_no_count_does_not_fail_the_stream() {
    for dialect in Dialect::ALL {
        let mut events = text(dialect);
        let told = match dialect {
            Dialect::OpenAiChat => {
                r#"{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":7}}"#
            }
            Dialect::OpenAiResponses => {
                events.pop();
                r#"{"type":"response.completed","response":{"usage":{"input_tokens":-5,"output_tokens":7}}}"#
            }
            Dialect::Anthropic => {
                r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":-5,"output_tokens":7}}"#
            }
            Dialect::Gemini => {
                r#"{"usageMetadata":{"promptTokenCount":-5,"candidatesTokenCount":7}}"#
            }
        };
        let before_end = match dialect {
            Dialect::OpenAiChat | Dialect::Anthropic => events.len() - 1,
            Dialect::OpenAiResponses | Dialect::Gemini => events.len(),
        };
        events.insert(before_end, told);
        let outcome = answered(dialect, &events, [r#""a""#, r#""b""#]).await;
        assert!(outcome.is_finished() && outcome.text() == "ab", "{dialect:?}: {outcome:?}");
        let usage = outcome.deltas.iter().rev().find_map(|delta| match delta {
            Delta::Usage(usage) => Some((usage.input, usage.output)),
            _ => None,
        });
        // The largest number stands for what is none: whoever counts refuses it.
        assert_eq!(usage, Some((u64::MAX, 7)), "{dialect:?}");
    }
}

#[tokio::test]
async fn an_event_that_is_lost_on_the_way_fails_the_stream() {
    let stop = ends().replace("data: [DONE]\n\n", "");
    let table = [
        // Cut inside the last event, after the protocol's sign of the end.
        (says("said") + &stop + "data: {\"choices\":[{\"del", "broke off inside an event"),
        // An event without its framing, between others.
        (
            says("said") + "{\"error\":{\"message\":\"out of memory\"}}\n\n" + &ends(),
            "belongs to no event: out of memory",
        ),
        (String::from("{\"choices\":[]}\n\n") + &says("said") + &ends(), "belongs to no event"),
    ];
    for (body, words) in table {
        let outcome = ask(&Server::start([whole(HEAD, &body)]).await).await;
        assert_failed(&outcome, words, &body);
    }
    // Signs of life, fields of the framing, and lines that say nothing are no events.
    let life = ": alive\n\nretry: 3\nid: 7\nnonsense\n\n";
    let outcome = ask(&Server::start([whole(HEAD, &(says("said") + life + &ends()))]).await).await;
    assert!(outcome.is_finished() && outcome.text() == "said", "{outcome:?}");
}
