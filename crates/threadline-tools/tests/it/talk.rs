//! A conversation on the SQLite store whose agents call the tools of their widgets, known without
//! the store as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use tempfile::TempDir;
use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    AgentJoined, Block, Fact, Input, Invocation, Output, Status, Stop, Text, ToolCall,
    ToolFinished, ToolResults, Usage, WidgetChanged,
};
use threadline_core::history::path::Path;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::history::{Draft, History, Proposal, Proposed, Stamp};
use threadline_core::id::{AgentId, CallId, ConversationId, IdSource as _, Seq};
use threadline_core::store::{self, Attendance, DEFAULT_TENANT, Lease, Storage};
use threadline_core::tokens::Estimator;
use threadline_core::widget::{
    Change, Refusal, Registry, Reply, Scope, Widget, WidgetCall, Widgets,
};
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::{Choices, SeededIds};

use crate::samples;

/// The agents of a conversation.
pub(crate) const AGENTS: [AgentId; 2] = [AgentId(1), AgentId(2)];
/// How long the conversation is held.
const LONG_MS: u64 = 1_000_000_000;

/// A folder with a database, a clock and ids.
pub(crate) struct World {
    folder: TempDir,
    clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let (clock, ids) = (Arc::new(ManualClock::new()), Arc::new(SeededIds::new(seed)));
        Self { folder: tempfile::tempdir().unwrap(), clock, ids }
    }

    /// The store, opened anew.
    pub(crate) fn store(&self) -> Arc<dyn Storage> {
        let options = SqliteOptions {
            path: self.folder.path().join("store.db"),
            tenant: DEFAULT_TENANT,
            owner: "a test".to_owned(),
            clock: Arc::clone(&self.clock) as _,
            ids: Arc::clone(&self.ids) as _,
            vfs: None,
            durability: Durability::Full,
        };
        Arc::new(SqliteStore::open(options).unwrap())
    }

    pub(crate) fn id(&self) -> ConversationId {
        ConversationId::new(self.clock.now(), &*self.ids)
    }

    /// A stamp, some seconds later.
    pub(crate) fn stamp(&self) -> Stamp<'_> {
        self.clock.advance_ms(1000 + u64::from(self.ids.random()[0]) * 100);
        Stamp { at: self.clock.now(), ids: &*self.ids, counter: &Estimator }
    }
}

/// The states of widgets, each with whose it is and the widget's name.
pub(crate) type States = BTreeMap<(AgentId, String), Box<dyn Widget>>;

/// The widgets that are tested.
pub(crate) fn registry() -> Arc<Registry> {
    Arc::new(Registry::new(samples::widgets()).unwrap())
}

/// A conversation under way.
pub(crate) struct Talk<'w> {
    world: &'w World,
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) id: ConversationId,
    lease: Lease,
    history: History,
    /// The widgets as they came to be, step by step.
    pub(crate) live: Widgets,
    entries: Vec<Entry>,
    pub(crate) calls: u64,
    pub(crate) refused: u64,
}

impl<'w> Talk<'w> {
    /// A conversation of agents that have all widgets.
    pub(crate) async fn begin(world: &'w World, registry: &Arc<Registry>) -> Self {
        let joins = AGENTS.map(|agent| {
            let joined = AgentJoined {
                name: format!("agent {agent}").into(),
                widgets: registry.names().cloned().collect(),
                primary: agent == AGENTS[0],
                ..AgentJoined::default()
            };
            Proposal::new(agent, joined, &Estimator)
        });
        let first = History::new().propose(joins, world.stamp()).unwrap();
        let (store, id) = (world.store(), world.id());
        store.create(id, None, &first.batch).await.unwrap();
        let lease = store.claim(id, LONG_MS, Attendance::Attended).await.unwrap();
        let live = Widgets::new(Arc::clone(registry));
        let (history, entries) = (History::new(), Vec::new());
        let (calls, refused) = (0, 0);
        let mut talk = Self { world, store, id, lease, history, live, entries, calls, refused };
        talk.follow(first);
        talk
    }

