//! A request becomes a body of `OpenAI`'s Responses.
//!
//! Nothing is kept on their side, so items go without their ids: an id would tie an item to
//! others that nobody has kept.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use threadline_core::history::fact::{Digest, Thinking};
use threadline_core::id::Seq;
use threadline_core::provider::{
    AnswerForm, Repair, Request, ThinkingSupport, ToolChoice, ToolSupport,
};
use threadline_core::tool::ToolSpec;

use super::body::{Body, Choice, Format, Item, Output, Part, Reasoning, StreamOptions, Text, Tool};
use super::wire;
use crate::carry::{
    Call, Carried, Media, ModelTurn, Piece, Result, Said, Turn, arguments_text, carry,
};
use crate::dialect::Encoded;
use crate::names::Names;
use crate::quirks::{Quirks, ToolChoiceSupport};
use crate::schema::held;

/// The least that an answer may be capped at.
const LEAST_OUTPUT_TOKENS: u32 = 16;

/// The highest temperature.
const MOST_THOUSANDTHS: u32 = 2_000;

/// The longest key that a cache goes by, and the longest name that a form has.
const KEY_CAP: usize = 64;

/// The body of a request.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> Encoded {
    let mut carried = carry(request, quirks);
    let mut repairs = std::mem::take(&mut carried.repairs);
    let turns = std::mem::take(&mut carried.turns);
    let mut input = Vec::new();
    for turn in turns {
        match turn {
            Turn::User(pieces) => input.push(message("user", pieces.into_iter().map(piece))),
            Turn::Model(turn) => model(turn, &mut input, &mut repairs),
            Turn::Results(results) => input.extend(results.into_iter().map(result)),
        }
    }
    let body = Body {
        model: &request.target.invocation.model,
        instructions: carried.system,
        tools: tools(request, &carried, &mut repairs),
        tool_choice: choice(request, &carried, quirks),
        parallel_tool_calls: parallel(request, &carried),
        input,
        text: form(request, &mut repairs),
        reasoning: reasoning(request, quirks),
        include: include(request),
        max_output_tokens: output_cap(request),
        temperature: temperature(request, quirks),
        prompt_cache_key: request.cache_key.as_deref().filter(|_| quirks.cache_key).map(cache_key),
        store: false,
        stream: true,
        stream_options: StreamOptions { include_obfuscation: false },
    };
    // A tree of texts, numbers and lists can always be written.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Encoded { body, headers: Vec::new(), names: carried.names, repairs }
}

fn message<'a>(role: &'static str, content: impl Iterator<Item = Part<'a>>) -> Item<'a> {
    Item::Message { kind: "message", role, content: content.collect(), phase: None }
}

fn piece(piece: Piece<'_>) -> Part<'_> {
    match piece {
        Piece::Text(text) => Part::InputText { text },
        Piece::Media(media) => attached(media),
        Piece::Screen(screen) => Part::InputText { text: Cow::Borrowed(screen) },
    }
}

fn attached(media: Media<'_>) -> Part<'_> {
    let Media { media_type, name, bytes } = media;
    let data = format!("data:{media_type};base64,{}", BASE64.encode(bytes));
    if media_type.starts_with("image/") {
        return Part::InputImage { image_url: data, detail: "auto" };
    }
    let name = name.filter(|name| !name.is_empty());
    let filename = name.map_or_else(|| unnamed(media_type).into(), Cow::Borrowed);
    Part::InputFile { filename, file_data: data }
}

/// A name for a file that has none: the service goes by how it ends.
fn unnamed(media_type: &str) -> String {
    let kind = media_type.rsplit(['/', '+']).next().unwrap_or_default();
    format!("file.{kind}")
}

/// What a model said, item by item, each after the thoughts that led to it: a thought that led to
/// nothing is left out. Calls come last, since some servers want their results right after them.
fn model<'a>(turn: ModelTurn<'a>, input: &mut Vec<Item<'a>>, repairs: &mut Vec<Repair>) {
    let ModelTurn { entry, blocks, .. } = turn;
    let (mut thoughts, mut calls) = (Vec::new(), Vec::new());
    for said in blocks {
        match said {
            Said::Thinking { state, .. } => thoughts.extend(state.and_then(thought)),
            Said::Text { text, state } => {
                if let Some(message) = spoken(text, state) {
                    input.append(&mut thoughts);
                    input.push(message);
                }
            }
            Said::Call(Call { id: call_id, name, arguments, .. }) => {
                calls.append(&mut thoughts);
                let arguments = arguments_text(arguments);
                calls.push(Item::Call { kind: "function_call", call_id, name, arguments });
            }
            Said::Foreign { kind, state } => {
                if let Some(done) = foreign(entry, kind, state, repairs) {
                    input.append(&mut thoughts);
                    input.push(done);
                }
            }
        }
    }
    input.append(&mut calls);
}

/// A thought as it goes back; none if there is nothing in it that the service could read.
fn thought(state: &str) -> Option<Item<'_>> {
    let item: wire::Item<'_> = serde_json::from_str(state).ok()?;
    let content = item.content.filter(|raw| list(raw).is_some_and(|length| length > 0));
    let encrypted = |raw: &&RawValue| raw.get().starts_with('"') && raw.get() != "\"\"";
    let encrypted_content = item.encrypted_content.filter(encrypted);
    let summary = item.summary.filter(|raw| list(raw).is_some())?;
    let readable = content.is_some() || encrypted_content.is_some();
    (readable && item.kind.is("reasoning")).then_some(Item::Thought {
        kind: "reasoning",
        summary,
        content,
        encrypted_content,
    })
}

