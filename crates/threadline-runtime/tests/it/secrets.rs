//! Keys that the process knows: no answer and no result brings them into a history.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::stream;
use threadline_core::clock::Clock;
use threadline_core::drive::{Notice, Rest};
use threadline_core::history::fact::{
    AgentJoined, Digest, Effect, FailureKind, Input, Status, Stop, Verdict,
};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::id::{Seq, TenantId};
use threadline_core::inbox::{Body, Mode};
use threadline_core::provider::{
    BlockIndex, BlockKind, Delta, DeltaStream, Prepared, Provider, ProviderError, Request,
};
use threadline_core::redact::Secrets;
use threadline_core::store::Storage;
use threadline_core::tokens::Estimator;
use threadline_core::tool::{
    Handling, Product, ProgressReport, RunRules, Tool, ToolContext, ToolOutcome, ToolResult,
    ToolSpec,
};
use threadline_providers::models::StaticModels;
use threadline_providers::scripted::Scripted;
use threadline_runtime::{NewAgent, News, Pace, Runtime, Settled, World};
use threadline_stores::memory::MemoryStore;
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;

use crate::house::item;

const KEY: &str = "sk-0123456789-abcdef";
/// The same in base64.
const ENCODED: &str = "c2stMDEyMzQ1Njc4OS1hYmNkZWY=";

type Answer = Vec<Result<Delta, ProviderError>>;

/// Gives the answers it was given, one after another. The key becomes known when it is sent.
struct Answers(Mutex<VecDeque<Answer>>, Arc<Secrets>);

impl Provider for Answers {
    fn invoke(&self, _: Request) -> DeltaStream {
        let prepared =
            Prepared { body_digest: Digest::of(b""), encoder_version: 1, repairs: Vec::new() };
        let told = Metadata::fitted([("request_id", Value::Text(format!("id of {KEY}")))]);
        let answer = self.0.lock().unwrap().pop_front().unwrap_or_default();
        let secrets = Arc::clone(&self.1);
        let started = stream::once(async move {
            secrets.add("API_KEY", KEY);
            Ok(Delta::Started(told))
        });
        let prepared = stream::iter([Ok(Delta::Prepared(prepared))]);
        Box::pin(stream::StreamExt::chain(
            stream::StreamExt::chain(prepared, started),
            stream::iter(answer),
        ))
    }
}

/// A block whose state comes first, and then its text, character by character.
fn block(number: u32, kind: BlockKind, state: Option<&str>, text: &str) -> Vec<Delta> {
    let block = BlockIndex(number);
    let state = state.map(|state| Delta::State { block, state: state.into() });
    let fragment = |c: char| Delta::Fragment { block, text: c.to_string().into() };
    let begin = [Delta::Begin { block, kind }].into_iter();
    begin.chain(state).chain(text.chars().map(fragment)).chain([Delta::End { block }]).collect()
}

fn call(number: u32, name: &str, arguments: &str) -> Vec<Delta> {
    let kind = BlockKind::ToolCall { name: name.into(), provider_id: None };
    block(number, kind, None, arguments)
}

fn finished(blocks: Vec<Vec<Delta>>) -> Answer {
    let end = Delta::Finished { stop: Stop::Done, metadata: Metadata::new() };
    blocks.into_iter().flatten().chain([end]).map(Ok).collect()
}

/// Tells the key in every way that a tool has, and counts how often it ran.
struct Leak(ToolSpec, Arc<Mutex<u32>>);

#[async_trait]
impl Tool for Leak {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &str, context: &ToolContext) -> ToolOutcome {
        *self.1.lock().unwrap() += 1;
        let report = format!("reading {KEY}");
        context.progress.report(ProgressReport { text: report.into(), done: None, of: None });
        ToolOutcome::Failed(ToolResult {
            attachments: vec![Product::Made {
                bytes: format!("KEY={KEY}").into_bytes().into(),
                media_type: "text/plain".into(),
                name: Some(KEY.into()),
            }],
            data: Some(format!("{{\"key\":\"{ENCODED}\"}}").into()),
            error: Some(format!("no such key: {KEY}")),
            ..ToolResult::text(format!("{KEY}\n{}", "line\n".repeat(2_000)))
        })
    }
}

