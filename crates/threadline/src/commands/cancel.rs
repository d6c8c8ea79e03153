//! `threadline cancel`: stopping what goes on in a conversation, wherever it does.

use serde::Serialize;
use threadline::{busy, item};
use threadline_core::history::state::Agent;
use threadline_core::id::{AgentId, ConversationId};
use threadline_core::inbox::{Body, Item};
use threadline_core::store;
use threadline_runtime::Stepped;

use super::change::is_driven;
use super::show::find_agent;
use crate::args::{Bounds, Cancel};
use crate::compose::Parts;
use crate::config::Config;
use crate::talk::delivered;
use crate::view::{Line, View};

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Cancel,
    view: &mut View,
) -> anyhow::Result<()> {
    let meant = arguments.conversation.as_deref().unwrap_or("last");
    let id = parts.find(meant).await?.id;
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let agents: Vec<AgentId> = match &arguments.agent {
        Some(meant) => {
            let agent = find_agent(meant, &parts.store.agents(id).await?)?;
            let in_turn = history.agent(agent).is_some_and(Agent::in_turn);
            in_turn.then_some(agent).into_iter().collect()
        }
        None => busy(&history).collect(),
    };
    let items = item(Body::Cancel).to_each(agents.iter().copied());
    for item in &items {
        parts.store.enqueue(id, item).await?;
    }
    let names = agents.iter().filter_map(|agent| history.agent(*agent));
    let names: Vec<&str> = names.map(|agent| &*agent.joined.name).collect();
    if is_driven(parts, id).await? {
        all_delivered(parts, id, &items).await?;
    } else if !items.is_empty() {
        let setup = parts.setup(config, Parts::offer(config)?, None, &Bounds::default())?;
        let mut drive = setup.runtime()?.drive(id).await?;
        // No further than that: what waits behind it is not begun here.
        while !all_taken(parts, id, &items).await? {
            if let Stepped::Blocked(_) = drive.step().await? {
                break;
            }
        }
        drive.release().await?;
    }
    tell(id, &names, view)
}

async fn all_delivered(parts: &Parts, id: ConversationId, items: &[Item]) -> anyhow::Result<()> {
    for item in items {
        delivered(&*parts.store, id, item).await?;
    }
    Ok(())
}

async fn all_taken(parts: &Parts, id: ConversationId, items: &[Item]) -> anyhow::Result<bool> {
    for item in items {
        // The same item again only tells what became of it.
        if parts.store.enqueue(id, item).await?.taken.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn tell(id: ConversationId, names: &[&str], view: &mut View) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Told<'a> {
        id: String,
        cancelled: &'a [&'a str],
    }
    if view.json {
        return Ok(view.value(&Told { id: id.to_string(), cancelled: names })?);
    }
    let told = match names {
        [] => "nothing goes on there".to_owned(),
        names => format!("stopped: {}", names.join(", ")),
    };
    Ok(view.line(&Line::new().plain(told))?)
}
