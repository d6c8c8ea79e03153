//! Requests as they go over the wire.

use insta::assert_snapshot;
use serde_json::Value;
use threadline_core::context::{
    Body as Says, Context, InputPart, Level, OutputPart, Part as ContextPart, ResultPart,
    ResultsPart, Screen, Source, System,
};
use threadline_core::history::fact::{
    Attachment, Block, CallOptions, Effect, Foreign, Invocation, Purpose, Status, Stop,
    Text as SaidText, ThinkingBlock, ToolCall, Verdict,
};
use threadline_core::id::CallId;
use threadline_core::provider::{MediaSupport, Profile, Target};
use threadline_core::tool::{Catalogue, Handling, RunRules};

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PDF: &[u8] = b"%PDF-1.7";
const STRICT: &str = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#;

/// A request, made part by part.
struct Case {
    request: Request,
    quirks: Quirks,
}

impl Case {
    fn new() -> Self {
        let media = |media_type: &str, in_results| MediaSupport {
            media_type: media_type.into(),
            cap_bytes: 1000,
            tokens: 10,
            in_results,
        };
        let profile = Profile {
            tools: ToolSupport::SideBySide,
            media: vec![media("image/png", true), media("application/pdf", true)],
            ..Profile::unknown()
        };
        let target =
            Target { name: "gpt".into(), invocation: made_by("gpt"), profile, unusable: None };
        let system = System { entry: None, text: "Be terse.".into(), tokens: 0 };
        let request = Request {
            target: Arc::new(target),
            purpose: Purpose::Step,
            context: Arc::new(Context { system, parts: Vec::new() }),
            media: [PNG, PDF].map(|bytes| (Digest::of(bytes), Arc::from(bytes))).into(),
            catalogue: Arc::default(),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
            cache_key: Some("key".into()),
        };
        Self { request, quirks: Quirks::default() }
    }

    fn part(mut self, body: Says) -> Self {
        let parts = &mut Arc::make_mut(&mut self.request.context).parts;
        let source = Source::Entry(Seq(u64::try_from(parts.len()).unwrap() + 1));
        parts.push(ContextPart { source, level: Level::Live, tokens: 0, body });
        self
    }

    fn says(self, text: &str, attachments: Vec<Attachment>) -> Self {
        self.part(Says::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    fn answers(self, model: &str, blocks: Vec<Block>) -> Self {
        let invocation = made_by(model);
        self.part(Says::Output(OutputPart { invocation, blocks, stop: Stop::Done }))
    }

    fn results(self, results: Vec<(Status, &str, Vec<Attachment>)>, screen: Option<&str>) -> Self {
        let output = Seq(u64::try_from(self.request.context.parts.len()).unwrap());
        let numbered = (0..).zip(results);
        let results = numbered.map(|(index, (status, text, attachments))| ResultPart {
            call: CallId { output, index },
            name: "look".into(),
            entry: Seq(output.0 + 1),
            status,
            text: text.into(),
            attachments,
            level: Level::Live,
            tokens: 0,
        });
        let results = results.collect();
        let screen = screen.map(|text| Screen { text: text.into(), tokens: 0 });
        self.part(Says::Results(ResultsPart { results, screen }))
    }

    fn profile(mut self, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut Arc::make_mut(&mut self.request.target).profile);
        self
    }

    fn tools(mut self, tools: &[(&str, &str, bool)]) -> Self {
        let tools = tools.iter().map(|(name, schema, strict)| {
            Arc::new(ToolSpec {
                name: (*name).into(),
                description: "A tool.".into(),
                schema: (*schema).into(),
                strict: *strict,
                server: None,
                verdict: Verdict::Allow,
                handling: Handling::Run(RunRules::usual(Effect::Read)),
            })
        });
        self.request.catalogue = Arc::new(Catalogue::new(tools.collect(), 0).unwrap());
        self
    }

    fn body(&self) -> Value {
        serde_json::from_slice(&encode(&self.request, &self.quirks).body).unwrap()
    }

    /// A field of the body: of a list, an item on each line.
    fn field(&self, name: &str) -> String {
        match &self.body()[name] {
            Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
            other => serde_json::to_string_pretty(other).unwrap(),
        }
    }

    fn repairs(&self) -> Vec<String> {
        let repairs = encode(&self.request, &self.quirks).repairs;
        repairs.into_iter().map(|repair| repair.what.to_string()).collect()
    }
}

fn made_by(model: &str) -> Invocation {
    Invocation {
        provider: "openai".into(),
        endpoint: "openai".into(),
        account: None,
        dialect: "openai-responses".into(),
        model: model.into(),
    }
}

fn attachment(media_type: &str, name: Option<&str>, bytes: &[u8]) -> Attachment {
    Attachment {
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        media_type: media_type.into(),
        name: name.map(Arc::from),
        extent: None,
    }
}

fn png() -> Attachment {
    attachment("image/png", None, PNG)
}

fn text(text: &str, state: Option<&str>) -> Block {
    Block::Text(SaidText { text: text.into(), state: state.map(Arc::from) })
}

fn thinks(state: &str) -> Block {
    Block::Thinking(ThinkingBlock { text: "Hm.".into(), state: Some(state.into()) })
}

fn calls(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        name: "look".into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: Some(id.into()),
        complete: true,
        state: None,
    })
}

