//! What simulated drivers work with: tools of every class, a few models, a small notebook.

use std::sync::{Arc, OnceLock};

use threadline_core::choose::{AllHealthy, DEFAULT_ROUTE, Route, Strategy};
use threadline_core::drive::{Setting, Toolset};
use threadline_core::history::fact::{AgentJoined, Effect, Invocation, Verdict};
use threadline_core::provider::{Models, Profile, Target, ToolSupport};
use threadline_core::tokens::Estimator;
use threadline_core::tool::{Handling, RunRules, ToolSpec};
use threadline_core::widget::Registry;

use super::chaos::Swarm;
use super::notebook::{NOTE, NOTEBOOK, Notebook};
use crate::ids::SeededIds;

/// The schema of nearly all tools: a number.
pub(super) const SCHEMA: &str =
    r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
/// After how long a call counts as one without an answer.
const TIMEOUT_MS: u64 = 20_000;

/// What running a call a second time would do, and whether calls run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing.
    Read,
    /// The same.
    Idempotent,
    /// It would be done twice.
    Once,
}

impl Class {
    /// The tool of the fixed conversation.
    pub(super) const fn tool(self) -> &'static str {
        match self {
            Self::Read => "look",
            Self::Idempotent => "set",
            Self::Once => "send",
        }
    }
}

/// A tool: its name, what running it again does, whether it runs beside others, who is asked.
type Row = (&'static str, Effect, bool, Verdict);

/// The tools that are run.
pub(super) const TOOLS: &[Row] = &[
    ("look", Effect::Read, true, Verdict::Allow),
    (PING, Effect::Read, true, Verdict::Allow),
    ("set", Effect::Idempotent, true, Verdict::Allow),
    ("set_alone", Effect::Idempotent, false, Verdict::Allow),
    ("send", Effect::Once, true, Verdict::Allow),
    ("send_alone", Effect::Once, false, Verdict::Allow),
    ("send_known", Effect::Once, true, Verdict::Allow),
    ("send_asked", Effect::Once, false, Verdict::Ask),
    ("set_asked", Effect::Idempotent, true, Verdict::Ask),
    ("denied", Effect::Once, true, Verdict::Deny),
];

/// The tool that needs no arguments.
pub(super) const PING: &str = "ping";

/// The tool that can tell what became of a call.
pub(super) const KNOWS: &str = "send_known";

/// A window in which a conversation is soon folded, and what the tools of agents that work together
/// take of one.
const SMALL_WINDOW: u64 = 1_030;
const TEAM_TOKENS: u64 = 900;

struct Shared {
    tools: Toolset,
    registry: Arc<Registry>,
    /// The worlds of models, by what a seed draws: for one agent by itself, and for many.
    worlds: [[Arc<FewModels>; 4]; 2],
}

/// The models there are.
struct FewModels {
    targets: Vec<Arc<Target>>,
    routes: Vec<Arc<Route>>,
}

impl Models for FewModels {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.targets.clone()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        self.routes.clone()
    }
}

impl FewModels {
    /// Models with these windows, and the route that is taken where nobody names one.
    fn new(windows: &[(&'static str, u64)], strategy: Option<Strategy>) -> Arc<Self> {
        let targets = windows.iter().map(|(name, window)| Arc::new(target(name, *window)));
        let models = windows.iter().map(|(name, _)| Arc::from(*name)).collect();
        let route = strategy.map(|strategy| Route { name: DEFAULT_ROUTE.into(), models, strategy });
        let routes = route.into_iter().map(Arc::new).collect();
        Arc::new(Self { targets: targets.collect(), routes })
    }
}

fn target(name: &str, window_tokens: u64) -> Target {
    let invocation = Invocation {
        provider: "simulated".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "none".into(),
        model: name.into(),
    };
    let profile = Profile {
        window_tokens,
        output_cap_tokens: 200,
        tools: ToolSupport::SideBySide,
        ..Profile::unknown()
    };
    Target { name: name.into(), invocation, profile, unusable: None }
}

fn spec(row: &Row) -> Arc<ToolSpec> {
    let (name, effect, side_by_side, verdict) = *row;
    let rules = RunRules { side_by_side, timeout_ms: TIMEOUT_MS, ..RunRules::usual(effect) };
    Arc::new(ToolSpec {
        name: name.into(),
        description: "does something with a number".into(),
        schema: if name == PING { r#"{"type":"object"}"# } else { SCHEMA }.into(),
        strict: false,
        server: None,
        verdict,
        handling: Handling::Run(rules),
    })
}

/// Made once: schemas take longer to read than a conversation to run.
fn shared() -> Option<&'static Shared> {
    static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
    let make = || {
        let registry = Registry::new(vec![Box::new(Notebook::default())]).ok()?;
        let tools = Toolset::new(TOOLS.iter().map(spec), &registry).ok()?;
        let (large, fallback) = (1_000_000, Some(Strategy::Fallback));
        let worlds = [SMALL_WINDOW, SMALL_WINDOW + TEAM_TOKENS].map(|small| {
            [
                FewModels::new(&[("one", large)], None),
                FewModels::new(&[("one", large), ("two", 2 * small), ("three", large)], fallback),
                FewModels::new(&[("one", small), ("two", large)], Some(Strategy::FirstThatFits)),
                FewModels::new(&[("one", small)], None),
            ]
        });
        Some(Shared { tools, registry: Arc::new(registry), worlds })
    };
    SHARED.get_or_init(make).as_ref()
}

/// The widgets there are.
pub(super) fn registry() -> Arc<Registry> {
    shared().map(|shared| Arc::clone(&shared.registry)).unwrap_or_default()
}

/// What drivers work with, with ids of a seed.
pub(super) fn setting(seed: u64, swarm: &Swarm) -> Option<Arc<Setting>> {
    let shared = shared()?;
    let [few, many] = &shared.worlds;
    let [one, fallback, fitting, small] = if swarm.team { many } else { few };
    let models = match seed % 8 {
        0 | 4 => one,
        1 | 5 | 6 => fallback,
        2 => fitting,
        _ => small,
    };
    let models = Arc::clone(models) as Arc<dyn Models>;
    Some(Arc::new(Setting {
        ids: Arc::new(SeededIds::new(seed)),
        counter: Arc::new(Estimator),
        models,
        health: Arc::new(AllHealthy),
        tools: shared.tools.clone(),
        widgets: Arc::clone(&shared.registry),
        limits: swarm.limits,
        policy: swarm.policy.clone(),
        workspace: None,
    }))
}

/// The agent as it joins.
pub(super) fn agent() -> AgentJoined {
    AgentJoined {
        name: "worker".into(),
        tools: TOOLS.iter().map(|(name, ..)| (*name).into()).collect(),
        widgets: vec![NOTEBOOK.into()],
        primary: true,
        ..AgentJoined::default()
    }
}

/// The first or the second of two agents that know nothing of each other.
pub(super) fn agent_at(index: usize) -> AgentJoined {
    let joined = agent();
    let name = if index == 0 { Arc::clone(&joined.name) } else { "helper".into() };
    AgentJoined { name, primary: index == 0, ..joined }
}

/// The first agent with fewer tools than before.
pub(super) fn lesser_agent() -> AgentJoined {
    let kept = |name: &Arc<str>| !matches!(&**name, "set" | "send" | "send_known");
    AgentJoined { tools: agent().tools.into_iter().filter(kept).collect(), ..agent() }
}

/// The tools that a drawn call may name: those there are, the notebook's, and one that is not there.
pub(super) fn callable() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, ..)| *name).chain([NOTE, NOTE, "no_such_tool"])
}
