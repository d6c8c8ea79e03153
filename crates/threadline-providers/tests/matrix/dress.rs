//! Dressing: the outputs of a context as models of other dialects would have left them, and a
//! request with whatever else can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::{Body, Context, InputPart, OutputPart, ResultsPart, Screen, System};
use threadline_core::history::fact::{
    Block, CallOptions, Digest, Effect, Foreign, Purpose, Stop, Text, Thinking, ThinkingBlock,
    Verdict,
};
use threadline_core::provider::{AnswerForm, Request, ToolChoice};
use threadline_core::tool::{Catalogue, Handling, RunRules, ToolSpec};
use threadline_providers::dialect::Dialect;
use threadline_testing::ids::Choices;

use crate::cast::Actor;
use crate::past;

/// Names that no provider takes, or not all.
const ODD_NAMES: [&str; 6] = [
    "files.read",
    "查找",
    "9lives",
    "a b",
    "x",
    "mcp__a_very_long_name_of_a_server__and_a_tool_of_it_that_is_longer_yet",
];
/// What models write instead of an object.
const ODD_ARGUMENTS: [&str; 9] = [
    "",
    "null",
    "[1,2]",
    "{\"cut\": \"o",
    "\"text\"",
    "{\"a\":1}{",
    "{\"a\":1,}",
    "{a: 'it''s'}",
    "{\"a\":\"\\ud83d\"}",
];
/// Schemas that people write.
const SCHEMAS: [&str; 6] = [
    r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
    r#"{"type":"object","properties":{}}"#,
    r#"{"type":"object"}"#,
    r#"{"type":"object","properties":{"n":{"type":["integer","null"],"minimum":0},"mode":{"enum":["a","b"]}},"additionalProperties":false}"#,
    r##"{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}"##,
    r#"{"anyOf":[{"type":"object","properties":{"a":{"const":1}}},{"type":"object"}]}"#,
];

/// Dresses a context of one model's for another.
pub(crate) struct Dresser<'a> {
    pub(crate) origin: &'a Actor,
    pub(crate) actor: &'a Actor,
    pub(crate) actors: &'a [Actor],
    pub(crate) choices: &'a mut Choices,
}