const THOUGHT: &str = r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#;

#[test]
fn plain_text() {
    let case = Case::new().says("Hello.", Vec::new());
    assert_snapshot!(serde_json::to_string_pretty(&case.body()).unwrap(), @r#"
    {
      "input": [
        {
          "content": [
            {
              "text": "Hello.",
              "type": "input_text"
            }
          ],
          "role": "user",
          "type": "message"
        }
      ],
      "instructions": "Be terse.",
      "model": "gpt",
      "store": false,
      "stream": true,
      "stream_options": {
        "include_obfuscation": false
      }
    }
    "#);
    let bytes = encode(&case.request, &case.quirks).body;
    assert_eq!(bytes, encode(&case.request, &case.quirks).body);
}

#[test]
fn images_and_documents() {
    let report = attachment("application/pdf", Some("report.pdf"), PDF);
    let unnamed = attachment("application/pdf", None, PDF);
    let case = Case::new().says("Look.", vec![png(), report, unnamed]);
    assert_snapshot!(case.field("input"), @r#"{"content":[{"text":"Look.","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo=","type":"input_image"},{"file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"report.pdf","type":"input_file"},{"file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"file.pdf","type":"input_file"}],"role":"user","type":"message"}"#);
}

#[test]
fn calls_side_by_side_and_what_came_of_them() {
    let case = Case::new()
        .says("Go.", Vec::new())
        .answers(
            "gpt",
            vec![calls("a", "{\"x\":1}"), calls("b", ""), calls("c", "{}"), calls("d", "{}")],
        )
        .results(
            vec![
                (Status::Success, "fine", Vec::new()),
                (Status::Success, "see", vec![png()]),
                (Status::Failed, "unreadable", Vec::new()),
                (Status::Failed, "", Vec::new()),
            ],
            Some("# Screen"),
        );
    assert_snapshot!(case.field("input"), @r##"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"arguments":"{\"x\":1}","call_id":"a","name":"look","type":"function_call"}
    {"arguments":"{}","call_id":"b","name":"look","type":"function_call"}
    {"arguments":"{}","call_id":"c","name":"look","type":"function_call"}
    {"arguments":"{}","call_id":"d","name":"look","type":"function_call"}
    {"call_id":"a","output":"fine","type":"function_call_output"}
    {"call_id":"b","output":[{"text":"see","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo=","type":"input_image"}],"type":"function_call_output"}
    {"call_id":"c","output":"ERROR: unreadable","type":"function_call_output"}
    {"call_id":"d","output":"ERROR: it failed and says nothing","type":"function_call_output"}
    {"content":[{"text":"# Screen","type":"input_text"}],"role":"user","type":"message"}
    "##);
}

#[test]
fn media_that_may_not_stand_in_results_follow_them() {
    let case = Case::new()
        .profile(|profile| profile.media[0].in_results = false)
        .says("Go.", Vec::new())
        .answers("gpt", vec![calls("a", "{}")])
        .results(vec![(Status::Success, "see", vec![png()])], None);
    assert_snapshot!(case.field("input"), @r#"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"arguments":"{}","call_id":"a","name":"look","type":"function_call"}
    {"call_id":"a","output":"see\n[image/png, 8 bytes, shown below]","type":"function_call_output"}
    {"content":[{"detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo=","type":"input_image"}],"role":"user","type":"message"}
    "#);
}

#[test]
fn own_thoughts_go_back_in_their_order_and_before_what_they_led_to() {
    let phase = r#"{"phase":"commentary"}"#;
    let open = r#"{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}],"encrypted_content":""}"#;
    let case = Case::new()
        .says("Go.", Vec::new())
        .answers(
            "gpt",
            vec![thinks(THOUGHT), text("On it.", Some(phase)), thinks(open), calls("a", "{}")],
        )
        .results(vec![(Status::Success, "fine", Vec::new())], None);
    assert_snapshot!(case.field("input"), @r#"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"encrypted_content":"gAAA","summary":[],"type":"reasoning"}
    {"content":[{"text":"On it.","type":"output_text"}],"phase":"commentary","role":"assistant","type":"message"}
    {"content":[{"text":"Hm.","type":"reasoning_text"}],"summary":[],"type":"reasoning"}
    {"arguments":"{}","call_id":"a","name":"look","type":"function_call"}
    {"call_id":"a","output":"fine","type":"function_call_output"}
    "#);
}

#[test]
fn a_thought_that_led_to_nothing_is_left_out() {
    let last = Case::new()
        .says("Go.", Vec::new())
        .answers("gpt", vec![text("Yes.", None), thinks(THOUGHT), text(" ", Some("{}"))])
        .says("And?", Vec::new());
    assert!(!last.field("input").contains("reasoning"));
    for broken in
        ["", "gAAA", "[]", r#"{"type":"reasoning"}"#, r#"{"type":"reasoning","summary":[]}"#]
    {
        let case = Case::new()
            .says("Go.", Vec::new())
            .answers("gpt", vec![thinks(broken), text("Yes.", None)])
            .says("And?", Vec::new());
        assert!(!case.field("input").contains("reasoning"), "{broken}");
    }
}

#[test]
fn results_stand_right_after_their_calls() {
    let case = Case::new()
        .says("Go.", Vec::new())
        .answers(
            "gpt",
            vec![
                calls("a", "{}"),
                thinks(THOUGHT),
                text("On it.", Some(r#"{"phase":"odd"}"#)),
                thinks(THOUGHT),
                calls("b", "{}"),
            ],
        )
        .results(
            vec![(Status::Success, "", Vec::new()), (Status::Success, "fine", Vec::new())],
            None,
        );
    assert_snapshot!(case.field("input"), @r#"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"encrypted_content":"gAAA","summary":[],"type":"reasoning"}
    {"content":[{"text":"On it.","type":"output_text"}],"role":"assistant","type":"message"}
    {"arguments":"{}","call_id":"a","name":"look","type":"function_call"}
    {"encrypted_content":"gAAA","summary":[],"type":"reasoning"}
    {"arguments":"{}","call_id":"b","name":"look","type":"function_call"}
    {"call_id":"a","output":"","type":"function_call_output"}
    {"call_id":"b","output":"fine","type":"function_call_output"}
    "#);
}

#[test]
fn what_another_model_thought_stays_with_it() {
    let case = Case::new()
        .says("Go.", Vec::new())
        .answers(
            "other",
            vec![thinks(THOUGHT), calls("fc.1", "[]"), text("On it.", Some(r#"{"phase":"x"}"#))],
        )
        .results(vec![(Status::Success, "fine", Vec::new())], None);
    assert_snapshot!(case.field("input"), @r#"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"content":[{"text":"On it.","type":"output_text"}],"role":"assistant","type":"message"}
    {"arguments":"{}","call_id":"call_2_0","name":"look","type":"function_call"}
    {"call_id":"call_2_0","output":"fine","type":"function_call_output"}
    "#);
}

#[test]
fn a_search_is_told_again_and_what_else_the_service_did_is_not() {
    let foreign = |kind: &str, state: &str| {
        Block::Foreign(Foreign { kind: kind.into(), text: "".into(), state: state.into() })
    };
    let search = r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#;
    let custom = r#"{"type":"custom_tool_call","call_id":"c","name":"n","input":"i"}"#;
    let case = Case::new()
        .says("Go.", Vec::new())
        .answers(
            "gpt",
            vec![
                thinks(THOUGHT),
                foreign("web_search_call", search),
                foreign("custom_tool_call", custom),
                foreign("web_search_call", "cut"),
                text("Found.", None),
            ],
        )
        .says("And?", Vec::new());
    assert_snapshot!(case.field("input"), @r#"
    {"content":[{"text":"Go.","type":"input_text"}],"role":"user","type":"message"}
    {"encrypted_content":"gAAA","summary":[],"type":"reasoning"}
    {"action":{"query":"q","type":"search"},"status":"completed","type":"web_search_call"}
    {"content":[{"text":"Found.","type":"output_text"}],"role":"assistant","type":"message"}
    {"content":[{"text":"And?","type":"input_text"}],"role":"user","type":"message"}
    "#);
    assert_snapshot!(case.repairs().join("\n"), @"
    an item of the kind custom_tool_call is not told again
    an item of the kind web_search_call is not told again
    ");
}

#[test]
fn tools_say_whether_they_are_strict() {
    let mut case = Case::new().says("Go.", Vec::new()).tools(&[
        ("files.read", STRICT, true),
        ("loose", STRICT, false),
        ("optional", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, true),
        ("broken", "no schema", true),
    ]);
    case = case.profile(|profile| profile.strict_tools = true);
    assert_snapshot!(case.field("tools"), @r#"
    {"description":"A tool.","name":"files_read","parameters":{"additionalProperties":false,"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"},"strict":true,"type":"function"}
    {"description":"A tool.","name":"loose","parameters":{"additionalProperties":false,"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"},"strict":false,"type":"function"}
    {"description":"A tool.","name":"optional","parameters":{"properties":{"a":{"type":"string"}},"type":"object"},"strict":false,"type":"function"}
    {"description":"A tool.","name":"broken","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"}
    "#);
    case = case.profile(|profile| profile.strict_tools = false);
    assert!(!case.field("tools").contains("\"strict\":true"));
}

#[test]
fn tools_are_chosen() {
    let mut case = Case::new().says("Go.", Vec::new()).tools(&[("files.read", STRICT, false)]);
    let mut chosen = |choice: ToolChoice, support| {
        case.request.choice = choice;
        case.quirks.tool_choice = support;
        let body = case.body();
        (body["tool_choice"].to_string(), body["parallel_tool_calls"].to_string())
    };
    let full = ToolChoiceSupport::Full;
    let one = || ToolChoice::Only("files.read".into());
    assert_eq!(chosen(ToolChoice::Free, full), ("null".into(), "true".into()));
    assert_eq!(chosen(ToolChoice::Never, full).0, "\"none\"");
    assert_eq!(chosen(ToolChoice::Some, full).0, "\"required\"");
    assert_eq!(chosen(one(), full).0, r#"{"name":"files_read","type":"function"}"#);
    assert_eq!(chosen(ToolChoice::Only("gone".into()), full).0, "null");
    assert_eq!(chosen(one(), ToolChoiceSupport::NotForced).0, "null");
    assert_eq!(chosen(ToolChoice::Never, ToolChoiceSupport::NotForced).0, "\"none\"");
    assert_eq!(chosen(ToolChoice::Never, ToolChoiceSupport::Never).0, "null");
    case = case.profile(|profile| profile.tools = ToolSupport::OneByOne);
    assert_eq!(case.body()["parallel_tool_calls"], false);
    case = case.profile(|profile| profile.tools = ToolSupport::None);
    case.request.choice = ToolChoice::Some;
    for field in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert_eq!(case.body()[field], Value::Null, "{field}");
    }
}

#[test]
fn an_answer_has_a_form() {
    let mut case =
        Case::new().says("Go.", Vec::new()).profile(|profile| profile.json_answers = true);
    let form = |schema: &str| AnswerForm::Json { name: "the answer".into(), schema: schema.into() };
    case.request.form = form(STRICT);
    assert_snapshot!(case.field("text"), @r#"
    {
      "format": {
        "name": "the_answer",
        "schema": {
          "additionalProperties": false,
          "properties": {
            "path": {
              "type": "string"
            }
          },
          "required": [
            "path"
          ],
          "type": "object"
        },
        "strict": true,
        "type": "json_schema"
      }
    }
    "#);
    case.request.form = form(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    assert_eq!(case.body()["text"]["format"]["strict"], false);
    case = case.profile(|profile| profile.json_answers = false);
    assert_eq!(case.body()["text"], Value::Null);
    assert_eq!(case.repairs(), ["the model cannot be held to the form of its answer"]);
}

#[test]
fn effort_is_told_to_models_that_take_one() {
    let off = ThinkingSupport::Effort { can_be_off: true };
    let on = ThinkingSupport::Effort { can_be_off: false };
    let told = |support, thinking, effort| {
        let mut case = Case::new().says("Go.", Vec::new());
        case = case.profile(|profile| profile.thinking = support);
        case.quirks.effort = effort;
        case.request.options.thinking = thinking;
        let body = case.body();
        let asked = body["include"] == serde_json::json!(["reasoning.encrypted_content"]);
        assert_eq!(asked, support != ThinkingSupport::Never);
        assert_eq!(body["include"].is_null(), !asked);
        body["reasoning"].to_string()
    };
    let auto = r#"{"summary":"auto"}"#;
    assert_eq!(told(off, None, true), auto);
    assert_eq!(told(off, Some(Thinking::Adaptive), true), auto);
    assert_eq!(told(off, Some(Thinking::Off), true), r#"{"effort":"none"}"#);
    for (thinking, effort) in [
        (Thinking::Off, "low"),
        (Thinking::Low, "low"),
        (Thinking::Medium, "medium"),
        (Thinking::High, "high"),
        (Thinking::Budget { tokens: 1024 }, "low"),
        (Thinking::Budget { tokens: 8192 }, "medium"),
        (Thinking::Budget { tokens: 32_000 }, "high"),
    ] {
        let expected = format!(r#"{{"effort":"{effort}","summary":"auto"}}"#);
        assert_eq!(told(on, Some(thinking), true), expected, "{thinking:?}");
    }
    assert_eq!(told(on, Some(Thinking::High), false), "null");
    assert_eq!(told(ThinkingSupport::Always, Some(Thinking::High), true), auto);
    assert_eq!(told(ThinkingSupport::Never, Some(Thinking::High), true), "null");
}

#[test]
fn caps_temperatures_and_cache_keys_are_sent_where_they_are_taken() {
    let mut case = Case::new().says("Go.", Vec::new());
    let asked = |case: &Case| {
        let body = case.body();
        ["max_output_tokens", "temperature", "prompt_cache_key"].map(|name| body[name].to_string())
    };
    assert_eq!(asked(&case), ["null", "null", "null"]);
    case.request.options.max_output_tokens = Some(1);
    case.request.options.temperature_thousandths = Some(700);
    assert_eq!(asked(&case), ["16", "null", "null"]);
    case.request.options.max_output_tokens = Some(1_000_000);
    case = case.profile(|profile| profile.temperature = true);
    case.quirks.cache_key = true;
    assert_eq!(asked(&case), ["2048", "0.7", "\"key\""]);
    case.request.options.temperature_thousandths = Some(9000);
    assert_eq!(asked(&case)[1], "2.0");
    case.quirks.no_temperature = true;
    case.request.cache_key = Some("k".repeat(65).into());
    let [_, temperature, key] = asked(&case);
    assert_eq!((&*temperature, key.len()), ("null", 66));
    assert!(!key.contains("kk"), "{key}");
}
