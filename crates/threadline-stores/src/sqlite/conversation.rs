//! The row of a conversation: its head, its lease and its sums.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{
    AgentSums, Interaction, LastMessage, MessageKind, State, Sums,
};
use threadline_core::history::fact::{Digest, Money};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{
    ClaimId, Conversation, Hold, Lease, Origin, PARK_AFTER_DEATHS, Schedule, StoreError,
};
use uuid::Uuid;

use super::error::{Failure, damaged};
use super::inbox;
use super::number::{count, int, moment};

/// What must be known of a conversation to change it.
pub(super) struct Known {
    pub(super) num: i64,
    pub(super) head: Seq,
    pub(super) head_hash: Digest,
    pub(super) tail_log: i64,
    pub(super) created_at: i64,
    pub(super) moved: bool,
    pub(super) epoch: u64,
    pub(super) claim: Option<ClaimId>,
    pub(super) due_at: Option<i64>,
    pub(super) labels: Option<String>,
    /// Whether it branched off another.
    pub(super) is_fork: bool,
}

impl Known {
    /// Finds a conversation of a tenant.
    pub(super) fn find(
        connection: &Connection,
        tenant: i64,
        id: ConversationId,
    ) -> Result<Option<Self>, Failure> {
        let found = connection
            .prepare_cached(
                "SELECT num, head_seq, head_hash, tail_log, created_at, moved, epoch, claim, due_at,
                        labels, forked_from IS NOT NULL,
                        (SELECT log.conversation FROM log WHERE log.num = c.tail_log)
                 FROM conversation c WHERE tenant = ?1 AND id = ?2",
            )?
            .query_row(params![tenant, id.0.as_bytes()], |row| {
                let known = Self {
                    num: row.get(0)?,
                    head: Seq(count(row.get(1)?)),
                    head_hash: Digest(row.get(2)?),
                    tail_log: row.get(3)?,
                    created_at: row.get(4)?,
                    moved: row.get(5)?,
                    epoch: count(row.get(6)?),
                    // An unreadable claim belongs to no owner.
                    claim: row.get(7).unwrap_or_default(),
                    due_at: row.get(8)?,
                    labels: row.get(9)?,
                    is_fork: row.get(10)?,
                };
                Ok((known, row.get::<_, Option<i64>>(11)?))
            })
            .optional()?;
        match found {
            // What it appended there would stand in the way of the other.
            Some((known, log_of)) if log_of != Some(known.num) => {
                Err(damaged("its entries would go to the log of another"))
            }
            found => Ok(found.map(|(known, _)| known)),
        }
    }

    /// Finds a conversation, or refuses.
    pub(super) fn get(
        connection: &Connection,
        tenant: i64,
        id: ConversationId,
    ) -> Result<Self, Failure> {
        Self::find(connection, tenant, id)?.ok_or_else(|| StoreError::NotFound(id).into())
    }

    /// It as it is read.
    pub(super) fn open(&self) -> Open {
        Open { num: self.num, head: self.head }
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
            .prepare_cached("SELECT num, head_seq FROM conversation WHERE tenant = ?1 AND id = ?2")?
            .query_row(params![tenant, id.0.as_bytes()], Self::of)
            .optional()?
            .ok_or_else(|| StoreError::NotFound(id).into())
    }

    /// A conversation from the first columns of a row: its number and its head.
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { num: row.get(0)?, head: Seq(count(row.get(1)?)) })
    }
}

/// The columns of [`listed`], in its order.
pub(super) const LISTED: &str = "c.id, c.head_seq, c.head_hash, c.created_at, c.active_at, \
     c.origin, c.forked_from, c.forked_seq, c.moved, c.messages, c.last_text, c.last_kind, \
     c.last_at, c.title, c.labels, c.archived, c.state, c.cost, c.wake_at, c.held, c.deaths, c.due_at";

/// Reads the columns of a row one by one, and notes the first that cannot be read.
struct Columns<'a> {
    row: &'a Row<'a>,
    damage: Option<String>,
}

