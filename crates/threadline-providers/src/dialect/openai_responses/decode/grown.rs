//! A text that grows by pieces, and is told whole at its end.

use threadline_core::provider::{BlockIndex, Delta};

use crate::dialect::blocks::Blocks;

/// A part of an item's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of what is said or declined.
    Content(u64),
    /// Of a summary of reasoning.
    Summary(u64),
}

/// The text of one block. It is kept so that what was never sent in pieces can be told apart.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) block: BlockIndex,
    /// What stands between two parts.
    between: &'static str,
    text: String,
    /// The parts so far; the last one grows.
    parts: Vec<Part>,
    /// Where the last part begins.
    from: usize,
}

impl Grown {
    pub(super) const fn new(block: BlockIndex, between: &'static str) -> Self {
        Self { block, between, text: String::new(), parts: Vec::new(), from: 0 }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A piece came.
    pub(super) fn piece(
        &mut self,
        part: Part,
        piece: &str,
        blocks: &mut Blocks,
        out: &mut Vec<Delta>,
    ) {
        if piece.is_empty() {
            return;
        }
        if self.parts.last() != Some(&part) {
            self.parts.push(part);
            if !self.text.is_empty() {
                self.text.push_str(self.between);
                blocks.fragment(self.block, self.between, out);
            }
            self.from = self.text.len();
        }
        self.text.push_str(piece);
        blocks.fragment(self.block, piece, out);
    }

    /// A part is told whole: what is missing of it is added, if it goes on from what had come.
    pub(super) fn whole_part(
        &mut self,
        part: Part,
        whole: &str,
        blocks: &mut Blocks,
        out: &mut Vec<Delta>,
    ) {
        if self.parts.last() == Some(&part) {
            let so_far = self.text.get(self.from..).unwrap_or_default();
            if let Some(rest) = whole.strip_prefix(so_far) {
                self.push(rest, blocks, out);
            }
        } else if !self.parts.contains(&part) {
            self.piece(part, whole, blocks, out);
        }
    }

    /// All parts are told whole.
    pub(super) fn whole(&mut self, parts: &[&str], blocks: &mut Blocks, out: &mut Vec<Delta>) {
        let whole = parts.join(self.between);
        if let Some(rest) = whole.strip_prefix(self.text.as_str()) {
            self.push(rest, blocks, out);
        }
    }

    fn push(&mut self, rest: &str, blocks: &mut Blocks, out: &mut Vec<Delta>) {
        self.text.push_str(rest);
        blocks.fragment(self.block, rest, out);
    }
}
