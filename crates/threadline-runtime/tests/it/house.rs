//! A house to test in: a store, a scripted model, tools that count what they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use threadline_core::clock::Clock;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{AgentJoined, Effect, Fact, Input, Usage, Verdict};
use threadline_core::id::{ConversationId, IdSource, Seq, TenantId};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::provider::{Models, Provider};
use threadline_core::store::{Direction, Page, Storage};
use threadline_core::tokens::Estimator;
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};
use threadline_providers::models::StaticModels;
use threadline_providers::scripted::Scripted;
use threadline_runtime::{NewAgent, Pace, Runtime, Settled, World};
use threadline_stores::memory::MemoryStore;
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;
use threadline_testing::notation;
use threadline_tools::calculator::Calculator;
use threadline_tools::widgets::notebook::Notebook;

/// What tools did in the world: how often each call was run.
pub(crate) type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

/// Who is asked, and which models there are.
pub(crate) type Asked = (Arc<dyn Provider>, Arc<dyn Models>);

/// A tool that does as its arguments say, and counts.
pub(crate) struct Deed {
    spec: ToolSpec,
    effects: Effects,
}

impl Deed {
    pub(crate) fn named(
        name: &str,
        effect: Effect,
        verdict: Verdict,
        effects: &Effects,
    ) -> Arc<dyn Tool> {
        let rules = RunRules { timeout_ms: 400, side_by_side: true, ..RunRules::usual(effect) };
        let spec = ToolSpec {
            name: name.into(),
            description: "does what it is told".into(),
            schema: r#"{"type":"object","properties":{"do":{"type":"string"}}}"#.into(),
            strict: false,
            server: None,
            verdict,
            handling: Handling::Run(rules),
        };
        Arc::new(Self { spec, effects: Arc::clone(effects) })
    }
}

#[async_trait]
impl Tool for Deed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let call = context.call.to_string();
        *self.effects.lock().unwrap().entry(call).or_default() += 1;
        assert!(!arguments.contains("panic"), "as it was told");
        if arguments.contains("hang") {
            std::future::pending::<()>().await;
        }
        if arguments.contains("until stopped") {
            context.cancel.cancelled().await;
            return ToolOutcome::NoAnswer(ToolResult::text("stopped on the way"));
        }
        if arguments.contains("slow") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if arguments.contains("flood") {
            return ToolOutcome::Success(ToolResult::text("flood ".repeat(100_000_000 / 6)));
        }
        if arguments.contains("look") {
            return look(context).await;
        }
        if arguments.contains("fail") {
            return ToolOutcome::Failed(ToolResult::text("it did not work"));
        }
        ToolOutcome::Success(ToolResult::text("done"))
    }
}

/// What a call sees of its thread: entries back from the call and from the beginning, one that is
/// there, one that is not, and what a search finds.
async fn look(context: &ToolContext) -> ToolOutcome {
    let (thread, output) = (&context.thread, context.call.output);
    let seqs = |entries: Vec<Entry>| entries.iter().map(|entry| entry.seq.0).collect::<Vec<_>>();
    let back = thread.page(output, Direction::Backward, 100).await.unwrap();
    let forth = thread.page(Seq(1), Direction::Forward, 100).await.unwrap();
    let own = thread.entry(output).await.unwrap().is_some();
    let later = thread.entry(output.next()).await.unwrap().is_some();
    let found = thread.search("secret", None, 10).await.unwrap();
    let found: Vec<u64> = found.iter().map(|seq| seq.0).collect();
    let (back, forth) = (seqs(back), seqs(forth));
    ToolOutcome::Success(ToolResult::text(format!("{back:?} {forth:?} {own} {later} {found:?}")))
}

pub(crate) struct House {
    pub(crate) runtime: Runtime,
    pub(crate) memory: MemoryStore,
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) effects: Effects,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) id: ConversationId,
}

/// A house with a conversation in it, whose model follows a script.
pub(crate) async fn house(script: &str) -> House {
    house_with(script, Limits::default()).await
}

pub(crate) async fn house_with(script: &str, limits: Limits) -> House {
    house_of(scripted(script), assistant(), limits).await
}

/// A house with these models, and an agent in its conversation.
pub(crate) async fn house_of(models: Asked, agent: NewAgent, limits: Limits) -> House {
    house_of_many(models, &[agent], limits).await
}

/// A house with these models, and agents in its conversation.
pub(crate) async fn house_of_many(models: Asked, agents: &[NewAgent], limits: Limits) -> House {
    let clock = Arc::new(ManualClock::new());
    let ids: Arc<dyn IdSource> = Arc::new(SeededIds::new(7));
    let memory = MemoryStore::new(
        TenantId::NIL,
        "test".to_owned(),
        Arc::clone(&clock) as Arc<dyn Clock>,
        Arc::clone(&ids),
    );
    let store: Arc<dyn Storage> = Arc::new(memory.another_owner("the first".to_owned()));
    let effects = Effects::default();
    let runtime = runtime_of(models, &store, &clock, &effects, limits);
    let id = runtime.create(agents).await.unwrap();
    House { runtime, memory, store, effects, clock, id }
}

