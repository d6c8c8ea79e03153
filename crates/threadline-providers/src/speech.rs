//! An answer being spoken: blocks begin and end in the order that deltas have to keep.

use std::sync::Arc;

use threadline_core::history::fact::{Digest, Opaque, Stop};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{BlockIndex, BlockKind, Delta, Prepared, ProviderError, Request};

use crate::play::Move;
use crate::render;

/// The moves of an answer so far.
#[derive(Debug)]
pub(crate) struct Speech {
    moves: Vec<Move>,
    begun: u32,
    open: Option<(BlockIndex, Voice)>,
}

/// Whether what is said is meant for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    Thinking,
    Text,
}

impl Speech {
    /// An answer to a request: it is prepared and taken, and nothing is said yet.
    pub(crate) fn to(request: &Request) -> Self {
        let prepared = Prepared {
            body_digest: Digest::of(render::canonical(request).as_bytes()),
            encoder_version: render::VERSION,
            repairs: Vec::new(),
        };
        let moves = vec![
            Move::Give(Delta::Prepared(prepared)),
            Move::Give(Delta::Started(Metadata::new())),
        ];
        Self { moves, begun: 0, open: None }
    }

    /// Says a piece. It belongs to the open block if that has the same voice.
    pub(crate) fn say(&mut self, voice: Voice, text: impl Into<Arc<str>>) {
        let block = self.voiced(voice);
        self.give(Delta::Fragment { block, text: text.into() });
    }

    /// Gives the open block a state. Without one a text of no words is begun.
    pub(crate) fn state(&mut self, state: Opaque) {
        let block = match self.open {
            Some((block, _)) => block,
            None => self.voiced(Voice::Text),
        };
        self.give(Delta::State { block, state });
    }

    /// Makes a call, its arguments in two pieces. One that is not complete is not ended.
    pub(crate) fn call(
        &mut self,
        name: Arc<str>,
        provider_id: Option<Arc<str>>,
        arguments: &str,
        complete: bool,
    ) {
        self.end_block();
        let block = self.begin(BlockKind::ToolCall { name, provider_id });
        let (head, tail) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
        for piece in [head, tail].into_iter().filter(|piece| !piece.is_empty()) {
            self.give(Delta::Fragment { block, text: piece.into() });
        }
        if complete {
            self.give(Delta::End { block });
        }
    }

    /// Ends the open block, if one is.
    pub(crate) fn end_block(&mut self) {
        if let Some((block, _)) = self.open.take() {
            self.give(Delta::End { block });
        }
    }

    /// Comes to its end. What the limit cuts is not ended.
    pub(crate) fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Length => self.open = None,
            Stop::Done | Stop::Refusal | Stop::Blocked | Stop::Paused => self.end_block(),
        }
        self.give(Delta::Finished { stop, metadata: Metadata::new() });
    }

    /// Gives a delta as it is.
    pub(crate) fn give(&mut self, delta: Delta) {
        self.moves.push(Move::Give(delta));
    }

    /// Says nothing for so long.
    pub(crate) fn wait(&mut self, millis: u64) {
        self.moves.push(Move::Wait(millis));
    }

    /// Says nothing any more.
    pub(crate) fn hang(&mut self) {
        self.moves.push(Move::Hang);
    }

    /// Fails.
    pub(crate) fn fail(&mut self, error: ProviderError) {
        self.moves.push(Move::Fail(error));
    }

    /// All of it.
    pub(crate) fn into_moves(self) -> Vec<Move> {
        self.moves
    }

    fn voiced(&mut self, voice: Voice) -> BlockIndex {
        match self.open {
            Some((block, open)) if open == voice => block,
            Some(_) | None => {
                self.end_block();
                let block = self.begin(match voice {
                    Voice::Thinking => BlockKind::Thinking,
                    Voice::Text => BlockKind::Text,
                });
                self.open = Some((block, voice));
                block
            }
        }
    }

    fn begin(&mut self, kind: BlockKind) -> BlockIndex {
        let block = BlockIndex(self.begun);
        self.begun = self.begun.saturating_add(1);
        self.give(Delta::Begin { block, kind });
        block
    }
}
