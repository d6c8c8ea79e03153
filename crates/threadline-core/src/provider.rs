//! The seam to models: a request for one target becomes a stream of deltas.
//!
//! A provider knows nothing of histories, retries or fallbacks. Those are decided around it, so
//! that every attempt is projected for its own target and on record.

mod assemble;
mod cost;
mod delta;
mod error;
mod models;
mod route;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use assemble::{ANSWER_CAP_BYTES, Assembled, Assembler, Broken, Partial, Progress};
pub use cost::cost;
pub use delta::{BlockIndex, BlockKind, Delta, DeltaStream, Prepared, Repair};
pub use error::ProviderError;
pub use models::{MediaSupport, Models, Price, Profile, Target, ThinkingSupport, ToolSupport};
pub use route::{Route, Strategy};
pub use usage::{CountedUsage, ExpectedUsage, USAGE_REFUSED_KEY};

use crate::context::Context;
use crate::history::fact::{CallOptions, Digest, Purpose};
use crate::id::{AgentId, ConversationId};
use crate::tool::Catalogue;

/// Asks models.
///
/// # Rules
///
/// - The stream keeps the order that [`Delta`] describes: [`Delta::Prepared`] first, before
///   anything is sent, and [`Delta::Finished`] last, or an error last. A stream that ends with
///   neither broke off.
/// - `Prepared` is made of the request alone, and waits for nothing: what led to the request is
///   recorded with it.
/// - Nothing happens until the stream is polled, and dropping it stops the invocation.
/// - One request is sent at most once: no retry, no fallback.
/// - Any context makes a valid request. What had to be mended for it is reported, never written
///   back.
///
/// # Example
///
/// A model that says a word and stops:
///
/// ```
/// use std::collections::VecDeque;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// use futures_core::Stream;
/// use threadline_core::history::fact::{Digest, Stop};
/// use threadline_core::history::metadata::Metadata;
/// use threadline_core::provider::{
///     BlockIndex, BlockKind, Delta, DeltaStream, Prepared, Provider, ProviderError, Request,
/// };
///
/// struct Hello;
///
/// impl Provider for Hello {
///     fn invoke(&self, request: Request) -> DeltaStream {
///         let asked = request.context.system.text.as_bytes();
///         let prepared = Prepared {
///             body_digest: Digest::of(asked),
///             encoder_version: 1,
///             repairs: Vec::new(),
///         };
///         let block = BlockIndex(0);
///         Box::pin(Script(VecDeque::from([
///             Delta::Prepared(prepared),
///             Delta::Started(Metadata::new()),
///             Delta::Begin { block, kind: BlockKind::Text },
///             Delta::Fragment { block, text: "hello".into() },
///             Delta::End { block },
///             Delta::Finished { stop: Stop::Done, metadata: Metadata::new() },
///         ])))
///     }
/// }
///
/// struct Script(VecDeque<Delta>);
///
/// impl Stream for Script {
///     type Item = Result<Delta, ProviderError>;
///
///     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
///         Poll::Ready(self.0.pop_front().map(Ok))
///     }
/// }
///
/// let provider: Box<dyn Provider> = Box::new(Hello);
/// ```
pub trait Provider: Send + Sync {
    /// Asks one model once.
    fn invoke(&self, request: Request) -> DeltaStream;
}

/// What one model is asked, once.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which model, asked how.
    pub target: Arc<Target>,
    /// What for: a model of ours may answer by it, and logs name it.
    pub purpose: Purpose,
    /// What it sees.
    pub context: Arc<Context>,
    /// The bytes of the attachments in the context that the target can take. What is not here is
    /// shown by its name and size.
    pub media: BTreeMap<Digest, Arc<[u8]>>,
    /// The tools it is shown.
    pub catalogue: Arc<Catalogue>,
    /// Whether it may, must or must not call them.
    pub choice: ToolChoice,
    /// In which form it should answer.
    pub form: AnswerForm,
    /// What else is asked of it.
    pub options: CallOptions,
    /// Requests that share a prefix share this key, if the provider's cache goes by one.
    pub cache_key: Option<Arc<str>>,
}

impl Request {
    /// A request for an agent's next step.
    pub fn step(
        target: Arc<Target>,
        (conversation, agent): (ConversationId, AgentId),
        context: Arc<Context>,
        catalogue: Arc<Catalogue>,
        options: CallOptions,
    ) -> Self {
        Self {
            target,
            purpose: Purpose::Step,
            context,
            media: BTreeMap::new(),
            catalogue,
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options,
            cache_key: Some(format!("{conversation}/{agent}").into()),
        }
    }

    /// A request for a recap, which shares its prefix with no other.
    pub fn recap(target: Arc<Target>, context: Arc<Context>, options: CallOptions) -> Self {
        Self {
            target,
            purpose: Purpose::Recap,
            context,
            media: BTreeMap::new(),
            catalogue: Arc::default(),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options,
            cache_key: None,
        }
    }
}

/// Whether a model may call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Free,
    /// It must not.
    Never,
    /// It must call one or more.
    Some,
    /// It must call this one.
    Only(Arc<str>),
}

/// In which form a model should answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// In plain text.
    #[default]
    Text,
    /// In JSON that fits a schema.
    Json {
        /// The form's name, which some providers want.
        name: Arc<str>,
        /// The JSON schema, as raw text.
        schema: Arc<str>,
    },
}
