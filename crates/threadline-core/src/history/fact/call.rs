//! Facts about tool calls: what ran, under whose authority, and what came of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Attachment, Digest, is_default};
use crate::clock::Timestamp;
use crate::history::sections::Section;
use crate::id::{AgentId, CallId, Seq};

/// All calls of an output are finished; these are their results, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResults {
    /// The output whose calls these are.
    pub output: Seq,
    /// The finishing entry of each call, in the order of the calls.
    pub results: Vec<Seq>,
    /// Why the batch as a whole could not run, if so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub execute_error: Option<String>,
}

/// What running a tool a second time would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: it only reads.
    Read,
    /// Nothing more than running it once.
    Idempotent,
    /// The effect again: it must run at most once.
    Once,
}

impl Effect {
    /// Whether a call that was started may be started again.
    pub const fn may_repeat(self) -> bool {
        match self {
            Self::Read | Self::Idempotent => true,
            Self::Once => false,
        }
    }

    /// Whether running the tool changes nothing.
    pub const fn only_reads(self) -> bool {
        match self {
            Self::Read => true,
            Self::Idempotent | Self::Once => false,
        }
    }
}

/// A tool is about to run: durable before it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolStarted {
    /// The call.
    pub call: CallId,
    /// How often it has been started, this time included.
    pub attempt: u32,
    /// What running it again would do.
    pub effect: Effect,
    /// The key under which the outside world can know this effect again.
    #[serde(deserialize_with = "super::shared_text")]
    pub effect_key: Arc<str>,
    /// Who allowed it.
    pub authority: Authority,
    /// The arguments it runs with, if they differ from what the model wrote.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arguments: Option<Arc<str>>,
}

/// Who allowed an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// A rule, by its name.
    Rule(Arc<str>),
    /// An approval: the entry that gave it.
    Approval(Seq),
}

/// A call has its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFinished {
    /// The call.
    pub call: CallId,
    /// The tool's name, which must be the call's.
    #[serde(deserialize_with = "super::shared_text")]
    pub name: Arc<str>,
    /// How it ended.
    pub status: Status,
    /// What it said.
    #[serde(default, skip_serializing_if = "is_default")]
    pub result: Vec<Section>,
    /// What it gave along.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attachments: Vec<Attachment>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "is_default")]
    pub elapsed_ms: u64,
    /// What was mended in the arguments.
    #[serde(default, skip_serializing_if = "is_default")]
    pub warnings: Vec<String>,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "is_default")]
    pub error: Option<String>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did what it was asked.
    Success,
    /// It said that it failed, or gave no answer and may safely be asked again.
    Failed,
    /// It never started.
    Skipped,
    /// It was started, must not run twice, and gave no answer.
    Unknown,
}

/// A person is asked whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAsked {
    /// The call.
    pub call: CallId,
    /// Digest of the exact arguments.
    pub digest: Digest,
    /// When the question expires.
    pub until: Timestamp,
    /// What counts if nobody answers.
    pub default: Answer,
}

/// The question has its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalGiven {
    /// The call.
    pub call: CallId,
    /// Digest of the exact arguments that were shown.
    pub digest: Digest,
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub by: Approver,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may run.
    Allow,
    /// It may not.
    Deny,
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Approver {
    /// A person.
    Person {
        /// What they are called.
        #[serde(default, skip_serializing_if = "is_default")]
        name: Option<Arc<str>>,
    },
    /// The clock: the question expired.
    Timer,
    /// A new message that took over.
    NewMessage,
}

/// A rule for the rest of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySet {
    /// The tool it is about; `*` stands for any run of characters.
    pub tool: Arc<str>,
    /// The arguments it is about: a JSON object of patterns by parameter; all if none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arguments: Option<Arc<str>>,
    /// What it says.
    pub verdict: Verdict,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Ask a person.
    Ask,
    /// Do not run it.
    Deny,
}

/// A widget's state changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WidgetChanged {
    /// The widget's name.
    pub widget: Arc<str>,
    /// Its change, in its own words.
    pub change: Arc<str>,
    /// The call that made it, if one did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call: Option<CallId>,
}

/// The tool by which agents call each other.
pub const CALL_AGENT: &str = "call_agent";

/// An agent called another; the child's input follows in the same batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentCalled {
    /// The parent's call.
    pub call: CallId,
    /// The agent it calls.
    pub child: AgentId,
    /// Whether it waits.
    pub mode: CallMode,
}

/// Whether a caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallMode {
    /// It waits for the answer.
    Ask,
    /// It goes on; the answer comes as an input.
    Send,
}

/// A called agent ended its turn; the call's result follows in the same batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentReturned {
    /// The parent's call.
    pub call: CallId,
    /// The agent that was called.
    pub child: AgentId,
    /// The entry that ended the child's turn.
    pub ended: Seq,
}
