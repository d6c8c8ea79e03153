//! A chat, and what is wrong with it.

use serde_json::{Value, json};

use super::{JPEG, Mutant, PDF, PNG, drop_field, insert, push, remove, set};

/// Text, an image, a file, parallel calls, results, a screen.
pub(super) fn valid() -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "max_completion_tokens": 800, "temperature": 0.5, "stop": ["END"],
        "reasoning_effort": "low", "parallel_tool_calls": true, "tool_choice": "auto",
        "metadata": {"a": "b"}, "safety_identifier": "user",
        "messages": [
            {"role": "developer", "content": "Be terse."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}},
                {"type": "file", "file": {"filename": "a.pdf",
                    "file_data": format!("data:application/pdf;base64,{PDF}")}}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "zoom", "arguments": "{\"x\":1}"}},
                {"id": "call_b", "type": "function", "function": {"name": "ocr", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_b", "content": "ERROR: unreadable"},
            {"role": "tool", "tool_call_id": "call_a", "content": [{"type": "text", "text": "done"}]},
            {"role": "assistant", "content": "It is a cat."},
            {"role": "user", "content": "Sure?"},
            {"role": "assistant", "content": "Looking again.", "tool_calls": [
                {"id": "call_c", "type": "function", "function": {"name": "ocr", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_c", "content": ""},
            {"role": "user", "content": "# Screen\nempty"}],
        "tools": [
            {"type": "function", "function": {"name": "zoom", "description": "Zooms.", "strict": true,
                "parameters": {"type": "object", "properties": {"x": {"type": "integer"}},
                    "required": ["x"], "additionalProperties": false}}},
            {"type": "function", "function": {"name": "ocr",
                "parameters": {"type": "object", "properties": {}}}}]
    })
}

const IMAGE: &str = "/messages/1/content/1/image_url/url";

pub(super) const MUTANTS: &[Mutant] = &[
    ("is-a-json-object", |body, _| *body = json!([])),
    ("body-fits", |_, server| server.body_cap = 100),
    ("known-fields", |body, _| set(body, "/top_k", json!(1))),
    ("known-fields", |body, _| set(body, "/thinking", json!({"type": "enabled"}))),
    ("model-is-named", |body, _| drop_field(body, "", "model")),
    ("messages-are-a-list", |body, _| set(body, "/messages", json!([]))),
    ("messages-are-a-list", |body, _| insert(body, "/messages", 1, json!("Hello"))),
    ("known-roles", |body, _| set(body, "/messages/6/role", json!("function"))),
    ("known-roles", |_, server| server.developer_role = false),
    ("known-message-fields", |body, _| set(body, "/messages/2/reasoning_content", json!("Hm."))),
    ("one-system-at-the-beginning", |body, _| {
        insert(body, "/messages", 1, json!({"role": "system", "content": "More."}));
    }),
    ("roles-alternate", |body, _| drop(remove(body, "/messages", 1))),
    ("roles-alternate", |body, _| {
        push(body, "/messages", json!({"role": "user", "content": "More."}));
    }),
    ("roles-alternate", |body, _| drop(remove(body, "/messages", 6))),
    ("last-is-not-the-assistant", |body, _| {
        push(body, "/messages", json!({"role": "assistant", "content": "I"}));
    }),
    ("user-does-not-follow-tool", |_, server| server.user_after_tool = false),
    ("content-is-given", |body, _| drop_field(body, "/messages/6", "content")),
    ("content-is-given", |body, _| set(body, "/messages/5/content", json!(null))),
    ("content-is-given", |body, _| drop_field(body, "/messages/8", "content")),
    ("content-is-text-or-parts", |body, _| set(body, "/messages/6/content", json!([]))),
    ("content-is-text-or-parts", |body, _| set(body, "/messages/6/content", json!(7))),
    ("content-is-text-or-parts", |body, _| {
        set(body, "/messages/6/content", json!([{"type": "input_text", "text": "Sure?"}]));
    }),
    ("content-is-text-or-parts", |body, _| {
        set(body, "/messages/2/content", json!([{"type": "thinking", "thinking": []}]));
    }),
    ("no-empty-text", |body, _| set(body, "/messages/6/content", json!(""))),
    ("no-empty-text", |body, _| set(body, "/messages/5/content", json!(" \n"))),
    ("no-empty-text", |body, _| set(body, "/messages/1/content/0/text", json!(""))),
    ("media-come-from-the-user", |body, _| {
        let image = body.pointer("/messages/1/content/1").cloned().unwrap_or_default();
        set(body, "/messages/5/content", json!([image]));
    }),
    ("media-come-from-the-user", |body, _| {
        set(body, "/messages/6/content", json!([{"type": "refusal", "refusal": "No."}]));
    }),
    ("tool-content-is-text", |body, _| {
        let image = body.pointer("/messages/1/content/1").cloned().unwrap_or_default();
        push(body, "/messages/4/content", image);
    }),
    ("tool-content-is-a-string", |_, server| server.tool_content_text_only = true),
    ("media-are-whole", |body, _| set(body, IMAGE, json!(PNG))),
    ("media-are-whole", |body, _| set(body, IMAGE, json!(format!("data:image/png,{PNG}")))),
    ("media-are-whole", |body, _| drop_field(body, "/messages/1/content/1", "image_url")),
    ("media-are-base64", |body, _| set(body, IMAGE, json!("data:image/png;base64,iVBORw0KGgo"))),
    ("media-are-base64", |body, _| set(body, IMAGE, json!("data:image/png;base64,"))),
    ("media-are-taken", |body, _| set(body, IMAGE, json!("data:image/tiff;base64,AAAA"))),
    ("media-are-taken", |_, server| server.media.clear()),
    ("media-are-taken", |body, _| {
        let audio =
            json!({"type": "input_audio", "input_audio": {"format": "wav", "data": "AAAA"}});
        push(body, "/messages/1/content", audio);
    }),
    ("media-are-as-declared", |body, _| {
        set(body, IMAGE, json!(format!("data:image/png;base64,{JPEG}")));
    }),
    ("media-are-in-the-body", |body, _| set(body, IMAGE, json!("https://example.org/a.png"))),
    ("files-have-a-name", |body, _| drop_field(body, "/messages/1/content/2/file", "filename")),
    ("calls-are-whole", |body, _| set(body, "/messages/5/tool_calls", json!([]))),
    ("calls-are-whole", |body, _| drop_field(body, "/messages/2/tool_calls/0", "type")),
    ("calls-are-whole", |body, _| {
        set(body, "/messages/2/tool_calls/0/function/arguments", json!({"x": 1}));
    }),
    ("every-call-is-answered", |body, _| drop(remove(body, "/messages", 3))),
    ("every-call-is-answered", |body, _| {
        drop(remove(body, "/messages", 9));
        drop(remove(body, "/messages", 8));
    }),
    ("every-result-has-a-call", |body, _| {
        insert(body, "/messages", 5, json!({"role": "tool", "tool_call_id": "x", "content": "y"}));
    }),
    ("every-result-has-a-call", |body, _| {
        insert(
            body,
            "/messages",
            6,
            json!({"role": "tool", "tool_call_id": "call_a", "content": "y"}),
        );
    }),
    ("every-result-has-a-call", |body, _| {
        insert(body, "/messages", 5, json!({"role": "tool", "content": "y"}));
    }),
    ("one-result-per-call", |body, _| {
        insert(
            body,
            "/messages",
            5,
            json!({"role": "tool", "tool_call_id": "call_a", "content": "y"}),
        );
    }),
    ("ids-are-unique", |body, _| {
        set(body, "/messages/7/tool_calls/0/id", json!("call_a"));
        set(body, "/messages/8/tool_call_id", json!("call_a"));
    }),
    ("ids-fit", |body, _| {
        set(body, "/messages/7/tool_calls/0/id", json!("c".repeat(41)));
        set(body, "/messages/8/tool_call_id", json!("c".repeat(41)));
    }),
    ("ids-fit", |_, server| server.id_cap = Some(5)),
    ("ids-are-nine-characters", |_, server| server.nine_char_ids = true),
    ("names-are-plain", |body, _| {
        set(body, "/messages/7/tool_calls/0/function/name", json!("files.read"));
    }),
    ("names-are-plain", |body, _| set(body, "/tools/1/function/name", json!("o".repeat(65)))),
    ("names-are-plain", |_, server| server.name_cap = Some(3)),
    ("arguments-are-an-object", |body, _| {
        set(body, "/messages/2/tool_calls/1/function/arguments", json!(""));
    }),
    ("arguments-are-an-object", |body, _| {
        set(body, "/messages/2/tool_calls/1/function/arguments", json!("{\"x\":"));
    }),
    ("arguments-are-an-object", |body, _| {
        set(body, "/messages/2/tool_calls/1/function/arguments", json!("[1]"));
    }),
    ("thinking-goes-back", |_, server| server.thinking_required_back = true),
    ("thinking-goes-back", |body, server| {
        server.thinking_required_back = true;
        server.message_fields = vec!["reasoning_content".to_owned()];
        set(body, "/messages/2/reasoning_content", json!(""));
    }),
    ("tools-are-whole", |body, _| {
        set(body, "/tools", json!([]));
    }),
    ("tools-are-whole", |body, _| drop_field(body, "/tools/1", "type")),
    ("tools-are-whole", |body, _| {
        let tool = |n| json!({"type": "function", "function": {"name": format!("t{n}")}});
        set(body, "/tools", (0..129).map(tool).collect());
    }),
    ("tool-names-are-unique", |body, _| set(body, "/tools/1/function/name", json!("zoom"))),
    ("schema-is-of-an-object", |body, _| {
        set(body, "/tools/1/function/parameters", json!({"type": "string"}));
    }),
    ("strict-schema", |body, _| {
        drop_field(body, "/tools/0/function/parameters", "additionalProperties");
    }),
    ("strict-schema", |body, _| set(body, "/tools/0/function/parameters/required", json!([]))),
    ("strict-schema", |body, _| {
        set(body, "/tools/0/function/parameters/properties/x", json!({"oneOf": []}));
    }),
    ("strict-schema", |body, _| {
        let schema = json!({"name": "a", "strict": true, "schema": {"type": "object"}});
        set(body, "/response_format", json!({"type": "json_schema", "json_schema": schema}));
    }),
    ("tool-choice-needs-tools", |body, _| drop_field(body, "", "tools")),
    ("tool-choice-is-known", |body, _| set(body, "/tool_choice", json!("any"))),
    ("tool-choice-is-known", |body, _| {
        set(body, "/tool_choice", json!({"type": "function", "function": {"name": "absent"}}));
    }),
    ("no-forced-call", |body, server| {
        server.forced_choice_refused = true;
        set(body, "/tool_choice", json!("required"));
    }),
    ("stream-options-need-stream", |body, _| drop_field(body, "", "stream")),
    ("sampling-is-in-range", |body, _| set(body, "/temperature", json!(99.0))),
    ("sampling-is-in-range", |body, _| set(body, "/top_p", json!("much"))),
    ("no-sampling", |_, server| server.sampling_refused = true),
    ("output-cap-is-one-number", |body, _| set(body, "/max_completion_tokens", json!(0))),
    ("output-cap-is-one-number", |body, _| set(body, "/max_tokens", json!(800))),
    ("no-max-tokens", |body, server| {
        server.max_tokens_refused = true;
        drop_field(body, "", "max_completion_tokens");
        set(body, "/max_tokens", json!(800));
    }),
    ("stops-are-few", |body, _| set(body, "/stop", json!(["a", "b", "c", "d", "e"]))),
    ("stops-are-few", |body, _| set(body, "/stop", json!([""]))),
    ("effort-is-known", |body, _| set(body, "/reasoning_effort", json!("ultra"))),
    ("tools-need-no-effort", |_, server| server.tools_need_no_effort = true),
    ("response-format-is-whole", |body, _| {
        set(body, "/response_format", json!({"type": "json_schema", "schema": {"type": "object"}}));
    }),
    ("json-mode-says-json", |body, _| {
        set(body, "/response_format", json!({"type": "json_object"}));
    }),
    ("cache-marks-are-few", |body, _| {
        let part =
            json!({"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}});
        set(body, "/messages/6/content", json!([part, part, part, part, part]));
    }),
    ("metadata-fits", |body, _| {
        let pairs = (0..17).map(|n| (n.to_string(), json!("x"))).collect();
        set(body, "/metadata", Value::Object(pairs));
    }),
    ("metadata-fits", |body, _| set(body, "/metadata/a", json!("b".repeat(513)))),
    ("metadata-fits", |body, _| set(body, "/metadata/a", json!(1))),
    ("safety-identifier-fits", |body, _| set(body, "/safety_identifier", json!("u".repeat(65)))),
];
