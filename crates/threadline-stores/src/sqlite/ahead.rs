//! How far a conversation is ahead of its row. What most appends change there is kept apart: the
//! row, its index and the rows of agents are pages that they need not write.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{AgentSums, LastMessage, State};
use threadline_core::history::fact::{Digest, Money};
use threadline_core::history::record::GENESIS;
use threadline_core::id::Seq;

use super::conversation::{Open, keep_agents, message_number, state, state_number};
use super::error::{Failure, damaged};
use super::number::{count, int, moment, seq_int};
use super::read::one;
use super::segments::{hash_at, locate};

/// The sums that change with every append.
pub(super) type Counted<'a> = (u64, Money, Option<&'a LastMessage>);

/// What an append changes in its conversation's row, if nothing else does, as it is kept apart.
pub(super) struct Load {
    /// Without the last message, if that is an entry of the append.
    sums: Vec<u8>,
    /// The entry that is the last message.
    last: Option<Seq>,
    /// The agent that had to do with it, and its sums.
    agent: Option<(u32, Vec<u8>)>,
    state: State,
}

impl Load {
    /// None if it is more than can be kept apart: the sums of several agents.
    pub(super) fn new(
        (messages, cost, message): Counted<'_>,
        last: Option<Seq>,
        agents: &[AgentSums],
        state: State,
    ) -> Result<Option<Self>, Failure> {
        let agent = match agents {
            [] => None,
            [agent] => Some((agent.agent.0, bytes(agent)?)),
            [_, _, ..] => return Ok(None),
        };
        let message = message.filter(|_| last.is_none());
        Ok(Some(Self { sums: bytes(&(messages, cost, message))?, last, agent, state }))
    }

    /// Whether it can stand beside the sums of an agent that are kept apart already.
    pub(super) fn fits(&self, whose: Option<u32>) -> bool {
        match (&self.agent, whose) {
            (Some((agent, _)), Some(whose)) => *agent == whose,
            (Some(_) | None, _) => true,
        }
    }

    /// The agent that had to do with it.
    pub(super) fn whose(&self) -> Option<u32> {
        self.agent.as_ref().map(|(whose, _)| *whose)
    }

    /// Keeps it, with the head that it belongs to.
    pub(super) fn keep(
        &self,
        connection: &Connection,
        conversation: i64,
        head: &Head,
    ) -> rusqlite::Result<()> {
        let (whose, agent) = self.agent.as_ref().map(|(whose, agent)| (whose, agent)).unzip();
        connection
            .prepare_cached(
                "INSERT INTO ahead
                   (conversation, head_seq, head_hash, active_at, sums, whose, agent, last_seq, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (conversation) DO UPDATE SET
                   head_seq = ?2, head_hash = ?3, active_at = ?4, sums = ?5,
                   whose = coalesce(?6, whose), agent = coalesce(?7, agent),
                   last_seq = coalesce(?8, last_seq), state = ?9",
            )?
            .execute(params![
                conversation,
                seq_int(head.seq),
                head.hash.0,
                head.at.micros(),
                self.sums,
                whose,
                agent,
                self.last.map(seq_int),
                state_number(self.state),
            ])
            .map(drop)
    }
}

fn bytes(sums: &impl serde::Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(sums).map_err(|error| damaged(error.to_string()))
}

fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("sums that are kept apart cannot be read: {error}")))
}

/// What a conversation's row does not have.
pub(super) struct Ahead {
    pub(super) head: Head,
    pub(super) messages: u64,
    pub(super) cost: Money,
    pub(super) last_message: Option<LastMessage>,
    pub(super) state: State,
    /// The sums of the agent that had to do with it.
    pub(super) agent: Option<AgentSums>,
}

impl Ahead {
    /// What the row of a conversation does not have, if there is anything.
    pub(super) fn of(connection: &Connection, num: i64) -> Result<Option<Self>, Failure> {
        let mut statement = connection.prepare_cached(
            "SELECT head_seq, head_hash, active_at, sums, agent, last_seq, state FROM ahead
             WHERE conversation = ?1",
        )?;
        let mut rows = statement.query([num])?;
        rows.next()?.map(|row| Self::read(connection, num, row)).transpose()
    }

