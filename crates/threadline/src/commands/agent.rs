//! What the commands share that talk with an agent.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use threadline::Setup;
use threadline_core::id::Seq;
use threadline_runtime::NewAgent;

use crate::args::AgentOptions;
use crate::config::Config;
use crate::config::environment::variable;
use crate::config::file::AgentEntry;
use crate::near::nearest;
use crate::offer::Offer;
use crate::talk::Talk;

/// What the agent is called that conversations begin with unless told.
const ASSISTANT: &str = "assistant";

/// The instruction of an agent that was given none.
const INSTRUCTION: &str = "You are an assistant in a terminal. Answer briefly and in plain text. \
    Use your tools where they help, and your notebook for what should be remembered.";

/// The instruction that was given: a text, or with `@` the text of a file.
fn instruction(given: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let Some(name) = given.strip_prefix('@') else { return Ok(Some(given.to_owned())) };
    let path = Path::new(name);
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the instruction {}", path.display()))?;
    Ok(Some(text.trim_end().to_owned()))
}

/// The instruction that an agent gets.
pub(super) fn effective(given: Option<&str>) -> &str {
    given.unwrap_or(INSTRUCTION)
}

/// The agent that a conversation begins with, and the route that was named for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    name: Arc<str>,
    entry: AgentEntry,
    /// Its instruction, if it was given one.
    pub(super) instruction: Option<String>,
    /// The model or route that the command line names.
    pub(super) named: Option<Arc<str>>,
    route: Option<Arc<str>>,
}

impl Plan {
    /// What the command line, the environment and the config say, in this order.
    pub(super) fn new(config: &Config, options: &AgentOptions) -> anyhow::Result<Self> {
        let name = options.agent.as_deref().unwrap_or(ASSISTANT);
        let entry = config.file.agents.get(name).cloned();
        if entry.is_none() && name != ASSISTANT {
            let near = nearest(name, config.file.agents.keys().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            anyhow::bail!("there is no agent named {name:?} in the config{hint}");
        }
        let entry = entry.unwrap_or_default();
        let given = options.instruction.as_deref().or(entry.instruction.as_deref());
        let instruction = instruction(given)?;
        let answers = &options.answers;
        let named = answers.model.as_deref().or(answers.route.as_deref()).map(Arc::from);
        let said = || variable("THREADLINE_MODEL").or_else(|| variable("THREADLINE_ROUTE"));
        let route = named.clone().or_else(|| said().map(|name| name.trim().into()));
        let route = route.or_else(|| entry.route.clone());
        let route = route.or_else(|| config.file.route.clone());
        let route = route.or_else(|| config.file.model.clone());
        Ok(Self { name: name.into(), entry, instruction, named, route })
    }

    /// The model or route that answers, if one is said.
    pub(super) fn route(&self) -> Option<Arc<str>> {
        self.route.clone()
    }

    /// Has what is named be one of the models.
    pub(super) async fn offer(&self, offer: &mut Offer) -> anyhow::Result<()> {
        for name in self.named.iter().chain(&self.route) {
            offer.want_anywhere(name).await?;
        }
        Ok(())
    }

    /// The agent, with the tools and widgets there are that it wants.
    pub(super) fn agent(&self, setup: &Setup) -> anyhow::Result<NewAgent> {
        let mut agent = setup.assistant(effective(self.instruction.as_deref()));
        let joined = &mut agent.joined;
        joined.name = Arc::clone(&self.name);
        joined.description = self.entry.description.clone().unwrap_or_default();
        joined.route.clone_from(&self.route);
        joined.options = self.entry.options();
        for (all, wanted, what) in [
            (&mut joined.tools, &self.entry.tools, "tool"),
            (&mut joined.widgets, &self.entry.widgets, "widget"),
        ] {
            let Some(wanted) = wanted else { continue };
            if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
                let there: Vec<&str> = all.iter().map(|name| &**name).collect();
                let (there, agent) = (there.join(", "), &self.name);
                anyhow::bail!("agents.{agent}: there is no {what} {unknown:?}; there are {there}");
            }
            all.retain(|name| wanted.contains(name));
        }
        Ok(agent)
    }
}

/// Begins a conversation with an agent.
pub(super) async fn begin(setup: Setup, plan: &Plan) -> anyhow::Result<Talk> {
    let agent = plan.agent(&setup)?;
    let runtime = setup.runtime()?;
    let id = runtime.create(&[agent]).await?;
    Ok(Talk::new(runtime, id, Seq::ZERO))
}
