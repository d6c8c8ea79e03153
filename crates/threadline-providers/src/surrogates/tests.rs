//! Tests of halves: events with split pairs in, whole events or a failure out.

use proptest::prelude::*;
use threadline_core::history::fact::{FailureKind, Stop};
use threadline_core::history::metadata::Metadata;

use super::*;

/// Keeps the events that it is given; `end` finishes the answer.
#[derive(Default)]
struct Events(Vec<String>);

impl Decode for Events {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        self.0.push(data.to_owned());
        if data == "end" {
            out.push(Delta::Finished { stop: Stop::Done, metadata: Metadata::new() });
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Delta>) -> Result<(), Failed> {
        Ok(())
    }
}

/// What a decoder is given of events, and the failure, if there is one.
fn joined(events: &[&str]) -> (Vec<String>, Option<Failed>) {
    let mut joiner = Joiner::new(Events::default());
    let mut out = Vec::new();
    let mut all = events.iter().try_for_each(|event| joiner.event(event, &mut out));
    if all.is_ok() {
        all = joiner.end(&mut out);
    }
    assert!(all.is_ok() || out.is_empty(), "nothing is finished that failed");
    (joiner.decoder.0, all.err())
}

#[test]
fn a_pair_that_is_split_over_events_is_joined() {
    let table: &[(&[&str], &[&str])] = &[
        (
            &[r#"{"content":"a\ud83d"}"#, r#"{"content":"\ude00b"}"#, "end"],
            &[r#"{"content":"a"}"#, r#"{"content":"\ud83d\ude00b"}"#, "end"],
        ),
        // Events between them that say nothing in this member, and a half that closes and opens.
        (
            &[
                r#"{"text":"\uD83D","type":"text"}"#,
                "ping",
                r#"{"text":"","other":"x"}"#,
                r#"{"text" : "\uDE00 \ud83d"}"#,
                r#"{"text":"\ude01"}"#,
            ],
            &[
                r#"{"text":"","type":"text"}"#,
                "ping",
                r#"{"text":"","other":"x"}"#,
                r#"{"text" : "\uD83D\uDE00 "}"#,
                r#"{"text":"\ud83d\ude01"}"#,
            ],
        ),
        // Two members wait at a time, and the parts of one list follow each other.
        (
            &[
                r#"{"reasoning":"x\ud83d","details":[{"text":"x\ud83d"}]}"#,
                r#"{"reasoning":"\ude00","details":[{"text":"\ude00\ud83d"},{"text":"\ude01"}]}"#,
            ],
            &[
                r#"{"reasoning":"x","details":[{"text":"x"}]}"#,
                r#"{"reasoning":"\ud83d\ude00","details":[{"text":"\ud83d\ude00"},{"text":"\ud83d\ude01"}]}"#,
            ],
        ),
        // What only looks like a half: a whole pair, and an escaped backslash.
        (&[r#"{"text":"\ud83d\ude00"}"#], &[r#"{"text":"\ud83d\ude00"}"#]),
        (&[r#"{"text":"\\ud83d"}"#], &[r#"{"text":"\\ud83d"}"#]),
        // Halves that no piece ends with are left to the decoder.
        (&[r#"{"token":"\ud83d"}"#], &[r#"{"token":"\ud83d"}"#]),
        (&[r#"{"text":"\ud83d!"}"#], &[r#"{"text":"\ud83d!"}"#]),
        (&[r#"{"text":"\ude00"}"#], &[r#"{"text":"\ude00"}"#]),
    ];
    for (events, expected) in table {
        let (given, failed) = joined(events);
        assert_eq!(given, *expected);
        assert_eq!(failed, None, "{events:?}");
    }
}

#[test]
fn a_half_without_its_other_half_is_a_failure() {
    let table: &[&[&str]] = &[
        &[r#"{"text":"a\ud83d"}"#],
        &[r#"{"text":"a\ud83d"}"#, "end"],
        &[r#"{"text":"a\ud83d"}"#, r#"{"text":"b"}"#],
        &[r#"{"text":"a\ud83d"}"#, r#"{"text":"\ud83d"}"#],
        &[r#"{"text":"a\ud83d"}"#, r#"{"delta":"\ude00"}"#],
    ];
    for events in table {
        let failed = joined(events).1.unwrap();
        assert_eq!(failed.kind, FailureKind::Protocol);
        assert_eq!(
            failed.message,
            "the answer could not be read: `text` has half of a surrogate pair without the other"
        );
    }
}

#[test]
fn halves_are_replaced_where_they_are_sent() {
    for (json, expected) in [
        (r#"{"a":"x\ud83dy\uDE00"}"#, r#"{"a":"x\ufffdy\ufffd"}"#),
        (r#"{"a":"\ud83d\ude00\\ud83d é"}"#, r#"{"a":"\ud83d\ude00\\ud83d é"}"#),
    ] {
        assert_eq!(replace_lone_halves(json), expected);
    }
}

proptest! {
    /// Any text that is cut by UTF-16 units comes out as it was.
    #[test]
    fn any_text_cut_anywhere_is_whole_again(
        text in "[a😀\\\\\"𝄞é]{1,12}",
        cuts in prop::collection::vec(any::<bool>(), 24),
    ) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut events = vec![String::new()];
        for (unit, cut) in units.iter().zip(cuts) {
            if cut {
                events.push(String::new());
            }
            let escape = format!("\\u{unit:04x}");
            events.last_mut().unwrap().push_str(&escape);
        }
        let events: Vec<String> =
            events.iter().map(|escaped| format!(r#"{{"text":"{escaped}"}}"#)).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (given, failed) = joined(&events);
        prop_assert_eq!(failed, None);
        let mut whole = String::new();
        for event in given {
            let read: serde_json::Value = serde_json::from_str(&event).unwrap();
            whole.push_str(read["text"].as_str().unwrap());
        }
        prop_assert_eq!(whole, text);
    }

    /// Whatever is no JSON comes to no panic.
    #[test]
    fn any_text_is_read_or_refused(events in prop::collection::vec("\\PC*|[\\\\u\"dD83e:{}t]{0,30}", 0..4)) {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        drop(joined(&events));
        for event in events {
            drop(replace_lone_halves(event));
        }
    }
}
