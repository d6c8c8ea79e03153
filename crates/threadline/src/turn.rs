//! A turn from outside: something is said, and something comes of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use threadline_core::history::History;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{EndReason, Fact, Input, Stop};
use threadline_core::history::state::Agent;
use threadline_core::id::{AgentId, CallId, ConversationId, IdSource as _, Seq};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    Changes, ItemState, OpenError, Queued, Storage, StoreError, open, verified_entry,
};
use threadline_core::tokens::TokenCounter;
use threadline_runtime::{DriveError, Runtime, Settled};

use crate::RandomIds;

/// How long to wait for a change before looking again whether anyone drives a turn: that a driver
/// died changes nothing.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How many rows of an outline are read at a time.
const ROWS: usize = 256;

/// What came of something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model answered.
    Answered {
        /// What it said.
        text: String,
        /// Why it stopped.
        stop: Stop,
    },
    /// The turn ended without an answer.
    Ended {
        /// Why.
        reason: EndReason,
        /// In which words people are told.
        detail: String,
    },
    /// A person is asked whether these calls may run.
    Approval(Vec<CallId>),
    /// The turn is not over.
    Open,
    /// It was not taken in: why.
    Refused(Arc<str>),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { text, .. } => f.write_str(text),
            Self::Ended { reason, detail } => {
                write!(f, "ended without an answer: {reason:?} {detail}")
            }
            Self::Approval(calls) => write!(f, "waits for a person to allow {calls:?}"),
            Self::Open => f.write_str("not over yet"),
            Self::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation cannot be driven here. It goes on where it can.
    #[error(transparent)]
    Drive(#[from] Arc<DriveError>),
    /// The runtime was stopped. The message is durable; another runtime can answer it.
    #[error(
        "the runtime has stopped; the message is recorded and another runtime can go on with it"
    )]
    Stopped,
}

/// The entry that an inbox item became, if it was taken.
pub async fn taken(
    store: &dyn Storage,
    id: ConversationId,
    item: &Item,
) -> Result<Option<Seq>, StoreError> {
    Ok(store.item(id, &item.client_key).await?.and_then(Queued::taken))
}

/// Says something to a conversation's primary agent, and waits for what comes of it.
///
/// What was said is durable from the first moment on: if this process dies, whoever drives the
/// conversation next answers it.
pub async fn ask(runtime: &Runtime, id: ConversationId, text: &str) -> Result<Ending, AskError> {
    let item = item(Body::Input(Input::from_person(text)));
    let store = &*runtime.world().store;
    let mut changes = store.subscribe(Some(id));
    runtime.submit(id, &item).await?;
    loop {
        if let Settled::Failed(error) = runtime.settled(id).await {
            return Err(error.into());
        }
        match store.item(id, &item.client_key).await?.map(|queued| queued.state) {
            Some(ItemState::Taken(seq)) => match ending(runtime, id, seq).await? {
                Ending::Open => {}
                ending @ (Ending::Answered { .. }
                | Ending::Ended { .. }
                | Ending::Approval(_)
                | Ending::Refused(_)) => return Ok(ending),
            },
            Some(ItemState::Withdrawn) => {
                let (reason, detail) = (EndReason::Withdrawn, String::new());
                return Ok(Ending::Ended { reason, detail });
            }
            Some(ItemState::Waiting) | None => {}
        }
        if runtime.is_stopped() {
            return Err(AskError::Stopped);
        }
        changed(&mut *changes, LOOK_AGAIN).await;
    }
}

/// Waits for a change, but not longer than this.
pub async fn changed(changes: &mut dyn Changes, at_most: Duration) {
    drop(tokio::time::timeout(at_most, changes.next()).await);
}

/// An item for the inbox, under a key of its own.
pub fn item(body: Body) -> Item {
    let key = format!("{:032x}", u128::from_be_bytes(RandomIds.random()));
    Item { client_key: key.into(), to: None, mode: Mode::Queue, due: None, body }
}

