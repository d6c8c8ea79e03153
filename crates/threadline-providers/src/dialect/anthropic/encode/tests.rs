//! Requests told part by part, and the bodies that they become.

mod options;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::Value;
use threadline_core::context::{
    Body as Said, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen,
    Source, System,
};
use threadline_core::history::fact::{
    Attachment, Block as Told, CallOptions, Digest, Effect, Foreign, Invocation, Purpose, Status,
    Stop, Text, ThinkingBlock, ToolCall, Verdict,
};
use threadline_core::id::CallId;
use threadline_core::provider::{MediaSupport, Profile, Target, ThinkingSupport};
use threadline_core::tool::{Catalogue, Handling, RunRules, ToolSpec};

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PDF: &[u8] = b"%PDF-";
const SIGNED: &str = r#"{"signature":"Eq=="}"#;
const BUDGET: ThinkingSupport =
    ThinkingSupport::Budget { least_tokens: 1_024, most_tokens: 32_000 };

/// A request as it comes about, and the quirks of its model.
struct Case {
    parts: Vec<Part>,
    request: Request,
    quirks: Quirks,
}

impl Case {
    fn new() -> Self {
        let types = ["image/png", "application/pdf", "text/plain", "audio/wav"];
        let media = types.map(|media_type| MediaSupport {
            media_type: media_type.into(),
            cap_bytes: 1_000_000,
            tokens: 1_000,
            in_results: true,
        });
        let profile = Profile {
            output_cap_tokens: 8_000,
            media: media.into(),
            tools: ToolSupport::SideBySide,
            json_answers: true,
            temperature: true,
            ..Profile::unknown()
        };
        let bytes = [PNG, PDF, b"notes", b"RIFF"].map(|bytes| (Digest::of(bytes), bytes.into()));
        let request = Request {
            target: Arc::new(Target {
                name: "mine".into(),
                invocation: invocation("mine"),
                profile,
                unusable: None,
            }),
            purpose: Purpose::Step,
            context: Arc::default(),
            media: BTreeMap::from(bytes),
            catalogue: Arc::default(),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
            cache_key: None,
        };
        Self { parts: Vec::new(), request, quirks: Quirks::default() }
    }

    fn profile(mut self, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut Arc::make_mut(&mut self.request.target).profile);
        self
    }

    fn system(mut self, text: &str) -> Self {
        Arc::make_mut(&mut self.request.context).system =
            System { entry: None, text: text.into(), tokens: 0 };
        self
    }

    fn tools(mut self, names: &[&str]) -> Self {
        let spec = |name: &&str| {
            Arc::new(ToolSpec {
                name: (*name).into(),
                description: "a tool".into(),
                schema: r#"{"type":"object","properties":{}}"#.into(),
                strict: false,
                server: None,
                verdict: Verdict::Allow,
                handling: Handling::Run(RunRules::usual(Effect::Read)),
            })
        };
        let tools = names.iter().map(spec).collect();
        self.request.catalogue = Arc::new(Catalogue::new(tools, 0).unwrap());
        self
    }

    fn part(mut self, body: Said) -> Self {
        let source = Source::Entry(Seq(u64::try_from(self.parts.len()).unwrap() + 1));
        self.parts.push(Part { source, level: Level::Live, tokens: 0, body });
        self
    }

    fn says(self, text: &str) -> Self {
        self.attaches(text, &[])
    }

    fn attaches(self, text: &str, attachments: &[Attachment]) -> Self {
        let attachments = attachments.to_vec();
        self.part(Said::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    fn screen(mut self, text: &str) -> Self {
        let shown = Some(Screen { text: text.into(), tokens: 0 });
        match &mut self.parts.last_mut().unwrap().body {
            Said::Input(input) => input.screen = shown,
            Said::Results(results) => results.screen = shown,
            Said::Output(_) => panic!("no screen on outputs"),
        }
        self
    }

    fn own(self, blocks: &[Told]) -> Self {
        self.output("mine", Stop::Done, blocks)
    }

    fn other(self, blocks: &[Told]) -> Self {
        self.output("other", Stop::Done, blocks)
    }

    fn output(self, model: &str, stop: Stop, blocks: &[Told]) -> Self {
        let (invocation, blocks) = (invocation(model), blocks.to_vec());
        self.part(Said::Output(OutputPart { invocation, blocks, stop }))
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
        self.part(Said::Results(ResultsPart { results, screen: None }))
    }

    fn encoded(&self) -> Encoded {
        let mut request = self.request.clone();
        let system = request.context.system.clone();
        request.context = Arc::new(Context { system, parts: self.parts.clone() });
        let encoded = encode(&request, &self.quirks);
        assert_eq!(encode(&request, &self.quirks), encoded, "the same request, the same bytes");
        encoded
    }

    /// The body as it is written, spread out.
    fn pretty(&self) -> String {
        let body: Value = serde_json::from_slice(&self.encoded().body).unwrap();
        serde_json::to_string_pretty(&body).unwrap()
    }

    /// The messages, a line for each block, then what was mended.
    fn messages(&self) -> String {
        let Encoded { body, repairs, .. } = self.encoded();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let mut told = String::new();
        for message in body["messages"].as_array().unwrap() {
            writeln!(told, "{}", message["role"].as_str().unwrap()).unwrap();
            for block in message["content"].as_array().unwrap() {
                writeln!(told, "  {block}").unwrap();
            }
        }
        tell(&mut told, &repairs);
        told
    }

    /// All but the messages, a line for each field, then what was mended.
    fn fields(&self) -> String {
        let Encoded { body, repairs, .. } = self.encoded();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let usual = ["messages", "model", "stream", "tools"];
        let mut told = String::new();
        for (key, value) in body.as_object().unwrap() {
            if !usual.contains(&&**key) {
                writeln!(told, "{key}: {value}").unwrap();
            }
        }
        tell(&mut told, &repairs);
        told
    }
}

fn tell(told: &mut String, repairs: &[Repair]) {
    for repair in repairs {
        let entry = repair.entry.map(|entry| format!(" at {entry}")).unwrap_or_default();
        writeln!(told, "mended{entry}: {}", repair.what).unwrap();
    }
}

fn invocation(model: &str) -> Invocation {
    Invocation {
        provider: "test".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "anthropic".into(),
        model: model.into(),
    }
}

fn text(text: &str) -> Told {
    Told::Text(Text { text: text.into(), state: None })
}

fn thinks(text: &str, state: &str) -> Told {
    Told::Thinking(ThinkingBlock { text: text.into(), state: Some(state.into()) })
}

fn calls(id: &str, name: &str, arguments: &str) -> Told {
    Told::ToolCall(ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: Some(id.into()),
        complete: true,
        state: None,
    })
}