    fn read(connection: &Connection, num: i64, row: &Row<'_>) -> Result<Self, Failure> {
        let head = Head::of(row)?;
        let (messages, cost, mut last_message) =
            read(row.get_ref(3)?.as_blob().unwrap_or_default())?;
        if let Some(last) = row.get::<_, Option<i64>>(5)? {
            let open = Open { num, head: head.seq };
            last_message = Some(message_at(connection, open, Seq(count(last)))?);
        }
        let agent = row.get_ref(4)?.as_blob_or_null().unwrap_or_default();
        let (agent, state) = (agent.map(read).transpose()?, state(row.get(6)?)?);
        Ok(Self { head, messages, cost, last_message, state, agent })
    }

    /// Brings the row of a conversation up to its last entry.
    fn settle(&self, connection: &Connection, num: i64) -> Result<(), Failure> {
        keep_agents(connection, num, self.agent.as_slice())?;
        connection
            .prepare_cached("UPDATE conversation SET state = ?2 WHERE num = ?1 AND state <> ?2")?
            .execute([num, state_number(self.state)])?;
        let counted = (self.messages, self.cost, self.last_message.as_ref());
        Ok(self.head.write(connection, num, counted)?)
    }
}

/// The entry of a conversation that is its last message, as it was written.
fn message_at(connection: &Connection, open: Open, seq: Seq) -> Result<LastMessage, Failure> {
    let record = match locate(connection, open, seq)? {
        Some(id) => one(connection, id)?,
        None => None,
    };
    let previous = match seq.before() {
        Seq::ZERO => Some(GENESIS),
        before => hash_at(connection, open, before)?,
    };
    let sound = record.filter(|record| previous.is_some_and(|hash| record.follows(hash)));
    let message = sound.and_then(|record| record.open().ok()).as_ref().and_then(LastMessage::of);
    message.ok_or_else(|| {
        damaged(format!("entry {seq}, its last message, is not what was written, or is missing"))
    })
}

/// Brings the rows of all conversations up to their last entries. What is damaged of one stays as
/// it is, and holds up no other.
pub(super) fn settle_all(connection: &Connection) -> Result<(), Failure> {
    let all: Vec<i64> = connection
        .prepare_cached("SELECT conversation FROM ahead")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut damaged = BTreeSet::new();
    for num in &all {
        match Ahead::of(connection, *num) {
            Ok(Some(ahead)) => ahead.settle(connection, *num)?,
            Ok(None) => {}
            Err(error) => {
                let why = error.into_damage()?;
                tracing::debug!(target: "History", num, %why, "left a damaged summary as it is");
                damaged.insert(*num);
            }
        }
    }
    if damaged.is_empty() && !all.is_empty() {
        connection.prepare_cached("DELETE FROM ahead")?.execute([])?;
        return Ok(());
    }
    all.iter()
        .filter(|num| !damaged.contains(num))
        .try_for_each(|num| Ok(forget(connection, *num)?))
}

/// Brings the row of a conversation up to its last entry, before it is changed further.
pub(super) fn settle(connection: &Connection, num: i64) -> Result<(), Failure> {
    if let Some(ahead) = Ahead::of(connection, num)? {
        ahead.settle(connection, num)?;
        forget(connection, num)?;
    }
    Ok(())
}

/// What is kept apart of a conversation is of no use any more: its row is brought further than that.
pub(super) fn forget(connection: &Connection, num: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM ahead WHERE conversation = ?1")?.execute([num]).map(drop)
}

/// The last entry of a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) seq: Seq,
    pub(super) hash: Digest,
    pub(super) at: Timestamp,
}

impl Head {
    /// The last entry of a conversation that is ahead of its row.
    pub(super) fn ahead(connection: &Connection, num: i64) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(
                "SELECT head_seq, head_hash, active_at FROM ahead WHERE conversation = ?1",
            )?
            .query_row([num], Self::of)
            .optional()
    }

    /// A head from the first columns of a row.
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (seq, hash, at) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self { seq: Seq(count(seq)), hash: Digest(hash), at: moment(at) })
    }

    /// Writes it into the conversation's row, with the sums that change with every append.
    pub(super) fn write(
        &self,
        connection: &Connection,
        num: i64,
        (messages, cost, last): Counted<'_>,
    ) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "UPDATE conversation SET head_seq = ?2, head_hash = ?3, active_at = ?4,
                   messages = ?5, cost = ?6, last_kind = ?7, last_at = ?8, last_text = ?9
                 WHERE num = ?1",
            )?
            .execute(params![
                num,
                seq_int(self.seq),
                self.hash.0,
                self.at.micros(),
                int(messages),
                int(cost.0),
                last.map(|last| message_number(last.kind)),
                last.map(|last| last.at.micros()),
                last.map(|last| last.text.as_str()),
            ])
            .map(drop)
    }
}
