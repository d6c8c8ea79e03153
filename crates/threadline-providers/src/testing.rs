//! Test gear of this crate: requests told as stories, and transcripts of streams.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use threadline_core::context::{
    Body, Context, InputPart, OutputPart, Part, ResultPart, ResultsPart, Screen, Source, System,
};
use threadline_core::history::fact::{
    Block, CallOptions, Effect, Invocation, Purpose, Status, Stop, Text, ToolCall, Verdict,
};
use threadline_core::history::sections::Level;
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{
    AnswerForm, BlockKind, Delta, DeltaStream, Profile, Provider, Request, Target, ToolChoice,
};
use threadline_core::tool::{Catalogue, Handling, RunRules, ToolSpec};

/// The tools of a story, if it does not say otherwise.
const TOOLS: [&str; 5] =
    ["calculator", "read_file", "recall", "notebook_append", "notebook_replace"];

/// A context as it comes about, part by part.
#[derive(Clone)]
pub(crate) struct Story {
    parts: Vec<Part>,
    tools: Vec<&'static str>,
    agents: Vec<&'static str>,
}

impl Story {
    pub(crate) fn new() -> Self {
        Self { parts: Vec::new(), tools: TOOLS.to_vec(), agents: Vec::new() }
    }

    pub(crate) fn with_tools(mut self, tools: &[&'static str]) -> Self {
        self.tools = tools.to_vec();
        self
    }

    /// Other agents are there: what is told of each.
    pub(crate) fn with_agents(mut self, agents: &[&'static str]) -> Self {
        self.agents = agents.to_vec();
        self
    }

    /// Something is said to the model.
    pub(crate) fn says(mut self, text: &str) -> Self {
        let source = Source::Entry(self.next());
        self.push(source, input(text));
        self
    }

    /// The past is folded into one part.
    pub(crate) fn earlier(mut self, text: &str) -> Self {
        let source = Source::Earlier { from: Seq(1), to: Seq(9) };
        self.push(source, input(text));
        self
    }

    /// A turn ended, and a line tells how.
    pub(crate) fn ended(mut self, line: &str) -> Self {
        let source = Source::Entry(self.next());
        self.push(source, input(line));
        self.parts.last_mut().unwrap().level = Level::Gist;
        self
    }

    /// A pinned entry is quoted.
    pub(crate) fn quotes(mut self, text: &str) -> Self {
        let seq = self.next();
        self.push(Source::Entry(seq), input(&format!("[Pinned entry {seq}]\n{text}")));
        self
    }

    /// The newest input or results show a screen of this one fragment.
    pub(crate) fn screen(mut self, fragment: &str) -> Self {
        let text = format!("# [Live Screen]\n\n{fragment}").into();
        let screen = Some(Screen { text, tokens: 0 });
        match self.parts.last_mut().map(|part| &mut part.body) {
            Some(Body::Input(input)) => input.screen = screen,
            Some(Body::Results(results)) => results.screen = screen,
            Some(Body::Output(_)) | None => panic!("a screen is attached to inputs and results"),
        }
        self
    }

    /// The model answers.
    pub(crate) fn answers(mut self, text: &str) -> Self {
        self.output(vec![Block::Text(Text { text: text.into(), state: None })]);
        self
    }

    /// The model makes a call, together with those right before it.
    pub(crate) fn calls(mut self, name: &str, arguments: &str) -> Self {
        let call = Block::ToolCall(ToolCall {
            name: name.into(),
            arguments: arguments.into(),
            repaired: None,
            provider_id: None,
            complete: true,
            state: None,
        });
        match self.parts.last_mut().map(|part| &mut part.body) {
            Some(Body::Output(output)) => output.blocks.push(call),
            Some(Body::Input(_) | Body::Results(_)) | None => self.output(vec![call]),
        }
        self
    }

    /// The next call has its result.
    pub(crate) fn gets(mut self, status: Status, text: &str) -> Self {
        if matches!(self.parts.last().map(|part| &part.body), Some(Body::Output(_))) {
            let source = Source::Entry(self.next());
            self.push(source, Body::Results(ResultsPart { results: Vec::new(), screen: None }));
        }
        let entry = self.next();
        let place = self.parts.len() - 2;
        let Body::Output(output) = &self.parts[place].body else { panic!("results follow calls") };
        let names = output.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(Arc::clone(&call.name)),
            Block::Thinking(_) | Block::Text(_) | Block::Foreign(_) => None,
        });
        let names = names.collect::<Vec<_>>();
        let output = Seq(u64::try_from(place + 1).unwrap());
        let Some(Body::Results(results)) = self.parts.last_mut().map(|part| &mut part.body) else {
            panic!("results were just begun");
        };
        let index = results.results.len();
        results.results.push(ResultPart {
            call: CallId { output, index: u32::try_from(index).unwrap() },
            name: Arc::clone(&names[index]),
            entry,
            status,
            text: text.into(),
            attachments: Vec::new(),
            level: Level::Live,
            tokens: 0,
        });
        self
    }

