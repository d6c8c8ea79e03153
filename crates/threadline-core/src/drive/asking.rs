//! Asking a model: gather, project, prepare, record, and only then let the answer come.

use std::sync::Arc;

use super::Driver;
use super::command::{Command, Gather, Notice, Stopped};
use super::cut;
use super::event::{Setback, Ticket};
use super::failing::can_be_tighter;
use super::items::unexpected;
use super::place::{Beside, Failure, Landed, NotPlaced, Sheet};
use super::planted::planted;
use super::recapping::Recapping;
use super::setting::Shown;
use super::step::{Step, next_step};
use crate::choose::Chosen;
use crate::context::plan::{Ask, DoesNotFit, budget};
use crate::context::{Material, PROJECTION_VERSION, render};
use crate::history::entry::Entry;
use crate::history::fact::{
    AgentJoined, Block, Digest, FailureKind, InvocationStarted, Money, Output, ProjectionOptions,
    Purpose, Usage,
};
use crate::history::metadata::{Metadata, Value};
use crate::history::state::Failed;
use crate::id::{AgentId, Seq};
use crate::provider::{
    ANSWER_CAP_BYTES, Assembled, Assembler, CountedUsage, Delta, ExpectedUsage, Partial, Prepared,
    Progress, ProviderError, Request, USAGE_REFUSED_KEY,
};
use crate::tokens::TokenCounter;

/// How long to wait before what could not be read is read again.
const READ_AGAIN_MS: u64 = 1_000;

/// A model that is being asked.
pub(super) struct Asking {
    pub(super) ticket: Ticket,
    pub(super) chosen: Chosen,
    /// The agent's settings when the turn began.
    pub(super) joined: Arc<AgentJoined>,
    shown: Shown,
    pub(super) what: What,
    pub(super) phase: Phase,
    /// What the request may take, in our unit.
    pub(super) budget: u64,
    /// What the request took at the least, by the model's own count.
    sent_tokens: u64,
    /// What we expect the request to take, by the model's own count, and the factor for that.
    expected_tokens: u64,
    factor_percent: u32,
    assembler: Assembler,
    counter: Arc<dyn TokenCounter>,
}

/// What a model is asked for.
pub(super) enum What {
    /// The agent's next step.
    Step {
        /// Whether a recap may be written first.
        recap_first: bool,
        /// Models whose window was found too small for it.
        unfit: Vec<Failed>,
        /// Whether the limit that the model stated in an earlier turn is passed over: nothing fits
        /// it, and the model may take more by now.
        past_limit: bool,
    },
    /// A recap.
    Recap(Box<Recapping>),
}

pub(super) enum Phase {
    /// What the context is made of is being read.
    Gathering,
    /// The request is being made.
    Preparing { options: ProjectionOptions, context: Digest, estimate: u64 },
    /// The invocation is being recorded.
    Recording,
    /// The answer comes.
    Streaming { started: Seq },
}

impl Asking {
    pub(super) fn new(
        ticket: Ticket,
        chosen: Chosen,
        joined: Arc<AgentJoined>,
        shown: Shown,
        what: What,
        counter: Arc<dyn TokenCounter>,
    ) -> Self {
        let (phase, assembler) = (Phase::Gathering, Assembler::new(ANSWER_CAP_BYTES));
        Self {
            ticket,
            chosen,
            joined,
            shown,
            what,
            phase,
            budget: 0,
            sent_tokens: 0,
            expected_tokens: 0,
            factor_percent: 100,
            assembler,
            counter,
        }
    }

    /// The context input is complete: the request can be built.
    pub(super) fn prepare(&mut self, options: ProjectionOptions, context: Digest, estimate: u64) {
        self.factor_percent = options.factor_percent.max(1);
        let expected = u128::from(estimate) * u128::from(self.factor_percent) / 100;
        self.expected_tokens = u64::try_from(expected).unwrap_or(u64::MAX);
        self.phase = Phase::Preparing { options, context, estimate };
    }

    /// Whether its request is being prepared: nothing is on record of it, and nothing was sent.
    pub(super) fn is_being_prepared(&self) -> bool {
        matches!(self.phase, Phase::Gathering | Phase::Preparing { .. })
    }

