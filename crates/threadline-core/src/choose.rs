//! Choosing: which model answers a step, and why.
//!
//! A name that an agent or an input gives is a [`Route`] or a model. What was tried for the step is
//! in the history, so that a process that takes over chooses like the one before it; only how the
//! models are doing ([`Health`]) is known to a process alone.

mod candidate;
mod health;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use health::{AllHealthy, Health, HealthBook, HealthSource};

use self::candidate::Candidate;
use crate::clock::Timestamp;
use crate::history::fact::Invocation;
use crate::history::one_line;
use crate::history::state::{Agent, Failed};
use crate::provider::{Models, Target};
pub use crate::provider::{Route, Strategy};

/// The route that is taken where nobody names one.
pub const DEFAULT_ROUTE: &str = "default";
/// The longest reason that is recorded, in characters.
const WHY_CAP: usize = 500;

/// What a request needs of a model, in our unit of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// What it takes at the least, however much is folded; 0 if that is not known.
    pub tokens: u64,
    /// What it takes with nothing folded; 0 if that is not known.
    pub whole_tokens: u64,
    /// The types of what was sent along.
    pub media: Vec<Arc<str>>,
    /// Whether there are tools.
    pub tools: bool,
}

/// What was done so far in the turn and the step that a model is chosen for.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar<'a> {
    /// The model that was asked last in this turn, if one was.
    pub asked: Option<&'a Invocation>,
    /// The invocations of the step that failed.
    pub failed: &'a [Failed],
}

impl<'a> SoFar<'a> {
    /// What the history has of an agent's turn.
    pub fn of(agent: &'a Agent) -> Self {
        let Some(turn) = agent.turn.as_ref().filter(|_| agent.in_turn()) else {
            return Self::default();
        };
        let asked = agent.asked.as_ref().map(|(asked, _)| asked);
        let in_turn = |asked: &&Invocation| turn.frozen.iter().any(|f| f.invocation == **asked);
        Self { asked: asked.filter(in_turn), failed: &turn.progress.failed }
    }
}

/// A chosen model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The model.
    pub target: Arc<Target>,
    /// Why this one, for the record: one line.
    pub why: String,
    /// How often it failed in this step in a way that may pass.
    pub failures: u32,
    /// Before when its provider does not want to be asked again, if it said so.
    pub not_before: Option<Timestamp>,
}

/// No model can be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// There is none at all.
    #[error("no model is configured")]
    None,
    /// Nothing has the name that is asked for.
    #[error("there is no route and no model named {0:?}")]
    Unnamed(Arc<str>),
    /// The one that is asked for cannot be asked as things are.
    #[error("{name}: {why}")]
    Unusable {
        /// Which one.
        name: Arc<str>,
        /// Why it cannot be asked.
        why: Arc<str>,
    },
    /// None of a route's models can be asked as things are.
    #[error("no model of the route {route} can be asked: {why}")]
    NoneLeft {
        /// The route.
        route: Arc<str>,
        /// Why not, model by model.
        why: String,
    },
}

/// How the models that are chosen among came up.
enum Origin {
    /// By a route.
    Route(Arc<Route>),
    /// By a model's own name.
    Named(Arc<str>),
    /// Nobody said anything.
    Nobody,
}

impl Origin {
    fn strategy(&self) -> Strategy {
        match self {
            Self::Route(route) => route.strategy,
            Self::Named(_) | Self::Nobody => Strategy::Fixed,
        }
    }
}