/// The length of a list; none of anything else.
fn list(raw: &RawValue) -> Option<usize> {
    wire::read::<Vec<&RawValue>>(Some(raw)).map(|list| list.len())
}

fn spoken<'a>(text: Cow<'a, str>, state: Option<&str>) -> Option<Item<'a>> {
    if text.trim().is_empty() {
        return None;
    }
    let item = state.and_then(|state| serde_json::from_str::<wire::Item<'_>>(state).ok());
    let phase = item.and_then(|item| wire::read::<String>(item.phase));
    let phase = phase.filter(|phase| matches!(&**phase, "commentary" | "final_answer"));
    let content = vec![Part::OutputText { text }];
    Some(Item::Message { kind: "message", role: "assistant", content, phase })
}

/// What the service did itself. A search may be told again; what else it did is bound to what it
/// keeps, or to an answer that nobody gave.
fn foreign<'a>(
    entry: Seq,
    kind: &str,
    state: &'a str,
    repairs: &mut Vec<Repair>,
) -> Option<Item<'a>> {
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(state).ok();
    let mut members = members.filter(|members| {
        kind == "web_search_call"
            && members.get("type").is_some_and(|kind| kind.get() == "\"web_search_call\"")
    });
    if let Some(members) = &mut members {
        members.remove("id");
    } else {
        let what = format!("an item of the kind {kind} is not told again").into();
        repairs.push(Repair { entry: Some(entry), what });
    }
    members.map(Item::Foreign)
}

fn result(result: Result<'_>) -> Item<'_> {
    let Result { id, failed, text, media, .. } = result;
    let text = if failed { failure(text) } else { text };
    let output = if media.is_empty() {
        Output::Text(text)
    } else {
        let text = Some(text).filter(|text| !text.trim().is_empty());
        let text = text.map(|text| Part::InputText { text });
        Output::Parts(text.into_iter().chain(media.into_iter().map(attached)).collect())
    };
    Item::Result { kind: "function_call_output", call_id: id, output }
}

/// The protocol has no sign for what went wrong: the words have to say it.
fn failure(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.trim() {
        "" => Cow::Borrowed("ERROR: it failed and says nothing"),
        said if said.starts_with("ERROR:") => text,
        _ => Cow::Owned(format!("ERROR: {text}")),
    }
}

fn tools<'a>(
    request: &Request,
    carried: &'a Carried<'_>,
    repairs: &mut Vec<Repair>,
) -> Vec<Tool<'a>> {
    let may_hold = request.target.profile.strict_tools;
    let tool = |spec: &'a Arc<ToolSpec>| {
        let (fitted, strict) = held(&spec.schema, spec.strict && may_hold);
        repairs.extend(fitted.repairs(&spec.name));
        Tool {
            kind: "function",
            name: carried.names.to_wire(&spec.name),
            description: &spec.description,
            parameters: fitted.schema,
            strict,
        }
    };
    carried.tools.iter().map(tool).collect()
}

