//! A request becomes Anthropic's body. Pure: the same request gives the same bytes.

mod messages;
mod schema;
mod thinking;

use std::sync::Arc;

use threadline_core::id::Seq;
use threadline_core::provider::{AnswerForm, Repair, Request, ToolChoice, ToolSupport};
use threadline_core::tool::ToolSpec;

use self::schema::Strict;
use self::thinking::Effort;
use super::wire::body::{Block, Body, Choice, Format, Mark, OutputConfig, Tool};
use crate::carry::{Carried, carry};
use crate::dialect::Encoded;
use crate::names::Names;
use crate::quirks::{AnthropicVersion, Quirks};
use crate::schema::object_root;

/// The version of what is made here: it rises whenever a request would be written differently.
pub(crate) const ENCODER_VERSION: u32 = 2;

/// The warmest that a model is asked to be, in thousandths.
const WARMEST: u32 = 1_000;

/// Writes a request.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> Encoded {
    let Carried { system, turns, goes_on, tools, names, mut repairs } = carry(request, quirks);
    let mut messages = messages::messages(turns, goes_on, quirks, &mut repairs);
    let effort = thinking::effort(request, quirks, &messages, &mut repairs);
    let mut tools = shown(request, tools, &names, &mut repairs);
    let mut system: Vec<Block<'_>> =
        (!system.trim().is_empty()).then(|| Block::text(system.into())).into_iter().collect();
    let format = form(request, &mut system, &mut repairs);
    if quirks.cache_marks {
        mark_head(&mut tools, &mut system);
        messages::mark(&mut messages);
    }
    let Effort { config, level, max_tokens } = effort;
    let body = Body {
        model: &request.target.invocation.model,
        max_tokens,
        stream: true,
        temperature: temperature(request, quirks, &effort),
        thinking: config,
        output_config: (level.is_some() || format.is_some())
            .then_some(OutputConfig { effort: level, format }),
        tool_choice: choice(request, quirks, &effort, &tools, &names, &mut repairs),
        tools,
        system,
        messages,
    };
    // Nothing in it can fail to be written: its keys are texts, and its raw parts were read.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    let headers = vec![("anthropic-version", quirks.anthropic_version.name().to_owned())];
    Encoded { body, headers, names, repairs }
}

/// The tools as the model is shown them.
fn shown<'a>(
    request: &Request,
    tools: &'a [Arc<ToolSpec>],
    names: &Names,
    repairs: &mut Vec<Repair>,
) -> Vec<Tool<'a>> {
    let mut strict = Strict::new();
    let tool = |spec: &'a Arc<ToolSpec>| {
        let held = spec.strict && request.target.profile.strict_tools;
        let fitted = object_root(&spec.schema);
        repairs.extend(fitted.repairs(&spec.name));
        Tool {
            name: names.to_wire(&spec.name).to_owned(),
            description: &spec.description,
            strict: held && strict.takes(&spec.schema),
            input_schema: fitted.schema,
            cache_control: None,
        }
    };
    tools.iter().map(tool).collect()
}

/// Marks the end of what stays the same for a whole conversation: tools come first on the wire,
/// so that a mark on the system message covers them.
fn mark_head(tools: &mut [Tool<'_>], system: &mut [Block<'_>]) {
    match (system.last_mut().and_then(Block::mark), tools.last_mut()) {
        (Some(mark), _) => *mark = Some(Mark::Ephemeral),
        (None, Some(tool)) => tool.cache_control = Some(Mark::Ephemeral),
        (None, None) => {}
    }
}

/// The form of the answer; a model that cannot be held to one is asked in words.
fn form<'a>(
    request: &'a Request,
    system: &mut Vec<Block<'a>>,
    repairs: &mut Vec<Repair>,
) -> Option<Format<'a>> {
    let AnswerForm::Json { schema, .. } = &request.form else { return None };
    if !request.target.profile.json_answers {
        repairs.push(repair(None, "the form of the answer is asked for in words"));
        let words = format!("Answer with JSON alone that fits this schema:\n{schema}");
        system.push(Block::text(words.into()));
        return None;
    }
    let (schema, mended) = schema::of_answer(schema);
    if mended {
        repairs.push(repair(None, "limits in the form of the answer are told in words"));
    }
    Some(Format::JsonSchema { schema })
}

/// Sampling is only for models and versions that take it, and never beside thinking.
fn temperature(request: &Request, quirks: &Quirks, effort: &Effort) -> Option<f64> {
    let takes = request.target.profile.temperature && !quirks.no_temperature;
    let thousandths = request.options.temperature_thousandths?;
    match quirks.anthropic_version {
        AnthropicVersion::V2023 if takes && !effort.asks() => {
            Some(f64::from(thousandths.min(WARMEST)) / 1_000.0)
        }
        AnthropicVersion::V2023 | AnthropicVersion::V2026 => None,
    }
}

/// Whether a tool may or must be called. Without tools nothing is said of it.
fn choice(
    request: &Request,
    quirks: &Quirks,
    effort: &Effort,
    tools: &[Tool<'_>],
    names: &Names,
    repairs: &mut Vec<Repair>,
) -> Option<Choice> {
    if tools.is_empty() {
        return None;
    }
    let profile = &request.target.profile;
    let one_by_one = match profile.tools {
        ToolSupport::OneByOne => true,
        ToolSupport::None | ToolSupport::SideBySide => false,
    };
    let can_force = quirks.forced_choice_with_thinking || !effort.may_think(profile.thinking);
    let (kind, name) = match &request.choice {
        ToolChoice::Free => ("auto", None),
        ToolChoice::Never => ("none", None),
        ToolChoice::Some if can_force => ("any", None),
        ToolChoice::Only(name) if can_force && request.catalogue.has(name) => {
            ("tool", Some(names.to_wire(name).to_owned()))
        }
        ToolChoice::Some | ToolChoice::Only(_) => {
            repairs.push(repair(None, "the model is not forced to call a tool: it cannot be"));
            ("auto", None)
        }
    };
    let disable_parallel_tool_use = one_by_one && kind != "none";
    // What is said by default is not said.
    let says = kind != "auto" || disable_parallel_tool_use;
    says.then_some(Choice { kind, name, disable_parallel_tool_use })
}

fn repair(entry: Option<Seq>, what: &str) -> Repair {
    Repair { entry, what: what.into() }
}

#[cfg(test)]
mod tests;
