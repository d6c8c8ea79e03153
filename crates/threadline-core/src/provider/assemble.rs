//! The assembler: deltas become the blocks of an output, or what had streamed when it broke off.

use std::sync::Arc;

use super::{BlockIndex, BlockKind, Delta};
use crate::history::fact::{
    Block, FailureKind, Foreign, Money, Opaque, Stop, Text, ThinkingBlock, ToolCall, Usage,
};
use crate::history::metadata::Metadata;
use crate::history::record::BODY_CAP_BYTES;

/// The most that an answer's blocks may take, written as JSON: an entry's cap, less room for what
/// an output or a failure carries beside them.
pub const ANSWER_CAP_BYTES: usize = BODY_CAP_BYTES - 64 * 1024;

/// What a block takes as JSON beside its texts: keys, braces, a flag or two.
const BLOCK_BYTES: usize = 128;

/// Puts an answer together as it comes.
///
/// It is total: any sequence of deltas leads to an answer or to a [`Broken`] that names the rule
/// of [`Delta`] that was broken. What it has taken in until then is never lost.
///
/// # Example
///
/// ```
/// use threadline_core::history::fact::{Digest, Stop};
/// use threadline_core::history::metadata::Metadata;
/// use threadline_core::provider::{
///     Assembler, BlockIndex, BlockKind, Broken, Delta, Prepared, Progress,
/// };
///
/// let prepared =
///     Prepared { body_digest: Digest::of(b"hi"), encoder_version: 1, repairs: Vec::new() };
/// let block = BlockIndex(0);
/// let mut assembler = Assembler::default();
/// for delta in [
///     Delta::Prepared(prepared),
///     Delta::Started(Metadata::new()),
///     Delta::Begin { block, kind: BlockKind::Text },
///     Delta::Fragment { block, text: "hel".into() },
///     Delta::Fragment { block, text: "lo".into() },
/// ] {
///     assert_eq!(assembler.push(&delta)?, Progress::More);
/// }
/// assert_eq!(assembler.partial().streamed.len(), 1);
/// let end = Delta::Finished { stop: Stop::Done, metadata: Metadata::new() };
/// assert_eq!(assembler.push(&end)?, Progress::Finished);
/// assert_eq!(assembler.finish().unwrap().stop, Stop::Done);
/// # Ok::<(), Broken>(())
/// ```
#[derive(Clone, Debug)]
pub struct Assembler {
    limit_bytes: usize,
    taken_bytes: usize,
    phase: Phase,
    blocks: Vec<Growing>,
    usage: Option<Usage>,
    cost: Option<Money>,
    metadata: Metadata,
}

/// Whether an answer is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to come.
    More,
    /// It is whole, and nothing may follow.
    Finished,
}

/// An answer that came to its end: what an output carries of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// What was said, in order. A call that was not ended is incomplete.
    pub blocks: Vec<Block>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What it took, as far as it was told.
    pub usage: Usage,
    /// What that cost, if the provider said so.
    pub cost: Option<Money>,
    /// What the provider told along.
    pub metadata: Metadata,
}

/// An answer that did not come to its end: what a failed invocation carries of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// What had streamed, in order. A call that was not ended is incomplete.
    pub streamed: Vec<Block>,
    /// What it had taken, if that was told.
    pub usage: Option<Usage>,
    /// What that cost, if the provider said so.
    pub cost: Option<Money>,
    /// What the provider had told along.
    pub metadata: Metadata,
}

