//! What the commands share that talk with an agent.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use threadline::Setup;
use threadline_core::drive::UnknownName;
use threadline_core::history::fact::{AgentJoined, CallOptions};
use threadline_core::id::Seq;
use threadline_runtime::{NewAgent, Runtime};

use crate::args::AgentOptions;
use crate::config::Config;
use crate::config::bounded_read::{self, Owner};
use crate::config::environment::variable;
use crate::config::file::{ASSISTANT, AgentEntry};
use crate::near::nearest;
use crate::offer::Offer;
use crate::talk::{EVERYONE, Talk, Unheard};

/// The instruction of an agent that was given none.
const INSTRUCTION: &str = "You are an assistant in a terminal. Answer briefly and in plain text. \
    Use your tools where they help, and your notebook for what should be remembered.";

/// The instruction that was given: a text, or with `@` the text of a file.
fn instruction(given: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let Some(name) = given.strip_prefix('@') else { return Ok(Some(given.to_owned())) };
    let path = Path::new(name);
    let text = bounded_read::read_text(path, Owner::Anyone)
        .with_context(|| format!("could not read the instruction {}", path.display()))?
        .text;
    anyhow::ensure!(!text.trim().is_empty(), "the instruction {} is empty", path.display());
    Ok(Some(text.trim_end().to_owned()))
}

/// The instruction that an agent gets.
pub(super) fn effective(given: Option<&str>) -> &str {
    given.unwrap_or(INSTRUCTION)
}

/// The agents that a conversation begins with, and the route that was named for the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The agent that people talk with.
    primary: Planned,
    /// Those who are there for it to call.
    others: Vec<Planned>,
    /// The instruction of the first, if it was given one.
    pub(super) instruction: Option<String>,
    /// The model or route that the command line names.
    pub(super) named: Option<Arc<str>>,
}

/// An agent as the config has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    name: Arc<str>,
    entry: AgentEntry,
    instruction: Option<String>,
    route: Option<Arc<str>>,
}

impl Plan {
    /// What the command line, the environment and the config say, in this order.
    pub(super) fn new(config: &Config, options: &AgentOptions) -> anyhow::Result<Self> {
        let file = &config.file;
        let primary = primary(config, options.agent.as_deref())?;
        let entry = file.agents.get(primary).cloned().unwrap_or_default();
        let given = options.instruction.as_deref().or(entry.instruction.as_deref());
        let instruction = instruction(given)?;
        let answers = &options.answers;
        let named: Option<Arc<str>> =
            answers.model.as_deref().or(answers.route.as_deref()).map(Arc::from);
        let usual = usual_route(config, named.as_ref());
        let said = named.clone().or_else(variable_route);
        let route = said.or_else(|| entry.route.clone()).or_else(|| usual.clone());
        let others = file
            .agents
            .iter()
            .filter(|(name, entry)| name.as_str() != primary && entry.join.unwrap_or(true));
        let others = others.map(|(name, entry)| Planned::new(name, entry, usual.as_ref()));
        Ok(Self {
            others: others.collect::<anyhow::Result<_>>()?,
            primary: Planned {
                name: primary.into(),
                entry,
                instruction: instruction.clone(),
                route,
            },
            instruction,
            named,
        })
    }

    /// Refuses a name that nobody will have.
    pub(super) fn check_agent(&self, name: &str) -> Result<(), Unheard> {
        let there: Vec<&str> =
            self.others.iter().chain([&self.primary]).map(|agent| &*agent.name).collect();
        if there.contains(&name) { Ok(()) } else { Err(Unheard::nobody(name, &there)) }
    }

    /// The model or route that answers, if one is said.
    pub(super) fn route(&self) -> Option<Arc<str>> {
        self.primary.route.clone()
    }

    /// Has what is named be one of the models.
    pub(super) async fn offer(&self, offer: &mut Offer) -> anyhow::Result<()> {
        if let Some(name) = &self.named {
            offer.want_anywhere(name).await?;
        }
        for agent in std::iter::once(&self.primary).chain(&self.others) {
            let Some(route) = &agent.route else { continue };
            let wanted = offer.want_anywhere(route).await;
            if agent.entry.route.as_ref() == Some(route) {
                wanted.with_context(|| format!("agents.{}", agent.name))?;
            } else {
                wanted?;
            }
        }
        Ok(())
    }

