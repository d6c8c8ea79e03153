//! Requests told part by part, and the bodies that they become.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value, json};
use threadline_core::context::{
    Body as Told, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen,
    Source, System,
};
use threadline_core::history::fact::{
    Attachment, Block, CallOptions, Digest, Effect, Foreign, Invocation, Purpose, Status, Stop,
    Text, Thinking, ThinkingBlock, ToolCall, Verdict,
};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{MediaSupport, Profile, Target, ThinkingSupport, ToolSupport};
use threadline_core::tool::{Catalogue, Handling, RunRules};

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const PDF: &[u8] = b"%PDF-1.7";

/// A request and the quirks of its model: Gemini 3, unless told.
struct Case {
    parts: Vec<Part>,
    profile: Profile,
    quirks: Quirks,
    system: &'static str,
    tools: Vec<Arc<ToolSpec>>,
    choice: ToolChoice,
    form: AnswerForm,
    options: CallOptions,
}

impl Case {
    fn new() -> Self {
        let media = ["image/png", "application/pdf"].map(|media_type| MediaSupport {
            media_type: media_type.into(),
            cap_bytes: 1_000,
            tokens: 100,
            in_results: true,
        });
        Self {
            parts: Vec::new(),
            profile: Profile {
                tools: ToolSupport::SideBySide,
                media: media.into(),
                temperature: true,
                json_answers: true,
                output_cap_tokens: 8_000,
                ..Profile::unknown()
            },
            quirks: Quirks {
                signatures_required: true,
                result_parts: true,
                thinking_level: true,
                ..Quirks::default()
            },
            system: "",
            tools: Vec::new(),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
        }
    }

    fn part(mut self, body: Told) -> Self {
        let source = Source::Entry(Seq(u64::try_from(self.parts.len()).unwrap() + 1));
        self.parts.push(Part { source, level: Level::Live, tokens: 0, body });
        self
    }

