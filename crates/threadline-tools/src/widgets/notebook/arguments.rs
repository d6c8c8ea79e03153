//! What the notebook's tools take. The comments are what models read.

use schemars::JsonSchema;
use serde::Deserialize;

/// Adds a text at the end of your notebook, on a line of its own. Use it for what should be
/// remembered beyond this turn.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Append {
    /// what to add
    #[schemars(length(min = 1))]
    pub(super) text: String,
}

/// Replaces a text in your notebook by another, or deletes it if the other is empty; a line that
/// becomes empty goes. The text has to be there exactly once; if it is there several times, give an
/// anchor: then the first one after the anchor is meant.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Replace {
    /// the text as it is in the notebook
    #[schemars(length(min = 1))]
    pub(super) find: String,
    /// what to put in its place; empty to delete it
    pub(super) with: String,
    /// a text somewhere before the one that is meant; empty for the start
    pub(super) anchor: Option<String>,
}

/// Replaces a longer passage of your notebook without repeating it: all from one text to the next
/// other one, both included, or deletes it if the new text is empty. The start has to be there
/// exactly once; if it is there several times, give an anchor: then the first one after the anchor
/// is meant.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReplaceSpan {
    /// how the passage begins, as it is in the notebook
    #[schemars(length(min = 1))]
    pub(super) start: String,
    /// how it ends: the first such text after the start
    #[schemars(length(min = 1))]
    pub(super) end: String,
    /// what to put in its place, the two texts included; empty to delete it
    pub(super) with: String,
    /// a text somewhere before the start; empty for the beginning of the notebook
    pub(super) anchor: Option<String>,
}

/// Reads your notebook from a line on. Only needed when the live screen does not show all of it.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Read {
    /// the line to start at, counted from 1
    #[schemars(range(min = 1))]
    pub(super) line: Option<usize>,
}