    /// Whether its request was sent.
    pub(super) fn is_sent(&self) -> bool {
        match self.phase {
            Phase::Gathering | Phase::Preparing { .. } | Phase::Recording => false,
            Phase::Streaming { .. } => true,
        }
    }

    /// Whether it can be given up and begun again as if it had never been.
    pub(super) fn can_begin_again(&self) -> bool {
        self.is_being_prepared() && matches!(self.what, What::Step { .. })
    }

    /// The part of the answer received so far. A request without any answer may have been refused
    /// before it took anything.
    pub(super) fn partial(&self) -> Partial {
        self.counted_partial(self.assembler.partial())
    }

    fn counted_partial(&self, partial: Partial) -> Partial {
        let Partial { streamed, usage, cost, metadata } = partial;
        if usage.is_none() && streamed.is_empty() {
            let cost = self.chosen.target.cost(cost, None);
            return Partial { streamed, usage, cost, metadata };
        }
        let (usage, cost, metadata) = self.counted(&streamed, usage, cost, &metadata);
        Partial { streamed, usage: Some(usage), cost, metadata }
    }

    /// What counts of the usage and the cost that a provider reported, and what is noted of it.
    fn counted(
        &self,
        streamed: &[Block],
        usage: Option<Usage>,
        cost: Option<Money>,
        metadata: &Metadata,
    ) -> (Usage, Option<Money>, Metadata) {
        let target = &self.chosen.target;
        let cap = self.joined.options.max_output_tokens.unwrap_or(target.profile.output_cap_tokens);
        let expected = ExpectedUsage::new(
            self.expected_tokens,
            streamed,
            u64::from(cap),
            self.factor_percent,
            &*self.counter,
        );
        let CountedUsage { usage, refused } = expected.count(usage);
        let cost = target.cost(cost, Some(&usage));
        let note = refused.map(|refused| (USAGE_REFUSED_KEY, Value::Text(refused)));
        (usage, cost, metadata.joined(&Metadata::fitted(note)))
    }
}

impl Driver {
    /// Begins to ask the models of all agents that are ready for it.
    pub(super) fn ask(&mut self) {
        if self.rewinding.is_some() {
            return;
        }
        // Nothing goes on by itself in a copy; what someone asks for settles it.
        let goes_on = !self.history.is_copy();
        let agents: Vec<AgentId> = self.ahead().state().agents.keys().copied().collect();
        for agent in agents {
            if self.is_held(agent) {
                continue;
            }
            if self.wants_recap(agent) {
                self.gather_asked_recap(agent);
            } else if goes_on && self.can_ask(agent) {
                self.gather(agent, true);
            }
        }
    }

    /// Whether something is under way for an agent that comes first.
    fn is_held(&self, agent: AgentId) -> bool {
        self.invocations.is_busy(agent)
            || self.cancelling.contains_key(&agent)
            || self.landed.iter().any(|landed| landed.agent() == agent)
            || self.pending.holds_back(agent, &self.history)
    }

    fn can_ask(&self, agent: AgentId) -> bool {
        let history = self.ahead();
        let invoking = history.agent(agent).is_some_and(|agent| agent.invoking.is_some());
        !invoking
            && next_step(history, agent) == Step::Invoke
            && self.may_not_ask(history, agent).is_none()
    }

    pub(super) fn gather(&mut self, agent: AgentId, recap_first: bool) {
        if let Ok(chosen) = self.choose(self.ahead(), agent) {
            let what = What::Step { recap_first, unfit: Vec::new(), past_limit: false };
            self.gather_for(agent, chosen, what);
        }
    }

