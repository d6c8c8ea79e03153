//! Dialects: the vendors' protocols. A request becomes a body, a stream of events becomes deltas.
//!
//! Each dialect has three files: `wire` (the vendor's JSON), `encode` (pure) and `decode` (a small
//! state machine, pure). What they share is decided before them: `carry` makes of
//! any context a conversation that every protocol can say.

pub(crate) mod anthropic;
pub(crate) mod blocks;
pub(crate) mod gemini;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;

use threadline_core::provider::{Delta, Repair, Request};

use crate::failed::Failed;
use crate::names::Names;
use crate::quirks::Quirks;
use crate::surrogates::Joiner;

/// A vendor's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI's Chat Completions, which many servers speak.
    OpenAiChat,
    /// OpenAI's Responses, without state on their side.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's generateContent.
    Gemini,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// Its name in invocations, in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The dialect of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

/// A request as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The body: JSON.
    pub body: Vec<u8>,
    /// Headers that this body needs, beside those of its endpoint.
    pub headers: Vec<(&'static str, String)>,
    /// The names of tools, there and back.
    pub names: Names,
    /// What had to be mended to make a valid request.
    pub repairs: Vec<Repair>,
}

/// Reads the events of one answer. Pure: no clock, no I/O.
pub trait Decode: Send {
    /// Takes one event's data in, without its framing, and adds what it means. An error ends the
    /// answer. What comes after [`Delta::Finished`] is not to be given.
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed>;

    /// The stream ended: adds [`Delta::Finished`] if the protocol's own sign of the end had come
    /// and more might have followed it; an error if it had not.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed>;
}

/// A decoder of the answer to a request in this dialect that named its tools so.
pub fn decoder(dialect: Dialect, names: Names) -> Box<dyn Decode> {
    match dialect {
        Dialect::OpenAiChat => Box::new(Joiner::new(openai_chat::decode::ChatDecode::new(names))),
        Dialect::OpenAiResponses => {
            Box::new(Joiner::new(openai_responses::decode::ResponsesDecode::new(names)))
        }
        Dialect::Anthropic => Box::new(Joiner::new(anthropic::decode::AnthropicDecode::new(names))),
        Dialect::Gemini => Box::new(Joiner::new(gemini::decode::GeminiDecode::new(names))),
    }
}

/// The body for a request in this dialect. Pure: equal requests become equal bytes.
pub fn encode(dialect: Dialect, request: &Request, quirks: &Quirks) -> Encoded {
    match dialect {
        Dialect::OpenAiChat => openai_chat::encode::encode(request, quirks),
        Dialect::OpenAiResponses => openai_responses::encode::encode(request, quirks),
        Dialect::Anthropic => anthropic::encode::encode(request, quirks),
        Dialect::Gemini => gemini::encode::encode(request, quirks),
    }
}

/// The version of a dialect's encoder: another one writes other bytes for the same request.
pub const fn encoder_version(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::OpenAiChat => openai_chat::ENCODER_VERSION,
        Dialect::OpenAiResponses => openai_responses::ENCODER_VERSION,
        Dialect::Anthropic => anthropic::encode::ENCODER_VERSION,
        Dialect::Gemini => gemini::encode::ENCODER_VERSION,
    }
}