    /// The agent that people talk with.
    pub(super) fn agent(&self, setup: &Setup) -> anyhow::Result<NewAgent> {
        let mut agent = self.primary.new_agent(&setup.assistant("").joined)?;
        let instruction = effective(self.instruction.as_deref());
        agent.instruction = Some(instruction).filter(|text| !text.trim().is_empty()).map(Arc::from);
        agent.joined.primary = true;
        Ok(agent)
    }

    /// All agents, the one that people talk with first.
    pub(super) fn agents(&self, setup: &Setup) -> anyhow::Result<Vec<NewAgent>> {
        let all = setup.assistant("").joined;
        let others = self.others.iter().map(|other| other.new_agent(&all));
        std::iter::once(self.agent(setup)).chain(others).collect()
    }
}

impl Planned {
    /// An agent of the config; what it does not say of its model is as usual.
    fn new(name: &str, entry: &AgentEntry, usual: Option<&Arc<str>>) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.into(),
            instruction: instruction(entry.instruction.as_deref())?,
            route: entry.route.clone().or_else(|| usual.cloned()),
            entry: entry.clone(),
        })
    }

    /// An agent that is to join: one of the config, or a new one like the usual.
    pub(super) fn joining(config: &Config, name: &str) -> anyhow::Result<Self> {
        check_name(name)?;
        let entry = config.file.agents.get(name).cloned().unwrap_or_default();
        Self::new(name, &entry, usual_route(config, None).as_ref())
    }

    /// The same with another description or instruction.
    pub(super) fn with(
        mut self,
        description: Option<&str>,
        given: Option<&str>,
    ) -> anyhow::Result<Self> {
        if let Some(description) = description {
            self.entry.description = Some(description.into());
        }
        if given.is_some() {
            self.instruction = instruction(given)?;
        }
        Ok(self)
    }

    /// The route it takes, if one is said.
    pub(super) fn route(&self) -> Option<&Arc<str>> {
        self.route.as_ref()
    }

    /// The agent as one that joins, or that is there and is changed.
    pub(super) fn agent(&self, all: &AgentJoined) -> anyhow::Result<Joining> {
        let (new, instructed) = (self.new_agent(all)?, self.instruction.is_some());
        Ok(Joining { new, said: self.entry.clone(), instructed })
    }

    /// The agent, with the tools and widgets there are that it wants.
    fn new_agent(&self, all: &AgentJoined) -> anyhow::Result<NewAgent> {
        let mut joined = AgentJoined {
            name: Arc::clone(&self.name),
            description: self.entry.description.clone().unwrap_or_default(),
            route: self.route.clone(),
            options: self.entry.options(),
            primary: false,
            ..all.clone()
        };
        for (all, wanted, what) in [
            (&mut joined.tools, &self.entry.tools, "tool"),
            (&mut joined.widgets, &self.entry.widgets, "widget"),
        ] {
            let Some(wanted) = wanted else { continue };
            let known: Vec<&str> = all.iter().map(|name| &**name).collect();
            UnknownName::check(&self.name, what, wanted, &known)?;
            all.retain(|name| wanted.contains(name));
        }
        let instruction = self.instruction.clone().unwrap_or_else(|| usual_worker(&self.name));
        let instruction = Some(instruction).filter(|text| !text.trim().is_empty());
        Ok(NewAgent { joined, instruction: instruction.map(Into::into) })
    }
}

/// An agent that joins a conversation, or that is there and is changed.
pub(super) struct Joining {
    /// What it is if it is new.
    new: NewAgent,
    /// What was said of it, and whether an instruction was: the rest stays if it is there.
    said: AgentEntry,
    instructed: bool,
}

impl Joining {
    pub(super) fn name(&self) -> &str {
        &self.new.joined.name
    }

