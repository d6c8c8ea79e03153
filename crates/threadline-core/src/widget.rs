//! The seam to widgets: state, tools and a fragment of the live screen.
//!
//! A widget is a reducer over recorded changes. Calls to its tools do not run: the widget says
//! which changes a call would make and what its result is, both are recorded in one batch, and
//! only then are the changes applied. So its state rewinds, forks and moves with the history.

mod screens;
mod set;

use std::sync::Arc;

pub use screens::{Attached, Showing};
pub use set::{FRAGMENT_CAP_BYTES, NamesClash, Registry, Widgets};

use crate::clock::Timestamp;
use crate::history::fact::Attachment;
use crate::history::metadata::Metadata;
use crate::history::sections::Section;
use crate::id::{AgentId, CallId, Seq};
use crate::tool::ToolSpec;

/// State that an agent can see and change.
///
/// # Rules
///
/// - It is pure: no clock, no files, no other widget; the same calls and changes give the same
///   state, results and screens, byte for byte.
/// - Its state changes by [`apply`](Self::apply) and [`decode`](Self::decode) alone.
/// - Changes are part of the history: one that was ever recorded can be applied for ever.
/// - One that is registered is empty; those in use are copies of it.
///
/// # Example
///
/// ```
/// use threadline_core::history::fact::Verdict;
/// use threadline_core::history::metadata::Metadata;
/// use threadline_core::history::sections::Section;
/// use threadline_core::tool::{Handling, ToolSpec};
/// use threadline_core::widget::{
///     Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
///     WidgetCall, WidgetState,
/// };
///
/// #[derive(Clone, Default)]
/// struct Counter(u64);
///
/// impl Widget for Counter {
///     fn name(&self) -> &str {
///         "counter"
///     }
///
///     fn description(&self) -> &str {
///         "counts"
///     }
///
///     fn scope(&self) -> Scope {
///         Scope::Agent
///     }
///
///     fn tools(&self) -> Vec<ToolSpec> {
///         vec![ToolSpec {
///             name: "counter_add".into(),
///             description: "counts one further".into(),
///             schema: r#"{"type":"object","properties":{}}"#.into(),
///             strict: false,
///             server: None,
///             verdict: Verdict::Allow,
///             handling: Handling::Recorded,
///         }]
///     }
///
///     fn call(&self, _call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
///         Ok(Reply {
///             changes: vec!["+1".into()],
///             result: vec![Section::text(format!("now {}", self.0 + 1))],
///             attachments: Vec::new(),
///             metadata: Metadata::new(),
///         })
///     }
///
///     fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
///         match change.text {
///             "+1" => self.0 += 1,
///             other => {
///                 let message = format!("it is +1, not {other:?}");
///                 return Err(ChangeRefused { widget: "counter".into(), message });
///             }
///         }
///         Ok(())
///     }
///
///     fn render(&self, _view: &View<'_>) -> Option<Fragment> {
///         Some(Fragment { text: format!("## Counter\n\n{}", self.0), rest: None })
///     }
///
///     fn encode(&self) -> WidgetState {
///         WidgetState { version: 1, bytes: self.0.to_le_bytes().to_vec() }
///     }
///
///     fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
///         let bytes = <[u8; 8]>::try_from(&*state.bytes).ok().filter(|_| state.version == 1);
///         self.0 = bytes.map(u64::from_le_bytes).ok_or_else(|| StateUnreadable {
///             widget: "counter".into(),
///             version: state.version,
///         })?;
///         Ok(())
///     }
///
///     fn copy(&self) -> Box<dyn Widget> {
///         Box::new(self.clone())
///     }
/// }
///
/// let mut kept = Counter(41).copy();
/// kept.decode(&Counter(7).encode()).unwrap();
/// assert_eq!(kept.encode().bytes[0], 7);
/// ```
pub trait Widget: Send + Sync {
    /// Its name, in records and snapshots.
    fn name(&self) -> &str;

    /// What it is for, for people.
    fn description(&self) -> &str;

    /// Whose it is.
    fn scope(&self) -> Scope;

