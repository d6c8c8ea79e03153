//! When a model gives no answer: what is recorded of it, who is asked next, and when a turn ends.

use super::Driver;
use super::choosing::wait_ms;
use super::peers::spent_together;
use super::place::{Beside, Ending, Failure, Landed, Sheet, counted, failed, turn_of};
use super::planted::planted;
use crate::history::History;
use crate::history::fact::{EndReason, FailureKind, InvocationFailed, Limit};
use crate::id::AgentId;

impl Driver {
    pub(super) fn place_failure(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        failure: Failure,
    ) {
        let Some(started) = sheet.draft.history().agent(agent).and_then(|a| a.invoking) else {
            return;
        };
        // A request that was too long is made smaller, once.
        let tighter = failure.kind == FailureKind::ContextTooLong
            && can_be_tighter(sheet.draft.history(), agent);
        let bare = InvocationFailed {
            retry: failure.retry || tighter,
            retry_after_ms: failure.retry_after_ms,
            limit_tokens: failure.limit_tokens,
            usage: failure.partial.usage,
            cost: failure.partial.cost,
            ..failed(started, failure.kind, &failure.message)
        };
        let whole = InvocationFailed { streamed: failure.partial.streamed.clone(), ..bare.clone() };
        let metadata = failure.partial.metadata.clone();
        if !sheet.place_or(agent, whole, bare, metadata, started) {
            if sheet.full {
                self.landed.push_front(Landed::Failed { agent, failure });
            }
            return;
        }
        let history = sheet.draft.history();
        let failures = turn_of(history, agent).map_or(0, |turn| turn.progress.failures);
        let more = failures < self.setting.limits.attempts || planted!(EndlessRetry);
        let stopped = failure.kind == FailureKind::Cancelled;
        if more
            && !stopped
            && let Ok(next) = self.choose(history, agent)
        {
            let ms = wait_ms(&next, sheet.at);
            if ms > 0 {
                self.pause(agent, ms);
            }
            return;
        }
        let ending = given_up(history, agent, failure);
        if !self.end_turn(sheet, agent, &ending) && sheet.full {
            let (reason, detail) = (ending.reason, ending.detail);
            self.landed.push_front(Landed::End { agent, reason, detail });
        }
    }

    /// What is recorded before a model is asked: what became of an earlier asking, and the end of
    /// a turn that may not go on.
    pub(super) fn place_before_asking(&mut self, sheet: &mut Sheet<'_>, agent: AgentId) {
        if self.invocations.active.contains_key(&agent) {
            return;
        }
        let state = sheet.draft.history().agent(agent);
        let under_way = state.and_then(|agent| agent.invoking.or(agent.invoking_aside));
        if let Some(started) = under_way {
            let text = "the process stopped before the answer was recorded";
            // It says nothing of the model, which is asked again.
            let orphan =
                InvocationFailed { retry: true, ..failed(started, FailureKind::Cancelled, text) };
            if sheet.place(agent, orphan, Beside::cause(started)).is_err() {
                return;
            }
        }
        if let Some(ending) = self.may_not_ask(sheet.draft.history(), agent) {
            self.end_turn(sheet, agent, &ending);
        }
    }

    /// Why a turn ends before a model is asked, if it does.
    pub(super) fn may_not_ask(&self, history: &History, agent: AgentId) -> Option<Ending> {
        let limits = &self.setting.limits;
        let turn = turn_of(history, agent)?;
        let limit = |limit, text: String| Some(Ending::new(EndReason::Limit(limit), text));
        if turn.progress.failures >= limits.attempts && !planted!(EndlessRetry) {
            let text = format!("no answer after {} attempts", turn.progress.failures);
            return Some(Ending::new(EndReason::Failed, text));
        }
        if turn.progress.pauses > limits.pauses {
            let text = format!("the model asked {} times in a row to go on", turn.progress.pauses);
            return Some(Ending::new(EndReason::Failed, text));
        }
        if turn.progress.steps >= limits.steps {
            return limit(
                Limit::Steps,
                format!("{} in one turn", counted(turn.progress.steps, "step")),
            );
        }
        // What agents spend for one another is spent together.
        let limited = limits.turn_cost.is_some() || limits.turn_tokens.is_some();
        let spent = limited.then(|| spent_together(history, agent));
        let (tokens, cost) = spent.unwrap_or_default();
        let about = |estimated: bool| if estimated { "about " } else { "" };
        let in_turn = about(turn.spent.estimated);
        if let Some(most) = limits.turn_cost.filter(|most| cost >= *most) {
            return limit(Limit::Money, format!("{in_turn}{cost} of {most} in one turn"));
        }
        let in_all = about(history.ledger().usage.estimated);
        let spent = history.ledger().cost;
        if let Some(most) = limits.conversation_cost.filter(|most| spent >= *most) {
            return limit(Limit::Money, format!("{in_all}{spent} of {most} in this conversation"));
        }
        if let Some(most) = limits.turn_tokens.filter(|most| tokens >= *most) {
            return limit(Limit::Tokens, format!("{in_turn}{tokens} of {most} tokens in one turn"));
        }
        let usage = history.ledger().usage;
        let used = usage.input.saturating_add(usage.output);
        if let Some(most) = limits.conversation_tokens.filter(|most| used >= *most) {
            let text = format!("{in_all}{used} of {most} tokens in this conversation");
            return limit(Limit::Tokens, text);
        }
        self.choose(history, agent)
            .err()
            .map(|none| Ending::new(EndReason::Failed, none.to_string()))
    }
}

/// How a turn ends once nobody is asked any more.
fn given_up(history: &History, agent: AgentId, failure: Failure) -> Ending {
    let reason = match failure.kind {
        FailureKind::ContextTooLong => EndReason::DoesNotFit,
        FailureKind::Busy
        | FailureKind::Unauthorised
        | FailureKind::QuotaSpent
        | FailureKind::Refused
        | FailureKind::Protocol
        | FailureKind::Unreachable
        | FailureKind::Cancelled => EndReason::Failed,
    };
    let turn = turn_of(history, agent);
    let mut models: Vec<_> =
        turn.map_or(&[][..], |turn| &turn.progress.failed).iter().map(|f| &f.invocation).collect();
    models.sort_unstable();
    models.dedup();
    let detail = match (turn.map_or(0, |turn| turn.progress.failures), models.len()) {
        (0 | 1, _) => failure.message,
        (n, 0 | 1) => format!("{} (asked {n} times)", failure.message),
        (n, models) => format!("{} (asked {n} times, {models} models)", failure.message),
    };
    Ending::new(reason, detail)
}

/// Whether the model that was asked can be asked with less.
pub(super) fn can_be_tighter(history: &History, agent: AgentId) -> bool {
    let Some(agent) = history.agent(agent) else { return false };
    let (Some((asked, _)), Some(turn)) = (&agent.asked, &agent.turn) else { return false };
    turn.frozen.iter().any(|frozen| frozen.invocation == *asked && frozen.refused_tokens.is_none())
}
