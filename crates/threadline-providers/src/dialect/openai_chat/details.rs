//! Reasoning details: what a router wants back of a model's thinking, unchanged and whole.

use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::provider::{ANSWER_CAP_BYTES, BlockIndex};

use super::wire;
use crate::failed::Failed;
use crate::json::{Json, Members, get, put};

/// The fields that come in pieces.
const PIECES: [&str; 2] = ["text", "summary"];

/// The details of one answer. One block of thinking bears all of them.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// The block that bears them, from the first of them on.
    pub(super) bearer: Option<BlockIndex>,
    items: Vec<Json>,
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
        for item in wire::list::<Json>("reasoning_details", raw)? {
            let Json::Object(item) = item else {
                return Err(wire::unread("reasoning_details", &"an item is no object"));
            };
            let text = PIECES.iter().find_map(|key| get(&item, key)?.as_text());
            readable.push_str(text.unwrap_or_default());
            match self.items.last_mut() {
                Some(Json::Object(last)) if continues(last, &item) => join(last, item),
                Some(_) | None => self.items.push(Json::Object(item)),
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
fn continues(last: &Members, item: &Members) -> bool {
    let agree = |key| match (known(last, key), known(item, key)) {
        (Some(one), Some(other)) => one == other,
        (None | Some(_), None | Some(_)) => true,
    };
    let in_pieces = PIECES.iter().any(|key| get(last, key).is_some());
    in_pieces && get(last, "type") == get(item, "type") && agree("index") && agree("id")
}

fn known<'a>(item: &'a Members, key: &str) -> Option<&'a Json> {
    get(item, key).filter(|value| **value != Json::Null)
}

/// Adds a further piece to an item: what comes in pieces grows, anything else is replaced.
fn join(last: &mut Members, item: Members) {
    for (key, value) in item {
        let old = last.iter_mut().find(|(name, _)| *name == key).map(|(_, old)| old);
        match (old, value) {
            (Some(Json::Text(text)), Json::Text(more)) if PIECES.contains(&key.as_str()) => {
                text.push_str(&more);
            }
            (Some(_), Json::Null) => {}
            (Some(_) | None, value) => put(last, &key, value),
        }
    }
}