/// A stream of deltas broke a rule: which one. Ask again, or another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Something came before the request was prepared.
    #[error("the stream does not begin with a prepared request")]
    NotPrepared,
    /// The request was prepared a second time.
    #[error("the request was prepared twice")]
    PreparedTwice,
    /// Something came before the provider took the request.
    #[error("the answer began before the request was taken")]
    NotStarted,
    /// The provider took the request a second time.
    #[error("the request was taken twice")]
    StartedTwice,
    /// A block does not have the next number.
    #[error("block {next} comes next, not block {begun}")]
    OutOfOrder {
        /// The number that comes next.
        next: u32,
        /// The number that it has.
        begun: u32,
    },
    /// A block has not begun or has ended.
    #[error("block {block} is not open")]
    NotOpen {
        /// The block.
        block: u32,
    },
    /// Something came after the end.
    #[error("the stream went on after its end")]
    AfterEnd,
    /// The answer does not fit an entry.
    #[error("answer larger than {limit_bytes} bytes")]
    TooLarge {
        /// The most it may take.
        limit_bytes: usize,
    },
}

impl Broken {
    /// What the caller can do about it.
    pub const fn kind(self) -> FailureKind {
        FailureKind::Protocol
    }
}

/// How far the stream is.
#[derive(Clone, Debug)]
enum Phase {
    New,
    Prepared,
    Started,
    Finished(Stop),
    Broken(Broken),
}

/// A block that may still grow.
#[derive(Clone, Debug)]
struct Growing {
    kind: BlockKind,
    text: String,
    state: Option<Opaque>,
    ended: bool,
}

impl Default for Assembler {
    fn default() -> Self {
        Self::new(ANSWER_CAP_BYTES)
    }
}

impl Assembler {
    /// One that has taken in nothing yet. The limit is on the blocks, written as JSON.
    pub const fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            taken_bytes: 0,
            phase: Phase::New,
            blocks: Vec::new(),
            usage: None,
            cost: None,
            metadata: Metadata::new(),
        }
    }

    /// Takes in one delta. Once a rule is broken, it stays broken and nothing more is taken in.
    pub fn push(&mut self, delta: &Delta) -> Result<Progress, Broken> {
        let taken = self.take(delta);
        if let Err(broken) = taken {
            self.phase = Phase::Broken(broken);
        }
        taken
    }

    /// The answer if it came to its end, else what had streamed.
    #[expect(clippy::result_large_err, reason = "made once an answer, and no larger than one")]
    pub fn finish(self) -> Result<Assembled, Partial> {
        match self.phase {
            Phase::Finished(stop) => Ok(Assembled {
                blocks: blocks(self.blocks),
                stop,
                usage: self.usage.unwrap_or_default(),
                cost: self.cost,
                metadata: self.metadata,
            }),
            Phase::New | Phase::Prepared | Phase::Started | Phase::Broken(_) => Err(Partial {
                streamed: blocks(self.blocks),
                usage: self.usage,
                cost: self.cost,
                metadata: self.metadata,
            }),
        }
    }

    /// What has streamed so far.
    pub fn partial(&self) -> Partial {
        Partial {
            streamed: blocks(self.blocks.iter().cloned()),
            usage: self.usage,
            cost: self.cost,
            metadata: self.metadata.clone(),
        }
    }

    fn take(&mut self, delta: &Delta) -> Result<Progress, Broken> {
        self.check_order(delta)?;
        match delta {
            Delta::Prepared(_) => self.phase = Phase::Prepared,
            Delta::Started(metadata) => {
                self.metadata = metadata.clone();
                self.phase = Phase::Started;
            }
            Delta::Begin { block, kind } => self.begin(*block, kind)?,
            Delta::Fragment { block, text } => {
                self.open(*block)?;
                self.grow(json_bytes(text))?;
                self.open(*block)?.text.push_str(text);
            }
            Delta::State { block, state } => self.set_state(*block, state)?,
            Delta::End { block } => self.open(*block)?.ended = true,
            Delta::Usage(usage) => self.usage = Some(*usage),
            Delta::Cost(cost) => self.cost = Some(*cost),
            Delta::Finished { stop, metadata } => {
                self.metadata = self.metadata.joined(metadata);
                self.phase = Phase::Finished(*stop);
                return Ok(Progress::Finished);
            }
        }
        Ok(Progress::More)
    }

    /// Which deltas may come, by how far the stream is.
    fn check_order(&self, delta: &Delta) -> Result<(), Broken> {
        match (&self.phase, delta) {
            (Phase::Broken(broken), _) => Err(*broken),
            (Phase::Finished(_), _) => Err(Broken::AfterEnd),
            (Phase::New, Delta::Prepared(_)) | (Phase::Prepared, Delta::Started(_)) => Ok(()),
            (Phase::New, _) => Err(Broken::NotPrepared),
            (Phase::Prepared | Phase::Started, Delta::Prepared(_)) => Err(Broken::PreparedTwice),
            (Phase::Prepared, _) => Err(Broken::NotStarted),
            (Phase::Started, Delta::Started(_)) => Err(Broken::StartedTwice),
            (Phase::Started, _) => Ok(()),
        }
    }

    fn begin(&mut self, block: BlockIndex, kind: &BlockKind) -> Result<(), Broken> {
        let next = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        if block.0 != next {
            return Err(Broken::OutOfOrder { next, begun: block.0 });
        }
        let named = match kind {
            BlockKind::Thinking | BlockKind::Text => 0,
            BlockKind::ToolCall { name, provider_id } => {
                json_bytes(name) + provider_id.as_ref().map_or(0, |id| json_bytes(id))
            }
            BlockKind::Foreign { kind } => json_bytes(kind),
        };
        self.grow(BLOCK_BYTES + named)?;
        let kind = kind.clone();
        self.blocks.push(Growing { kind, text: String::new(), state: None, ended: false });
        Ok(())
    }

    /// The state replaces the one before it, which no longer counts.
    fn set_state(&mut self, block: BlockIndex, state: &Opaque) -> Result<(), Broken> {
        let replaced = self.open(block)?.state.as_ref().map_or(0, |state| json_bytes(state));
        self.taken_bytes = self.taken_bytes.saturating_sub(replaced);
        if let Err(broken) = self.grow(json_bytes(state)) {
            self.taken_bytes = self.taken_bytes.saturating_add(replaced);
            return Err(broken);
        }
        self.open(block)?.state = Some(Arc::clone(state));
        Ok(())
    }

    fn open(&mut self, block: BlockIndex) -> Result<&mut Growing, Broken> {
        usize::try_from(block.0)
            .ok()
            .and_then(|place| self.blocks.get_mut(place))
            .filter(|growing| !growing.ended)
            .ok_or(Broken::NotOpen { block: block.0 })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Broken> {
        let taken = self.taken_bytes.saturating_add(bytes);
        if taken > self.limit_bytes {
            return Err(Broken::TooLarge { limit_bytes: self.limit_bytes });
        }
        self.taken_bytes = taken;
        Ok(())
    }
}

