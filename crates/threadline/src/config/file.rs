//! The user's config file: what is written there, key by key. Every key is optional.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use threadline_core::choose::Strategy;
use threadline_core::drive::Limits;
use threadline_core::history::fact::{CallOptions, Detail, Money, Thinking};
use threadline_providers::access::KeyRef;
use threadline_providers::dialect::Dialect;
use threadline_providers::endpoint::key_header;
use threadline_providers::profile::{Description, dollars};
use toml::{Spanned, Table, Value};

use super::policy::PolicyEntry;

/// What the agent is called that conversations begin with unless the config says otherwise.
pub(crate) const ASSISTANT: &str = "assistant";

/// A config file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) db: Option<PathBuf>,
    pub(crate) log: Option<String>,
    /// The model or route that answers where nobody names one.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) route: Option<Arc<str>>,
    pub(crate) endpoints: BTreeMap<Spanned<String>, EndpointEntry>,
    pub(crate) models: BTreeMap<Spanned<String>, ModelEntry>,
    pub(crate) routes: BTreeMap<Spanned<String>, RouteEntry>,
    pub(crate) agents: BTreeMap<String, AgentEntry>,
    pub(crate) limits: LimitsEntry,
    /// Rules for calls, in order.
    pub(crate) policy: Vec<PolicyEntry>,
    pub(crate) dev: Dev,
}

/// What is only for tests of the program: a model and tools that do as a test wants.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Dev {
    /// A script that is followed instead of asking a model.
    pub(crate) script: Option<PathBuf>,
    /// A file that tools of every effect add lines to.
    pub(crate) ledger: Option<PathBuf>,
    /// How long the built-in model takes over each word.
    pub(crate) pause_ms: Option<u64>,
}

/// Where models are asked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EndpointEntry {
    pub(crate) provider: Option<String>,
    pub(crate) base_url: Option<String>,
    #[serde(deserialize_with = "dialect")]
    pub(crate) dialect: Option<Dialect>,
    #[serde(deserialize_with = "key_ref")]
    pub(crate) key: Option<KeyRef>,
    #[serde(deserialize_with = "header_name")]
    pub(crate) key_header: Option<String>,
    pub(crate) account: Option<Arc<str>>,
    pub(crate) deployment: Option<Arc<str>>,
    pub(crate) api_version: Option<Arc<str>>,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A model: where it is asked, under which name, and what is different about it.
#[derive(Debug, Default)]
pub(crate) struct ModelEntry {
    pub(crate) endpoint: Option<String>,
    /// The model's name there, if it is not the name of the entry.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) dialect: Option<Dialect>,
    /// The model whose description holds for it, where its own name says nothing.
    pub(crate) like: Option<String>,
    pub(crate) says: Description,
}

/// A named choice of models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteEntry {
    pub(crate) models: Vec<Arc<str>>,
    #[serde(default, deserialize_with = "strategy")]
    pub(crate) strategy: Strategy,
}

/// An agent that a conversation can begin with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentEntry {
    pub(crate) description: Option<Arc<str>>,
    pub(crate) instruction: Option<String>,
    /// Whether people talk with it where nobody is named.
    pub(crate) primary: Option<bool>,
    /// Whether it joins new conversations by itself; it does unless told.
    pub(crate) join: Option<bool>,
    pub(crate) route: Option<Arc<str>>,
    pub(crate) tools: Option<Vec<Arc<str>>>,
    pub(crate) widgets: Option<Vec<Arc<str>>>,
    pub(crate) max_output_tokens: Option<u32>,
    #[serde(deserialize_with = "temperature")]
    pub(crate) temperature: Option<u32>,
    #[serde(deserialize_with = "thinking")]
    pub(crate) thinking: Option<Thinking>,
    pub(crate) window_tokens: Option<u64>,
    pub(crate) detail: Option<Detail>,
    pub(crate) screen: Option<bool>,
}

