//! Responses: what `OpenAI` refuses, and what a request that keeps nothing there must say.

mod item;

use self::item::{calls, media, steps};
use super::common::{
    BODY_FITS, METADATA, MODEL, OBJECT, SAFETY_IDENTIFIER, STREAM_OPTIONS, below, not_objects,
    not_one_of, out_of_range, refused, unknown_fields,
};
use super::node::{Found, Node};
use super::pairing::{
    answered_twice, id_lengths, is_plain, not_an_object_text, orphans, plain_names, repeated_ids,
    repeated_names, unanswered,
};
use super::{Body, Rule, media as medium, schema};

pub(super) static RULES: &[Rule] = &[
    OBJECT,
    BODY_FITS,
    Rule {
        name: "known-fields",
        says: "unknown top-level fields are refused; there is no stop, no n and no seed",
        check: |body| unknown_fields(body, &FIELDS),
    },
    MODEL,
    Rule {
        name: "input-is-a-list",
        says: "input is a text or a list of at least one item",
        check: |body| {
            let text = body.root.text_of("input").is_some_and(|text| !text.is_empty());
            if text { Vec::new() } else { not_objects(&body.root, "input", usize::MAX) }
        },
    },
    Rule {
        name: "known-items",
        says: "an item is a message, reasoning, function_call, function_call_output or a built-in",
        check: item::unknown_items,
    },
    Rule {
        name: "known-roles",
        says: "a role is user, assistant, system or developer",
        check: item::unknown_roles,
    },
    Rule {
        name: "last-is-not-the-assistant",
        says: "the last item is not a message of the assistant",
        check: item::trailing_message,
    },
    Rule {
        name: "content-is-text-or-parts",
        says: "content is a string or a list of at least one part",
        check: item::odd_contents,
    },
    Rule {
        name: "parts-fit-their-role",
        says: "output_text and refusal are the assistant's, input_* everybody else's",
        check: item::misplaced_parts,
    },
    Rule {
        name: "no-empty-text",
        says: "a text that is sent says something; an output may be empty",
        check: item::empty_texts,
    },
    Rule {
        name: "phase-is-known",
        says: "phase is commentary or final_answer, on assistant messages only",
        check: item::odd_phases,
    },
    Rule {
        name: "media-are-whole",
        says: "image_url and file_data are data:TYPE;base64,… or an address",
        check: |body| medium::not_whole(&media(body)),
    },
    Rule {
        name: "media-are-base64",
        says: "what a data address holds is base64",
        check: |body| medium::not_base64(&media(body)),
    },
    Rule {
        name: "media-are-taken",
        says: "media are of a type that the model takes",
        check: |body| medium::not_taken(&media(body), body.server),
    },
    Rule {
        name: "media-are-as-declared",
        says: "the bytes are of the declared type",
        check: |body| medium::not_as_declared(&media(body)),
    },
    Rule {
        name: "media-are-in-the-body",
        says: "an address on the web is not fetched",
        check: |body| medium::not_here(&media(body), body.server),
    },
    Rule {
        name: "media-fit",
        says: "image_url has at most 20 MiB, file_data 70 MiB",
        check: item::large_media,
    },
    Rule {
        name: "files-have-a-name",
        says: "file_data goes with a filename",
        check: item::nameless_files,
    },
    Rule {
        name: "calls-are-whole",
        says: "a function_call has call_id, name and arguments, all texts",
        check: item::broken_calls,
    },
    Rule {
        name: "outputs-are-whole",
        says: "output is a text or a list of at least one input_text, input_image or input_file",
        check: item::broken_outputs,
    },
    Rule {
        name: "outputs-fit",
        says: "an output has at most 10485760 characters",
        check: item::long_outputs,
    },
    Rule {
        name: "every-call-is-answered",
        says: "No tool output found for function call",
        check: |body| unanswered(&steps(body)),
    },
    Rule {
        name: "every-result-has-a-call",
        says: "a function_call_output answers a function_call before it",
        check: |body| orphans(&steps(body)),
    },
    Rule {
        name: "one-result-per-call",
        says: "a call is answered once",
        check: |body| answered_twice(&steps(body)),
    },
    Rule {
        name: "results-follow-their-calls",
        says: "no output stands before its call",
        check: item::early_outputs,
    },
    Rule {
        name: "nothing-between-calls-and-results",
        says: "DeepSeek's clone refuses other items between calls and their outputs",
        check: item::interruptions,
    },
    Rule {
        name: "ids-are-unique",
        says: "no two calls have the same call_id",
        check: |body| repeated_ids(&calls(body)),
    },
    Rule {
        name: "ids-fit",
        says: "call_id has 1 to 64 characters",
        check: |body| id_lengths(body, &calls(body), 64),
    },
    Rule {
        name: "names-are-plain",
        says: "a function's name is ^[A-Za-z0-9_-]{1,128}$",
        check: |body| plain_names(body, &names(body), 128),
    },
    Rule {
        name: "arguments-are-an-object",
        says: "arguments is a string that holds a JSON object, never an empty one",
        check: |body| {
            let arguments = calls(body).into_iter().filter_map(|call| {
                let arguments = call.at.get("arguments")?;
                not_an_object_text(&arguments, arguments.text()?)
            });
            arguments.collect()
        },
    },
    Rule {
        name: "reasoning-is-encrypted",
        says: "a reasoning item has encrypted_content and a list as summary",
        check: item::open_reasoning,
    },
    Rule {
        name: "reasoning-leads-to-something",
        says: "reasoning without its required following item",
        check: item::trailing_reasoning,
    },
    Rule {
        name: "nothing-is-stored",
        says: "store is false, and nothing refers to what was stored",
        check: stored,
    },
    Rule {
        name: "items-have-no-id",
        says: "with store: false leave out the ids of items, or their pairing is enforced",
        check: item::stored_ids,
    },
    Rule {
        name: "tools-are-whole",
        says: "tools is a list of 1 to 128 {type: function, name}, or of built-ins",
        check: broken_tools,
    },
    Rule {
        name: "strict-is-said",
        says: "strict is sent with every function, or the service tries strict mode",
        check: |body| {
            let silent = |tool: &Node<'_>| tool.value.get("strict").is_none();
            let tools = functions(body).into_iter().filter(|_| body.server.explicit_strict);
            tools.filter(silent).map(|tool| tool.found_in("strict", "not said")).collect()
        },
    },
    Rule {
        name: "tool-names-are-unique",
        says: "no two tools have the same name",
        check: |body| repeated_names(&tool_names(body)),
    },
    Rule {
        name: "schema-is-of-an-object",
        says: "the root of a tool's parameters is of type object",
        check: |body| {
            let schemas = functions(body).into_iter().filter_map(|tool| tool.get("parameters"));
            schemas.filter_map(|schema| schema::not_of_an_object(&schema)).collect()
        },
    },
    Rule {
        name: "strict-schema",
        says: "strict: every property required, every object closed, anyOf not at the root",
        check: |body| {
            let strict = |at: &Node<'_>| at.value.get("strict").is_some_and(|flag| flag == true);
            let tools = functions(body).into_iter().filter(strict);
            let mut schemas: Vec<_> = tools.filter_map(|tool| tool.get("parameters")).collect();
            schemas.extend(format(body).filter(strict).and_then(|at| at.get("schema")));
            schemas.iter().flat_map(schema::openai_strict).collect()
        },
    },
    Rule {
        name: "tool-choice-needs-tools",
        says: "tool_choice and parallel_tool_calls are refused without tools",
        check: |body| {
            let keys: &[&str] =
                if body.root.has("tools") { &[] } else { &["tool_choice", "parallel_tool_calls"] };
            refused(&body.root, keys, "without tools")
        },
    },
    Rule {
        name: "tool-choice-is-known",
        says: "tool_choice is auto, none, required or one of the tools",
        check: unknown_choice,
    },
    Rule {
        name: "no-forced-call",
        says: "the model does not take a tool_choice that forces a call",
        check: |body| {
            let choice = body.root.get("tool_choice").filter(|_| body.server.forced_choice_refused);
            let forced = choice.filter(|at| !matches!(at.text(), Some("auto" | "none")));
            forced.map(|at| at.found("a call cannot be forced")).into_iter().collect()
        },
    },
    STREAM_OPTIONS,
    Rule {
        name: "sampling-is-in-range",
        says: "temperature is 0 to 2, top_p 0 to 1",
        check: |body| {
            let ranges = [("temperature", 0.0, 2.0), ("top_p", 0.0, 1.0)];
            let out = |(key, least, most)| out_of_range(&body.root, key, least, most);
            ranges.into_iter().filter_map(out).collect()
        },
    },
    Rule {
        name: "no-sampling",
        says: "reasoning models refuse temperature and top_p",
        check: |body| {
            let keys: &[&str] =
                if body.server.sampling_refused { &["temperature", "top_p"] } else { &[] };
            refused(&body.root, keys, "not with this model")
        },
    },
    Rule {
        name: "output-cap-is-enough",
        says: "max_output_tokens is at least 16",
        check: |body| below(&body.root, "max_output_tokens", 16).into_iter().collect(),
    },
    Rule {
        name: "effort-is-known",
        says: "reasoning has an effort, a summary and a context that are known",
        check: |body| {
            let Some(reasoning) = body.root.get("reasoning") else { return Vec::new() };
            let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
            let summaries = ["auto", "concise", "detailed"];
            let contexts = ["auto", "current_turn", "all_turns"];
            let words: [(&str, &[&str]); 3] =
                [("effort", &efforts), ("summary", &summaries), ("context", &contexts)];
            words.iter().filter_map(|(key, words)| not_one_of(&reasoning, key, words)).collect()
        },
    },
    Rule {
        name: "text-format-is-whole",
        says: "text.format is text, json_object, or json_schema with name and schema",
        check: broken_format,
    },
    Rule {
        name: "instructions-are-text",
        says: "instructions is a string",
        check: |body| {
            let given = body.root.get("instructions").filter(|at| at.text().is_none());
            given.map(|at| at.found("not a text")).into_iter().collect()
        },
    },
    METADATA,
    SAFETY_IDENTIFIER,
];

