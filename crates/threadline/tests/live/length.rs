//! A server whose context is smaller than its profile says: it refuses, and is asked with less.

use std::sync::Arc;

use threadline::core::history::fact::{Fact, FailureKind, InvocationStarted};
use threadline::providers::dialect::Dialect;
use threadline::providers::models::StaticModels;
use threadline::providers::scripted::Scripted;
use threadline::{Ending, Setup, ask, sqlite};

use crate::server;
use crate::talk::{Talk, options, setup};

/// What the server can read.
const CONTEXT_TOKENS: u64 = 1_024;
/// What it is said to read.
const SAID_TOKENS: u64 = 1_800;
/// How much was said before.
const EXCHANGES: usize = 12;

#[tokio::test]
async fn a_prompt_that_is_too_long_is_sent_again_with_less() {
    let Some((server, _alone)) = server::small(CONTEXT_TOKENS).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.db");

    // The conversation grew elsewhere.
    let mut grown = Setup::offline(sqlite(&file).unwrap());
    grown.provider = Arc::new(Scripted::new("turn else\n say I see.\n".parse().unwrap()));
    grown.models = Arc::new(StaticModels::new([Scripted::target()]));
    (grown.tools, grown.widgets) = (Vec::new(), Vec::new());
    let mut assistant = grown.assistant("You are a helpful assistant.");
    assistant.joined.options = options(8);
    let runtime = grown.runtime().unwrap();
    let id = runtime.create(&[assistant]).await.unwrap();
    for number in 0..EXCHANGES {
        let text =
            format!("Note {number}: {}", "the ship sails over the sea to the isle. ".repeat(9));
        let ending = ask(&runtime, id, &text).await.unwrap();
        assert!(matches!(ending, Ending::Answered { .. }), "{ending}");
    }
    runtime.stop().await;
    let head = runtime.world().store.conversation(id).await.unwrap().head;
    drop(runtime);

    let runtime = setup(&server, SAID_TOKENS, &file).runtime().unwrap();
    let mut talk = Talk::go_on(runtime, id, head);
    let turn = talk.say(Dialect::OpenAiChat, "What is the capital of France?").await;
    assert_eq!(
        turn.kinds(),
        ["input", "invocation_started", "invocation_failed", "invocation_started", "output"]
    );
    let failed = turn.entries.iter().find_map(|entry| match &entry.fact {
        Fact::InvocationFailed(failed) => Some(failed),
        _ => None,
    });
    let failed = failed.unwrap();
    assert_eq!(failed.kind, FailureKind::ContextTooLong, "{}", failed.message);
    assert!(failed.retry && failed.message.contains("1024"), "{}", failed.message);
    let asked: Vec<&InvocationStarted> = turn
        .entries
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::InvocationStarted(started) => Some(started),
            _ => None,
        })
        .collect();
    assert!(asked[1].estimate_tokens < asked[0].estimate_tokens, "{asked:?}");
    let usage = turn.outputs()[0].usage;
    assert!(usage.input < CONTEXT_TOKENS, "{usage:?}");
    talk.end().await;
}
