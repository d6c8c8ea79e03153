//! Whether the right model is asked: what must hold of every choice.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline_core::history::fact::{FailureKind, Invocation, InvocationStarted};
use threadline_core::id::AgentId;
use threadline_core::provider::Target;

use super::mark::Mark;
use super::world::World;

/// Failures after which a model is not asked again in the step, and those that may pass.
const LASTING: [FailureKind; 3] =
    [FailureKind::Unauthorised, FailureKind::QuotaSpent, FailureKind::Refused];
const PASSING: [FailureKind; 3] =
    [FailureKind::Busy, FailureKind::Protocol, FailureKind::Unreachable];

impl World {
    /// How many models failed in an agent's step.
    pub(super) fn tried_models(&self, agent: AgentId) -> usize {
        let tried = self.check.tried.get(&agent).into_iter().flatten();
        tried.map(|(invocation, _)| invocation).collect::<BTreeSet<_>>().len()
    }

    /// A model is asked: not one that would fail again, nor one that failed as long as another
    /// has not, and for a reason that is on record.
    pub(super) fn check_choice(&mut self, agent: AgentId, started: &InvocationStarted) {
        if started.why.trim().is_empty() {
            return self.fail("choice", "nobody says why this model was chosen".to_owned());
        }
        let tried = self.check.tried.get(&agent).map_or(&[][..], Vec::as_slice);
        let asked = &started.invocation;
        let times = |kinds: &[FailureKind]| {
            tried.iter().filter(|(of, kind)| of == asked && kinds.contains(kind)).count()
        };
        let for_good = times(&LASTING);
        let too_long = times(&[FailureKind::ContextTooLong]);
        let passed = times(&PASSING);
        if for_good > 0 || too_long > 1 {
            return self.fail("choice", format!("{} is asked again in vain", asked.model));
        }
        let last = tried.last().map(|(of, _)| of.clone());
        let models = self.setting.as_ref().map(|setting| Arc::clone(&setting.models));
        let targets = models.map(|models| (models.targets(), models.routes().len()));
        let untried = targets.is_some_and(|(targets, routes)| {
            let fresh = |invocation: &Invocation| !tried.iter().any(|(of, _)| of == invocation);
            // What one takes may be too much for another with a smaller window.
            let window = |target: &&Arc<Target>| target.profile.window_tokens;
            let least =
                targets.iter().find(|target| target.invocation == *asked).map(|t| window(&t));
            let mut others = targets.iter().filter(|other| Some(window(other)) >= least);
            routes > 0 && others.any(|target| fresh(&target.invocation))
        });
        let by_order = started.why.starts_with("route default (fallback)");
        // One whose window is too small is passed over in its turn, and so is one that is left
        // less because it said that a request was too long.
        let turn = self.store.history().agent(agent).and_then(|agent| agent.turn.as_ref());
        let tightened = turn
            .is_some_and(|turn| turn.frozen.iter().any(|frozen| frozen.refused_tokens.is_some()));
        let too_small = tightened || started.why.contains("too long");
        if passed > 0 && untried && by_order && !too_small {
            let text = format!("{} is asked again before another: {}", asked.model, started.why);
            return self.fail("choice", text);
        }
        match last {
            Some(last) if last != *asked => {
                self.hit(if passed > 0 { Mark::CameRound } else { Mark::FellBack });
            }
            Some(_) | None => {}
        }
    }
}
