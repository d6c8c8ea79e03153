//! A change of the notebook, as it is recorded: what happened to the text, not what was asked.
//!
//! The form is versioned by its words: a new kind of change gets a new word, and what stands
//! behind a word never changes.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TEXT_CAP_BYTES;

/// A recorded change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Recorded {
    /// This was put at the end, as it is.
    Append(String),
    /// So many bytes at a place were replaced.
    Replace(Span),
    /// The whole text became this.
    Set(String),
}

/// A place in the text, and what came to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    /// The first byte.
    pub(super) at: usize,
    /// How many bytes went.
    pub(super) len: usize,
    /// What came.
    pub(super) with: String,
}

impl Recorded {
    pub(super) fn encode(&self) -> Arc<str> {
        // Only a map with keys that are no texts cannot be written.
        serde_json::to_string(self).unwrap_or_default().into()
    }

    pub(super) fn decode(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!("a change is \"append\", \"replace\" or \"set\" as JSON, not this: {error}")
        })
    }

    /// The bytes of a text that the change replaces.
    pub(super) fn replaced(&self, before: &str) -> Range<usize> {
        match self {
            Self::Append(_) => before.len()..before.len(),
            Self::Set(_) => 0..before.len(),
            Self::Replace(Span { at, len, .. }) => *at..at.saturating_add(*len),
        }
    }

    /// The text after the change, which has to be one that a notebook may hold.
    pub(super) fn apply(&self, before: &str) -> Result<String, String> {
        let after = match self {
            Self::Append(text) => [before, text].concat(),
            Self::Set(text) => text.clone(),
            Self::Replace(Span { at, len, with }) => {
                let parts = before.split_at_checked(*at).and_then(|(head, rest)| {
                    rest.split_at_checked(*len).map(|(_, tail)| [head, with, tail].concat())
                });
                parts.ok_or_else(|| {
                    format!("there are no {len} bytes at {at} in a text of {}", before.len())
                })?
            }
        };
        if after.len() > TEXT_CAP_BYTES {
            return Err(format!(
                "the notebook holds at most {TEXT_CAP_BYTES} bytes and this would make it {}; \
                 shorten something in it first",
                after.len()
            ));
        }
        if !may_be(&after) {
            return Err(
                "lines end with line feeds, and there is no white space at the end".to_owned()
            );
        }
        Ok(after)
    }
}

/// A text without the white space at its end. What counts is fixed for ever, so that no recorded
/// change is refused one day.
pub(super) fn trim_end(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\n'])
}

/// Whether a notebook may hold a text.
pub(super) fn may_be(text: &str) -> bool {
    text.len() <= TEXT_CAP_BYTES && !text.contains('\r') && trim_end(text).len() == text.len()
}