impl AgentEntry {
    /// Takes in what a project says of it; what it does not say stays.
    fn take_in(&mut self, project: Self) {
        fn beat<T>(own: &mut Option<T>, other: Option<T>) {
            *own = other.or(own.take());
        }
        beat(&mut self.description, project.description);
        beat(&mut self.instruction, project.instruction);
        beat(&mut self.primary, project.primary);
        beat(&mut self.join, project.join);
        beat(&mut self.route, project.route);
        beat(&mut self.tools, project.tools);
        beat(&mut self.widgets, project.widgets);
        beat(&mut self.max_output_tokens, project.max_output_tokens);
        beat(&mut self.temperature, project.temperature);
        beat(&mut self.thinking, project.thinking);
        beat(&mut self.window_tokens, project.window_tokens);
        beat(&mut self.detail, project.detail);
        beat(&mut self.screen, project.screen);
    }

    /// What is asked of the model beyond the context.
    pub(crate) fn options(&self) -> CallOptions {
        CallOptions {
            max_output_tokens: self.max_output_tokens,
            temperature_thousandths: self.temperature,
            thinking: self.thinking,
            window_tokens: self.window_tokens,
            detail: self.detail,
            screen: self.screen,
        }
    }
}

/// When turns end without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsEntry {
    pub(crate) steps: Option<u32>,
    pub(crate) calls: Option<u32>,
    pub(crate) tokens: Option<u64>,
    pub(crate) conversation_tokens: Option<u64>,
    #[serde(deserialize_with = "money")]
    pub(crate) turn_cost: Option<Money>,
    #[serde(deserialize_with = "money")]
    pub(crate) conversation_cost: Option<Money>,
    /// How long a person has to answer a question about a call.
    pub(crate) approval_minutes: Option<NonZeroU32>,
    /// How many agents may wait for one another.
    pub(crate) depth: Option<usize>,
    /// How many turns may begin in a row without a person.
    pub(crate) alone: Option<u32>,
}

impl LimitsEntry {
    /// Both limits at once: the tighter of each.
    pub(crate) fn tightened(self, other: Self) -> Self {
        fn least<N: Ord>(one: Option<N>, other: Option<N>) -> Option<N> {
            one.into_iter().chain(other).min()
        }
        Self {
            steps: least(self.steps, other.steps),
            calls: least(self.calls, other.calls),
            tokens: least(self.tokens, other.tokens),
            conversation_tokens: least(self.conversation_tokens, other.conversation_tokens),
            turn_cost: least(self.turn_cost, other.turn_cost),
            conversation_cost: least(self.conversation_cost, other.conversation_cost),
            approval_minutes: least(self.approval_minutes, other.approval_minutes),
            depth: least(self.depth, other.depth),
            alone: least(self.alone, other.alone),
        }
    }
}

impl File {
    /// Takes in what a trusted project says: it beats the user's own, name by name.
    pub(super) fn take_in(&mut self, project: Self) {
        self.endpoints.extend(project.endpoints);
        self.models.extend(project.models);
        self.routes.extend(project.routes);
        self.policy.extend(project.policy);
        for (name, agent) in project.agents {
            self.agents.entry(name).or_default().take_in(agent);
        }
        let Self { db, log, model, route, limits, .. } = project;
        self.db = db.or(self.db.take());
        self.log = log.or(self.log.take());
        self.be_chosen_from(model, route, limits);
    }

    /// Takes in what any project may say: which model, what agents are told, tighter limits and
    /// rules. Whatever agents it names, new ones or the user's own, have at most the tools and
    /// widgets of the user's primary agent: they do as the project says.
    pub(super) fn take_in_untrusted(&mut self, project: Self) {
        let AgentEntry { tools, widgets, .. } = self.primary();
        for (name, agent) in project.agents {
            let entry = self.agents.entry(name).or_default();
            let own = entry.primary;
            entry.take_in(agent);
            // The parser refuses it already; here it has no way in either.
            entry.primary = own;
            restrict(&mut entry.tools, tools.as_deref());
            restrict(&mut entry.widgets, widgets.as_deref());
        }
        self.policy.extend(project.policy.into_iter().map(PolicyEntry::tightening));
        self.be_chosen_from(project.model, project.route, project.limits);
    }

