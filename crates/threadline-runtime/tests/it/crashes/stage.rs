//! Stages: where a scene is played, in one life of the process after the other.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use threadline_core::clock::Clock;
use threadline_core::context::Context;
use threadline_core::drive::Rest;
use threadline_core::history::Stamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::id::{ConversationId, Seq, TenantId};
use threadline_core::provider::{Delta, DeltaStream, Provider, Request};
use threadline_core::store::{Attendance, Page, Storage, StoreError};
use threadline_core::tokens::Estimator;
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};
use threadline_core::transfer::{Import, export_move, import};
use threadline_providers::models::StaticModels;
use threadline_providers::scripted::Scripted;
use threadline_runtime::{Pace, Runtime, Settled, World};
use threadline_stores::memory::MemoryStore;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::crashing_store::{CrashingStore, Faults};
use threadline_testing::ids::SeededIds;
use threadline_tools::widgets::notebook::Notebook;

use super::scenes::{Act, Scene, What, When};

/// Where histories live while processes come and go.
pub(crate) enum Ground {
    Memory(MemoryStore),
    Sqlite(PathBuf),
}

impl Ground {
    pub(crate) fn memory(clock: &Arc<ManualClock>) -> Self {
        let (clock, ids) = (Arc::clone(clock), Arc::new(SeededIds::new(5)));
        Self::Memory(MemoryStore::new(TenantId::NIL, "nobody".to_owned(), clock, ids))
    }

    /// The store as a new process has it.
    fn open(&self, clock: &Arc<ManualClock>, life: u64) -> Arc<dyn Storage> {
        if let Self::Memory(_) = self {
            // Nobody can tell that the process before is dead: its lease runs out.
            clock.advance_ms(60_000);
        }
        self.open_as(format!("life {life}"), clock, life)
    }

    /// The store as a process has it that lives at the same time.
    fn open_beside(&self, clock: &Arc<ManualClock>, life: u64) -> Arc<dyn Storage> {
        self.open_as(format!("beside {life}"), clock, 1_000 + life)
    }

    fn open_as(&self, owner: String, clock: &Arc<ManualClock>, life: u64) -> Arc<dyn Storage> {
        match self {
            Self::Memory(store) => Arc::new(store.another_owner(owner)),
            Self::Sqlite(path) => {
                let options = SqliteOptions {
                    path: path.clone(),
                    tenant: TenantId::NIL,
                    owner,
                    clock: Arc::clone(clock) as Arc<dyn Clock>,
                    ids: Arc::new(SeededIds::new(life)),
                    vfs: None,
                    durability: Durability::Full,
                };
                Arc::new(SqliteStore::open(options).unwrap())
            }
        }
    }
}

/// Where a scene is played.
pub(crate) struct Stage {
    pub(crate) scene: Scene,
    pub(crate) id: ConversationId,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ground: Ground,
    /// How many acts were acknowledged.
    acted: usize,
    lives: u64,
    tools: Tools,
    seen: Listened,
    folder: tempfile::TempDir,
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The scene was played to its end.
    Played,
    /// The process died.
    Died,
}

impl Stage {
    /// A stage in memory.
    pub(crate) async fn in_memory(scene: &Scene, pay: Effect) -> Self {
        Self::new(scene, pay, |clock, _| Ground::memory(clock)).await
    }

    /// A stage on a file.
    pub(crate) async fn on_file(scene: &Scene) -> Self {
        Self::new(scene, Effect::Once, |_, folder| Ground::Sqlite(folder.join("store.db"))).await
    }

