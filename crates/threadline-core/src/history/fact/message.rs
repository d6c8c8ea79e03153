//! Facts that models see: what was said to them and what they answered.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Digest, Invocation, is_default};
use crate::history::sections::Section;
use crate::id::{AgentId, BroadcastId, CallId, Seq};

/// Someone said something to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What was said.
    pub sections: Vec<Section>,
    /// What was sent along.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attachments: Vec<Attachment>,
    /// Who said it.
    pub from: Sender,
    /// To whom, as it was addressed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub to: Address,
    /// The route for the turn it begins, if not the agent's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub route: Option<Arc<str>>,
    /// The sender's own key: the same key is taken once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub client_key: Option<Arc<str>>,
    /// Shared by inputs that went to several agents at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub broadcast: Option<BroadcastId>,
}

impl Input {
    /// A plain text from a person.
    pub fn from_person(text: impl Into<Arc<str>>) -> Self {
        Self {
            sections: vec![Section::text(text)],
            attachments: Vec::new(),
            from: Sender::Person { name: None, channel: None },
            to: Address::Primary,
            route: None,
            client_key: None,
            broadcast: None,
        }
    }
}

/// Who said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sender {
    /// A person.
    Person {
        /// What they are called.
        #[serde(default, skip_serializing_if = "is_default")]
        name: Option<Arc<str>>,
        /// Where they said it: terminal, http, …
        #[serde(default, skip_serializing_if = "is_default")]
        channel: Option<Arc<str>>,
    },
    /// Another agent, by a call.
    Agent {
        /// Which agent.
        agent: AgentId,
        /// The call that this belongs to: the sender's, or one that it answers.
        #[serde(default, skip_serializing_if = "is_default")]
        call: Option<CallId>,
    },
    /// The runtime itself.
    System,
    /// A timer that fired.
    Timer {
        /// The entry that set it.
        set: Seq,
    },
}

impl Sender {
    /// Whether people read the input in the transcript.
    pub fn is_in_transcript(&self) -> bool {
        match self {
            Self::Person { .. } | Self::Timer { .. } => true,
            Self::Agent { .. } | Self::System => false,
        }
    }

    /// Whether a person caused the input. The runtime sends one when a person resumes the conversation.
    pub fn is_on_behalf_of_person(&self) -> bool {
        match self {
            Self::Person { .. } | Self::System => true,
            Self::Agent { .. } | Self::Timer { .. } => false,
        }
    }

    /// The call that the input belongs to, if an agent sent it by one.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Agent { call, .. } => *call,
            Self::Person { .. } | Self::System | Self::Timer { .. } => None,
        }
    }

    /// The entry that set the timer, if a timer sent the input.
    pub fn timer(&self) -> Option<Seq> {
        match self {
            Self::Timer { set } => Some(*set),
            Self::Person { .. } | Self::Agent { .. } | Self::System => None,
        }
    }
}

/// To whom something was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Address {
    /// To nobody in particular: the primary agent.
    #[default]
    Primary,
    /// To one agent.
    Agent(AgentId),
    /// To all of them.
    All,
}

/// Bytes that are stored beside the history, once, under their digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// BLAKE3 of the bytes.
    pub digest: Digest,
    /// How many bytes.
    pub size: u64,
    /// Their media type.
    pub media_type: Arc<str>,
    /// The file's name, if it had one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name: Option<Arc<str>>,
    /// How large what they show is, where it was read when they were attached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub extent: Option<Extent>,
}

/// How large an image or a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Extent {
    /// The sides of an image.
    Pixels {
        /// From left to right.
        width: u32,
        /// From top to bottom.
        height: u32,
    },
    /// The pages of a document.
    Pages(u32),
}

/// A model answered, and its stream came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// What it said, in order.
    pub blocks: Vec<Block>,
    /// Which model, asked how.
    pub invocation: Invocation,
    /// Why it stopped: the terminal evidence.
    pub stop: Stop,
    /// What it took.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
    /// What that cost, as computed then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: Option<Money>,
}

impl Output {
    /// The tool calls, in order: the n-th has index n in its call id.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Thinking(_) | Block::Text(_) | Block::Foreign(_) => None,
        })
    }

    /// The visible text, joined.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(&*text.text),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Foreign(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Whether it neither said nor called anything.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            Block::Thinking(_) => true,
            Block::Text(text) => text.text.trim().is_empty(),
            Block::ToolCall(_) | Block::Foreign(_) => false,
        })
    }
}