/// The blocks as an output has them, but for those that say nothing at all.
fn blocks(grown: impl IntoIterator<Item = Growing>) -> Vec<Block> {
    grown.into_iter().filter_map(Growing::into_block).collect()
}

impl Growing {
    /// None of a text or a thought with neither words nor state.
    fn into_block(self) -> Option<Block> {
        let Self { kind, text, state, ended } = self;
        let says_nothing = text.is_empty() && state.is_none();
        match kind {
            BlockKind::Thinking | BlockKind::Text if says_nothing => None,
            BlockKind::Thinking => {
                Some(Block::Thinking(ThinkingBlock { text: text.into(), state }))
            }
            BlockKind::Text => Some(Block::Text(Text { text: text.into(), state })),
            BlockKind::ToolCall { name, provider_id } => Some(Block::ToolCall(ToolCall {
                name,
                arguments: text.into(),
                repaired: None,
                provider_id,
                complete: ended,
                state,
            })),
            BlockKind::Foreign { kind } => Some(Block::Foreign(Foreign {
                kind,
                text: text.into(),
                state: state.unwrap_or_default(),
            })),
        }
    }
}

/// The bytes of a text written as JSON, without its quotation marks.
fn json_bytes(text: &str) -> usize {
    text.bytes().map(json_byte).fold(0, usize::saturating_add)
}

const fn json_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
