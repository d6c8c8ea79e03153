//! A model that follows a script: deltas, delays and faults as a test wants them.
//!
//! # Which answer is played
//!
//! By default it follows from the request alone, so that a process that was killed and started
//! again goes on where it was:
//!
//! 1. The newest input chooses the **turn**: the first turn whose `when` text the input contains;
//!    else, if it is the n-th visible input that no `when` speaks of, the n-th turn without one;
//!    else the turn that is marked `else`.
//! 2. The number of outputs after that input chooses the **answer** in the turn.
//! 3. How often this provider was asked the very same request chooses the **try**: the first time
//!    the first, and the last one from then on. Only this is kept in memory, and only for answers
//!    that have several tries.
//!
//! What is folded is not visible: in a conversation that outgrows its window, turns are best
//! chosen by `when` and `else`. The line that tells the end of a cancelled turn is no input, nor
//! is the quote of a pinned entry.
//!
//! [`Scripted::in_order`] plays all tries one after the other instead, whatever it is asked.
//!
//! A request that the script has no answer for is refused.

mod cue;
mod expand;
mod parse;
mod perform;
mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use threadline_core::history::fact::{Digest, FailureKind, Invocation};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{
    DeltaStream, Profile, Provider, ProviderError, Request, Target, ThinkingSupport, ToolSupport,
};

pub use parse::ScriptUnreadable;
pub use script::{Action, Answer, Call, Fault, Script, Turn, When};

use crate::play::{Move, play};
use crate::render;
use crate::speech::Speech;
use cue::Cue;

/// The name under which a scripted model is asked and reports its errors.
pub const SCRIPTED: &str = "scripted";

/// A model that follows a script. Copies share their place in it.
///
/// # Example
///
/// ```
/// use threadline_providers::scripted::{Action, Answer, Call, Script, Scripted, Turn};
///
/// let script = Script::of([
///     Turn::of([
///         Answer::of([Action::Call(Call::to("calculator", r#"{"expression":"2 + 3"}"#))]),
///         Answer::of([Action::Say("It is {result}.".into())]),
///     ]),
///     Turn::when("weather", [Answer::of([Action::Say("Rain, I think.".into())])]),
/// ]);
/// let model = Scripted::new(script);
/// # drop(model);
/// ```
#[derive(Clone, Debug)]
pub struct Scripted(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Script,
    place: Place,
}

/// How the place in the script is found.
#[derive(Debug)]
enum Place {
    /// From the request; with how often each was asked, of those where it matters.
    ByRequest(Mutex<BTreeMap<Digest, usize>>),
    /// By counting.
    InOrder(AtomicUsize),
}

impl Scripted {
    /// Follows a script by what it is asked.
    pub fn new(script: Script) -> Self {
        Self(Arc::new(Shared { script, place: Place::ByRequest(Mutex::default()) }))
    }

    /// Plays a script from its beginning to its end, whatever it is asked.
    pub fn in_order(script: Script) -> Self {
        Self(Arc::new(Shared { script, place: Place::InOrder(AtomicUsize::new(0)) }))
    }

    /// How it is chosen: a model that can do all that a script can say.
    pub fn target() -> Target {
        Target {
            name: SCRIPTED.into(),
            invocation: Invocation {
                provider: SCRIPTED.into(),
                endpoint: "local".into(),
                account: None,
                dialect: SCRIPTED.into(),
                model: SCRIPTED.into(),
            },
            profile: Profile {
                window_tokens: 32_000,
                output_cap_tokens: 4_096,
                factor_percent: 100,
                tools: ToolSupport::SideBySide,
                thinking: ThinkingSupport::Effort { can_be_off: true },
                ..Profile::unknown()
            },
            unusable: None,
        }
    }
}

impl Provider for Scripted {
    fn invoke(&self, request: Request) -> DeltaStream {
        let shared = Arc::clone(&self.0);
        play(move || shared.answer(&request))
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> Vec<Move> {
        let cue = Cue::of(&self.script, &request.context);
        let actions = match &self.place {
            Place::InOrder(next) => self.script.at(next.fetch_add(1, Ordering::Relaxed)),
            Place::ByRequest(asked) => cue.answer(&self.script).and_then(|answer| {
                let before = if answer.tries.len() > 1 { count(asked, request) } else { 0 };
                let last = answer.tries.len().saturating_sub(1);
                answer.tries.get(before.min(last)).map(Vec::as_slice)
            }),
        };
        let mut speech = Speech::to(request);
        match actions {
            Some(actions) => perform::perform(actions, &cue, &mut speech),
            None => speech.fail(self.nothing_left(&cue)),
        }
        speech.into_moves()
    }

    fn nothing_left(&self, cue: &Cue<'_>) -> ProviderError {
        let message = match self.place {
            Place::InOrder(_) => "the script is at its end; add a turn".to_owned(),
            Place::ByRequest(_) => format!(
                "the script has no answer {} for input {}; add one, or a turn that is marked else",
                cue.step, cue.turn
            ),
        };
        ProviderError {
            provider: SCRIPTED.into(),
            kind: FailureKind::Refused,
            retry_after_ms: None,
            limit_tokens: None,
            message,
            metadata: Metadata::new(),
            source: None,
        }
    }
}

/// How often a request was asked before; this time counts from now on.
fn count(asked: &Mutex<BTreeMap<Digest, usize>>, request: &Request) -> usize {
    let digest = Digest::of(render::canonical(request).as_bytes());
    // A count is whole at any time, so that a poisoned lock still guards good data.
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let times = asked.entry(digest).or_default();
    let before = *times;
    *times = before.saturating_add(1);
    before
}
