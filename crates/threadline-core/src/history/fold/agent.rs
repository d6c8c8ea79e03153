//! How facts change an agent and its turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::batch::Interaction;
use super::super::counts::{Counts, one_line};
use super::super::entry::Entry;
use super::super::fact::{
    Attachment, Digest, FailureKind, Input, Invocation, InvocationFailed, InvocationStarted, Money,
    Output, Stop, Usage,
};
use super::super::rule::Rule;
use super::super::state::{
    Agent, Failed, Frozen, PathState, Peer, Stage, StatedLimit, Turn, TurnLine, TurnProgress,
    TurnSetup, TurnSpending,
};
use super::{DESCRIPTION_CAP, MODELS_CAP, TURN_INPUTS_CAP, TURN_TOOLS_CAP};
use crate::clock::Timestamp;
use crate::id::Seq;
use crate::outline::{OutlineRow, RowKind};

/// The most failures of a step that are kept one by one, and the most types of media of a turn.
const FAILED_CAP: usize = 32;
const MEDIA_TYPES_CAP: usize = 16;
/// The longest that a provider can have us wait.
const RETRY_AFTER_CAP_MS: u64 = 300_000;

impl PathState {
    /// Keeps the limit that a model stated; of a great many models, those that were stated last.
    pub(super) fn learn_limit(&mut self, invocation: Invocation, failed: &InvocationFailed) {
        let is_too_long = failed.kind == FailureKind::ContextTooLong;
        let Some(window_tokens) = failed.limit_tokens.filter(|_| is_too_long) else { return };
        self.limits.retain(|known| known.invocation != invocation);
        if self.limits.len() >= MODELS_CAP {
            self.limits.remove(0);
        }
        self.limits.push(StatedLimit { invocation, window_tokens });
    }

    /// A model read so many tokens: if that is more than it once stated, it takes more by now.
    pub(super) fn forget_limit(&mut self, invocation: &Invocation, read_tokens: u64) {
        self.limits
            .retain(|known| known.invocation != *invocation || known.window_tokens >= read_tokens);
    }
}

impl Agent {
    /// Whether a model may answer now.
    pub fn awaits_output(&self) -> bool {
        match self.stage {
            Stage::Asked | Stage::Sealed { .. } => true,
            Stage::Resting | Stage::Calling(_) => false,
        }
    }

    /// Whether an output without calls ends the turn: not if it paused, nor if it is the first
    /// to answer results with nothing.
    pub(super) fn rests_after(&self, output: &Output) -> bool {
        match output.stop {
            Stop::Paused => false,
            Stop::Done => {
                let first = match self.stage {
                    Stage::Sealed { answered_empty } => !answered_empty,
                    Stage::Resting | Stage::Asked | Stage::Calling(_) => false,
                };
                !(first && output.is_empty())
            }
            Stop::Length | Stop::Refusal | Stop::Blocked => true,
        }
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
        live: u32,
        counts: Counts,
    ) -> OutlineRow {
        // A recap stands in place of what it covers and adds nothing of its own.
        let recent = if kind.is_in_exchange() { counts.tokens.recent } else { 0 };
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
            gist: counts.line,
        }
    }
}

impl Turn {
    pub(super) fn new(
        start: Seq,
        transcript: bool,
        agent: &Agent,
        pins: Arc<BTreeSet<Seq>>,
        peers: Arc<Vec<Peer>>,
    ) -> Self {
        let setup = TurnSetup {
            joined: Arc::clone(&agent.joined),
            instruction: agent.instruction,
            pins,
            peers,
            route: None,
            media: Vec::new(),
        };
        Self {
            start,
            opening: Vec::new(),
            setup,
            caller: None,
            works_for: Vec::new(),
            frozen: Vec::new(),
            transcript,
            recent_sum_before: agent.recent_sum,
            live_sum_before: agent.live_sum,
            progress: TurnProgress::default(),
            spent: TurnSpending::default(),
            line: TurnLine::default(),
        }
    }

    /// The first invocation of a model fixes how its contexts are projected until the turn ends.
    pub(super) fn freeze(&mut self, started: &InvocationStarted) {
        let known = self.frozen.iter().any(|frozen| frozen.invocation == started.invocation);
        if !known && self.frozen.len() < MODELS_CAP {
            let (invocation, options) = (started.invocation.clone(), started.options);
            self.frozen.push(Frozen { invocation, options, refused_tokens: None });
        }
    }

