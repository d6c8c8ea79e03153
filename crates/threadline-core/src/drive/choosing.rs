//! Which model is asked next: for a step, after one that failed, and when a request does not fit.

use std::sync::Arc;

use super::Driver;
use super::appending;
use super::asking::What;
use super::place::Landed;
use crate::choose::{Chosen, Needs, NoModel, SoFar, choose};
use crate::clock::Timestamp;
use crate::context::plan::DoesNotFit;
use crate::history::History;
use crate::history::fact::{AgentJoined, EndReason, FailureKind};
use crate::history::state::{Agent, Failed, Frozen};
use crate::id::AgentId;

/// How long to wait before a model is asked again: at first, and at most.
const BACKOFF_MS: u64 = 1_000;
const BACKOFF_CAP_MS: u64 = 30_000;

impl Driver {
    /// The model for an agent's next step.
    pub(super) fn choose(&self, history: &History, agent: AgentId) -> Result<Chosen, NoModel> {
        let (models, health) = (&*self.setting.models, &*self.setting.health);
        let Some(state) = history.agent(agent) else {
            return choose(models, health, None, &Needs::default(), &SoFar::default());
        };
        choose(models, health, route(state), &self.needs(agent, state), &SoFar::of(state))
    }

    /// What an agent's next request needs of a model.
    fn needs(&self, agent: AgentId, state: &Agent) -> Needs {
        let joined = settings(state);
        let instruction = state.instruction.map_or(0, |(_, tokens)| u64::from(tokens));
        let shown = self.invocations.known_catalogue(agent, joined);
        let catalogue = shown.map(|shown| u64::from(shown.catalogue.tokens()));
        let tools = match shown {
            Some(shown) => shown.kept.is_some(),
            None => !self.setting.tools_of(joined).is_empty(),
        };
        let turn = state.turn.as_ref().filter(|_| state.in_turn());
        let thread = turn.map_or(state.recent_sum, |turn| {
            let of_turn = state.live_sum.saturating_sub(turn.live_sum_before);
            turn.recent_sum_before.saturating_add(of_turn)
        });
        let whole_tokens = thread.saturating_add(instruction + catalogue.unwrap_or(0));
        let media = turn.map(|turn| turn.setup.media.clone()).unwrap_or_default();
        Needs { tokens: 0, whole_tokens, media, tools }
    }

    /// What must be whole does not fit the window of the model that was chosen: another one of the
    /// route is asked, if there is one that was not found too small before.
    pub(super) fn does_not_fit(&mut self, agent: AgentId, error: &DoesNotFit) {
        let budget = self.invocations.active.get(&agent).map_or(0, |asking| asking.budget);
        let taken = budget.saturating_sub(error.available);
        let tokens = taken.saturating_add(error.tokens);
        let detail = match self.refused_in_turn(agent) {
            Some(frozen) => cannot_be_smaller(frozen),
            None => error.to_string(),
        };
        self.ask_larger(agent, tokens, detail);
    }

    /// A request of so many tokens is planned: if the model refused one that was no larger in this
    /// turn, it is not sent. Returns whether it may be.
    pub(super) fn may_send(&mut self, agent: AgentId, estimate_tokens: u64) -> bool {
        let refused = self.refused_in_turn(agent).filter(|frozen| !frozen.takes(estimate_tokens));
        let Some(detail) = refused.map(cannot_be_smaller) else { return true };
        self.ask_larger(agent, estimate_tokens, detail);
        false
    }

    /// How contexts are projected for the model that is asked, if it refused one in this turn as
    /// too long.
    fn refused_in_turn(&self, agent: AgentId) -> Option<&Frozen> {
        let invocation = &self.invocations.active.get(&agent)?.chosen.target.invocation;
        let turn = self.ahead().agent(agent)?.turn.as_ref()?;
        let mut frozen = turn.frozen.iter().filter(|frozen| frozen.refused_tokens.is_some());
        frozen.find(|frozen| frozen.invocation == *invocation)
    }

    /// Asks another model of the route that takes so many tokens. If there is none, the same one
    /// is asked past a limit of an earlier turn; else the turn ends.
    fn ask_larger(&mut self, agent: AgentId, tokens: u64, detail: String) {
        let was_refused = self.refused_in_turn(agent).is_some();
        let Some(asking) = self.invocations.active.remove(&agent) else { return };
        let What::Step { recap_first, mut unfit, past_limit } = asking.what else { return };
        unfit.push(Failed {
            invocation: asking.chosen.target.invocation.clone(),
            kind: FailureKind::ContextTooLong,
            lasting: true,
            not_before: None,
        });
        let other = self.ahead().agent(agent).and_then(|state| {
            let needs = Needs { tokens, ..self.needs(agent, state) };
            let SoFar { asked, failed } = SoFar::of(state);
            let failed = [failed, &unfit].concat();
            let so_far = SoFar { asked, failed: &failed };
            choose(&*self.setting.models, &*self.setting.health, route(state), &needs, &so_far).ok()
        });
        if let Some(other) = other {
            let what = What::Step { recap_first, unfit, past_limit: false };
            return self.gather_for(agent, other, what);
        }
        let limit = self.ahead().limit_of(&asking.chosen.target.invocation);
        if limit.is_some() && !past_limit && !was_refused {
            let what = What::Step { recap_first, unfit, past_limit: true };
            return self.gather_for(agent, asking.chosen, what);
        }
        let reason = EndReason::DoesNotFit;
        self.landed.push_back(Landed::End { agent, reason, detail });
    }
}

/// The message for a request that was refused and cannot be made smaller.
fn cannot_be_smaller(frozen: &Frozen) -> String {
    format!(
        "the model refused a request of about {} tokens as too long, and it cannot be made smaller; \
         shorten the instruction or what is pinned, or choose a model with a larger window",
        frozen.refused_tokens.unwrap_or_default()
    )
}

/// How long to wait before a chosen model is asked: not at all unless it failed in this step.
pub(super) fn wait_ms(chosen: &Chosen, at: Timestamp) -> u64 {
    match (chosen.not_before, chosen.failures) {
        (Some(moment), _) => moment.millis_since(at),
        (None, 0) => 0,
        (None, n) => appending::doubled(BACKOFF_MS, n - 1, BACKOFF_CAP_MS),
    }
}

/// The name of the route or model that an agent's turn asks for, if it asks for one.
fn route(agent: &Agent) -> Option<&Arc<str>> {
    let turn = agent.turn.as_ref().filter(|_| agent.in_turn());
    turn.and_then(|turn| turn.setup.route.as_ref()).or_else(|| settings(agent).route.as_ref())
}

/// An agent's settings as they count now: those with which its turn began, if it is in one.
fn settings(agent: &Agent) -> &Arc<AgentJoined> {
    let turn = agent.turn.as_ref().filter(|_| agent.in_turn());
    turn.map_or(&agent.joined, |turn| &turn.setup.joined)
}
