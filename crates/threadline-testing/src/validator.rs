//! The validator: the hard rules of the providers' request bodies, as data.
//!
//! It is written from what the services are known to refuse and knows nothing of the encoders, so
//! that the two can be held against each other. A rule looks at one whole body and says where it
//! is broken; [`check`] runs all rules of a dialect.
//!
//! ```
//! use threadline_testing::validator::{Server, WireDialect, check};
//!
//! let body = br#"{"model": "m", "messages": [{"role": "tool", "content": "lost"}]}"#;
//! let violations = check(WireDialect::OpenAiChat, &Server::default(), body);
//! assert!(violations.iter().any(|broken| broken.rule == "every-result-has-a-call"));
//! ```

mod anthropic;
mod common;
mod gemini;
mod media;
mod node;
mod openai_chat;
mod openai_responses;
mod pairing;
mod schema;
mod server;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use self::common::OBJECT;
use self::node::{Found, Node};
pub use self::server::{AnthropicVersion, Server};

/// A protocol whose request bodies have rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireDialect {
    /// Chat Completions of `OpenAI` and of all that speak like it.
    OpenAiChat,
    /// Responses of `OpenAI`.
    OpenAiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// generateContent of Gemini.
    Gemini,
}

impl WireDialect {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// The dialect of a name such as `openai-chat`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// A rule that a service holds every request body to.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, which does not change.
    pub name: &'static str,
    /// What it asks for, in one line.
    pub says: &'static str,
    check: fn(&Body<'_>) -> Vec<Found>,
}

/// A place where a body breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the rule.
    pub rule: &'static str,
    /// Where, such as `messages[3].content[0]`; empty for the body as a whole.
    pub path: String,
    /// What is there, in words.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the body" } else { &self.path };
        write!(f, "{path}: {} ({})", self.found, self.rule)
    }
}

/// What a rule looks at.
struct Body<'a> {
    root: Node<'a>,
    server: &'a Server,
    bytes: usize,
}

/// The rules of a dialect.
pub fn rules(dialect: WireDialect) -> &'static [Rule] {
    match dialect {
        WireDialect::OpenAiChat => openai_chat::RULES,
        WireDialect::OpenAiResponses => openai_responses::RULES,
        WireDialect::Anthropic => anthropic::RULES,
        WireDialect::Gemini => gemini::RULES,
    }
}

/// Every place where a request body breaks a rule of its dialect; none if the server takes it.
pub fn check(dialect: WireDialect, server: &Server, body: &[u8]) -> Vec<Violation> {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => {
            let found = Found { path: String::new(), found: error.to_string() };
            return vec![OBJECT.violation(found)];
        }
    };
    let body = Body { root: Node::root(&value), server, bytes: body.len() };
    if !value.is_object() {
        return OBJECT.violations(&body);
    }
    rules(dialect).iter().flat_map(|rule| rule.violations(&body)).collect()
}

impl Rule {
    fn violations(&self, body: &Body<'_>) -> Vec<Violation> {
        (self.check)(body).into_iter().map(|found| self.violation(found)).collect()
    }

    fn violation(&self, found: Found) -> Violation {
        Violation { rule: self.name, path: found.path, found: found.found }
    }
}