    /// The agent as it is to be, from how it is if it is there.
    pub(super) fn changing(&self, now: Option<&AgentJoined>) -> NewAgent {
        let (new, said) = (self.new.clone(), &self.said);
        let Some(now) = now else { return new };
        let joined = AgentJoined {
            description: said.description.clone().unwrap_or_else(|| Arc::clone(&now.description)),
            route: said.route.clone().or_else(|| now.route.clone()),
            options: if said.options() == CallOptions::default() {
                now.options.clone()
            } else {
                new.joined.options
            },
            tools: if said.tools.is_some() { new.joined.tools } else { now.tools.clone() },
            widgets: if said.widgets.is_some() { new.joined.widgets } else { now.widgets.clone() },
            ..now.clone()
        };
        NewAgent { joined, instruction: new.instruction.filter(|_| self.instructed) }
    }
}

/// The instruction of an agent beside others that was given none.
fn usual_worker(name: &str) -> String {
    format!(
        "You are {name}, one of several agents of a conversation. Do what you are asked with your \
         tools, and answer briefly, in plain text."
    )
}

/// Whom people talk with: who is named, or who the config says, or the usual one.
fn primary<'a>(config: &'a Config, named: Option<&'a str>) -> anyhow::Result<&'a str> {
    let agents = &config.file.agents;
    for name in agents.keys() {
        check_name(name)?;
    }
    if let Some(name) = named {
        if !agents.contains_key(name) && name != ASSISTANT {
            let near = nearest(name, agents.keys().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            anyhow::bail!("there is no agent named {name:?} in the config{hint}");
        }
        return Ok(name);
    }
    let mut said = agents.iter().filter(|(_, entry)| entry.primary.unwrap_or(false));
    match (said.next(), said.next()) {
        (None, _) => Ok(ASSISTANT),
        (Some((name, _)), None) => Ok(name),
        (Some((one, _)), Some((other, _))) => {
            anyhow::bail!("agents.{one} and agents.{other} are both primary: only one can be")
        }
    }
}

/// The model or route of an agent of which nothing is said.
fn usual_route(config: &Config, named: Option<&Arc<str>>) -> Option<Arc<str>> {
    let named = named.cloned().or_else(variable_route);
    named.or_else(|| config.file.route.clone()).or_else(|| config.file.model.clone())
}

fn variable_route() -> Option<Arc<str>> {
    let said = variable("THREADLINE_MODEL").or_else(|| variable("THREADLINE_ROUTE"));
    said.map(|name| name.trim().into())
}

/// The longest name of an agent.
const NAME_CAP: usize = 64;

/// Refuses a name by which nobody could be spoken to.
pub(super) fn check_name(name: &str) -> anyhow::Result<()> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let begins = name.chars().next().is_some_and(char::is_alphabetic);
    anyhow::ensure!(
        begins && name.chars().all(fits) && name.chars().count() <= NAME_CAP,
        "{name:?} cannot be an agent's name: it begins with a letter, and has at most {NAME_CAP} letters, digits, - _ and ."
    );
    anyhow::ensure!(name != EVERYONE, "{EVERYONE:?} stands for all agents: choose another name");
    Ok(())
}

/// Begins a conversation with the agents that are planned.
pub(super) async fn begin(setup: Setup, plan: &Plan) -> anyhow::Result<Talk> {
    let (runtime, agents) = prepare(setup, plan)?;
    begin_with(runtime, &agents).await
}

/// Makes ready what a conversation begins with.
pub(super) fn prepare(setup: Setup, plan: &Plan) -> anyhow::Result<(Runtime, Vec<NewAgent>)> {
    let agents = plan.agents(&setup)?;
    Ok((setup.runtime()?, agents))
}

/// Begins a conversation with these agents.
pub(super) async fn begin_with(runtime: Runtime, agents: &[NewAgent]) -> anyhow::Result<Talk> {
    let id = runtime.create(agents).await?;
    let mut talk = Talk::new(runtime, id, Seq::ZERO).await?;
    talk.pass_over().await?;
    Ok(talk)
}