fn choice<'a>(
    request: &'a Request,
    carried: &'a Carried<'_>,
    quirks: &Quirks,
) -> Option<Choice<'a>> {
    if carried.tools.is_empty() {
        return None;
    }
    match (&request.choice, quirks.tool_choice) {
        (_, ToolChoiceSupport::Never) | (ToolChoice::Free, _) => None,
        (ToolChoice::Never, ToolChoiceSupport::NotForced | ToolChoiceSupport::Full) => {
            Some(Choice::Mode("none"))
        }
        (ToolChoice::Some | ToolChoice::Only(_), ToolChoiceSupport::NotForced) => None,
        (ToolChoice::Some, ToolChoiceSupport::Full) => Some(Choice::Mode("required")),
        (ToolChoice::Only(name), ToolChoiceSupport::Full) => only(name, request, &carried.names),
    }
}

/// The choice of one tool; none if the model is not shown it.
fn only<'a>(name: &'a str, request: &Request, names: &'a Names) -> Option<Choice<'a>> {
    let shown = request.catalogue.has(name);
    shown.then(|| Choice::Only { kind: "function", name: names.to_wire(name) })
}

fn parallel(request: &Request, carried: &Carried<'_>) -> Option<bool> {
    if carried.tools.is_empty() {
        return None;
    }
    match request.target.profile.tools {
        ToolSupport::None => None,
        ToolSupport::OneByOne => Some(false),
        ToolSupport::SideBySide => Some(true),
    }
}

fn form(request: &Request, repairs: &mut Vec<Repair>) -> Option<Text> {
    let AnswerForm::Json { name, schema } = &request.form else { return None };
    if !request.target.profile.json_answers {
        let what = "the model cannot be held to the form of its answer".into();
        repairs.push(Repair { entry: None, what });
        return None;
    }
    let (fitted, strict) = held(schema, true);
    let name = Names::new(slice::from_ref(name), KEY_CAP).to_wire(name).to_owned();
    let format = Format { kind: "json_schema", name, schema: fitted.schema, strict };
    Some(Text { format })
}

/// Reasoning comes back only if it is asked for; a model without any may refuse to be asked.
fn include(request: &Request) -> &'static [&'static str] {
    match request.target.profile.thinking {
        ThinkingSupport::Never => &[],
        ThinkingSupport::Always
        | ThinkingSupport::Effort { .. }
        | ThinkingSupport::Budget { .. } => &["reasoning.encrypted_content"],
    }
}

fn reasoning(request: &Request, quirks: &Quirks) -> Option<Reasoning> {
    let thinking = request.options.thinking;
    let effort = match request.target.profile.thinking {
        _ if !quirks.effort => return None,
        ThinkingSupport::Never => return None,
        ThinkingSupport::Always | ThinkingSupport::Budget { .. } => None,
        ThinkingSupport::Effort { can_be_off } => {
            thinking.and_then(|thinking| effort(thinking, can_be_off))
        }
    };
    let summary = (effort != Some("none")).then_some("auto");
    Some(Reasoning { effort, summary })
}

/// With how much effort it thinks; none to leave it to itself.
const fn effort(thinking: Thinking, can_be_off: bool) -> Option<&'static str> {
    match thinking {
        Thinking::Off if can_be_off => Some("none"),
        Thinking::Off | Thinking::Low => Some("low"),
        Thinking::Adaptive => None,
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
        Thinking::Budget { tokens: 0..=2_048 } => Some("low"),
        Thinking::Budget { tokens: 2_049..=16_384 } => Some("medium"),
        Thinking::Budget { .. } => Some("high"),
    }
}

fn output_cap(request: &Request) -> Option<u32> {
    let asked = request.options.max_output_tokens?;
    Some(asked.min(request.target.profile.output_cap_tokens).max(LEAST_OUTPUT_TOKENS))
}

fn temperature(request: &Request, quirks: &Quirks) -> Option<f64> {
    let takes = request.target.profile.temperature && !quirks.no_temperature;
    let thousandths = request.options.temperature_thousandths.filter(|_| takes)?;
    Some(f64::from(thousandths.min(MOST_THOUSANDTHS)) / 1000.0)
}

/// A key that fits; a longer one is told apart by its digest.
fn cache_key(key: &str) -> Cow<'_, str> {
    if key.len() <= KEY_CAP {
        return Cow::Borrowed(key);
    }
    let mut digest = Digest::of(key.as_bytes()).to_string();
    digest.truncate(KEY_CAP);
    Cow::Owned(digest)
}
