//! A batch: what one append writes, whole or not at all.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::fact::{Digest, Fact, Money};
use super::record::Record;
use super::sections::{Level, render};
use crate::clock::Timestamp;
use crate::id::{AgentId, ConversationId, Seq};
use crate::inbox::{ItemNumber, input_digest};
use crate::outline::OutlineRow;

/// The most facts proposed at once. Settling may add more: it is bounded by what was open.
pub const BATCH_CAP_ENTRIES: usize = 64;
/// The most bytes in a batch.
pub const BATCH_CAP_BYTES: usize = 4 * 1024 * 1024;

/// How much of a message the sums keep, in characters.
const LAST_MESSAGE_CAP: usize = 500;

/// What one append writes, whole or not at all: made by `History::propose`, written as given.
///
/// Everything that a store writes beside the entries is here: a store does not interpret facts.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The entry it follows.
    pub base: Seq,
    /// The hash of the entry it follows.
    pub base_hash: Digest,
    /// The entries with their records; never none.
    pub entries: Vec<Placed>,
    /// The outline rows of those that models see.
    pub rows: Vec<Arc<OutlineRow>>,
    /// The conversation's sums as they are after it.
    pub sums: Sums,
    /// The sums of the agents that it touched, as they are after it.
    pub agents: Vec<AgentSums>,
    /// The inbox items that it takes.
    pub taken: Vec<Taken>,
    /// The client keys of its inputs.
    pub keys: Vec<ClientKey>,
    /// Its rewinds: where each stands and where it leads.
    pub rewinds: Vec<(Seq, Seq)>,
    /// The attachments that its entries name.
    pub attachments: Vec<Digest>,
    /// Where its last `Forked` entry says that the conversation branched off.
    pub forked: Option<ForkedAt>,
    /// Whether its last entry closes the conversation: it was moved away.
    pub closes: bool,
}

/// The client key that an input came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKey {
    /// The key.
    pub key: Arc<str>,
    /// The digest of the input as the body of an inbox item.
    pub digest: Digest,
    /// The input.
    pub seq: Seq,
}

/// Where a conversation branched off another, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkedAt {
    /// The other conversation.
    pub from: ConversationId,
    /// The last entry that they share.
    pub seq: Seq,
    /// When the entry that says so was placed.
    pub at: Timestamp,
}

/// An entry and its record. Whoever keeps one of them shares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Its record.
    pub record: Arc<Record>,
}

/// An inbox item was taken into the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The item.
    pub item: ItemNumber,
    /// The entry it became or led to.
    pub seq: Seq,
}

impl Batch {
    /// A batch that follows an entry and takes nothing from the inbox.
    pub fn new(
        (base, base_hash): (Seq, Digest),
        entries: Vec<Placed>,
        rows: Vec<Arc<OutlineRow>>,
        sums: Sums,
        agents: Vec<AgentSums>,
    ) -> Self {
        let mut batch = Self {
            base,
            base_hash,
            entries: Vec::with_capacity(entries.len()),
            rows,
            sums,
            agents,
            taken: Vec::new(),
            keys: Vec::new(),
            rewinds: Vec::new(),
            attachments: Vec::new(),
            forked: None,
            closes: false,
        };
        for placed in entries {
            batch.push(placed);
        }
        batch
    }

    /// Adds an entry with what follows from it.
    fn push(&mut self, placed: Placed) {
        let entry = &placed.entry;
        self.attachments.extend(entry.attachments());
        self.closes = entry.fact.closes_conversation();
        self.rewinds.extend(entry.fact.rewinds_to().map(|to| (entry.seq, to)));
        match &entry.fact {
            Fact::Forked(forked) => {
                self.forked = Some(ForkedAt { from: forked.from, seq: forked.seq, at: entry.at });
            }
            Fact::Input(input) => self.keys.extend(input.client_key.as_ref().map(|key| {
                let (key, digest) = (Arc::clone(key), input_digest(input));
                ClientKey { key, digest, seq: entry.seq }
            })),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
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
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
        self.entries.push(placed);
    }

    /// The bytes of its records.
    pub fn size(&self) -> usize {
        self.entries.iter().map(|placed| placed.record.size()).sum()
    }

    /// When its first entry was placed.
    pub fn first_at(&self) -> Timestamp {
        self.entries.first().map(|placed| placed.entry.at).unwrap_or_default()
    }

    /// Refuses what is no batch: it has entries, each follows the one before it, and outline rows
    /// are theirs.
    pub fn check(&self) -> Result<(), &'static str> {
        let mut expected = self.base;
        for placed in &self.entries {
            expected = expected.next();
            if placed.entry.seq != expected {
                return Err("the entries of a batch follow one another");
            }
        }
        if self.entries.is_empty() {
            return Err("a batch has entries");
        }
        let mut entries = self.entries.iter();
        let is_of = |row: &OutlineRow, placed: &Placed| {
            placed.entry.seq == row.seq && placed.entry.agent == row.agent
        };
        if self.rows.iter().all(|row| entries.any(|placed| is_of(row, placed))) {
            Ok(())
        } else {
            Err("the outline rows of a batch are those of its entries, in their order")
        }
    }

