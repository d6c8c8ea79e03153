//! Requests in, bodies out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use threadline_core::context::{
    Body, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen, Source,
    System,
};
use threadline_core::history::fact::{
    Attachment, Block, CallOptions, Digest, Effect, Foreign, Invocation, Purpose, Status, Stop,
    Text, Thinking, ThinkingBlock, ToolCall, Verdict,
};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{
    AnswerForm, MediaSupport, Profile, Request, Target, ThinkingSupport, ToolChoice, ToolSupport,
};
use threadline_core::tool::{Catalogue, Handling, RunRules, ToolSpec};

use crate::dialect::Encoded;
use crate::dialect::openai_chat::encode::encode;
use crate::json::{Json, get};
use crate::quirks::{
    EffortField, IdRule, MaxTokensField, Quirks, SystemRole, ThinkingBack, ToolChoiceSupport,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PDF: &[u8] = b"%PDF-1.7";
const WAV: &[u8] = b"RIFF";

/// What is asked, and whom.
struct Case {
    request: Request,
    quirks: Quirks,
}

impl Case {
    fn new() -> Self {
        let profile = Profile {
            tools: ToolSupport::SideBySide,
            output_cap_tokens: 1_000,
            thinking: ThinkingSupport::Effort { can_be_off: true },
            ..Profile::unknown()
        };
        let target = Target {
            name: "mine".into(),
            invocation: invocation("mine"),
            profile,
            unusable: None,
        };
        let media = [PNG, PDF, WAV].map(|bytes| (Digest::of(bytes), Arc::from(bytes)));
        let request = Request {
            target: Arc::new(target),
            purpose: Purpose::Step,
            context: Arc::new(Context { system: System::default(), parts: Vec::new() }),
            media: BTreeMap::from(media),
            catalogue: Arc::default(),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
            cache_key: Some("conversation/agent".into()),
        };
        Self { request, quirks: Quirks::default() }
    }

    fn quirks(mut self, change: impl FnOnce(&mut Quirks)) -> Self {
        change(&mut self.quirks);
        self
    }

    fn profile(mut self, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut Arc::make_mut(&mut self.request.target).profile);
        self
    }

    fn options(mut self, change: impl FnOnce(&mut CallOptions)) -> Self {
        change(&mut self.request.options);
        self
    }

    fn system(mut self, text: &str) -> Self {
        Arc::make_mut(&mut self.request.context).system.text = text.into();
        self
    }

    fn tools(mut self, tools: &[(&str, &str, bool)]) -> Self {
        let tools = tools.iter().map(|(name, schema, strict)| {
            Arc::new(ToolSpec {
                name: (*name).into(),
                description: "does it".into(),
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

    fn chooses(mut self, choice: ToolChoice) -> Self {
        self.request.choice = choice;
        self
    }

    fn part(mut self, body: Body) -> Self {
        let parts = &mut Arc::make_mut(&mut self.request.context).parts;
        let source = Source::Entry(Seq(u64::try_from(parts.len()).unwrap() + 1));
        parts.push(Part { source, level: Level::Live, tokens: 0, body });
        self
    }

    fn says(self, text: &str) -> Self {
        self.attaches(text, &[])
    }

    fn attaches(self, text: &str, attached: &[(&[u8], &str, Option<&str>)]) -> Self {
        let attachments = attachments(attached);
        self.part(Body::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    fn screen(mut self, text: &str) -> Self {
        let shown = Some(Screen { text: text.into(), tokens: 0 });
        let parts = &mut Arc::make_mut(&mut self.request.context).parts;
        match &mut parts.last_mut().unwrap().body {
            Body::Input(input) => input.screen = shown,
            Body::Results(results) => results.screen = shown,
            Body::Output(_) => panic!("no screen on outputs"),
        }
        self
    }

    fn output(self, model: &str, blocks: Vec<Block>) -> Self {
        let (invocation, stop) = (invocation(model), Stop::Done);
        self.part(Body::Output(OutputPart { invocation, blocks, stop }))
    }

    fn results(self, results: &[(Status, &str, &[(&[u8], &str, Option<&str>)])]) -> Self {
        let output = Seq(u64::try_from(self.request.context.parts.len()).unwrap());
        let results = (0..).zip(results).map(|(index, (status, text, attached))| ResultPart {
            call: CallId { output, index },
            name: "look".into(),
            entry: Seq(output.0 + 1),
            status: *status,
            text: (*text).into(),
            attachments: attachments(attached),
            level: Level::Live,
            tokens: 0,
        });
        let results = results.collect();
        self.part(Body::Results(ResultsPart { results, screen: None }))
    }

    fn encoded(&self) -> Encoded {
        let encoded = encode(&self.request, &self.quirks);
        assert_eq!(encoded, encode(&self.request, &self.quirks), "equal requests, equal bytes");
        assert!(encoded.headers.is_empty());
        encoded
    }

    /// The whole body.
    fn body(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        serde_json::to_string_pretty(&body).unwrap()
    }

    /// The messages alone, a line each.
    fn messages(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        let messages = get(body.members().unwrap(), "messages").unwrap().items();
        messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Everything but the messages, on a line.
    fn rest(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        let mut fields = body.members().unwrap().clone();
        assert_eq!(get(&fields, "stream"), Some(&Json::Flag(true)));
        fields.retain(|(key, _)| !["model", "messages", "stream"].contains(&key.as_str()));
        line(&Json::Object(fields))
    }

    fn repairs(&self) -> String {
        let repairs = self.encoded().repairs;
        repairs.iter().map(|repair| &*repair.what).collect::<Vec<_>>().join("\n")
    }
}

fn line(json: &Json) -> String {
    serde_json::to_string(json).unwrap()
}

fn invocation(model: &str) -> Invocation {
    Invocation {
        provider: "test".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "openai-chat".into(),
        model: model.into(),
    }
}

fn attachments(attached: &[(&[u8], &str, Option<&str>)]) -> Vec<Attachment> {
    let each = attached.iter().map(|(bytes, media_type, name)| Attachment {
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        media_type: (*media_type).into(),
        name: name.map(Into::into),
        extent: None,
    });
    each.collect()
}

fn sees(profile: &mut Profile) {
    let media = ["image/png", "application/pdf", "audio/wav"].map(|media_type| MediaSupport {
        media_type: media_type.into(),
        cap_bytes: 1_000,
        tokens: 100,
        in_results: false,
    });
    profile.media = media.into();
}

fn text(text: &str) -> Block {
    Block::Text(Text { text: text.into(), state: None })
}

fn thinks(text: &str, state: Option<&str>) -> Block {
    Block::Thinking(ThinkingBlock { text: text.into(), state: state.map(Into::into) })
}

fn calls(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        provider_id: Some(id.into()),
        complete: true,
        state: None,
    })
}

const SCHEMA: &str = r#"{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}"#;
const PLAIN: &str = r#"{"type":"object","properties":{"at":{"type":"string"}}}"#;
const IMAGE: (&[u8], &str, Option<&str>) = (PNG, "image/png", Some("dog.png"));

/// A step in which two calls were made, thought out and answered.
fn two_calls(model: &str) -> Case {
    Case::new()
        .says("Look.")
        .output(
            model,
            vec![
                thinks("Both.", Some(r#"[{"type":"reasoning.text","text":"Both."}]"#)),
                text("Looking."),
                calls("theirs_a", "look", r#"{"at":"a"}"#),
                calls("theirs_b", "files.read", ""),
            ],
        )
        .results(&[(Status::Success, "a dog", &[]), (Status::Failed, "no such file", &[])])
}

#[test]
fn plain_text() {
    let case = Case::new().system("Be terse.").says("Hi.");
    insta::assert_snapshot!(case.body(), @"");
    let bytes = String::from_utf8(case.encoded().body).unwrap();
    insta::assert_snapshot!(bytes, @"");
}

#[test]
fn media_go_with_the_text() {
    let attached = [IMAGE, (PDF, "application/pdf", None), (WAV, "audio/wav", None)];
    let case = Case::new().profile(sees).attaches("What is it?", &attached);
    insta::assert_snapshot!(case.messages(), @"");
    let named = [(PDF, "application/pdf", Some("a.pdf"))];
    insta::assert_snapshot!(Case::new().profile(sees).attaches("", &named).messages(), @"");
}

#[test]
fn calls_side_by_side_and_their_results() {
    let case = two_calls("mine").tools(&[("look", PLAIN, false), ("files.read", "{}", false)]);
    insta::assert_snapshot!(case.body(), @"");
    insta::assert_snapshot!(case.repairs(), @"");
    let silent = Case::new()
        .says("Look.")
        .output("mine", vec![calls("a", "look", "{}")])
        .results(&[(Status::Unknown, "", &[])]);
    insta::assert_snapshot!(silent.messages(), @"");
}

#[test]
fn thinking_goes_back_to_its_origin_only() {
    let forms = [
        ThinkingBack::Nowhere,
        ThinkingBack::ReasoningContent,
        ThinkingBack::Reasoning,
        ThinkingBack::ReasoningDetails,
        ThinkingBack::ContentPart,
    ];
    let said = |model: &str, back, required| {
        let case = two_calls(model).quirks(|quirks| {
            quirks.thinking_back = back;
            quirks.thinking_back_required = required;
        });
        let message = case.messages().lines().nth(1).unwrap().to_owned();
        let message: Json = serde_json::from_str(&message).unwrap();
        let mut message = message.members().unwrap().clone();
        assert_eq!(get(&message, "tool_calls").unwrap().items().len(), 2);
        message.retain(|(key, _)| key != "tool_calls" && key != "role");
        format!("{back:?}: {}", line(&Json::Object(message)))
    };
    let own = forms.map(|back| said("mine", back, false)).join("\n");
    insta::assert_snapshot!(own, @"");
    let foreign = forms.map(|back| said("other", back, false)).join("\n");
    insta::assert_snapshot!(foreign, @"");
    let required = forms.map(|back| said("other", back, true)).join("\n");
    insta::assert_snapshot!(required, @"");
    let bare = Case::new()
        .says("Hi.")
        .output("mine", vec![thinks("Hm.", None), text("Yes."), text("And no.")])
        .says("So?")
        .quirks(|quirks| quirks.thinking_back = ThinkingBack::ReasoningDetails);
    insta::assert_snapshot!(bare.messages(), @"");
}

#[test]
fn what_only_others_understand_is_left_out() {
    let foreign = |kind: &str, state: &str| {
        Block::Foreign(Foreign { kind: kind.into(), text: "".into(), state: state.into() })
    };
    let case = Case::new()
        .says("Hi.")
        .output("mine", vec![foreign("refusal", "\"No.\""), foreign("search", "{}")])
        .says("Why?");
    insta::assert_snapshot!(case.messages(), @"");
}

#[test]
fn the_screen_comes_last() {
    let shown = || two_calls("mine").screen("# [Live Screen]\n\n12:00");
    insta::assert_snapshot!(shown().messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @"");
    let appended = shown().quirks(|quirks| quirks.user_after_tool = false);
    insta::assert_snapshot!(appended.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @"");
    let first = || Case::new().says("Hi.").screen("12:00");
    insta::assert_snapshot!(first().messages(), @"");
    insta::assert_snapshot!(first().quirks(|quirks| quirks.content_parts = true).messages(), @"");
    let one = Case::new().says("Hi.").quirks(|quirks| quirks.content_parts = true);
    insta::assert_snapshot!(one.messages(), @"");
}

#[test]
fn media_of_results_follow_them_or_are_named() {
    let case = || {
        Case::new()
            .profile(sees)
            .says("Look.")
            .output("mine", vec![calls("a", "look", "{}")])
            .results(&[(Status::Success, "here", &[IMAGE])])
    };
    insta::assert_snapshot!(case().messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @"");
    let named = case().attaches("And this?", &[IMAGE]).quirks(|quirks| quirks.user_after_tool = false);
    insta::assert_snapshot!(named.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @"");
    insta::assert_snapshot!(named.repairs(), @"");
    let inside = case().profile(|profile| profile.media[0].in_results = true);
    insta::assert_snapshot!(inside.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @"");
}

#[test]
fn tools_are_chosen_as_far_as_the_server_can_be_told() {
    let choices =
        [ToolChoice::Free, ToolChoice::Never, ToolChoice::Some, ToolChoice::Only("files.read".into())];
    let supports =
        [ToolChoiceSupport::Full, ToolChoiceSupport::NotForced, ToolChoiceSupport::Never];
    let mut told = Vec::new();
    for support in supports {
        for choice in choices.clone() {
            let case = Case::new()
                .says("Hi.")
                .tools(&[("files.read", PLAIN, false)])
                .quirks(|quirks| quirks.tool_choice = support)
                .chooses(choice.clone());
            let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
            let tools = body["tools"].as_array().map_or(0, Vec::len);
            told.push(format!(
                "{support:?} {choice:?}: {tools} tools, {} {}",
                body["tool_choice"],
                case.repairs(),
            ));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @"");
    let none = Case::new().says("Hi.").chooses(ToolChoice::Some).quirks(|q| q.parallel_flag = true);
    insta::assert_snapshot!(none.rest(), @"");
}

#[test]
fn a_tool_is_strict_only_in_its_own_schema() {
    let case = |strict_tools| {
        Case::new()
            .says("Hi.")
            .tools(&[("held", SCHEMA, true), ("other", PLAIN, true), ("free", SCHEMA, false)])
            .quirks(|quirks| quirks.strict_field = true)
            .profile(|profile| profile.strict_tools = strict_tools)
    };
    let strict = |case: &Case| {
        let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
        let tools = body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["function"]["strict"].to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(strict(&case(true)), "true false false");
    assert_eq!(strict(&case(false)), "false false false");
    assert_eq!(strict(&case(true).quirks(|quirks| quirks.strict_field = false)), "null null null");
}

#[test]
fn an_answer_can_be_held_to_a_form() {
    let case = || {
        let mut case = Case::new().says("Hi.").profile(|profile| profile.json_answers = true);
        case.request.form = AnswerForm::Json { name: "a form!".into(), schema: SCHEMA.into() };
        case
    };
    insta::assert_snapshot!(case().rest(), @"");
    insta::assert_snapshot!(case().quirks(|quirks| quirks.strict_field = true).rest(), @"");
    let cannot = case().profile(|profile| profile.json_answers = false);
    insta::assert_snapshot!(format!("{} {}", cannot.rest(), cannot.repairs()), @"");
}

#[test]
fn efforts_are_told_in_the_servers_words() {
    let thinking = [
        None,
        Some(Thinking::Off),
        Some(Thinking::Adaptive),
        Some(Thinking::Low),
        Some(Thinking::High),
        Some(Thinking::Budget { tokens: 8_000 }),
    ];
    let told = |field, support, tools: &[(&str, &str, bool)], no_effort| {
        let each = thinking.map(|thinking| {
            let case = Case::new()
                .says("Hi.")
                .tools(tools)
                .options(|options| options.thinking = thinking)
                .profile(|profile| profile.thinking = support)
                .quirks(|quirks| {
                    quirks.effort_field = field;
                    quirks.tools_need_no_effort = no_effort;
                });
            let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
            format!("{}/{}", body["reasoning_effort"], body["reasoning"])
        });
        each.join(" ")
    };
    let (effort, always) = (ThinkingSupport::Effort { can_be_off: true }, ThinkingSupport::Always);
    let budget = ThinkingSupport::Budget { least_tokens: 1_024, most_tokens: 4_000 };
    let stubborn = ThinkingSupport::Effort { can_be_off: false };
    let lines = [
        told(EffortField::ReasoningEffort, effort, &[], false),
        told(EffortField::ReasoningEffort, stubborn, &[], true),
        told(EffortField::ReasoningEffort, always, &[], false),
        told(EffortField::ReasoningEffort, effort, &[("look", PLAIN, false)], true),
        told(EffortField::Reasoning, effort, &[], false),
        told(EffortField::Reasoning, budget, &[], false),
        told(EffortField::None, effort, &[], false),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"");
}

#[test]
fn options_go_in_the_fields_that_the_server_knows() {
    let case = || {
        Case::new().says("Hi.").tools(&[("look", PLAIN, false)]).options(|options| {
            options.max_output_tokens = Some(5_000);
            options.temperature_thousandths = Some(700);
        })
    };
    let rest = |case: Case| {
        let rest: Json = serde_json::from_str(&case.rest()).unwrap();
        let mut rest = rest.members().unwrap().clone();
        rest.retain(|(key, _)| key != "tools");
        line(&Json::Object(rest))
    };
    insta::assert_snapshot!(rest(case()), @"");
    let newer = case().profile(|profile| profile.temperature = true).quirks(|quirks| {
        quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        quirks.parallel_flag = true;
        quirks.cache_key = true;
    });
    insta::assert_snapshot!(rest(newer), @"");
    let one_by_one = case()
        .profile(|profile| {
            profile.tools = ToolSupport::OneByOne;
            profile.temperature = true;
        })
        .quirks(|quirks| {
            quirks.parallel_flag = true;
            quirks.no_temperature = true;
        });
    insta::assert_snapshot!(rest(one_by_one), @"");
}

#[test]
fn each_family_of_servers_has_its_accent() {
    let asked = |change: fn(&mut Quirks)| {
        let case = two_calls("mine")
            .system("Be terse.")
            .screen("12:00")
            .tools(&[("look", PLAIN, false)])
            .options(|options| {
                options.max_output_tokens = Some(64);
                options.thinking = Some(Thinking::Low);
            })
            .quirks(change);
        format!("{}\n{}", case.messages(), case.rest())
    };
    let openai = asked(|quirks| {
        quirks.system_role = SystemRole::Developer;
        quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        quirks.tools_need_no_effort = true;
        quirks.parallel_flag = true;
        quirks.strict_field = true;
        quirks.cache_key = true;
        quirks.content_parts = true;
    });
    insta::assert_snapshot!(openai, @"");
    let deepseek = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ReasoningContent;
        quirks.thinking_back_required = true;
        quirks.tool_choice = ToolChoiceSupport::NotForced;
    });
    insta::assert_snapshot!(deepseek, @"");
    let mistral = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ContentPart;
        quirks.user_after_tool = false;
        quirks.ids = IdRule::NineAlphanumeric;
        quirks.stream_options = false;
    });
    insta::assert_snapshot!(mistral, @"");
    let openrouter = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ReasoningDetails;
        quirks.effort_field = EffortField::Reasoning;
    });
    insta::assert_snapshot!(openrouter, @"");
    let ollama = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::Reasoning;
        quirks.effort_field = EffortField::ReasoningEffort;
        quirks.tool_choice = ToolChoiceSupport::Never;
    });
    insta::assert_snapshot!(ollama, @"");
}
