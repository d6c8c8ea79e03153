//! The JSON that `--json` prints. Documented in docs/cli.md; fields are added, not changed.

use serde::Serialize;
use serde_json::value::RawValue;
use threadline_core::history::batch::{AgentSums, LastMessage};
use threadline_core::history::entry::Entry;
use threadline_core::history::metadata::Metadata;
use threadline_core::history::record::Record;
use threadline_core::store;

/// A conversation, as `list` prints it.
#[derive(Serialize)]
pub struct Conversation<'a> {
    pub id: String,
    pub title: Option<&'a str>,
    pub state: &'static str,
    pub entries: u64,
    pub messages: u64,
    pub last_message: Option<&'a LastMessage>,
    pub created_at: String,
    pub active_at: String,
    pub labels: &'a [String],
    pub archived: bool,
    pub copy: bool,
    pub moved_away: bool,
    pub forked_from: Option<Fork>,
    pub cost_nano_usd: u64,
    pub wake_at: Option<String>,
    pub hash: String,
}

/// Where a conversation branched off.
#[derive(Serialize)]
pub struct Fork {
    pub id: String,
    pub seq: u64,
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
            copy: conversation.origin == store::Origin::Copy,
            moved_away: conversation.moved_away,
            forked_from: conversation
                .forked_from
                .map(|(id, seq)| Fork { id: id.to_string(), seq: seq.0 }),
            cost_nano_usd: sums.cost.0,
            wake_at: sums.wake_at.map(|at| at.to_string()),
            hash: conversation.head_hash.to_string(),
        }
    }
}

/// A conversation with its agents, as `show` prints it.
#[derive(Serialize)]
pub struct Header<'a> {
    pub conversation: Conversation<'a>,
    pub agents: &'a [AgentSums],
}

/// An entry, as `show` and `search` print it: its fact's body as it is stored.
#[derive(Serialize)]
pub struct EntryLine<'a> {
    pub seq: u64,
    pub id: String,
    pub at: String,
    pub agent: u32,
    pub kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: &'a Metadata,
    pub rewound: bool,
    pub body: Option<&'a RawValue>,
}

impl<'a> EntryLine<'a> {
    pub fn new(entry: &'a Entry, record: &'a Record, rewound: bool) -> Self {
        Self {
            seq: entry.seq.0,
            id: entry.id.to_string(),
            at: entry.at.to_string(),
            agent: entry.agent.0,
            kind: entry.fact.kind(),
            cause: entry.cause.map(|cause| cause.0),
            metadata: &entry.metadata,
            rewound,
            body: serde_json::from_slice(&record.body).ok(),
        }
    }
}

/// Nothing more, where a list takes something before or after it.
#[derive(Serialize)]
pub struct Nothing {}
