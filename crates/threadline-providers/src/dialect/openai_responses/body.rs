//! The JSON of a request, as it is written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// A request's body.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    pub(super) store: bool,
    pub(super) stream: bool,
    pub(super) stream_options: StreamOptions,
}

/// A tool. Whether it is strict is always said: what a service does if it is not, is its own
/// guess.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) parameters: Box<RawValue>,
    pub(super) strict: bool,
}

/// Whether tools are called.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    /// `none` or `required`.
    Mode(&'static str),
    /// This one.
    Only {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

/// How the answer is written.
#[derive(Debug, Serialize)]
pub(super) struct Text {
    pub(super) format: Format,
}

/// A schema that the answer is held to.
#[derive(Debug, Serialize)]
pub(super) struct Format {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) schema: Box<RawValue>,
    pub(super) strict: bool,
}

/// How much the model thinks, and whether it is told of it.
#[derive(Debug, Serialize)]
pub(super) struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'static str>,
}

/// How the answer is streamed.
#[derive(Debug, Serialize)]
pub(super) struct StreamOptions {
    /// Padding against those who listen in to lengths.
    pub(super) include_obfuscation: bool,
}

/// An item of the input.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    /// Something is said to the model, or was said by one.
    Message {
        #[serde(rename = "type")]
        kind: &'static str,
        role: &'static str,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    /// A model thought.
    Thought {
        #[serde(rename = "type")]
        kind: &'static str,
        summary: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a RawValue>,
    },
    /// A model called a tool.
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: String,
        name: String,
        arguments: Cow<'a, str>,
    },
    /// What came of a call.
    Result {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: String,
        output: Output<'a>,
    },
    /// What only the service understands.
    Foreign(BTreeMap<String, &'a RawValue>),
}

/// What came of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A text and media.
    Parts(Vec<Part<'a>>),
}

/// A part of what is said.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    /// Said to the model.
    InputText { text: Cow<'a, str> },
    /// Said by a model.
    OutputText { text: Cow<'a, str> },
    /// An image.
    InputImage { image_url: String, detail: &'static str },
    /// A document.
    InputFile { filename: Cow<'a, str>, file_data: String },
}
