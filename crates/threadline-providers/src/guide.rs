//! The built-in offline model: small, deterministic, and honest about both.
//!
//! It goes by fixed rules. What it is asked is read as a few kinds of wishes, its tools do the
//! work, and what came of it is told in plain sentences. It makes calls for new inputs only:
//! results are told, and followed by no more calls than were asked to be made after a wait, so that
//! a turn always ends.

mod board;
mod notebook;
mod reply;
mod scene;
mod screen;
mod sum;
#[cfg(test)]
mod tests;
mod told;
mod wish;

use std::sync::Arc;

use threadline_core::history::fact::{Invocation, Money, Stop, Usage};
use threadline_core::provider::{
    Delta, DeltaStream, Price, Profile, Provider, Request, Target, ThinkingSupport, ToolSupport,
};
use threadline_core::tokens::{Estimator, TokenCounter as _};

use crate::play::{Move, play};
use crate::render;
use crate::speech::{Speech, Voice};
use reply::Reply;

/// The name under which the guide is asked.
pub const GUIDE: &str = "guide";

/// How a real model is connected, as things are.
const CONNECT: &str = "To talk with a real model, set its key, such as ANTHROPIC_API_KEY or \
                       OPENAI_API_KEY, or start a server of your own, such as Ollama; \
                       `threadline models` then lists what can be asked.";

/// The built-in offline model.
///
/// # Example
///
/// ```
/// use threadline_providers::guide::Guide;
///
/// let quick = Guide::default();
/// let readable = Guide { pause_ms: 15, ..Guide::default() };
/// # drop((quick, readable));
/// ```
#[derive(Clone, Debug)]
pub struct Guide {
    /// How long it takes over each word, for those who watch. 0 needs no timer.
    pub pause_ms: u64,
    /// What it tells people who want a real model: whoever composes a program knows.
    pub connect: Arc<str>,
}

impl Default for Guide {
    fn default() -> Self {
        Self { pause_ms: 0, connect: CONNECT.into() }
    }
}

impl Guide {
    /// How it is chosen, and what it can do. It costs nothing.
    pub fn target() -> Target {
        let free = Price {
            from_input_tokens: 0,
            input: Money(0),
            output: Money(0),
            cached_input: None,
            cache_write: None,
        };
        Target {
            name: GUIDE.into(),
            invocation: Invocation {
                provider: GUIDE.into(),
                endpoint: "built-in".into(),
                account: None,
                dialect: GUIDE.into(),
                model: GUIDE.into(),
            },
            profile: Profile {
                window_tokens: 32_000,
                output_cap_tokens: 4_096,
                factor_percent: 100,
                tools: ToolSupport::SideBySide,
                thinking: ThinkingSupport::Effort { can_be_off: true },
                prices: vec![free],
                ..Profile::unknown()
            },
            unusable: None,
        }
    }
}

impl Provider for Guide {
    fn invoke(&self, request: Request) -> DeltaStream {
        let guide = self.clone();
        play(move || guide.answer(&request))
    }
}

impl Guide {
    fn answer(&self, request: &Request) -> Vec<Move> {
        let reply = Reply::to(request, &self.connect);
        let mut speech = Speech::to(request);
        self.speak(&mut speech, Voice::Thinking, &reply.thought);
        self.speak(&mut speech, Voice::Text, &reply.text);
        for call in &reply.calls {
            speech.call(call.tool.into(), None, &call.arguments, true);
        }
        speech.end_block();
        speech.give(Delta::Usage(usage(request, &reply)));
        speech.stop(Stop::Done);
        speech.into_moves()
    }

    /// Says a text word by word.
    fn speak(&self, speech: &mut Speech, voice: Voice, text: &str) {
        for word in text.split_inclusive(char::is_whitespace) {
            speech.wait(self.pause_ms);
            speech.say(voice, word);
        }
    }
}

/// What it took, estimated as for any model.
fn usage(request: &Request, reply: &Reply) -> Usage {
    let count = |text: &str| u64::from(Estimator.count(text));
    let thought = count(&reply.thought);
    let calls = reply.calls.iter().map(|call| count(call.tool) + count(&call.arguments));
    Usage {
        input: count(&render::canonical(request)),
        output: thought + count(&reply.text) + calls.sum::<u64>(),
        reasoning: Some(thought),
        estimated: false,
        ..Usage::default()
    }
}
