//! A house to measure in: a SQLite file, a model that is not one, a tool, and conversations that
//! take turns of one kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _};
use threadline_core::context::Body;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{
    AgentJoined, Digest, Effect, Fact, Input, Invocation, Stop, Verdict,
};
use threadline_core::history::metadata::Metadata;
use threadline_core::id::ConversationId;
use threadline_core::inbox::{self, Item, Mode};
use threadline_core::provider::{
    BlockIndex, BlockKind, Delta, DeltaStream, Prepared, Profile, Provider, Request, Target,
    ToolSupport,
};
use threadline_core::store::{Audit as _, DEFAULT_TENANT, Page, Storage, Store as _};
use threadline_core::tokens::Estimator;
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};
use threadline_providers::models::StaticModels;
use threadline_runtime::{NewAgent, Runtime, Settled, World};
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;

use crate::Outcome;

/// How long the texts of a turn are: about 250 tokens together.
pub(crate) const INPUT_BYTES: usize = 200;
pub(crate) const RESULT_BYTES: usize = 400;
pub(crate) const ANSWER_BYTES: usize = 400;

/// What a house is made of.
pub(crate) struct Plan {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    /// How long the model takes for each answer.
    pub(crate) latency_ms: u64,
    /// How much the model can see.
    pub(crate) window_tokens: u64,
    /// Whether recaps are written of what no longer fits.
    pub(crate) recaps: bool,
}

/// A runtime over a file.
pub(crate) struct House {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<SqliteStore>,
    path: PathBuf,
}

impl House {
    /// With a model that calls its tool for an input and answers to its result.
    pub(crate) fn open(plan: &Plan) -> Outcome<Self> {
        let answer = text(7, ANSWER_BYTES).into();
        let latency = Duration::from_millis(plan.latency_ms);
        Self::with(plan, Arc::new(Fake { latency, answer }))
    }

    /// With another model.
    pub(crate) fn with(plan: &Plan, model: Arc<dyn Provider>) -> Outcome<Self> {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(SqliteStore::open(SqliteOptions {
            path: plan.path.clone(),
            tenant: DEFAULT_TENANT,
            owner: "bench".to_owned(),
            clock: Arc::clone(&clock) as _,
            ids: Arc::new(SeededIds::new(1)),
            vfs: None,
            durability: plan.durability,
        })?);
        // A file that is opened again goes on with other ids.
        let seed = std::fs::metadata(&plan.path)?.len();
        let world = World::new(
            Arc::clone(&store) as Arc<dyn Storage>,
            model,
            Arc::new(StaticModels::new([Fake::target(plan.window_tokens)])),
            vec![Arc::new(Look::new())],
            Vec::new(),
            clock,
            Arc::new(SeededIds::new(seed)),
            Arc::new(Estimator),
        )?;
        let world = world.with_limits(Limits { recaps: plan.recaps, ..Limits::default() });
        Ok(Self { runtime: Runtime::new(world), store, path: plan.path.clone() })
    }

    /// Ends all driving and closes the file.
    pub(crate) async fn close(self) {
        self.runtime.stop().await;
    }

    /// Begins a conversation.
    pub(crate) async fn begin(&self) -> Outcome<ConversationId> {
        Ok(self.runtime.create(&[assistant()]).await?)
    }

    /// Takes a turn: an input, a call, its result, an answer.
    pub(crate) async fn turn(&self, id: ConversationId, number: usize) -> Outcome<()> {
        self.runtime.submit(id, &item(number)).await?;
        match self.runtime.settled(id).await {
            Settled::Resting(Rest::Idle) => Ok(()),
            Settled::Resting(rest) => Err(format!("turn {number} rests: {rest:?}").into()),
            Settled::Failed(error) => Err(error.to_string().into()),
        }
    }

    /// That a conversation's newest entry is an answer: what was measured is what it should be.
    pub(crate) async fn has_answered(&self, id: ConversationId) -> Outcome<()> {
        let head = self.store.conversation(id).await?.head;
        let newest = self.store.read(id, &Page::backward(head, 1)).await?;
        match newest.first().ok_or("there is no entry")?.open()?.fact {
            Fact::Output(output) if output.calls().next().is_none() => Ok(()),
            other => Err(format!("the newest entry is no answer: {other:?}").into()),
        }
    }

