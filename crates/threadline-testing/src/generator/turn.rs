//! One step of an agent's turn: asking a model, its answer, its failure, the end of the turn.

use std::sync::Arc;

use threadline_core::history::Proposal;
use threadline_core::history::fact::{
    Address, Block, Detail, Digest, EndReason, FailureKind, Foreign, InvocationFailed,
    InvocationStarted, Limit, Money, Output, ProjectionOptions, Purpose, Stop, Text, ThinkingBlock,
    ToolCall, ToolResults, TurnEnded, Usage,
};
use threadline_core::history::state::{Agent, Stage};
use threadline_core::id::{AgentId, Seq};

use super::scene::{Scene, propose};

/// After so many outputs a turn comes to its end.
const MOST_STEPS: u32 = 8;
/// After so many failures in a row nobody asks again.
const MOST_FAILURES: u32 = 4;

impl Scene<'_> {
    /// Whether an agent in a turn can do something by itself.
    pub(super) fn can_move(&self, id: AgentId) -> bool {
        let Some(agent) = self.history.agent(id) else { return false };
        let waits = |child: AgentId| self.history.agent(child).is_some_and(Agent::in_turn);
        let mut unfinished = agent.open_calls().filter(|(_, call)| call.finished.is_none());
        match &agent.stage {
            Stage::Resting => false,
            Stage::Asked | Stage::Sealed { .. } => true,
            Stage::Calling(_) => {
                self.history.results(id).is_some()
                    || unfinished.any(|(_, call)| !call.asks().is_some_and(waits))
            }
        }
    }

    /// The next thing an agent in a turn does.
    pub(super) fn step(&mut self, id: AgentId) -> Vec<Proposal> {
        let Some(agent) = self.history.agent(id) else { return vec![self.note()] };
        if self.choices.below(1000) < 4 {
            return self.cancel(id);
        }
        let failures = agent.turn.as_ref().map_or(0, |turn| turn.progress.failures);
        match (&agent.stage, agent.invoking) {
            (Stage::Calling(open), _) => match self.history.results(id) {
                Some(results) => {
                    let execute_error =
                        self.choices.percent(1).then(|| "the sandbox did not start".to_owned());
                    let sealed = ToolResults { output: open.output, results, execute_error };
                    vec![propose(id, sealed).because_of(open.output)]
                }
                None => self.move_calls(id, open),
            },
            (Stage::Resting | Stage::Asked | Stage::Sealed { .. }, None) => {
                if failures >= MOST_FAILURES {
                    vec![self.give_up(id, EndReason::Failed)]
                } else if self.choices.percent(1) {
                    let reason = self.end_reason();
                    vec![self.give_up(id, reason)]
                } else if self.choices.percent(2) {
                    let steered = self.person_says(Address::Agent(id));
                    vec![propose(id, steered)]
                } else {
                    vec![self.invoke(id, Purpose::Step)]
                }
            }
            (Stage::Resting | Stage::Asked | Stage::Sealed { .. }, Some(started)) => {
                match self.choices.below(100) {
                    0..6 => vec![self.fail(id, started)],
                    // A process died; another asks again.
                    6..7 => vec![self.invoke(id, Purpose::Step)],
                    _ => vec![self.answer(id, agent, started)],
                }
            }
        }
    }

    /// A model is asked.
    pub(super) fn invoke(&mut self, id: AgentId, purpose: Purpose) -> Proposal {
        let estimate_tokens = 500 + self.choices.below(100_000);
        let started = InvocationStarted {
            invocation: self.invocation(),
            purpose,
            options: ProjectionOptions {
                window_tokens: 200_000,
                reserve_tokens: 8192,
                capacity_tokens: 150_000,
                factor_percent: 110,
                detail: Detail::Normal,
                screen: true,
            },
            estimate_tokens,
            catalogue: None,
            context_digest: self.digest(),
            body_digest: self.digest(),
            projection_version: 1,
            encoder_version: 1,
            why: "first of route default".to_owned(),
        };
        let last_row = self.history.agent(id).and_then(|agent| agent.row);
        Proposal { cause: last_row, ..propose(id, started) }
    }

    fn answer(&mut self, id: AgentId, agent: &Agent, started: Seq) -> Proposal {
        let steps = agent.turn.as_ref().map_or(0, |turn| turn.progress.steps);
        let calls = steps < MOST_STEPS && self.choices.percent(55);
        let mut blocks = Vec::new();
        if self.choices.percent(35) {
            let state = self.choices.percent(60).then(|| self.write().opaque().into());
            let text = self.write().sentence().into();
            blocks.push(Block::Thinking(ThinkingBlock { text, state }));
        }
        let stop = if calls { self.add_calls(&mut blocks) } else { self.add_answer(&mut blocks) };
        let usage = self.usage();
        let invocation = self.invocation();
        if !self.options.speakers.is_empty() {
            self.speak_like(&invocation, stop, &mut blocks);
        }
        let output = Output {
            blocks,
            invocation,
            stop,
            usage,
            cost: Some(Money(usage.input * 250 + usage.output * 1250)),
        };
        let metadata = self.request_id();
        Proposal { metadata, ..propose(id, output).because_of(started) }
    }

    fn add_calls(&mut self, blocks: &mut Vec<Block>) -> Stop {
        if self.choices.percent(50) {
            blocks.push(self.text_block(Self::short_text));
        }
        let calls = [1, 1, 1, 1, 2, 2, 3, 4];
        let calls = self.choices.pick(&calls).copied().unwrap_or(1);
        for _ in 0..calls {
            let (name, arguments) = self.call();
            blocks.push(Block::ToolCall(ToolCall {
                name,
                arguments,
                repaired: None,
                provider_id: Some(format!("call_{:012x}", self.choices.any() >> 16).into()),
                complete: true,
                state: None,
            }));
        }
        if !self.choices.percent(2) {
            return Stop::Done;
        }
        // The output limit cut the last call off.
        if let Some(Block::ToolCall(call)) = blocks.last_mut() {
            call.complete = false;
            let half = call.arguments.floor_char_boundary(call.arguments.len() / 2);
            call.arguments = Arc::from(call.arguments.get(..half).unwrap_or_default());
        }
        Stop::Length
    }

    fn add_answer(&mut self, blocks: &mut Vec<Block>) -> Stop {
        match self.choices.below(100) {
            // Nothing at all.
            0..3 => Stop::Done,
            3..5 => {
                blocks.push(self.text_block(Self::short_text));
                Stop::Paused
            }
            5..7 => {
                blocks.push(self.text_block(Self::short_text));
                Stop::Refusal
            }
            7 => Stop::Blocked,
            8..10 => {
                blocks.push(self.text_block(Self::long_text));
                Stop::Length
            }
            10..13 => {
                let (text, state) = (self.write().sentence().into(), self.write().json().into());
                blocks.push(Block::Foreign(Foreign { kind: "web_search".into(), text, state }));
                blocks.push(self.text_block(Self::long_text));
                Stop::Done
            }
            _ => {
                blocks.push(self.text_block(Self::long_text));
                Stop::Done
            }
        }
    }

    fn text_block(&mut self, text: fn(&mut Self) -> String) -> Block {
        Block::Text(Text { text: text(self).into(), state: None })
    }

    fn short_text(&mut self) -> String {
        self.write().sentence()
    }

    fn long_text(&mut self) -> String {
        self.write().answer()
    }

    fn fail(&mut self, id: AgentId, started: Seq) -> Proposal {
        let kinds = [
            FailureKind::Busy,
            FailureKind::Protocol,
            FailureKind::Unreachable,
            FailureKind::ContextTooLong,
            FailureKind::Unauthorised,
        ];
        let kind = self.choices.pick(&kinds).copied().unwrap_or(FailureKind::Busy);
        let mut streamed = Vec::new();
        if kind == FailureKind::Protocol {
            streamed.push(self.text_block(Self::short_text));
        }
        let usage = self.choices.percent(30).then(|| self.usage());
        let failed = InvocationFailed {
            started,
            kind,
            message: self.write().sentence(),
            retry: kind != FailureKind::Unauthorised,
            retry_after_ms: (kind == FailureKind::Busy).then(|| 1000 + self.choices.below(9000)),
            limit_tokens: None,
            streamed,
            usage,
            cost: usage.map(|usage| Money(usage.input * 250)),
        };
        propose(id, failed).because_of(started)
    }

    fn give_up(&mut self, id: AgentId, reason: EndReason) -> Proposal {
        let detail = if self.choices.percent(50) { self.write().phrase() } else { String::new() };
        propose(id, TurnEnded { reason, detail, by: None })
    }

    fn end_reason(&mut self) -> EndReason {
        let reasons = [
            EndReason::Limit(Limit::Steps),
            EndReason::Limit(Limit::Money),
            EndReason::Limit(Limit::SameCall),
            EndReason::DoesNotFit,
            EndReason::Failed,
        ];
        self.choices.pick(&reasons).copied().unwrap_or(EndReason::Failed)
    }

    fn usage(&mut self) -> Usage {
        let input = 100 + self.choices.below(50_000);
        Usage {
            input,
            output: 10 + self.choices.below(2000),
            cached_input: self.choices.percent(60).then(|| self.choices.below(input)),
            cache_write: None,
            reasoning: self.choices.percent(30).then(|| self.choices.below(500)),
            estimated: false,
        }
    }

    fn digest(&mut self) -> Digest {
        Digest::of(&self.choices.any().to_le_bytes())
    }
}