impl Columns<'_> {
    fn get<T: FromSql>(&mut self, column: usize, otherwise: T) -> T {
        let value = self.row.get(column).map_err(Failure::from);
        self.keep(column, value, otherwise)
    }

    fn keep<T>(&mut self, column: usize, value: Result<T, Failure>, otherwise: T) -> T {
        match value {
            Ok(value) => value,
            Err(error) => {
                let name = self.row.as_ref().column_name(column).unwrap_or("of its row");
                self.damage.get_or_insert(format!("its {name} cannot be read: {error}"));
                otherwise
            }
        }
    }
}

/// A conversation as its row has it. What cannot be read is left out and named as its damage.
pub(super) fn listed(row: &Row<'_>) -> Conversation {
    let mut columns = Columns { row, damage: None };
    let forked_from: Option<[u8; 16]> = columns.get(6, None);
    let forked_seq: Option<i64> = columns.get(7, None);
    let last_message = columns.get(10, None).map(|text: String| {
        let (kind, at) = (columns.get(11, 0), columns.get(12, 0));
        let kind = columns.keep(11, message_kind(kind), MessageKind::Input);
        LastMessage { text, kind, at: moment(at) }
    });
    let (from, labels, in_state) = (columns.get(5, OWN), columns.get(14, None), columns.get(16, 0));
    let labels: Option<String> = labels;
    let conversation = Conversation {
        id: conversation_id(columns.get(0, [0; 16])),
        head: Seq(count(columns.get(1, 0))),
        head_hash: Digest(columns.get(2, [0; 32])),
        created_at: moment(columns.get(3, 0)),
        active_at: moment(columns.get(4, 0)),
        origin: columns.keep(5, origin(from), Origin::Own),
        hold: hold(columns.get(19, false), columns.get(20, 0)),
        forked_from: forked_from.map(conversation_id).zip(forked_seq.map(|seq| Seq(count(seq)))),
        moved_away: columns.get(8, false),
        sums: Sums {
            messages: count(columns.get(9, 0)),
            last_message,
            title: columns.get(13, None),
            labels: columns.keep(14, labels_of(labels.as_deref()), Vec::new()),
            archived: columns.keep(15, archived(row), false),
            state: columns.keep(16, state(in_state), State::Resting),
            cost: Money(count(columns.get(17, 0))),
            wake_at: columns.get::<Option<i64>>(18, None).map(moment),
        },
        due_at: columns.get::<Option<i64>>(21, None).map(moment),
        damage: None,
    };
    Conversation { damage: columns.damage, ..conversation }
}

/// Computes when a conversation is due and writes it to its row.
pub(super) fn refresh_due_at(connection: &Connection, num: i64) -> Result<(), Failure> {
    let (from, in_state, wake_at, active_at, moved) = connection
        .prepare_cached(
            "SELECT origin, state, wake_at, active_at, moved FROM conversation WHERE num = ?1",
        )?
        .query_row([num], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get::<_, Option<i64>>(2)?,
                row.get(3)?,
                row.get::<_, bool>(4)?,
            ))
        })?;
    let schedule = Schedule {
        origin: origin(from)?,
        state: state(in_state)?,
        wake_at: wake_at.map(moment),
        active_at: moment(active_at),
        first_item: inbox::first_due(connection, num)?,
    };
    let due_at = schedule.due_at().filter(|_| !moved).map(Timestamp::micros);
    connection
        .prepare_cached("UPDATE conversation SET due_at = ?2 WHERE num = ?1")?
        .execute(params![num, due_at])?;
    Ok(())
}

fn archived(row: &Row<'_>) -> Result<bool, Failure> {
    match row.get(15)? {
        0_i64 => Ok(false),
        1 => Ok(true),
        number => Err(damaged(format!("{number} is neither yes nor no"))),
    }
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
        Some(row) => Ok(listed(row)),
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

/// Writes the sums of agents.
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
           description = ?8",
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
        State::Working => 1,
        State::Waiting => 2,
    }
}

/// The state of a number.
pub(super) fn state(number: i64) -> Result<State, Failure> {
    match number {
        0 => Ok(State::Resting),
        1 => Ok(State::Working),
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