fn foreign(state: &str) -> Told {
    let (kind, text) = ("server".into(), "what was found".into());
    Told::Foreign(Foreign { kind, text, state: state.into() })
}

fn file(name: &str, media_type: &str, bytes: &[u8]) -> Attachment {
    Attachment {
        digest: Digest::of(bytes),
        size: u64::try_from(bytes.len()).unwrap(),
        media_type: media_type.into(),
        name: Some(name.into()),
        extent: None,
    }
}

#[test]
fn a_plain_request() {
    let case = Case::new().system("Be terse.").tools(&["look", "files.read"]).says("hi");
    assert_snapshot!(case.pretty(), @r#"
    {
      "max_tokens": 8000,
      "messages": [
        {
          "content": [
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "text": "hi",
              "type": "text"
            }
          ],
          "role": "user"
        }
      ],
      "model": "mine",
      "stream": true,
      "system": [
        {
          "cache_control": {
            "type": "ephemeral"
          },
          "text": "Be terse.",
          "type": "text"
        }
      ],
      "tools": [
        {
          "description": "a tool",
          "input_schema": {
            "properties": {},
            "type": "object"
          },
          "name": "look"
        },
        {
          "description": "a tool",
          "input_schema": {
            "properties": {},
            "type": "object"
          },
          "name": "files_read"
        }
      ]
    }
    "#);
    let encoded = case.encoded();
    assert_eq!(&*encoded.names.from_wire("files_read"), "files.read");
    let start = br#"{"model":"mine","max_tokens":8000,"stream":true,"tools":[{"name":"look""#;
    assert_eq!(encoded.body.get(..start.len()).unwrap(), start);
}

#[test]
fn media_go_as_images_and_documents_and_the_rest_is_named() {
    let case = Case::new().attaches(
        "look",
        &[
            file("a.png", "image/png", PNG),
            file("b.pdf", "application/pdf", PDF),
            file("c.txt", "text/plain", b"notes"),
            file("d.wav", "audio/wav", b"RIFF"),
        ],
    );
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"look","type":"text"}
      {"source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"},"type":"image"}
      {"source":{"data":"JVBERi0=","media_type":"application/pdf","type":"base64"},"title":"b.pdf","type":"document"}
      {"source":{"data":"notes","media_type":"text/plain","type":"text"},"title":"c.txt","type":"document"}
      {"cache_control":{"type":"ephemeral"},"text":"[d.wav: audio/wav, 4 bytes, not shown]","type":"text"}
    mended: what the protocol has no block for is only named
    "#);
}