/// One part of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// What it thought.
    Thinking(ThinkingBlock),
    /// What it said.
    Text(Text),
    /// What it wants done.
    ToolCall(ToolCall),
    /// What only its provider understands: server-side tools, citations, refusals.
    Foreign(Foreign),
}

impl Block {
    /// Whether the block is a thought of the model.
    pub const fn is_thinking(&self) -> bool {
        match self {
            Self::Thinking(_) => true,
            Self::Text(_) | Self::ToolCall(_) | Self::Foreign(_) => false,
        }
    }
}

/// A provider's own state, kept as text, byte for byte, and given back only to where it came from.
pub type Opaque = Arc<str>;

/// What a model thought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinkingBlock {
    /// The thought, as far as it is shown.
    #[serde(deserialize_with = "super::shared_text")]
    pub text: Arc<str>,
    /// Signature or encrypted thought.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: Option<Opaque>,
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The text.
    #[serde(deserialize_with = "super::shared_text")]
    pub text: Arc<str>,
    /// The provider's state of this block.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: Option<Opaque>,
}

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    #[serde(deserialize_with = "super::shared_text")]
    pub name: Arc<str>,
    /// The arguments, raw: never parsed and written again.
    #[serde(deserialize_with = "super::shared_text")]
    pub arguments: Arc<str>,
    /// The arguments as JSON, where they are not read as they were written: repaired and coerced
    /// once, when the output is recorded, and used by everything that reads the call afterwards.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repaired: Option<Arc<str>>,
    /// The provider's id of the call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub provider_id: Option<Arc<str>>,
    /// Whether the arguments came to their end.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub complete: bool,
    /// The provider's state of this block.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: Option<Opaque>,
}

impl ToolCall {
    /// The arguments as JSON: the repaired form if there is one, else the raw text.
    pub fn json_arguments(&self) -> &Arc<str> {
        self.repaired.as_ref().unwrap_or(&self.arguments)
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

/// A block that only its provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// The provider's name for it.
    pub kind: Arc<str>,
    /// What of it can be read by people and by other models.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Arc<str>,
    /// All of it.
    pub state: Opaque,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It was done, or it made calls.
    Done,
    /// The output limit cut it.
    Length,
    /// It declined.
    Refusal,
    /// A filter stopped it.
    Blocked,
    /// It wants to be asked again to go on.
    Paused,
}

impl Stop {
    /// Whether the model is to be invoked again so that it goes on.
    pub const fn is_pause(self) -> bool {
        match self {
            Self::Paused => true,
            Self::Done | Self::Length | Self::Refusal | Self::Blocked => false,
        }
    }
}

/// What an invocation took. What a provider did not tell is unknown, not nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// All prompt tokens, cached ones included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: u64,
    /// All generated tokens, reasoning included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output: u64,
    /// Prompt tokens read from a cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cached_input: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write: Option<u64>,
    /// Generated tokens that were reasoning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning: Option<u64>,
    /// Whether any of these figures is our estimate, because the provider told none that could be
    /// right.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimated: bool,
}

/// An amount in billionths of a US dollar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// The largest sum: what every store can hold as a signed integer, about nine billion dollars.
    pub const SUM_CAP: Self = Self(i64::MAX.unsigned_abs());

    /// Adds to a sum, which stays at [`Money::SUM_CAP`] once it would be over it.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0)).min(Self::SUM_CAP)
    }
}

/// In dollars, to the millionth: `$0.0123`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.0.div_ceil(1_000);
        let part = format!("{:06}", millionths % 1_000_000);
        let shown = part.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", millionths / 1_000_000, part.get(..shown).unwrap_or(&part))
    }
}

#[cfg(test)]
mod tests {
    use super::Money;

    #[test]
    fn money_is_told_in_dollars() {
        for (money, told) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (500_000_000, "$0.50"),
            (12_300_000, "$0.0123"),
            (1_000_000_000, "$1.00"),
            (12_345_678_901, "$12.345679"),
        ] {
            assert_eq!(Money(money).to_string(), told);
        }
    }

    #[test]
    fn sums_of_money_stay_below_their_cap() {
        assert_eq!(Money(1).plus(Money(2)), Money(3));
        for (sum, more) in [(0, 1 << 63), (1, u64::MAX), (i64::MAX.unsigned_abs(), 1)] {
            assert_eq!(Money(sum).plus(Money(more)), Money::SUM_CAP);
        }
    }
}
