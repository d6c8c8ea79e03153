//! A request of Gemini, and what is wrong with it.

use serde_json::{Value, json};

use super::{JPEG, Mutant, PDF, PNG, drop_field, insert, push, remove, set};

/// Text, an image, a document, thoughts, parallel calls, results, a screen, signatures.
pub(super) fn valid() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be terse."}]},
        "safetySettings": null,
        "contents": [
            {"role": "user", "parts": [
                {"text": "Look.", "thought": false},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"inlineData": {"mimeType": "application/pdf", "data": PDF}}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true},
                {"text": "Looking."},
                {"functionCall": {"id": "c1", "name": "zoom", "args": {"x": 1}}},
                {"functionCall": {"id": "c2", "name": "files.read"}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "zoom", "response": {"output": "done"}}},
                {"functionResponse": {"id": "c2", "name": "files.read", "response": {"error": "no"}}}]},
            {"role": "user", "parts": [{"text": "And?"}]},
            {"role": "model", "parts": [{"text": "A cat."}, {"text": "", "thoughtSignature": "Em"}]},
            {"role": "user", "parts": [{"text": "# Screen\nempty"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "ocr", "args": {}}, "thoughtSignature": "Ep"},
                {"functionCall": {"name": "ocr", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "ocr", "response": {"output": ""}}},
                {"functionResponse": {"name": "ocr", "response": {}}}]}],
        "tools": [{"functionDeclarations": [
            {"name": "zoom", "description": "Zooms.", "parametersJsonSchema": {"type": "object",
                "properties": {"x": {"type": ["integer", "null"]}}, "additionalProperties": false}},
            {"name": "files.read", "parameters": {"type": "OBJECT", "required": ["path"],
                "properties": {"path": {"type": "STRING", "nullable": true},
                    "mode": {"type": "string", "format": "enum", "enum": ["a", "b"]}}}},
            {"name": "ocr"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"maxOutputTokens": 8000, "temperature": 1, "stopSequences": ["END"],
            "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": true}}
    })
}

const IMAGE: &str = "/contents/0/parts/1/inlineData";
const SCHEMA: &str = "/tools/0/functionDeclarations/1/parameters";
const CHOICE: &str = "/toolConfig/functionCallingConfig";

