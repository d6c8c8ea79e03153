//! Messages: what Anthropic refuses.

mod message;
mod setting;

use self::message::{calls, media, steps};
use self::setting::{tool_names, tools};
use super::common::{BODY_FITS, MODEL, OBJECT, not_objects, unknown_fields};
use super::pairing::{
    answered_twice, id_lengths, is_plain, orphans, plain_names, repeated_ids, repeated_names,
    unanswered,
};
use super::{Rule, media as medium, schema};

pub(super) static RULES: &[Rule] = &[
    OBJECT,
    BODY_FITS,
    Rule {
        name: "known-fields",
        says: "Extra inputs are not permitted",
        check: |body| unknown_fields(body, &FIELDS),
    },
    MODEL,
    Rule {
        name: "max-tokens-is-given",
        says: "max_tokens is required; 0 only warms the cache",
        check: setting::no_max_tokens,
    },
    Rule {
        name: "messages-are-a-list",
        says: "messages is a list of 1 to 100000 objects",
        check: |body| not_objects(&body.root, "messages", 100_000),
    },
    Rule {
        name: "known-roles",
        says: "a role is user or assistant; 'system' is not supported on every model",
        check: message::unknown_roles,
    },
    Rule {
        name: "system-messages-have-their-place",
        says: "a system message follows a user's, is last or before an assistant's, and is text",
        check: message::misplaced_systems,
    },
    Rule {
        name: "roles-alternate",
        says: "the user speaks first, and nobody twice",
        check: message::out_of_turn,
    },
    Rule {
        name: "last-is-not-the-assistant",
        says: "the last message is not the assistant's, unless a server tool is at work",
        check: message::trailing_assistant,
    },
    Rule {
        name: "content-is-text-or-blocks",
        says: "content is a string or a list of at least one block of a known type",
        check: message::odd_contents,
    },
    Rule {
        name: "no-empty-text",
        says: "text content blocks must be non-empty, and the only text contain non-whitespace",
        check: message::empty_texts,
    },
    Rule {
        name: "blocks-fit-their-role",
        says: "images and results are the user's, thinking and calls the assistant's",
        check: message::misplaced_blocks,
    },
    Rule {
        name: "documents-come-from-the-user",
        says: "2026-10-21: no document directly in an assistant message",
        check: message::assistant_documents,
    },
    Rule {
        name: "citations-are-not-copied",
        says: "2026-10-21: no citations on a user's text",
        check: message::copied_citations,
    },
    Rule {
        name: "calls-come-last",
        says: "nothing but tool_use follows the first tool_use of a message",
        check: message::after_calls,
    },
    Rule {
        name: "results-come-first",
        says: "tool_result blocks come before text and images",
        check: message::late_results,
    },
    Rule {
        name: "calls-are-whole",
        says: "a tool_use has id and name",
        check: message::broken_calls,
    },
    Rule {
        name: "input-is-an-object",
        says: "the input of a tool_use is an object",
        check: |body| {
            let others = calls(body)
                .into_iter()
                .filter(|call| !call.at.get("input").is_some_and(|input| input.value.is_object()));
            others.map(|call| call.at.found_in("input", "not an object")).collect()
        },
    },
    Rule {
        name: "results-are-whole",
        says: "the content of a tool_result is absent, a text or a list of text, image, document",
        check: message::broken_results,
    },
    Rule {
        name: "every-call-is-answered",
        says: "tool_use ids were found without tool_result blocks immediately after",
        check: |body| unanswered(&steps(body)),
    },
    Rule {
        name: "every-result-has-a-call",
        says: "a tool_result has a tool_use in the message before",
        check: |body| orphans(&steps(body)),
    },
    Rule {
        name: "one-result-per-call",
        says: "each tool_use has a single result",
        check: |body| answered_twice(&steps(body)),
    },
    Rule {
        name: "ids-are-unique",
        says: "tool_use ids must be unique",
        check: |body| repeated_ids(&calls(body)),
    },
    Rule {
        name: "ids-fit",
        says: "an id is not empty, and not longer than a server takes",
        check: |body| id_lengths(body, &calls(body), usize::MAX),
    },
    Rule {
        name: "ids-are-plain",
        says: "an id is ^[A-Za-z0-9_-]+$",
        check: |body| {
            let odd = calls(body).into_iter().filter(|call| !is_plain(call.id));
            odd.map(|call| call.at.found(format_args!("the id {:?}", call.id))).collect()
        },
    },
    Rule {
        name: "names-are-plain",
        says: "a tool's name is ^[A-Za-z0-9_-]{1,128}$",
        check: |body| {
            let called = calls(body).into_iter().map(|call| (call.at, call.name));
            let names: Vec<_> = tool_names(body).into_iter().chain(called).collect();
            plain_names(body, &names, 128)
        },
    },
    Rule {
        name: "media-are-whole",
        says: "a source is base64 with media_type and data, text, url or file",
        check: |body| medium::not_whole(&media(body)),
    },
    Rule {
        name: "media-are-base64",
        says: "data is base64, without data: before it",
        check: |body| medium::not_base64(&media(body)),
    },
    Rule {
        name: "media-are-taken",
        says: "an image is png, jpeg, gif or webp, a document application/pdf",
        check: message::media_types,
    },
    Rule {
        name: "media-are-as-declared",
        says: "the declared type matches the bytes",
        check: |body| medium::not_as_declared(&media(body)),
    },
    Rule {
        name: "media-are-in-the-body",
        says: "an address on the web is not fetched",
        check: |body| medium::not_here(&media(body), body.server),
    },
    Rule {
        name: "thinking-is-signed",
        says: "a thinking block has its signature, a redacted one its data",
        check: message::unsigned_thinking,
    },
    Rule {
        name: "thinking-comes-first",
        says: "thinking stands before the text and the calls that it led to",
        check: message::late_thinking,
    },
    Rule {
        name: "open-loop-starts-with-thinking",
        says: "Expected thinking: with manual thinking an open tool loop starts with it",
        check: message::open_loop,
    },
    Rule {
        name: "server-tools-are-paired",
        says: "of a server tool's use and result both are kept, or none",
        check: message::lone_server_blocks,
    },
    Rule {
        name: "system-is-text",
        says: "system is a text or a list of text blocks, none of them empty",
        check: setting::odd_system,
    },
    Rule {
        name: "tools-are-whole",
        says: "tools is a list of at least one {name, input_schema}, or of server tools",
        check: setting::broken_tools,
    },
    Rule {
        name: "tool-names-are-unique",
        says: "tool names must be unique",
        check: |body| repeated_names(&tool_names(body)),
    },
    Rule {
        name: "schema-is-of-an-object",
        says: "the root of input_schema is of type object, without anyOf, oneOf, allOf or $ref",
        check: |body| {
            let schemas = tools(body).into_iter().filter_map(|tool| tool.get("input_schema"));
            let odd = schemas.flat_map(|schema| {
                let composed = schema::composed_root(&schema);
                schema::not_of_an_object(&schema).into_iter().chain(composed)
            });
            odd.collect()
        },
    },
    Rule {
        name: "strict-schema",
        says: "strict: closed objects, no recursion",
        check: |body| {
            let schemas = setting::strict_schemas(body);
            let open = schemas.iter().flat_map(schema::open_objects);
            open.chain(schemas.iter().flat_map(schema::recursion)).collect()
        },
    },
    Rule {
        name: "strict-tools-are-few",
        says: "at most 20 strict tools, 24 optional and 16 union-typed parameters in them",
        check: setting::too_much_strict,
    },
    Rule {
        name: "tool-choice-needs-tools",
        says: "tool_choice is refused without tools",
        check: setting::choice_without_tools,
    },
    Rule {
        name: "tool-choice-is-known",
        says: "tool_choice is {type: auto, none, any} or {type: tool, name} of a tool",
        check: setting::unknown_choice,
    },
    Rule {
        name: "no-forced-call",
        says: "a call cannot be forced with manual thinking, and with some models never",
        check: setting::forced_call,
    },
    Rule {
        name: "thinking-is-known",
        says: "thinking is adaptive, enabled with budget_tokens, disabled or between_tools",
        check: setting::odd_thinking,
    },
    Rule {
        name: "thinking-budget-fits",
        says: "budget_tokens is at least 1024 and below max_tokens",
        check: setting::odd_budget,
    },
    Rule {
        name: "output-config-is-known",
        says: "effort is low, medium, high, xhigh or max, format is a json_schema",
        check: setting::odd_output_config,
    },
    Rule {
        name: "output-schema-is-plain",
        says: "output_config.format refuses ranges, lengths and patterns, and open objects",
        check: setting::odd_output_schema,
    },
    Rule {
        name: "sampling-is-in-range",
        says: "temperature and top_p are 0 to 1: range: 0..1",
        check: setting::sampling_range,
    },
    Rule {
        name: "no-sampling",
        says: "2026-10-21 and newer models refuse temperature, top_p and top_k, even at defaults",
        check: setting::sampling,
    },
    Rule {
        name: "no-sampling-with-thinking",
        says: "with thinking, temperature may only be 1 and there is no top_k",
        check: setting::sampling_with_thinking,
    },
    Rule {
        name: "stops-are-texts",
        says: "stop_sequences are texts with something in them",
        check: setting::odd_stops,
    },
    Rule {
        name: "cache-marks-are-few",
        says: "at most 4 blocks with cache_control",
        check: setting::many_marks,
    },
    Rule {
        name: "cache-marks-are-whole",
        says: "cache_control is {type: ephemeral} with a ttl of 5m or 1h",
        check: setting::odd_marks,
    },
    Rule {
        name: "cache-marks-have-their-place",
        says: "cache_control cannot be set for thinking or for empty text blocks",
        check: setting::misplaced_marks,
    },
    Rule { name: "metadata-fits", says: "metadata is {user_id}", check: setting::odd_metadata },
];

const FIELDS: [&str; 21] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "stop_sequences",
    "thinking",
    "output_config",
    "cache_control",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "temperature",
    "top_p",
    "top_k",
    "container",
    "context_management",
    "mcp_servers",
];
