//! Changing a conversation, whoever drives it.

use std::time::Duration;

use threadline::{changed, item, taken};
use threadline_core::history::fact::Note;
use threadline_core::history::{Proposal, Proposed};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::{Body, Command, Item, ItemNumber};
use threadline_core::store::{self, Attendance, ItemState, Lease, Queued, StoreError};
use tokio::time::Instant;

use crate::compose::Parts;
use crate::talk::delivered;

/// How long a command holds a conversation.
const LEASE_MS: u64 = 30_000;
/// How long to give a process that drives a conversation to take in what came.
const TAKEN: Duration = Duration::from_millis(1_500);
/// How long to wait until such a process has done what came.
const DELIVERY: Duration = Duration::from_secs(10);
/// How often to look whether anyone drives a conversation.
const LOOK: Duration = Duration::from_millis(500);

/// Changes a conversation: at once if nobody drives it, else through whoever does. Gives the entry
/// that says so.
pub(super) async fn change(
    parts: &Parts,
    id: ConversationId,
    agent: Option<AgentId>,
    command: Command,
) -> anyhow::Result<Seq> {
    let item = Item { to: agent, ..item(Body::Command(command.clone())) };
    let alone = async |takes| {
        let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
        let agent = agent.or_else(|| history.state().primary());
        let fact = command.clone().fact(&history, agent).map_err(anyhow::Error::msg)?;
        let Some((of, fact)) = fact else {
            anyhow::bail!("only who drives a conversation can do this: do it in its chat");
        };
        let proposal = Proposal { takes, ..Proposal::new(of, fact, &parts.counter) };
        Ok(history.propose([proposal], parts.stamp())?)
    };
    done(parts, id, &item, alone).await
}

/// Has something done to a conversation: by this process if nobody drives it, else by whoever
/// does. Gives the entry that says so.
pub(super) async fn done(
    parts: &Parts,
    id: ConversationId,
    item: &Item,
    alone: impl AsyncFn(Option<ItemNumber>) -> anyhow::Result<Proposed>,
) -> anyhow::Result<Seq> {
    let store = &*parts.store;
    if let Some(lease) = free(parts, id).await? {
        let outcome = append(parts, &lease, alone(None).await).await;
        store.release(&lease).await?;
        return outcome;
    }
    let (until, mut look_at) = (Instant::now() + DELIVERY, Instant::now() + LOOK);
    let mut changes = store.subscribe(Some(id));
    store.enqueue(id, item).await?;
    while taken(store, id, item).await?.is_none() {
        let now = Instant::now();
        anyhow::ensure!(
            now < until,
            "another process is busy with this conversation: it takes this in as soon as it can"
        );
        if now >= look_at {
            look_at = now + LOOK;
            // Whoever drove it may be gone without having seen this.
            if let Some(lease) = free(parts, id).await? {
                let outcome = take(parts, id, &lease, item, &alone).await;
                store.release(&lease).await?;
                outcome?;
                continue;
            }
        }
        changed(&mut *changes, LOOK).await;
    }
    delivered(store, id, item, || true).await
}

/// Does what an item says under a lease, unless that was done: what cannot be done is taken too,
/// with a note that says why.
async fn take(
    parts: &Parts,
    id: ConversationId,
    lease: &Lease,
    item: &Item,
    alone: &impl AsyncFn(Option<ItemNumber>) -> anyhow::Result<Proposed>,
) -> anyhow::Result<()> {
    let queued = parts.store.item(id, &item.client_key).await?;
    let Some(Queued { number, state: ItemState::Waiting }) = queued else {
        return Ok(());
    };
    let takes = Some(number);
    let proposed = match alone(takes).await {
        Ok(proposed) => proposed,
        Err(why) => {
            let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
            let note = Note::refused(why.to_string());
            let note = Proposal::new(AgentId::CONVERSATION, note, &parts.counter);
            history.propose([Proposal { takes, ..note }], parts.stamp())?
        }
    };
    append(parts, lease, Ok(proposed)).await.map(drop)
}

/// Appends what is proposed; gives its last entry.
async fn append(
    parts: &Parts,
    lease: &Lease,
    proposed: anyhow::Result<Proposed>,
) -> anyhow::Result<Seq> {
    Ok(store::append(&*parts.store, lease, proposed?).await?.head())
}

/// The right to append to a conversation, if nobody has it.
async fn free(parts: &Parts, id: ConversationId) -> anyhow::Result<Option<Lease>> {
    match parts.store.claim(id, LEASE_MS, Attendance::Attended).await {
        Ok(lease) => Ok(Some(lease)),
        Err(StoreError::Held { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
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

/// Looks what becomes of items in their first moments.
pub(super) async fn became(
    parts: &Parts,
    id: ConversationId,
    items: &[Item],
) -> anyhow::Result<Vec<Became>> {
    let mut changes = parts.store.subscribe(Some(id));
    let until = Instant::now() + TAKEN;
    let waiting = loop {
        let mut waiting = false;
        for item in items {
            waiting |= taken(&*parts.store, id, item).await?.is_none();
        }
        let left = until.saturating_duration_since(Instant::now());
        if !waiting || left.is_zero() {
            break waiting;
        }
        changed(&mut *changes, left).await;
    };
    let driven = !waiting || is_driven(parts, id).await?;
    let mut all = Vec::new();
    for item in items {
        all.push(if taken(&*parts.store, id, item).await?.is_some() {
            Became::Taken(delivered(&*parts.store, id, item, || true).await?)
        } else if driven {
            Became::Waits
        } else {
            Became::Nobody
        });
    }
    Ok(all)
}

/// Whether another process drives a conversation.
pub(super) async fn is_driven(parts: &Parts, id: ConversationId) -> anyhow::Result<bool> {
    Ok(parts.store.holder(id).await?.is_some())
}
