//! `threadline agents`: who takes part in a conversation, and who could.

use serde::Serialize;
use threadline_core::drive::run_state;
use threadline_core::history::History;
use threadline_core::history::batch::AgentSums;
use threadline_core::history::fact::AgentJoined;
use threadline_core::history::one_line;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::Command;
use threadline_core::store;
use threadline_runtime::NewAgent;

use super::agent::{Joining, Plan, Planned};
use super::change::change;
use super::show::find_agent;
use crate::args::{AgentAction, AgentOptions, Agents, Bounds};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View, counted};

/// How much of a remark stands on a line.
const LINE_CAP: usize = 200;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Agents,
    view: &mut View,
) -> anyhow::Result<()> {
    let Some(meant) = &arguments.conversation else {
        return planned(parts, config, &AgentOptions::default(), view);
    };
    let id = parts.find(meant).await?.id;
    let (Some(action), Some(name)) = (arguments.action, &arguments.name) else {
        return show(parts, id, view).await;
    };
    match action {
        AgentAction::Add => {
            let (description, given) =
                (arguments.description.as_deref(), arguments.instruction.as_deref());
            let planned = Planned::joining(config, name)?.with(description, given)?;
            let setup = parts.setup(config, Parts::offer(config)?, None, &Bounds::default())?;
            let agent = planned.agent(&setup.assistant("").joined)?;
            let (number, seq) = add(parts, id, &agent).await?;
            tell(id, number, seq, &format!("{name} joined"), view)
        }
        AgentAction::Remove => {
            let number = find_agent(name, &parts.store.agents(id).await?)?;
            let seq = change(parts, id, Some(number), Command::Leave).await?;
            tell(id, number, seq, &format!("{name} left"), view)
        }
    }
}

/// Lets an agent join a conversation, or changes the one of its name that is or was there: only in
/// what is said of it. Gives its number, and the entry that says so.
pub(super) async fn add(
    parts: &Parts,
    id: ConversationId,
    agent: &Joining,
) -> anyhow::Result<(AgentId, Seq)> {
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let state = history.state();
    let there = state.agent_named(agent.name());
    let known = state.agent_once_named(agent.name());
    let now = known.and_then(|known| history.agent(known)).map(|now| &*now.joined);
    let NewAgent { joined, instruction } = agent.changing(now);
    // Who is spoken to by default stays so.
    let primary = there.is_some() && state.primary() == there;
    let joined = AgentJoined { primary, ..joined };
    let seq = change(parts, id, None, Command::Join(joined)).await?;
    let number = store::verified_entry(&*parts.store, id, seq).await?.agent;
    if let Some(text) = instruction {
        change(parts, id, Some(number), Command::Instruct { text }).await?;
    }
    Ok((number, seq))
}

fn tell(
    id: ConversationId,
    agent: AgentId,
    seq: Seq,
    told: &str,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Told {
        id: String,
        agent: u32,
        seq: u64,
    }
    if view.json {
        return Ok(view.value(&Told { id: id.to_string(), agent: agent.0, seq: seq.0 })?);
    }
    Ok(view.line(&Line::new().plain(told))?)
}

/// An agent that a conversation begins with.
#[derive(Serialize)]
struct Begins<'a> {
    name: &'a str,
    primary: bool,
    description: &'a str,
    route: Option<&'a str>,
    tools: &'a [std::sync::Arc<str>],
    widgets: &'a [std::sync::Arc<str>],
}

impl<'a> Begins<'a> {
    fn new(joined: &'a AgentJoined) -> Self {
        Self {
            name: &joined.name,
            primary: joined.primary,
            description: &joined.description,
            route: joined.route.as_deref(),
            tools: &joined.tools,
            widgets: &joined.widgets,
        }
    }
}

