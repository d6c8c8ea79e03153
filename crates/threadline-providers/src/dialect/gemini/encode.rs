//! Makes Gemini's requests.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::provider::{AnswerForm, Repair, Request, ToolChoice};
use threadline_core::tool::ToolSpec;

use super::thinking;
use super::wire::{
    Body, Declaration, FunctionCalling, FunctionResponse, GenerationConfig, InlineData,
    Instruction, Response, Role, Said, SentCall, SentPart, ToolConfig, Tools,
};
use crate::carry::{self, Call, Carried, Media, ModelTurn, Piece, Turn, carry};
use crate::dialect::Encoded;
use crate::names::Names;
use crate::quirks::Quirks;
use crate::schema;

/// The version of this encoder: it grows when the same request becomes other bytes.
pub(crate) const ENCODER_VERSION: u32 = 2;

/// Stands for the signature of a call that the model that is asked did not make.
const DUMMY_SIGNATURE: &str = "skip_thought_signature_validator";

/// The longest name that an argument may have.
const PARAMETER_NAME_CAP_BYTES: usize = 64;
/// The highest temperature that is taken.
const TEMPERATURE_CAP_THOUSANDTHS: u32 = 2_000;

/// Makes the body of a request.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> Encoded {
    let carried = carry(request, quirks);
    let Carried { system, turns, tools, names, mut repairs, .. } = carried;
    let instruction = (!system.is_empty()).then(|| Instruction { parts: [said(system)] });
    let body = Body {
        system_instruction: instruction,
        contents: contents(turns, quirks, &mut repairs),
        tools: declarations(tools, &names, quirks, &mut repairs).into_iter().collect(),
        tool_config: tool_config(&request.choice, tools, &names, &mut repairs),
        generation_config: generation_config(request, quirks, &mut repairs),
    };
    // The body is made of texts, numbers and lists, which can always be written.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Encoded { body, headers: Vec::new(), names, repairs }
}

fn contents<'a>(turns: Vec<Turn<'a>>, quirks: &Quirks, repairs: &mut Vec<Repair>) -> Vec<Said<'a>> {
    let mut contents = Vec::new();
    for turn in turns {
        match turn {
            Turn::User(pieces) => tell(&mut contents, pieces.into_iter().map(piece).collect()),
            Turn::Model(turn) => {
                let parts = model_parts(turn, quirks, repairs);
                if !parts.is_empty() {
                    contents.push(Said { role: Role::Model, parts });
                }
            }
            Turn::Results(results) => {
                let (parts, after) = results_of(results, quirks);
                contents.push(Said { role: Role::User, parts });
                tell(&mut contents, after);
            }
        }
    }
    contents
}

/// Tells the model something. Results stand alone; what else is said to it in a row is one content.
fn tell<'a>(contents: &mut Vec<Said<'a>>, parts: Vec<SentPart<'a>>) {
    let is_result = |part: &SentPart<'_>| matches!(part, SentPart::Result { .. });
    match contents.last_mut() {
        _ if parts.is_empty() => {}
        Some(Said { role: Role::User, parts: before }) if !before.iter().any(is_result) => {
            before.extend(parts);
        }
        Some(_) | None => contents.push(Said { role: Role::User, parts }),
    }
}

fn piece(piece: Piece<'_>) -> SentPart<'_> {
    match piece {
        Piece::Text(text) => SentPart::Text { text, thought_signature: None },
        Piece::Screen(text) => said(text),
        Piece::Media(bytes) => media(bytes),
    }
}

fn said(text: &str) -> SentPart<'_> {
    SentPart::Text { text: Cow::Borrowed(text), thought_signature: None }
}

const fn media(media: Media<'_>) -> SentPart<'_> {
    let inline_data = InlineData { mime_type: media.media_type, data: media.bytes };
    SentPart::Media { inline_data }
}

/// What a model said, without its thoughts: only their signatures have to go back, on the parts
/// that they came with.
fn model_parts<'a>(
    turn: ModelTurn<'a>,
    quirks: &Quirks,
    repairs: &mut Vec<Repair>,
) -> Vec<SentPart<'a>> {
    let mut needs_signature = quirks.signatures_required && turn.current;
    let mut parts = Vec::new();
    for block in turn.blocks {
        match block {
            carry::Said::Thinking { .. } => {}
            carry::Said::Text { text, state } => {
                let thought_signature = state.filter(|state| !state.is_empty());
                if thought_signature.is_some() || !text.trim().is_empty() {
                    parts.push(SentPart::Text { text, thought_signature });
                }
            }
            carry::Said::Call(call) => {
                let dummy = std::mem::take(&mut needs_signature).then_some(DUMMY_SIGNATURE);
                parts.push(sent_call(call, dummy));
            }
            carry::Said::Foreign { state, .. } => match serde_json::from_str::<&RawValue>(state) {
                Ok(whole) if whole.get().starts_with('{') => parts.push(SentPart::Foreign(whole)),
                Ok(_) | Err(_) => repairs.push(Repair {
                    entry: Some(turn.entry),
                    what: "a part that cannot be read is left out".into(),
                }),
            },
        }
    }
    parts
}

fn sent_call<'a>(call: Call<'a>, dummy: Option<&'static str>) -> SentPart<'a> {
    let Call { id, name, arguments: args, state } = call;
    let function_call = SentCall { id, name, args };
    let thought_signature = state.filter(|state| !state.is_empty()).or(dummy);
    SentPart::Call { function_call, thought_signature }
}

