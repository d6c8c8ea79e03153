//! Reasoning details: what a router wants back of a model's thinking, unchanged and whole.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use threadline_core::provider::{ANSWER_CAP_BYTES, BlockIndex};

use super::wire;
use crate::failed::Failed;

/// The fields that come in pieces.
const PIECES: [&str; 2] = ["text", "summary"];

/// The details of one answer. One block of thinking bears all of them.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// The block that bears them, from the first of them on.
    pub(super) bearer: Option<BlockIndex>,
    items: Vec<Map<String, Value>>,
    bytes: usize,
}

impl Details {
    /// Takes a list of them in: a piece goes to the item that it continues. Tells what can be
    /// read of them.
    pub(super) fn take(&mut self, raw: &RawValue) -> Result<String, Failed> {
        self.bytes = self.bytes.saturating_add(raw.get().len());
        if self.bytes > ANSWER_CAP_BYTES {
            return Err(Failed::protocol("the details of the model's thinking are too large"));
        }
        let mut readable = String::new();
        for item in wire::list::<Map<String, Value>>(Some(raw)) {
            let text = PIECES.iter().find_map(|key| item.get(*key)?.as_str());
            readable.push_str(text.unwrap_or_default());
            match self.items.last_mut().filter(|last| continues(last, &item)) {
                Some(last) => join(last, item),
                None => self.items.push(item),
            }
        }
        Ok(readable)
    }

    /// Whether there are none.
    pub(super) const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of them, as JSON.
    pub(super) fn state(&self) -> Option<Arc<str>> {
        serde_json::to_string(&self.items).ok().map(Arc::from)
    }
}

/// Whether an item is a further piece of the one before it.
fn continues(last: &Map<String, Value>, item: &Map<String, Value>) -> bool {
    let known = |item: &Map<String, Value>, key| item.get(key).filter(|v| !v.is_null()).cloned();
    let agree = |key| match (known(last, key), known(item, key)) {
        (Some(one), Some(other)) => one == other,
        (None | Some(_), None | Some(_)) => true,
    };
    let in_pieces = PIECES.iter().any(|key| last.contains_key(*key));
    in_pieces && last.get("type") == item.get("type") && agree("index") && agree("id")
}

fn join(last: &mut Map<String, Value>, item: Map<String, Value>) {
    for (key, value) in item {
        let is_piece = PIECES.contains(&key.as_str());
        match (last.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if is_piece => text.push_str(&more),
            (Some(_), Value::Null) => {}
            (Some(old), value) => *old = value,
            (None, value) => {
                last.insert(key, value);
            }
        }
    }
}
