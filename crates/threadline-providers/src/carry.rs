//! Carrying: any context becomes a conversation that every protocol can say.
//!
//! What holds for all protocols is decided here, once: which thinking may go where, which ids and
//! names calls have, what a missing result says, where media go, what is dropped because a model
//! must not see it again. An encoder only writes down what it finds.

mod arguments;
mod attached;
mod ids;
mod make;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::id::Seq;
use threadline_core::provider::Repair;
use threadline_core::tool::ToolSpec;

pub(crate) use self::arguments::arguments_text;
pub(crate) use self::make::carry;
use crate::names::Names;

/// A conversation that every protocol can say.
///
/// # Rules
///
/// - The first turn is a user's. No two turns of a user, and no two of a model, stand side by
///   side; results stand right after the calls that they answer, and a user's turn may follow them.
/// - The last turn is a user's or results, unless [`Carried::goes_on`].
/// - Every call has one result, in the order of the calls; every result has its call. Ids are
///   unique and names are those of the wire.
/// - No text is empty or blank, but for a model's own that has a state; no turn is without
///   content.
#[derive(Clone, Debug)]
pub(crate) struct Carried<'a> {
    /// The system message; empty if there is none.
    pub(crate) system: &'a str,
    /// What was said, from the oldest to the newest.
    pub(crate) turns: Vec<Turn<'a>>,
    /// Whether the last turn is a model's own that it asked to go on with.
    pub(crate) goes_on: bool,
    /// The tools that it is shown: none if it calls none.
    pub(crate) tools: &'a [Arc<ToolSpec>],
    /// The names of tools: those of the catalogue and those of earlier calls.
    pub(crate) names: Names,
    /// What was mended.
    pub(crate) repairs: Vec<Repair>,
}

/// What one side says at a time.
#[derive(Clone, Debug)]
pub(crate) enum Turn<'a> {
    /// Said to the model.
    User(Vec<Piece<'a>>),
    /// Said by a model.
    Model(ModelTurn<'a>),
    /// The results of the calls right before.
    Results(Vec<Result<'a>>),
}

/// A piece of what is said to a model.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// An image, a document or the like, that the model takes.
    Media(Media<'a>),
    /// A live screen: what comes before it stays the same in the next request, it may not.
    Screen(&'a str),
}

/// Bytes that a model takes.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "a media type is called so everywhere")]
pub(crate) struct Media<'a> {
    /// Their media type.
    pub(crate) media_type: &'a str,
    /// The file's name, if it had one.
    pub(crate) name: Option<&'a str>,
    /// The bytes.
    pub(crate) bytes: &'a [u8],
}

/// What a model said.
#[derive(Clone, Debug)]
pub(crate) struct ModelTurn<'a> {
    /// The entry it came from.
    pub(crate) entry: Seq,
    /// Whether it was the very model that is asked now, at the same place: only then are there
    /// thinking, states and foreign blocks, and then in the order in which they came.
    pub(crate) own: bool,
    /// Whether it is part of the agent's current turn.
    pub(crate) current: bool,
    /// What it said. Of another model, texts come before calls.
    pub(crate) blocks: Vec<Said<'a>>,
}

/// One block of what a model said.
#[derive(Clone, Debug)]
pub(crate) enum Said<'a> {
    /// It thought.
    Thinking {
        /// The thought, which may be empty.
        text: &'a str,
        /// Its state.
        state: Option<&'a str>,
    },
    /// It spoke.
    Text {
        /// The text.
        text: Cow<'a, str>,
        /// Its state.
        state: Option<&'a str>,
    },
    /// It called a tool.
    Call(Call<'a>),
    /// What only the provider understands, whole.
    Foreign {
        /// The provider's name for it.
        kind: &'a str,
        /// All of it.
        state: &'a str,
    },
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    /// Its id on the wire.
    pub(crate) id: String,
    /// The tool's name on the wire.
    pub(crate) name: String,
    /// The arguments: the text of a JSON object, always.
    pub(crate) arguments: Cow<'a, RawValue>,
    /// Its state.
    pub(crate) state: Option<&'a str>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(crate) struct Result<'a> {
    /// The call's id on the wire.
    pub(crate) id: String,
    /// The tool's name on the wire.
    pub(crate) name: String,
    /// Whether it tells that something went wrong.
    pub(crate) failed: bool,
    /// What came of it; may be empty.
    pub(crate) text: Cow<'a, str>,
    /// Media that may stand in the result itself; the others follow in a user's turn.
    pub(crate) media: Vec<Media<'a>>,
}