/// Has a conversation with these answers; gives all that was recorded and published, and how often
/// the tool ran.
async fn talk(answers: Vec<Answer>) -> (String, u32) {
    let (clock, ran) = (Arc::new(ManualClock::new()), Arc::default());
    let secrets = Arc::new(Secrets::default());
    secrets.declare("API_KEY");
    let ids = Arc::new(SeededIds::new(7));
    let clock_of = || Arc::clone(&clock) as Arc<dyn Clock>;
    let store = MemoryStore::new(TenantId::NIL, "test".to_owned(), clock_of(), ids.clone());
    let store: Arc<dyn Storage> = Arc::new(store);
    let spec = ToolSpec {
        name: "leak".into(),
        description: "tells the key".into(),
        schema: r#"{"type":"object","properties":{"text":{"type":"string"}}}"#.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Run(RunRules::usual(Effect::Read)),
    };
    let world = World::new(
        Arc::clone(&store),
        Arc::new(Answers(Mutex::new(answers.into()), Arc::clone(&secrets))),
        Arc::new(StaticModels::new([Scripted::target()])),
        vec![Arc::new(Leak(spec, Arc::clone(&ran)))],
        Vec::new(),
        clock_of(),
        ids,
        Arc::new(Estimator),
    );
    let pace = Pace { linger_ms: 0, ..Pace::default() };
    let runtime = Runtime::new(world.unwrap().with_pace(pace).with_secrets(secrets));
    let joined =
        AgentJoined { name: "a".into(), tools: vec!["leak".into()], ..AgentJoined::default() };
    let id = runtime.create(&[NewAgent { joined, instruction: None }]).await.unwrap();
    let mut watcher = runtime.watch(id, Seq::ZERO);
    let said = item("k1", Mode::Queue, Body::Input(Input::from_person("hello")));
    let (mut all, mut head) = (String::new(), None);
    let mut settled = Box::pin(async {
        runtime.submit(id, &said).await.unwrap();
        let settled = runtime.settled(id).await;
        assert!(matches!(settled, Settled::Resting(Rest::Idle)), "{settled:?}");
        store.conversation(id).await.unwrap().head
    });
    // What is not stored is seen only by one who watches while it happens.
    while head.is_none_or(|head| watcher.last() < head) {
        let news = tokio::select! {
            biased;
            news = watcher.next() => news.unwrap(),
            at = &mut settled, if head.is_none() => {
                head = Some(at);
                continue;
            }
        };
        match news {
            News::Notice(Notice::Entry(entry)) => {
                write!(all, "{entry:?}").unwrap();
                for digest in entry.attachments() {
                    let bytes = store.blob(digest, 0, 1 << 20).await.unwrap();
                    all.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
            other => write!(all, "{other:?}").unwrap(),
        }
        all.push('\n');
    }
    drop(settled);
    let ran = *ran.lock().unwrap();
    (all, ran)
}

/// All without what was published letter by letter: that is in the entries, too.
fn without_deltas(all: &str) -> String {
    let is_delta = |line: &&str| line.contains("Notice(Delta");
    all.lines().filter(|line| !is_delta(line)).collect::<Vec<_>>().join("\n")
}

fn assert_no_key(all: &str) {
    assert!(!all.contains(KEY) && !all.contains("c2stMDEyMzQ1Njc4OS"), "{all}");
    // Nor is it put together of what was published.
    let fragments = all.split("text: \"").skip(1).filter_map(|rest| rest.split('"').next());
    let published = fragments.collect::<String>();
    assert!(!published.contains(KEY), "{published}");
}

#[tokio::test]
async fn an_answer_that_repeats_a_key_is_redacted() {
    let thinking = format!("I have {ENCODED}");
    let text = format!("Your key is {KEY}, twice: {KEY}. sk-012 is not.");
    let foreign = BlockKind::Foreign { kind: "search".into() };
    let (all, _) = talk(vec![finished(vec![
        block(0, BlockKind::Thinking, Some("signature-0"), &thinking),
        block(1, BlockKind::Thinking, Some("signature-1"), "nothing"),
        block(2, BlockKind::Text, Some(KEY), &text),
        block(3, foreign, Some(&format!("{{\"q\":\"{KEY}\"}}")), KEY),
    ])])
    .await;
    assert_no_key(&all);
    let entries = without_deltas(&all);
    let says = "Your key is [redacted: API_KEY], twice: [redacted: API_KEY]. sk-012 is not.";
    assert!(entries.contains(says), "{entries}");
    assert!(entries.contains("I have [redacted: API_KEY]"), "{entries}");
    assert!(entries.contains("id of [redacted: API_KEY]"), "{entries}");
    assert!(entries.contains(r#"q\":\"[redacted: API_KEY]"#), "{entries}");
    // A state belongs to the text that it was made for.
    assert!(!entries.contains("signature-0") && entries.contains("signature-1"), "{entries}");
}

#[tokio::test]
async fn a_failure_that_repeats_a_key_is_redacted() {
    let mut broken: Answer =
        block(0, BlockKind::Text, None, &format!("It is {KEY}")).into_iter().map(Ok).collect();
    broken.pop();
    broken.push(Err(ProviderError {
        limit_tokens: None,
        provider: "p".into(),
        kind: FailureKind::Refused,
        retry_after_ms: None,
        message: format!("incorrect key {KEY}"),
        metadata: Metadata::fitted([("server", Value::Text(KEY.to_owned()))]),
        source: None,
    }));
    let (all, _) = talk(vec![broken]).await;
    assert_no_key(&all);
    let entries = without_deltas(&all);
    assert!(entries.contains("incorrect key [redacted: API_KEY]"), "{entries}");
    assert!(entries.contains("It is [redacted: API_KEY]"), "{entries}");
    // What may have been the beginning of a key is not lost when the stream breaks off.
    let cut = block(0, BlockKind::Text, None, "It is sk-01").into_iter().map(Ok);
    let (all, _) = talk(vec![cut.take("It is sk-01".len() + 1).collect()]).await;
    assert!(without_deltas(&all).contains("It is sk-01"), "{all}");
}

#[tokio::test]
async fn a_result_that_holds_a_key_is_redacted() {
    let (all, ran) = talk(vec![
        finished(vec![call(0, "leak", "{}")]),
        finished(vec![block(0, BlockKind::Text, None, "done")]),
    ])
    .await;
    assert_eq!(ran, 1);
    assert_no_key(&all);
    assert!(all.contains("no such key: [redacted: API_KEY]"), "{all}");
    assert!(all.contains("reading [redacted: API_KEY]"), "{all}");
    assert!(all.contains("KEY=[redacted: API_KEY]"), "{all}");
    assert!(all.contains("{\"key\":\"[redacted: API_KEY]\"}"), "{all}");
}

#[tokio::test]
async fn a_call_with_a_key_in_its_arguments_does_not_run_with_the_placeholder() {
    let arguments = format!("{{\"text\":\"{KEY}\"}}");
    let (all, ran) = talk(vec![
        finished(vec![call(0, "leak", &arguments)]),
        finished(vec![block(0, BlockKind::Text, None, "done")]),
    ])
    .await;
    assert_eq!(ran, 0);
    assert_no_key(&all);
    assert!(all.contains("not run: the arguments contain the secret API_KEY"), "{all}");
    assert!(all.contains(&format!("status: {:?}", Status::Failed)), "{all}");
}
