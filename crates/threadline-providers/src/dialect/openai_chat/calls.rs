//! Calls as their pieces come: each has its place, and begins when its name is known.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::provider::{ANSWER_CAP_BYTES, BlockIndex, BlockKind, Delta};

use super::wire::{self, CallPiece};
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::names::Names;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the index that the server gives, which may begin anywhere and have gaps.
    by_index: BTreeMap<u64, Call>,
    /// The bytes of arguments that wait for a name.
    held_bytes: usize,
}

#[derive(Debug)]
enum Call {
    /// Its name has not come yet.
    Nameless { id: Option<Arc<str>>, arguments: String },
    /// It has begun.
    Begun { id: Option<Arc<str>>, block: BlockIndex },
}

/// A piece of a call, read.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Cow<'a, str>,
}

impl Calls {
    /// Takes one piece in; a piece without an index is told by its place in the list.
    pub(super) fn take(
        &mut self,
        (place, piece): (u64, &CallPiece<'_>),
        names: &Names,
        blocks: &mut Blocks,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let piece = Piece::read(piece)?;
        let index = piece.index.unwrap_or(place);
        let before = self.by_index.remove(&index).filter(|call| !is_another(call, &piece, blocks));
        let (id, held) = match before {
            Some(Call::Begun { id, block }) => {
                blocks.fragment(block, &piece.arguments, out);
                self.by_index.insert(index, Call::Begun { id, block });
                return Ok(());
            }
            Some(Call::Nameless { id, arguments }) => (id, arguments),
            None => (None, String::new()),
        };
        let id = id.or_else(|| piece.id.as_deref().map(Arc::from));
        let call = match &piece.name {
            Some(name) => {
                self.held_bytes = self.held_bytes.saturating_sub(held.len());
                let (name, provider_id) = (names.from_wire(name), id.clone());
                let block = blocks.begin(BlockKind::ToolCall { name, provider_id }, out);
                blocks.fragment(block, &held, out);
                blocks.fragment(block, &piece.arguments, out);
                Call::Begun { id, block }
            }
            None => {
                self.held_bytes = self.held_bytes.saturating_add(piece.arguments.len());
                if self.held_bytes > ANSWER_CAP_BYTES {
                    return Err(Failed::protocol(
                        "the arguments of a call without a name are too large",
                    ));
                }
                Call::Nameless { id, arguments: held + &piece.arguments }
            }
        };
        self.by_index.insert(index, call);
        Ok(())
    }

    /// Whether a call never had its name told.
    pub(super) fn any_nameless(&self) -> bool {
        self.by_index.values().any(|call| matches!(call, Call::Nameless { .. }))
    }
}

impl<'a> Piece<'a> {
    fn read(piece: &CallPiece<'a>) -> Result<Self, Failed> {
        let function = piece.function.as_ref();
        Ok(Self {
            index: wire::number(piece.index),
            id: wire::label(piece.id),
            name: wire::text("name", function.and_then(|function| function.name))?,
            arguments: arguments(function.and_then(|function| function.arguments))?,
        })
    }
}

/// Arguments as their text: some servers write the object itself.
fn arguments(raw: Option<&RawValue>) -> Result<Cow<'_, str>, Failed> {
    match raw.map(RawValue::get).filter(|raw| raw.starts_with('{')) {
        Some(object) => Ok(Cow::Borrowed(object)),
        None => Ok(wire::text("arguments", raw)?.unwrap_or_default()),
    }
}

/// Whether a piece is of another call than the one that has its place: some servers give all calls
/// the same index, or none.
fn is_another(call: &Call, piece: &Piece<'_>, blocks: &Blocks) -> bool {
    let Call::Begun { id, block } = call else { return false };
    if piece.name.is_none() {
        return false;
    }
    match (id.as_deref(), piece.id.as_deref()) {
        (Some(id), Some(new)) => id != new,
        (None | Some(_), None | Some(_)) => {
            let is_whole = |text| serde_json::from_str::<&RawValue>(text).is_ok();
            piece.index.is_none() && blocks.arguments(*block).is_some_and(is_whole)
        }
    }
}
