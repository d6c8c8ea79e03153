//! What a driver works with: tools, widgets, models, limits. The same for all conversations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{peers, timing};
use crate::choose::HealthSource;
use crate::history::fact::{AgentJoined, CALL_AGENT, Digest, Money, WorkspaceSet};
use crate::history::state::Peer;
use crate::id::IdSource;
use crate::policy::Rule;
use crate::provider::Models;
use crate::suggest::nearest;
use crate::tokens::TokenCounter;
use crate::tool::{
    ArgumentsRefused, Catalogue, NameTaken, Schema, SchemaRefused, ToolSpec, Validated,
};
use crate::widget::Registry;

/// What a driver works with.
pub struct Setting {
    /// Where ids come from.
    pub ids: Arc<dyn IdSource>,
    /// Who counts tokens.
    pub counter: Arc<dyn TokenCounter>,
    /// The models that can be asked.
    pub models: Arc<dyn Models>,
    /// How they are doing.
    pub health: Arc<dyn HealthSource>,
    /// The tools that can be run.
    pub tools: Toolset,
    /// The widgets there are.
    pub widgets: Arc<Registry>,
    /// When turns end.
    pub limits: Limits,
    /// The operator's rules for calls, in order: the last that speaks of a call counts.
    pub policy: Vec<Rule>,
    /// The folder that tools work in, if there is one.
    pub workspace: Option<WorkspaceSet>,
}

/// When a turn ends without an answer, and how often things are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most outputs of a turn.
    pub steps: u32,
    /// The most calls of a turn.
    pub calls: u32,
    /// The most times that the same call is made in a row.
    pub same_call: u32,
    /// The most tokens that a turn's invocations take, if there is a limit.
    pub turn_tokens: Option<u64>,
    /// The most tokens that a conversation's invocations take, if there is a limit.
    pub conversation_tokens: Option<u64>,
    /// The most that a turn's invocations cost, if there is a limit. What has no known price
    /// counts as nothing.
    pub turn_cost: Option<Money>,
    /// The most that a conversation's invocations cost, if there is a limit.
    pub conversation_cost: Option<Money>,
    /// The most attempts to get an answer for one step, whoever is asked.
    pub attempts: u32,
    /// The most times in a row that a model may ask to be asked again.
    pub pauses: u32,
    /// The most attempts to run a call that may run again.
    pub call_attempts: u32,
    /// The most calls of an agent that run at a time.
    pub side_by_side: usize,
    /// The most agents that wait for one another.
    pub depth: usize,
    /// The most turns that begin in a row without a person.
    pub alone: u32,
    /// Whether a recap is written when folded exchanges no longer fit.
    pub recaps: bool,
    /// How long a person has to answer a question.
    pub approval_ms: u64,
    /// How long calls have to stop.
    pub grace_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50,
            calls: 200,
            same_call: 5,
            turn_tokens: None,
            conversation_tokens: None,
            turn_cost: None,
            conversation_cost: None,
            attempts: 5,
            pauses: 5,
            call_attempts: 3,
            side_by_side: 8,
            depth: 4,
            alone: 100,
            recaps: true,
            approval_ms: 15 * 60 * 1000,
            grace_ms: 6_000,
        }
    }
}

/// The tools that drivers themselves see to: calling other agents, waiting, being woken. An agent
/// has those that it names, like any others.
pub fn own_tools() -> [ToolSpec; 4] {
    let [wait, set_timer, clear_timer] = timing::specs();
    [peers::spec(), wait, set_timer, clear_timer]
}

/// The tools that can be run, each name once, with their schemas read.
#[derive(Clone, Debug, Default)]
pub struct Toolset(BTreeMap<Arc<str>, Known>);

/// A tool and the schema of its arguments.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) spec: Arc<ToolSpec>,
    schema: Arc<Schema>,
}

/// Why tools cannot be used together.
#[derive(Debug, thiserror::Error)]
pub enum ToolsetRefused {
    /// Two tools want one name.
    #[error(transparent)]
    Name(#[from] NameTaken),
    /// A schema is none.
    #[error("the schema of the tool {tool:?} cannot be used")]
    Schema {
        /// The tool.
        tool: Arc<str>,
        /// Why not.
        #[source]
        source: SchemaRefused,
    },
}

impl Known {
    fn new(spec: Arc<ToolSpec>) -> Result<Self, ToolsetRefused> {
        let refused = |source| ToolsetRefused::Schema { tool: Arc::clone(&spec.name), source };
        let schema = Arc::new(Schema::new(&spec.schema).map_err(refused)?);
        Ok(Self { spec, schema })
    }

    /// Makes of a call's raw arguments what the tool can run with; as they are, if it is strict.
    pub(super) fn validate(&self, raw: &str) -> Result<Validated, ArgumentsRefused> {
        if self.spec.strict {
            self.schema.validate_strictly(raw)
        } else {
            self.schema.validate(raw)
        }
    }
}

impl Toolset {
    /// These tools, the tools of these widgets, and those by which agents call each other and
    /// wait. Refused if two share a name, or if a schema is none.
    pub fn new(
        specs: impl IntoIterator<Item = Arc<ToolSpec>>,
        widgets: &Registry,
    ) -> Result<Self, ToolsetRefused> {
        let mut tools = BTreeMap::new();
        let own = own_tools().into_iter().map(Arc::new);
        for spec in specs.into_iter().chain(widgets.all_tools()).chain(own) {
            let name = Arc::clone(&spec.name);
            if tools.insert(Arc::clone(&name), Known::new(spec)?).is_some() {
                return Err(NameTaken { name }.into());
            }
        }
        Ok(Self(tools))
    }