    /// Begins to ask a chosen model for an agent's next step.
    pub(super) fn gather_for(&mut self, agent: AgentId, chosen: Chosen, what: What) {
        let Some(state) = self.ahead().agent(agent) else { return };
        let joined = state.turn.as_ref().map_or(&state.joined, |turn| &turn.setup.joined);
        let joined = Arc::clone(joined);
        let peers =
            state.turn.as_ref().map(|turn| Arc::clone(&turn.setup.peers)).unwrap_or_default();
        let setting = Arc::clone(&self.setting);
        let shown = self.invocations.catalogue(&setting, agent, &joined, &peers);
        let target = &chosen.target;
        let model = (&target.invocation, &target.profile);
        let (history, screens) = (self.ahead().clone(), self.widgets_ahead().screens(agent));
        let past_limit = matches!(what, What::Step { past_limit: true, .. });
        let limit = history.limit_of(model.0).filter(|_| !past_limit);
        let (call, tools) = (&joined.options, &shown.catalogue);
        let ask = Ask::within(&history, agent, model, limit, call, tools, screens);
        let budget = budget(&ask.options);
        let (ticket, unstored) = (self.invocations.next_ticket(), self.unstored());
        let gather = Gather { history, unstored, ask, catalogue: shown.kept.clone() };
        self.commands.push(Command::Gather { agent, ticket, gather: Box::new(gather) });
        let counter = Arc::clone(&self.setting.counter);
        let asking = Asking { budget, ..Asking::new(ticket, chosen, joined, shown, what, counter) };
        self.invocations.active.insert(agent, asking);
    }

    /// Gives up asking an agent's model, wherever it is.
    pub(super) fn give_up(&mut self, agent: AgentId) -> Option<Asking> {
        let asking = self.invocations.active.remove(&agent)?;
        self.commands.push(Command::Abandon { agent, ticket: asking.ticket });
        Some(asking)
    }

    pub(super) fn gathered(
        &mut self,
        agent: AgentId,
        ticket: Ticket,
        gathered: Result<Material, DoesNotFit>,
    ) {
        let asking = self.invocations.get(agent, ticket);
        let Some(What::Step { recap_first, .. }) = asking.map(|asking| &asking.what) else {
            return;
        };
        let recap_first = *recap_first;
        let material = match gathered {
            Ok(material) => material,
            Err(error) => return self.does_not_fit(agent, &error),
        };
        if recap_first && self.recap_is_due(agent, &material.plan) {
            return self.gather_wished_recap(agent, &material.plan);
        }
        let context = Arc::new(render(&material, self.widgets_ahead().screens(agent)));
        let Some(asking) = self.invocations.active.get(&agent) else { return };
        let catalogue = Arc::clone(&asking.shown.catalogue);
        let estimate = context.tokens() + u64::from(catalogue.tokens());
        if !self.may_send(agent, estimate) {
            return;
        }
        let Some(asking) = self.invocations.active.get_mut(&agent) else { return };
        let options = material.plan.options;
        asking.sent_tokens = cut::least_sent(&context, options.factor_percent);
        asking.prepare(options, context.digest(), estimate);
        let (target, options) = (Arc::clone(&asking.chosen.target), asking.joined.options.clone());
        let of = (self.conversation, agent);
        let request = Request::step(target, of, context, catalogue, options);
        self.commands.push(Command::Invoke { agent, ticket, request: Box::new(request) });
    }

    pub(super) fn not_gathered(&mut self, agent: AgentId, ticket: Ticket, setback: Setback) {
        if self.invocations.get(agent, ticket).is_none() {
            return;
        }
        // A recap that someone asked for waits in the inbox and is tried again.
        self.invocations.active.remove(&agent);
        match setback {
            Setback::AnswerLost(why) | Setback::Later(why) => {
                self.commands.push(Command::Publish(Notice::Stalled(why.into())));
                self.pause(agent, READ_AGAIN_MS);
            }
            Setback::Fenced => self.stop(Stopped::LeaseLost),
            Setback::Never(why) => self.stop(Stopped::Store(why)),
            Setback::ItemGone(gone) => self.stop(unexpected(gone)),
        }
    }

