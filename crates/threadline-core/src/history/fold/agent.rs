//! How facts change an agent and its turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::batch::Interaction;
use super::super::counts::{Counts, one_line};
use super::super::entry::Entry;
use super::super::fact::{Digest, Invocation, InvocationStarted, Output, Stop, Usage};
use super::super::rule::Rule;
use super::super::state::{Agent, Frozen, Stage, Turn};
use super::{DESCRIPTION_CAP, MODELS_CAP, TURN_TOOLS_CAP};
use crate::id::Seq;
use crate::outline::{OutlineRow, RowKind};

impl Agent {
    /// Whether a model may answer now.
    pub fn awaits_output(&self) -> bool {
        matches!(self.stage, Stage::Asked | Stage::Sealed { .. })
    }

    /// Whether an output without calls ends the turn: not if it paused, nor if it is the first
    /// to answer results with nothing.
    pub(super) fn rests_after(&self, output: &Output) -> bool {
        if output.stop == Stop::Paused {
            return false;
        }
        let first_empty = matches!(self.stage, Stage::Sealed { answered_empty: false })
            && output.is_empty()
            && output.stop == Stop::Done;
        !first_empty
    }

    /// A model is about to be asked for a step.
    pub(super) fn asks(&mut self, at: Seq, started: &InvocationStarted) -> Result<(), Rule> {
        if !self.awaits_output() {
            return Err(Rule::Unasked);
        }
        self.invoking = Some(at);
        self.asked = Some((started.invocation.clone(), started.estimate_tokens));
        if let Some(turn) = &mut self.turn {
            turn.freeze(started);
        }
        Ok(())
    }

    pub(super) fn interact(&mut self, interaction: Interaction, entry: &Entry) {
        self.interactions = self.interactions.saturating_add(1);
        self.last_interaction = Some((interaction, entry.at));
    }

    /// The next row of its outline. `live` is what it adds at the level of a current turn.
    pub(super) fn row(
        &mut self,
        entry: &Entry,
        kind: RowKind,
        counts: Counts,
        live: u32,
        gist: String,
    ) -> OutlineRow {
        // A recap stands in place of what it covers and adds nothing of its own.
        let recent = if kind == RowKind::Recap { 0 } else { counts.tokens.recent };
        self.recent_sum = self.recent_sum.saturating_add(u64::from(recent));
        self.live_sum = self.live_sum.saturating_add(u64::from(live));
        // Inputs come before the output they belong to, all else after it.
        let begins = match kind {
            RowKind::Message | RowKind::Input | RowKind::Output | RowKind::Answer => self.answered,
            RowKind::Results | RowKind::Ended | RowKind::Recap => false,
        };
        self.exchanges = self.exchanges.saturating_add(u32::from(begins));
        match kind {
            RowKind::Message | RowKind::Input => self.answered = false,
            RowKind::Output | RowKind::Answer | RowKind::Ended => self.answered = true,
            RowKind::Results | RowKind::Recap => {}
        }
        OutlineRow {
            agent: entry.agent,
            seq: entry.seq,
            kind,
            tokens: counts.tokens,
            results: Vec::new(),
            counter: counts.counter,
            recent_sum: self.recent_sum,
            live_sum: self.live_sum,
            previous: self.row.replace(entry.seq),
            turn: self.turn.as_ref().map_or(Seq::ZERO, |turn| turn.start),
            exchange: self.exchanges,
            gist,
        }
    }
}

impl Turn {
    pub(super) fn new(
        start: Seq,
        transcript: bool,
        agent: &Agent,
        pins: Arc<BTreeSet<Seq>>,
    ) -> Self {
        Self {
            start,
            opening: Vec::new(),
            joined: Arc::clone(&agent.joined),
            instruction: agent.instruction,
            pins,
            frozen: Vec::new(),
            transcript,
            recent_sum_before: agent.recent_sum,
            live_sum_before: agent.live_sum,
            steps: 0,
            calls: 0,
            failures: 0,
            pauses: 0,
            tokens: 0,
            last_call: None,
            repeats: 0,
            input: String::new(),
            tools: Vec::new(),
            output: String::new(),
        }
    }

    /// The first invocation of a model fixes how its contexts are projected until the turn ends.
    pub(super) fn freeze(&mut self, started: &InvocationStarted) {
        let known = self.frozen.iter().any(|frozen| frozen.invocation == started.invocation);
        if !known && self.frozen.len() < MODELS_CAP {
            let (invocation, options) = (started.invocation.clone(), started.options);
            self.frozen.push(Frozen { invocation, options, tightened: false });
        }
    }

    /// A model said that a request was too long: it gets a quarter less, once.
    pub(super) fn tighten(&mut self, invocation: &Invocation) {
        let known = self.frozen.iter_mut().find(|frozen| frozen.invocation == *invocation);
        if let Some(frozen) = known.filter(|frozen| !frozen.tightened) {
            frozen.options.capacity_tokens -= frozen.options.capacity_tokens / 4;
            frozen.tightened = true;
        }
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }

    pub(super) fn took_output(&mut self, output: &Output, text: &str) {
        self.steps = self.steps.saturating_add(1);
        self.failures = 0;
        self.pauses = if output.stop == Stop::Paused { self.pauses.saturating_add(1) } else { 0 };
        self.spend(output.usage);
        self.output = one_line(text, DESCRIPTION_CAP);
        for call in output.calls() {
            self.calls = self.calls.saturating_add(1);
            let digest = Digest::of(format!("{}\n{}", call.name, call.arguments).as_bytes());
            let again = self.last_call.replace(digest) == Some(digest);
            self.repeats = if again { self.repeats.saturating_add(1) } else { 1 };
            let known = self.tools.iter_mut().find(|(name, _)| *name == call.name);
            if let Some((_, times)) = known {
                *times = times.saturating_add(1);
            } else if self.tools.len() < TURN_TOOLS_CAP {
                self.tools.push((Arc::clone(&call.name), 1));
            }
        }
    }
}