/// The model for a step.
///
/// Rules, in order:
/// - What cannot be asked, or failed in this step in a way that would come again, is out.
/// - The model of the turn is kept unless it failed in this step.
/// - What lacks something that the request needs comes after all that do not, and what failed
///   several times a moment ago after what did not; neither counts where there is no choice.
/// - What failed least often in this step comes first, then the order of the strategy.
///
/// The same arguments give the same answer.
pub fn choose(
    models: &dyn Models,
    health: &dyn HealthSource,
    wanted: Option<&Arc<str>>,
    needs: &Needs,
    so_far: &SoFar<'_>,
) -> Result<Chosen, NoModel> {
    let (origin, targets) = resolve(models, wanted, so_far)?;
    let strategy = origin.strategy();
    let mut candidates: Vec<Candidate> = targets
        .into_iter()
        .map(|(name, target)| Candidate::new(name, target, health, strategy, needs, so_far))
        .collect();
    candidates.sort_by_key(|candidate| candidate.rank);
    let kept = candidates.iter().position(|candidate| candidate.is_kept(so_far));
    let best = || {
        let open = candidates.iter().enumerate().filter(|(_, candidate)| candidate.out.is_none());
        open.min_by_key(|(place, candidate)| (candidate.hurdles(), *place)).map(|(place, _)| place)
    };
    let place = kept.or_else(best);
    let Some((chosen, target)) = place.and_then(|place| {
        let chosen = candidates.get(place)?;
        Some((chosen, chosen.target.clone()?))
    }) else {
        return Err(none_left(&origin, &candidates));
    };
    let before = candidates.get(..place.unwrap_or(0)).unwrap_or_default();
    let why = why(&origin, chosen, kept.is_some(), before);
    let (failures, not_before) = (chosen.failures, chosen.not_before);
    Ok(Chosen { target, why, failures, not_before })
}

/// The models that are chosen among, each with its name; none where a route names what is not
/// there.
type Named = (Arc<str>, Option<Arc<Target>>);

fn resolve(
    models: &dyn Models,
    wanted: Option<&Arc<str>>,
    so_far: &SoFar<'_>,
) -> Result<(Origin, Vec<Named>), NoModel> {
    let (targets, routes) = (models.targets(), models.routes());
    let named = |name: &str| targets.iter().find(|target| *target.name == *name).cloned();
    let name = wanted.map_or(DEFAULT_ROUTE, |name| &**name);
    if let Some(route) = routes.iter().find(|route| *route.name == *name) {
        let most = if route.strategy == Strategy::Fixed { 1 } else { usize::MAX };
        let mut found: Vec<Named> = Vec::new();
        for name in route.models.iter().take(most) {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((Arc::clone(name), named(name)));
            }
        }
        return Ok((Origin::Route(Arc::clone(route)), found));
    }
    if let Some(name) = wanted {
        let target = named(name).ok_or_else(|| NoModel::Unnamed(Arc::clone(name)))?;
        return Ok((Origin::Named(Arc::clone(name)), vec![(Arc::clone(name), Some(target))]));
    }
    let mut usable = targets.iter().filter(|target| target.unusable.is_none());
    let kept = usable.clone().find(|target| Some(&target.invocation) == so_far.asked);
    let target = kept.or_else(|| usable.next()).or_else(|| targets.first());
    let target = target.cloned().ok_or(NoModel::None)?;
    Ok((Origin::Nobody, vec![(Arc::clone(&target.name), Some(target))]))
}

fn none_left(origin: &Origin, candidates: &[Candidate]) -> NoModel {
    let why = |candidate: &Candidate| candidate.out.clone().unwrap_or_default();
    match (origin, candidates) {
        (Origin::Route(route), []) => {
            let why = "it names none".to_owned();
            NoModel::NoneLeft { route: Arc::clone(&route.name), why }
        }
        (Origin::Route(route), [_, _, ..]) => {
            let each = candidates.iter().map(|c| format!("{}: {}", c.name, why(c)));
            let why = one_line(&each.collect::<Vec<_>>().join("; "), WHY_CAP);
            NoModel::NoneLeft { route: Arc::clone(&route.name), why }
        }
        (_, [only, ..]) => {
            NoModel::Unusable { name: Arc::clone(&only.name), why: why(only).into() }
        }
        (Origin::Named(_) | Origin::Nobody, []) => NoModel::None,
    }
}

/// Why a model was chosen, and what was passed over for it.
fn why(origin: &Origin, chosen: &Candidate, kept: bool, before: &[Candidate]) -> String {
    let mut text = match origin {
        Origin::Route(route) => format!("route {} ({})", route.name, route.strategy.name()),
        Origin::Named(name) => format!("{name} is asked for"),
        Origin::Nobody => "the first that can be asked".to_owned(),
    };
    if kept {
        text.push_str(", the model of this turn");
    }
    for remark in chosen.remarks() {
        text.push_str("; ");
        text.push_str(&remark);
    }
    let passed = before.iter().filter(|_| !kept).map(Candidate::passed_over);
    let passed: Vec<String> = passed.collect();
    if !passed.is_empty() {
        text.push_str("; passed over: ");
        text.push_str(&passed.join(", "));
    }
    one_line(&text, WHY_CAP)
}
