//! The settings of a request: all that is not a message.

use super::message::all_blocks;
use crate::validator::common::{
    below, is_blank, not_objects, not_one_of, out_of_range, refused, unknown,
};
use crate::validator::node::{Found, Node};
use crate::validator::{AnthropicVersion, Body, schema};

/// The most strict tools.
const STRICT_TOOLS: usize = 20;
/// The most optional parameters of all strict tools.
const STRICT_OPTIONAL: usize = 24;
/// The most parameters of several types of all strict tools.
const STRICT_UNIONS: usize = 16;

/// The tools of the client.
pub(super) fn tools<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let tools = body.root.list("tools").into_iter();
    tools.filter(|tool| tool.text_of("type").is_none_or(|kind| kind == "custom")).collect()
}

/// The names of all tools.
pub(super) fn tool_names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let tools = body.root.list("tools").into_iter();
    tools.filter_map(|tool| Some((tool.clone(), tool.text_of("name")?))).collect()
}

/// The schemas of the strict tools.
pub(super) fn strict_schemas<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let strict = |tool: &Node<'_>| tool.value.get("strict").is_some_and(|flag| flag == true);
    let tools = tools(body).into_iter().filter(strict);
    tools.filter_map(|tool| tool.get("input_schema")).collect()
}

pub(super) fn no_max_tokens(body: &Body<'_>) -> Vec<Found> {
    if body.root.has("max_tokens") {
        return below(&body.root, "max_tokens", 0).into_iter().collect();
    }
    vec![body.root.found_in("max_tokens", "not given")]
}

pub(super) fn odd_system(body: &Body<'_>) -> Vec<Found> {
    let Some(system) = body.root.get("system") else { return Vec::new() };
    if let Some(text) = system.text() {
        return if is_blank(text) { vec![system.found("an empty text")] } else { Vec::new() };
    }
    let mut found = not_objects(&body.root, "system", usize::MAX);
    let said = |at: &Node<'_>| {
        at.is("type", "text") && at.text_of("text").is_some_and(|text| !is_blank(text))
    };
    let blocks = system.items().into_iter().filter(|block| block.value.is_object());
    found
        .extend(blocks.filter(|at| !said(at)).map(|at| at.found("not a text that says something")));
    found
}

pub(super) fn broken_tools(body: &Body<'_>) -> Vec<Found> {
    if !body.root.has("tools") {
        return Vec::new();
    }
    let mut found = not_objects(&body.root, "tools", usize::MAX);
    for tool in tools(body).iter().filter(|tool| tool.value.is_object()) {
        let schema = tool.get("input_schema").is_some_and(|schema| schema.value.is_object());
        if tool.text_of("name").is_none() || !schema {
            found.push(tool.found("not {name, input_schema}"));
        }
    }
    found
}

pub(super) fn too_much_strict(body: &Body<'_>) -> Vec<Found> {
    let schemas = strict_schemas(body);
    let optional = schemas.iter().flat_map(schema::optional).count();
    let unions = schemas.iter().flat_map(schema::unions).count();
    let counts = [
        (schemas.len(), STRICT_TOOLS, "strict tools"),
        (optional, STRICT_OPTIONAL, "optional parameters in strict tools"),
        (unions, STRICT_UNIONS, "parameters of several types in strict tools"),
    ];
    let over = counts.into_iter().filter(|(count, cap, _)| count > cap);
    over.map(|(count, cap, what)| {
        body.root.found_in("tools", format_args!("{count} {what}, where {cap} are taken"))
    })
    .collect()
}

pub(super) fn choice_without_tools(body: &Body<'_>) -> Vec<Found> {
    let keys: &[&str] = if body.root.has("tools") { &[] } else { &["tool_choice"] };
    refused(&body.root, keys, "without tools")
}

pub(super) fn unknown_choice(body: &Body<'_>) -> Vec<Found> {
    let Some(choice) = body.root.get("tool_choice") else { return Vec::new() };
    let offered = |name| tool_names(body).iter().any(|(_, offered)| *offered == name);
    let known = match choice.text_of("type") {
        Some("auto" | "any" | "none") => true,
        // Without tools there is another rule for it.
        Some("tool") => {
            choice.text_of("name").is_some_and(|name| offered(name) || !body.root.has("tools"))
        }
        _ => false,
    };
    if known { Vec::new() } else { vec![choice.found("no choice that there is")] }
}

fn thinking<'a>(body: &Body<'a>) -> Option<Node<'a>> {
    body.root.get("thinking")
}

pub(super) fn forced_call(body: &Body<'_>) -> Vec<Found> {
    let manual = thinking(body).is_some_and(|at| at.is("type", "enabled"));
    let choice = body.root.get("tool_choice").filter(|at| at.is_one_of("type", &["any", "tool"]));
    let choice = choice.filter(|_| manual || body.server.forced_choice_refused);
    choice.map(|at| at.found("a call cannot be forced")).into_iter().collect()
}

pub(super) fn odd_thinking(body: &Body<'_>) -> Vec<Found> {
    let Some(thinking) = thinking(body) else { return Vec::new() };
    let types = ["adaptive", "enabled", "disabled", "between_tools"];
    let mut found = Vec::new();
    if !thinking.is_one_of("type", &types) {
        found.push(thinking.found_in("type", "no type that is known"));
    }
    if thinking.has("budget_tokens") != thinking.is("type", "enabled") {
        found.push(thinking.found_in("budget_tokens", "goes with enabled, and only with it"));
    }
    found.extend(not_one_of(&thinking, "display", &["summarized", "omitted"]));
    found
}

