//! The projection: from the newest rows of a thread to what a model sees, within a budget.
//!
//! This one shows all that fits, newest first. Exchanges are shown whole or left out, from the
//! oldest on; what began the current turn always stays. It is pure: the same material gives the
//! same context, byte for byte.

mod exchange;
mod render;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::exchange::{Item, Thread};
use self::render::Renderer;
use super::{Body, Context, Part, Screen, Source};
use crate::history::fact::{CallOptions, Detail, ProjectionOptions};
use crate::history::{History, LIVE_RESULT_CAP_TOKENS};
use crate::id::{AgentId, Seq};
use crate::provider::Profile;
use crate::store::Shown;
use crate::tokens::TokenCounter;
use crate::tool::Catalogue;

/// The version of this projection: the same version makes the same context again.
pub const PROJECTION_VERSION: u32 = 1;

/// What a context is made from.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// The agent's instruction and the entry that set it.
    pub instruction: Option<(Seq, Arc<str>)>,
    /// The newest rows of the agent's thread with their entries, oldest first, as
    /// [`store::window`](crate::store::window) gives them.
    pub window: Vec<Shown>,
    /// The agent's live screen.
    pub screen: Option<Arc<str>>,
}

/// A part that must be whole does not fit the window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{part} takes {tokens} tokens, and {available} are free; shorten it or choose a model with a larger window"
)]
pub struct DoesNotFit {
    /// Which part.
    pub part: String,
    /// The tokens it takes, in our unit.
    pub tokens: u64,
    /// The tokens that the parts before it leave free.
    pub available: u64,
}

/// How many tokens of rows are worth reading for these options.
pub fn wanted_tokens(options: &ProjectionOptions) -> u64 {
    budget(options)
}

/// How a context is projected for a model, if nothing else is asked for.
///
/// The capacity is all that the window leaves beside the reserve; a lower one makes a tighter
/// context.
pub fn options_for(profile: &Profile, call: &CallOptions) -> ProjectionOptions {
    let usual = u64::from(profile.output_cap_tokens).min(profile.window_tokens / 4);
    let options = ProjectionOptions {
        window_tokens: profile.window_tokens,
        reserve_tokens: call.max_output_tokens.map_or(usual, u64::from),
        capacity_tokens: u64::MAX,
        factor_percent: profile.factor_percent,
        detail: Detail::Normal,
        screen: true,
    };
    ProjectionOptions { capacity_tokens: budget(&options), ..options }
}

/// What an agent's model sees: its instruction, and as much of its thread as fits, newest first.
///
/// - The tokens of it and of the catalogue stay within the window less the reserve, in our unit,
///   and within the capacity.
/// - The inputs that began the current turn, those that wait for an answer, the newest exchange of
///   the turn and the screen are always there, or it does not fit. The newest exchange's results
///   are shortened before that.
/// - Everything else is shown by whole exchanges, without a gap; a line says what is left out.
/// - Results of the current turn are whole unless they are long; earlier turns are at Recent.
/// - An output whose calls are not sealed is not shown.
pub fn project(
    history: &History,
    agent: AgentId,
    material: &Material,
    catalogue: &Catalogue,
    options: &ProjectionOptions,
    counter: &dyn TokenCounter,
) -> Result<Context, DoesNotFit> {
    let renderer = Renderer { live_cap: live_cap(options.detail), counter };
    let thread = Thread::new(history, agent, &material.window);
    let mut free = Budget(budget(options));

    let system = renderer.system(material.instruction.as_ref());
    free.take(u64::from(system.tokens), || "the instruction".to_owned())?;
    free.take(u64::from(catalogue.tokens()), || "the list of tools".to_owned())?;
    let opening = renderer.inputs(&thread.opening);
    free.take(tokens(&opening), || name("what began the turn", &thread.opening))?;
    let pending = renderer.inputs(&thread.pending);
    free.take(tokens(&pending), || name("what waits for an answer", &thread.pending))?;
    let heard = thread.heard();
    let screen = material.screen.as_ref().filter(|_| options.screen && !heard.is_empty());
    let screen = screen.map(|text| renderer.screen(text));
    if let Some(screen) = &screen {
        free.take(u64::from(screen.tokens), || "the live screen".to_owned())?;
    }
    let newest = renderer.newest(&thread.newest, free.0);
    free.take(tokens(&newest), || name("the newest exchange", &thread.newest))?;

    let filled = fill(&renderer, &thread, free.0);
    let (front, inside) = match filled.line {
        Some((Place::Front, line)) => (Some(line), None),
        Some((Place::Inside, line)) => (None, Some(line)),
        None => (None, None),
    };
    let mut parts: Vec<Part> = front.into_iter().chain(filled.before).chain(opening).collect();
    parts.extend(inside.into_iter().chain(filled.inside).chain(newest).chain(pending));
    if let Some(screen) = screen {
        attach(&mut parts, screen, &heard);
    }
    Ok(Context { system, parts })
}