    pub(crate) fn head(&self) -> Seq {
        self.history.head()
    }

    /// Takes in what was appended.
    fn follow(&mut self, proposed: Proposed) {
        let placed = proposed.batch.entries.iter().map(|placed| (*placed.entry).clone());
        self.entries.extend(placed);
        self.history = proposed.history;
    }

    async fn append(&mut self, proposed: Proposed) {
        self.store.append(&self.lease, &proposed.batch).await.unwrap();
        self.follow(proposed);
    }

    /// A person changes a widget without a call.
    pub(crate) async fn person(&mut self, choices: &mut Choices) {
        let changes = samples::changes();
        let Some((widget, make)) = choices.pick(&changes) else { return };
        let changed =
            WidgetChanged { widget: (*widget).into(), change: make(choices).into(), call: None };
        let agent = *choices.pick(&AGENTS).unwrap();
        let mut draft = Step::new(self);
        draft.place(agent, changed);
        let (proposed, live) = draft.finish();
        self.live = live;
        self.append(proposed).await;
    }

    /// An agent is asked, calls some tools, and answers; or it goes on where it was.
    pub(crate) async fn turn(&mut self, choices: &mut Choices) {
        let agent = *choices.pick(&AGENTS).unwrap();
        let makers = samples::calls();
        let calls: Vec<(&str, String)> = (0..=choices.below(3))
            .map(|_| {
                let (tool, make) = choices.pick(&makers).unwrap();
                (*tool, make(choices).to_string())
            })
            .collect();
        let in_turn = self.history.agent(agent).unwrap().in_turn();
        let mut step = Step::new(self);
        if !in_turn {
            step.place(agent, Input::from_person(samples::text(choices) + "?"));
        }
        let output = step.place(agent, said_and_called(&calls));
        let mut results = Vec::new();
        for (index, (tool, arguments)) in (0..).zip(&calls) {
            let call = CallId { output, index };
            results.push(step.call(agent, call, tool, arguments));
        }
        step.place(agent, ToolResults { output, results, execute_error: None });
        step.place(agent, said_and_called(&[]));
        let (calls, refused) = (step.calls, step.refused);
        let (proposed, live) = step.finish();
        self.live = live;
        self.calls += calls;
        self.refused += refused;
        self.append(proposed).await;
    }

    /// Goes back to an entry.
    pub(crate) async fn rewind(&mut self, to: Seq) {
        let registry = self.live.registry();
        let past = store::past_with_widgets(&*self.store, self.id, to, &Estimator, registry).await;
        let (past, aftermath, widgets) = past.unwrap();
        let stamp = self.world.stamp();
        let proposed = self.history.propose_rewind(&past, &aftermath, stamp).unwrap();
        self.live = widgets;
        self.append(proposed).await;
    }

    /// Where the newest rewind came from, if there is one.
    pub(crate) fn rewound_from(&self) -> Option<Seq> {
        self.rewinds(self.head()).last().map(|(at, _)| at.before())
    }

    /// Branches off at an entry, and gives the branch.
    pub(crate) async fn fork(&self, at: Seq) -> ConversationId {
        let (past, aftermath) = store::past(&*self.store, self.id, at, &Estimator).await.unwrap();
        let first = past.propose_fork(self.id, &aftermath, self.world.stamp()).unwrap();
        let id = self.world.id();
        self.store.create(id, Some((self.id, at)), &first.batch).await.unwrap();
        id
    }

    /// Keeps a snapshot of where it is.
    pub(crate) async fn keep_snapshot(&self, for_good: bool) {
        let snapshot = Snapshot { widgets: self.live.encode(), ..self.history.to_snapshot() };
        self.store.keep_snapshot(self.id, &snapshot, for_good).await.unwrap();
    }

    /// The store is closed and opened again.
    pub(crate) fn reopen(&mut self) {
        self.store = self.world.store();
    }

