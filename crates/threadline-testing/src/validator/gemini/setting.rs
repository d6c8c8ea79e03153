//! The settings of a request: all that is not a content.

use super::content::called_names;
use crate::validator::Body;
use crate::validator::common::{
    below, is_blank, not_objects, not_one_of, out_of_range, refused, unknown,
};
use crate::validator::node::{Found, Node};

/// The functions that are declared.
pub(super) fn declarations<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let tools = body.root.list("tools").into_iter();
    tools.flat_map(|tool| tool.list("functionDeclarations")).collect()
}

/// The names of the functions that are declared.
pub(super) fn tool_names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let declared = declarations(body).into_iter();
    declared.filter_map(|at| Some((at.clone(), at.text_of("name")?))).collect()
}

/// The names of the functions that are declared, called and answered.
pub(super) fn names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    tool_names(body).into_iter().chain(called_names(body)).collect()
}

/// The schemas under these keys of the functions that are declared.
pub(super) fn schemas<'a>(body: &Body<'a>, keys: &[&str]) -> Vec<Node<'a>> {
    let mut schemas = Vec::new();
    for declared in declarations(body) {
        schemas.extend(keys.iter().filter_map(|key| declared.get(key)));
    }
    schemas
}

/// The settings of the answer.
pub(super) fn generation<'a>(body: &Body<'a>) -> Option<Node<'a>> {
    body.root.get("generationConfig")
}

fn thinking<'a>(body: &Body<'a>) -> Option<Node<'a>> {
    generation(body)?.get("thinkingConfig")
}

/// Whether a function may have this name.
pub(super) fn is_name(name: &str, cap: usize) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let goes_on = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-');
    starts && name.len() <= cap && name.bytes().all(goes_on)
}

pub(super) fn odd_system(body: &Body<'_>) -> Vec<Found> {
    let Some(system) = body.root.get("systemInstruction") else { return Vec::new() };
    let mut found = not_objects(&system, "parts", usize::MAX);
    let parts = system.list("parts").into_iter().filter(|part| part.value.is_object());
    let odd = parts.filter(|part| part.text_of("text").is_none_or(is_blank));
    found.extend(odd.map(|part| part.found("not a text that says something")));
    found
}

pub(super) fn broken_tools(body: &Body<'_>) -> Vec<Found> {
    if !body.root.has("tools") {
        return Vec::new();
    }
    let mut found = not_objects(&body.root, "tools", usize::MAX);
    for tool in body.root.list("tools").iter().filter(|tool| tool.value.is_object()) {
        if tool.fields().is_empty() {
            found.push(tool.found("no functions and no built-in"));
        } else if tool.has("functionDeclarations") {
            found.extend(not_objects(tool, "functionDeclarations", usize::MAX));
        }
    }
    let nameless = declarations(body).into_iter().filter(|at| at.text_of("name").is_none());
    found.extend(nameless.filter(|at| at.value.is_object()).map(|at| at.found("no name")));
    found
}

fn choice<'a>(body: &Body<'a>) -> Option<Node<'a>> {
    body.root.get("toolConfig")?.get("functionCallingConfig")
}

pub(super) fn choice_without_tools(body: &Body<'_>) -> Vec<Found> {
    let choice = choice(body).filter(|_| declarations(body).is_empty());
    choice.map(|at| at.found("without functions")).into_iter().collect()
}

pub(super) fn unknown_choice(body: &Body<'_>) -> Vec<Found> {
    let Some(choice) = choice(body) else { return Vec::new() };
    let modes = ["AUTO", "NONE", "ANY", "VALIDATED"];
    let mut found: Vec<_> = not_one_of(&choice, "mode", &modes).into_iter().collect();
    let allowed = choice.get("allowedFunctionNames");
    let free = allowed.filter(|_| !choice.is_one_of("mode", &["ANY", "VALIDATED"]));
    found.extend(free.map(|at| at.found("without the mode ANY")));
    let offered = tool_names(body);
    let known = |at: &Node<'_>| offered.iter().any(|(_, name)| at.text() == Some(name));
    // Without functions there is another rule for it.
    let names = choice.list("allowedFunctionNames").into_iter().filter(|_| !offered.is_empty());
    found.extend(names.filter(|at| !known(at)).map(|at| at.found("no function of this name")));
    found
}