    fn says(self, text: &str, attachments: &[Attachment]) -> Self {
        let attachments = attachments.to_vec();
        self.part(Told::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    fn screen(mut self, text: &str) -> Self {
        let shown = Some(Screen { text: text.into(), tokens: 0 });
        match &mut self.parts.last_mut().unwrap().body {
            Told::Input(input) => input.screen = shown,
            Told::Results(results) => results.screen = shown,
            Told::Output(_) => panic!("no screen on outputs"),
        }
        self
    }

    fn own(self, blocks: &[Block]) -> Self {
        self.output("gemini-3-pro", blocks)
    }

    fn other(self, blocks: &[Block]) -> Self {
        self.output("claude", blocks)
    }

    fn output(self, model: &str, blocks: &[Block]) -> Self {
        let invocation = invocation(model);
        let blocks = blocks.to_vec();
        self.part(Told::Output(OutputPart { invocation, blocks, stop: Stop::Done }))
    }

    /// The results of the output right before, in the order of its calls.
    fn results(self, results: &[(Status, &str, &[Attachment])]) -> Self {
        let output = Seq(u64::try_from(self.parts.len()).unwrap());
        let results = (0..).zip(results).map(|(index, (status, text, attachments))| ResultPart {
            call: CallId { output, index },
            name: "look".into(),
            entry: Seq(output.0 + 1),
            status: *status,
            text: (*text).into(),
            attachments: attachments.to_vec(),
            level: Level::Live,
            tokens: 0,
        });
        let results = results.collect();
        self.part(Told::Results(ResultsPart { results, screen: None }))
    }

    fn tool(mut self, name: &str, schema: &str) -> Self {
        self.tools.push(Arc::new(ToolSpec {
            name: name.into(),
            description: "Looks.".into(),
            schema: schema.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Run(RunRules::usual(Effect::Read)),
        }));
        self
    }

    fn encoded(&self) -> Encoded {
        let target = Target {
            name: "mine".into(),
            invocation: invocation("gemini-3-pro"),
            profile: self.profile.clone(),
            unusable: None,
        };
        let system = System { entry: None, text: self.system.into(), tokens: 0 };
        let request = Request {
            target: Arc::new(target),
            purpose: Purpose::Step,
            context: Arc::new(Context { system, parts: self.parts.clone() }),
            media: BTreeMap::from([PNG, PDF].map(|bytes| (Digest::of(bytes), Arc::from(bytes)))),
            catalogue: Arc::new(Catalogue::new(self.tools.clone(), 0).unwrap()),
            choice: self.choice.clone(),
            form: self.form.clone(),
            options: self.options.clone(),
            cache_key: None,
        };
        let encoded = encode(&request, &self.quirks);
        assert_eq!(encode(&request, &self.quirks).body, encoded.body, "same request, same bytes");
        encoded
    }

    fn body(&self) -> Value {
        serde_json::from_slice(&self.encoded().body).unwrap()
    }

    /// The contents, one part a line.
    fn contents(&self) -> String {
        let body = self.body();
        let mut lines = Vec::new();
        for content in body["contents"].as_array().unwrap() {
            lines.push(format!("{}:", content["role"].as_str().unwrap()));
            let parts = content["parts"].as_array().unwrap();
            lines.extend(parts.iter().map(|part| format!("  {part}")));
        }
        lines.join("\n")
    }

    fn repairs(&self) -> String {
        let repairs = self.encoded().repairs;
        repairs.iter().map(|repair| &*repair.what).collect::<Vec<_>>().join("\n")
    }
}

fn invocation(model: &str) -> Invocation {
    Invocation {
        provider: "google".into(),
        endpoint: "gemini".into(),
        account: None,
        dialect: "gemini".into(),
        model: model.into(),
    }
}

fn attachment(bytes: &[u8], media_type: &str) -> Attachment {
    Attachment {
        digest: Digest::of(bytes),
        media_type: media_type.into(),
        size: bytes.len().try_into().unwrap(),
        extent: None,
        name: None,
    }
}

fn png() -> Attachment {
    attachment(PNG, "image/png")
}

fn text(text: &str, state: Option<&str>) -> Block {
    Block::Text(Text { text: text.into(), state: state.map(Into::into) })
}

fn thinks(text: &str, state: Option<&str>) -> Block {
    Block::Thinking(ThinkingBlock { text: text.into(), state: state.map(Into::into) })
}

fn calls(id: Option<&str>, arguments: &str, state: Option<&str>) -> Block {
    Block::ToolCall(ToolCall {
        name: "look".into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: id.map(Into::into),
        complete: true,
        state: state.map(Into::into),
    })
}

const OK: Status = Status::Success;

#[test]
fn a_plain_request() {
    let mut case = Case::new().says("Hello.", &[]).own(&[text("Hi!", None)]).says("Bye.", &[]);
    case.system = "Be terse.\n";
    let body = serde_json::to_string_pretty(&case.body()).unwrap();
    assert_snapshot!(body, @r#"
    {
      "contents": [
        {
          "parts": [
            {
              "text": "Hello."
            }
          ],
          "role": "user"
        },
        {
          "parts": [
            {
              "text": "Hi!"
            }
          ],
          "role": "model"
        },
        {
          "parts": [
            {
              "text": "Bye."
            }
          ],
          "role": "user"
        }
      ],
      "systemInstruction": {
        "parts": [
          {
            "text": "Be terse."
          }
        ]
      }
    }
    "#);
    assert!(String::from_utf8(case.encoded().body).unwrap().starts_with(r#"{"systemInstruction""#));
    assert_eq!(case.repairs(), "");
}

#[test]
fn images_and_documents_are_parts() {
    let pdf = attachment(PDF, "application/pdf");
    let case = Case::new().says("Look.", &[png(), pdf]).screen("TODO: look");
    assert_snapshot!(case.contents(), @r#"
    user:
      {"text":"Look."}
      {"inlineData":{"data":"iVBORw0KGgpyZXN0","mimeType":"image/png"}}
      {"inlineData":{"data":"JVBERi0xLjc=","mimeType":"application/pdf"}}
      {"text":"TODO: look"}
    "#);
}

#[test]
fn own_signatures_go_back_on_the_parts_they_came_with() {
    let case = Case::new()
        .says("Look twice.", &[])
        .own(&[
            thinks("Hm.", Some("t0")),
            text("Looking.", Some("s1")),
            calls(Some("g1"), r#"{"b":1, "a":2}"#, Some("s2")),
            calls(None, "", Some("")),
            text("", Some("s3")),
            text(" ", Some("")),
        ])
        .results(&[(OK, "a cat", &[]), (Status::Failed, "too dark", &[])]);
    assert_snapshot!(case.contents(), @r#"
    user:
      {"text":"Look twice."}
    model:
      {"text":"Looking.","thoughtSignature":"s1"}
      {"functionCall":{"args":{"a":2,"b":1},"id":"g1","name":"look"},"thoughtSignature":"s2"}
      {"functionCall":{"args":{},"id":"call_2_1","name":"look"}}
      {"text":"","thoughtSignature":"s3"}
    user:
      {"functionResponse":{"id":"g1","name":"look","response":{"output":"a cat"}}}
      {"functionResponse":{"id":"call_2_1","name":"look","response":{"error":"too dark"}}}
    "#);
    let raw = String::from_utf8(case.encoded().body).unwrap();
    assert!(raw.contains(r#""args":{"b":1, "a":2}"#), "the arguments are as they came: {raw}");
}

#[test]
fn the_first_call_of_a_step_in_the_current_turn_has_a_signature() {
    let case = Case::new()
        .says("Look.", &[])
        .other(&[calls(Some("toolu_1"), "{}", Some("theirs")), calls(None, "{}", None)])
        .results(&[(OK, "old", &[]), (OK, "", &[])])
        .other(&[text("A cat.", None)])
        .says("Again.", &[])
        .other(&[text("Well.", None), calls(None, "{}", None), calls(None, "{}", None)])
        .results(&[(OK, "one", &[]), (OK, "two", &[])])
        .own(&[calls(None, "{}", None)])
        .results(&[(OK, "three", &[])]);
    assert_snapshot!(case.contents(), @r#"
    user:
      {"text":"Look."}
    model:
      {"functionCall":{"args":{},"id":"call_2_0","name":"look"}}
      {"functionCall":{"args":{},"id":"call_2_1","name":"look"}}
    user:
      {"functionResponse":{"id":"call_2_0","name":"look","response":{"output":"old"}}}
      {"functionResponse":{"id":"call_2_1","name":"look","response":{"output":""}}}
    model:
      {"text":"A cat."}
    user:
      {"text":"Again."}
    model:
      {"text":"Well."}
      {"functionCall":{"args":{},"id":"call_6_0","name":"look"},"thoughtSignature":"skip_thought_signature_validator"}
      {"functionCall":{"args":{},"id":"call_6_1","name":"look"}}
    user:
      {"functionResponse":{"id":"call_6_0","name":"look","response":{"output":"one"}}}
      {"functionResponse":{"id":"call_6_1","name":"look","response":{"output":"two"}}}
    model:
      {"functionCall":{"args":{},"id":"call_8_0","name":"look"},"thoughtSignature":"skip_thought_signature_validator"}
    user:
      {"functionResponse":{"id":"call_8_0","name":"look","response":{"output":"three"}}}
    "#);
    let mut old = case;
    old.quirks.signatures_required = false;
    assert!(!old.contents().contains("thoughtSignature"));
}

#[test]
fn media_of_results_stand_in_them_or_follow() {
    let both = |in_results: bool, result_parts: bool| {
        let mut case = Case::new()
            .says("Look.", &[])
            .own(&[calls(None, "{}", Some("s")), calls(None, "{}", None)])
            .results(&[(OK, "a cat", &[png()]), (OK, "nothing", &[])])
            .screen("TODO: look");
        for media in &mut case.profile.media {
            media.in_results = in_results;
        }
        case.quirks.result_parts = result_parts;
        case.contents()
    };
    assert_snapshot!(both(true, true), @r#"
    user:
      {"text":"Look."}
    model:
      {"functionCall":{"args":{},"id":"call_2_0","name":"look"},"thoughtSignature":"s"}
      {"functionCall":{"args":{},"id":"call_2_1","name":"look"}}
    user:
      {"functionResponse":{"id":"call_2_0","name":"look","parts":[{"inlineData":{"data":"iVBORw0KGgpyZXN0","mimeType":"image/png"}}],"response":{"output":"a cat"}}}
      {"functionResponse":{"id":"call_2_1","name":"look","response":{"output":"nothing"}}}
    user:
      {"text":"TODO: look"}
    "#);
    assert_snapshot!(both(false, false), @r#"
    user:
      {"text":"Look."}
    model:
      {"functionCall":{"args":{},"id":"call_2_0","name":"look"},"thoughtSignature":"s"}
      {"functionCall":{"args":{},"id":"call_2_1","name":"look"}}
    user:
      {"functionResponse":{"id":"call_2_0","name":"look","response":{"output":"a cat\n[image/png, 12 bytes, shown below]"}}}
      {"functionResponse":{"id":"call_2_1","name":"look","response":{"output":"nothing"}}}
    user:
      {"inlineData":{"data":"iVBORw0KGgpyZXN0","mimeType":"image/png"}}
      {"text":"TODO: look"}
    "#);
    let apart = both(true, false);
    assert_eq!(apart.matches("user:").count(), 3);
    assert!(!apart.contains(r#""parts""#));
}

#[test]
fn what_only_gemini_understands_goes_back_unchanged() {
    let part = r#"{"executableCode":{"code":"1"},"thoughtSignature":"s"}"#;
    let foreign = |state: &str| {
        let (kind, text) = ("executableCode".into(), "".into());
        Block::Foreign(Foreign { kind, text, state: state.into() })
    };
    let blocks = [foreign(part), text("One.", None)];
    let case = Case::new().says("Compute.", &[]).own(&blocks).says("Thanks.", &[]);
    let raw = String::from_utf8(case.encoded().body).unwrap();
    assert!(raw.contains(part), "{raw}");
    let broken = Case::new().says("Compute.", &[]).own(&[foreign("no json")]).says("So?", &[]);
    assert_snapshot!(broken.contents(), @r#"
    user:
      {"text":"Compute."}
      {"text":"So?"}
    "#);
    assert_snapshot!(broken.repairs(), @"a part that cannot be read is left out");
}

#[test]
fn tools_are_declared_with_the_schema_that_the_model_takes() {
    let schema = r#"{"type":"object","properties":{"at":{"type":["string","null"]}}}"#;
    let mut case = Case::new()
        .says("Look.", &[])
        .tool("files.look", schema)
        .tool("now", r#"{"type":"object","properties":{}}"#);
    let tools = json!([{"functionDeclarations": [
        {"name": "files_look", "description": "Looks.", "parametersJsonSchema":
            serde_json::from_str::<Value>(schema).unwrap()},
        {"name": "now", "description": "Looks."},
    ]}]);
    assert_eq!(case.body()["tools"], tools);
    assert_eq!(case.body().get("toolConfig"), None);
    assert_eq!(&*case.encoded().names.from_wire("files_look"), "files.look");
    case.quirks.json_schema = false;
    let declared = &case.body()["tools"][0]["functionDeclarations"];
    let at = json!({"type": "string", "nullable": true});
    assert_eq!(declared[0]["parameters"], json!({"type": "object", "properties": {"at": at}}));
    assert_eq!(declared[0].get("parametersJsonSchema"), None);
    assert_eq!(declared[1].get("parameters"), None);
    case.profile.tools = ToolSupport::None;
    assert_eq!(case.body().get("tools"), None);
}

#[test]
fn arguments_have_names_that_gemini_takes() {
    let schema = r#"{"type":"object","properties":{"a-b":{},"c_d":{"type":"string"}}}"#;
    let mut case = Case::new().says("Look.", &[]).tool("look", schema);
    for (json_schema, word) in [(true, "parametersJsonSchema"), (false, "parameters")] {
        case.quirks.json_schema = json_schema;
        let declared = &case.body()["tools"][0]["functionDeclarations"][0];
        assert_eq!(declared[word]["properties"], json!({"c_d": {"type": "string"}}));
        assert!(case.repairs().contains(r#"tool look: "a-b" is left out"#), "{}", case.repairs());
    }
}

#[test]
fn whether_tools_are_called_can_be_told() {
    let mut case = Case::new().says("Look.", &[]).tool("files.look", "{}");
    let config = |case: &Case| case.body()["toolConfig"]["functionCallingConfig"].clone();
    case.choice = ToolChoice::Never;
    assert_eq!(config(&case), json!({"mode": "NONE"}));
    case.choice = ToolChoice::Some;
    assert_eq!(config(&case), json!({"mode": "ANY"}));
    case.choice = ToolChoice::Only("files.look".into());
    assert_eq!(config(&case), json!({"mode": "ANY", "allowedFunctionNames": ["files_look"]}));
    case.choice = ToolChoice::Only("gone".into());
    assert_eq!(config(&case), Value::Null);
    assert!(case.repairs().ends_with("there is no such tool"), "{}", case.repairs());
    case.tools.clear();
    case.choice = ToolChoice::Some;
    assert_eq!(case.body().get("toolConfig"), None);
}

#[test]
fn options_are_told_as_far_as_the_model_takes_them() {
    let mut case = Case::new().says("Hello.", &[]);
    assert_eq!(case.body().get("generationConfig"), None);
    case.options = CallOptions {
        max_output_tokens: Some(9_000),
        temperature_thousandths: Some(250),
        thinking: Some(Thinking::High),
        ..CallOptions::default()
    };
    let config = |case: &Case| case.body()["generationConfig"].clone();
    assert_eq!(config(&case), json!({"maxOutputTokens": 8_000, "temperature": 0.25}));
    case.options.temperature_thousandths = Some(5_000);
    assert_eq!(config(&case)["temperature"], 2.0);
    case.quirks.no_temperature = true;
    case.profile.thinking = ThinkingSupport::Effort { can_be_off: false };
    let thinking = json!({"thinkingLevel": "HIGH", "includeThoughts": true});
    assert_eq!(config(&case), json!({"maxOutputTokens": 8_000, "thinkingConfig": thinking}));
    case.quirks.thinking_level = false;
    let thinking = json!({"thinkingBudget": 24_576, "includeThoughts": true});
    assert_eq!(config(&case)["thinkingConfig"], thinking);
}

#[test]
fn an_answer_in_json_is_asked_for_with_its_schema() {
    let schema = r#"{"type":"array","items":{"type":["string","null"]}}"#;
    let mut case = Case::new().says("List.", &[]);
    case.form = AnswerForm::Json { name: "list".into(), schema: schema.into() };
    let config = |case: &Case| case.body()["generationConfig"].clone();
    let schema: Value = serde_json::from_str(schema).unwrap();
    let expected = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(config(&case), expected);
    case.form = AnswerForm::Json { name: "list".into(), schema: "nonsense".into() };
    assert_eq!(config(&case), json!({"responseMimeType": "application/json"}));
    assert_eq!(case.encoded().repairs.len(), 1);
    let schema = r#"{"type":"object","properties":{"n":{"const":"x"}}}"#;
    case.form = AnswerForm::Json { name: "list".into(), schema: schema.into() };
    case.quirks.json_schema = false;
    let n = json!({"type": "string", "enum": ["x"]});
    let schema = json!({"type": "object", "properties": {"n": n}});
    assert_eq!(config(&case)["responseSchema"], schema);
    case.profile.json_answers = false;
    assert_eq!(config(&case), Value::Null);
    assert_eq!(case.encoded().repairs.len(), 1);
}