pub(super) fn odd_budget(body: &Body<'_>) -> Vec<Found> {
    let Some(thinking) = thinking(body) else { return Vec::new() };
    let Some(budget) = thinking.get("budget_tokens") else { return Vec::new() };
    let most = body.root.number("max_tokens").unwrap_or(f64::INFINITY);
    let fits = budget.value.as_f64().is_some_and(|tokens| tokens >= 1024.0 && tokens < most);
    if fits { Vec::new() } else { vec![budget.found("not from 1024 up and below max_tokens")] }
}

pub(super) fn odd_output_config(body: &Body<'_>) -> Vec<Found> {
    let Some(config) = body.root.get("output_config") else { return Vec::new() };
    let efforts = ["low", "medium", "high", "xhigh", "max"];
    let mut found: Vec<_> = not_one_of(&config, "effort", &efforts).into_iter().collect();
    let whole = |format: &Node<'_>| {
        let schema = format.get("schema").is_some_and(|schema| schema.value.is_object());
        format.is("type", "json_schema") && schema
    };
    let format = config.get("format").filter(|format| !whole(format));
    found.extend(format.map(|format| format.found("not {type: json_schema, schema}")));
    found
}

pub(super) fn odd_output_schema(body: &Body<'_>) -> Vec<Found> {
    let format = body.root.get("output_config").and_then(|config| config.get("format"));
    let Some(schema) = format.and_then(|format| format.get("schema")) else { return Vec::new() };
    let mut found = schema::keywords(&schema, &schema::NOT_IN_ANTHROPIC_FORMAT);
    found.extend(schema::open_objects(&schema));
    found
}

pub(super) fn sampling_range(body: &Body<'_>) -> Vec<Found> {
    let keys = ["temperature", "top_p"];
    keys.iter().filter_map(|key| out_of_range(&body.root, key, 0.0, 1.0)).collect()
}

pub(super) fn sampling(body: &Body<'_>) -> Vec<Found> {
    let new = body.server.anthropic_version == AnthropicVersion::V2026;
    let keys: &[&str] =
        if new || body.server.sampling_refused { &["temperature", "top_p", "top_k"] } else { &[] };
    refused(&body.root, keys, "not with this version and model")
}

pub(super) fn sampling_with_thinking(body: &Body<'_>) -> Vec<Found> {
    let thinks = thinking(body).is_some_and(|at| at.is_one_of("type", &["enabled", "adaptive"]));
    if !thinks || !sampling(body).is_empty() {
        return Vec::new();
    }
    let mut found = refused(&body.root, &["top_k"], "with thinking");
    let temperature = body.root.get("temperature");
    let other = temperature.filter(|at| at.value.as_f64() != Some(1.0));
    found.extend(other.map(|at| at.found("with thinking")));
    found
}

pub(super) fn odd_stops(body: &Body<'_>) -> Vec<Found> {
    let Some(stops) = body.root.get("stop_sequences") else { return Vec::new() };
    if !stops.value.is_array() {
        return vec![stops.found("not a list")];
    }
    let odd = stops.items().into_iter().filter(|stop| stop.text().is_none_or(is_blank));
    odd.map(|stop| stop.found("not a text with something in it")).collect()
}

/// All blocks and tools that can carry a mark, and the body itself.
fn markable<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let tools = body.root.list("tools").into_iter();
    let system = body.root.list("system");
    tools.chain(system).chain(all_blocks(body)).chain([body.root.clone()]).collect()
}

pub(super) fn many_marks(body: &Body<'_>) -> Vec<Found> {
    let marked = markable(body).into_iter().filter_map(|at| at.get("cache_control"));
    marked.skip(4).map(|mark| mark.found("more than four marks")).collect()
}

pub(super) fn odd_marks(body: &Body<'_>) -> Vec<Found> {
    let marks = markable(body).into_iter().filter_map(|at| at.get("cache_control"));
    let whole = |mark: &Node<'_>| {
        mark.is("type", "ephemeral") && (!mark.has("ttl") || mark.is_one_of("ttl", &["5m", "1h"]))
    };
    marks.filter(|mark| !whole(mark)).map(|mark| mark.found("not a mark that is known")).collect()
}

pub(super) fn misplaced_marks(body: &Body<'_>) -> Vec<Found> {
    let marked = markable(body).into_iter().filter(|at| at.has("cache_control"));
    let misplaced = marked.filter(|at| {
        let empty = at.is("type", "text") && at.text_of("text").is_some_and(is_blank);
        empty || at.is_one_of("type", &["thinking", "redacted_thinking"])
    });
    misplaced.map(|at| at.found_in("cache_control", "not on this block")).collect()
}

pub(super) fn odd_metadata(body: &Body<'_>) -> Vec<Found> {
    let Some(metadata) = body.root.get("metadata") else { return Vec::new() };
    let mut found = unknown(&metadata, &["user_id"], &[]);
    if metadata.get("user_id").is_some_and(|id| id.text().is_none()) {
        found.push(metadata.found_in("user_id", "not a text"));
    }
    found
}
