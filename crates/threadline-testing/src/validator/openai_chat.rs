//! Chat Completions: what `OpenAI` and the servers that speak like it refuse.

mod message;

use self::message::{calls, contents, media, messages, steps};
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
        says: "unknown top-level fields are refused: unknown_parameter",
        check: |body| unknown_fields(body, &FIELDS),
    },
    MODEL,
    Rule {
        name: "messages-are-a-list",
        says: "messages is a list of at least one object",
        check: |body| not_objects(&body.root, "messages", usize::MAX),
    },
    Rule {
        name: "known-roles",
        says: "a role is developer, system, user, assistant or tool",
        check: message::unknown_roles,
    },
    Rule {
        name: "known-message-fields",
        says: "a message has role, content, name, refusal, audio, tool_calls or tool_call_id",
        check: message::unknown_message_fields,
    },
    Rule {
        name: "one-system-at-the-beginning",
        says: "chat templates raise on a second system message and on one that is not the first",
        check: message::late_systems,
    },
    Rule {
        name: "roles-alternate",
        says: "after the system message comes a user's, and no user or assistant speaks twice",
        check: message::out_of_turn,
    },
    Rule {
        name: "last-is-not-the-assistant",
        says: "a last message of role assistant is refused without prefix: true",
        check: message::trailing_assistant,
    },
    Rule {
        name: "user-does-not-follow-tool",
        says: "Unexpected role 'user' after role 'tool'",
        check: message::user_after_tool,
    },
    Rule {
        name: "content-is-given",
        says: "content may be null or absent on assistant only, and only with tool_calls",
        check: message::without_content,
    },
    Rule {
        name: "content-is-text-or-parts",
        says: "content is a string or a list of at least one part of a known type",
        check: message::odd_contents,
    },
    Rule {
        name: "no-empty-text",
        says: "a text that is sent says something; only an answered call may have said nothing",
        check: message::empty_texts,
    },
    Rule {
        name: "media-come-from-the-user",
        says: "image_url, file and input_audio parts are a user's, a refusal is an assistant's",
        check: message::misplaced_parts,
    },
    Rule {
        name: "tool-content-is-text",
        says: "the content of a tool message is a string or text parts only",
        check: message::tool_media,
    },
    Rule {
        name: "tool-content-is-a-string",
        says: "Ollama loses the tool's name when a tool message has a list as content",
        check: message::tool_lists,
    },
    Rule {
        name: "media-are-whole",
        says: "image_url.url and file.file_data are data:TYPE;base64,… or an address",
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
        name: "files-have-a-name",
        says: "file_data goes with a filename",
        check: message::nameless_files,
    },
    Rule {
        name: "calls-are-whole",
        says: "tool_calls is a list of {id, type: function, function: {name, arguments}}",
        check: message::broken_calls,
    },
    Rule {
        name: "every-call-is-answered",
        says: "an assistant message with tool_calls must be followed by tool messages",
        check: |body| unanswered(&steps(body)),
    },
    Rule {
        name: "every-result-has-a-call",
        says: "a tool message answers a call of the assistant message before it",
        check: |body| orphans(&steps(body)),
    },
    Rule {
        name: "one-result-per-call",
        says: "a call is answered once",
        check: |body| answered_twice(&steps(body)),
    },
    Rule {
        name: "ids-are-unique",
        says: "no two calls have the same id",
        check: |body| repeated_ids(&calls(body)),
    },
    Rule {
        name: "ids-fit",
        says: "tool_calls[].id has at most 40 characters: string_above_max_length",
        check: |body| id_lengths(body, &calls(body), 40),
    },
    Rule {
        name: "ids-are-nine-characters",
        says: "Mistral: an id is exactly nine of A-Z a-z 0-9",
        check: |body| {
            let nine = |id: &str| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
            let calls = calls(body).into_iter().filter(|_| body.server.nine_char_ids);
            calls
                .filter(|call| !nine(call.id))
                .map(|call| call.at.found(format_args!("the id {:?}", call.id)))
                .collect()
        },
    },
    Rule {
        name: "names-are-plain",
        says: "a function's name is ^[A-Za-z0-9_-]{1,64}$",
        check: |body| plain_names(body, &names(body), 64),
    },
    Rule {
        name: "arguments-are-an-object",
        says: "arguments is a string that holds a JSON object, never an empty one",
        check: |body| {
            let arguments = calls(body).into_iter().filter_map(|call| {
                let function = call.at.get("function")?;
                let arguments = function.get("arguments")?;
                not_an_object_text(&arguments, arguments.text()?)
            });
            arguments.collect()
        },
    },
    Rule {
        name: "thinking-goes-back",
        says: "DeepSeek: reasoning_content must be sent back once tools were used",
        check: message::unsaid_thinking,
    },
    Rule {
        name: "tools-are-whole",
        says: "tools is a list of 1 to 128 {type: function, function: {name}}",
        check: broken_tools,
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
            let schemas = tools(body).into_iter().filter_map(|tool| tool.get("parameters"));
            schemas.filter_map(|schema| schema::not_of_an_object(&schema)).collect()
        },
    },
    Rule {
        name: "strict-schema",
        says: "strict: every property required, every object closed, anyOf not at the root",
        check: |body| {
            let strict =
                |tool: &Node<'_>| tool.value.get("strict").is_some_and(|flag| flag == true);
            let mut schemas: Vec<_> = tools(body)
                .into_iter()
                .filter(strict)
                .filter_map(|tool| tool.get("parameters"))
                .collect();
            let format = body.root.get("response_format").and_then(|at| at.get("json_schema"));
            schemas.extend(format.filter(strict).and_then(|at| at.get("schema")));
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
        says: "tool_choice is auto, none, required or one of the functions",
        check: unknown_choice,
    },
    Rule {
        name: "no-forced-call",
        says: "Thinking mode does not support this tool_choice",
        check: |body| {
            let choice = body.root.get("tool_choice").filter(|_| body.server.forced_choice_refused);
            let forced = choice.filter(|at| !matches!(at.text(), Some("auto" | "none")));
            forced.map(|at| at.found("a call cannot be forced")).into_iter().collect()
        },
    },
    STREAM_OPTIONS,
    Rule {
        name: "sampling-is-in-range",
        says: "temperature is 0 to 2, top_p 0 to 1, penalties -2 to 2",
        check: |body| {
            let ranges = [
                ("temperature", 0.0, 2.0),
                ("top_p", 0.0, 1.0),
                ("presence_penalty", -2.0, 2.0),
                ("frequency_penalty", -2.0, 2.0),
            ];
            let out = |(key, least, most)| out_of_range(&body.root, key, least, most);
            ranges.into_iter().filter_map(out).collect()
        },
    },
    Rule {
        name: "no-sampling",
        says: "reasoning models refuse temperature, top_p, logprobs",
        check: |body| {
            let keys: &[&str] = if body.server.sampling_refused {
                &["temperature", "top_p", "logprobs", "top_logprobs"]
            } else {
                &[]
            };
            refused(&body.root, keys, "not with this model")
        },
    },
    Rule {
        name: "output-cap-is-one-number",
        says: "max_completion_tokens or max_tokens, from 1 up, not both",
        check: |body| {
            let keys = ["max_completion_tokens", "max_tokens"];
            let mut found: Vec<_> =
                keys.iter().filter_map(|key| below(&body.root, key, 1)).collect();
            if keys.iter().all(|key| body.root.has(key)) {
                found.push(body.root.found_in("max_tokens", "beside max_completion_tokens"));
            }
            found
        },
    },
    Rule {
        name: "no-max-tokens",
        says: "'max_tokens' is not supported with this model: use 'max_completion_tokens'",
        check: |body| {
            let keys: &[&str] = if body.server.max_tokens_refused { &["max_tokens"] } else { &[] };
            refused(&body.root, keys, "not with this model")
        },
    },
    Rule {
        name: "stops-are-few",
        says: "stop is a text or a list of 1 to 4 texts",
        check: |body| {
            let Some(stop) = body.root.get("stop") else { return Vec::new() };
            let texts = if stop.text().is_some() { vec![stop.clone()] } else { stop.items() };
            let fits = (1..=4).contains(&texts.len())
                && texts.iter().all(|at| at.text().is_some_and(|text| !text.is_empty()));
            if fits { Vec::new() } else { vec![stop.found("not 1 to 4 texts")] }
        },
    },
    Rule {
        name: "effort-is-known",
        says: "reasoning_effort is none, minimal, low, medium, high, xhigh or max",
        check: |body| {
            let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
            not_one_of(&body.root, "reasoning_effort", &efforts).into_iter().collect()
        },
    },
    Rule {
        name: "tools-need-no-effort",
        says: "gpt-5.4 and later: function tools need reasoning_effort none here",
        check: |body| {
            let gated = body.server.tools_need_no_effort && body.root.has("tools");
            let found = || body.root.found_in("reasoning_effort", "not none, and there are tools");
            let none = body.root.is("reasoning_effort", "none");
            if gated && !none { vec![found()] } else { Vec::new() }
        },
    },
    Rule {
        name: "response-format-is-whole",
        says: "response_format is text, json_object, or json_schema with name and schema",
        check: broken_format,
    },
    Rule {
        name: "json-mode-says-json",
        says: "json_object mode needs the word JSON in the messages",
        check: |body| {
            let format = body.root.get("response_format");
            let asked = format.filter(|at| at.is("type", "json_object"));
            let says = |at: &Node<'_>| at.value.to_string().to_ascii_lowercase().contains("json");
            let said = messages(body)
                .iter()
                .filter_map(|message| message.get("content"))
                .any(|at| says(&at));
            let asked = asked.filter(|_| !said);
            asked.map(|at| at.found("no message says JSON")).into_iter().collect()
        },
    },
    Rule {
        name: "cache-marks-are-few",
        says: "at most 4 prompt_cache_breakpoints",
        check: |body| {
            let parts = contents(body).into_iter().flat_map(|(_, content)| content.items());
            let marks: Vec<_> = parts.filter_map(|at| at.get("prompt_cache_breakpoint")).collect();
            marks.iter().skip(4).map(|mark| mark.found("a fifth mark")).collect()
        },
    },
    METADATA,
    SAFETY_IDENTIFIER,
];

