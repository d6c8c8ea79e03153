//! The blocks of an answer as it is decoded: numbered without gaps, ended by the rules.

use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::history::fact::Stop;
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

/// The blocks of one answer.
///
/// A call ends only with the answer: many protocols close a call that the output limit cut as if
/// it were whole. So its arguments are kept, and one that was cut is never ended.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: Vec<Open>,
    next: u32,
}

#[derive(Debug)]
struct Open {
    block: BlockIndex,
    /// The arguments so far, of a call.
    arguments: Option<String>,
    /// Whether the provider itself said that it is not whole.
    cut: bool,
}

impl Blocks {
    /// Begins a block.
    pub(crate) fn begin(&mut self, kind: BlockKind, out: &mut Vec<Delta>) -> BlockIndex {
        let block = BlockIndex(self.next);
        self.next += 1;
        let is_call = matches!(kind, BlockKind::ToolCall { .. });
        self.open.push(Open { block, arguments: is_call.then(String::new), cut: false });
        out.push(Delta::Begin { block, kind });
        block
    }

    /// Adds a piece to an open block; nothing if it is empty.
    pub(crate) fn fragment(&mut self, block: BlockIndex, text: &str, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let open = self.open.iter_mut().rev().find(|open| open.block == block);
        if let Some(arguments) = open.and_then(|open| open.arguments.as_mut()) {
            arguments.push_str(text);
        }
        out.push(Delta::Fragment { block, text: text.into() });
    }

    /// Gives an open block its opaque state.
    #[expect(clippy::unused_self, reason = "only the blocks of an answer have states")]
    pub(crate) fn state(&self, block: BlockIndex, state: Arc<str>, out: &mut Vec<Delta>) {
        out.push(Delta::State { block, state });
    }

    /// Ends a block that is not a call; a call ends with the answer.
    pub(crate) fn end(&mut self, block: BlockIndex, out: &mut Vec<Delta>) {
        let place = self.open.iter().position(|open| open.block == block);
        let Some(place) = place.filter(|place| self.is_plain(*place)) else { return };
        self.open.remove(place);
        out.push(Delta::End { block });
    }

    /// The provider said that a call is not whole.
    pub(crate) fn cut(&mut self, block: BlockIndex) {
        if let Some(open) = self.open.iter_mut().find(|open| open.block == block) {
            open.cut = true;
        }
    }

    /// The arguments of an open call so far.
    pub(crate) fn arguments(&self, block: BlockIndex) -> Option<&str> {
        self.open.iter().find(|open| open.block == block)?.arguments.as_deref()
    }

    /// Ends the answer: every block that is whole, then the answer itself.
    ///
    /// With a stop by length, a call is whole only if its arguments are an object.
    pub(crate) fn finish(&mut self, stop: Stop, metadata: Metadata, out: &mut Vec<Delta>) {
        for open in self.open.drain(..) {
            let whole = match (&open.arguments, stop) {
                _ if open.cut => false,
                (Some(arguments), Stop::Length) => is_object(arguments),
                (None, Stop::Length) => false,
                (_, Stop::Done | Stop::Refusal | Stop::Blocked | Stop::Paused) => true,
            };
            if whole {
                out.push(Delta::End { block: open.block });
            }
        }
        out.push(Delta::Finished { stop, metadata });
    }

    fn is_plain(&self, place: usize) -> bool {
        self.open.get(place).is_some_and(|open| open.arguments.is_none())
    }
}

fn is_object(arguments: &str) -> bool {
    let raw = serde_json::from_str::<&RawValue>(arguments);
    raw.is_ok_and(|raw| raw.get().starts_with('{'))
}
