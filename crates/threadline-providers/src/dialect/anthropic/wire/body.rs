//! Anthropic's JSON: the body of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The body of a request, in the order in which it is written.
#[derive(Debug, Serialize)]
pub(in super::super) struct Body<'a> {
    pub(in super::super) model: &'a str,
    pub(in super::super) max_tokens: u32,
    pub(in super::super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) system: Vec<Block<'a>>,
    pub(in super::super) messages: Vec<Message<'a>>,
}

/// One message.
#[derive(Debug, Serialize)]
pub(in super::super) struct Message<'a> {
    pub(in super::super) role: Role,
    pub(in super::super) content: Vec<Block<'a>>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Role {
    User,
    Assistant,
}

/// A block of a message, of a result or of the system message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        /// Whether it is a live screen, which later requests may not have.
        #[serde(skip)]
        screen: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Thinking {
        thinking: &'a str,
        signature: Cow<'a, str>,
    },
    RedactedThinking {
        data: Cow<'a, str>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Cow<'a, RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<ResultContent<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    /// A block as it was received.
    #[serde(untagged)]
    Whole(&'a RawValue),
}

/// What came of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in super::super) enum ResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// The bytes of an image or a document.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum Source<'a> {
    Base64 { media_type: &'a str, data: String },
    Text { media_type: &'static str, data: &'a str },
}

/// Up to here, a request may be read from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum Mark {
    Ephemeral,
}

/// A tool that the model is shown.
#[derive(Debug, Serialize)]
pub(in super::super) struct Tool<'a> {
    pub(in super::super) name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(in super::super) description: &'a str,
    pub(in super::super) input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) cache_control: Option<Mark>,
}

/// Whether a tool may or must be called.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(in super::super) struct Choice {
    #[serde(rename = "type")]
    pub(in super::super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) disable_parallel_tool_use: bool,
}

/// Whether and how much the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum ThinkingConfig {
    Enabled {
        budget_tokens: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
    },
    Disabled,
}

/// How thinking is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Display {
    Summarized,
}

/// With how much effort and in which form the model answers.
#[derive(Debug, Default, Serialize)]
pub(in super::super) struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) format: Option<Format<'a>>,
}

/// The form of an answer.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum Format<'a> {
    JsonSchema { schema: Cow<'a, RawValue> },
}

impl<'a> Block<'a> {
    /// A text that stays.
    pub(in super::super) const fn text(text: Cow<'a, str>) -> Self {
        Self::Text { text, screen: false, cache_control: None }
    }

    /// Where a mark may be put: not on a screen, on thinking or on what is sent as it came.
    pub(in super::super) fn mark(&mut self) -> Option<&mut Option<Mark>> {
        match self {
            Self::Text { screen: true, .. }
            | Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::Whole(_) => None,
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::Document { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => Some(cache_control),
        }
    }

    /// Whether it is a live screen.
    pub(in super::super) const fn is_screen(&self) -> bool {
        matches!(self, Self::Text { screen: true, .. })
    }

    /// Whether it is a thought.
    pub(in super::super) const fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    /// Whether it is a call.
    pub(in super::super) const fn is_call(&self) -> bool {
        matches!(self, Self::ToolUse { .. })
    }

    /// Whether it is a result.
    pub(in super::super) const fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }
}
