//! Records that were written once are read for ever.

use std::collections::BTreeSet;

use serde::Serialize;
use threadline_core::history::fact::{
    Address, Answer, Approver, Authority, CallMode, Detail, Effect, EndReason, Fact, FailureKind,
    Limit, Purpose, Sender, Status, Stop, Thinking, Verdict,
};
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::sections::Shorter;
use threadline_core::id::{AgentId, Seq};

use crate::golden;

const UNRECOGNISED: &str = "unrecognised";

#[test]
fn every_kind_has_a_golden_file() {
    let files: BTreeSet<String> = golden::all().into_iter().map(|(name, _)| name).collect();
    let kinds = Fact::KINDS.iter().copied().chain([UNRECOGNISED]).map(str::to_owned).collect();
    assert_eq!(files, kinds);
}

#[test]
fn every_golden_record_is_read_and_written_again_byte_for_byte() {
    for (name, record) in golden::all() {
        let entry = record.open().unwrap();
        if name == UNRECOGNISED {
            assert!(!Fact::KINDS.contains(&entry.fact.kind()));
        } else {
            assert!(!matches!(entry.fact, Fact::Unrecognised(_)), "{name} is not understood");
            assert_eq!(entry.fact.kind(), name);
        }
        let again = Record::seal(&entry, record.salt, GENESIS).unwrap();
        assert_eq!(again, record, "{name}");
    }
}

#[test]
fn golden_records_verify_and_a_changed_byte_does_not() {
    for (name, record) in golden::all() {
        assert!(record.follows(GENESIS), "{name}");
        for change in [
            |record: &mut Record| record.envelope[1] ^= 1,
            |record: &mut Record| record.body[1] ^= 1,
            |record: &mut Record| record.salt[0] ^= 1,
            |record: &mut Record| record.hash.0[0] ^= 1,
        ] {
            let mut changed = record.clone();
            change(&mut changed);
            assert!(!changed.follows(GENESIS), "{name}");
        }
        assert!(!record.follows(record.hash), "{name} follows anything");
    }
}

#[test]
fn a_newer_kind_survives_byte_for_byte() {
    let record = golden::read(UNRECOGNISED);
    let entry = record.open().unwrap();
    let Fact::Unrecognised(fact) = &entry.fact else { panic!("it is recognised") };
    assert_eq!(fact.kind, "teleported");
    assert_eq!(fact.body, record.body);
    assert_eq!(entry.cause, Some(Seq(2)));
}

#[test]
fn a_known_kind_in_a_newer_form_survives_byte_for_byte() {
    let mut record = golden::read("pinned");
    record.body = br#"{"seq":3,"on":true,"until":9}"#.to_vec();
    let entry = record.open().unwrap();
    let Fact::Unrecognised(fact) = &entry.fact else { panic!("it is recognised") };
    assert_eq!((&*fact.kind, &fact.body), ("pinned", &record.body));
    assert_eq!(Record::seal(&entry, record.salt, GENESIS).unwrap().body, record.body);
}

