//! Models: which ones there are, where, and what each can do.

use std::sync::Arc;

use super::Route;
use crate::history::fact::{Invocation, Money};

/// Lists the models that can be asked.
///
/// The list is at hand: whoever fills it from configuration or from a server does so beforehand.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use threadline_core::history::fact::Invocation;
/// use threadline_core::provider::{Models, Profile, Target};
///
/// struct Fixed(Vec<Arc<Target>>);
///
/// impl Models for Fixed {
///     fn targets(&self) -> Vec<Arc<Target>> {
///         self.0.clone()
///     }
/// }
///
/// let local = Target {
///     name: "local".into(),
///     invocation: Invocation {
///         provider: "ollama".into(),
///         endpoint: "localhost".into(),
///         account: None,
///         dialect: "openai-chat".into(),
///         model: "qwen3".into(),
///     },
///     profile: Profile { window_tokens: 32_768, ..Profile::unknown() },
///     unusable: None,
/// };
/// let models = Fixed(vec![Arc::new(local)]);
/// assert_eq!(models.targets().len(), 1);
/// ```
pub trait Models: Send + Sync {
    /// All targets, usable or not, in the order in which people should see them.
    fn targets(&self) -> Vec<Arc<Target>>;

    /// The named choices among them.
    fn routes(&self) -> Vec<Arc<Route>> {
        Vec::new()
    }
}

/// A model that can be chosen: how it is asked, and what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What routes and people call it.
    pub name: Arc<str>,
    /// How it is asked.
    pub invocation: Invocation,
    /// What it can do.
    pub profile: Profile,
    /// Why it cannot be asked as things are, such as a missing key; none if it can.
    pub unusable: Option<Arc<str>>,
}

/// What a model can do: all that choosing, planning and reckoning costs go by.
///
/// The peculiarities of its wire are not here: they are the business of its dialect, which looks
/// them up by the invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What request and answer may take together.
    pub window_tokens: u64,
    /// The most it answers.
    pub output_cap_tokens: u32,
    /// The token counter that comes nearest to its own.
    pub counter: Arc<str>,
    /// Its tokens for 100 of ours, in steps of 5.
    pub factor_percent: u32,
    /// The media it takes; a type that is not here is shown by name and size.
    pub media: Vec<MediaSupport>,
    /// Whether it calls tools.
    pub tools: ToolSupport,
    /// Whether it can be held to a tool's schema.
    pub strict_tools: bool,
    /// Whether it thinks, and how it is told to.
    pub thinking: ThinkingSupport,
    /// Whether it can be held to a schema for its answer.
    pub json_answers: bool,
    /// Whether it takes a temperature.
    pub temperature: bool,
    /// Its prices, by rising size of the request; none if they are unknown.
    pub prices: Vec<Price>,
}

impl Profile {
    /// What is safe to assume of a model that nobody has described.
    pub fn unknown() -> Self {
        Self {
            window_tokens: 8_192,
            output_cap_tokens: 2_048,
            counter: "o200k".into(),
            factor_percent: 120,
            media: Vec::new(),
            tools: ToolSupport::OneByOne,
            strict_tools: false,
            thinking: ThinkingSupport::Never,
            json_answers: false,
            temperature: false,
            prices: Vec::new(),
        }
    }
}

/// A type of media that a model takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSupport {
    /// The media type, such as `image/png`.
    pub media_type: Arc<str>,
    /// The most bytes of one.
    pub cap_bytes: u64,
    /// The most tokens that one takes: what a budget reckons with.
    pub tokens: u32,
    /// Whether it may stand in a tool's result; if not, it follows in an input.
    pub in_results: bool,
}

/// Whether a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSupport {
    /// It does not.
    None,
    /// It makes one call in an output.
    OneByOne,
    /// It makes several calls in an output.
    SideBySide,
}

/// Whether a model thinks, and how it is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingSupport {
    /// It does not.
    Never,
    /// It always does, and cannot be told how much.
    Always,
    /// It is told with how much effort, or left to itself.
    Effort {
        /// Whether it can be told not to.
        can_be_off: bool,
    },
    /// It is told how many tokens it may take.
    Budget {
        /// The least it can be given.
        least_tokens: u32,
        /// The most it can be given.
        most_tokens: u32,
    },
}

/// What a model costs, for a million tokens each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// For requests of at least so many tokens.
    pub from_input_tokens: u64,
    /// A million prompt tokens.
    pub input: Money,
    /// A million generated tokens.
    pub output: Money,
    /// A million prompt tokens read from a cache, if that has a price of its own.
    pub cached_input: Option<Money>,
    /// A million prompt tokens written to a cache, if that has a price of its own.
    pub cache_write: Option<Money>,
}