const FIELDS: [&str; 27] = [
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "max_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "top_logprobs",
    "text",
    "reasoning",
    "truncation",
    "prompt_cache_key",
    "prompt_cache_options",
    "safety_identifier",
    "user",
    "metadata",
    "service_tier",
    "store",
    "include",
    "previous_response_id",
    "conversation",
    "background",
];

/// The tools that are functions.
fn functions<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let tools = body.root.list("tools").into_iter();
    tools.filter(|tool| tool.is("type", "function")).collect()
}

fn tool_names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let tools = functions(body).into_iter();
    tools.filter_map(|tool| Some((tool.clone(), tool.text_of("name")?))).collect()
}

/// The names of the tools and of the calls.
fn names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let called = calls(body).into_iter().map(|call| (call.at, call.name));
    tool_names(body).into_iter().chain(called).collect()
}

/// The format that the answer is to have.
fn format<'a>(body: &Body<'a>) -> Option<Node<'a>> {
    body.root.get("text")?.get("format")
}

fn stored(body: &Body<'_>) -> Vec<Found> {
    if !body.server.stateless {
        return Vec::new();
    }
    let keys = ["previous_response_id", "conversation", "background"];
    let mut found = refused(&body.root, &keys, "refers to what was stored");
    if body.root.value.get("store").is_none_or(|store| store != false) {
        found.push(body.root.found_in("store", "not false"));
    }
    found
}

