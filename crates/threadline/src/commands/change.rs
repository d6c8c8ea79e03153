//! Changing a conversation, whoever drives it.

use std::time::Duration;

use threadline::item;
use threadline_core::history::Proposal;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::{Body, Command, Item};
use threadline_core::store::{self, Lease, StoreError};
use tokio::time::{Instant, sleep};

use crate::compose::Parts;
use crate::talk::delivered;

/// How long a command holds a conversation.
const LEASE_MS: u64 = 30_000;
/// How long a conversation is held to see that nobody else has it.
const GLANCE_MS: u64 = 1_000;
/// How long to give a process that drives a conversation to take in what came.
const TAKEN: Duration = Duration::from_millis(1_500);
/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Changes a conversation: at once if nobody drives it, else through whoever does. Gives the entry
/// that says so; none if it takes a driver.
pub(super) async fn change(
    parts: &Parts,
    id: ConversationId,
    agent: Option<AgentId>,
    command: Command,
) -> anyhow::Result<Seq> {
    match parts.store.acquire(id, LEASE_MS).await {
        Ok(lease) => {
            let outcome = append(parts, id, agent, command, &lease).await;
            parts.store.release(&lease).await?;
            outcome
        }
        Err(StoreError::Held { .. }) => {
            let item = Item { to: agent, ..item(Body::Command(command)) };
            parts.store.enqueue(id, &item).await?;
            delivered(&*parts.store, id, &item).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Changes a conversation that nobody else has.
async fn append(
    parts: &Parts,
    id: ConversationId,
    agent: Option<AgentId>,
    command: Command,
    lease: &Lease,
) -> anyhow::Result<Seq> {
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let agent = agent.or_else(|| history.state().primary());
    let fact = command.fact(&history, agent).map_err(anyhow::Error::msg)?;
    let Some((of, fact)) = fact else { anyhow::bail!("this takes more than one entry") };
    let proposal = Proposal::new(of, fact, &parts.counter);
    let proposed = history.propose([proposal], parts.stamp())?;
    Ok(store::append(&*parts.store, lease, proposed).await?.head())
}

/// What became of something that was put into an inbox.
pub(super) enum Became {
    /// It is in the history, at this entry.
    Taken(Seq),
    /// Someone drives the conversation and takes it in as soon as it can go in.
    Waits,
    /// Nobody drives the conversation: it waits for someone who does.
    Nobody,
}

/// Looks what becomes of an item in its first moments.
pub(super) async fn became(
    parts: &Parts,
    id: ConversationId,
    item: &Item,
) -> anyhow::Result<Became> {
    let until = Instant::now() + TAKEN;
    let mut held = false;
    loop {
        // The same item again only tells what became of it.
        if parts.store.enqueue(id, item).await?.taken.is_some() {
            return Ok(Became::Taken(delivered(&*parts.store, id, item).await?));
        }
        if Instant::now() >= until {
            return Ok(if held { Became::Waits } else { Became::Nobody });
        }
        held |= is_driven(parts, id).await?;
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether another process drives a conversation.
pub(super) async fn is_driven(parts: &Parts, id: ConversationId) -> anyhow::Result<bool> {
    match parts.store.acquire(id, GLANCE_MS).await {
        Ok(lease) => {
            parts.store.release(&lease).await?;
            Ok(false)
        }
        Err(StoreError::Held { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
