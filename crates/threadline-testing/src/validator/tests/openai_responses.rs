//! A request of Responses, and what is wrong with it.

use serde_json::{Value, json};

use super::{JPEG, Mutant, PDF, PNG, drop_field, insert, push, remove, set};

/// Text, an image, a file, reasoning, parallel calls, results with media, a screen.
pub(super) fn valid() -> Value {
    let image = json!({"type": "input_image", "detail": "auto",
        "image_url": format!("data:image/png;base64,{PNG}")});
    json!({
        "model": "m", "store": false, "stream": true, "instructions": "Be terse.",
        "stream_options": {"include_obfuscation": false}, "max_output_tokens": 800,
        "reasoning": {"effort": "medium", "summary": "auto"}, "temperature": 1,
        "include": ["reasoning.encrypted_content"], "tool_choice": "auto",
        "metadata": {"a": "b"}, "safety_identifier": "user",
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Look."}, image,
                {"type": "input_file", "filename": "a.pdf",
                    "file_data": format!("data:application/pdf;base64,{PDF}")}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
            {"type": "message", "role": "assistant", "phase": "commentary",
                "content": [{"type": "output_text", "text": "Looking."}]},
            {"type": "function_call", "call_id": "call_a", "name": "zoom", "arguments": "{\"x\":1}"},
            {"type": "function_call", "call_id": "call_b", "name": "ocr", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_a",
                "output": [{"type": "input_text", "text": "See:"}, image]},
            {"type": "function_call_output", "call_id": "call_b", "output": ""},
            {"role": "assistant", "content": "It is a cat."},
            {"role": "user", "content": "# Screen\nempty"}],
        "tools": [
            {"type": "function", "name": "zoom", "description": "Zooms.", "strict": true,
                "parameters": {"type": "object", "properties": {"x": {"type": "integer"}},
                    "required": ["x"], "additionalProperties": false}},
            {"type": "function", "name": "ocr", "strict": false,
                "parameters": {"type": "object", "properties": {}}}]
    })
}

const IMAGE: &str = "/input/0/content/1/image_url";

