//! A request becomes the body that is sent. Equal requests become equal bytes.

use std::borrow::Cow;
use std::sync::Arc;

use threadline_core::history::fact::Thinking;
use threadline_core::provider::{
    AnswerForm, Repair, Request, ThinkingSupport, ToolChoice, ToolSupport,
};
use threadline_core::tool::ToolSpec;

use super::ask::{
    Ask, Choice, Function, Named, Reasoning, ResponseFormat, Spec, StreamOptions, Tool,
};
use super::messages::messages;
use crate::carry::{Carried, carry};
use crate::dialect::Encoded;
use crate::names::Names;
use crate::quirks::{EffortField, MaxTokensField, Quirks, ToolChoiceSupport};
use crate::schema::{self, held};

/// The effort of a model that must not think.
const NO_EFFORT: &str = "none";
/// Up to so many tokens of thought are little effort.
const LITTLE_TOKENS: u32 = 4_096;
/// Up to so many tokens of thought are some effort.
const SOME_TOKENS: u32 = 16_384;

/// The body for a request.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> Encoded {
    let Carried { system, turns, tools, names, mut repairs, .. } = carry(request, quirks);
    let profile = &request.target.profile;
    let (messages, left_out) = messages(system, turns, quirks);
    repairs.extend(left_out);
    // Where the choice cannot be told, a model that must not call is shown nothing to call.
    let is_silenced =
        request.choice == ToolChoice::Never && quirks.tool_choice == ToolChoiceSupport::Never;
    let tools = if is_silenced { &[] } else { tools };
    let has_tools = !tools.is_empty();
    let cap = request.options.max_output_tokens;
    let cap = cap.map(|cap| cap.min(profile.output_cap_tokens));
    let (max_tokens, max_completion_tokens) = match quirks.max_tokens_field {
        MaxTokensField::MaxTokens => (cap, None),
        MaxTokensField::MaxCompletionTokens => (None, cap),
    };
    let (reasoning_effort, reasoning) = effort(request, quirks, has_tools);
    let ask = Ask {
        model: &request.target.invocation.model,
        messages,
        tools: tools.iter().map(|tool| spec(request, quirks, tool, &names, &mut repairs)).collect(),
        tool_choice: has_tools.then(|| choice(request, quirks, &names, &mut repairs)).flatten(),
        parallel_tool_calls: (has_tools && quirks.parallel_flag)
            .then_some(profile.tools == ToolSupport::SideBySide),
        max_tokens,
        max_completion_tokens,
        temperature: temperature(request, quirks),
        reasoning_effort,
        reasoning,
        response_format: form(request, quirks, &mut repairs),
        prompt_cache_key: request.cache_key.as_deref().filter(|_| quirks.cache_key),
        stream: true,
        stream_options: quirks.stream_options.then_some(StreamOptions { include_usage: true }),
    };
    // Texts, numbers and lists can always be written.
    let body = serde_json::to_vec(&ask).unwrap_or_default();
    drop(ask);
    Encoded { body, headers: Vec::new(), names, repairs }
}

fn spec<'a>(
    request: &Request,
    quirks: &Quirks,
    tool: &'a Arc<ToolSpec>,
    names: &Names,
    repairs: &mut Vec<Repair>,
) -> Tool<'a> {
    let may_be_held = quirks.strict_field && request.target.profile.strict_tools && tool.strict;
    let (fitted, is_held) = held(&tool.schema, may_be_held);
    repairs.extend(fitted.repairs(&tool.name));
    let function = Spec {
        name: names.to_wire(&tool.name).to_owned(),
        description: &tool.description,
        parameters: fitted.schema,
        strict: quirks.strict_field.then_some(is_held),
    };
    Tool { r#type: Function::Function, function }
}

