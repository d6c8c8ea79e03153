//! The row of a conversation: its head, its lease and its sums.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{
    AgentSums, Interaction, LastMessage, MessageKind, State, Sums,
};
use threadline_core::history::fact::{Digest, Money};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{
    ClaimId, Conversation, Hold, Lease, Origin, PARK_AFTER_DEATHS, StoreError,
};
use uuid::Uuid;

use super::ahead::Ahead;
use super::error::{Failure, damaged};
use super::number::{count, int, moment};

/// A question for a conversation's number, its last entry and its id.
macro_rules! headed {
    ($which:literal) => {
        concat!(
            "SELECT num, coalesce(ahead.head_seq, c.head_seq), id
             FROM conversation c LEFT JOIN ahead ON ahead.conversation = c.num WHERE ",
            $which
        )
    };
}
pub(super) use headed;

/// What must be known of a conversation to change it.
pub(super) struct Known {
    pub(super) num: i64,
    pub(super) head: Seq,
    pub(super) head_hash: Digest,
    /// The last entry that its row knows of.
    pub(super) row_head: Seq,
    /// The agent whose row does not know of the last ones.
    pub(super) whose: Option<u32>,
    pub(super) tail_log: i64,
    pub(super) created_at: i64,
    pub(super) origin: i64,
    pub(super) moved: bool,
    pub(super) epoch: u64,
    pub(super) claim: Option<ClaimId>,
    pub(super) wake_at: Option<i64>,
    pub(super) due_at: Option<i64>,
    pub(super) archived: bool,
    /// The state that its row knows of.
    pub(super) row_state: i64,
    pub(super) labels: Option<String>,
    pub(super) title: Option<String>,
    /// Whether it branched off another.
    pub(super) is_fork: bool,
    /// Its last log, if that is known to have entries that the search index does not.
    pub(super) unindexed: Option<i64>,
}

impl Known {
    /// Finds a conversation of a tenant.
    pub(super) fn find(
        connection: &Connection,
        tenant: i64,
        id: ConversationId,
    ) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(
                "SELECT num, coalesce(ahead.head_seq, c.head_seq),
                        coalesce(ahead.head_hash, c.head_hash), tail_log, created_at, origin,
                        moved, epoch, claim, wake_at, due_at, archived, c.state, labels, title,
                        forked_from IS NOT NULL, c.head_seq, whose, unindexed.log
                 FROM conversation c LEFT JOIN ahead ON ahead.conversation = c.num
                      LEFT JOIN unindexed ON unindexed.log = c.tail_log
                 WHERE tenant = ?1 AND id = ?2",
            )?
            .query_row(params![tenant, id.0.as_bytes()], |row| {
                Ok(Self {
                    num: row.get(0)?,
                    head: Seq(count(row.get(1)?)),
                    head_hash: Digest(row.get(2)?),
                    row_head: Seq(count(row.get(16)?)),
                    whose: row.get(17)?,
                    tail_log: row.get(3)?,
                    created_at: row.get(4)?,
                    origin: row.get(5)?,
                    moved: row.get(6)?,
                    epoch: count(row.get(7)?),
                    claim: row.get(8)?,
                    wake_at: row.get(9)?,
                    due_at: row.get(10)?,
                    archived: row.get(11)?,
                    row_state: row.get(12)?,
                    labels: row.get(13)?,
                    title: row.get(14)?,
                    is_fork: row.get(15)?,
                    unindexed: row.get(18)?,
                })
            })
            .optional()
    }

    /// Finds a conversation, or refuses.
    pub(super) fn get(
        connection: &Connection,
        tenant: i64,
        id: ConversationId,
    ) -> Result<Self, Failure> {
        Self::find(connection, tenant, id)?.ok_or_else(|| StoreError::NotFound(id).into())
    }

    /// Whether a lease is the conversation's.
    pub(super) fn is_held_by(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.claim == Some(lease.claim)
    }
}

/// A conversation to read: its number and its last entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) num: i64,
    pub(super) head: Seq,
}

impl Open {
    /// Finds a conversation of a tenant, or refuses.
    pub(super) fn get(
        connection: &Connection,
        tenant: i64,
        id: ConversationId,
    ) -> Result<Self, Failure> {
        connection
            .prepare_cached(headed!("tenant = ?1 AND id = ?2"))?
            .query_row(params![tenant, id.0.as_bytes()], Self::of)
            .optional()?
            .ok_or_else(|| StoreError::NotFound(id).into())
    }

