//! The inbox: durable items that wait for a conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::history::fact::{
    AgentJoined, Answer, Approver, Described, Digest, Input, PolicySet, is_default,
};
use crate::id::{AgentId, CallId, Seq};

/// The longest client key.
pub const CLIENT_KEY_CAP_BYTES: usize = 256;

/// The place of an item in its store's inbox: items of a conversation are taken in this order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ItemNumber(pub u64);

/// Something that waits for a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The sender's own key: the same key is taken once.
    pub client_key: Arc<str>,
    /// For which agent; none stands for the primary one, or for the conversation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub to: Option<AgentId>,
    /// Whether it waits for its turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub due: Option<Timestamp>,
    /// What it is.
    pub body: Body,
}

impl Item {
    /// What makes two items under one key the same: their body.
    pub fn digest(&self) -> Digest {
        match &self.body {
            Body::Input(input) => input_digest(input),
            body @ (Body::Approval { .. } | Body::Cancel | Body::Command(_)) => digest_of(body),
        }
    }
}

/// The digest of an input as a body, so that an input that already is in a history can be known
/// again by the key it came with.
pub fn input_digest(input: &Input) -> Digest {
    digest_of(&Body::Input(Input { client_key: None, ..input.clone() }))
}

fn digest_of(body: &Body) -> Digest {
    Digest::of(&serde_json::to_vec(body).unwrap_or_default())
}

/// When an item goes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// When the agent rests, one for each turn.
    #[default]
    Queue,
    /// Before the next invocation of the turn that runs.
    Steer,
}

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// Something to say to an agent.
    Input(Input),
    /// The answer to a question about a call.
    Approval {
        /// The call.
        call: CallId,
        /// Digest of the exact arguments that were shown.
        digest: Digest,
        /// The answer.
        answer: Answer,
        /// Who gave it.
        by: Approver,
    },
    /// Stop the turn.
    Cancel,
    /// Change the conversation.
    Command(Command),
}

/// A change to the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Go on after an earlier entry.
    Rewind {
        /// The entry.
        to: Seq,
    },
    /// Give an agent its instruction.
    Instruct {
        /// The text.
        text: Arc<str>,
    },
    /// Set a rule.
    SetPolicy(PolicySet),
    /// Change a widget's state.
    ChangeWidget {
        /// The widget.
        widget: Arc<str>,
        /// The change, in the widget's own words.
        change: Arc<str>,
    },
    /// Describe the conversation.
    Describe(Described),
    /// Keep an entry whole, or no longer.
    Pin {
        /// The entry.
        seq: Seq,
        /// Whether it stays whole.
        on: bool,
    },
    /// Have a recap written of all but an agent's newest exchange.
    Recap {
        /// What is to be kept or forgotten, in plain words.
        #[serde(default)]
        hints: Vec<String>,
    },
    /// Take an agent's newest recap back.
    UndoRecap,
    /// Let an agent join.
    Join(AgentJoined),
    /// Let an agent leave.
    Leave,
}