fn choice(
    request: &Request,
    quirks: &Quirks,
    names: &Names,
    repairs: &mut Vec<Repair>,
) -> Option<Choice<'static>> {
    let forced = match &request.choice {
        ToolChoice::Free => return None,
        ToolChoice::Never => {
            let can_be_told = quirks.tool_choice != ToolChoiceSupport::Never;
            return can_be_told.then_some(Choice::Word(NO_CALLS));
        }
        ToolChoice::Some => Choice::Word("required"),
        ToolChoice::Only(tool) if request.catalogue.has(tool) => {
            let name = Cow::Owned(names.to_wire(tool).to_owned());
            Choice::Only { r#type: Function::Function, function: Named { name } }
        }
        ToolChoice::Only(_) => Choice::Word("required"),
    };
    match quirks.tool_choice {
        ToolChoiceSupport::Full => Some(forced),
        ToolChoiceSupport::NotForced | ToolChoiceSupport::Never => {
            let what = "the model cannot be made to call a tool: it is left to itself";
            repairs.push(Repair { entry: None, what: what.into() });
            None
        }
    }
}

/// The choice of a model that must not call.
const NO_CALLS: &str = "none";

fn temperature(request: &Request, quirks: &Quirks) -> Option<f64> {
    let takes = request.target.profile.temperature && !quirks.no_temperature;
    let thousandths = request.options.temperature_thousandths.filter(|_| takes);
    thousandths.map(|thousandths| f64::from(thousandths) / 1000.0)
}

/// How much the model is told to think, in the one field or the other.
fn effort(
    request: &Request,
    quirks: &Quirks,
    has_tools: bool,
) -> (Option<&'static str>, Option<Reasoning>) {
    if has_tools && quirks.tools_need_no_effort {
        return (Some(NO_EFFORT), None);
    }
    let Some(thinking) = request.options.thinking else { return (None, None) };
    let support = request.target.profile.thinking;
    let Some(word) = effort_word(thinking, support) else { return (None, None) };
    match quirks.effort_field {
        EffortField::None => (None, None),
        EffortField::ReasoningEffort => (Some(word), None),
        EffortField::Reasoning => {
            let reasoning = match (thinking, support) {
                (
                    Thinking::Budget { tokens },
                    ThinkingSupport::Budget { least_tokens, most_tokens },
                ) => Reasoning::MaxTokens(tokens.min(most_tokens).max(least_tokens)),
                _ => Reasoning::Effort(word),
            };
            (None, Some(reasoning))
        }
    }
}

/// The word for an effort; none if the model is left to itself.
fn effort_word(thinking: Thinking, support: ThinkingSupport) -> Option<&'static str> {
    let can_be_off = match support {
        ThinkingSupport::Never | ThinkingSupport::Always => return None,
        ThinkingSupport::Effort { can_be_off } => can_be_off,
        ThinkingSupport::Budget { least_tokens, .. } => least_tokens == 0,
    };
    match thinking {
        Thinking::Adaptive => None,
        Thinking::Off if can_be_off => Some(NO_EFFORT),
        Thinking::Off | Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
        Thinking::Budget { tokens } if tokens <= LITTLE_TOKENS => Some("low"),
        Thinking::Budget { tokens } if tokens <= SOME_TOKENS => Some("medium"),
        Thinking::Budget { .. } => Some("high"),
    }
}

fn form(request: &Request, quirks: &Quirks, repairs: &mut Vec<Repair>) -> Option<ResponseFormat> {
    let AnswerForm::Json { name, schema: text } = &request.form else { return None };
    if !request.target.profile.json_answers {
        let what = "the model cannot be held to a form: it is not told of it";
        repairs.push(Repair { entry: None, what: what.into() });
        return None;
    }
    let strict = quirks.strict_field.then(|| schema::strict(text)).flatten();
    let strict = strict.filter(|fitted| fitted.changes.is_empty());
    let is_held = strict.is_some();
    let fitted = strict.unwrap_or_else(|| schema::json_schema(text));
    repairs.extend(fitted.repairs(name));
    Some(ResponseFormat::JsonSchema {
        name: Names::new(&[Arc::clone(name)], FORM_NAME_CAP).to_wire(name).to_owned(),
        schema: fitted.schema,
        strict: quirks.strict_field.then_some(is_held),
    })
}

/// The longest name of a form.
const FORM_NAME_CAP: usize = 64;
