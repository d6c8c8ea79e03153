//! What can be done next, given a history: the choice between beginning, going on and ending.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::fact::{
    Address, AgentJoined, Attachment, CallOptions, Described, Fact, Input, InstructionSet,
    Invocation, Sender, Thinking,
};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::Section;
use threadline_core::history::state::Agent;
use threadline_core::history::{History, Proposal};
use threadline_core::id::{AgentId, BroadcastId, IdSource as _};

use super::text::Writer;
use super::{GeneratorOptions, close};
use crate::ids::{Choices, SeededIds};
use threadline_core::tokens::Estimator;

/// How many entries the next batch, and closing what it opens, may take at most.
const MARGIN: u64 = 24;
/// The most agents that join in one batch.
const JOINS: usize = 20;
/// The most agents that are in a turn at a time, unless all are spoken to at once.
const BUSY: usize = 3;
/// The most agents that are spoken to at once.
const BROADCAST: usize = 6;

/// What the next batch is chosen from.
pub(super) struct Scene<'a> {
    pub(super) options: &'a GeneratorOptions,
    pub(super) choices: &'a mut Choices,
    pub(super) ids: &'a SeededIds,
    pub(super) now: Timestamp,
    pub(super) history: &'a History,
    pub(super) entries: &'a BTreeMap<AgentId, u64>,
}

/// A counted fact on an agent's thread.
pub(super) fn propose(agent: AgentId, fact: impl Into<Fact>) -> Proposal {
    Proposal::new(agent, fact, &Estimator)
}

impl<'a> Scene<'a> {
    /// The next batch of a history that is to end, at rest, after `left` more entries.
    pub(super) fn next(&mut self, left: u64) -> Vec<Proposal> {
        let known = u32::try_from(self.history.state().agents.len()).unwrap_or(u32::MAX);
        let to_close = close::cost(self.history);
        let margin = if self.options.entry_bytes.is_some() { 1 } else { MARGIN };
        if known < self.options.agents.max(1) {
            self.begin(known, left)
        } else if left <= to_close {
            self.close_all()
        } else if left <= to_close.saturating_add(margin) {
            vec![self.note()]
        } else if let Some(bytes) = self.options.entry_bytes {
            let agent = self.addressee(|_| true).unwrap_or(AgentId::FIRST);
            let text = self.write().exactly(bytes);
            vec![propose(agent, Input::from_person(text))]
        } else {
            self.happening()
        }
    }

    fn happening(&mut self) -> Vec<Proposal> {
        let busy = self.in_turn().count();
        if self.choices.percent(if busy == 0 { 8 } else { 1 }) {
            return self.aside(busy == 0);
        }
        if let Some(fired) = self.due_timer() {
            return fired;
        }
        let movable: Vec<AgentId> = self.in_turn().filter(|id| self.can_move(*id)).collect();
        if (busy == 0 || busy < BUSY && self.choices.percent(2))
            && let Some(agent) = self.addressee(|agent| !agent.in_turn())
        {
            return self.ask(agent);
        }
        match self.choices.pick(&movable) {
            Some(agent) => self.step(*agent),
            None => vec![self.note()],
        }
    }