fn broken_tools(body: &Body<'_>) -> Vec<Found> {
    if !body.root.has("tools") {
        return Vec::new();
    }
    let mut found = not_objects(&body.root, "tools", 128);
    for tool in body.root.list("tools").iter().filter(|tool| tool.value.is_object()) {
        let function = tool.is("type", "function");
        let named = tool.text_of("name").is_some() && !tool.has("function");
        if tool.text_of("type").is_none() || function && !named {
            found.push(tool.found("not {type: function, name}"));
        }
    }
    found
}

fn unknown_choice(body: &Body<'_>) -> Vec<Found> {
    let Some(choice) = body.root.get("tool_choice") else { return Vec::new() };
    let offered = |name| tool_names(body).iter().any(|(_, offered)| *offered == name);
    let known = match (choice.text(), choice.text_of("type")) {
        (Some(word), _) => matches!(word, "auto" | "none" | "required"),
        // Without tools there is another rule for it.
        (None, Some("function")) => {
            choice.text_of("name").is_some_and(|name| offered(name) || !body.root.has("tools"))
        }
        (None, kind) => kind.is_some(),
    };
    if known { Vec::new() } else { vec![choice.found("no choice that there is")] }
}

fn broken_format(body: &Body<'_>) -> Vec<Found> {
    let Some(format) = format(body) else { return Vec::new() };
    let name = format.text_of("name").unwrap_or_default();
    let schema = format.get("schema");
    let whole = match format.text_of("type") {
        Some("text" | "json_object") => true,
        Some("json_schema") => {
            (1..=64).contains(&name.len())
                && is_plain(name)
                && schema.is_some_and(|root| schema::not_of_an_object(&root).is_none())
        }
        _ => false,
    };
    if whole { Vec::new() } else { vec![format.found("not whole")] }
}