    /// The user's own agent: the one that is primary, or the usual one.
    fn primary(&self) -> AgentEntry {
        let said = self.agents.values().find(|agent| agent.primary == Some(true));
        said.or_else(|| self.agents.get(ASSISTANT)).cloned().unwrap_or_default()
    }

    fn be_chosen_from(
        &mut self,
        model: Option<Arc<str>>,
        route: Option<Arc<str>>,
        limits: LimitsEntry,
    ) {
        if model.is_some() || route.is_some() {
            (self.model, self.route) = (model, route);
        }
        // What the user does not say is as usual, which a project may not loosen either.
        let (own, usual) = (self.limits, Limits::default());
        let minutes = NonZeroU32::new(u32::try_from(usual.approval_ms / 60_000).unwrap_or(1));
        let minutes = limits.approval_minutes.and(minutes);
        let approval_minutes = own.approval_minutes.or(minutes);
        let steps = own.steps.or(limits.steps.map(|_| usual.steps));
        let calls = own.calls.or(limits.calls.map(|_| usual.calls));
        let depth = own.depth.or(limits.depth.map(|_| usual.depth));
        let alone = own.alone.or(limits.alone.map(|_| usual.alone));
        let own = LimitsEntry { steps, calls, approval_minutes, depth, alone, ..own };
        self.limits = own.tightened(limits);
    }

    /// Paths in a file are relative to that file, wherever the program runs; `~/` is the home.
    pub(super) fn resolve_paths(&mut self, folder: &Path, home: Option<&Path>) {
        let resolve = |path: &mut PathBuf| {
            *path = match (path.strip_prefix("~"), home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => folder.join(&*path),
            };
        };
        for named in [&mut self.db, &mut self.dev.script, &mut self.dev.ledger] {
            named.iter_mut().for_each(resolve);
        }
        for endpoint in self.endpoints.values_mut() {
            if let Some(KeyRef::File(path)) = &mut endpoint.key {
                resolve(path);
            }
        }
        for agent in self.agents.values_mut() {
            if let Some(name) = agent.instruction.as_mut().filter(|text| text.starts_with('@')) {
                let mut path = PathBuf::from(name.trim_start_matches('@'));
                resolve(&mut path);
                *name = format!("@{}", path.display());
            }
        }
    }
}

/// Restricts names to those of `most`; none of either means that all there are may be had.
fn restrict(names: &mut Option<Vec<Arc<str>>>, most: Option<&[Arc<str>]>) {
    let Some(most) = most else { return };
    match names {
        Some(names) => names.retain(|name| most.contains(name)),
        None => *names = Some(most.to_vec()),
    }
}

impl<'de> Deserialize<'de> for ModelEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ModelVisitor)
    }
}

/// Takes the keys of a model one by one, so that what is wrong is told of its key.
struct ModelVisitor;

impl<'de> Visitor<'de> for ModelVisitor {
    type Value = ModelEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table that describes a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ModelEntry, A::Error> {
        let mut entry = ModelEntry::default();
        let mut said = Table::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "endpoint" => entry.endpoint = Some(map.next_value()?),
                "model" => entry.model = Some(map.next_value()?),
                "like" => entry.like = Some(map.next_value()?),
                "dialect" => {
                    let name: String = map.next_value()?;
                    entry.dialect = Some(dialect_named(&name).map_err(A::Error::custom)?);
                }
                _ => {
                    let value: Value = map.next_value()?;
                    let alone = Table::from_iter([(key.clone(), value.clone())]);
                    let checked = Description::deserialize(alone)
                        .map_err(|error| error.message().to_owned())
                        .and_then(|description| description.check());
                    checked.map_err(|wrong| A::Error::custom(in_words(&key, &wrong)))?;
                    said.insert(key, value);
                }
            }
        }
        entry.says = Description::deserialize(said).map_err(A::Error::custom)?;
        Ok(entry)
    }
}

