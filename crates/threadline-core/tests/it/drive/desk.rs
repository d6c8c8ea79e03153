//! A desk to drive at: a driver whose commands are carried out one by one, when a test says so.

use std::collections::VecDeque;
use std::sync::Arc;

use threadline_core::choose::{AllHealthy, DEFAULT_ROUTE, Route, Strategy};
use threadline_core::clock::Timestamp;
use threadline_core::context::Material;
use threadline_core::context::plan::DoesNotFit;
use threadline_core::drive::{
    Circumstances, Command, Driver, Event, Limits, Opening, Outcome, Run, Setback, Setting, Ticket,
    Toolset,
};
use threadline_core::history::batch::{Batch, Placed};
use threadline_core::history::fact::{
    AgentJoined, Digest, Effect, Input, InstructionSet, Invocation, Stop, Verdict,
};
use threadline_core::history::metadata::Metadata;
use threadline_core::history::{History, Proposal, Stamp};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::inbox::{Body, Item, ItemNumber, Mode};
use threadline_core::provider::{
    BlockIndex, BlockKind, Delta, Models, Prepared, Profile, Request, Target, ToolSupport,
};
use threadline_core::tokens::Estimator;
use threadline_core::tool::{Handling, RunRules, ToolOutcome, ToolResult, ToolSpec};
use threadline_core::widget::{Registry, Scope, Widgets};
use threadline_testing::ids::SeededIds;
use threadline_testing::scribe::Scribe;

/// The first and the second agent.
pub(crate) const FIRST: AgentId = AgentId(1);
pub(crate) const SECOND: AgentId = AgentId(2);
const AT: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

struct FewModels(Vec<Arc<Target>>);

impl Models for FewModels {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.0.clone()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        let models = self.0.iter().map(|target| Arc::clone(&target.name)).collect();
        let strategy = Strategy::Fallback;
        vec![Arc::new(Route { name: DEFAULT_ROUTE.into(), models, strategy })]
    }
}

fn target((name, window_tokens): (&str, u64)) -> Arc<Target> {
    let invocation = Invocation {
        provider: "desk".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "none".into(),
        model: name.into(),
    };
    let (output_cap_tokens, tools) = (100, ToolSupport::SideBySide);
    let profile = Profile { window_tokens, output_cap_tokens, tools, ..Profile::unknown() };
    Arc::new(Target { name: name.into(), invocation, profile, unusable: None })
}

fn tool(name: &str, effect: Effect) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.into(),
        description: "does something".into(),
        schema: r#"{"type":"object"}"#.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Run(RunRules { side_by_side: true, ..RunRules::usual(effect) }),
    })
}

/// An agent as it joins.
pub(crate) fn joined(name: &str) -> AgentJoined {
    AgentJoined {
        name: name.into(),
        tools: vec!["look".into(), "send".into()],
        widgets: vec!["scribe".into()],
        primary: name == "first",
        ..AgentJoined::default()
    }
}

/// A driver, what it wants done, and what is durable.
pub(crate) struct Desk {
    setting: Arc<Setting>,
    driver: Driver,
    wanted: VecDeque<Command>,
    /// What is durable: by the batches that were appended.
    stored: Vec<Arc<Batch>>,
    items: u64,
}

impl Desk {
    /// A conversation of two agents, with a model of a large window.
    pub(crate) fn new() -> Self {
        Self::with(&[("large", 100_000)])
    }

