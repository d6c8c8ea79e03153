//! What every dialect must do: one suite that all of them pass unchanged.
//!
//! A dialect is put under test by a [`Voice`] that says the [`STORIES`] in its own events. What
//! comes of a story is the same in all of them. What a protocol cannot say is a [`Skip`], and
//! whoever runs the suite names all of them, so that none is added unseen.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a case is a test: it fails by panicking")]

mod answers;
mod requests;
mod stories;

use threadline_core::history::fact::{FailureKind, Invocation, Stop, Usage};
use threadline_core::provider::{Delta, Request};

pub use self::answers::answers;
pub use self::requests::requests;
pub use self::stories::{Come, STORIES, Story};

/// A dialect under test.
pub trait Voice: Sync {
    /// Who is asked in it.
    fn invocation(&self) -> Invocation;

    /// The events of a story, each without its framing; or why the protocol cannot say it.
    fn tell(&self, story: &[Beat]) -> Result<Vec<String>, &'static str>;

    /// Reads a stream of server-sent events that comes in these chunks.
    fn read(&self, chunks: &[&[u8]]) -> Heard;

    /// Whether a block that nobody has heard of goes back whole; or why it does not.
    fn takes_unknown_back(&self) -> Result<(), &'static str>;

    /// The body of a request. Thinking goes back to where it came from, if it can at all.
    fn encode(&self, request: &Request) -> Vec<u8>;
}

/// What came of a stream: all deltas of its answer, and whether it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The deltas, without those about the request.
    pub deltas: Vec<Delta>,
    /// What the caller can do about a failure.
    pub failed: Option<FailureKind>,
}

/// One step of a story. Blocks are numbered from 0 in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// A block begins.
    Begin(usize, Kind),
    /// A piece of an open block's text; of a call, of its arguments.
    Piece(usize, &'static str),
    /// An open thought's state: letters and digits.
    State(usize, &'static str),
    /// A block is whole.
    End(usize),
    /// An event that nobody has heard of.
    Unknown,
    /// The provider is overloaded in mid-answer.
    Overloaded,
    /// The model stopped, and told what it took: all that a stream says at its end.
    Stop(Stop, Usage),
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thought.
    Thinking,
    /// A text.
    Text,
    /// A call.
    Call {
        /// The provider's id of it.
        id: &'static str,
        /// The tool.
        name: &'static str,
    },
    /// A block of a kind that nobody has heard of, whole; it holds a word.
    Unknown {
        /// The provider's name for it.
        kind: &'static str,
        /// The word in it.
        word: &'static str,
    },
}

/// A story that a dialect cannot say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// The dialect.
    pub dialect: String,
    /// The story.
    pub story: &'static str,
    /// Why it cannot.
    pub why: &'static str,
}
