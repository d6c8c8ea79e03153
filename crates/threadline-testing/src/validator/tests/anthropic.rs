//! A request of Messages, and what is wrong with it.

use serde_json::{Value, json};

use super::{
    AnthropicVersion, JPEG, Mutant, PDF, PNG, Server, drop_field, insert, push, remove, set,
};

/// Text, an image, a document, thinking, parallel calls, results with media, a screen, marks.
pub(super) fn valid() -> Value {
    let image = json!({"type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": "m", "max_tokens": 8000, "stream": true, "stop_sequences": ["END"],
        "system": [{"type": "text", "text": "Be terse.", "cache_control": mark}],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "medium"}, "metadata": {"user_id": "user"},
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Look."}, image,
                {"type": "document", "title": "a.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
                {"type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "a"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "Eq"},
                {"type": "redacted_thinking", "data": "Em"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_a", "name": "zoom", "input": {"x": 1}},
                {"type": "tool_use", "id": "toolu_b", "name": "ocr", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_a",
                    "content": [{"type": "text", "text": "See:"}, image]},
                {"type": "tool_result", "tool_use_id": "toolu_b", "content": "", "is_error": true},
                {"type": "text", "text": "And?"}]},
            {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "srvtoolu_a", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_a", "content": []},
                {"type": "thinking", "thinking": "Hm.", "signature": "Er"},
                {"type": "text", "text": "It is a cat."}]},
            {"role": "user", "content": "Sure?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "Es"},
                {"type": "tool_use", "id": "toolu_c", "name": "ocr", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_c", "cache_control": mark},
                {"type": "text", "text": "# Screen\nempty"}]}],
        "tools": [
            {"name": "zoom", "description": "Zooms.", "strict": true,
                "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}},
                    "required": ["x"], "additionalProperties": false}},
            {"name": "ocr", "input_schema": {"type": "object", "properties": {}}},
            {"type": "web_search_20250305", "name": "web_search", "cache_control": mark}]
    })
}

const IMAGE: &str = "/messages/0/content/1/source";

/// A version that takes a temperature.
fn old(body: &mut Value, server: &mut Server) {
    server.anthropic_version = AnthropicVersion::V2023;
    set(body, "/thinking", json!({"type": "disabled"}));
}

/// A strict tool with these properties, all of them optional.
fn strict(name: &str, properties: &Value) -> Value {
    json!({"name": name, "strict": true, "input_schema": {"type": "object",
        "properties": properties, "additionalProperties": false}})
}

