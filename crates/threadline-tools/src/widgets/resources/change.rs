//! A change of the shared resources as it is recorded, and their state as it is kept.
//!
//! The form of a change is versioned by its words: a new kind of change gets a new word, and what
//! stands behind a word never changes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use threadline_core::id::AgentId;

use super::{
    ALL_CAP_BYTES, DESCRIPTION_CAP_BYTES, KEY_CAP_BYTES, KEYS_CAP, Resource, Resources,
    TEXT_CAP_BYTES,
};

/// A recorded change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Recorded {
    /// This is under a key now.
    Put(Put),
    /// There is nothing under this key any more.
    Drop(String),
}

/// A text under a key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Put {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) description: Option<String>,
}

impl Recorded {
    pub(super) fn encode(&self) -> Arc<str> {
        let json = match self {
            Self::Put(Put { key, text, description: Some(description) }) => {
                json!({ "put": { "key": key, "text": text, "description": description } })
            }
            Self::Put(Put { key, text, description: None }) => {
                json!({ "put": { "key": key, "text": text } })
            }
            Self::Drop(key) => json!({ "drop": key }),
        };
        json.to_string().into()
    }

    pub(super) fn decode(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("a change is \"put\" or \"drop\" as JSON, not this: {error}"))
    }

    /// The resources after the change, which have to be within the caps.
    pub(super) fn apply(&self, before: &Resources, by: AgentId) -> Result<Resources, String> {
        let mut after = before.clone();
        match self {
            Self::Put(Put { key, text, description }) => {
                let description = description.as_deref().map(Into::into);
                let resource = Resource { text: text.as_str().into(), description, by };
                check(key, &resource)?;
                after.by_key.insert(key.as_str().into(), resource);
            }
            Self::Drop(key) => {
                let gone = after.by_key.remove(&**key);
                gone.ok_or_else(|| format!("there is nothing under {key:?}"))?;
            }
        }
        check_all(&after)?;
        Ok(after)
    }
}

/// Whether a key may be one: fixed for ever, so that no recorded change is refused one day.
pub(super) fn is_key(key: &str) -> bool {
    let may = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'/' | b'-');
    (1..=KEY_CAP_BYTES).contains(&key.len()) && key.bytes().all(may)
}

fn check(key: &str, resource: &Resource) -> Result<(), String> {
    if !is_key(key) {
        return Err(format!("a key is 1 to {KEY_CAP_BYTES} of a-z, 0-9 and . _ / -"));
    }
    let bytes = resource.text.len();
    if !(1..=TEXT_CAP_BYTES).contains(&bytes) {
        return Err(format!(
            "a resource has 1 to {TEXT_CAP_BYTES} bytes, not {bytes}; put it in several under keys \
             of their own"
        ));
    }
    let line = |text: &str| {
        (1..=DESCRIPTION_CAP_BYTES).contains(&text.len()) && !text.contains(char::is_control)
    };
    if !resource.description.as_deref().is_none_or(line) {
        return Err(format!("a description is one line of 1 to {DESCRIPTION_CAP_BYTES} bytes"));
    }
    Ok(())
}

fn check_all(resources: &Resources) -> Result<(), String> {
    let (count, bytes) = (resources.by_key.len(), resources.bytes());
    if count > KEYS_CAP {
        return Err(format!(
            "there are at most {KEYS_CAP} shared resources, and this would make {count}; drop one \
             that nobody needs first"
        ));
    }
    if bytes > ALL_CAP_BYTES {
        return Err(format!(
            "shared resources take at most {ALL_CAP_BYTES} bytes together, and this would make it \
             {bytes}; drop or shorten some first"
        ));
    }
    Ok(())
}

/// A resource as it is kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    key: String,
    text: String,
    description: Option<String>,
    by: AgentId,
}

/// The state as JSON, by key.
pub(super) fn encode_state(resources: &Resources) -> String {
    let kept = resources.by_key.iter().map(|(key, Resource { text, description, by })| {
        json!({ "key": &**key, "text": &**text, "description": description.as_deref(), "by": by.0 })
    });
    Value::Array(kept.collect()).to_string()
}

/// The resources that have this state, if there can be such.
pub(super) fn decode_state(bytes: &[u8]) -> Option<Resources> {
    let kept: Vec<Kept> = serde_json::from_slice(bytes).ok()?;
    let mut resources = Resources::new();
    for Kept { key, text, description, by } in kept {
        let description = description.map(Into::into);
        let resource = Resource { text: text.into(), description, by };
        check(&key, &resource).ok()?;
        resources.by_key.insert(key.into(), resource);
    }
    check_all(&resources).ok()?;
    // There is one text for a state, so what reads back as the same is not damaged.
    (encode_state(&resources).as_bytes() == bytes).then_some(resources)
}