pub(super) const MUTANTS: &[Mutant] = &[
    ("is-a-json-object", |body, _| *body = json!([{}])),
    ("body-fits", |_, server| server.body_cap = 100),
    ("known-fields", |body, _| set(body, "/model", json!("m"))),
    ("known-fields", |body, _| set(body, "/system_instruction", json!({"parts": []}))),
    ("contents-are-a-list", |body, _| set(body, "/contents", json!([]))),
    ("contents-are-a-list", |body, _| drop_field(body, "", "contents")),
    ("known-roles", |body, _| set(body, "/contents/4/role", json!("assistant"))),
    ("known-roles", |body, _| drop_field(body, "/contents/0", "role")),
    ("roles-alternate", |body, _| drop(remove(body, "/contents", 0))),
    ("roles-alternate", |body, _| {
        insert(body, "/contents", 4, json!({"role": "model", "parts": [{"text": "So."}]}));
    }),
    ("roles-alternate", |body, _| {
        insert(body, "/contents", 5, json!({"role": "user", "parts": [{"text": "So."}]}));
    }),
    ("last-is-not-the-model", |body, _| {
        push(body, "/contents", json!({"role": "model", "parts": [{"text": "I"}]}));
    }),
    ("parts-are-not-empty", |body, _| set(body, "/contents/4/parts", json!([]))),
    ("parts-are-not-empty", |body, _| drop_field(body, "/contents/4", "parts")),
    ("parts-are-one-thing", |body, _| set(body, "/contents/0/parts/1/text", json!("a"))),
    ("parts-are-one-thing", |body, _| set(body, "/contents/0/parts/0", json!({"thought": false}))),
    ("parts-are-one-thing", |body, _| set(body, "/contents/0/parts/0/type", json!("text"))),
    ("parts-are-one-thing", |body, _| set(body, "/contents/0/parts/0/text", json!(["Look."]))),
    ("no-empty-text", |body, _| set(body, "/contents/0/parts/0/text", json!(""))),
    ("no-empty-text", |body, _| drop_field(body, "/contents/4/parts/1", "thoughtSignature")),
    ("parts-fit-their-role", |body, _| set(body, "/contents/0/parts/0/thought", json!(true))),
    ("parts-fit-their-role", |body, _| {
        let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
        insert(body, "/contents/0/parts", 0, code);
    }),
    ("calls-are-whole", |body, _| {
        drop_field(body, "/contents/1/parts/2/functionCall", "name");
    }),
    ("calls-are-whole", |body, _| {
        drop_field(body, "/contents/2/parts/0/functionResponse", "name");
    }),
    ("args-are-an-object", |body, _| {
        set(body, "/contents/1/parts/2/functionCall/args", json!("{\"x\":1}"));
    }),
    ("response-is-an-object", |body, _| {
        set(body, "/contents/2/parts/0/functionResponse/response", json!("done"));
    }),
    ("response-is-an-object", |body, _| {
        drop_field(body, "/contents/2/parts/0/functionResponse", "response");
    }),
    ("results-stand-alone", |body, _| {
        push(body, "/contents/2/parts", json!({"text": "# Screen"}));
    }),
    ("every-call-is-answered", |body, _| drop(remove(body, "/contents/2/parts", 1))),
    ("every-call-is-answered", |body, _| drop(remove(body, "/contents", 7))),
    ("every-result-has-a-call", |body, _| {
        let result = json!({"functionResponse": {"name": "ocr", "response": {}}});
        insert(body, "/contents", 5, json!({"role": "user", "parts": [result]}));
    }),
    ("results-match-their-calls", |body, _| {
        let result = remove(body, "/contents/2/parts", 0);
        push(body, "/contents/2/parts", result);
    }),
    ("results-match-their-calls", |body, _| {
        set(body, "/contents/7/parts/0/functionResponse/id", json!("c9"));
    }),
    ("ids-are-unique", |body, _| {
        set(body, "/contents/1/parts/3/functionCall/id", json!("c1"));
        set(body, "/contents/2/parts/1/functionResponse/id", json!("c1"));
    }),
    ("names-are-plain", |body, _| {
        set(body, "/contents/1/parts/2/functionCall/name", json!("9zoom"));
        set(body, "/contents/2/parts/0/functionResponse/name", json!("9zoom"));
    }),
    ("names-are-plain", |body, _| {
        set(body, "/tools/0/functionDeclarations/2/name", json!("o".repeat(129)));
    }),
    ("names-are-plain", |body, _| {
        set(body, "/tools/0/functionDeclarations/2/name", json!("optical recognition"));
    }),
    ("calls-are-signed", |body, _| drop_field(body, "/contents/6/parts/0", "thoughtSignature")),
    ("signatures-are-texts", |body, _| {
        set(body, "/contents/6/parts/0/thoughtSignature", json!(""));
    }),
    ("media-are-whole", |body, _| drop_field(body, IMAGE, "mimeType")),
    ("media-are-whole", |body, _| {
        set(body, "/contents/0/parts/1", json!({"fileData": {"mimeType": "image/png"}}));
    }),
    ("media-are-base64", |body, _| set(body, "/contents/0/parts/1/inlineData/data", json!("?"))),
    ("media-are-taken", |body, _| {
        set(body, IMAGE, json!({"mimeType": "image/tiff", "data": "AAAA"}));
    }),
    ("media-are-as-declared", |body, _| {
        set(body, "/contents/0/parts/1/inlineData/data", json!(JPEG));
    }),
    ("media-are-in-the-body", |body, _| {
        let file = json!({"fileUri": "https://example.org/a.png", "mimeType": "image/png"});
        set(body, "/contents/0/parts/1", json!({"fileData": file}));
    }),
    ("results-have-no-parts", |body, _| {
        let image = body.pointer("/contents/0/parts/1").cloned().unwrap_or_default();
        set(body, "/contents/2/parts/0/functionResponse/parts", json!([image]));
    }),
    ("media-are-as-declared", |body, server| {
        server.result_parts = true;
        let image = json!({"inlineData": {"mimeType": "image/png", "data": JPEG}});
        set(body, "/contents/2/parts/0/functionResponse/parts", json!([image]));
    }),
    ("system-is-text", |body, _| set(body, "/systemInstruction/parts", json!([]))),
    ("system-is-text", |body, _| set(body, "/systemInstruction/parts/0/text", json!(""))),
    ("system-is-text", |body, _| set(body, "/systemInstruction", json!("Be terse."))),
    ("tools-are-whole", |body, _| {
        drop_field(body, "", "toolConfig");
        set(body, "/tools", json!([]));
    }),
    ("tools-are-whole", |body, _| push(body, "/tools", json!({}))),
    ("tools-are-whole", |body, _| push(body, "/tools", json!({"functionDeclarations": []}))),
    ("tools-are-whole", |body, _| drop_field(body, "/tools/0/functionDeclarations/2", "name")),
    ("tool-names-are-unique", |body, _| {
        set(body, "/tools/0/functionDeclarations/2/name", json!("zoom"));
    }),
    ("one-kind-of-schema", |body, _| {
        let schema = json!({"type": "OBJECT"});
        set(body, "/tools/0/functionDeclarations/0/parameters", schema);
    }),
    ("schema-is-of-an-object", |body, _| set(body, SCHEMA, json!({"type": "STRING"}))),
    ("schema-is-openapi", |body, _| {
        set(body, &format!("{SCHEMA}/additionalProperties"), json!(false));
    }),
    ("schema-is-openapi", |body, _| {
        set(body, &format!("{SCHEMA}/properties/path"), json!({"$ref": "#/$defs/a"}));
    }),
    ("schema-is-openapi", |body, _| {
        set(body, &format!("{SCHEMA}/properties/path/type"), json!(["string", "null"]));
    }),
    ("schema-is-openapi", |body, _| {
        set(body, &format!("{SCHEMA}/properties/mode/enum"), json!([1, 2]));
    }),
    ("schema-is-openapi", |body, _| {
        set(body, &format!("{SCHEMA}/properties/path"), json!(true));
    }),
    ("schema-is-openapi", |body, _| {
        set(body, "/generationConfig/responseMimeType", json!("application/json"));
        set(body, "/generationConfig/responseSchema", json!({"const": 1}));
    }),
    ("parameter-names-are-plain", |body, _| {
        set(body, &format!("{SCHEMA}/properties/the path"), json!({"type": "STRING"}));
    }),
    ("tool-choice-needs-tools", |body, _| drop_field(body, "", "tools")),
    ("tool-choice-is-known", |body, _| set(body, CHOICE, json!({"mode": "auto"}))),
    ("tool-choice-is-known", |body, _| {
        set(body, CHOICE, json!({"mode": "AUTO", "allowedFunctionNames": ["ocr"]}));
    }),
    ("tool-choice-is-known", |body, _| {
        set(body, CHOICE, json!({"mode": "ANY", "allowedFunctionNames": ["absent"]}));
    }),
    ("no-forced-call", |body, server| {
        server.forced_choice_refused = true;
        set(body, CHOICE, json!({"mode": "ANY"}));
    }),
    ("known-generation-fields", |body, _| {
        set(body, "/generationConfig/max_tokens", json!(1));
    }),
    ("thinking-is-said-once", |body, _| {
        set(body, "/generationConfig/thinkingConfig/thinkingBudget", json!(0));
    }),
    ("thinking-is-known", |body, _| {
        set(body, "/generationConfig/thinkingConfig/thinkingLevel", json!("XHIGH"));
    }),
    ("thinking-is-known", |body, _| {
        set(body, "/generationConfig/thinkingConfig", json!({"thinkingBudget": -2}));
    }),
    ("no-thinking-level", |_, server| server.thinking_level = false),
    ("response-schema-is-whole", |body, _| {
        set(body, "/generationConfig/responseJsonSchema", json!({"type": "object"}));
    }),
    ("response-schema-is-whole", |body, _| {
        set(body, "/generationConfig/responseMimeType", json!("application/json"));
        set(body, "/generationConfig/responseJsonSchema", json!({"type": "object"}));
        set(body, "/generationConfig/responseSchema", json!({"type": "OBJECT"}));
    }),
    ("sampling-is-in-range", |body, _| set(body, "/generationConfig/temperature", json!(3))),
    ("no-sampling", |_, server| server.sampling_refused = true),
    ("output-cap-is-a-number", |body, _| {
        set(body, "/generationConfig/maxOutputTokens", json!(0));
    }),
    ("stops-are-few", |body, _| {
        set(body, "/generationConfig/stopSequences", json!(["a", "b", "c", "d", "e", "f"]));
    }),
    ("cached-content-is-alone", |body, _| set(body, "/cachedContent", json!("cachedContents/a"))),
];