    async fn new(
        scene: &Scene,
        pay: Effect,
        ground: impl FnOnce(&Arc<ManualClock>, &Path) -> Ground,
    ) -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new()));
        let ground = ground(&clock, folder.path());
        let tools = Tools { file: folder.path().join("effects"), told: Arc::default(), pay };
        let (scene, seen) = (scene.clone(), Arc::default());
        let id = ConversationId::new(clock.now(), &SeededIds::new(3));
        let mut stage = Self { scene, id, clock, ground, acted: 0, lives: 0, tools, seen, folder };
        let store = stage.open();
        stage.id = stage.runtime(&store).create(&stage.scene.agents).await.unwrap();
        stage
    }

    /// The store as a new process has it.
    pub(crate) fn open(&mut self) -> Arc<dyn Storage> {
        self.lives += 1;
        self.ground.open(&self.clock, self.lives)
    }

    /// Goes on elsewhere: the conversation is moved to another store.
    pub(crate) async fn move_away(&mut self) {
        let here = self.open();
        let lease = here.claim(self.id, 30_000, Attendance::Attended).await.unwrap();
        let (mut bytes, ids) = (Vec::new(), SeededIds::new(self.lives));
        let stamp = Stamp { at: self.clock.now(), ids: &ids, counter: &Estimator };
        let moving = export_move(&*here, self.id, None, stamp, &mut bytes, &mut |_| {}).await;
        moving.unwrap().close(&*here, &lease).await.unwrap();
        self.ground = match &self.ground {
            Ground::Memory(_) => Ground::memory(&self.clock),
            Ground::Sqlite(_) => Ground::Sqlite(self.folder.path().join("elsewhere.db")),
        };
        let there = self.open();
        let options = Import { trusted: true, ..Import::default() };
        let imported = import(&*there, &mut &bytes[..], options, &Estimator, &mut |_| {}).await;
        assert!(imported.unwrap().moved);
    }

    /// The last entry.
    pub(crate) async fn head(&mut self) -> Seq {
        self.open().conversation(self.id).await.unwrap().head
    }

    /// A life of a process: it goes on where the one before was, until the scene is over or it
    /// dies. It has a thread for itself, with all of its tasks: those of the dead just end.
    pub(crate) fn live(&mut self, store: CrashingStore) -> (End, u64) {
        let life = || {
            let mut tasks = tokio::runtime::Builder::new_current_thread();
            let paused = matches!(self.ground, Ground::Memory(_));
            let tasks = tasks.enable_time().start_paused(paused).build().unwrap();
            tasks.block_on(self.life(store))
        };
        std::thread::scope(|scope| scope.spawn(life).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    async fn life(&mut self, store: CrashingStore) -> (End, u64) {
        let store = Arc::new(store);
        let runtime = self.runtime(&(Arc::clone(&store) as Arc<dyn Storage>));
        let played = async {
            self.play(&runtime).await;
            runtime.stop().await;
        };
        let end = tokio::select! {
            biased;
            () = store.0.died() => End::Died,
            () = played => End::Played,
        };
        (end, store.0.writes())
    }

    /// A life in which all goes well.
    pub(crate) fn live_well(&mut self) -> u64 {
        let store = Faults::none(self.open());
        self.live(store).1
    }

    async fn play(&mut self, runtime: &Runtime) {
        while let Some(act) = self.scene.acts.get(self.acted).copied() {
            self.wait(runtime, act.when).await;
            self.act(runtime, act).await;
            self.acted += 1;
            let told = self.acted + 1 >= self.scene.acts.len();
            self.tools.told.store(told, Ordering::SeqCst);
        }
        assert_eq!(rest(runtime, self.id).await, Rest::Idle);
    }

    async fn act(&mut self, runtime: &Runtime, act: Act) {
        let entries = entries(&*runtime.world().store, self.id).await;
        let items = act.items(self.scene.agents.len(), &entries);
        match act.what {
            What::Pass(minutes) => self.clock.advance_ms(minutes * 60_000),
            What::AnswerElsewhere(..) => {
                // Nobody tells the process that drives: it has to look.
                let elsewhere = self.ground.open_beside(&self.clock, self.lives);
                for item in items {
                    elsewhere.enqueue(self.id, &item).await.unwrap();
                }
            }
            _ => {
                for item in items {
                    // Who does not hear an answer does the same again.
                    while let Err(error) = runtime.submit(self.id, &item).await {
                        assert!(matches!(error, StoreError::AnswerLost(_)), "{error}");
                    }
                }
            }
        }
    }

    async fn wait(&self, runtime: &Runtime, when: When) {
        match when {
            When::Now => {}
            When::Rest => {
                rest(runtime, self.id).await;
            }
            When::Has(wanted) => loop {
                let entries = entries(&*runtime.world().store, self.id).await;
                if wanted(&entries) {
                    return;
                }
                runtime.start(self.id);
                tokio::time::sleep(Duration::from_millis(1)).await;
            },
        }
    }

    fn runtime(&self, store: &Arc<dyn Storage>) -> Runtime {
        let scripted = Scripted::new(self.scene.script.parse().unwrap());
        let world = World::new(
            Arc::clone(store),
            Arc::new(Listening { scripted, seen: Arc::clone(&self.seen) }),
            Arc::new(StaticModels::new([Scripted::target()])),
            self.tools.all(),
            vec![Box::new(Notebook::new())],
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::new(SeededIds::new(100 + self.lives)),
            Arc::new(Estimator),
        );
        let pace = Pace { linger_ms: 0, stop_ms: 200, ..Pace::default() };
        Runtime::new(world.unwrap().with_limits(self.scene.limits).with_pace(pace))
    }

    /// What the last invocation of each agent saw, by the agent's instruction.
    pub(crate) fn contexts(&self) -> BTreeMap<String, Arc<Context>> {
        self.seen.lock().unwrap().clone()
    }

    /// What was done in the world, and how often: by tool and arguments.
    pub(crate) fn effects(&self) -> BTreeMap<(String, String), u32> {
        let mut effects = BTreeMap::new();
        for line in std::fs::read_to_string(&self.tools.file).unwrap_or_default().lines() {
            let (tool, arguments) = line.split_once(' ').unwrap();
            *effects.entry((tool.to_owned(), arguments.to_owned())).or_default() += 1;
        }
        effects
    }
}

/// All entries of a conversation.
pub(crate) async fn entries(store: &dyn Storage, id: ConversationId) -> Vec<Entry> {
    let records = store.read(id, &Page::forward(Seq(1), 10_000)).await.unwrap();
    records.iter().map(|record| record.open().unwrap()).collect()
}

async fn rest(runtime: &Runtime, id: ConversationId) -> Rest {
    runtime.start(id);
    match runtime.settled(id).await {
        Settled::Resting(rest) => rest,
        Settled::Failed(error) => panic!("{error}"),
    }
}

/// What a model saw last, by the instruction it was given.
type Listened = Arc<Mutex<BTreeMap<String, Arc<Context>>>>;

/// A model of which it is known what it saw.
struct Listening {
    scripted: Scripted,
    seen: Listened,
}

impl Provider for Listening {
    fn invoke(&self, request: Request) -> DeltaStream {
        let (seen, context) = (Arc::clone(&self.seen), Arc::clone(&request.context));
        // A request that is only prepared was seen by nobody.
        Box::pin(self.scripted.invoke(request).inspect(move |delta| {
            if !matches!(delta, Ok(Delta::Prepared(_))) {
                let instruction = context.system.text.to_string();
                seen.lock().unwrap().insert(instruction, Arc::clone(&context));
            }
        }))
    }
}

/// Tools that leave a line in a file, each time they are run.
#[derive(Clone)]
struct Tools {
    file: PathBuf,
    /// Whether all has been said but the end.
    told: Arc<AtomicBool>,
    pay: Effect,
}

impl Tools {
    fn all(&self) -> Vec<Arc<dyn Tool>> {
        let tools = [
            ("read", Effect::Read, Verdict::Allow),
            ("write", Effect::Idempotent, Verdict::Allow),
            ("pay", self.pay, Verdict::Allow),
            ("ask", Effect::Once, Verdict::Ask),
        ];
        tools.map(|(name, effect, verdict)| self.tool(name, effect, verdict)).into()
    }

    fn tool(&self, name: &str, effect: Effect, verdict: Verdict) -> Arc<dyn Tool> {
        let rules = RunRules { side_by_side: true, ..RunRules::usual(effect) };
        let spec = ToolSpec {
            name: name.into(),
            description: "does what it is told".into(),
            schema: r#"{"type":"object","properties":{"do":{"type":"string"}}}"#.into(),
            strict: false,
            server: None,
            verdict,
            handling: Handling::Run(rules),
        };
        Arc::new(Deed { spec, tools: self.clone() })
    }
}

struct Deed {
    spec: ToolSpec,
    tools: Tools,
}

#[async_trait]
impl Tool for Deed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let mut file = std::fs::OpenOptions::new();
        let mut file = file.create(true).append(true).open(&self.tools.file).unwrap();
        file.write_all(format!("{} {arguments}\n", self.spec.name).as_bytes()).unwrap();
        file.sync_data().unwrap();
        assert!(!arguments.contains("panic"), "as it was told");
        if arguments.contains("until stopped") {
            context.cancel.cancelled().await;
            return ToolOutcome::NoAnswer(ToolResult::text("stopped on the way"));
        }
        if arguments.contains("until told") {
            while !self.tools.told.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Until what was said has been heard, too.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if arguments.contains("fail") {
            return ToolOutcome::Failed(ToolResult::text("it did not work"));
        }
        ToolOutcome::Success(ToolResult::text("done"))
    }
}
