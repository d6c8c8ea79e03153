//! Quirks: the peculiarities of a model's wire, as data.
//!
//! What choosing and planning go by is in the model's profile. What only its encoder and decoder
//! have to know is here, so that a new server is a row of data and not a new dialect.

use serde::{Deserialize, Serialize};

/// The peculiarities of a model's wire. Each dialect looks at those that concern it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a line that a person may override")]
pub struct Quirks {
    /// Chat: the role of the system message.
    pub system_role: SystemRole,
    /// Chat: the field that caps the answer.
    pub max_tokens_field: MaxTokensField,
    /// Chat: in which field thinking goes back to its origin.
    pub thinking_back: ThinkingBack,
    /// Chat: whether an assistant message with calls must say what was thought, even if that is
    /// nothing.
    pub thinking_back_required: bool,
    /// Chat: how the model is told how much to think.
    pub effort_field: EffortField,
    /// Chat: whether function tools are refused unless the effort is `none`.
    pub tools_need_no_effort: bool,
    /// Chat: whether `parallel_tool_calls` is sent.
    pub parallel_flag: bool,
    /// Chat: whether `tool_choice` is sent at all; and if so, whether a call can be forced.
    pub tool_choice: ToolChoiceSupport,
    /// Chat: whether usage has to be asked for with `stream_options`.
    pub stream_options: bool,
    /// Chat: whether a user message may follow a tool message.
    pub user_after_tool: bool,
    /// Chat: whether the content of a user message may be a list of parts where one text would do.
    pub content_parts: bool,
    /// Chat and Responses: whether `strict` is sent with a tool's schema.
    pub strict_field: bool,
    /// Chat and Responses: whether `prompt_cache_key` is sent.
    pub cache_key: bool,
    /// Which ids calls may have.
    pub ids: IdRule,
    /// The longest name that a tool may have.
    pub name_cap: usize,
    /// Anthropic: the API version that is named.
    pub anthropic_version: AnthropicVersion,
    /// Anthropic: whether thinking holds only while everything before it is unchanged.
    pub preserved_thinking: bool,
    /// Anthropic: whether thinking has to be asked to be shown.
    pub thinking_display: bool,
    /// Anthropic: whether cache marks are sent.
    pub cache_marks: bool,
    /// Anthropic: whether a call can be forced while the model thinks.
    pub forced_choice_with_thinking: bool,
    /// Anthropic and Responses: whether an effort is sent.
    pub effort: bool,
    /// Gemini: whether calls of the current turn need a signature.
    pub signatures_required: bool,
    /// Gemini: whether a result may carry media in parts of its own.
    pub result_parts: bool,
    /// Gemini: whether thinking is told by level instead of by budget.
    pub thinking_level: bool,
    /// Gemini: whether a tool's schema goes as JSON Schema instead of the OpenAPI subset.
    pub json_schema: bool,
    /// Whether a temperature is refused, whatever the profile says of the model as such.
    pub no_temperature: bool,
    /// Whether the server ends a connection after a stream although it said that it keeps it: then
    /// none is kept.
    pub ends_connections: bool,
}

impl Default for Quirks {
    /// What is safest with a server that nobody has described: the oldest and plainest form.
    fn default() -> Self {
        Self {
            system_role: SystemRole::System,
            max_tokens_field: MaxTokensField::MaxTokens,
            thinking_back: ThinkingBack::Nowhere,
            thinking_back_required: false,
            effort_field: EffortField::None,
            tools_need_no_effort: false,
            parallel_flag: false,
            tool_choice: ToolChoiceSupport::Full,
            stream_options: true,
            user_after_tool: true,
            content_parts: false,
            strict_field: false,
            cache_key: false,
            ids: IdRule::Usual,
            name_cap: 64,
            anthropic_version: AnthropicVersion::V2023,
            preserved_thinking: false,
            thinking_display: false,
            cache_marks: true,
            forced_choice_with_thinking: false,
            effort: false,
            signatures_required: false,
            result_parts: false,
            thinking_level: false,
            json_schema: true,
            no_temperature: false,
            ends_connections: false,
        }
    }
}

/// The role of a chat's system message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// `system`: every server but some models of OpenAI.
    #[default]
    System,
    /// `developer`.
    Developer,
}

/// The field that caps a chat's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// In which form thinking goes back to its origin in a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBack {
    /// It does not.
    #[default]
    Nowhere,
    /// As the text of `reasoning_content`.
    ReasoningContent,
    /// As the text of `reasoning`.
    Reasoning,
    /// As the list `reasoning_details`, unchanged.
    ReasoningDetails,
    /// As a part of the content, of type `thinking`.
    ContentPart,
}

/// How a chat model is told how much to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortField {
    /// It is not.
    #[default]
    None,
    /// By `reasoning_effort`.
    ReasoningEffort,
    /// By the object `reasoning`.
    Reasoning,
}

/// Whether a model can be told to call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoiceSupport {
    /// The field is not sent: it is ignored or refused.
    Never,
    /// It may be told to call none, but not to call some.
    NotForced,
    /// It can be told either way.
    #[default]
    Full,
}

/// Which ids calls may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdRule {
    /// At most 40 letters, digits, `_` and `-`: taken by all but one.
    #[default]
    Usual,
    /// Exactly nine letters and digits.
    NineAlphanumeric,
}

/// The version of Anthropic's API that is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnthropicVersion {
    /// The one that everything compatible understands.
    #[default]
    #[serde(rename = "2023-06-01")]
    V2023,
    /// The one of October 2026.
    #[serde(rename = "2026-10-21")]
    V2026,
}

impl AnthropicVersion {
    /// What the header says.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2023 => "2023-06-01",
            Self::V2026 => "2026-10-21",
        }
    }
}