    /// The same with these models and their windows.
    pub(crate) fn with(models: &[(&str, u64)]) -> Self {
        let scribe = Scribe::new("scribe", Scope::Agent);
        let widgets = Arc::new(Registry::new(vec![Box::new(scribe)]).unwrap());
        let tools = [tool("look", Effect::Read), tool("send", Effect::Once)];
        let setting = Arc::new(Setting {
            ids: Arc::new(SeededIds::new(1)),
            counter: Arc::new(Estimator),
            models: Arc::new(FewModels(models.iter().copied().map(target).collect())),
            health: Arc::new(AllHealthy),
            tools: Toolset::new(tools, &widgets).unwrap(),
            widgets,
            limits: Limits::default(),
            policy: Vec::new(),
            workspace: None,
        });
        let facts = [
            Proposal::new(FIRST, joined("first"), &Estimator),
            Proposal::new(SECOND, joined("second"), &Estimator),
            Proposal::new(FIRST, InstructionSet { text: "be brief".into() }, &Estimator),
        ];
        let stamp = Stamp { at: AT, ids: &*setting.ids, counter: &Estimator };
        let begun = History::new().propose(facts, stamp).unwrap();
        let stored = vec![Arc::new(begun.batch)];
        Self::opened(setting, begun.history, stored, 0)
    }

    fn opened(
        setting: Arc<Setting>,
        history: History,
        stored: Vec<Arc<Batch>>,
        items: u64,
    ) -> Self {
        let mut widgets = Widgets::new(Arc::clone(&setting.widgets));
        for placed in stored.iter().flat_map(|batch| &batch.entries) {
            widgets.apply(&placed.entry).unwrap();
        }
        let needs = Opening::needs(&history);
        let entries = stored.iter().flat_map(|batch| &batch.entries);
        let entries = entries.map(|placed| (*placed.entry).clone());
        let entries = entries.filter(|entry| needs.contains(&entry.seq)).collect();
        let circumstances = Circumstances::ATTENDED;
        let opening = Opening { history, widgets, entries, circumstances };
        let id = ConversationId::new(AT, &*setting.ids);
        let driver = Driver::new(id, Arc::clone(&setting), opening);
        let mut desk = Self { setting, driver, wanted: VecDeque::new(), stored, items };
        desk.tell(Event::Begin);
        desk
    }

    /// The process ends where it stands, and the next one goes on from what is durable.
    pub(crate) fn die(self) -> Self {
        let Self { setting, driver, stored, items, .. } = self;
        Self::opened(setting, driver.history().clone(), stored, items)
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.wanted.extend(self.driver.on(event, AT));
    }

    /// Items wait for agents.
    pub(crate) fn items<A: Into<Option<AgentId>>>(
        &mut self,
        items: impl IntoIterator<Item = (A, Mode, Body)>,
    ) {
        let mut waiting = Vec::new();
        for (to, mode, body) in items {
            self.items += 1;
            let client_key = format!("k{}", self.items).into();
            let item = Item { client_key, to: to.into(), mode, due: None, body };
            waiting.push((ItemNumber(self.items), item));
        }
        self.tell(Event::Arrived(waiting));
    }

    /// An item waits for an agent, or for the primary one.
    pub(crate) fn item(&mut self, to: impl Into<Option<AgentId>>, mode: Mode, body: Body) {
        self.items([(to, mode, body)]);
    }

    pub(crate) fn say(&mut self, to: AgentId, text: &str) {
        self.item(to, Mode::Queue, Body::Input(Input::from_person(text)));
    }

    pub(crate) fn steer(&mut self, to: AgentId, text: &str) {
        self.item(to, Mode::Steer, Body::Input(Input::from_person(text)));
    }

    /// The first command of a kind, taken out.
    fn take<T>(&mut self, kind: impl Fn(&Command) -> Option<T>) -> Option<T> {
        let (place, found) =
            self.wanted.iter().enumerate().find_map(|(place, it)| Some((place, kind(it)?)))?;
        self.wanted.remove(place);
        Some(found)
    }

    /// Whether a batch is to be appended.
    pub(crate) fn appends(&self) -> bool {
        self.wanted.iter().any(|command| matches!(command, Command::Append(_)))
    }

    /// Whether something is to be told, sent or run.
    pub(crate) fn acts(&self) -> bool {
        self.wanted.iter().any(|command| {
            matches!(command, Command::Publish(_) | Command::Proceed { .. } | Command::Run(_))
        })
    }