    /// Takes in what an input that came before any model was asked wants of the turn.
    pub(super) fn open_with(&mut self, at: Seq, input: &Input) {
        if self.opening.len() < TURN_INPUTS_CAP {
            self.opening.push(at);
        }
        if input.route.is_some() {
            self.setup.route.clone_from(&input.route);
        }
    }

    /// Takes note of the types of what was sent along.
    pub(super) fn note_media(&mut self, input: &Input) {
        for Attachment { media_type, .. } in &input.attachments {
            if self.setup.media.len() < MEDIA_TYPES_CAP && !self.setup.media.contains(media_type) {
                self.setup.media.push(Arc::clone(media_type));
            }
        }
    }

    /// An invocation of a step failed, whose request we expected to take so many tokens.
    pub(super) fn failed(
        &mut self,
        at: Timestamp,
        (asked, estimate_tokens): (&Invocation, u64),
        failed: &InvocationFailed,
    ) {
        self.progress.failures = self.progress.failures.saturating_add(1);
        let lasting = match failed.kind {
            FailureKind::Busy | FailureKind::Protocol | FailureKind::Unreachable => false,
            FailureKind::ContextTooLong => !self.tighten(asked, estimate_tokens, failed),
            FailureKind::Unauthorised | FailureKind::QuotaSpent | FailureKind::Refused => true,
            // It says nothing of the model.
            FailureKind::Cancelled => return,
        };
        if self.progress.failed.len() < FAILED_CAP {
            let wait_ms = failed.retry_after_ms.filter(|_| !lasting);
            let not_before = wait_ms.map(|ms| at.plus_millis(ms.min(RETRY_AFTER_CAP_MS)));
            let (invocation, kind) = (asked.clone(), failed.kind);
            self.progress.failed.push(Failed { invocation, kind, lasting, not_before });
        }
    }

    /// A model said that a request was too long, or read only a part of it: what it gets becomes
    /// smaller than that, once in a turn. Returns whether it does.
    fn tighten(
        &mut self,
        invocation: &Invocation,
        estimate_tokens: u64,
        failed: &InvocationFailed,
    ) -> bool {
        let reserve_is_fixed = self.setup.joined.options.max_output_tokens.is_some();
        let frozen = self.frozen.iter_mut().find(|frozen| frozen.invocation == *invocation);
        let Some(frozen) = frozen.filter(|frozen| frozen.refused_tokens.is_none()) else {
            return false;
        };
        frozen.refused_tokens = Some(estimate_tokens);
        let read = failed.usage.filter(|usage| !usage.estimated && usage.input > 0);
        frozen.options = match (failed.limit_tokens, read) {
            // The server cut the prompt without a word, and reported what it read.
            (None, Some(read)) => frozen.options.within(read.input, false),
            (stated, _) => frozen.options.smaller_than(estimate_tokens, stated, reserve_is_fixed),
        };
        true
    }

    pub(super) fn spend(&mut self, usage: Usage, cost: Option<Money>) {
        self.spent.estimated |= usage.estimated;
        self.spent.tokens =
            self.spent.tokens.saturating_add(usage.input).saturating_add(usage.output);
        self.spent.cost = self.spent.cost.plus(cost.unwrap_or_default());
    }

    /// What another turn spent was spent for this one.
    pub(super) fn take_over(&mut self, (tokens, cost): (u64, Money)) {
        self.spent.tokens = self.spent.tokens.saturating_add(tokens);
        self.spent.cost = self.spent.cost.plus(cost);
    }

    /// The step has its answer, or another one begins.
    pub(super) fn forget_failures(&mut self) {
        self.progress.failures = 0;
        self.progress.failed.clear();
    }

    pub(super) fn took_output(&mut self, output: &Output, text: &str) {
        self.progress.steps = self.progress.steps.saturating_add(1);
        self.forget_failures();
        self.progress.pauses =
            if output.stop.is_pause() { self.progress.pauses.saturating_add(1) } else { 0 };
        self.spend(output.usage, output.cost);
        self.line.output = one_line(text, DESCRIPTION_CAP);
        for call in output.calls() {
            self.progress.calls = self.progress.calls.saturating_add(1);
            let digest = Digest::of(format!("{}\n{}", call.name, call.arguments).as_bytes());
            let again = self.progress.last_call.replace(digest) == Some(digest);
            self.progress.repeats = if again { self.progress.repeats.saturating_add(1) } else { 1 };
            let known = self.line.tools.iter_mut().find(|(name, _)| *name == call.name);
            if let Some((_, times)) = known {
                *times = times.saturating_add(1);
            } else if self.line.tools.len() < TURN_TOOLS_CAP {
                self.line.tools.push((Arc::clone(&call.name), 1));
            }
        }
    }
}
