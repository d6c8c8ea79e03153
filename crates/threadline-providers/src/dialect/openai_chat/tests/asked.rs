//! What is asked, told part by part, and the body that comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::{
    Body, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen, Source,
    System,
};
use threadline_core::history::fact::{
    Attachment, Block, CallOptions, Digest, Effect, Invocation, Purpose, Status, Stop, Text,
    ThinkingBlock, ToolCall, Verdict,
};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{
    AnswerForm, MediaSupport, Profile, Request, Target, ThinkingSupport, ToolChoice, ToolSupport,
};
use threadline_core::tool::{Catalogue, Handling, RunRules, ToolSpec};

use crate::dialect::Encoded;
use crate::dialect::openai_chat::encode::encode;
use crate::json::{Json, get};
use crate::quirks::Quirks;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
pub(super) const PDF: &[u8] = b"%PDF-1.7";
pub(super) const WAV: &[u8] = b"RIFF";

/// Bytes, their media type, and the file's name.
pub(super) type Attached<'a> = (&'a [u8], &'a str, Option<&'a str>);

/// What is asked, and whom.
pub(super) struct Case {
    pub(super) request: Request,
    quirks: Quirks,
}

impl Case {
    pub(super) fn new() -> Self {
        let profile = Profile {
            tools: ToolSupport::SideBySide,
            output_cap_tokens: 1_000,
            thinking: ThinkingSupport::Effort { can_be_off: true },
            ..Profile::unknown()
        };
        let target =
            Target { name: "mine".into(), invocation: invocation("mine"), profile, unusable: None };
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

    pub(super) fn quirks(mut self, change: impl FnOnce(&mut Quirks)) -> Self {
        change(&mut self.quirks);
        self
    }

    pub(super) fn profile(mut self, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut Arc::make_mut(&mut self.request.target).profile);
        self
    }

    pub(super) fn options(mut self, change: impl FnOnce(&mut CallOptions)) -> Self {
        change(&mut self.request.options);
        self
    }

    pub(super) fn system(mut self, text: &str) -> Self {
        Arc::make_mut(&mut self.request.context).system.text = text.into();
        self
    }

    pub(super) fn tools(mut self, tools: &[(&str, &str, bool)]) -> Self {
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

    pub(super) fn chooses(mut self, choice: ToolChoice) -> Self {
        self.request.choice = choice;
        self
    }

    fn part(mut self, body: Body) -> Self {
        let parts = &mut Arc::make_mut(&mut self.request.context).parts;
        let source = Source::Entry(Seq(u64::try_from(parts.len()).unwrap() + 1));
        parts.push(Part { source, level: Level::Live, tokens: 0, body });
        self
    }

    pub(super) fn says(self, text: &str) -> Self {
        self.attaches(text, &[])
    }

    pub(super) fn attaches(self, text: &str, attached: &[Attached<'_>]) -> Self {
        let attachments = attachments(attached);
        self.part(Body::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    pub(super) fn screen(mut self, text: &str) -> Self {
        let shown = Some(Screen { text: text.into(), tokens: 0 });
        let parts = &mut Arc::make_mut(&mut self.request.context).parts;
        match &mut parts.last_mut().unwrap().body {
            Body::Input(input) => input.screen = shown,
            Body::Results(results) => results.screen = shown,
            Body::Output(_) => panic!("no screen on outputs"),
        }
        self
    }

    pub(super) fn output(self, model: &str, blocks: Vec<Block>) -> Self {
        let (invocation, stop) = (invocation(model), Stop::Done);
        self.part(Body::Output(OutputPart { invocation, blocks, stop }))
    }

    pub(super) fn results(self, results: &[(Status, &str, &[Attached<'_>])]) -> Self {
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

    pub(super) fn encoded(&self) -> Encoded {
        let encoded = encode(&self.request, &self.quirks);
        assert_eq!(encoded, encode(&self.request, &self.quirks), "equal requests, equal bytes");
        assert!(encoded.headers.is_empty());
        encoded
    }

    /// The whole body.
    pub(super) fn body(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        serde_json::to_string_pretty(&body).unwrap()
    }

    /// The messages alone, a line each.
    pub(super) fn messages(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        let messages = get(body.members().unwrap(), "messages").unwrap().items();
        messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Everything but the messages, on a line.
    pub(super) fn rest(&self) -> String {
        let body: Json = serde_json::from_slice(&self.encoded().body).unwrap();
        let mut fields = body.members().unwrap().clone();
        assert_eq!(get(&fields, "stream"), Some(&Json::Flag(true)));
        fields.retain(|(key, _)| !["model", "messages", "stream"].contains(&key.as_str()));
        line(&Json::Object(fields))
    }

    pub(super) fn repairs(&self) -> String {
        let repairs = self.encoded().repairs;
        repairs.iter().map(|repair| &*repair.what).collect::<Vec<_>>().join("\n")
    }
}

pub(super) fn line(json: &Json) -> String {
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

fn attachments(attached: &[Attached<'_>]) -> Vec<Attachment> {
    let each = attached.iter().map(|(bytes, media_type, name)| Attachment {
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        media_type: (*media_type).into(),
        name: name.map(Into::into),
        extent: None,
    });
    each.collect()
}

pub(super) fn sees(profile: &mut Profile) {
    let media = ["image/png", "application/pdf", "audio/wav"].map(|media_type| MediaSupport {
        media_type: media_type.into(),
        cap_bytes: 1_000,
        tokens: 100,
        in_results: false,
    });
    profile.media = media.into();
}

pub(super) fn text(text: &str) -> Block {
    Block::Text(Text { text: text.into(), state: None })
}

pub(super) fn thinks(text: &str, state: Option<&str>) -> Block {
    Block::Thinking(ThinkingBlock { text: text.into(), state: state.map(Into::into) })
}

pub(super) fn calls(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: Some(id.into()),
        complete: true,
        state: None,
    })
}

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}"#;
pub(super) const PLAIN: &str = r#"{"type":"object","properties":{"at":{"type":"string"}}}"#;
pub(super) const IMAGE: Attached<'static> = (PNG, "image/png", Some("dog.png"));

/// A step in which two calls were made, thought out and answered.
pub(super) fn two_calls(model: &str) -> Case {
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