impl Dresser<'_> {
    pub(crate) fn dress(mut self, context: &mut Context) -> Request {
        context.system =
            System { text: ["", "Be terse."][self.choices.index(2)].into(), ..System::default() };
        for part in &mut context.parts {
            match &mut part.body {
                Body::Input(input) => self.input(input),
                Body::Output(output) => self.output(output),
                Body::Results(results) => self.results(results),
            }
        }
        self.lose(context);
        if let Some(part) = context.parts.last_mut() {
            let screen = Some(Screen { text: "# [Live Screen]\n\nthree notes".into(), tokens: 9 });
            match &mut part.body {
                Body::Input(InputPart { screen: shown, .. })
                | Body::Results(ResultsPart { screen: shown, .. }) => *shown = screen,
                Body::Output(_) => {}
            }
        }
        self.request(context)
    }

    /// A crash may have taken anything: whole parts, and what was in them.
    fn lose(&mut self, context: &mut Context) {
        if self.choices.percent(30) {
            let keep = self.choices.index(context.parts.len() + 1);
            context.parts.truncate(keep);
        }
        if self.choices.percent(5) && !context.parts.is_empty() {
            let lost = self.choices.index(context.parts.len());
            context.parts.remove(lost);
        }
    }

    fn input(&mut self, input: &mut InputPart) {
        if self.choices.percent(3) {
            input.text = " \n".into();
        }
        if self.choices.percent(10) {
            let file = past::FILES[self.choices.index(past::FILES.len())];
            input.attachments.push(past::attachment(file));
        }
    }

    fn results(&mut self, results: &mut ResultsPart) {
        for result in &mut results.results {
            if self.choices.percent(15) {
                let file = past::FILES[self.choices.index(past::FILES.len())];
                result.attachments.push(past::attachment(file));
            }
            if self.choices.percent(5) {
                result.text = "".into();
            }
        }
        if self.choices.percent(3) {
            results.results.pop();
        }
    }

    /// An output as one of three left it: the origin, the very model that is asked, or any other.
    fn output(&mut self, output: &mut OutputPart) {
        let any = self.choices.index(self.actors.len());
        let by = match self.choices.below(100) {
            0..60 => self.origin,
            60..85 => self.actor,
            _ => &self.actors[any],
        };
        output.invocation = by.target.invocation.clone();
        if self.choices.percent(40) {
            output.blocks.insert(0, self.thinking(by.dialect));
        }
        for (place, block) in output.blocks.iter_mut().enumerate() {
            self.block(by.dialect, place, block);
        }
        if self.choices.percent(6) {
            let at = self.choices.index(output.blocks.len() + 1);
            output.blocks.insert(at, foreign(by.dialect));
        }
        if self.choices.percent(6) {
            let odd = Text { text: [" ", ""][self.choices.index(2)].into(), state: None };
            output.blocks.push(Block::Text(odd));
        }
        let stops = [Stop::Refusal, Stop::Blocked, Stop::Paused, Stop::Length];
        if self.choices.percent(6) {
            output.stop = stops[self.choices.index(stops.len())];
        }
    }

    fn block(&mut self, dialect: Dialect, place: usize, block: &mut Block) {
        match block {
            // States are never others than those that a decoder of the dialect leaves.
            Block::Thinking(thinking) => {
                if thinking.state.as_deref().is_none_or(|state| !state.contains("redacted")) {
                    thinking.state = state(dialect);
                }
            }
            Block::Text(text) => {
                text.state = None;
                if dialect == Dialect::Gemini && self.choices.percent(30) {
                    text.state = Some("RXA=".into());
                } else if dialect == Dialect::OpenAiResponses && self.choices.percent(30) {
                    text.state = Some(r#"{"phase":"commentary"}"#.into());
                }
            }
            Block::ToolCall(call) => {
                call.provider_id = self.id(dialect, place);
                call.state = None;
                if dialect == Dialect::Gemini && self.choices.percent(60) {
                    call.state = Some("RXA=".into());
                }
                if self.choices.percent(8) {
                    call.name = ODD_NAMES[self.choices.index(ODD_NAMES.len())].into();
                }
                if self.choices.percent(8) {
                    call.arguments = ODD_ARGUMENTS[self.choices.index(ODD_ARGUMENTS.len())].into();
                    call.complete = self.choices.percent(50);
                }
            }
            Block::Foreign(_) => *block = foreign(dialect),
        }
    }

    fn thinking(&mut self, dialect: Dialect) -> Block {
        let text = ["", "Let me see."][self.choices.index(2)].into();
        let redacted = dialect == Dialect::Anthropic && self.choices.percent(20);
        let state = if redacted { Some(r#"{"redacted":"RXA="}"#.into()) } else { state(dialect) };
        Block::Thinking(ThinkingBlock { text, state })
    }

    /// An id as providers make them: often the same again, sometimes none, sometimes too long.
    fn id(&mut self, dialect: Dialect, place: usize) -> Option<Arc<str>> {
        let number = self.choices.below(1_000);
        let id = match (dialect, self.choices.below(10)) {
            (_, 0) => return None,
            (_, 1) => "call_same".to_owned(),
            (_, 2) => format!("functions.look:{place}"),
            (_, 3) => format!("call_{}", "x".repeat(70)),
            (Dialect::Anthropic, _) => format!("toolu_{number}_{place}"),
            (Dialect::OpenAiChat | Dialect::OpenAiResponses, _) => format!("call_{number}{place}"),
            (Dialect::Gemini, _) => return None,
        };
        Some(id.into())
    }

    fn request(&mut self, context: &Context) -> Request {
        let profile = &self.actor.target.profile;
        let takes =
            |media_type: &str| profile.media.iter().any(|media| &*media.media_type == media_type);
        let media: BTreeMap<Digest, Arc<[u8]>> = past::FILES
            .iter()
            .filter(|(media_type, _)| takes(media_type) && !self.choices.percent(10))
            .map(|(_, bytes)| (Digest::of(bytes), Arc::from(*bytes)))
            .collect();
        let catalogue = self.catalogue();
        let named = catalogue.tools().first().map(|tool| Arc::clone(&tool.name));
        let choice = match (self.choices.below(10), named) {
            (0, Some(name)) => ToolChoice::Only(name),
            (1, _) => ToolChoice::Some,
            (2, _) => ToolChoice::Never,
            _ => ToolChoice::Free,
        };
        let schema = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}"#;
        let json = AnswerForm::Json { name: "answer".into(), schema: schema.into() };
        let form = if self.choices.percent(10) { json } else { AnswerForm::Text };
        Request {
            target: Arc::clone(&self.actor.target),
            purpose: Purpose::Step,
            context: Arc::new(context.clone()),
            media,
            catalogue: Arc::new(catalogue),
            choice,
            form,
            options: self.options(),
            cache_key: self.choices.percent(50).then(|| "conversation/1".into()),
        }
    }

    fn options(&mut self) -> CallOptions {
        let thinking = [
            None,
            Some(Thinking::Off),
            Some(Thinking::Adaptive),
            Some(Thinking::Low),
            Some(Thinking::Medium),
            Some(Thinking::High),
            Some(Thinking::Budget { tokens: 1 }),
            Some(Thinking::Budget { tokens: 100_000 }),
        ];
        let most = [None, Some(1), Some(2_000), Some(1_000_000)];
        let temperature = [None, Some(0), Some(700), Some(2_000)];
        CallOptions {
            max_output_tokens: most[self.choices.index(most.len())],
            temperature_thousandths: temperature[self.choices.index(temperature.len())],
            thinking: thinking[self.choices.index(thinking.len())],
            ..CallOptions::default()
        }
    }

    fn catalogue(&mut self) -> Catalogue {
        let mut tools: Vec<Arc<ToolSpec>> = Vec::new();
        for name in ["read_file", "files.read", "files_read", "look"] {
            if self.choices.percent(50) {
                tools.push(Arc::new(ToolSpec {
                    name: name.into(),
                    description: ["", "Looks at something."][self.choices.index(2)].into(),
                    schema: SCHEMAS[self.choices.index(SCHEMAS.len())].into(),
                    strict: self.choices.percent(30),
                    server: None,
                    verdict: Verdict::Allow,
                    handling: Handling::Run(RunRules::usual(Effect::Read)),
                }));
            }
        }
        Catalogue::new(tools, 0).unwrap()
    }
}

/// The state of a thought, as each dialect's decoder leaves it.
fn state(dialect: Dialect) -> Option<Arc<str>> {
    match dialect {
        Dialect::OpenAiChat => None,
        Dialect::OpenAiResponses => {
            Some(r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#.into())
        }
        Dialect::Anthropic => Some(r#"{"signature":"EqAB"}"#.into()),
        Dialect::Gemini => Some("RXA=".into()),
    }
}

/// Something that only its provider understands.
fn foreign(dialect: Dialect) -> Block {
    let (kind, state) = match dialect {
        Dialect::OpenAiChat => ("refusal", r#""no""#),
        Dialect::OpenAiResponses => {
            ("web_search_call", r#"{"type":"web_search_call","status":"completed"}"#)
        }
        Dialect::Anthropic => (
            "server_tool_use",
            r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#,
        ),
        Dialect::Gemini => {
            ("executableCode", r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#)
        }
    };
    Block::Foreign(Foreign { kind: kind.into(), text: "searched".into(), state: state.into() })
}
