//! Facts about who is in the conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Detail, is_default};

/// An agent joined. Joining again under the same id changes its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentJoined {
    /// What people and other agents call it.
    pub name: Arc<str>,
    /// What it is for, as other agents read it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub description: Arc<str>,
    /// The route its invocations take, if not the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub route: Option<Arc<str>>,
    /// What is asked of the model beyond the context.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: CallOptions,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tools: Vec<Arc<str>>,
    /// The widgets on its screen, in order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub widgets: Vec<Arc<str>>,
    /// Whether it gets what is addressed to nobody.
    #[serde(default, skip_serializing_if = "is_default")]
    pub primary: bool,
}

/// What is asked of a model beyond the context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallOptions {
    /// The most it may answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_output_tokens: Option<u32>,
    /// The sampling temperature, in thousandths: a record holds no floats.
    #[serde(default, skip_serializing_if = "is_default")]
    pub temperature_thousandths: Option<u32>,
    /// Whether and how much it should think.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thinking: Option<Thinking>,
    /// The largest window it may fill, if that is less than the model's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub window_tokens: Option<u64>,
    /// How generous the caps on what it sees are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub detail: Option<Detail>,
    /// Whether it sees its live screen; it does unless told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub screen: Option<bool>,
}

/// How much a model should think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Thinking {
    /// Not at all.
    Off,
    /// As it sees fit.
    Adaptive,
    /// With little effort.
    Low,
    /// With some effort.
    Medium,
    /// With much effort.
    High,
    /// At most so many tokens.
    Budget {
        /// The cap.
        tokens: u32,
    },
}

/// An agent left. Its thread stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentLeft {
    /// Why, for people.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
}

/// An agent's instruction: the only home of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionSet {
    /// The text of the system message.
    pub text: Arc<str>,
}