    /// Waits until the search index has all there is.
    pub(crate) async fn indexed(&self) -> Outcome<()> {
        // It follows once nothing was written for a while; to ask takes something itself.
        tokio::time::sleep(Duration::from_millis(180)).await;
        while self.store.index_lag().await? > 0 {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        Ok(())
    }

    /// The size of the file once all is in it.
    pub(crate) async fn size(&self) -> Outcome<u64> {
        self.indexed().await?;
        // After the index the log is brought into the file, once it was quiet for a while.
        tokio::time::sleep(Duration::from_millis(250)).await;
        size_of(&self.path)
    }
}

pub(crate) fn size_of(path: &Path) -> Outcome<u64> {
    Ok(std::fs::metadata(path)?.len())
}

/// The n-th input.
pub(crate) fn item(number: usize) -> Item {
    let input = Input::from_person(text(number, INPUT_BYTES));
    let (client_key, body) = (number.to_string().into(), inbox::Body::Input(input));
    Item { client_key, to: None, mode: Mode::Queue, due: None, body }
}

/// Text of so many bytes, other words for every number.
pub(crate) fn text(number: usize, bytes: usize) -> String {
    let mut text = format!("{number}: ");
    let words = WORDS.iter().cycle().skip(number % WORDS.len()).step_by(1 + number % 3);
    for word in words {
        if text.len() >= bytes {
            break;
        }
        text.push_str(word);
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

const WORDS: [&str; 19] = [
    "the",
    "server",
    "of",
    "requests",
    "and",
    "threads",
    "is",
    "before",
    "results",
    "because",
    "window",
    "morning",
    "between",
    "several",
    "questions",
    "that",
    "index",
    "river",
    "paper",
];

/// A model that calls its tool for an input and answers to its result. It encodes no request:
/// that is each provider's own matter.
struct Fake {
    latency: Duration,
    answer: Arc<str>,
}

impl Fake {
    fn target(window_tokens: u64) -> Target {
        Target {
            name: "fake".into(),
            invocation: Invocation {
                provider: "fake".into(),
                endpoint: "local".into(),
                account: None,
                dialect: "fake".into(),
                model: "fake".into(),
            },
            profile: Profile {
                window_tokens,
                output_cap_tokens: 1_024,
                tools: ToolSupport::SideBySide,
                ..Profile::unknown()
            },
            unusable: None,
        }
    }
}

impl Provider for Fake {
    fn invoke(&self, request: Request) -> DeltaStream {
        let block = match request.context.parts.last().map(|part| &part.body) {
            Some(Body::Input(input)) => {
                called("look", format!(r#"{{"at":"{}"}}"#, input.text).into())
            }
            _ => (BlockKind::Text, Arc::clone(&self.answer)),
        };
        answered(vec![block], self.latency)
    }
}

/// A call as a model writes it.
pub(crate) fn called(name: &str, arguments: Arc<str>) -> (BlockKind, Arc<str>) {
    (BlockKind::ToolCall { name: name.into(), provider_id: None }, arguments)
}

/// An answer of these blocks that begins after a while.
pub(crate) fn answered(blocks: Vec<(BlockKind, Arc<str>)>, latency: Duration) -> DeltaStream {
    let (body_digest, encoder_version) = (Digest::of(b""), 0);
    let repairs = Vec::new();
    let mut deltas = vec![
        Delta::Prepared(Prepared { body_digest, encoder_version, repairs }),
        Delta::Started(Metadata::new()),
    ];
    for (number, (kind, text)) in (0..).zip(blocks) {
        let block = BlockIndex(number);
        deltas.push(Delta::Begin { block, kind });
        deltas.push(Delta::Fragment { block, text });
        deltas.push(Delta::End { block });
    }
    deltas.push(Delta::Finished { stop: Stop::Done, metadata: Metadata::new() });
    Box::pin(stream::iter(deltas).then(move |delta| async move {
        if let Delta::Begin { block: BlockIndex(0), .. } = delta
            && latency > Duration::ZERO
        {
            tokio::time::sleep(latency).await;
        }
        Ok(delta)
    }))
}

pub(crate) fn assistant() -> NewAgent {
    let joined = AgentJoined {
        name: "assistant".into(),
        tools: vec!["look".into()],
        primary: true,
        ..AgentJoined::default()
    };
    NewAgent { joined, instruction: Some("be brief".into()) }
}

/// A tool that answers at once.
struct Look(ToolSpec);

impl Look {
    fn new() -> Self {
        Self(ToolSpec {
            name: "look".into(),
            description: "looks something up".into(),
            schema: r#"{"type":"object","properties":{"at":{"type":"string"}}}"#.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Run(RunRules::usual(Effect::Read)),
        })
    }
}

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, arguments: &str, _context: &ToolContext) -> ToolOutcome {
        ToolOutcome::Success(ToolResult::text(text(arguments.len(), RESULT_BYTES)))
    }
}