/// A model that follows a script.
pub(crate) fn scripted(script: &str) -> Asked {
    (
        Arc::new(Scripted::new(script.parse().unwrap())),
        Arc::new(StaticModels::new([Scripted::target()])),
    )
}

pub(crate) fn assistant() -> NewAgent {
    let tools = ["calculator", "read", "write", "pay", "ask"];
    let joined = AgentJoined {
        name: "assistant".into(),
        tools: tools.into_iter().map(Arc::from).collect(),
        widgets: vec!["notebook".into()],
        primary: true,
        ..AgentJoined::default()
    };
    NewAgent { joined, instruction: Some("be brief".into()) }
}

/// A runtime over a store, as a process would have it.
pub(crate) fn runtime(
    script: &str,
    store: &Arc<dyn Storage>,
    clock: &Arc<ManualClock>,
    effects: &Effects,
    limits: Limits,
) -> Runtime {
    runtime_of(scripted(script), store, clock, effects, limits)
}

/// A runtime with these models.
pub(crate) fn runtime_of(
    asked: Asked,
    store: &Arc<dyn Storage>,
    clock: &Arc<ManualClock>,
    effects: &Effects,
    limits: Limits,
) -> Runtime {
    Runtime::new(world_of(asked, store, clock, effects, limits))
}

/// A world with these models.
pub(crate) fn world_of(
    (provider, models): Asked,
    store: &Arc<dyn Storage>,
    clock: &Arc<ManualClock>,
    effects: &Effects,
    limits: Limits,
) -> World {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Calculator::new()),
        Deed::named("read", Effect::Read, Verdict::Allow, effects),
        Deed::named("write", Effect::Idempotent, Verdict::Allow, effects),
        Deed::named("pay", Effect::Once, Verdict::Allow, effects),
        Deed::named("ask", Effect::Once, Verdict::Ask, effects),
    ];
    let world = World::new(
        Arc::clone(store),
        provider,
        models,
        tools,
        vec![Box::new(Notebook::new())],
        Arc::clone(clock) as Arc<dyn Clock>,
        Arc::new(SeededIds::new(11)),
        Arc::new(Estimator),
    );
    let pace = Pace { linger_ms: 0, stop_ms: 200, ..Pace::default() };
    world.unwrap().with_limits(limits).with_pace(pace)
}

pub(crate) fn item(key: &str, mode: Mode, body: Body) -> Item {
    Item { client_key: key.into(), to: None, mode, due: None, body }
}

impl House {
    /// Says something, and waits until all is quiet.
    pub(crate) async fn say(&self, key: &str, text: &str) -> Rest {
        self.submit(key, Body::Input(Input::from_person(text))).await;
        self.rest().await
    }

    pub(crate) async fn submit(&self, key: &str, body: Body) {
        self.runtime.submit(self.id, &item(key, Mode::Queue, body)).await.unwrap();
    }

    pub(crate) async fn rest(&self) -> Rest {
        match self.runtime.settled(self.id).await {
            Settled::Resting(rest) => rest,
            Settled::Failed(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn entries(&self) -> Vec<Entry> {
        let records = self.store.read(self.id, &Page::forward(Seq(1), 10_000)).await.unwrap();
        records.iter().map(|record| record.open().unwrap()).collect()
    }

    /// Waits until the story has a line that contains a text.
    pub(crate) async fn until(&self, text: &str) {
        for _ in 0..2_000 {
            if self.story().await.contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no {text:?} in:\n{}", self.story().await);
    }

    /// The history as text, without what it begins with.
    pub(crate) async fn story(&self) -> String {
        let entries = self.entries().await.into_iter().map(without_estimates);
        let text = notation::print(entries);
        let lines = text.lines().skip(2).map(shortened);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// How often something was done, by call.
    pub(crate) fn done(&self) -> Vec<(String, u32)> {
        self.effects.lock().unwrap().iter().map(|(call, n)| (call.clone(), *n)).collect()
    }
}

/// An entry without a usage that is our own estimate: most scripts report none.
pub(crate) fn without_estimates(mut entry: Entry) -> Entry {
    match &mut entry.fact {
        Fact::Output(output) if output.usage.estimated => output.usage = Usage::default(),
        Fact::InvocationFailed(failed) => failed.usage = failed.usage.filter(|u| !u.estimated),
        _ => {}
    }
    entry
}

/// A line of a story without what says nothing here: digests, keys, how long things took.
fn shortened(line: &str) -> String {
    let words = [" asks ", " starts ", "{\"elapsed_ms\"", "{\"error\""];
    let bare = words.iter().any(|word| line.contains(word));
    match (line.find(" {"), line.find("}: ")) {
        (Some(from), None) if bare => line[..from].to_owned(),
        (Some(from), Some(to)) if bare => format!("{}{}", &line[..from], &line[to + 1..]),
        _ => line.to_owned(),
    }
}
