//! A branch of a generated history: pins, recaps and a long turn, of which generated histories
//! have too few.

use std::fmt::Write as _;

use threadline_core::clock::Timestamp;
use threadline_core::history::fact::{
    Block, Detail, Digest, Fact, Input, Invocation, InvocationStarted, Output, Pinned,
    ProjectionOptions, Purpose, Recap, Status, Stop, ThinkingBlock, ToolCall, ToolFinished,
    ToolResults, Usage,
};
use threadline_core::history::sections::Section;
use threadline_core::history::{Aftermath, History, Proposal, Stamp};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::tokens::TokenCounter;
use threadline_testing::ids::{Choices, SeededIds};

use super::place::Place;
use crate::projection::Kept;

/// What follows a place on a way of its own.
pub(super) struct Branch<'a> {
    pub(super) kept: Kept,
    pub(super) history: History,
    agent: AgentId,
    ids: SeededIds,
    counter: &'a dyn TokenCounter,
}

const AT: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

impl<'a> Branch<'a> {
    /// A fork in which an agent rests; none if the agent is not there.
    pub(super) fn new(
        place: &Place<'_>,
        choices: &mut Choices,
        counter: &'a dyn TokenCounter,
    ) -> Option<Self> {
        place.agent().filter(|agent| agent.present)?;
        let ids = SeededIds::new(choices.any());
        let stamp = Stamp { at: AT, ids: &ids, counter };
        let from = ConversationId::new(AT, &ids);
        let forked = place.history.propose_fork(from, &Aftermath::default(), stamp).unwrap();
        let mut kept = place.kept.clone();
        kept.take(&forked.batch);
        Some(Self { kept, history: forked.history, agent: place.agent, ids, counter })
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place::new(&self.kept, &self.history, self.agent)
    }

    fn tell(&mut self, agent: AgentId, fact: impl Into<Fact>) -> Seq {
        let stamp = Stamp { at: AT, ids: &self.ids, counter: self.counter };
        let proposal = Proposal::new(agent, fact, self.counter);
        let proposed = self.history.propose([proposal], stamp).unwrap();
        self.kept.take(&proposed.batch);
        self.history = proposed.history;
        self.history.head()
    }

    /// Some entries are pinned, most of them of the thread.
    pub(super) fn pin(&mut self, choices: &mut Choices) {
        let rows: Vec<Seq> = self.place().rows.iter().map(|row| row.seq).collect();
        for _ in 0..choices.below(4) {
            let any = Seq(1 + choices.below(self.history.head().0));
            let seq = choices.pick(&rows).copied().filter(|_| choices.percent(80)).unwrap_or(any);
            self.tell(AgentId::CONVERSATION, Pinned { seq, on: true });
        }
    }

    /// A recap stands for the beginning of the thread, mostly up to the end of an exchange.
    pub(super) fn recap(&mut self, choices: &mut Choices) {
        let place = self.place();
        let mut ends: Vec<Seq> = Vec::new();
        for pair in place.rows.windows(2) {
            if choices.percent(10) || pair[0].exchange != pair[1].exchange {
                ends.push(pair[1].seq);
            }
        }
        let Some(to) = choices.pick(&ends).copied() else { return };
        let from = if choices.percent(80) { Seq(1) } else { Seq(1 + choices.below(to.0)) };
        let recap = Recap {
            from,
            to,
            text: Some(words(1 + choices.below(300)).into()),
            hints: Vec::new(),
            asked: choices.percent(30),
            dropped: Vec::new(),
            usage: None,
            cost: None,
        };
        self.tell(self.agent, recap);
    }

    /// Somebody says something.
    pub(super) fn ask(&mut self, choices: &mut Choices) {
        let input = Input::from_person(words(1 + choices.below(60)));
        self.tell(self.agent, input);
    }

    /// A model is asked.
    pub(super) fn invoke(&mut self) {
        let started = InvocationStarted {
            invocation: model(),
            purpose: Purpose::Step,
            options: ProjectionOptions {
                window_tokens: 0,
                reserve_tokens: 0,
                capacity_tokens: 0,
                factor_percent: 100,
                detail: Detail::Normal,
                screen: true,
            },
            estimate_tokens: 0,
            catalogue: None,
            context_digest: Digest([0; 32]),
            body_digest: Digest([0; 32]),
            projection_version: 1,
            encoder_version: 1,
            why: String::new(),
        };
        self.tell(self.agent, started);
    }

    /// It thinks and calls, and the calls are answered, now and then with the same.
    pub(super) fn step(&mut self, choices: &mut Choices) {
        let thought = ThinkingBlock { text: words(choices.below(20)).into(), state: None };
        let mut blocks = vec![Block::Thinking(thought)];
        let calls = 1 + u32::try_from(choices.below(3)).unwrap();
        blocks.extend((0..calls).map(|nth| {
            Block::ToolCall(ToolCall {
                name: "read_a_file".into(),
                arguments: format!("{{\"nth\":{nth}}}").into(),
                repaired: None,
                provider_id: None,
                complete: true,
                state: None,
            })
        }));
        let output = Output {
            blocks,
            invocation: model(),
            stop: Stop::Done,
            usage: Usage::default(),
            cost: None,
        };
        let output = self.tell(self.agent, output);
        let same = words(20 + choices.below(3));
        let results = (0..calls).map(|nth| {
            let text = if choices.percent(50) { same.clone() } else { words(choices.below(200)) };
            let finished = ToolFinished {
                call: CallId::new(output, nth),
                name: "read_a_file".into(),
                status: Status::Success,
                result: vec![Section::text(text)],
                attachments: Vec::new(),
                elapsed_ms: 0,
                warnings: Vec::new(),
                error: None,
            };
            self.tell(self.agent, finished)
        });
        let results: Vec<Seq> = results.collect();
        self.tell(self.agent, ToolResults { output, results, execute_error: None });
    }
}

fn model() -> Invocation {
    Invocation {
        provider: "scripted".into(),
        endpoint: "scripted".into(),
        account: None,
        dialect: "scripted".into(),
        model: "m1".into(),
    }
}

/// So many lines of a few words.
fn words(lines: u64) -> String {
    (0..lines).fold("so it is".to_owned(), |mut text, n| {
        let _ = write!(text, "\nand {n} more");
        text
    })
}