/// The results of a model's calls, as many as there were calls; and the media that may not stand
/// in them.
fn results_of<'a>(
    results: Vec<carry::Result<'a>>,
    quirks: &Quirks,
) -> (Vec<SentPart<'a>>, Vec<SentPart<'a>>) {
    let (mut parts, mut after) = (Vec::new(), Vec::new());
    for result in results {
        let carry::Result { id, name, failed, text, media: all } = result;
        let all: Vec<SentPart<'a>> = all.into_iter().map(media).collect();
        let (here, there) = if quirks.result_parts { (all, Vec::new()) } else { (Vec::new(), all) };
        after.extend(there);
        let response = if failed { Response::Error(text) } else { Response::Output(text) };
        let function_response = FunctionResponse { id, name, response, parts: here };
        parts.push(SentPart::Result { function_response });
    }
    (parts, after)
}

fn declarations<'a>(
    tools: &'a [Arc<ToolSpec>],
    names: &Names,
    quirks: &Quirks,
    repairs: &mut Vec<Repair>,
) -> Option<Tools<'a>> {
    let declare = |tool: &'a Arc<ToolSpec>| {
        let fitted = if quirks.json_schema {
            schema::json_schema(&tool.schema)
        } else {
            schema::openapi_subset(&tool.schema)
        };
        let fitted = fitted.with_names(is_parameter_name);
        repairs.extend(fitted.repairs(&tool.name));
        let schema = (!fitted.empty).then_some(fitted.schema);
        let (json, openapi) = if quirks.json_schema { (schema, None) } else { (None, schema) };
        Declaration {
            name: names.to_wire(&tool.name).to_owned(),
            description: &tool.description,
            parameters: openapi,
            parameters_json_schema: json,
        }
    };
    let function_declarations: Vec<_> = tools.iter().map(declare).collect();
    (!function_declarations.is_empty()).then_some(Tools { function_declarations })
}

/// Whether an argument may have a name.
fn is_parameter_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=PARAMETER_NAME_CAP_BYTES).contains(&name.len()) && name.bytes().all(plain)
}

/// Whether tools may or must be called. Free is what holds if nothing is said.
fn tool_config<'a>(
    choice: &'a ToolChoice,
    tools: &[Arc<ToolSpec>],
    names: &'a Names,
    repairs: &mut Vec<Repair>,
) -> Option<ToolConfig<'a>> {
    if tools.is_empty() {
        return None;
    }
    let (mode, allowed_function_names) = match choice {
        ToolChoice::Free => return None,
        ToolChoice::Never => ("NONE", Vec::new()),
        ToolChoice::Some => ("ANY", Vec::new()),
        ToolChoice::Only(name) if tools.iter().any(|tool| tool.name == *name) => {
            ("ANY", vec![names.to_wire(name)])
        }
        ToolChoice::Only(name) => {
            let what = format!("a call of {name} is not asked for: there is no such tool").into();
            repairs.push(Repair { entry: None, what });
            return None;
        }
    };
    let function_calling_config = FunctionCalling { mode, allowed_function_names };
    Some(ToolConfig { function_calling_config })
}

fn generation_config(
    request: &Request,
    quirks: &Quirks,
    repairs: &mut Vec<Repair>,
) -> GenerationConfig {
    let (options, profile) = (&request.options, &request.target.profile);
    let takes_temperature = profile.temperature && !quirks.no_temperature;
    let temperature = options.temperature_thousandths.filter(|_| takes_temperature);
    let mut config = GenerationConfig {
        max_output_tokens: options
            .max_output_tokens
            .map(|tokens| tokens.min(profile.output_cap_tokens).max(1)),
        temperature: temperature
            .map(|thousandths| f64::from(thousandths.min(TEMPERATURE_CAP_THOUSANDTHS)) / 1000.0),
        thinking_config: thinking::config(profile.thinking, options.thinking, quirks),
        ..GenerationConfig::default()
    };
    match &request.form {
        AnswerForm::Text => {}
        AnswerForm::Json { schema, .. } if profile.json_answers => {
            answer_form(schema, quirks, &mut config, repairs);
        }
        AnswerForm::Json { .. } => {
            let what = "the form of the answer is not asked for: the model takes none".into();
            repairs.push(Repair { entry: None, what });
        }
    }
    config
}

/// Asks for JSON that fits a schema; its root may be of any type.
fn answer_form(
    schema: &str,
    quirks: &Quirks,
    config: &mut GenerationConfig,
    repairs: &mut Vec<Repair>,
) {
    config.response_mime_type = Some("application/json");
    if !quirks.json_schema {
        let fitted = schema::openapi_subset(schema);
        repairs.extend(fitted.changes.iter().map(|change| Repair {
            entry: None,
            what: format!("the form of the answer: {change}").into(),
        }));
        config.response_schema = (!fitted.empty).then_some(fitted.schema);
        return;
    }
    match RawValue::from_string(schema.trim().to_owned()) {
        Ok(raw) if raw.get().starts_with('{') => config.response_json_schema = Some(raw),
        Ok(_) | Err(_) => repairs.push(Repair {
            entry: None,
            what: "the form of the answer: its schema is not an object and is left out".into(),
        }),
    }
}

#[cfg(test)]
mod tests;