#[test]
fn results_come_first_then_what_was_said_then_the_screen() {
    let case = Case::new()
        .says("both")
        .screen("# [Live Screen]\n\nold")
        .own(&[
            text("Looking."),
            calls("toolu_a", "look", r#"{"x": 1}"#),
            calls("toolu_b", "look", "{}"),
            calls("toolu_c", "look", "{}"),
        ])
        .results(&[
            (Status::Success, "found", &[file("a.png", "image/png", PNG)]),
            (Status::Failed, "unreadable", &[]),
            (Status::Success, "", &[]),
        ])
        .screen("# [Live Screen]\n\nnew");
    assert_snapshot!(case.messages(), @r##"
    user
      {"cache_control":{"type":"ephemeral"},"text":"both","type":"text"}
      {"text":"# [Live Screen]\n\nold","type":"text"}
    assistant
      {"text":"Looking.","type":"text"}
      {"id":"toolu_a","input":{"x":1},"name":"look","type":"tool_use"}
      {"id":"toolu_b","input":{},"name":"look","type":"tool_use"}
      {"id":"toolu_c","input":{},"name":"look","type":"tool_use"}
    user
      {"content":[{"text":"found","type":"text"},{"source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"toolu_a","type":"tool_result"}
      {"content":"unreadable","is_error":true,"tool_use_id":"toolu_b","type":"tool_result"}
      {"cache_control":{"type":"ephemeral"},"tool_use_id":"toolu_c","type":"tool_result"}
      {"text":"# [Live Screen]\n\nnew","type":"text"}
    "##);
    let steered = case.says("and now?");
    assert_snapshot!(steered.messages().lines().rev().take(3).collect::<Vec<_>>().join("\n"), @r##"
    {"cache_control":{"type":"ephemeral"},"text":"and now?","type":"text"}
    {"text":"# [Live Screen]\n\nnew","type":"text"}
    {"tool_use_id":"toolu_c","type":"tool_result"}
    "##);
}

#[test]
fn own_thinking_goes_back_as_it_came_also_with_no_words() {
    let case = Case::new()
        .says("go")
        .own(&[
            thinks("Hm.", SIGNED),
            thinks("", r#"{"signature":"Er=="}"#),
            thinks("", r#"{"redacted":"Em=="}"#),
            thinks("cut", "odd"),
            text("Yes."),
        ])
        .says("on");
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"signature":"Eq==","thinking":"Hm.","type":"thinking"}
      {"signature":"Er==","thinking":"","type":"thinking"}
      {"data":"Em==","type":"redacted_thinking"}
      {"text":"Yes.","type":"text"}
    user
      {"cache_control":{"type":"ephemeral"},"text":"on","type":"text"}
    mended at 2: a thought without a signature is left out
    "#);
}

#[test]
fn a_thought_after_what_it_led_to_does_not_go() {
    let used = foreign(r#"{"type":"mcp_tool_use","id":"s","name":"find","input":{}}"#);
    let found = foreign(r#"{"type":"mcp_tool_result","tool_use_id":"s","content":[]}"#);
    let thought = |text| thinks(text, SIGNED);
    let case = Case::new()
        .says("go")
        .own(&[thought("1"), text("a"), thought("2"), used, found, thought("3"), text("b")])
        .says("on");
    let told = case.messages();
    let kept = ["1", "2", "3"].map(|text| told.contains(&format!(r#""thinking":"{text}""#)));
    assert_eq!(kept, [true, false, true], "{told}");
    assert!(told.contains("mended at 2: a thought after what it led to is left out"));
}

#[test]
fn another_models_thinking_does_not_go_and_its_server_blocks_become_text() {
    let case = Case::new()
        .says("go")
        .other(&[thinks("Hm.", SIGNED), foreign("{}"), calls("x.1", "look", "{}"), text("Yes.")])
        .results(&[(Status::Success, "found", &[])]);
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"text":"what was found","type":"text"}
      {"text":"Yes.","type":"text"}
      {"id":"call_2_0","input":{},"name":"look","type":"tool_use"}
    user
      {"cache_control":{"type":"ephemeral"},"content":"found","tool_use_id":"call_2_0","type":"tool_result"}
    "#);
}

#[test]
fn server_blocks_go_to_their_origin_in_pairs() {
    let used =
        foreign(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}"#);
    let found = foreign(r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#);
    let alone = foreign(r#"{"type":"server_tool_use","id":"t","name":"web_search","input":{}}"#);
    let orphan = foreign(r#"{"type":"mcp_tool_result","tool_use_id":"u","content":[]}"#);
    let broken = foreign("");
    let case = Case::new()
        .says("go")
        .own(&[used.clone(), found.clone(), alone.clone(), orphan, broken, text("Found.")])
        .says("on");
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"id":"s","input":{"q":1},"name":"web_search","type":"server_tool_use"}
      {"content":[],"tool_use_id":"s","type":"web_search_tool_result"}
      {"text":"Found.","type":"text"}
    user
      {"cache_control":{"type":"ephemeral"},"text":"on","type":"text"}
    mended at 2: a block of the server's that is not whole is left out
    mended at 2: a block of the server's that is not whole is left out
    mended at 2: a block of the server's that is not whole is left out
    "#);
    let paused = Case::new().says("go").output(
        "mine",
        Stop::Paused,
        &[text("Searching."), used, found, alone],
    );
    assert_snapshot!(paused.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"cache_control":{"type":"ephemeral"},"text":"Searching.","type":"text"}
      {"id":"s","input":{"q":1},"name":"web_search","type":"server_tool_use"}
      {"content":[],"tool_use_id":"s","type":"web_search_tool_result"}
      {"id":"t","input":{},"name":"web_search","type":"server_tool_use"}
    "#);
}

#[test]
fn a_pause_without_server_tools_is_answered() {
    let used = foreign(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#);
    let paused = Case::new().says("go").output("mine", Stop::Paused, &[used, text("Well ")]);
    assert_snapshot!(paused.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"text":"Well ","type":"text"}
    user
      {"cache_control":{"type":"ephemeral"},"text":"Go on.","type":"text"}
    mended at 2: a block of the server's that is not whole is left out
    mended: a line asks the model to go on
    "#);
}

#[test]
fn nothing_but_calls_follows_a_call() {
    let case = Case::new()
        .says("go")
        .own(&[text("a"), calls("x", "look", "{}"), text("b"), calls("y", "look", "{}")])
        .results(&[(Status::Success, "1", &[]), (Status::Success, "2", &[])]);
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"go","type":"text"}
    assistant
      {"text":"a","type":"text"}
      {"text":"b","type":"text"}
      {"id":"x","input":{},"name":"look","type":"tool_use"}
      {"id":"y","input":{},"name":"look","type":"tool_use"}
    user
      {"content":"1","tool_use_id":"x","type":"tool_result"}
      {"cache_control":{"type":"ephemeral"},"content":"2","tool_use_id":"y","type":"tool_result"}
    mended at 2: what was said after a call is put before it
    "#);
}

#[test]
fn marks_are_before_the_first_screen_and_on_the_newest_that_stays() {
    let mut case = Case::new()
        .says("earlier")
        .own(&[text("Yes.")])
        .says("go")
        .screen("old")
        .own(&[thinks("Hm.", SIGNED), calls("a", "look", "{}")])
        .results(&[(Status::Success, "1", &[])])
        .own(&[calls("b", "look", "{}")])
        .results(&[(Status::Success, "2", &[])])
        .screen("new");
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"earlier","type":"text"}
    assistant
      {"text":"Yes.","type":"text"}
    user
      {"cache_control":{"type":"ephemeral"},"text":"go","type":"text"}
      {"text":"old","type":"text"}
    assistant
      {"signature":"Eq==","thinking":"Hm.","type":"thinking"}
      {"id":"a","input":{},"name":"look","type":"tool_use"}
    user
      {"content":"1","tool_use_id":"a","type":"tool_result"}
    assistant
      {"id":"b","input":{},"name":"look","type":"tool_use"}
    user
      {"cache_control":{"type":"ephemeral"},"content":"2","tool_use_id":"b","type":"tool_result"}
      {"text":"new","type":"text"}
    "#);
    case.quirks.cache_marks = false;
    assert!(!case.system("Be terse.").pretty().contains("cache_control"));
}

#[test]
fn without_a_system_message_the_last_tool_is_marked() {
    let case = Case::new().tools(&["look", "read"]).says("hi").screen("s");
    let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
    assert_eq!(body.get("system"), None);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"]["type"], "ephemeral");
    assert_eq!(case.pretty().matches("cache_control").count(), 2);
}

#[test]
fn where_thinking_is_preserved_only_that_of_the_current_turn_goes() {
    let mut case = Case::new()
        .says("earlier")
        .own(&[thinks("Old.", SIGNED), text("Yes.")])
        .says("go")
        .own(&[thinks("New.", SIGNED), calls("a", "look", "{}")])
        .results(&[(Status::Success, "1", &[])]);
    assert_eq!(case.messages().matches("thinking\":").count(), 2);
    case.quirks.preserved_thinking = true;
    assert_snapshot!(case.messages(), @r#"
    user
      {"text":"earlier","type":"text"}
    assistant
      {"text":"Yes.","type":"text"}
    user
      {"text":"go","type":"text"}
    assistant
      {"signature":"Eq==","thinking":"New.","type":"thinking"}
      {"id":"a","input":{},"name":"look","type":"tool_use"}
    user
      {"cache_control":{"type":"ephemeral"},"content":"1","tool_use_id":"a","type":"tool_result"}
    "#);
}