    pub(crate) fn request(&self) -> Request {
        let mut tools = self.tools.iter().map(|name| spec(name)).collect::<Vec<_>>();
        if !self.agents.is_empty() {
            let listed = self.agents.join("\n- ");
            let description = format!("Gives a task.\n\nThere are:\n- {listed}").into();
            let spec = ToolSpec { description, ..ToolSpec::clone(&spec("call_agent")) };
            tools.push(Arc::new(spec));
        }
        Request {
            target: Arc::new(Target {
                name: "test".into(),
                invocation: invocation(),
                profile: Profile::unknown(),
                unusable: None,
            }),
            purpose: Purpose::Step,
            context: Arc::new(Context { system: System::default(), parts: self.parts.clone() }),
            media: BTreeMap::new(),
            catalogue: Arc::new(Catalogue::new(tools, 0).unwrap()),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
            cache_key: None,
        }
    }

    fn output(&mut self, blocks: Vec<Block>) {
        let source = Source::Entry(self.next());
        let output = OutputPart { invocation: invocation(), blocks, stop: Stop::Done };
        self.push(source, Body::Output(output));
    }

    fn push(&mut self, source: Source, body: Body) {
        self.parts.push(Part { source, level: Level::Live, tokens: 0, body });
    }

    fn next(&self) -> Seq {
        Seq(u64::try_from(self.parts.len()).unwrap() + 1)
    }
}

fn input(text: &str) -> Body {
    Body::Input(InputPart { text: text.into(), attachments: Vec::new(), screen: None })
}

fn invocation() -> Invocation {
    Invocation {
        provider: "test".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "none".into(),
        model: "test".into(),
    }
}

fn spec(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.into(),
        description: "a tool".into(),
        schema: r#"{"type":"object"}"#.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Run(RunRules::usual(Effect::Read)),
    })
}

/// All that a stream gives without waiting.
pub(crate) struct Heard {
    pub(crate) deltas: Vec<Delta>,
    /// How it ended: the error's own words, `hangs` or nothing.
    pub(crate) end: String,
}

pub(crate) fn hear(mut stream: DeltaStream) -> Heard {
    let mut task = Task::from_waker(Waker::noop());
    let mut deltas = Vec::new();
    loop {
        match stream.as_mut().poll_next(&mut task) {
            Poll::Ready(Some(Ok(delta))) => deltas.push(delta),
            Poll::Ready(Some(Err(error))) => {
                let end = format!("{:?} {:?}: {error}", error.kind, error.retry_after_ms);
                return Heard { deltas, end };
            }
            Poll::Ready(None) => return Heard { deltas, end: String::new() },
            Poll::Pending => return Heard { deltas, end: "hangs".to_owned() },
        }
    }
}

/// What a model answers, as text: a line for each block, its pieces between bars.
pub(crate) fn transcript(provider: &dyn Provider, request: Request) -> String {
    let heard = hear(provider.invoke(request));
    let mut told = String::new();
    for delta in &heard.deltas {
        match delta {
            Delta::Prepared(_) | Delta::Started(_) => {}
            Delta::Begin { kind, .. } => match kind {
                BlockKind::Thinking => told.push_str("thinks: "),
                BlockKind::Text => told.push_str("says: "),
                BlockKind::ToolCall { name, provider_id } => {
                    let id = provider_id.as_ref().map(|id| format!("#{id}")).unwrap_or_default();
                    write!(told, "calls {name}{id}: ").unwrap();
                }
                BlockKind::Foreign { kind } => write!(told, "{kind}: ").unwrap(),
            },
            Delta::Fragment { text, .. } => told.push_str(text),
            Delta::State { state, .. } => write!(told, "[{state}]").unwrap(),
            Delta::End { .. } => told.push('\n'),
            Delta::Usage(usage) => {
                writeln!(told, "usage {} {}", usage.input, usage.output).unwrap();
            }
            Delta::Cost(cost) => writeln!(told, "cost {}", cost.0).unwrap(),
            Delta::Finished { stop, .. } => write!(told, "{stop:?}").unwrap(),
        }
    }
    told.push_str(&heard.end);
    told
}