    /// The agents that are in a turn.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = AgentId> + use<'a> {
        self.present().filter(|(_, agent)| agent.in_turn()).map(|(id, _)| id)
    }

    /// The agents that are in the conversation.
    pub(super) fn present(&self) -> impl Iterator<Item = (AgentId, &'a Agent)> + use<'a> {
        let history = self.history;
        let agents = history.state().agents.iter();
        agents.filter(|(_, agent)| agent.present).map(|(id, agent)| (*id, &**agent))
    }

    /// An agent to speak to, of those that will do.
    pub(super) fn addressee(&mut self, will_do: impl Fn(&Agent) -> bool) -> Option<AgentId> {
        let agents: Vec<AgentId> =
            self.present().filter(|(_, agent)| will_do(agent)).map(|(id, _)| id).collect();
        if self.options.shares.is_empty() {
            let first = agents.first().copied();
            return if self.choices.percent(60) {
                first
            } else {
                self.choices.pick(&agents).copied()
            };
        }
        // Whoever has the least of its share is next.
        agents.into_iter().min_by_key(|id| {
            let nth = usize::try_from(id.0.saturating_sub(1)).unwrap_or(usize::MAX);
            let share = u64::from(self.options.shares.get(nth).copied().unwrap_or(1).max(1));
            self.entries.get(id).copied().unwrap_or(0).saturating_mul(1_000_000) / share
        })
    }

    /// Text of the seed.
    pub(super) fn write(&mut self) -> Writer<'_> {
        Writer(self.choices)
    }

    /// One of some words.
    pub(super) fn one_of(&mut self, words: &[&str]) -> Arc<str> {
        Arc::from(self.choices.pick(words).copied().unwrap_or_default())
    }

    /// An attachment now and then, if there are any.
    pub(super) fn attachments(&mut self, percent: u64) -> Vec<Attachment> {
        let some = !self.options.attachments.is_empty() && self.choices.percent(percent);
        let picked = if some { self.choices.pick(&self.options.attachments) } else { None };
        picked.cloned().into_iter().collect()
    }

    /// A target that an agent's model runs at.
    pub(super) fn invocation(&mut self) -> Invocation {
        if !self.options.speakers.is_empty()
            && let Some(speaker) = self.choices.pick(&self.options.speakers)
        {
            return speaker.clone();
        }
        let targets = [
            ("anthropic", "messages", "large-1"),
            ("openai", "responses", "o-2"),
            ("guide", "guide", "guide"),
        ];
        let (provider, dialect, model) =
            self.choices.pick(&targets).copied().unwrap_or(("guide", "guide", "guide"));
        Invocation {
            provider: provider.into(),
            endpoint: provider.into(),
            account: None,
            dialect: dialect.into(),
            model: model.into(),
        }
    }

    /// Metadata that an adapter would give.
    pub(super) fn request_id(&mut self) -> Metadata {
        Metadata::fitted([("request_id", Value::Text(format!("req_{:x}", self.choices.any())))])
    }

    fn begin(&mut self, known: u32, left: u64) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        for id in (known + 1..=self.options.agents.max(1)).take(JOINS) {
            let id = AgentId(id);
            proposals.push(propose(id, self.joined(id)));
            let text = format!("You are {}. Be brief and careful.", agent_name(id));
            proposals.push(propose(id, InstructionSet { text: text.into() }));
        }
        if known == 0 {
            let title: Arc<str> = self.write().phrase().into();
            let described = Described { title: Some(title), ..Described::default() };
            proposals.push(propose(AgentId::CONVERSATION, described));
        }
        proposals.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        proposals
    }

    /// How an agent joins, and joins again.
    pub(super) fn joined(&mut self, id: AgentId) -> AgentJoined {
        let tools = ["read_file", "write_file", "edit_file", "search", "shell", "fetch", "wait"];
        AgentJoined {
            name: agent_name(id),
            description: self.write().phrase().into(),
            route: self.choices.percent(20).then(|| Arc::from("plan")),
            options: CallOptions {
                max_output_tokens: Some(4096),
                temperature_thousandths: self.choices.percent(30).then_some(700),
                thinking: self.choices.percent(50).then_some(Thinking::Adaptive),
                ..CallOptions::default()
            },
            tools: tools.iter().map(|tool| Arc::from(*tool)).collect(),
            widgets: vec!["notebook".into()],
            primary: id == AgentId::FIRST,
        }
    }

    /// A person speaks to an agent that rests, or to all that do.
    fn ask(&mut self, agent: AgentId) -> Vec<Proposal> {
        if self.options.shares.is_empty() && self.choices.percent(3) {
            return self.broadcast();
        }
        let primary = self.history.state().primary() == Some(agent);
        let to = if primary { Address::Primary } else { Address::Agent(agent) };
        let input = self.person_says(to);
        vec![propose(agent, input)]
    }

    fn broadcast(&mut self) -> Vec<Proposal> {
        let resting: Vec<AgentId> =
            self.present().filter(|(_, agent)| !agent.in_turn()).map(|(id, _)| id).collect();
        let broadcast = Some(BroadcastId::new(self.now, self.ids));
        let input = Input { broadcast, client_key: None, ..self.person_says(Address::All) };
        resting.into_iter().take(BROADCAST).map(|id| propose(id, input.clone())).collect()
    }

    /// What a person says.
    pub(super) fn person_says(&mut self, to: Address) -> Input {
        let text = self.write().question();
        let mut sections = vec![Section::text(text)];
        if self.choices.percent(5) {
            sections.push(Section::titled(self.write().phrase(), self.write().result()));
        }
        let name = self.choices.percent(40).then(|| self.one_of(&["ada", "grace", "李雷"]));
        let channel = self.choices.percent(70).then(|| self.one_of(&["terminal", "http"]));
        Input {
            sections,
            attachments: self.attachments(10),
            from: Sender::Person { name, channel },
            to,
            route: self.choices.percent(5).then(|| Arc::from("execute")),
            client_key: self.choices.percent(50).then(|| self.client_key()),
            broadcast: None,
        }
    }

    fn client_key(&self) -> Arc<str> {
        let salt = u32::from_le_bytes(self.ids.random().first_chunk().copied().unwrap_or_default());
        format!("k{}-{salt:08x}", self.history.head().next()).into()
    }
}

/// What an agent is called.
fn agent_name(id: AgentId) -> Arc<str> {
    const NAMES: &[&str] = &["planner", "coder", "reviewer", "writer", "tester"];
    let nth = usize::try_from(id.0.saturating_sub(1)).unwrap_or(usize::MAX);
    NAMES.get(nth).map_or_else(|| format!("agent_{id}").into(), |name| Arc::from(*name))
}