    /// Its last entry.
    pub fn head(&self) -> Seq {
        self.entries.last().map_or(self.base, |placed| placed.entry.seq)
    }

    /// The hash of its last entry. A store that holds this hash there holds the whole batch.
    pub fn head_hash(&self) -> Digest {
        self.entries.last().map_or(self.base_hash, |placed| placed.record.hash)
    }

    /// When its last entry was placed.
    pub fn at(&self) -> Timestamp {
        self.entries.last().map(|placed| placed.entry.at).unwrap_or_default()
    }
}

/// What is known of a conversation without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Inputs and final answers of the transcript.
    pub messages: u64,
    /// The last of them.
    pub last_message: Option<LastMessage>,
    /// The conversation's title.
    pub title: Option<String>,
    /// Its labels, sorted.
    pub labels: Vec<String>,
    /// Whether it is out of the way.
    pub archived: bool,
    /// What its agents are doing.
    pub state: State,
    /// What its invocations cost, rewound ones included.
    pub cost: Money,
    /// When its next timer or approval is due.
    pub wake_at: Option<Timestamp>,
}

/// The last message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    /// Its first 500 characters.
    pub text: String,
    /// Whether it was said to the agents or by them.
    pub kind: MessageKind,
    /// When.
    pub at: Timestamp,
}

impl LastMessage {
    /// An entry of a transcript as its last message; none if it can be none.
    pub fn of(entry: &Entry) -> Option<Self> {
        match &entry.fact {
            Fact::Input(input) => {
                let text = render(&input.sections, Level::Live);
                Some(Self::new(entry, MessageKind::Input, &text))
            }
            Fact::Output(output) => Some(Self::new(entry, MessageKind::Answer, &output.text())),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
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
            | Fact::TurnEnded(_)
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
            | Fact::Unrecognised(_) => None,
        }
    }

    /// An entry that says this as the last message.
    pub(super) fn new(entry: &Entry, kind: MessageKind, text: &str) -> Self {
        let text = first_chars(text, LAST_MESSAGE_CAP).to_owned();
        Self { text, kind, at: entry.at }
    }
}

/// A text up to so many characters.
fn first_chars(text: &str, cap: usize) -> &str {
    // No text has more characters than bytes, and in ASCII it has as many.
    let end = match text.as_bytes().get(..cap) {
        None => text.len(),
        Some(head) if head.is_ascii() => cap,
        Some(_) => text.char_indices().nth(cap).map_or(text.len(), |(end, _)| end),
    };
    text.get(..end).unwrap_or_default()
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// To an agent.
    Input,
    /// From an agent.
    Answer,
}

/// What the agents of a conversation are doing.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All rest: a driver has nothing to do before something new comes.
    #[default]
    Resting,
    /// A turn is unfinished and can go on.
    Working,
    /// Unfinished turns all wait for a person or a time.
    Waiting,
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resting => "resting",
            Self::Working => "working",
            Self::Waiting => "waiting",
        }
    }
}

/// What is known of an agent without reading its thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSums {
    /// The agent.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// Whether it is still in the conversation.
    pub present: bool,
    /// Inputs, outputs and errors on its thread.
    pub interactions: u64,
    /// The last of them.
    pub last_interaction: Option<(Interaction, Timestamp)>,
    /// Its newest turn in a line: `input: … | tool: NAME (×n) | output: …`.
    pub state_description: String,
}

/// What an agent last had to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interaction {
    /// It was told something.
    Input,
    /// It answered.
    Output,
    /// It failed to answer.
    Error,
}