pub(super) const MUTANTS: &[Mutant] = &[
    ("is-a-json-object", |body, _| *body = json!("input")),
    ("body-fits", |_, server| server.body_cap = 100),
    ("known-fields", |body, _| set(body, "/stop", json!(["END"]))),
    ("known-fields", |body, _| set(body, "/messages", json!([]))),
    ("model-is-named", |body, _| set(body, "/model", json!(""))),
    ("input-is-a-list", |body, _| set(body, "/input", json!([]))),
    ("input-is-a-list", |body, _| set(body, "/input", json!(""))),
    ("input-is-a-list", |body, _| insert(body, "/input", 0, json!("Hello"))),
    ("known-items", |body, _| insert(body, "/input", 1, json!({"type": "tool_use"}))),
    ("known-items", |body, _| insert(body, "/input", 1, json!({"text": "?"}))),
    ("known-roles", |body, _| set(body, "/input/8/role", json!("tool"))),
    ("last-is-not-the-assistant", |body, _| drop(remove(body, "/input", 8))),
    ("content-is-text-or-parts", |body, _| set(body, "/input/8/content", json!([]))),
    ("content-is-text-or-parts", |body, _| drop_field(body, "/input/8", "content")),
    ("parts-fit-their-role", |body, _| set(body, "/input/0/content/0/type", json!("text"))),
    ("parts-fit-their-role", |body, _| {
        set(body, "/input/2/content/0", json!({"type": "input_text", "text": "Looking."}));
    }),
    ("parts-fit-their-role", |body, _| {
        set(body, "/input/0/content/0", json!({"type": "output_text", "text": "Look."}));
    }),
    ("no-empty-text", |body, _| set(body, "/input/0/content/0/text", json!(""))),
    ("no-empty-text", |body, _| set(body, "/input/7/content", json!(" "))),
    ("no-empty-text", |body, _| set(body, "/input/5/output/0/text", json!(""))),
    ("phase-is-known", |body, _| set(body, "/input/2/phase", json!("draft"))),
    ("phase-is-known", |body, _| set(body, "/input/8/phase", json!("commentary"))),
    ("media-are-whole", |body, _| drop_field(body, "/input/0/content/1", "image_url")),
    ("media-are-whole", |body, _| set(body, IMAGE, json!(PNG))),
    ("media-are-base64", |body, _| set(body, IMAGE, json!("data:image/png;base64,iVBORw0KGgo"))),
    ("media-are-taken", |body, _| set(body, IMAGE, json!("data:image/tiff;base64,AAAA"))),
    ("media-are-as-declared", |body, _| {
        set(body, "/input/5/output/1/image_url", json!(format!("data:image/png;base64,{JPEG}")));
    }),
    ("media-are-in-the-body", |body, _| set(body, IMAGE, json!("https://example.org/a.png"))),
    ("media-are-in-the-body", |body, _| {
        drop_field(body, "/input/0/content/2", "file_data");
        set(body, "/input/0/content/2/file_url", json!("https://example.org/a.pdf"));
    }),
    ("media-fit", |_, server| server.image_cap = 20),
    ("media-fit", |_, server| server.file_cap = 20),
    ("files-have-a-name", |body, _| drop_field(body, "/input/0/content/2", "filename")),
    ("calls-are-whole", |body, _| set(body, "/input/3/arguments", json!({"x": 1}))),
    ("outputs-are-whole", |body, _| drop_field(body, "/input/6", "output")),
    ("outputs-are-whole", |body, _| set(body, "/input/6/output", json!([]))),
    ("outputs-are-whole", |body, _| {
        set(body, "/input/6/output", json!([{"type": "text", "text": "a"}]));
    }),
    ("outputs-fit", |body, server| {
        server.result_cap = 3;
        set(body, "/input/6/output", json!("four"));
    }),
    ("every-call-is-answered", |body, _| drop(remove(body, "/input", 6))),
    ("every-result-has-a-call", |body, _| drop(remove(body, "/input", 4))),
    ("every-result-has-a-call", |body, _| {
        let output = json!({"type": "function_call_output", "call_id": "call_a", "output": "y"});
        push(body, "/input", output);
    }),
    ("one-result-per-call", |body, _| {
        let output = json!({"type": "function_call_output", "call_id": "call_a", "output": "y"});
        insert(body, "/input", 7, output);
    }),
    ("results-follow-their-calls", |body, _| {
        let output = remove(body, "/input", 6);
        insert(body, "/input", 4, output);
    }),
    ("nothing-between-calls-and-results", |body, server| {
        server.adjacent_results = true;
        let text = json!([{"type": "output_text", "text": "So."}]);
        insert(body, "/input", 5, json!({"role": "assistant", "content": text}));
    }),
    ("ids-are-unique", |body, _| {
        let call =
            json!({"type": "function_call", "call_id": "call_a", "name": "ocr", "arguments": "{}"});
        push(body, "/input", call);
        let output = json!({"type": "function_call_output", "call_id": "call_a", "output": "y"});
        push(body, "/input", output);
    }),
    ("ids-fit", |body, _| {
        set(body, "/input/4/call_id", json!("c".repeat(65)));
        set(body, "/input/6/call_id", json!("c".repeat(65)));
    }),
    ("ids-fit", |body, _| {
        set(body, "/input/4/call_id", json!(""));
        set(body, "/input/6/call_id", json!(""));
    }),
    ("names-are-plain", |body, _| set(body, "/input/4/name", json!("files.read"))),
    ("names-are-plain", |body, _| set(body, "/tools/1/name", json!("o".repeat(129)))),
    ("arguments-are-an-object", |body, _| set(body, "/input/4/arguments", json!(""))),
    ("arguments-are-an-object", |body, _| set(body, "/input/4/arguments", json!("null"))),
    ("reasoning-is-encrypted", |body, _| drop_field(body, "/input/1", "encrypted_content")),
    ("reasoning-is-encrypted", |body, _| drop_field(body, "/input/1", "summary")),
    ("reasoning-leads-to-something", |body, _| {
        let reasoning = body.pointer("/input/1").cloned().unwrap_or_default();
        push(body, "/input", reasoning);
    }),
    ("reasoning-leads-to-something", |body, _| {
        let reasoning = body.pointer("/input/1").cloned().unwrap_or_default();
        insert(body, "/input", 8, reasoning);
    }),
    ("reasoning-leads-to-something", |body, _| {
        let reasoning = body.pointer("/input/1").cloned().unwrap_or_default();
        insert(body, "/input", 5, reasoning);
    }),
    ("nothing-is-stored", |body, _| drop_field(body, "", "store")),
    ("nothing-is-stored", |body, _| set(body, "/store", json!(true))),
    ("nothing-is-stored", |body, _| set(body, "/previous_response_id", json!("resp_1"))),
    ("items-have-no-id", |body, _| set(body, "/input/1/id", json!("rs_1"))),
    ("items-have-no-id", |body, _| set(body, "/input/3/id", json!("fc_1"))),
    ("tools-are-whole", |body, _| {
        set(body, "/tools", json!([]));
    }),
    ("tools-are-whole", |body, _| {
        let function = json!({"type": "function", "strict": false, "function": {"name": "ocr"}});
        set(body, "/tools/1", function);
    }),
    ("strict-is-said", |body, _| drop_field(body, "/tools/1", "strict")),
    ("tool-names-are-unique", |body, _| set(body, "/tools/1/name", json!("zoom"))),
    ("schema-is-of-an-object", |body, _| set(body, "/tools/1/parameters", json!({}))),
    ("strict-schema", |body, _| set(body, "/tools/0/parameters/required", json!([]))),
    ("strict-schema", |body, _| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object"}},
            "required": ["a"], "additionalProperties": false});
        let format = json!({"type": "json_schema", "name": "a", "strict": true, "schema": schema});
        set(body, "/text", json!({"format": format}));
    }),
    ("tool-choice-needs-tools", |body, _| drop_field(body, "", "tools")),
    ("tool-choice-is-known", |body, _| {
        set(body, "/tool_choice", json!({"type": "function", "name": "absent"}));
    }),
    ("tool-choice-is-known", |body, _| {
        set(body, "/tool_choice", json!({"type": "function", "function": {"name": "ocr"}}));
    }),
    ("no-forced-call", |body, server| {
        server.forced_choice_refused = true;
        set(body, "/tool_choice", json!({"type": "function", "name": "ocr"}));
    }),
    ("stream-options-need-stream", |body, _| set(body, "/stream", json!(false))),
    ("sampling-is-in-range", |body, _| set(body, "/temperature", json!(-1))),
    ("no-sampling", |_, server| server.sampling_refused = true),
    ("output-cap-is-enough", |body, _| set(body, "/max_output_tokens", json!(15))),
    ("effort-is-known", |body, _| set(body, "/reasoning/effort", json!("huge"))),
    ("effort-is-known", |body, _| set(body, "/reasoning/summary", json!(true))),
    ("text-format-is-whole", |body, _| {
        let format = json!({"type": "json_schema", "schema": {"type": "object"}});
        set(body, "/text", json!({"format": format}));
    }),
    ("instructions-are-text", |body, _| set(body, "/instructions", json!(["Be terse."]))),
    ("metadata-fits", |body, _| set(body, "/metadata", json!({"k".repeat(65): "v"}))),
    ("safety-identifier-fits", |body, _| set(body, "/safety_identifier", json!("u".repeat(65)))),
];