pub(super) const MUTANTS: &[Mutant] = &[
    ("is-a-json-object", |body, _| *body = json!(null)),
    ("body-fits", |_, server| server.body_cap = 100),
    ("known-fields", |body, _| set(body, "/max_completion_tokens", json!(1))),
    ("model-is-named", |body, _| drop_field(body, "", "model")),
    ("max-tokens-is-given", |body, _| drop_field(body, "", "max_tokens")),
    ("max-tokens-is-given", |body, _| set(body, "/max_tokens", json!(-1))),
    ("messages-are-a-list", |body, _| set(body, "/messages", json!([]))),
    ("known-roles", |body, _| set(body, "/messages/4/role", json!("human"))),
    ("known-roles", |body, _| {
        push(body, "/messages", json!({"role": "system", "content": "More."}));
    }),
    ("system-messages-have-their-place", |body, server| {
        server.system_messages = true;
        insert(body, "/messages", 0, json!({"role": "system", "content": "More."}));
    }),
    ("system-messages-have-their-place", |body, server| {
        server.system_messages = true;
        insert(body, "/messages", 6, json!({"role": "system", "content": "More."}));
    }),
    ("roles-alternate", |body, _| {
        push(body, "/messages", json!({"role": "user", "content": "More."}));
    }),
    ("roles-alternate", |body, _| drop(remove(body, "/messages", 4))),
    ("roles-alternate", |body, _| drop(remove(body, "/messages", 0))),
    ("last-is-not-the-assistant", |body, _| {
        push(body, "/messages", json!({"role": "assistant", "content": "I"}));
    }),
    ("content-is-text-or-blocks", |body, _| set(body, "/messages/4/content", json!([]))),
    ("content-is-text-or-blocks", |body, _| set(body, "/messages/4/content", json!(null))),
    ("content-is-text-or-blocks", |body, _| {
        set(body, "/messages/4/content", json!([{"type": "input_text", "text": "Sure?"}]));
    }),
    ("no-empty-text", |body, _| set(body, "/messages/1/content/2/text", json!(""))),
    ("no-empty-text", |body, _| set(body, "/messages/3/content/3/text", json!(" \n"))),
    ("no-empty-text", |body, _| set(body, "/messages/4/content", json!(""))),
    ("no-empty-text", |body, _| set(body, "/messages/2/content/0/content/0/text", json!(""))),
    ("blocks-fit-their-role", |body, _| {
        let image = body.pointer("/messages/0/content/1").cloned().unwrap_or_default();
        insert(body, "/messages/3/content", 3, image);
    }),
    ("blocks-fit-their-role", |body, _| {
        let thinking = json!({"type": "thinking", "thinking": "", "signature": "Eq"});
        insert(body, "/messages/0/content", 0, thinking);
    }),
    ("documents-come-from-the-user", |body, _| {
        let document = body.pointer("/messages/0/content/2").cloned().unwrap_or_default();
        insert(body, "/messages/3/content", 3, document);
    }),
    ("citations-are-not-copied", |body, _| {
        set(body, "/messages/0/content/0/citations", json!([{"type": "char_location"}]));
    }),
    ("calls-come-last", |body, _| {
        push(body, "/messages/1/content", json!({"type": "text", "text": "Wait."}));
    }),
    ("calls-come-last", |body, _| {
        let thinking = json!({"type": "thinking", "thinking": "", "signature": "Eq"});
        insert(body, "/messages/1/content", 4, thinking);
    }),
    ("results-come-first", |body, _| {
        insert(body, "/messages/2/content", 0, json!({"type": "text", "text": "Here:"}));
    }),
    ("calls-are-whole", |body, _| {
        push(
            body,
            "/messages/1/content",
            json!({"type": "tool_use", "id": "toolu_d", "input": {}}),
        );
    }),
    ("input-is-an-object", |body, _| set(body, "/messages/1/content/3/input", json!("{}"))),
    ("input-is-an-object", |body, _| drop_field(body, "/messages/1/content/3", "input")),
    ("results-are-whole", |body, _| set(body, "/messages/2/content/1/content", json!({}))),
    ("results-are-whole", |body, _| set(body, "/messages/2/content/1/is_error", json!("yes"))),
    ("results-are-whole", |body, _| {
        set(body, "/messages/2/content/1/content", json!([{"type": "tool_result"}]));
    }),
    ("every-call-is-answered", |body, _| drop(remove(body, "/messages/2/content", 1))),
    ("every-call-is-answered", |body, _| drop(remove(body, "/messages", 6))),
    ("every-result-has-a-call", |body, _| {
        drop(remove(body, "/messages/1/content", 4));
    }),
    ("every-result-has-a-call", |body, _| {
        let late = json!([{"type": "tool_result", "tool_use_id": "toolu_a", "content": "y"}]);
        set(body, "/messages/4/content", late);
    }),
    ("one-result-per-call", |body, _| {
        let again = json!({"type": "tool_result", "tool_use_id": "toolu_a", "content": "y"});
        insert(body, "/messages/2/content", 2, again);
    }),
    ("ids-are-unique", |body, _| {
        set(body, "/messages/5/content/1/id", json!("toolu_a"));
        set(body, "/messages/6/content/0/tool_use_id", json!("toolu_a"));
    }),
    ("ids-fit", |body, _| {
        set(body, "/messages/5/content/1/id", json!(""));
        set(body, "/messages/6/content/0/tool_use_id", json!(""));
    }),
    ("ids-fit", |_, server| server.id_cap = Some(6)),
    ("ids-are-plain", |body, _| {
        set(body, "/messages/5/content/1/id", json!("call:1"));
        set(body, "/messages/6/content/0/tool_use_id", json!("call:1"));
    }),
    ("names-are-plain", |body, _| set(body, "/messages/5/content/1/name", json!("files.read"))),
    ("names-are-plain", |_, server| server.name_cap = Some(3)),
    ("media-are-whole", |body, _| drop_field(body, IMAGE, "media_type")),
    ("media-are-whole", |body, _| set(body, IMAGE, json!({"type": "inline"}))),
    ("media-are-base64", |body, _| {
        set(
            body,
            "/messages/0/content/1/source/data",
            json!(format!("data:image/png;base64,{PNG}")),
        );
    }),
    ("media-are-taken", |body, _| {
        set(body, IMAGE, json!({"type": "base64", "media_type": "image/tiff", "data": "AAAA"}));
    }),
    ("media-are-taken", |body, _| {
        let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": PDF});
        set(body, IMAGE, pdf);
    }),
    ("media-are-as-declared", |body, _| {
        set(body, "/messages/2/content/0/content/1/source/data", json!(JPEG));
    }),
    ("media-are-in-the-body", |body, _| {
        set(body, IMAGE, json!({"type": "url", "url": "https://example.org/a.png"}));
    }),
    ("thinking-is-signed", |body, _| drop_field(body, "/messages/1/content/0", "signature")),
    ("thinking-is-signed", |body, _| set(body, "/messages/1/content/0/signature", json!(""))),
    ("thinking-is-signed", |body, _| drop_field(body, "/messages/1/content/1", "data")),
    ("thinking-comes-first", |body, _| {
        let thinking = remove(body, "/messages/1/content", 0);
        insert(body, "/messages/1/content", 2, thinking);
    }),
    ("open-loop-starts-with-thinking", |body, _| {
        set(body, "/thinking", json!({"type": "enabled", "budget_tokens": 2000}));
        drop(remove(body, "/messages/5/content", 0));
    }),
    ("server-tools-are-paired", |body, _| drop(remove(body, "/messages/3/content", 0))),
    ("server-tools-are-paired", |body, _| drop(remove(body, "/messages/3/content", 1))),
    ("system-is-text", |body, _| set(body, "/system", json!(""))),
    ("system-is-text", |body, _| set(body, "/system", json!([]))),
    ("system-is-text", |body, _| set(body, "/system/0/type", json!("image"))),
    ("tools-are-whole", |body, _| {
        set(body, "/tools", json!([]));
    }),
    ("tools-are-whole", |body, _| drop_field(body, "/tools/1", "input_schema")),
    ("tool-names-are-unique", |body, _| set(body, "/tools/1/name", json!("zoom"))),
    ("schema-is-of-an-object", |body, _| {
        set(body, "/tools/1/input_schema", json!({"properties": {}}));
    }),
    ("schema-is-of-an-object", |body, _| {
        set(body, "/tools/1/input_schema/anyOf", json!([{"type": "object"}]));
    }),
    ("strict-schema", |body, _| {
        drop_field(body, "/tools/0/input_schema", "additionalProperties");
    }),
    ("strict-schema", |body, _| {
        set(body, "/tools/0/input_schema/$defs", json!({"a": {"items": {"$ref": "#/$defs/a"}}}));
    }),
    ("strict-tools-are-few", |body, _| {
        let properties = (0..25).map(|n| (n.to_string(), json!({"type": "string"})));
        push(body, "/tools", strict("wide", &Value::Object(properties.collect())));
    }),
    ("strict-tools-are-few", |body, _| {
        (0..20).for_each(|n| push(body, "/tools", strict(&format!("t{n}"), &json!({}))));
    }),
    ("strict-tools-are-few", |body, _| {
        let union = json!({"type": ["string", "null"]});
        let properties = (0..17).map(|n| (n.to_string(), union.clone()));
        push(body, "/tools", strict("either", &Value::Object(properties.collect())));
    }),
    ("tool-choice-needs-tools", |body, _| drop_field(body, "", "tools")),
    ("tool-choice-is-known", |body, _| set(body, "/tool_choice", json!("auto"))),
    ("tool-choice-is-known", |body, _| {
        set(body, "/tool_choice", json!({"type": "tool", "name": "absent"}));
    }),
    ("no-forced-call", |body, _| {
        set(body, "/thinking", json!({"type": "enabled", "budget_tokens": 2000}));
        set(body, "/tool_choice", json!({"type": "any"}));
    }),
    ("no-forced-call", |body, server| {
        server.forced_choice_refused = true;
        set(body, "/tool_choice", json!({"type": "tool", "name": "ocr"}));
    }),
    ("thinking-is-known", |body, _| set(body, "/thinking", json!({"type": "on"}))),
    ("thinking-is-known", |body, _| set(body, "/thinking", json!({"type": "enabled"}))),
    ("thinking-is-known", |body, _| set(body, "/thinking/budget_tokens", json!(2000))),
    ("thinking-is-known", |body, _| set(body, "/thinking/display", json!("full"))),
    ("thinking-budget-fits", |body, _| {
        set(body, "/thinking", json!({"type": "enabled", "budget_tokens": 1023}));
    }),
    ("thinking-budget-fits", |body, _| {
        set(body, "/thinking", json!({"type": "enabled", "budget_tokens": 8000}));
    }),
    ("output-config-is-known", |body, _| set(body, "/output_config/effort", json!("minimal"))),
    ("output-config-is-known", |body, _| {
        set(body, "/output_config/format", json!({"type": "json_object"}));
    }),
    ("output-schema-is-plain", |body, _| {
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"n": {"type": "integer", "minimum": 1}}});
        set(body, "/output_config/format", json!({"type": "json_schema", "schema": schema}));
    }),
    ("sampling-is-in-range", |body, server| {
        old(body, server);
        set(body, "/temperature", json!(-5.0));
    }),
    ("no-sampling", |body, _| set(body, "/temperature", json!(1))),
    ("no-sampling", |body, server| {
        old(body, server);
        server.sampling_refused = true;
        set(body, "/top_k", json!(1));
    }),
    ("no-sampling-with-thinking", |body, server| {
        server.anthropic_version = AnthropicVersion::V2023;
        set(body, "/temperature", json!(0.5));
    }),
    ("stops-are-texts", |body, _| set(body, "/stop_sequences", json!(["\n"]))),
    ("stops-are-texts", |body, _| set(body, "/stop_sequences", json!("END"))),
    ("cache-marks-are-few", |body, _| {
        set(body, "/cache_control", json!({"type": "ephemeral"}));
        set(body, "/tools/0/cache_control", json!({"type": "ephemeral"}));
    }),
    ("cache-marks-are-whole", |body, _| set(body, "/system/0/cache_control", json!({"ttl": "5m"}))),
    ("cache-marks-are-whole", |body, _| set(body, "/system/0/cache_control/ttl", json!("1d"))),
    ("cache-marks-have-their-place", |body, _| {
        set(body, "/messages/1/content/0/cache_control", json!({"type": "ephemeral"}));
    }),
    ("metadata-fits", |body, _| set(body, "/metadata/team", json!("a"))),
    ("metadata-fits", |body, _| set(body, "/metadata/user_id", json!(7))),
];