    pub(super) fn delta(&mut self, agent: AgentId, ticket: Ticket, delta: Delta) {
        let Some(asking) = self.invocations.get_mut(agent, ticket) else {
            return;
        };
        let pushed = asking.assembler.push(&delta);
        match (&asking.phase, pushed) {
            (Phase::Preparing { .. }, Ok(Progress::More)) => {
                if let Delta::Prepared(prepared) = delta {
                    self.prepared(agent, &prepared);
                }
            }
            (Phase::Streaming { started }, Ok(progress)) => {
                let started = *started;
                if matches!(asking.what, What::Step { .. }) {
                    self.commands.push(Command::Publish(Notice::Delta { agent, started, delta }));
                }
                if progress == Progress::Finished {
                    self.answered(agent);
                }
            }
            // Whoever executes commands waits for `Proceed` before it lets more come.
            (Phase::Gathering | Phase::Preparing { .. } | Phase::Recording, Ok(_)) => {}
            (_, Err(broken)) => {
                self.commands.push(Command::Abandon { agent, ticket });
                self.fell_through(agent, Failure::passing(broken.kind(), broken.to_string()));
            }
        }
    }

    /// The request is made: it goes on record before it is sent.
    fn prepared(&mut self, agent: AgentId, prepared: &Prepared) {
        let Some(asking) = self.invocations.active.get_mut(&agent) else { return };
        let Phase::Preparing { options, context, estimate } = asking.phase else { return };
        asking.phase = Phase::Recording;
        let started = InvocationStarted {
            invocation: asking.chosen.target.invocation.clone(),
            purpose: asking.what.purpose(),
            options,
            estimate_tokens: estimate,
            catalogue: asking.shown.kept.as_ref().map(|(digest, _)| *digest),
            context_digest: context,
            body_digest: prepared.body_digest,
            projection_version: PROJECTION_VERSION,
            encoder_version: prepared.encoder_version,
            why: asking.chosen.why.clone(),
        };
        let (ticket, started) = (asking.ticket, Box::new(started));
        self.landed.push_back(Landed::Start { agent, ticket, started });
    }

    pub(super) fn place_start(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        ticket: Ticket,
        started: Box<InvocationStarted>,
    ) {
        // Given up in the meantime: nothing was sent, nothing is recorded. One that broke off
        // while it was prepared is recorded, with its failure right after it.
        let asked = self.invocations.get(agent, ticket).is_some();
        let failed = self.landed.iter().any(|landed| match landed {
            Landed::Failed { agent: of, .. } | Landed::RecapFailed { agent: of, .. } => {
                *of == agent
            }
            Landed::Start { .. }
            | Landed::Output { .. }
            | Landed::Recap { .. }
            | Landed::NoRecap { .. }
            | Landed::FileChange { .. }
            | Landed::Finished { .. }
            | Landed::End { .. } => false,
        });
        if !asked && !failed {
            return;
        }
        let cause = sheet.draft.history().agent(agent).and_then(|agent| agent.row);
        let beside = Beside { cause, ..Beside::default() };
        if let Err(not_placed) = sheet.place(agent, (*started).clone(), beside) {
            match not_placed {
                NotPlaced::Full => {
                    self.landed.push_front(Landed::Start { agent, ticket, started });
                }
                NotPlaced::Refused(_) => {
                    self.give_up(agent);
                    // Whatever is asked next, it is not waited for again.
                    sheet.urgent = true;
                }
            }
        }
    }

    /// The invocation is on record: its answer may come.
    pub(super) fn proceed(&mut self, entry: &Entry) {
        let agent = entry.agent;
        if let Some(asking) = self.invocations.active.get_mut(&agent)
            && matches!(asking.phase, Phase::Recording)
        {
            asking.phase = Phase::Streaming { started: entry.seq };
            self.commands.push(Command::Proceed { agent, ticket: asking.ticket });
        }
    }

