//! The vendor's JSON: what a model is asked.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// A request. Its fields are written in this order, always.
#[derive(Serialize)]
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<&'a str>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
}

/// What one side says at a time.
#[derive(Default, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    pub(super) content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'a>>,
}

/// What is said.
#[derive(Default, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    /// Nothing but calls: `null`.
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// A part of what is said.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    Thinking { thinking: [Thought<'a>; 1] },
    ImageUrl { image_url: Image },
    InputAudio { input_audio: Audio },
    File { file: File<'a> },
}

/// A thought, as a part of its own kind.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thought<'a> {
    Text { text: &'a str },
}

/// An image, as a data URL.
#[derive(Serialize)]
pub(super) struct Image {
    pub(super) url: String,
}

/// A sound, in base64.
#[derive(Serialize)]
pub(super) struct Audio {
    pub(super) data: String,
    pub(super) format: &'static str,
}

/// Any other file, as a data URL.
#[derive(Serialize)]
pub(super) struct File<'a> {
    pub(super) filename: &'a str,
    pub(super) file_data: String,
}

/// A call that a model made.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) r#type: Function,
    pub(super) function: Called<'a>,
}

/// The only type of tools and calls that is ours.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Function {
    Function,
}

/// What was called.
#[derive(Serialize)]
pub(super) struct Called<'a> {
    pub(super) name: String,
    pub(super) arguments: Cow<'a, str>,
}

/// A tool that may be called.
#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) r#type: Function,
    pub(super) function: Spec<'a>,
}

/// What a tool is.
#[derive(Serialize)]
pub(super) struct Spec<'a> {
    pub(super) name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) parameters: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
}

/// Whether tools are called.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Word(&'static str),
    Only { r#type: Function, function: Named<'a> },
}

/// A tool's name.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) name: Cow<'a, str>,
}

/// How much a model should think, as routers are told.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reasoning {
    Effort(&'static str),
    MaxTokens(u32),
}

/// The form of the answer.
#[derive(Serialize)]
#[serde(tag = "type", content = "json_schema", rename_all = "snake_case")]
pub(super) enum ResponseFormat {
    JsonSchema {
        name: String,
        schema: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
}

/// What is streamed beside the answer.
#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}