    /// Appends the batch that is to be appended; gives the kinds of its entries.
    pub(crate) fn append(&mut self) -> String {
        let kinds = self.store();
        self.tell(Event::Appended);
        kinds
    }

    /// The same, and the driver is not told yet.
    pub(crate) fn store(&mut self) -> String {
        assert!(!self.acts(), "before it is durable: {:?}", self.wanted);
        let append = |command: &Command| match command {
            Command::Append(batch) => Some(Arc::clone(batch)),
            _ => None,
        };
        let batch = self.take(append).expect("nothing is appended");
        let kinds: Vec<&str> = batch.entries.iter().map(|p| p.entry.fact.kind()).collect();
        let kinds = kinds.join(" ");
        self.stored.push(batch);
        kinds
    }

    /// The store refuses the batch that is to be appended; gives the kinds of its entries.
    pub(crate) fn refuse_for(&mut self, why: Setback) -> String {
        let kinds = self.store();
        self.stored.pop();
        self.tell(Event::NotAppended(why));
        kinds
    }

    /// What an agent's context is made of is read; gives the entries that it shows.
    pub(crate) fn gather(&mut self, of: AgentId) -> Result<Vec<Seq>, DoesNotFit> {
        let wanted = |command: &Command| match command {
            Command::Gather { agent, ticket, gather } if *agent == of => {
                Some((*ticket, gather.clone()))
            }
            _ => None,
        };
        let (ticket, gather) = self.take(wanted).expect("nothing is gathered");
        let known = || self.stored.iter().chain(&gather.unstored);
        let row = |seq| {
            let mut rows = known().flat_map(|batch| &batch.rows);
            rows.find(|row| row.seq == seq && row.agent == of).cloned()
        };
        let entry = |seq| {
            let mut placed = known().flat_map(|batch| &batch.entries);
            placed.find(|placed: &&Placed| placed.entry.seq == seq).map(|p| Arc::clone(&p.entry))
        };
        let gathered = Material::at_hand(&gather.history, &gather.ask, row, entry);
        let shown =
            gathered.as_ref().map(|material| material.entries.iter().map(|(seq, _)| seq).collect());
        let shown = shown.map_err(Clone::clone);
        self.tell(Event::Gathered { agent: of, ticket, gathered: Box::new(gathered) });
        shown
    }

    /// The agents for whom it is read what a recap is written from.
    pub(crate) fn recaps(&self) -> Vec<AgentId> {
        let agents = self.wanted.iter().filter_map(|command| match command {
            Command::GatherRecap { agent, .. } => Some(*agent),
            _ => None,
        });
        agents.collect()
    }

    /// What an agent's context is made of cannot be read.
    pub(crate) fn gather_in_vain(&mut self, of: AgentId) {
        let wanted = |command: &Command| match command {
            Command::Gather { agent, ticket, .. } if *agent == of => Some(*ticket),
            _ => None,
        };
        let ticket = self.take(wanted).expect("nothing is gathered");
        let setback = Setback::Later("the store is busy".to_owned());
        self.tell(Event::NotGathered { agent: of, ticket, setback });
    }

    /// A pause is over.
    pub(crate) fn wake(&mut self) {
        let wanted = |command: &Command| match command {
            Command::Sleep { alarm, .. } => Some(*alarm),
            _ => None,
        };
        let alarm = self.take(wanted).expect("nothing is waited for");
        self.tell(Event::Alarm(alarm));
    }

    /// An agent's request is made.
    pub(crate) fn prepare(&mut self, of: AgentId) -> Ticketed {
        let wanted = |command: &Command| match command {
            Command::Invoke { agent, ticket, request } if *agent == of => {
                Some((*ticket, request.clone()))
            }
            _ => None,
        };
        let (ticket, request) = self.take(wanted).expect("nobody is asked");
        let prepared =
            Prepared { body_digest: Digest::of(b"body"), encoder_version: 1, repairs: Vec::new() };
        let asked = Ticketed { agent: of, ticket, request };
        self.delta(&asked, Delta::Prepared(prepared));
        asked
    }