/// Shows whom a new conversation begins with.
pub(super) fn planned(
    parts: &Parts,
    config: &Config,
    options: &AgentOptions,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct All<'a> {
        agents: Vec<Begins<'a>>,
    }
    let plan = Plan::new(config, options)?;
    let setup = parts.setup(config, Parts::offer(config)?, None, &Bounds::default())?;
    let agents = plan.agents(&setup)?;
    if view.json {
        let agents = agents.iter().map(|agent| Begins::new(&agent.joined)).collect();
        return Ok(view.value(&All { agents })?);
    }
    view.line(&Line::new().dim("a new conversation begins with"))?;
    for NewAgent { joined, .. } in &agents {
        let line = Line::new().plain("  ").name(&*joined.name);
        let line = if joined.primary { line.plain(" (primary)") } else { line };
        view.row(line.dim(format!("  {}", remarks(joined))))?;
    }
    Ok(())
}

/// What there is to say of an agent's settings, in a line.
fn remarks(joined: &AgentJoined) -> String {
    let tools = counted(u64::try_from(joined.tools.len()).unwrap_or(u64::MAX), "tool", "tools");
    let route = joined.route.as_ref().map(|route| format!("by {route}"));
    let described = Some(one_line(&joined.description, LINE_CAP)).filter(|text| !text.is_empty());
    described.into_iter().chain(route).chain([tools]).collect::<Vec<_>>().join(" · ")
}

/// An agent of a conversation as it is listed.
#[derive(Serialize)]
struct Listed<'a> {
    agent: u32,
    #[serde(flatten)]
    begins: Begins<'a>,
    present: bool,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    works_for: Option<String>,
    interactions: u64,
    state_description: &'a str,
    timers: Vec<Waking>,
}

#[derive(Serialize)]
struct Waking {
    timer: u64,
    when: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    text: String,
}

/// Shows who takes part in a conversation.
pub(super) async fn show(parts: &Parts, id: ConversationId, view: &mut View) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct All<'a> {
        id: String,
        agents: Vec<Listed<'a>>,
    }
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let sums = parts.store.agents(id).await?;
    let agents: Vec<Listed<'_>> = sums.iter().filter_map(|sums| present(&history, sums)).collect();
    if view.json {
        return Ok(view.value(&All { id: id.to_string(), agents })?);
    }
    for agent in &agents {
        print(agent, view)?;
    }
    Ok(())
}

fn present<'a>(history: &'a History, sums: &'a AgentSums) -> Option<Listed<'a>> {
    let agent = history.agent(sums.agent)?;
    let caller = agent.caller().and_then(|caller| history.agent(caller.agent));
    let timers = history.state().timers.iter().filter(|(_, timer)| timer.agent == sums.agent);
    let timers = timers.map(|(seq, timer)| Waking {
        timer: seq.0,
        when: timer.set.when.to_string(),
        every_ms: timer.set.every_ms,
        text: timer.set.text.to_string(),
    });
    Some(Listed {
        agent: sums.agent.0,
        begins: Begins {
            primary: history.state().primary() == Some(sums.agent),
            ..Begins::new(&agent.joined)
        },
        present: sums.present,
        state: run_state(history, sums.agent).name(),
        works_for: caller.map(|caller| caller.joined.name.to_string()),
        interactions: sums.interactions,
        state_description: &sums.state_description,
        timers: timers.collect(),
    })
}

fn print(agent: &Listed<'_>, view: &mut View) -> anyhow::Result<()> {
    let line = Line::new().plain(format!("{:>3} ", agent.agent)).name(agent.begins.name);
    let line = if agent.begins.primary { line.plain(" (primary)") } else { line };
    let state = if agent.present { agent.state } else { "left" };
    let line = line.plain(format!("  {state}"));
    let line = match &agent.works_for {
        Some(name) => line.plain(format!(", works for {name}")),
        None => line,
    };
    let described = one_line(agent.begins.description, LINE_CAP);
    view.row(line.dim(format!("  {described}")))?;
    if !agent.state_description.is_empty() {
        view.row(Line::new().plain("      ").dim(one_line(agent.state_description, LINE_CAP)))?;
    }
    for timer in &agent.timers {
        let again =
            timer.every_ms.map_or_else(String::new, |ms| format!(", every {} s", ms / 1000));
        let text = one_line(&timer.text, LINE_CAP);
        let text = if text.is_empty() { "it waits" } else { &text };
        let told = format!("      timer {} at {}{again}: {text}", timer.timer, timer.when);
        view.row(Line::new().dim(told))?;
    }
    Ok(())
}
