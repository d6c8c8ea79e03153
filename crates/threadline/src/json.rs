//! The JSON that `--json` prints. Documented in docs/cli.md; fields are added, not changed.

use serde::Serialize;
use serde_json::value::RawValue;
use threadline_core::history::batch::{AgentSums, Interaction, LastMessage};
use threadline_core::history::entry::Entry;
use threadline_core::history::metadata::Metadata;
use threadline_core::history::record::Record;
use threadline_core::store;

/// A conversation, as `list` prints it.
#[derive(Serialize)]
pub(crate) struct Conversation<'a> {
    pub(crate) id: String,
    pub(crate) title: Option<&'a str>,
    pub(crate) state: &'static str,
    pub(crate) entries: u64,
    pub(crate) messages: u64,
    pub(crate) last_message: Option<&'a LastMessage>,
    pub(crate) created_at: String,
    pub(crate) active_at: String,
    pub(crate) labels: &'a [String],
    pub(crate) archived: bool,
    pub(crate) copy: bool,
    pub(crate) origin: &'static str,
    pub(crate) hold: Option<String>,
    pub(crate) moved_away: bool,
    pub(crate) forked_from: Option<Fork>,
    pub(crate) cost_nano_usd: u64,
    pub(crate) wake_at: Option<String>,
    pub(crate) hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damage: Option<&'a str>,
}

/// Where a conversation branched off.
#[derive(Serialize)]
pub(crate) struct Fork {
    pub(crate) id: String,
    pub(crate) seq: u64,
}

impl<'a> From<&'a store::Conversation> for Conversation<'a> {
    fn from(conversation: &'a store::Conversation) -> Self {
        let sums = &conversation.sums;
        Self {
            id: conversation.id.to_string(),
            title: sums.title.as_deref(),
            state: sums.state.name(),
            entries: conversation.head.0,
            messages: sums.messages,
            last_message: sums.last_message.as_ref(),
            created_at: conversation.created_at.to_string(),
            active_at: conversation.active_at.to_string(),
            labels: &sums.labels,
            archived: sums.archived,
            copy: match conversation.origin {
                store::Origin::Own => false,
                store::Origin::Copy | store::Origin::Imported => true,
            },
            origin: match conversation.origin {
                store::Origin::Own => "own",
                store::Origin::Copy => "copy",
                store::Origin::Imported => "imported",
            },
            hold: conversation.hold.map(store::Hold::reason),
            moved_away: conversation.moved_away,
            forked_from: conversation
                .forked_from
                .map(|(id, seq)| Fork { id: id.to_string(), seq: seq.0 }),
            cost_nano_usd: sums.cost.0,
            wake_at: sums.wake_at.map(|at| at.to_string()),
            hash: conversation.head_hash.to_string(),
            damage: conversation.damage.as_deref(),
        }
    }
}

/// A conversation with its agents, as `show` prints it.
#[derive(Serialize)]
pub(crate) struct Header<'a> {
    pub(crate) conversation: Conversation<'a>,
    pub(crate) agents: Vec<Agent<'a>>,
}

/// An agent of a conversation.
#[derive(Serialize)]
pub(crate) struct Agent<'a> {
    #[serde(rename = "agent")]
    number: u32,
    name: &'a str,
    present: bool,
    interactions: u64,
    last_interaction: Option<LastInteraction>,
    state_description: &'a str,
}

/// When something was last said to an agent or by it.
#[derive(Serialize)]
struct LastInteraction {
    kind: Interaction,
    at: String,
}

impl<'a> From<&'a AgentSums> for Agent<'a> {
    fn from(sums: &'a AgentSums) -> Self {
        Self {
            number: sums.agent.0,
            name: &sums.name,
            present: sums.present,
            interactions: sums.interactions,
            last_interaction: sums
                .last_interaction
                .map(|(kind, at)| LastInteraction { kind, at: at.to_string() }),
            state_description: &sums.state_description,
        }
    }
}

/// An entry, as `show` and `search` print it: its fact's body as it is stored.
#[derive(Serialize)]
pub(crate) struct EntryLine<'a> {
    pub(crate) seq: u64,
    pub(crate) id: String,
    pub(crate) at: String,
    pub(crate) agent: u32,
    pub(crate) kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<u64>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub(crate) metadata: &'a Metadata,
    pub(crate) rewound: bool,
    /// Whether it is not what was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) changed: bool,
    pub(crate) body: Option<&'a RawValue>,
}

impl<'a> EntryLine<'a> {
    pub(crate) fn new(entry: &'a Entry, record: &'a Record, rewound: bool, changed: bool) -> Self {
        Self {
            seq: entry.seq.0,
            id: entry.id.to_string(),
            at: entry.at.to_string(),
            agent: entry.agent.0,
            kind: entry.fact.kind(),
            cause: entry.cause.map(|cause| cause.0),
            metadata: &entry.metadata,
            rewound,
            changed,
            body: serde_json::from_slice(&record.body).ok(),
        }
    }
}

/// An entry that cannot be read.
#[derive(Serialize)]
pub(crate) struct Unreadable {
    pub(crate) seq: u64,
    pub(crate) changed: bool,
    pub(crate) error: String,
}

/// Whether there are more than were asked for.
#[derive(Serialize)]
pub(crate) struct More {
    pub(crate) more: bool,
}

/// Nothing more, where a list takes something before or after it.
#[derive(Serialize)]
pub(crate) struct Nothing {}