    fn delta(&mut self, asked: &Ticketed, delta: Delta) {
        let Ticketed { agent, ticket, .. } = *asked;
        self.tell(Event::Delta { agent, ticket, delta });
    }

    /// A model answers with a text, or with a call if it names a tool.
    pub(crate) fn answer(&mut self, asked: &Ticketed, text: &str, tool: Option<&str>) {
        let proceed = |command: &Command| match command {
            Command::Proceed { ticket, .. } => (*ticket == asked.ticket).then_some(()),
            _ => None,
        };
        self.take(proceed).expect("its beginning is not durable");
        let call = |name: &str| BlockKind::ToolCall { name: name.into(), provider_id: None };
        let (block, kind) = (BlockIndex(0), tool.map_or(BlockKind::Text, call));
        for delta in [
            Delta::Started(Metadata::new()),
            Delta::Begin { block, kind },
            Delta::Fragment { block, text: text.into() },
            Delta::End { block },
            Delta::Finished { stop: Stop::Done, metadata: Metadata::new() },
        ] {
            self.delta(asked, delta);
        }
        self.told();
    }

    /// A call that was started is run, and has its outcome.
    pub(crate) fn run(&mut self) {
        let call = self.runs().expect("nothing runs").call;
        self.told();
        self.ran(call);
    }

    /// A call has its outcome.
    pub(crate) fn ran(&mut self, call: CallId) {
        let outcome = ToolOutcome::Success(ToolResult::text("done"));
        let (attachments, metadata) = (Vec::new(), Metadata::new());
        let outcome = Outcome { outcome, attachments, elapsed_ms: 1, metadata };
        self.tell(Event::Ran { call, outcome });
    }

    /// A call that is to be run.
    pub(crate) fn runs(&mut self) -> Option<Run> {
        self.take(|command| match command {
            Command::Run(run) => Some(run.clone()),
            _ => None,
        })
    }

    /// Watchers are told what they are to be told.
    pub(crate) fn told(&mut self) {
        self.wanted.retain(|command| !matches!(command, Command::Publish(_)));
    }

    /// Whether an asking was given up: nothing is done for it any more.
    pub(crate) fn gave_up(&mut self) -> bool {
        let given_up = self.take(|command| match command {
            Command::Abandon { ticket, .. } => Some(*ticket),
            _ => None,
        });
        self.wanted.retain(|command| match command {
            Command::Gather { ticket, .. } | Command::Invoke { ticket, .. } => {
                Some(*ticket) != given_up
            }
            _ => true,
        });
        given_up.is_some()
    }

    /// Whether the state that a rewind leads to is to be read.
    pub(crate) fn fetches_past(&self) -> bool {
        self.wanted.iter().any(|command| matches!(command, Command::FetchPast { .. }))
    }

    /// Whether the driver has nothing left to do.
    pub(crate) fn rests(&self) -> bool {
        self.driver.rests().is_some()
    }

    /// The number of the last entry that is durable.
    pub(crate) fn head(&self) -> u64 {
        self.driver.history().head().0
    }

    /// How many batches were appended since the beginning.
    pub(crate) fn appended(&self) -> usize {
        self.stored.len() - 1
    }

    /// A whole step: the context is read, the request made, and what it follows from appended
    /// with its beginning.
    pub(crate) fn ask(&mut self, of: AgentId) -> (Ticketed, String) {
        self.gather(of).unwrap();
        assert!(!self.appends() && !self.acts(), "it waits for the request");
        let asked = self.prepare(of);
        let kinds = self.append();
        (asked, kinds)
    }
}

/// An agent's model that is being asked.
pub(crate) struct Ticketed {
    agent: AgentId,
    ticket: Ticket,
    pub(crate) request: Box<Request>,
}