    fn rewinds(&self, up_to: Seq) -> Vec<(Seq, Seq)> {
        let rewound = |entry: &Entry| match &entry.fact {
            Fact::Rewound(rewound) if entry.seq <= up_to => Some((entry.seq, rewound.to)),
            _ => None,
        };
        self.entries.iter().filter_map(rewound).collect()
    }

    /// The states at an entry, made from all changes on its path and nothing else.
    pub(crate) fn states(&self, at: Seq) -> States {
        let path = Path::new(at, &self.rewinds(at));
        let mut states = States::new();
        for entry in self.entries.iter().filter(|entry| path.contains(entry.seq)) {
            let Fact::WidgetChanged(changed) = &entry.fact else { continue };
            let empty = samples::widgets();
            let empty = empty.into_iter().find(|widget| widget.name() == &*changed.widget).unwrap();
            let owner = match empty.scope() {
                Scope::Agent => entry.agent,
                Scope::Conversation => AgentId::CONVERSATION,
            };
            let state = states.entry((owner, changed.widget.to_string())).or_insert(empty);
            let change =
                Change { text: &changed.change, seq: entry.seq, by: entry.agent, at: entry.at };
            state.apply(&change).unwrap();
        }
        states
    }
}

/// Facts that happen together, with the widgets following them.
struct Step<'w> {
    draft: Draft<'w>,
    at: Timestamp,
    live: Widgets,
    calls: u64,
    refused: u64,
}

impl<'w> Step<'w> {
    fn new(talk: &Talk<'w>) -> Self {
        let stamp = talk.world.stamp();
        let draft = talk.history.draft(stamp).unwrap();
        Self { draft, at: stamp.at, live: talk.live.clone(), calls: 0, refused: 0 }
    }

    fn place(&mut self, agent: AgentId, fact: impl Into<Fact>) -> Seq {
        let before = self.draft.history().clone();
        let seq = self.draft.try_place(Proposal::new(agent, fact, &Estimator)).unwrap();
        let entry = self.draft.entries().last().unwrap().clone();
        assert_eq!(entry.seq, seq);
        self.live.follow(&before, &entry, &Estimator).unwrap();
        seq
    }

    /// A call, and what its widget makes of it.
    fn call(&mut self, agent: AgentId, call: CallId, tool: &str, arguments: &str) -> Seq {
        let joined = Arc::clone(&self.draft.history().agent(agent).unwrap().joined);
        let asked = WidgetCall { tool, arguments, call, by: agent, at: self.at };
        let (widget, reply) = self.live.call(&joined, &asked).unwrap();
        self.calls += 1;
        let (status, Reply { changes, result, .. }) = match reply {
            Ok(reply) => (Status::Success, reply),
            Err(Refusal { result, .. }) => {
                self.refused += 1;
                (Status::Failed, Reply { result, ..Reply::default() })
            }
        };
        for change in changes {
            let widget = Arc::clone(&widget);
            self.place(agent, WidgetChanged { widget, change, call: Some(call) });
        }
        let finished = ToolFinished {
            call,
            name: tool.into(),
            status,
            result,
            attachments: Vec::new(),
            elapsed_ms: 0,
            warnings: Vec::new(),
            error: None,
        };
        self.place(agent, finished)
    }

    fn finish(self) -> (Proposed, Widgets) {
        (self.draft.finish().unwrap(), self.live)
    }
}

fn said_and_called(calls: &[(&str, String)]) -> Output {
    let call = |(tool, arguments): &(&str, String)| {
        Block::ToolCall(ToolCall {
            name: (*tool).into(),
            arguments: arguments.as_str().into(),
            repaired: None,
            provider_id: None,
            complete: true,
            state: None,
        })
    };
    let said = Block::Text(Text { text: "so be it".into(), state: None });
    Output {
        blocks: [said].into_iter().chain(calls.iter().map(call)).collect(),
        invocation: Invocation {
            provider: "guide".into(),
            endpoint: "local".into(),
            account: None,
            dialect: "guide".into(),
            model: "guide-1".into(),
        },
        stop: Stop::Done,
        usage: Usage::default(),
        cost: None,
    }
}