    /// Its tools, all of them at any time, handled as [recorded](crate::tool::Handling::Recorded).
    /// A tool that does not apply as things are is listed and refuses.
    fn tools(&self) -> Vec<ToolSpec>;

    /// What a call to one of its tools would change, and its result; nothing changes yet.
    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal>;

    /// Takes a change into its state. On an error nothing has changed.
    ///
    /// What it replied to a call in this very state is never refused.
    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused>;

    /// What it shows on the live screen, if anything.
    fn render(&self, view: &View<'_>) -> Option<Fragment>;

    /// Its state, for a snapshot.
    fn encode(&self) -> WidgetState;

    /// Replaces its state by one from a snapshot. On an error nothing has changed, and the state
    /// is made again from the changes.
    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable>;

    /// The same widget with the same state: to begin with, to fork, or to try a change on.
    fn copy(&self) -> Box<dyn Widget>;
}

/// Whose a widget is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each agent has its own.
    Agent,
    /// The agents of a conversation share one.
    Conversation,
}

/// A call to a widget's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments: JSON text that fits the tool's schema.
    pub arguments: &'a str,
    /// The call.
    pub call: CallId,
    /// The agent that called.
    pub by: AgentId,
    /// When it called.
    pub at: Timestamp,
}

/// What a call changes, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The changes, in the widget's own words, in order; none if the call only reads.
    pub changes: Vec<Arc<str>>,
    /// What the model reads, at three levels.
    pub result: Vec<Section>,
    /// Attachments of the conversation that it gives along.
    pub attachments: Vec<Attachment>,
    /// What was done, in numbers, kept beside the result.
    pub metadata: Metadata,
}

/// A call changes nothing: an answer that tells the model what to do instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// What the model reads, at three levels.
    pub result: Vec<Section>,
    /// What was tried, in numbers, kept beside the result.
    pub metadata: Metadata,
}

/// A change that is in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The change, in the widget's own words.
    pub text: &'a str,
    /// The entry that holds it.
    pub seq: Seq,
    /// The agent in whose thread it is.
    pub by: AgentId,
    /// When it was placed.
    pub at: Timestamp,
}

/// What a widget may know of the world around it when it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    /// The time of the entry that the screen is attached to: screens show it to the minute.
    pub at: Timestamp,
    /// The agent whose screen it is.
    pub agent: AgentId,
    /// The agents of the conversation, in the order of their ids.
    pub agents: &'a [AgentView<'a>],
    /// The timers that the agent has set, in the order of their numbers.
    pub timers: &'a [TimerView<'a>],
    /// How many inputs and final answers the transcript has.
    pub messages: u64,
    /// The most a fragment may take; what is beyond is cut.
    pub cap_bytes: usize,
}

/// What a widget may know of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentView<'a> {
    /// The agent.
    pub id: AgentId,
    /// What it is called.
    pub name: &'a str,
    /// Inputs, outputs and errors of its thread.
    pub interactions: u64,
}

/// What a widget may know of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerView<'a> {
    /// Its number: the entry that set it.
    pub number: Seq,
    /// When it fires next.
    pub when: Timestamp,
    /// How often it fires again, if it does.
    pub every_ms: Option<u64>,
    /// What the agent will be told then, as it was written.
    pub text: &'a str,
}

/// A widget's part of the live screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The text, heading included.
    pub text: String,
    /// How to read the rest if the text has to be cut, such as the name of a tool.
    pub rest: Option<Arc<str>>,
}

/// A widget's state, in its own form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidgetState {
    /// The version of the form.
    pub version: u32,
    /// The state.
    pub bytes: Vec<u8>,
}

/// A change cannot be applied: it is of a newer version, or it does not fit the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the widget {widget} cannot take this change: {message}")]
pub struct ChangeRefused {
    /// The widget.
    pub widget: Arc<str>,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

/// A state is of another version or damaged: make it again from the changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the widget {widget} cannot read a state of version {version}; make it from the changes")]
pub struct StateUnreadable {
    /// The widget.
    pub widget: Arc<str>,
    /// The version of the state.
    pub version: u32,
}
