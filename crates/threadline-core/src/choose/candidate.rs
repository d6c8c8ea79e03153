//! One model that may be chosen: what speaks against it, and where it stands among the others.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{HealthSource, Needs, SoFar, Strategy};
use crate::clock::Timestamp;
use crate::context::plan::RESERVE_SHARE;
use crate::history::fact::{FailureKind, Usage};
use crate::history::state::Failed;
use crate::provider::{Profile, Target, ToolSupport, cost};

/// What a request is taken to cost at the least, and which part of it is answered, where prices
/// are compared.
const PRICED_TOKENS: u64 = 1_000;
const ANSWER_SHARE: u64 = 4;

/// A model that may be chosen.
pub(super) struct Candidate {
    pub(super) name: Arc<str>,
    pub(super) target: Option<Arc<Target>>,
    /// Why it cannot be asked at all.
    pub(super) out: Option<String>,
    /// What it lacks that the request needs.
    lacks: Option<String>,
    /// Whether what it lacks speaks against it.
    lacks_count: bool,
    /// Whether it failed several times in a row a moment ago.
    open: bool,
    latency_ms: Option<u64>,
    /// How often it failed in this step in a way that may pass, and how last.
    pub(super) failures: u32,
    last_failure: Option<FailureKind>,
    /// Whether it failed at all in this step but for a request that is shorter now.
    failed: bool,
    pub(super) not_before: Option<Timestamp>,
    /// Its place by the strategy, before anything speaks against it.
    pub(super) rank: (bool, u64),
}

/// What speaks against a model, the weightiest first. The larger window comes first among those
/// that lack something.
pub(super) type Hurdles = (bool, Reverse<u64>, bool, u32, Option<Timestamp>);

impl Candidate {
    pub(super) fn new(
        name: Arc<str>,
        target: Option<Arc<Target>>,
        health: &dyn HealthSource,
        strategy: Strategy,
        needs: &Needs,
        so_far: &SoFar<'_>,
    ) -> Self {
        let mine = |failed: &&Failed| {
            target.as_ref().is_some_and(|target| target.invocation == failed.invocation)
        };
        let failed: Vec<&Failed> = so_far.failed.iter().filter(mine).collect();
        let lasting = failed.iter().rev().find(|failed| failed.lasting);
        let unusable = match &target {
            None => Some("there is no such model".to_owned()),
            Some(target) => target.unusable.as_deref().map(str::to_owned),
        };
        let out = unusable.or_else(|| lasting.map(|failed| how(failed.kind).to_owned()));
        // A request that was too long is shorter now: that is no mark against the model.
        let passing = |failed: &&&Failed| failed.kind != FailureKind::ContextTooLong;
        let passing: Vec<&&Failed> = failed.iter().filter(passing).collect();
        let health = target.as_ref().map(|target| health.health(target)).unwrap_or_default();
        let profile = target.as_ref().map(|target| &target.profile);
        let rank = profile.map_or((false, 0), |profile| match strategy {
            Strategy::Fixed | Strategy::Fallback | Strategy::FirstThatFits => (false, 0),
            Strategy::Cheapest => match price(profile, needs) {
                Some(price) => (false, price),
                None => (true, 0),
            },
            Strategy::Fastest => (health.latency_ms.is_some(), health.latency_ms.unwrap_or(0)),
        });
        Self {
            lacks: profile.and_then(|profile| lacks(profile, strategy, needs)),
            lacks_count: strategy != Strategy::Fixed,
            open: health.open,
            latency_ms: health.latency_ms.filter(|_| strategy == Strategy::Fastest),
            failures: u32::try_from(passing.len()).unwrap_or(u32::MAX),
            last_failure: passing.last().map(|failed| failed.kind),
            failed: !passing.is_empty(),
            not_before: passing.iter().filter_map(|failed| failed.not_before).max(),
            name,
            target,
            out,
            rank,
        }
    }

    /// Whether it is the model of the turn and may stay so.
    pub(super) fn is_kept(&self, so_far: &SoFar<'_>) -> bool {
        let invocation = self.target.as_ref().map(|target| &target.invocation);
        self.out.is_none() && !self.failed && invocation.is_some() && invocation == so_far.asked
    }

