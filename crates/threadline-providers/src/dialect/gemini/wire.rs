//! Gemini's JSON: what is read of an answer, and what a request says.

use std::borrow::Cow;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::reported;

/// A text, borrowed where it has no escapes.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// One event: a piece of the whole answer. Its parts are read, or kept whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(super) struct Chunk<'a, P> {
    #[serde(default = "none")]
    pub(super) candidates: Option<Vec<Candidate<'a, P>>>,
    pub(super) usage_metadata: Option<UsageMetadata>,
    #[serde(borrow)]
    pub(super) model_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

const fn none<T>() -> Option<T> {
    None
}

/// One of the answers that were asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(super) struct Candidate<'a, P> {
    pub(super) index: Option<u32>,
    #[serde(default = "none")]
    pub(super) content: Option<Content<P>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) finish_message: Option<Text<'a>>,
}

impl<P> Candidate<'_, P> {
    /// Whether it is the first, which is the only one that is asked for.
    pub(super) fn is_first(&self) -> bool {
        self.index.unwrap_or(0) == 0
    }
}

/// What was said.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub(super) struct Content<P> {
    #[serde(default = "none")]
    pub(super) parts: Option<Vec<P>>,
}

/// A part of what was said, as far as it is understood.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

impl Part<'_> {
    /// Whether there may be something in it that is not understood.
    pub(super) const fn is_foreign(&self) -> bool {
        self.text.is_none() && self.function_call.is_none()
    }
}

/// A call, whole or a piece of one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArg<'a>>>,
    pub(super) will_continue: Option<bool>,
}

/// A piece of one argument.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow)]
    pub(super) json_path: Text<'a>,
    #[serde(borrow)]
    pub(super) string_value: Option<Text<'a>>,
    pub(super) number_value: Option<serde_json::Number>,
    pub(super) bool_value: Option<bool>,
}

/// What others can read of a part that is kept whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Readable<'a> {
    #[serde(borrow)]
    pub(super) executable_code: Option<Code<'a>>,
    #[serde(borrow)]
    pub(super) code_execution_result: Option<CodeOutput<'a>>,
}

/// Code that the model had run at the provider's.
#[derive(Debug, Deserialize)]
pub(super) struct Code<'a> {
    #[serde(borrow)]
    pub(super) code: Option<Text<'a>>,
}

/// What came of it.
#[derive(Debug, Deserialize)]
pub(super) struct CodeOutput<'a> {
    #[serde(borrow)]
    pub(super) output: Option<Text<'a>>,
}

/// What became of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Text<'a>>,
}

/// What was taken so far. What is not told here may have been told before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct UsageMetadata {
    #[serde(rename = "promptTokenCount", default, deserialize_with = "reported")]
    pub(super) prompt: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount", default, deserialize_with = "reported")]
    pub(super) tool_use_prompt: Option<u64>,
    #[serde(rename = "candidatesTokenCount", default, deserialize_with = "reported")]
    pub(super) candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount", default, deserialize_with = "reported")]
    pub(super) thoughts: Option<u64>,
    #[serde(rename = "cachedContentTokenCount", default, deserialize_with = "reported")]
    pub(super) cached_content: Option<u64>,
}

/// A request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Instruction<'a>>,
    pub(super) contents: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    pub(super) generation_config: GenerationConfig,
}

/// The system message.
#[derive(Debug, Serialize)]
pub(super) struct Instruction<'a> {
    pub(super) parts: [SentPart<'a>; 1],
}

/// What one side said.
#[derive(Debug, Serialize)]
pub(super) struct Said<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<SentPart<'a>>,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

/// A part of what is sent: one of ours, or one of the provider's own, unchanged.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum SentPart<'a> {
    #[serde(rename_all = "camelCase")]
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Media {
        inline_data: InlineData<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: SentCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: FunctionResponse<'a>,
    },
    Foreign(&'a RawValue),
}

/// Bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InlineData<'a> {
    pub(super) mime_type: &'a str,
    #[serde(serialize_with = "base64")]
    pub(super) data: &'a [u8],
}

fn base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Base64Display::new(bytes, &STANDARD))
}

/// A call as it is sent back.
#[derive(Debug, Serialize)]
pub(super) struct SentCall<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: Cow<'a, RawValue>,
}

/// The result of a call.
#[derive(Debug, Serialize)]
pub(super) struct FunctionResponse<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<SentPart<'a>>,
}

/// What came of a call: an object, as the protocol wants it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Response<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// Tools of one kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tools<'a> {
    pub(super) function_declarations: Vec<Declaration<'a>>,
}

/// A tool of ours.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    pub(super) name: String,
    pub(super) description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters_json_schema: Option<Box<RawValue>>,
}

/// Whether tools may be called.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig<'a> {
    pub(super) function_calling_config: FunctionCalling<'a>,
}

/// Whether functions may be called, and which.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCalling<'a> {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed_function_names: Vec<&'a str>,
}

/// How the answer is made.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_schema: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_json_schema: Option<Box<RawValue>>,
}

impl GenerationConfig {
    /// Whether it says nothing.
    const fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none()
            && self.temperature.is_none()
            && self.thinking_config.is_none()
            && self.response_mime_type.is_none()
    }
}

/// How much the model thinks, by level or by budget and never by both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) include_thoughts: bool,
}
