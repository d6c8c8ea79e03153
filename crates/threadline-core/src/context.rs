//! The context: what one invocation sees, before any provider's protocol.
//!
//! A context is made by planning and rendering, and never stored: a past one is projected again.
//! Each of its parts knows the entry it came from, at which level it is shown and how many tokens
//! it takes, so that a person can ask why a model saw what it saw. An encoder turns it into a
//! provider's request and must make a valid one of any context.

pub mod compare;
mod digest;
mod media;
pub mod plan;
pub mod recap;
mod render;
mod words;

use std::sync::Arc;

pub use self::media::{MEDIA_CAP_BYTES, wanted_media};
pub use self::render::{Material, PROJECTION_VERSION, render};
use crate::history::fact::{Attachment, Block, Invocation, Status, Stop};
pub use crate::history::sections::Level;
use crate::id::{CallId, Seq};

/// What one invocation sees: a system message, and parts from the oldest to the newest.
///
/// Every call in an output is answered in the results right after it, once, in the order of the
/// calls; results never stand alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The system message.
    pub system: System,
    /// What follows it, in order.
    pub parts: Vec<Part>,
}

impl Context {
    /// The tokens of all parts and the system message, in our unit.
    pub fn tokens(&self) -> u64 {
        let parts = self.parts.iter().map(|part| u64::from(part.tokens));
        u64::from(self.system.tokens) + parts.sum::<u64>()
    }

    /// The attachments that it names, in order; one that is named twice is listed twice.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.parts.iter().flat_map(|part| {
            let (own, of_results): (&[Attachment], &[ResultPart]) = match &part.body {
                Body::Input(input) => (&input.attachments, &[]),
                Body::Output(_) => (&[], &[]),
                Body::Results(results) => (&[], &results.results),
            };
            own.iter().chain(of_results.iter().flat_map(|result| &result.attachments))
        })
    }
}

/// The system message: an agent's instruction, or our own words for a recap or a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The entry that set the instruction, if one did.
    pub entry: Option<Seq>,
    /// Its text; an empty one is left out of the request.
    pub text: Arc<str>,
    /// The tokens it takes.
    pub tokens: u32,
}

/// One part of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it came from.
    pub source: Source,
    /// At which level it is shown. Results have levels of their own; this is the highest of them.
    pub level: Level,
    /// The tokens it takes, its screen included.
    pub tokens: u32,
    /// What it says.
    pub body: Body,
}

impl Part {
    /// Whether someone said it to the agent: not so the folded past, the line that tells how a
    /// turn ended, and the quote of a pinned entry.
    pub fn is_message(&self) -> bool {
        match (&self.body, self.source) {
            (Body::Input(input), Source::Entry(seq)) => {
                self.level > Level::Gist && !input.text.starts_with(&render::quote_heading(seq))
            }
            (Body::Input(_), Source::Earlier { .. }) | (Body::Output(_) | Body::Results(_), _) => {
                false
            }
        }
    }

    /// The live screen that is attached to it.
    pub fn screen(&self) -> Option<&Screen> {
        match &self.body {
            Body::Input(input) => input.screen.as_ref(),
            Body::Output(_) => None,
            Body::Results(results) => results.screen.as_ref(),
        }
    }
}

/// What a part came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// One entry.
    Entry(Seq),
    /// Folded exchanges: gist lines, or a line that says how many there are.
    Earlier {
        /// The first entry it stands for.
        from: Seq,
        /// The last entry it stands for.
        to: Seq,
    },
}

/// What a part says, by who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Something is said to the model.
    Input(InputPart),
    /// A model answered.
    Output(OutputPart),
    /// The calls of the output right before it have their results.
    Results(ResultsPart),
}

/// Something that is said to the model: an input, the folded past, a recap, the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPart {
    /// Its sections as one text, at the part's level.
    pub text: Arc<str>,
    /// What was sent along, by digest; a request carries the bytes beside the context.
    pub attachments: Vec<Attachment>,
    /// The live screen that is attached to it.
    pub screen: Option<Screen>,
}

/// What a model answered. Outputs are whole or folded, never shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// Which model answered, asked how: opaque state goes back only there.
    pub invocation: Invocation,
    /// What it said, in order. Thinking may be left out, calls never are: the n-th call here has
    /// index n in its call id.
    pub blocks: Vec<Block>,
    /// Why it stopped: what was refused or filtered is not shown to a model again.
    pub stop: Stop,
}

/// The results of an output's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsPart {
    /// The results, in the order of the calls.
    pub results: Vec<ResultPart>,
    /// The live screen that is attached to them.
    pub screen: Option<Screen>,
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultPart {
    /// The call it answers.
    pub call: CallId,
    /// The tool's name.
    pub name: Arc<str>,
    /// The entry that finished the call.
    pub entry: Seq,
    /// How the call ended.
    pub status: Status,
    /// Its sections as one text, at its level.
    pub text: Arc<str>,
    /// What the tool gave along, by digest.
    pub attachments: Vec<Attachment>,
    /// At which level it is shown.
    pub level: Level,
    /// The tokens it takes.
    pub tokens: u32,
}

/// A live screen as it was attached to an input or to results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its text, heading included.
    pub text: Arc<str>,
    /// The tokens it takes.
    pub tokens: u32,
}