    /// A conversation from the first columns of [`headed`].
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { num: row.get(0)?, head: Seq(count(row.get(1)?)) })
    }
}

/// The columns of [`listed`], in its order.
pub(super) const LISTED: &str = "c.id, c.head_seq, c.head_hash, c.created_at, c.active_at, \
     c.origin, c.forked_from, c.forked_seq, c.moved, c.messages, c.last_text, c.last_kind, \
     c.last_at, c.title, c.labels, c.archived, c.state, c.cost, c.wake_at, c.num, \
     c.held, c.deaths";

/// A conversation as it is listed, with what its row does not have.
pub(super) fn listed(connection: &Connection, row: &Row<'_>) -> Result<Conversation, Failure> {
    let mut listed = in_row(row)?;
    if let Some(ahead) = Ahead::of(connection, row.get(19)?)? {
        let Ahead { head, messages, cost, last_message, state, agent: _ } = ahead;
        (listed.head, listed.head_hash, listed.active_at) = (head.seq, head.hash, head.at);
        listed.sums = Sums { messages, cost, last_message, state, ..listed.sums };
    }
    Ok(listed)
}

/// A conversation as its row has it.
fn in_row(row: &Row<'_>) -> Result<Conversation, Failure> {
    let id = conversation_id(row.get(0)?);
    let forked_from = match (row.get::<_, Option<[u8; 16]>>(6)?, row.get::<_, Option<i64>>(7)?) {
        (Some(from), Some(seq)) => Some((conversation_id(from), Seq(count(seq)))),
        (Some(_) | None, _) => None,
    };
    let last_text: Option<String> = row.get(10)?;
    let last_message = match last_text {
        Some(text) => {
            Some(LastMessage { text, kind: message_kind(row.get(11)?)?, at: moment(row.get(12)?) })
        }
        None => None,
    };
    Ok(Conversation {
        id,
        head: Seq(count(row.get(1)?)),
        head_hash: Digest(row.get(2)?),
        created_at: moment(row.get(3)?),
        active_at: moment(row.get(4)?),
        origin: origin(row.get(5)?)?,
        hold: hold(row.get(20)?, row.get(21)?),
        forked_from,
        moved_away: row.get(8)?,
        sums: Sums {
            messages: count(row.get(9)?),
            last_message,
            title: row.get(13)?,
            labels: labels_of(row.get::<_, Option<String>>(14)?.as_deref())?,
            archived: row.get(15)?,
            state: state(row.get(16)?)?,
            cost: Money(count(row.get(17)?)),
            wake_at: row.get::<_, Option<i64>>(18)?.map(moment),
        },
    })
}

