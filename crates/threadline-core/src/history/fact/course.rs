//! Facts about the course of a conversation: timers, ends of turns, recaps, rewinds, forks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Digest, Money, Usage, is_default};
use crate::clock::Timestamp;
use crate::id::{CallId, ConversationId, Seq};

/// A timer was set; the entry's seq is its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerSet {
    /// When it fires.
    pub when: Timestamp,
    /// How often it fires again, if it does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub every_ms: Option<u64>,
    /// The call that waits for it, if one does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call: Option<CallId>,
    /// What it is for, as the agent will read it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Arc<str>,
}

/// A timer fired for the last time or was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerCleared {
    /// The entry that set it.
    pub timer: Seq,
}

/// A turn ended without a final answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnEnded {
    /// Why.
    pub reason: EndReason,
    /// In which words people and the model are told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub detail: String,
    /// Who ended it, if a person did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: Option<Arc<str>>,
}

/// Why a turn ended without a final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Someone cancelled it.
    Cancelled,
    /// It came to a limit.
    Limit(Limit),
    /// No model gave an answer.
    Failed,
    /// The parts that must be whole do not fit the window.
    DoesNotFit,
    /// The conversation was rewound, forked or copied in the middle of it.
    Withdrawn,
}

/// A limit of a turn, a conversation or a tree of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Steps in a turn.
    Steps,
    /// Calls in a turn.
    Calls,
    /// The same call again and again.
    SameCall,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Agents calling agents.
    Depth,
}

/// A text stands for a range of entries, or no longer does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Recap {
    /// The first entry it stands for.
    pub from: Seq,
    /// The last entry it stands for.
    pub to: Seq,
    /// The text; none takes back the recap of that range.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Option<Arc<str>>,
    /// What was asked to be kept or forgotten.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hints: Vec<String>,
    /// Whether someone asked for it: then the range is folded even where it would still fit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub asked: bool,
    /// What the range names and the text does not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: Vec<String>,
    /// What it took to write it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Option<Usage>,
    /// What that cost, as computed then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: Option<Money>,
}

/// An entry stays whole in every context, or no longer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The entry.
    pub seq: Seq,
    /// Whether it stays whole.
    pub on: bool,
}

/// The conversation was described. What is not named stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Its title.
    #[serde(default, skip_serializing_if = "is_default")]
    pub title: Option<Arc<str>>,
    /// Its labels, all of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub labels: Option<Vec<Arc<str>>>,
    /// Whether it is out of the way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub archived: Option<bool>,
    /// What it took to write the title, if a model did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Option<Usage>,
    /// What that cost, as computed then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: Option<Money>,
}

/// The head of the conversation moved to an earlier entry. A later one can undo it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewound {
    /// The entry after which the conversation goes on.
    pub to: Seq,
}

/// This conversation branched off another here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forked {
    /// The conversation it branched off.
    pub from: ConversationId,
    /// The last entry they share.
    pub seq: Seq,
    /// That entry's hash.
    pub hash: Digest,
}

/// This conversation goes on in another store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// Where to, for people.
    #[serde(default, skip_serializing_if = "is_default")]
    pub to: Option<Arc<str>>,
}

/// A remark that nothing depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What it belongs to.
    pub category: Arc<str>,
    /// The remark.
    pub text: Arc<str>,
}

impl Note {
    /// The note that takes the place of an inbox item which could not be carried out.
    pub fn refused(why: impl Into<Arc<str>>) -> Self {
        Self { category: "refused".into(), text: why.into() }
    }
}
