//! generateContent: what Gemini refuses.

mod content;
mod setting;

use self::content::{calls, media};
use self::setting::{declarations, names};
use super::common::{BODY_FITS, OBJECT, not_objects, unknown_fields};
use super::pairing::{repeated_ids, repeated_names};
use super::{Rule, media as medium, schema};

pub(super) static RULES: &[Rule] = &[
    OBJECT,
    BODY_FITS,
    Rule {
        name: "known-fields",
        says: "Unknown name: the body has only fields that are known",
        check: |body| unknown_fields(body, &FIELDS),
    },
    Rule {
        name: "contents-are-a-list",
        says: "contents is a list of at least one object",
        check: |body| not_objects(&body.root, "contents", usize::MAX),
    },
    Rule {
        name: "known-roles",
        says: "Please use a valid role: user, model",
        check: content::unknown_roles,
    },
    Rule {
        name: "roles-alternate",
        says: "the user speaks first, and nobody twice, but results and text may be two contents",
        check: content::out_of_turn,
    },
    Rule {
        name: "last-is-not-the-model",
        says: "the last content is the user's, unless there is a continuationToken",
        check: content::trailing_model,
    },
    Rule {
        name: "parts-are-not-empty",
        says: "contents.parts must not be empty",
        check: content::without_parts,
    },
    Rule {
        name: "parts-are-one-thing",
        says: "a part holds exactly one thing that is known",
        check: content::odd_parts,
    },
    Rule {
        name: "no-empty-text",
        says: "a text that is sent says something, unless it carries a signature",
        check: content::empty_texts,
    },
    Rule {
        name: "parts-fit-their-role",
        says: "calls and thoughts are the model's, results the user's",
        check: content::misplaced_parts,
    },
    Rule {
        name: "calls-are-whole",
        says: "a functionCall has a name",
        check: content::broken_calls,
    },
    Rule {
        name: "args-are-an-object",
        says: "functionCall.args is an object",
        check: content::odd_args,
    },
    Rule {
        name: "response-is-an-object",
        says: "functionResponse.response is an object: {output} or {error}",
        check: content::odd_responses,
    },
    Rule {
        name: "results-stand-alone",
        says: "a content with functionResponses holds nothing else",
        check: content::mixed_results,
    },
    Rule {
        name: "every-call-is-answered",
        says: "the number of function response parts equals that of the function call parts",
        check: content::unanswered,
    },
    Rule {
        name: "every-result-has-a-call",
        says: "a functionResponse comes right after a content with functionCalls",
        check: content::orphans,
    },
    Rule {
        name: "results-match-their-calls",
        says: "results have the names and ids of the calls, in their order",
        check: content::mismatched,
    },
    Rule {
        name: "ids-are-unique",
        says: "no two calls have the same id",
        check: |body| repeated_ids(&calls(body)),
    },
    Rule {
        name: "names-are-plain",
        says: "a name starts with a letter or _, then has [A-Za-z0-9_.:-], at most 128",
        check: |body| {
            let cap = body.server.name_cap.unwrap_or(128);
            let odd = names(body).into_iter().filter(|(_, name)| !setting::is_name(name, cap));
            odd.map(|(at, name)| at.found(format_args!("the name {name:?}"))).collect()
        },
    },
    Rule {
        name: "calls-are-signed",
        says: "Gemini 3: the first call of each step of the current turn has a thoughtSignature",
        check: content::unsigned,
    },
    Rule {
        name: "signatures-are-texts",
        says: "thoughtSignature is a text with something in it",
        check: content::odd_signatures,
    },
    Rule {
        name: "media-are-whole",
        says: "inlineData has mimeType and data, fileData fileUri",
        check: |body| medium::not_whole(&media(body)),
    },
    Rule {
        name: "media-are-base64",
        says: "Base64 decoding failed",
        check: |body| medium::not_base64(&media(body)),
    },
    Rule {
        name: "media-are-taken",
        says: "Unsupported MIME type",
        check: |body| medium::not_taken(&media(body), body.server),
    },
    Rule {
        name: "media-are-as-declared",
        says: "the declared type matches the bytes",
        check: |body| medium::not_as_declared(&media(body)),
    },
    Rule {
        name: "media-are-in-the-body",
        says: "an address on the web must be fetchable by Google: send bytes",
        check: |body| medium::not_here(&media(body), body.server),
    },
    Rule {
        name: "results-have-no-parts",
        says: "functionResponse.parts is known from Gemini 3 on",
        check: content::result_parts,
    },
    Rule {
        name: "system-is-text",
        says: "systemInstruction has at least one text part, none of them empty",
        check: setting::odd_system,
    },
    Rule {
        name: "tools-are-whole",
        says: "tools is a list of {functionDeclarations: [{name}]}, or of built-ins",
        check: setting::broken_tools,
    },
    Rule {
        name: "tool-names-are-unique",
        says: "Duplicate function declaration found",
        check: |body| repeated_names(&setting::tool_names(body)),
    },
    Rule {
        name: "one-kind-of-schema",
        says: "parameters and parametersJsonSchema are mutually exclusive",
        check: |body| {
            let keys = ["parameters", "parametersJsonSchema"];
            let both = declarations(body).into_iter().filter(|at| keys.iter().all(|k| at.has(k)));
            both.map(|at| at.found("both parameters and parametersJsonSchema")).collect()
        },
    },
    Rule {
        name: "schema-is-of-an-object",
        says: "the root of a function's parameters is of type OBJECT",
        check: |body| {
            let schemas = setting::schemas(body, &["parameters", "parametersJsonSchema"]);
            schemas.iter().filter_map(schema::not_of_an_object).collect()
        },
    },
    Rule {
        name: "schema-is-openapi",
        says: "Unknown name: parameters is the OpenAPI subset, without $ref, const, type lists",
        check: |body| {
            let mut schemas = setting::schemas(body, &["parameters"]);
            schemas.extend(setting::generation(body).and_then(|at| at.get("responseSchema")));
            schemas.iter().flat_map(schema::not_openapi).collect()
        },
    },
    Rule {
        name: "parameter-names-are-plain",
        says: "names of parameters are [A-Za-z0-9_], at most 64",
        check: |body| {
            let schemas = setting::schemas(body, &["parameters", "parametersJsonSchema"]);
            schemas.iter().flat_map(schema::parameter_names).collect()
        },
    },
    Rule {
        name: "tool-choice-needs-tools",
        says: "Function calling config is set without function_declarations",
        check: setting::choice_without_tools,
    },
    Rule {
        name: "tool-choice-is-known",
        says: "mode is AUTO, NONE, ANY or VALIDATED; allowedFunctionNames with ANY, of tools",
        check: setting::unknown_choice,
    },
    Rule {
        name: "no-forced-call",
        says: "the model does not take a mode that forces a call",
        check: setting::forced_call,
    },
    Rule {
        name: "known-generation-fields",
        says: "Unknown name at 'generation_config'",
        check: setting::unknown_generation_fields,
    },
    Rule {
        name: "thinking-is-said-once",
        says: "thinkingLevel and thinkingBudget together are refused",
        check: setting::doubled_thinking,
    },
    Rule {
        name: "thinking-is-known",
        says: "thinkingLevel is MINIMAL, LOW, MEDIUM or HIGH, and a budget from -1 up",
        check: setting::odd_thinking,
    },
    Rule {
        name: "no-thinking-level",
        says: "Gemini 2.5: Thinking level is not supported for this model",
        check: setting::thinking_level,
    },
    Rule {
        name: "response-schema-is-whole",
        says: "one response schema, and with it responseMimeType application/json",
        check: setting::odd_response_schema,
    },
    Rule {
        name: "sampling-is-in-range",
        says: "temperature is 0 to 2, topP 0 to 1",
        check: setting::sampling_range,
    },
    Rule {
        name: "no-sampling",
        says: "the model refuses temperature, topP and topK",
        check: setting::sampling,
    },
    Rule {
        name: "output-cap-is-a-number",
        says: "maxOutputTokens is from 1 up",
        check: setting::output_cap,
    },
    Rule {
        name: "stops-are-few",
        says: "stopSequences are at most 5 texts",
        check: setting::odd_stops,
    },
    Rule {
        name: "cached-content-is-alone",
        says: "cachedContent cannot be combined with tools, toolConfig or systemInstruction",
        check: setting::cached_content,
    },
];

const FIELDS: [&str; 10] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "serviceTier",
    "labels",
    "continuationToken",
];
