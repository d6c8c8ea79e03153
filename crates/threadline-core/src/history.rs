//! The history: facts placed in order, and the fold over them.

pub mod batch;
pub mod entry;
pub mod fact;
pub mod metadata;
pub mod record;
pub mod sections;
pub mod snapshot;
