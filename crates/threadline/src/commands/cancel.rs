//! `threadline cancel`: stopping what goes on in a conversation, wherever it does.

use std::time::Duration;

use serde::Serialize;
use threadline::{Setup, busy, changed, item, taken};
use threadline_core::history::History;
use threadline_core::history::state::Agent;
use threadline_core::id::{AgentId, ConversationId};
use threadline_core::inbox::{Body, Item};
use threadline_core::store::{self, StoreError, verified_entry};
use threadline_runtime::{DriveError, Runtime, Stepped};
use tokio::time::Instant;

use super::change::is_driven;
use super::show::find_agent;
use crate::args::{Bounds, Cancel};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View};

/// How long to give a process that drives a conversation to stop it: tools have some time to end.
const DELIVERY: Duration = Duration::from_secs(15);
/// How long to wait for a change before looking whether anyone drives it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

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
    if !items.is_empty() {
        let setup = stopping_setup(parts, config, &history, &agents)?;
        stop(parts, setup.runtime()?, id, &items).await?;
    }
    let mut stopped = Vec::new();
    for (agent, item) in agents.iter().zip(&items) {
        let ended = has_ended(parts, id, item).await?;
        stopped.extend(history.agent(*agent).filter(|_| ended).map(|agent| &*agent.joined.name));
    }
    tell(id, &stopped, view)
}

/// What stops turns here. Where every turn is stopped, no call runs any more and no folder is needed:
/// then it can be done from any folder.
fn stopping_setup(
    parts: &Parts,
    config: &Config,
    history: &History,
    agents: &[AgentId],
) -> anyhow::Result<Setup> {
    let mut setup = parts.setup(config, Parts::offer(config)?, None, &Bounds::default())?;
    let is_here = history.ledger().workspace.as_ref().map(|set| &set.path)
        == setup.workspace.as_ref().map(|here| &here.path);
    if !is_here && busy(history).all(|agent| agents.contains(&agent)) {
        setup.tools.retain(|tool| !tool.spec().handling.in_workspace());
        setup.workspace = None;
    }
    Ok(setup)
}

/// Waits until turns were stopped by whoever drives them, or stops them here if nobody does.
async fn stop(
    parts: &Parts,
    runtime: Runtime,
    id: ConversationId,
    items: &[Item],
) -> anyhow::Result<()> {
    let until = Instant::now() + DELIVERY;
    let mut changes = parts.store.subscribe(Some(id));
    while !all_taken(parts, id, items).await? {
        if !is_driven(parts, id).await? {
            Box::pin(stop_here(parts, &runtime, id, items)).await?;
            continue;
        }
        anyhow::ensure!(
            Instant::now() < until,
            "another process is busy with this conversation: it stops as soon as it can"
        );
        changed(&mut *changes, LOOK_AGAIN).await;
    }
    Ok(())
}

/// Stops turns that nobody drives.
async fn stop_here(
    parts: &Parts,
    runtime: &Runtime,
    id: ConversationId,
    items: &[Item],
) -> anyhow::Result<()> {
    let mut drive = match runtime.drive(id).await {
        // Someone was faster.
        Err(DriveError::Store(StoreError::Held { .. })) => return Ok(()),
        drive => drive?,
    };
    // No further than that: what waits behind it is not begun here.
    while !all_taken(parts, id, items).await? {
        if let Stepped::Blocked(_) = drive.step().await? {
            drive.release().await?;
            anyhow::bail!(
                "it cannot be stopped now; whoever goes on with it stops it: threadline resume {id}"
            );
        }
    }
    Ok(drive.release().await?)
}

async fn all_taken(parts: &Parts, id: ConversationId, items: &[Item]) -> anyhow::Result<bool> {
    for item in items {
        if taken(&*parts.store, id, item).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an item became the end of a turn: one that came after it was refused instead.
async fn has_ended(parts: &Parts, id: ConversationId, item: &Item) -> anyhow::Result<bool> {
    let Some(seq) = taken(&*parts.store, id, item).await? else { return Ok(false) };
    let taken = verified_entry(&*parts.store, id, seq).await?;
    Ok(taken.fact.as_turn_ended().is_some())
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