/// What may be left out, as far as it fits.
struct Filled {
    /// Exchanges of earlier turns.
    before: Vec<Part>,
    /// Exchanges of the current turn but the newest.
    inside: Vec<Part>,
    /// What says that something is left out.
    line: Option<(Place, Part)>,
}

/// Where the line stands that says what is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In front of everything.
    Front,
    /// After what began the turn.
    Inside,
}

/// The newest exchanges that fit, of the current turn first, with a line on what does not.
fn fill(renderer: &Renderer<'_>, thread: &Thread<'_>, free: u64) -> Filled {
    let before = thread.before.iter().map(|items| renderer.exchange(items, false));
    let inside = thread.inside.iter().map(|items| renderer.exchange(items, true));
    let mut kept: Vec<Vec<Part>> = before.chain(inside).collect();
    let mut sum: u64 = kept.iter().map(|parts| tokens(parts)).sum();
    let mut dropped = 0;
    let line = loop {
        if sum <= free {
            let line = line(renderer, thread, dropped);
            let line_tokens = line.as_ref().map_or(0, |(_, line)| u64::from(line.tokens));
            if sum.saturating_add(line_tokens) <= free {
                break line;
            }
        }
        let Some(next) = kept.get_mut(dropped) else { break None };
        sum -= tokens(next);
        next.clear();
        dropped += 1;
    };
    let inside = kept.split_off(thread.before.len().min(kept.len()));
    Filled { before: kept.concat(), inside: inside.concat(), line }
}

/// The line that says what is left out once the oldest exchanges are dropped, if anything is.
fn line(renderer: &Renderer<'_>, thread: &Thread<'_>, dropped: usize) -> Option<(Place, Part)> {
    let of_turn = dropped.saturating_sub(thread.before.len());
    let left_out = thread.left_out(of_turn);
    if left_out > 0 {
        let from = thread.opening.last().map_or(thread.turn, |item| item.row.seq.next());
        let kept = thread.inside.get(of_turn).unwrap_or(&thread.newest).first();
        let kept = kept.or(thread.pending.first());
        let to = kept.map_or(thread.head, |item| item.row.seq.before());
        return Some((Place::Inside, renderer.left_out(Some(left_out), from, to)));
    }
    let kept = thread.before.get(dropped).and_then(|items| items.first());
    let kept = kept.or(thread.opening.first()).or(thread.newest.first())?;
    kept.row.previous?;
    Some((Place::Front, renderer.left_out(None, Seq(1), kept.row.seq.before())))
}

/// Attaches the live screen to the newest part of something heard in the current turn.
fn attach(parts: &mut [Part], screen: Screen, heard: &BTreeSet<Seq>) {
    let is_heard = |part: &&mut Part| match part.source {
        Source::Entry(seq) => heard.contains(&seq),
        Source::Earlier { .. } => false,
    };
    let Some(part) = parts.iter_mut().rev().find(is_heard) else { return };
    part.tokens = part.tokens.saturating_add(screen.tokens);
    match &mut part.body {
        Body::Input(input) => input.screen = Some(screen),
        Body::Results(results) => results.screen = Some(screen),
        Body::Output(_) => {}
    }
}

/// What is still free.
struct Budget(u64);

impl Budget {
    fn take(&mut self, tokens: u64, part: impl FnOnce() -> String) -> Result<(), DoesNotFit> {
        let available = self.0;
        let left = available.checked_sub(tokens);
        self.0 = left.ok_or_else(|| DoesNotFit { part: part(), tokens, available })?;
        Ok(())
    }
}

/// What instruction, tools and parts may take together, in our unit.
fn budget(options: &ProjectionOptions) -> u64 {
    let ours = |tokens: u64| {
        u64::try_from(u128::from(tokens) * 100 / u128::from(options.factor_percent.max(1)))
            .unwrap_or(u64::MAX)
    };
    // A model that counts fewer tokens than we do answers more of ours.
    let reserve = options.reserve_tokens.max(ours(options.reserve_tokens));
    ours(options.window_tokens).saturating_sub(reserve).min(options.capacity_tokens)
}

/// Up to how many tokens a result of the current turn is shown whole.
fn live_cap(detail: Detail) -> u32 {
    match detail {
        Detail::Lean => LIVE_RESULT_CAP_TOKENS / 2,
        Detail::Normal => LIVE_RESULT_CAP_TOKENS,
        Detail::Full => LIVE_RESULT_CAP_TOKENS * 2,
    }
}

fn tokens(parts: &[Part]) -> u64 {
    parts.iter().map(|part| u64::from(part.tokens)).sum()
}

/// What some items are called, for people.
fn name(what: &str, items: &[Item<'_>]) -> String {
    match items {
        [] => what.to_owned(),
        [one] => format!("{what} (entry {})", one.row.seq),
        [first, .., last] => format!("{what} (entries {} to {})", first.row.seq, last.row.seq),
    }
}