const FIELDS: [&str; 33] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_completion_tokens",
    "max_tokens",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "stop",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "prompt_cache_key",
    "prompt_cache_options",
    "safety_identifier",
    "user",
    "metadata",
    "service_tier",
    "seed",
    "n",
    "store",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "presence_penalty",
    "frequency_penalty",
    "modalities",
    "audio",
    "prediction",
    "web_search_options",
];

/// The functions of the tools that have one.
fn tools<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    body.root.list("tools").iter().filter_map(|tool| tool.get("function")).collect()
}

/// The names of the tools.
fn tool_names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    tools(body).into_iter().filter_map(|tool| Some((tool.clone(), tool.text_of("name")?))).collect()
}

/// The names of the tools and of the calls.
fn names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let called = calls(body).into_iter().map(|call| (call.at, call.name));
    tool_names(body).into_iter().chain(called).collect()
}

fn broken_tools(body: &Body<'_>) -> Vec<Found> {
    if !body.root.has("tools") {
        return Vec::new();
    }
    let mut found = not_objects(&body.root, "tools", 128);
    for tool in body.root.list("tools").iter().filter(|tool| tool.value.is_object()) {
        let named = tool.get("function").is_some_and(|function| function.text_of("name").is_some());
        if !tool.is("type", "function") || !named {
            found.push(tool.found("not {type: function, function: {name}}"));
        }
    }
    found
}

