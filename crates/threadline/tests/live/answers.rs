//! Answers in one dialect: text as it streams, what it took, calls, a stop half way.

use std::sync::Arc;

use threadline::core::history::fact::{EndReason, Fact, FailureKind, Status, Stop};
use threadline::core::inbox::Body;
use threadline::core::provider::Delta;
use threadline::item;
use threadline::providers::dialect::Dialect;

use crate::lookup::{LOOKUP, Lookup};
use crate::server;
use crate::talk::{DIALECTS, FACTOR_PERCENT, Talk, Turn};

/// What a turn with one call looks like in the history.
pub(crate) const WITH_A_CALL: [&str; 8] = [
    "input",
    "invocation_started",
    "output",
    "tool_started",
    "tool_finished",
    "tool_results",
    "invocation_started",
    "output",
];

/// How long a story gets that nobody stops: longer than all else that is asked.
const STORY_TOKENS: u32 = 2_500;

macro_rules! in_every_dialect {
    ($($name:ident)*) => {
        mod openai_chat {
            $(#[tokio::test] async fn $name() { super::$name(super::Dialect::OpenAiChat).await; })*
        }
        mod openai_responses {
            $(#[tokio::test] async fn $name() { super::$name(super::Dialect::OpenAiResponses).await; })*
        }
        mod anthropic {
            $(#[tokio::test] async fn $name() { super::$name(super::Dialect::Anthropic).await; })*
        }
    };
}

in_every_dialect! { text_streams tools_are_called a_cancelled_answer_stops }

async fn text_streams(dialect: Dialect) {
    let Some((server, _alone)) = server::shared().await else { return };
    let mut talk = Talk::begin(server, Vec::new(), 40).await;
    let turn = talk.say(dialect, "Tell me about the sea.").await;
    assert_eq!(turn.kinds(), ["input", "invocation_started", "output"]);
    let [output] = turn.outputs()[..] else { panic!("{:?}", turn.kinds()) };
    assert_eq!(&*output.invocation.dialect, dialect.name());
    assert!(matches!(output.stop, Stop::Done | Stop::Length), "{:?}", output.stop);
    assert!(!output.text().trim().is_empty());
    // It came piece by piece, and its end was told.
    assert!(turn.fragments().len() >= 3, "{:?}", turn.fragments());
    assert_eq!(turn.fragments().concat(), output.text());
    let ends = turn.deltas.iter().filter(|delta| matches!(delta, Delta::Finished { .. }));
    assert_eq!(ends.count(), 1);
    assert!(matches!(turn.deltas.last(), Some(Delta::Finished { .. })));
    // What it took was told.
    assert!(output.usage.input > 0, "{:?}", output.usage);
    assert!((1..=40).contains(&output.usage.output), "{:?}", output.usage);
    talk.end().await;
}

async fn tools_are_called(dialect: Dialect) {
    let Some((server, _alone)) = server::shared().await else { return };
    let lookup = Lookup::new();
    let mut talk = Talk::begin(server, vec![Arc::new(lookup.clone())], 40).await;
    let turn = talk.say(dialect, "How high is the tower?").await;
    looked_up(&turn, dialect);
    assert_eq!(lookup.asked().len(), 1);
    talk.end().await;
}

/// Sees that a turn had one call, its result, and an answer.
pub(crate) fn looked_up(turn: &Turn, dialect: Dialect) {
    assert_eq!(turn.kinds(), WITH_A_CALL, "{:?}", turn.entries);
    let [asks, answers] = turn.outputs()[..] else { panic!("two outputs") };
    let call = asks.calls().next().unwrap();
    assert_eq!(&*call.name, LOOKUP);
    assert!(call.complete && call.provider_id.is_some(), "{call:?}");
    assert_eq!(asks.stop, Stop::Done);
    assert!(!answers.text().trim().is_empty());
    for output in [asks, answers] {
        assert_eq!(&*output.invocation.dialect, dialect.name());
        assert!(output.usage.input > 0 && output.usage.output > 0, "{:?}", output.usage);
    }
    let finished = turn.entries.iter().find_map(|entry| match &entry.fact {
        Fact::ToolFinished(finished) => Some((entry.seq, finished)),
        _ => None,
    });
    let (seq, finished) = finished.unwrap();
    assert_eq!((&*finished.name, finished.status), (LOOKUP, Status::Success));
    let sealed = turn.entries.iter().find_map(|entry| match &entry.fact {
        Fact::ToolResults(sealed) => Some(sealed.results.clone()),
        _ => None,
    });
    assert_eq!(sealed, Some(vec![seq]));
}

async fn a_cancelled_answer_stops(dialect: Dialect) {
    let Some((server, _alone)) = server::shared().await else { return };
    let mut talk = Talk::begin(server, Vec::new(), STORY_TOKENS).await;
    let mut turn = Turn::default();
    talk.submit(dialect, "Write a very long story about the sea.").await;
    while turn.fragments().len() < 3 {
        talk.see(&mut turn).await;
    }
    talk.runtime.submit(talk.id, &item(Body::Cancel)).await.unwrap();
    let ended = loop {
        talk.see(&mut turn).await;
        if let Some(Fact::TurnEnded(ended)) = turn.entries.last().map(|entry| &entry.fact) {
            break ended.reason;
        }
    };
    assert_eq!(ended, EndReason::Cancelled);
    assert_eq!(turn.kinds(), ["input", "invocation_started", "invocation_failed", "turn_ended"]);
    let failed = turn.entries.iter().find_map(|entry| match &entry.fact {
        Fact::InvocationFailed(failed) => Some(failed),
        _ => None,
    });
    let failed = failed.unwrap();
    assert_eq!(failed.kind, FailureKind::Cancelled);
    assert!(!failed.streamed.is_empty(), "what had come is kept");
    // The server did not go on for nobody, and answers what is asked next.
    let kept = server.most_kept_when_idle();
    assert!(kept < u64::from(STORY_TOKENS), "{kept} tokens");
    talk.end().await;
    let mut talk = Talk::begin(server, Vec::new(), 8).await;
    let next = talk.say(dialect, "What is the capital of France?").await;
    assert_eq!(next.outputs().len(), 1);
    talk.end().await;
}

#[tokio::test]
async fn a_long_prompt_is_counted_alike_in_every_dialect() {
    let Some((server, _alone)) = server::shared().await else { return };
    let words = "The old lighthouse keeper walked down to the harbour in the morning. ".repeat(100);
    let mut read = Vec::new();
    for dialect in DIALECTS {
        let mut talk = Talk::begin(server, Vec::new(), 4).await;
        let turn = talk.say(dialect, &words).await;
        let estimate = turn.entries.iter().find_map(|entry| match &entry.fact {
            Fact::InvocationStarted(started) => Some(started.estimate_tokens),
            _ => None,
        });
        let expected = estimate.unwrap() * u64::from(FACTOR_PERCENT) / 100;
        let usage = turn.outputs()[0].usage;
        assert!(expected > 1_000, "{expected}");
        let apart = usage.input.abs_diff(expected);
        assert!(apart * 4 <= expected, "{} instead of about {expected}", usage.input);
        read.push(usage.input);
        talk.end().await;
    }
    // What came from the server's cache counts as well, whatever a dialect calls it.
    assert!(read.iter().all(|tokens| *tokens == read[0]), "{read:?}");
}
