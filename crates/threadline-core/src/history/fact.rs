//! Facts: what can happen in a conversation.
//!
//! The shapes here are also the shapes of the record: field names and variants are frozen once
//! written, new kinds are added, and golden files of every kind guard them.

mod agent;
mod call;
mod course;
mod invocation;
mod message;
mod queries;
mod workspace;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use agent::{AgentJoined, AgentLeft, CallOptions, InstructionSet, Thinking};
pub use call::{
    AgentCalled, AgentReturned, Answer, ApprovalAsked, ApprovalGiven, Approver, Authority,
    CALL_AGENT, CallMode, Effect, PolicySet, Status, ToolFinished, ToolResults, ToolStarted,
    Verdict, WidgetChanged,
};
pub use course::{
    Described, EndReason, Forked, Limit, Moved, Note, Pinned, Recap, Rewound, TimerCleared,
    TimerSet, TurnEnded,
};
pub use invocation::{
    Detail, FailureKind, Invocation, InvocationFailed, InvocationStarted, ProjectionOptions,
    Purpose,
};
pub use message::{
    Address, Attachment, Block, Extent, Foreign, Input, Money, Opaque, Output, Sender, Stop, Text,
    ThinkingBlock, ToolCall, Usage,
};
pub use workspace::{AuthorityReset, FileChanged, WorkspaceSet};

/// How long a body is expected to be, at most.
const BODY_BYTES: usize = 2048;

macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $kind:literal,)*) => {
        /// Something that happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Fact {
            $($(#[$doc])* $variant($variant),)*
            /// A fact of a newer version: kept, shown and exported intact, but not understood.
            Unrecognised(Unrecognised),
        }

        impl Fact {
            /// The kinds this version knows, by the names they have in records.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// The name of this kind of fact.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unrecognised(unrecognised) => &unrecognised.kind,
                }
            }

            /// The body of a record of this fact.
            pub fn to_body(&self) -> Result<Vec<u8>, serde_json::Error> {
                // Room for most: to grow costs more than to write.
                let mut body = Vec::with_capacity(BODY_BYTES);
                match self {
                    $(Self::$variant(fact) => serde_json::to_writer(&mut body, fact)?,)*
                    Self::Unrecognised(unrecognised) => body.clone_from(&unrecognised.body),
                }
                Ok(body)
            }

            /// The fact in a record's body; what this version cannot read exactly is unrecognised.
            pub fn from_body(kind: &str, body: &[u8]) -> Self {
                // To check a text as a whole is quicker than each string in it.
                let known = std::str::from_utf8(body).ok().and_then(|body| match kind {
                    $($kind => serde_json::from_str(body).ok().map(Self::$variant),)*
                    _ => None,
                });
                known.unwrap_or_else(|| Self::Unrecognised(Unrecognised {
                    kind: kind.to_owned(),
                    body: body.to_vec(),
                }))
            }
        }

        $(impl From<$variant> for Fact {
            fn from(fact: $variant) -> Self {
                Self::$variant(fact)
            }
        })*
    };
}

facts! {
    /// An agent joined, or joined again with other settings.
    AgentJoined = "agent_joined",
    /// An agent left.
    AgentLeft = "agent_left",
    /// An agent got its instruction.
    InstructionSet = "instruction_set",
    /// Someone said something to an agent.
    Input = "input",
    /// A model answered.
    Output = "output",
    /// The calls of an output are all finished, and sealed in their order.
    ToolResults = "tool_results",
    /// A model is about to be asked.
    InvocationStarted = "invocation_started",
    /// A model gave no answer that counts.
    InvocationFailed = "invocation_failed",
    /// A tool is about to run.
    ToolStarted = "tool_started",
    /// A call has its result.
    ToolFinished = "tool_finished",
    /// A person is asked whether a call may run.
    ApprovalAsked = "approval_asked",
    /// The question has its answer.
    ApprovalGiven = "approval_given",
    /// A rule for the rest of the conversation.
    PolicySet = "policy_set",
    /// A widget's state changed.
    WidgetChanged = "widget_changed",
    /// An agent called another.
    AgentCalled = "agent_called",
    /// A called agent answered.
    AgentReturned = "agent_returned",
    /// A timer was set.
    TimerSet = "timer_set",
    /// A timer fired for the last time or was taken back.
    TimerCleared = "timer_cleared",
    /// A turn ended without a final answer.
    TurnEnded = "turn_ended",
    /// A text stands for a range of entries.
    Recap = "recap",
    /// An entry stays whole, or no longer does.
    Pinned = "pinned",
    /// The conversation got a title, labels, or was archived.
    Described = "described",
    /// The head of the conversation moved to an earlier entry.
    Rewound = "rewound",
    /// This conversation branched off another here.
    Forked = "forked",
    /// This conversation was moved to another store.
    Moved = "moved",
    /// The folder that the conversation works in was set.
    WorkspaceSet = "workspace_set",
    /// A tool is about to change a file.
    FileChanged = "file_changed",
    /// Authority from before an import was withdrawn.
    AuthorityReset = "authority_reset",
    /// A remark.
    Note = "note",
}

/// A fact of a kind, or in a form, that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecognised {
    /// Its kind, as written.
    pub kind: String,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// What is left out of a record when it is not there.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a text that is shared. Serde's own way puts it into a place of its own first.
pub(crate) fn shared_text<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<str>, D::Error> {
    struct Text;

    impl serde::de::Visitor<'_> for Text {
        type Value = Arc<str>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("text")
        }

        fn visit_str<E>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(text.into())
        }
    }

    deserializer.deserialize_str(Text)
}

/// A BLAKE3 digest: of an attachment, a request, arguments. Written in hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(hex(&self.0, &mut [0; 64]))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A digest is written as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} hexadecimal digits")]
pub struct NotHex {
    expected: usize,
}

impl std::str::FromStr for Digest {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text).map(Self)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&self.0, &mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::id::text_from(deserializer)
    }
}

/// The hexadecimal digits of bytes, as far as there is room for them.
fn hex<'a>(bytes: &[u8], room: &'a mut [u8]) -> &'a str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |number: u8| DIGITS.get(usize::from(number)).copied().unwrap_or_default();
    for (pair, byte) in room.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xf)]);
    }
    str::from_utf8(room).unwrap_or_default()
}

/// Bytes from their hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], NotHex> {
    let wrong = NotHex { expected: 2 * N };
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return Err(wrong);
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let mut value = 0;
        for digit in pair {
            let digit = char::from(*digit).to_digit(16).ok_or_else(|| wrong.clone())?;
            value = value * 16 + digit;
        }
        *byte = u8::try_from(value).map_err(|_| wrong.clone())?;
    }
    Ok(bytes)
}