    /// The answer is whole.
    fn answered(&mut self, agent: AgentId) {
        let Some(mut asking) = self.invocations.active.remove(&agent) else { return };
        let assembler = std::mem::replace(&mut asking.assembler, Assembler::new(0));
        let finished = match assembler.finish() {
            Ok(answer) => {
                let Assembled { blocks, stop, usage, cost, metadata } = answer;
                // A server that cut the prompt is found by what it reported.
                let cut = cut::is_cut(asking.sent_tokens, &usage);
                let (usage, cost, metadata) = if cut {
                    (usage, asking.chosen.target.cost(cost, Some(&usage)), metadata)
                } else {
                    asking.counted(&blocks, Some(usage), cost, &metadata)
                };
                Ok(Assembled { blocks, stop, usage, cost, metadata })
            }
            Err(partial) => Err(asking.counted_partial(partial)),
        };
        let Asking { chosen, what, sent_tokens, .. } = asking;
        if let What::Recap(recapping) = what {
            return self.recap_answered(agent, *recapping, finished);
        }
        let invocation = chosen.target.invocation.clone();
        let landed = match finished {
            Ok(answer) if self.was_cut(agent, sent_tokens, &answer) => {
                let message = cut::words(sent_tokens, answer.usage.input);
                let Assembled { blocks, usage, cost, metadata, .. } = answer;
                let partial = Partial { streamed: blocks, usage: Some(usage), cost, metadata };
                failed(agent, FailureKind::ContextTooLong, message, partial)
            }
            Ok(answer) => {
                let Assembled { blocks, stop, usage, cost, metadata } = answer;
                let output = Output { blocks, invocation, stop, usage, cost };
                Landed::Output { agent, output, metadata }
            }
            Err(partial) if planted!(PartialAnswer) => {
                let (blocks, stop) = (partial.streamed, crate::history::fact::Stop::Done);
                let usage = partial.usage.unwrap_or_default();
                let output = Output { blocks, invocation, stop, usage, cost: partial.cost };
                Landed::Output { agent, output, metadata: partial.metadata }
            }
            Err(partial) => failed(agent, FailureKind::Protocol, ENDED.to_owned(), partial),
        };
        self.landed.push_back(landed);
    }

    /// Whether an answer was made from a part of what was sent, and the model can be asked with
    /// less: once in a turn.
    fn was_cut(&self, agent: AgentId, sent_tokens: u64, answer: &Assembled) -> bool {
        cut::is_cut(sent_tokens, &answer.usage) && can_be_tighter(&self.history, agent)
    }

    /// The stream ended without its terminal signal.
    pub(super) fn broke(&mut self, agent: AgentId, ticket: Ticket, error: Option<ProviderError>) {
        if self.invocations.get(agent, ticket).is_none() {
            return;
        }
        match error {
            Some(error) => {
                let failure = Failure {
                    retry: error.may_pass(),
                    retry_after_ms: error.retry_after_ms,
                    limit_tokens: error.limit_tokens,
                    ..Failure::passing(error.kind, error.to_string())
                };
                self.fell_through(agent, failure);
            }
            None if planted!(PartialAnswer) => self.answered(agent),
            None => self.fell_through(agent, Failure::passing(FailureKind::Protocol, ENDED)),
        }
    }

    /// An asking failed: it goes on record with what had come of the answer, its beginning first
    /// if that is not there yet.
    fn fell_through(&mut self, agent: AgentId, failure: Failure) {
        if let Some(Phase::Preparing { .. }) =
            self.invocations.active.get(&agent).map(|asking| &asking.phase)
        {
            // It failed before its request was made: there are no bytes to name.
            let nothing =
                Prepared { body_digest: Digest::of(b""), encoder_version: 0, repairs: Vec::new() };
            self.prepared(agent, &nothing);
        }
        let Some(asking) = self.invocations.active.remove(&agent) else { return };
        let failure = Failure { partial: asking.partial(), ..failure };
        self.landed.push_back(match asking.what {
            What::Step { .. } => Landed::Failed { agent, failure },
            What::Recap(recapping) => Landed::RecapFailed { agent, failure, item: recapping.item },
        });
    }
}

impl What {
    fn purpose(&self) -> Purpose {
        match self {
            Self::Step { .. } => Purpose::Step,
            Self::Recap(_) => Purpose::Recap,
        }
    }
}

/// A failure after which the same may be asked again.
fn failed(agent: AgentId, kind: FailureKind, message: String, partial: Partial) -> Landed {
    Landed::Failed { agent, failure: Failure { partial, ..Failure::passing(kind, message) } }
}

/// What is told of a stream that just ended.
pub(super) const ENDED: &str = "the answer broke off before its end";
