//! Facts for stories: short ways to say what happens.

use std::sync::Arc;

use threadline_core::history::fact::{
    AgentJoined, Authority, Block, Described, Effect, Fact, Input, InstructionSet, Invocation,
    Money, Output, Status, Stop, Text, TimerSet, ToolCall, ToolFinished, ToolStarted, Usage,
};
use threadline_core::history::sections::Section;
use threadline_core::id::{AgentId, CallId};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::tokens::TokenCounter;

/// The agent that is spoken to.
pub const ADA: AgentId = AgentId::FIRST;
/// Another agent.
pub const BOB: AgentId = AgentId(2);

/// Counts words.
#[derive(Clone, Copy, Debug)]
pub struct Words;

impl TokenCounter for Words {
    fn id(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
    }
}

/// An agent joins under a name; the first is primary.
pub fn joins(agent: AgentId, name: &str) -> (AgentId, Fact) {
    let joined = AgentJoined { name: name.into(), primary: agent == ADA, ..AgentJoined::default() };
    (agent, joined.into())
}

/// An agent is instructed.
pub fn instructed(agent: AgentId, text: &str) -> (AgentId, Fact) {
    (agent, InstructionSet { text: text.into() }.into())
}

/// A person says something.
pub fn said(agent: AgentId, text: &str) -> (AgentId, Fact) {
    (agent, Input::from_person(text).into())
}

/// A person says something under a client key.
pub fn said_with_key(agent: AgentId, key: &str, text: &str) -> (AgentId, Fact) {
    (agent, Input { client_key: Some(key.into()), ..Input::from_person(text) }.into())
}

/// A model answers.
pub fn answered(agent: AgentId, text: &str) -> (AgentId, Fact) {
    let text = Block::Text(Text { text: text.into(), state: None });
    (agent, output(vec![text]).into())
}

/// A model calls tools.
pub fn called(agent: AgentId, tools: &[&str]) -> (AgentId, Fact) {
    let call = |name: &&str| {
        Block::ToolCall(ToolCall {
            name: Arc::from(*name),
            arguments: "{}".into(),
            repaired: None,
            provider_id: None,
            complete: true,
            state: None,
        })
    };
    (agent, output(tools.iter().map(call).collect()).into())
}

fn output(blocks: Vec<Block>) -> Output {
    Output {
        blocks,
        invocation: Invocation {
            provider: "guide".into(),
            endpoint: "local".into(),
            account: None,
            dialect: "guide".into(),
            model: "guide-1".into(),
        },
        stop: Stop::Done,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        cost: Some(Money(7)),
    }
}

/// A call starts.
pub fn started(agent: AgentId, call: CallId, effect: Effect) -> (AgentId, Fact) {
    let started = ToolStarted {
        call,
        attempt: 1,
        effect,
        effect_key: call.to_string().into(),
        authority: Authority::Rule("all".into()),
        arguments: None,
    };
    (agent, started.into())
}

/// A call ends well.
pub fn finished(agent: AgentId, call: CallId, name: &str, result: &str) -> (AgentId, Fact) {
    let finished = ToolFinished {
        call,
        name: name.into(),
        status: Status::Success,
        result: vec![Section::text(result)],
        attachments: Vec::new(),
        elapsed_ms: 1,
        warnings: Vec::new(),
        error: None,
    };
    (agent, finished.into())
}

/// A timer is set.
pub fn timer(agent: AgentId, when: threadline_core::clock::Timestamp) -> (AgentId, Fact) {
    (agent, TimerSet { when, every_ms: None, call: None, text: "wake up".into() }.into())
}

/// The conversation is described.
pub fn described(title: &str, labels: &[&str], archived: bool) -> (AgentId, Fact) {
    let described = Described {
        title: Some(title.into()),
        labels: Some(labels.iter().map(|label| Arc::from(*label)).collect()),
        archived: Some(archived),
        ..Described::default()
    };
    (AgentId::CONVERSATION, described.into())
}

/// An input that waits under a key.
pub fn item(key: &str, text: &str) -> Item {
    Item {
        client_key: key.into(),
        to: None,
        mode: Mode::Queue,
        due: None,
        body: Body::Input(Input::from_person(text)),
    }
}