pub(super) fn forced_call(body: &Body<'_>) -> Vec<Found> {
    let choice = choice(body).filter(|at| at.is("mode", "ANY"));
    let choice = choice.filter(|_| body.server.forced_choice_refused);
    choice.map(|at| at.found("a call cannot be forced")).into_iter().collect()
}

pub(super) fn unknown_generation_fields(body: &Body<'_>) -> Vec<Found> {
    let known = [
        "temperature",
        "topP",
        "topK",
        "maxOutputTokens",
        "stopSequences",
        "candidateCount",
        "seed",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "responseModalities",
        "responseLogprobs",
        "logprobs",
        "presencePenalty",
        "frequencyPenalty",
        "thinkingConfig",
        "mediaResolution",
        "speechConfig",
        "imageConfig",
    ];
    generation(body).map(|at| unknown(&at, &known, &body.server.extra_fields)).unwrap_or_default()
}

pub(super) fn doubled_thinking(body: &Body<'_>) -> Vec<Found> {
    let keys = ["thinkingLevel", "thinkingBudget"];
    let both = thinking(body).filter(|at| keys.iter().all(|key| at.has(key)));
    both.map(|at| at.found("both thinkingLevel and thinkingBudget")).into_iter().collect()
}

pub(super) fn odd_thinking(body: &Body<'_>) -> Vec<Found> {
    let Some(thinking) = thinking(body) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(level) = thinking.get("thinkingLevel") {
        let name = level.text().unwrap_or_default().to_ascii_uppercase();
        if !["MINIMAL", "LOW", "MEDIUM", "HIGH"].contains(&&*name) {
            found.push(level.found("no level that is known"));
        }
    }
    let budget = thinking.get("thinkingBudget");
    let odd = budget.filter(|at| at.value.as_i64().is_none_or(|tokens| tokens < -1));
    found.extend(odd.map(|at| at.found("not a number from -1 up")));
    found
}

pub(super) fn thinking_level(body: &Body<'_>) -> Vec<Found> {
    let level = thinking(body).and_then(|at| at.get("thinkingLevel"));
    let level = level.filter(|_| !body.server.thinking_level);
    level.map(|at| at.found("not with this model")).into_iter().collect()
}

pub(super) fn odd_response_schema(body: &Body<'_>) -> Vec<Found> {
    let Some(generation) = generation(body) else { return Vec::new() };
    let schemas: Vec<_> = ["responseSchema", "responseJsonSchema"]
        .iter()
        .filter_map(|key| generation.get(key))
        .collect();
    let typed = generation.is_one_of("responseMimeType", &["application/json", "text/x.enum"]);
    let doubled = schemas.iter().skip(1).map(|at| at.found("a second response schema"));
    let untyped = schemas.iter().filter(|_| !typed).map(|at| at.found("without responseMimeType"));
    doubled.chain(untyped).collect()
}

pub(super) fn sampling_range(body: &Body<'_>) -> Vec<Found> {
    let Some(generation) = generation(body) else { return Vec::new() };
    let ranges = [("temperature", 0.0, 2.0), ("topP", 0.0, 1.0)];
    let out = |(key, least, most)| out_of_range(&generation, key, least, most);
    ranges.into_iter().filter_map(out).collect()
}

pub(super) fn sampling(body: &Body<'_>) -> Vec<Found> {
    let generation = generation(body).filter(|_| body.server.sampling_refused);
    let keys = ["temperature", "topP", "topK"];
    generation.map(|at| refused(&at, &keys, "not with this model")).unwrap_or_default()
}

pub(super) fn output_cap(body: &Body<'_>) -> Vec<Found> {
    generation(body).and_then(|at| below(&at, "maxOutputTokens", 1)).into_iter().collect()
}

pub(super) fn odd_stops(body: &Body<'_>) -> Vec<Found> {
    let stops = generation(body).and_then(|at| at.get("stopSequences"));
    let texts =
        |at: &Node<'_>| at.items().iter().all(|stop| stop.text().is_some_and(|t| !t.is_empty()));
    let fits = |at: &Node<'_>| at.value.is_array() && at.items().len() <= 5 && texts(at);
    let odd = stops.filter(|at| !fits(at));
    odd.map(|at| at.found("not at most 5 texts")).into_iter().collect()
}

pub(super) fn cached_content(body: &Body<'_>) -> Vec<Found> {
    let keys: &[&str] = if body.root.has("cachedContent") {
        &["tools", "toolConfig", "systemInstruction"]
    } else {
        &[]
    };
    refused(&body.root, keys, "beside cachedContent")
}