/// What is wrong with a key, which is named once.
fn in_words(key: &str, wrong: &str) -> String {
    if let Some(rest) = wrong.strip_prefix("unknown field ")
        && wrong.contains(&format!("`{key}`"))
    {
        let known = "`endpoint`, `model`, `like`, `dialect`";
        return format!("unknown field {}, {known}", rest.trim_end());
    }
    format!("`{key}`: {wrong}")
}

fn dialect_named(name: &str) -> Result<Dialect, String> {
    Dialect::named(name).ok_or_else(|| {
        let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        format!("`dialect`: there is none of this name; there are {}", known.join(", "))
    })
}

fn dialect<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Dialect>, D::Error> {
    let name = String::deserialize(from)?;
    dialect_named(&name).map(Some).map_err(D::Error::custom)
}

fn header_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    if key_header(&name).is_none() {
        let told = "`key_header`: there are bearer, x-api-key, x-goog-api-key and api-key";
        return Err(D::Error::custom(told));
    }
    Ok(Some(name))
}

/// Where a key is, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    env: Option<Arc<str>>,
    file: Option<PathBuf>,
    command: Option<Vec<String>>,
}

fn key_ref<'de, D: Deserializer<'de>>(from: D) -> Result<Option<KeyRef>, D::Error> {
    let KeyEntry { env, file, command } = KeyEntry::deserialize(from)?;
    match (env, file, command) {
        (Some(name), None, None) => Ok(Some(KeyRef::Env(name))),
        (None, Some(path), None) => Ok(Some(KeyRef::File(path))),
        (None, None, Some(words)) if !words.is_empty() => Ok(Some(KeyRef::Command(words))),
        _ => Err(D::Error::custom("`key`: name one of env, file and command")),
    }
}

const STRATEGIES: [Strategy; 5] = [
    Strategy::Fixed,
    Strategy::Fallback,
    Strategy::Cheapest,
    Strategy::Fastest,
    Strategy::FirstThatFits,
];

/// A strategy's name as it is written.
fn strategy_name(strategy: Strategy) -> String {
    strategy.name().replace(' ', "_")
}

fn strategy<'de, D: Deserializer<'de>>(from: D) -> Result<Strategy, D::Error> {
    let name = String::deserialize(from)?;
    STRATEGIES.into_iter().find(|one| strategy_name(*one) == name).ok_or_else(|| {
        let known = STRATEGIES.map(strategy_name).join(", ");
        D::Error::custom(format!("`strategy`: there are {known}"))
    })
}

fn money<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Money>, D::Error> {
    let text = String::deserialize(from)?;
    dollars(&text).map(Some).map_err(D::Error::custom)
}

/// The temperature in thousandths, of a number from 0 to 2.
fn temperature<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let wrong = || D::Error::custom("`temperature`: give a number from 0 to 2, such as 0.7");
    let number = match Value::deserialize(from)? {
        Value::Integer(whole) => f64::from(i32::try_from(whole).map_err(|_| wrong())?),
        Value::Float(number) => number,
        _ => return Err(wrong()),
    };
    if !(0.0..=2.0).contains(&number) {
        return Err(wrong());
    }
    let thousandths = format!("{:.0}", number * 1_000.0);
    thousandths.parse().map(Some).map_err(|_| wrong())
}

/// How much to think: a word, or a budget of tokens.
fn thinking<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Thinking>, D::Error> {
    let told = "`thinking`: give off, adaptive, low, medium, high or { budget = TOKENS }";
    let wrong = || D::Error::custom(told);
    Ok(Some(match Value::deserialize(from)? {
        Value::String(word) => match word.as_str() {
            "off" => Thinking::Off,
            "adaptive" => Thinking::Adaptive,
            "low" => Thinking::Low,
            "medium" => Thinking::Medium,
            "high" => Thinking::High,
            _ => return Err(wrong()),
        },
        Value::Table(table) => {
            let tokens = table.get("budget").filter(|_| table.len() == 1);
            let tokens = tokens.and_then(Value::as_integer).and_then(|n| u32::try_from(n).ok());
            Thinking::Budget { tokens: tokens.ok_or_else(wrong)? }
        }
        _ => return Err(wrong()),
    }))
}
