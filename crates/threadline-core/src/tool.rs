//! The seam to tools: what can be called, what a call gets to see, and what comes of it.
//!
//! Before a tool runs, its arguments have been mended and checked, its call has been allowed, and
//! its start is durable. What it answers becomes a fact; how long it may take and how much it may
//! say is enforced around it.

mod arguments;
mod cancel;
mod cap;
mod change;
mod kept;
mod outcome;
mod spec;

use std::sync::Arc;

use async_trait::async_trait;

pub use arguments::{
    ArgumentsRefused, PROBLEMS_CAP, Problem, Schema, SchemaRefused, Validated, repair_json,
};
pub use cancel::{Cancel, Cancelled};
pub use cap::{Capped, WHOLE_CAP_BYTES, capped};
pub use change::{Content, FileChange, FileLog, NotRecorded, RecordChange};
pub use outcome::{Product, ToolOutcome, ToolResult};
pub use spec::{Catalogue, Handling, NameTaken, RunRules, ToolSpec};

use crate::clock::Timestamp;
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::id::{AgentId, CallId, ConversationId, Seq};
use crate::store::{Direction, StoreError};

/// Something an agent can have done.
///
/// # Rules
///
/// - Dropping a call stops it, after its [`Cancel`] was given and a moment has passed.
/// - A tool with an effect hands its effect key on to the outside world where it can, and tells
///   what it does not know as [`ToolOutcome::NoAnswer`].
///
/// # Example
///
/// ```
/// use async_trait::async_trait;
/// use threadline_core::history::fact::{Effect, Verdict};
/// use threadline_core::tool::{
///     Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
/// };
///
/// struct Upper(ToolSpec);
///
/// impl Upper {
///     fn new() -> Self {
///         Self(ToolSpec {
///             name: "upper".into(),
///             description: "writes a text in capitals".into(),
///             schema: r#"{"type":"object","properties":{"text":{"type":"string"}},
///                 "required":["text"]}"#
///                 .into(),
///             strict: false,
///             server: None,
///             verdict: Verdict::Allow,
///             handling: Handling::Run(RunRules::usual(Effect::Read)),
///         })
///     }
/// }
///
/// #[async_trait]
/// impl Tool for Upper {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     async fn call(&self, arguments: &str, _context: &ToolContext) -> ToolOutcome {
///         match serde_json::from_str::<serde_json::Value>(arguments) {
///             Ok(arguments) => {
///                 let text = arguments["text"].as_str().unwrap_or_default();
///                 ToolOutcome::Success(ToolResult::text(text.to_uppercase()))
///             }
///             Err(error) => ToolOutcome::Failed(ToolResult::text(error.to_string())),
///         }
///     }
/// }
///
/// let tool: Box<dyn Tool> = Box::new(Upper::new());
/// assert_eq!(&*tool.spec().name, "upper");
/// ```
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is. The same at every call: a catalogue is frozen for a turn.
    fn spec(&self) -> &ToolSpec;

    /// Runs a call. The arguments are JSON text that fits the schema.
    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome;

    /// Finds out what became of a call that was started and gave no answer, without running it
    /// again. The context is that of the call, its effect key included.
    ///
    /// None, as by default, says that there is no way to know.
    async fn reconcile(&self, _arguments: &str, _context: &ToolContext) -> Option<ToolOutcome> {
        None
    }
}

/// What a call gets to see.
#[derive(Clone)]
pub struct ToolContext {
    /// The conversation.
    pub conversation: ConversationId,
    /// The agent that called.
    pub agent: AgentId,
    /// The call.
    pub call: CallId,
    /// How often it has been started, this time included.
    pub attempt: u32,
    /// The key under which the outside world can know this effect again: the same at every
    /// attempt, and never that of another call.
    pub effect_key: Arc<str>,
    /// When it was started.
    pub at: Timestamp,
    /// The thread of the agent that called.
    pub thread: Arc<dyn ThreadReader>,
    /// Whether it should stop.
    pub cancel: Cancel,
    /// Where it can tell how far it is.
    pub progress: Arc<dyn Progress>,
    /// Where it records changes of files before it makes them.
    pub files: FileLog,
}

/// Reads one agent's own thread, along its path, up to the call that asks: nothing of other
/// agents, nothing that was rewound.
///
/// # Example
///
/// A tool that gives the newest entries back, newest first:
///
/// ```
/// use threadline_core::history::entry::Entry;
/// use threadline_core::store::{Direction, StoreError};
/// use threadline_core::tool::ToolContext;
///
/// async fn newest(context: &ToolContext) -> Result<Vec<Entry>, StoreError> {
///     context.thread.page(context.call.output, Direction::Backward, 10).await
/// }
/// ```
#[async_trait]
pub trait ThreadReader: Send + Sync {
    /// The entry at a place; none if there is none on this thread's path.
    async fn entry(&self, seq: Seq) -> Result<Option<Entry>, StoreError>;

    /// Up to `most` entries from a place on, itself included if it is on the path. A page may be
    /// shorter than asked for; only an empty one is the end.
    async fn page(
        &self,
        from: Seq,
        direction: Direction,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Up to `most` entries that have all the words, those in quotation marks next to each
    /// other, newest first, and only before `before` if it is given.
    async fn search(
        &self,
        text: &str,
        before: Option<Seq>,
        most: usize,
    ) -> Result<Vec<Seq>, StoreError>;

    /// Returns up to `most` bytes of an attachment that an entry names, from an offset; none if the
    /// thread has no such entry or the entry does not name it.
    async fn attachment(
        &self,
        of: Seq,
        digest: Digest,
        offset: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Where a call tells how far it is.
///
/// # Example
///
/// ```
/// use std::sync::Mutex;
///
/// use threadline_core::tool::{Progress, ProgressReport};
///
/// #[derive(Default)]
/// struct Last(Mutex<Option<ProgressReport>>);
///
/// impl Progress for Last {
///     fn report(&self, report: ProgressReport) {
///         *self.0.lock().unwrap() = Some(report);
///     }
/// }
///
/// let last = Last::default();
/// last.report(ProgressReport { text: "page 2".into(), done: Some(2), of: Some(9) });
/// assert_eq!(last.0.lock().unwrap().as_ref().unwrap().done, Some(2));
/// ```
pub trait Progress: Send + Sync {
    /// Tells watchers how far a call is. It is not recorded, may be dropped, and never waits.
    fn report(&self, report: ProgressReport);
}

/// How far a call is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressReport {
    /// What it is doing, in a few words.
    pub text: Arc<str>,
    /// How much of it is done, in any unit.
    pub done: Option<u64>,
    /// How much there is to do, in the same unit.
    pub of: Option<u64>,
}