/// What came of the turn that an input belongs to, by the entry of the input.
pub async fn ending(
    runtime: &Runtime,
    id: ConversationId,
    input: Seq,
) -> Result<Ending, OpenError> {
    let world = runtime.world();
    let (store, counter) = (&*world.store, &*world.setting.counter);
    if let Fact::Note(note) = entry(store, id, input).await?.fact {
        return Ok(Ending::Refused(note.text));
    }
    let Some((agent, turn)) = turn_of(store, id, input).await? else { return Ok(Ending::Open) };
    if let Some(open) = still_open(store, counter, id, agent, turn).await? {
        return Ok(open);
    }
    // Only now is its last row the last.
    let last = last_of_turn(store, id, agent, turn).await?.unwrap_or(input);
    Ok(match entry(store, id, last).await?.fact {
        Fact::Output(output) if output.calls().next().is_none() => {
            Ending::Answered { text: output.text(), stop: output.stop }
        }
        Fact::TurnEnded(ended) => Ending::Ended { reason: ended.reason, detail: ended.detail },
        // It was under way when the conversation was taken back to before it.
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
        | Fact::Output(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::ToolStarted(_)
        | Fact::ToolFinished(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::PolicySet(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::Recap(_)
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => {
            Ending::Ended { reason: EndReason::Withdrawn, detail: String::new() }
        }
    })
}

/// What a turn that is not over waits for.
async fn still_open(
    store: &dyn Storage,
    counter: &dyn TokenCounter,
    id: ConversationId,
    agent: AgentId,
    turn: Seq,
) -> Result<Option<Ending>, OpenError> {
    let (_, history) = open(store, id, counter).await?;
    let Some(state) = history.agent(agent) else { return Ok(None) };
    let is_current = state.turn.as_ref().is_some_and(|newest| newest.start == turn);
    if !is_current || !state.in_turn() {
        return Ok(None);
    }
    // What agents that work for it ask holds it up as well.
    let asked: Vec<CallId> = asked_for(&history, agent).collect();
    Ok(Some(if asked.is_empty() { Ending::Open } else { Ending::Approval(asked) }))
}

/// The calls of all agents that a person is asked about.
pub fn asked(history: &History) -> impl Iterator<Item = CallId> {
    history.state().agents.values().flat_map(|agent| asked_by(agent))
}

/// The calls that a person is asked about before an agent can go on: its own, and those of agents
/// that work for it.
pub fn asked_for(history: &History, agent: AgentId) -> impl Iterator<Item = CallId> {
    let works_for = move |other: &Agent| {
        other.turn.as_ref().is_some_and(|turn| turn.works_for.contains(&agent))
    };
    let agents = history.state().agents.iter();
    let those = agents.filter(move |(id, other)| **id == agent || works_for(other));
    those.flat_map(|(_, other)| asked_by(other))
}

fn asked_by(agent: &Agent) -> impl Iterator<Item = CallId> {
    let asked = agent.open_calls().filter(|(_, call)| {
        call.finished.is_none() && call.approval.is_some_and(|asked| asked.answer.is_none())
    });
    asked.map(|(id, _)| id)
}

/// The agents that are in a turn of their own, not in one that another waits for.
pub fn busy(history: &History) -> impl Iterator<Item = AgentId> {
    let agents = history.state().agents.iter();
    let busy = agents.filter(|(_, agent)| agent.present && agent.in_turn());
    busy.filter(|(_, agent)| agent.caller().is_none()).map(|(id, _)| *id)
}

/// The agent and the turn of an input.
async fn turn_of(
    store: &dyn Storage,
    id: ConversationId,
    input: Seq,
) -> Result<Option<(AgentId, Seq)>, StoreError> {
    let rows: Vec<OutlineRow> = store.outline_ledger(id, input.before(), 1).await?;
    Ok(rows.first().filter(|row| row.seq == input).map(|row| (row.agent, row.turn)))
}

/// The newest row of a turn.
async fn last_of_turn(
    store: &dyn Storage,
    id: ConversationId,
    agent: AgentId,
    turn: Seq,
) -> Result<Option<Seq>, StoreError> {
    let (mut found, mut after) = (None, turn.before());
    loop {
        let rows: Vec<OutlineRow> = store.outline_ledger(id, after, ROWS).await?;
        let Some(last) = rows.last() else { return Ok(found) };
        after = last.seq;
        // A recap that is written after a turn is no part of it.
        let mut newest = rows.iter().rev().filter(|row| row.kind.is_in_exchange());
        let newest = newest.find(|row| row.agent == agent && row.turn == turn);
        found = newest.map(|row| row.seq).or(found);
    }
}

async fn entry(store: &dyn Storage, id: ConversationId, seq: Seq) -> Result<Entry, OpenError> {
    verified_entry(store, id, seq).await
}