#[test]
fn what_a_body_leaves_out_is_nothing() {
    for (kind, body) in [
        ("agent_joined", r#"{"name":"main"}"#),
        ("agent_left", "{}"),
        ("input", r#"{"sections":[{"text":"hi"}],"from":{"person":{}}}"#),
        ("tool_results", r#"{"output":2,"results":[3]}"#),
        ("invocation_failed", r#"{"started":2,"kind":"busy","message":"busy"}"#),
        ("tool_finished", r#"{"call":"c2.0","name":"read","status":"success"}"#),
        ("policy_set", r#"{"tool":"read","verdict":"allow"}"#),
        ("widget_changed", r#"{"widget":"notebook","change":"x"}"#),
        ("timer_set", r#"{"when":"2026-03-04T10:15:00.000000Z"}"#),
        ("turn_ended", r#"{"reason":"failed"}"#),
        ("recap", r#"{"from":1,"to":2}"#),
        ("described", "{}"),
        ("moved", "{}"),
    ] {
        let mut record = golden::read(kind);
        record.body = body.into();
        let entry = record.open().unwrap();
        assert!(!matches!(entry.fact, Fact::Unrecognised(_)), "{kind} is not understood");
        let again = Record::seal(&entry, record.salt, GENESIS).unwrap();
        assert_eq!(String::from_utf8(again.body).unwrap(), body, "{kind}");
    }
}

#[test]
fn what_was_added_to_a_kind_is_read_and_written_again() {
    for (kind, body) in [
        (
            "input",
            r#"{"sections":[],"attachments":[{"digest":"69c45c38b10dd5bc864100de29b079751ec51651f5793af7cf0466438568b6c3","size":48213,"media_type":"image/png","extent":{"pixels":{"width":1024,"height":768}}}],"from":{"person":{}}}"#,
        ),
        (
            "tool_finished",
            r#"{"call":"c6.0","name":"print","status":"success","attachments":[{"digest":"69c45c38b10dd5bc864100de29b079751ec51651f5793af7cf0466438568b6c3","size":48213,"media_type":"application/pdf","name":"oslo.pdf","extent":{"pages":3}}]}"#,
        ),
    ] {
        let mut record = golden::read(kind);
        record.body = body.into();
        let entry = record.open().unwrap();
        assert!(!matches!(entry.fact, Fact::Unrecognised(_)), "{kind} is not understood");
        let again = Record::seal(&entry, record.salt, GENESIS).unwrap();
        assert_eq!(String::from_utf8(again.body).unwrap(), body, "{kind}");
    }
}

/// Checks how choices are spelled in bodies; the golden files hold only one of each.
fn check_spelling<T: Serialize>(choices: &[T], expected: &str) {
    assert_eq!(serde_json::to_string(choices).unwrap(), expected);
}

#[test]
fn choices_keep_their_spelling() {
    check_spelling(
        &[
            Thinking::Off,
            Thinking::Adaptive,
            Thinking::Low,
            Thinking::Medium,
            Thinking::High,
            Thinking::Budget { tokens: 9 },
        ],
        r#"["off","adaptive","low","medium","high",{"budget":{"tokens":9}}]"#,
    );
    check_spelling(
        &[
            Sender::Person { name: None, channel: None },
            Sender::Agent { agent: AgentId(2), call: None },
            Sender::System,
            Sender::Timer { set: Seq(7) },
        ],
        r#"[{"person":{}},{"agent":{"agent":2}},"system",{"timer":{"set":7}}]"#,
    );
    check_spelling(
        &[Address::Primary, Address::Agent(AgentId(2)), Address::All],
        r#"["primary",{"agent":2},"all"]"#,
    );
    check_spelling(
        &[Stop::Done, Stop::Length, Stop::Refusal, Stop::Blocked, Stop::Paused],
        r#"["done","length","refusal","blocked","paused"]"#,
    );
    check_spelling(&[Purpose::Step, Purpose::Recap, Purpose::Title], r#"["step","recap","title"]"#);
    check_spelling(&[Detail::Lean, Detail::Normal, Detail::Full], r#"["lean","normal","full"]"#);
    check_spelling(
        &[
            FailureKind::Busy,
            FailureKind::ContextTooLong,
            FailureKind::Unauthorised,
            FailureKind::QuotaSpent,
            FailureKind::Refused,
            FailureKind::Protocol,
            FailureKind::Unreachable,
            FailureKind::Cancelled,
        ],
        r#"["busy","context_too_long","unauthorised","quota_spent","refused","protocol","unreachable","cancelled"]"#,
    );
    check_spelling(
        &[Effect::Read, Effect::Idempotent, Effect::Once],
        r#"["read","idempotent","once"]"#,
    );
    check_spelling(
        &[Authority::Rule("r".into()), Authority::Approval(Seq(8))],
        r#"[{"rule":"r"},{"approval":8}]"#,
    );
    check_spelling(
        &[Status::Success, Status::Failed, Status::Skipped, Status::Unknown],
        r#"["success","failed","skipped","unknown"]"#,
    );
    check_spelling(&[Answer::Allow, Answer::Deny], r#"["allow","deny"]"#);
    check_spelling(
        &[Approver::Person { name: None }, Approver::Timer, Approver::NewMessage],
        r#"[{"person":{}},"timer","new_message"]"#,
    );
    check_spelling(&[Verdict::Allow, Verdict::Ask, Verdict::Deny], r#"["allow","ask","deny"]"#);
    check_spelling(&[CallMode::Ask, CallMode::Send], r#"["ask","send"]"#);
    check_spelling(
        &[
            EndReason::Cancelled,
            EndReason::Limit(Limit::Steps),
            EndReason::Failed,
            EndReason::DoesNotFit,
            EndReason::Withdrawn,
        ],
        r#"["cancelled",{"limit":"steps"},"failed","does_not_fit","withdrawn"]"#,
    );
    check_spelling(
        &[Limit::Steps, Limit::Calls, Limit::SameCall, Limit::Tokens, Limit::Money, Limit::Depth],
        r#"["steps","calls","same_call","tokens","money","depth"]"#,
    );
    check_spelling(
        &[Shorter::Same, Shorter::Cut { head: 1, tail: 2 }, Shorter::Own("x".into())],
        r#"["same",{"cut":{"head":1,"tail":2}},{"own":"x"}]"#,
    );
}
