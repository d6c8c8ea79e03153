//! Deltas: an answer as it comes, in a form that all providers share.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::ProviderError;
use crate::history::fact::{Digest, Money, Opaque, Stop, Usage};
use crate::history::metadata::Metadata;
use crate::id::Seq;

/// An answer as it comes. Dropping it stops the invocation.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;

/// One step of an answer.
///
/// # Order
///
/// ```text
/// Prepared  Started  ( Begin  (Fragment | State)*  End?  |  Usage  |  Cost )*  Finished
/// ```
///
/// - `Prepared` comes before anything is sent: whoever asks records the invocation before it
///   polls again, so that no request leaves without a trace.
/// - Blocks are numbered from 0 without gaps in the order in which they begin, which is their
///   order in the output. Several may be open at once, and their fragments may be mixed.
/// - A block that was cut is never ended. A call that is not ended by `Finished` is incomplete,
///   however whole its arguments look.
/// - `Finished` comes once, after the protocol's own sign of the end, and nothing follows it.
/// - An error may come at any point, and nothing follows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The request is made and not yet sent.
    Prepared(Prepared),
    /// The provider took the request; with what it told about it, such as its request id.
    Started(Metadata),
    /// A block begins.
    Begin {
        /// Its place in the output.
        block: BlockIndex,
        /// What it is.
        kind: BlockKind,
    },
    /// A piece of an open block's text; of a call, a piece of its raw arguments.
    Fragment {
        /// The block.
        block: BlockIndex,
        /// The piece.
        text: Arc<str>,
    },
    /// An open block's opaque state, whole; a later one replaces it.
    State {
        /// The block.
        block: BlockIndex,
        /// The state.
        state: Opaque,
    },
    /// A block is complete.
    End {
        /// The block.
        block: BlockIndex,
    },
    /// What the invocation has taken so far; a later one replaces it.
    Usage(Usage),
    /// What the provider itself says it cost; a later one replaces it.
    Cost(Money),
    /// The model stopped: the terminal evidence.
    Finished {
        /// Why it stopped.
        stop: Stop,
        /// What the provider told at the end.
        metadata: Metadata,
    },
}

impl Delta {
    /// Whether no delta may follow.
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Finished { .. } => true,
            Self::Prepared(_)
            | Self::Started(_)
            | Self::Begin { .. }
            | Self::Fragment { .. }
            | Self::State { .. }
            | Self::End { .. }
            | Self::Usage(_)
            | Self::Cost(_) => false,
        }
    }
}

/// A block's place in its output, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockIndex(pub u32);

/// What a block is, as far as it is known when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The model thinks.
    Thinking,
    /// The model speaks.
    Text,
    /// The model calls a tool. A call begins when its whole name is known.
    ToolCall {
        /// The tool's name as the catalogue has it: what an encoder renamed is named back.
        name: Arc<str>,
        /// The provider's id of the call, if it gave one.
        provider_id: Option<Arc<str>>,
    },
    /// Something that only the provider understands. Its fragments are what others can read of
    /// it, its state is all of it.
    Foreign {
        /// The provider's name for it.
        kind: Arc<str>,
    },
}

/// A request that is made and not yet sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Digest of the bytes that will be sent.
    pub body_digest: Digest,
    /// The version of the encoder that made them.
    pub encoder_version: u32,
    /// What had to be mended to make a valid request.
    pub repairs: Vec<Repair>,
}

/// Something that was mended in a request. The history is not touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The entry it is about, if it is about one.
    pub entry: Option<Seq>,
    /// What was done, for people.
    pub what: Arc<str>,
}