    /// What a tool is.
    pub fn spec(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.get(name).map(|known| &known.spec)
    }

    /// The arguments that a call would run with, as drivers make them of what a model wrote; none
    /// if there is no such tool.
    pub fn validate(&self, name: &str, raw: &str) -> Option<Result<Validated, ArgumentsRefused>> {
        self.get(name).map(|known| known.validate(raw))
    }

    /// The names of all tools, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.keys()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Known> {
        self.0.get(name)
    }
}

/// An agent names a tool or a widget that nothing provides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent {agent:?} names the {what} {name:?}, which does not exist; {hint}")]
pub struct UnknownName {
    /// The agent.
    pub agent: Arc<str>,
    /// `tool` or `widget`.
    pub what: &'static str,
    /// The name that nothing provides.
    pub name: Arc<str>,
    /// The closest name that exists, or all of them.
    pub hint: String,
}

impl UnknownName {
    /// The first of `wanted` that is not among `known`, as an error.
    pub fn check(
        agent: &Arc<str>,
        what: &'static str,
        wanted: &[Arc<str>],
        known: &[&str],
    ) -> Result<(), Self> {
        let Some(name) = wanted.iter().find(|name| !known.contains(&&***name)) else {
            return Ok(());
        };
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None if known.is_empty() => format!("there are no {what}s here"),
            None => format!("there are {}", known.join(", ")),
        };
        Err(Self { agent: Arc::clone(agent), what, name: Arc::clone(name), hint })
    }
}

/// What an agent is shown of its tools, and its form as an attachment.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) kept: Option<(Digest, Arc<[u8]>)>,
}

impl Setting {
    /// Checks that every tool and widget that a joining agent names exists.
    ///
    /// An agent may keep the names it already has (`now`): a history may come from a program that
    /// has other tools, and changing such an agent must stay possible.
    pub fn check_names(
        &self,
        joined: &AgentJoined,
        now: Option<&AgentJoined>,
    ) -> Result<(), UnknownName> {
        let (tools, widgets) = now.map_or((&[][..], &[][..]), |now| (&*now.tools, &*now.widgets));
        let known: Vec<&str> = self.tools.names().chain(tools).map(|name| &**name).collect();
        UnknownName::check(&joined.name, "tool", &joined.tools, &known)?;
        let known: Vec<&str> = self.widgets.names().chain(widgets).map(|name| &**name).collect();
        UnknownName::check(&joined.name, "widget", &joined.widgets, &known)
    }

    /// The tools that an agent has, in order: its own as far as they are there, then those of its
    /// widgets.
    pub(super) fn tools_of(&self, joined: &AgentJoined) -> Vec<Arc<ToolSpec>> {
        let of_widgets = self.widgets.tools(joined);
        let own = joined.tools.iter().filter_map(|name| self.tools.get(name));
        let own = own.map(|known| Arc::clone(&known.spec));
        let mut tools: Vec<Arc<ToolSpec>> = Vec::new();
        for spec in own.chain(of_widgets) {
            if !tools.iter().any(|tool| tool.name == spec.name) {
                tools.push(spec);
            }
        }
        tools
    }

    /// The tools that an agent is shown, and the digest of their form as an attachment.
    pub fn catalogue_of(
        &self,
        joined: &AgentJoined,
        peers: &[Peer],
    ) -> (Arc<Catalogue>, Option<Digest>) {
        let Shown { catalogue, kept } = self.shown_to(joined, peers);
        (catalogue, kept.map(|(digest, _)| digest))
    }

    /// What an agent is shown of its tools.
    pub(super) fn shown_to(&self, joined: &AgentJoined, peers: &[Peer]) -> Shown {
        let shown = |spec: Arc<ToolSpec>| match &*spec.name {
            CALL_AGENT => peers::shown(&spec, peers).map(Arc::new),
            _ => Some(spec),
        };
        let tools: Vec<_> = self.tools_of(joined).into_iter().filter_map(shown).collect();
        if tools.is_empty() {
            return Shown { catalogue: Arc::default(), kept: None };
        }
        let bytes: Arc<[u8]> = catalogue_bytes(&tools).into();
        let text = String::from_utf8_lossy(&bytes);
        // The names are told apart above, so that the catalogue is never refused.
        let catalogue = Catalogue::new(tools, self.counter.count(&text)).unwrap_or_default();
        let kept = Some((Digest::of(&bytes), bytes));
        Shown { catalogue: Arc::new(catalogue), kept }
    }
}

/// A catalogue as an attachment: a JSON list of what models read of each tool.
fn catalogue_bytes(tools: &[Arc<ToolSpec>]) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Line<'a> {
        name: &'a str,
        description: &'a str,
        schema: &'a str,
    }
    let lines = tools.iter().map(|tool| Line {
        name: &tool.name,
        description: &tool.description,
        schema: &tool.schema,
    });
    serde_json::to_vec(&lines.collect::<Vec<_>>()).unwrap_or_default()
}