    pub(super) fn hurdles(&self) -> Hurdles {
        let lacks = self.lacks_count && self.lacks.is_some();
        let window = self.target.as_ref().map_or(0, |target| target.profile.window_tokens);
        let window = if lacks { window } else { 0 };
        (lacks, Reverse(window), self.open, self.failures, self.not_before)
    }

    /// What is to be said of it as the chosen one.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let measured = self.latency_ms.map(|ms| format!("it began to answer in {ms} ms of late"));
        let again = self.last_failure.map(|kind| match self.failures {
            1 => format!("asked again: {}", how(kind)),
            n => format!("asked again after {n} failures: {}", how(kind)),
        });
        let lacks = self.lacks.as_ref().map(|lacks| format!("though {lacks}"));
        let open = self.open.then(|| format!("though {OPEN}"));
        [measured, again, lacks, open].into_iter().flatten()
    }

    /// Why it was not chosen, though the strategy has it first.
    pub(super) fn passed_over(&self) -> String {
        let lacks = self.lacks.as_deref().filter(|_| self.lacks_count);
        let open = self.open.then_some(OPEN);
        let why = self.out.as_deref().or(self.last_failure.map(how)).or(lacks).or(open);
        format!("{} ({})", self.name, why.unwrap_or("another one comes first"))
    }
}

const OPEN: &str = "it failed several times a moment ago";

/// How a model failed, in words.
fn how(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Busy => "it was busy",
        FailureKind::ContextTooLong => "the request is too long for it",
        FailureKind::Unauthorised => "its credentials were refused",
        FailureKind::QuotaSpent => "its quota is spent",
        FailureKind::Refused => "it refused the request",
        FailureKind::Protocol => "its answer broke off or could not be read",
        FailureKind::Unreachable => "it could not be reached",
        FailureKind::Cancelled => "it was stopped",
    }
}

/// What a model lacks that a request needs.
fn lacks(profile: &Profile, strategy: Strategy, needs: &Needs) -> Option<String> {
    let wanted = match strategy {
        Strategy::FirstThatFits => needs.whole_tokens.max(needs.tokens),
        Strategy::Fixed | Strategy::Fallback | Strategy::Cheapest | Strategy::Fastest => {
            needs.tokens
        }
    };
    let window = profile.window_tokens;
    let answer = u64::from(profile.output_cap_tokens).min(window / RESERVE_SHARE);
    if wanted > 0 && theirs(profile, wanted).saturating_add(answer) > window {
        return Some(format!("its window of {window} tokens is too small"));
    }
    if needs.tools && profile.tools == ToolSupport::None {
        return Some("it calls no tools".to_owned());
    }
    let taken = |wanted: &&Arc<str>| {
        let taken = profile.media.iter().any(|media| media.media_type == **wanted);
        taken || !is_seen(wanted)
    };
    let not_taken = needs.media.iter().find(|wanted| !taken(wanted));
    not_taken.map(|media_type| format!("it takes no {media_type}"))
}

/// Whether only a model that takes media of a type makes anything of it: the rest is text, or is
/// nothing to any of them.
fn is_seen(media_type: &str) -> bool {
    let family = media_type.split('/').next().unwrap_or_default();
    let text = media_type == "image/svg+xml";
    (matches!(family, "image" | "audio" | "video") && !text) || media_type == "application/pdf"
}

/// What a request costs, roughly; none if the prices are not known.
fn price(profile: &Profile, needs: &Needs) -> Option<u64> {
    let input = theirs(profile, needs.whole_tokens.max(needs.tokens).max(PRICED_TOKENS));
    let usage = Usage { input, output: input / ANSWER_SHARE, ..Usage::default() };
    cost(&profile.prices, &usage).map(|cost| cost.0)
}

/// Tokens of ours in a model's own.
fn theirs(profile: &Profile, tokens: u64) -> u64 {
    let tokens = u128::from(tokens) * u128::from(profile.factor_percent) / 100;
    u64::try_from(tokens).unwrap_or(u64::MAX)
}
