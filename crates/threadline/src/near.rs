//! Did-you-mean suggestions, which live in the core.

pub(crate) use threadline_core::suggest::{distance, nearest};