fn unknown_choice(body: &Body<'_>) -> Vec<Found> {
    let Some(choice) = body.root.get("tool_choice") else { return Vec::new() };
    let named = choice.get("function").and_then(|function| function.text_of("name"));
    let offered = |name| tool_names(body).iter().any(|(_, offered)| *offered == name);
    let known = match choice.text() {
        Some(word) => matches!(word, "auto" | "none" | "required"),
        None if choice.is("type", "allowed_tools") => true,
        // Without tools there is another rule for it.
        None => {
            choice.is("type", "function")
                && named.is_some_and(|name| offered(name) || !body.root.has("tools"))
        }
    };
    if known { Vec::new() } else { vec![choice.found("no choice that there is")] }
}

fn broken_format(body: &Body<'_>) -> Vec<Found> {
    let Some(format) = body.root.get("response_format") else { return Vec::new() };
    let named = |schema: &Node<'_>| {
        let name = schema.text_of("name").unwrap_or_default();
        (1..=64).contains(&name.len()) && is_plain(name)
    };
    let of_object = |schema: &Node<'_>| {
        schema.get("schema").is_some_and(|root| schema::not_of_an_object(&root).is_none())
    };
    let whole = match format.text_of("type") {
        Some("text" | "json_object") => true,
        Some("json_schema") => {
            format.get("json_schema").is_some_and(|schema| named(&schema) && of_object(&schema))
        }
        _ => false,
    };
    if whole { Vec::new() } else { vec![format.found("not whole")] }
}