/// What is known of a conversation.
pub(super) fn conversation(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
) -> Result<Conversation, Failure> {
    let sql = format!("SELECT {LISTED} FROM conversation c WHERE c.tenant = ?1 AND c.id = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![tenant, id.0.as_bytes()])?;
    match rows.next()? {
        Some(row) => listed(connection, row),
        None => Err(StoreError::NotFound(id).into()),
    }
}

/// Forgets the agents of a conversation.
pub(super) fn forget_agents(connection: &Connection, conversation: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM agent WHERE conversation = ?1")?
        .execute([conversation])
        .map(drop)
}

/// Writes the sums of agents. Those that are as they were cost no page.
pub(super) fn keep_agents(
    connection: &Connection,
    conversation: i64,
    agents: &[AgentSums],
) -> rusqlite::Result<()> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO agent
           (conversation, agent, name, present, interactions, last_kind, last_at, description)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (conversation, agent) DO UPDATE SET
           name = ?3, present = ?4, interactions = ?5, last_kind = ?6, last_at = ?7,
           description = ?8
         WHERE (name, present, interactions, last_kind, last_at, description)
           IS NOT (?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for agent in agents {
        let (kind, at) = agent.last_interaction.unzip();
        upsert.execute(params![
            conversation,
            agent.agent.0,
            agent.name,
            agent.present,
            int(agent.interactions),
            kind.map(interaction_number),
            at.map(Timestamp::micros),
            agent.state_description,
        ])?;
    }
    Ok(())
}

/// The sums of a conversation's agents.
pub(super) fn agents(
    connection: &Connection,
    tenant: i64,
    id: ConversationId,
) -> Result<Vec<AgentSums>, Failure> {
    let open = Open::get(connection, tenant, id)?;
    let mut statement = connection.prepare_cached(
        "SELECT agent, name, present, interactions, last_kind, last_at, description
         FROM agent WHERE conversation = ?1 ORDER BY agent",
    )?;
    let mut rows = statement.query([open.num])?;
    let mut agents = Vec::new();
    while let Some(row) = rows.next()? {
        let last = match (row.get::<_, Option<i64>>(4)?, row.get::<_, Option<i64>>(5)?) {
            (Some(kind), Some(at)) => Some((interaction(kind)?, moment(at))),
            (Some(_) | None, _) => None,
        };
        agents.push(AgentSums {
            agent: AgentId(row.get(0)?),
            name: row.get(1)?,
            present: row.get(2)?,
            interactions: count(row.get(3)?),
            last_interaction: last,
            state_description: row.get(6)?,
        });
    }
    if let Some(newer) = Ahead::of(connection, open.num)?.and_then(|ahead| ahead.agent) {
        match agents.binary_search_by_key(&newer.agent, |sums| sums.agent) {
            Ok(at) => agents.splice(at..=at, [newer]).for_each(drop),
            Err(at) => agents.insert(at, newer),
        }
    }
    Ok(agents)
}

/// The labels of a conversation, as they are kept in its row.
pub(super) fn labels_text(labels: &[String]) -> Result<Option<String>, Failure> {
    if labels.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(labels).map_err(|error| damaged(error.to_string()))?;
    Ok(Some(text))
}

/// The labels from a conversation's row.
pub(super) fn labels_of(text: Option<&str>) -> Result<Vec<String>, Failure> {
    match text {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| damaged(format!("labels cannot be read: {error}"))),
        None => Ok(Vec::new()),
    }
}

pub(super) fn conversation_id(bytes: [u8; 16]) -> ConversationId {
    ConversationId(Uuid::from_bytes(bytes))
}

/// The number of a state.
pub(super) const fn state_number(state: State) -> i64 {
    match state {
        State::Resting => 0,
        State::Working => WORKING,
        State::Waiting => 2,
    }
}

/// The number of the state in which a turn can go on.
pub(super) const WORKING: i64 = 1;

/// The state of a number.
pub(super) fn state(number: i64) -> Result<State, Failure> {
    match number {
        0 => Ok(State::Resting),
        WORKING => Ok(State::Working),
        2 => Ok(State::Waiting),
        _ => Err(damaged(format!("there is no state {number}"))),
    }
}

/// The number of an origin.
pub(super) const fn origin_number(origin: Origin) -> i64 {
    match origin {
        Origin::Own => OWN,
        Origin::Copy => 1,
        Origin::Imported => 2,
    }
}

/// The number of the origin of a conversation that goes on here.
pub(super) const OWN: i64 = 0;

fn origin(number: i64) -> Result<Origin, Failure> {
    match number {
        OWN => Ok(Origin::Own),
        1 => Ok(Origin::Copy),
        2 => Ok(Origin::Imported),
        _ => Err(damaged(format!("there is no origin {number}"))),
    }
}

/// Why a conversation is on hold, from its row.
pub(super) fn hold(held: bool, deaths: u32) -> Option<Hold> {
    if held {
        return Some(Hold::Imported);
    }
    (deaths >= PARK_AFTER_DEATHS).then_some(Hold::Parked { deaths })
}

/// The number of a kind of message.
pub(super) const fn message_number(kind: MessageKind) -> i64 {
    match kind {
        MessageKind::Input => 0,
        MessageKind::Answer => 1,
    }
}

fn message_kind(number: i64) -> Result<MessageKind, Failure> {
    match number {
        0 => Ok(MessageKind::Input),
        1 => Ok(MessageKind::Answer),
        _ => Err(damaged(format!("there is no kind of message {number}"))),
    }
}

const fn interaction_number(kind: Interaction) -> i64 {
    match kind {
        Interaction::Input => 0,
        Interaction::Output => 1,
        Interaction::Error => 2,
    }
}

fn interaction(number: i64) -> Result<Interaction, Failure> {
    match number {
        0 => Ok(Interaction::Input),
        1 => Ok(Interaction::Output),
        2 => Ok(Interaction::Error),
        _ => Err(damaged(format!("there is no interaction {number}"))),
    }
}
