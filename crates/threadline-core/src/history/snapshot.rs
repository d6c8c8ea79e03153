//! A snapshot: a deletable, versioned cache of derived state.

use std::collections::BTreeMap;

use crate::history::fact::Digest;
use crate::id::Seq;

/// The version of the fold whose state a snapshot holds. Snapshots of another are not used.
pub const FOLD_VERSION: u32 = 8;

/// How many entries lie between snapshots that are kept for good.
pub const SNAPSHOT_EVERY: u64 = 4096;

/// A deletable cache of derived state. Never portable: the portable thing is an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The entry after which it was taken.
    pub seq: Seq,
    /// That entry's hash.
    pub hash: Digest,
    /// The version of the fold.
    pub fold_version: u32,
    /// The history's state.
    pub history: Vec<u8>,
    /// The states of widgets, by agent and name, as [`Widgets`](crate::widget::Widgets) writes them;
    /// none if whoever kept it knew no widgets.
    pub widgets: BTreeMap<String, Vec<u8>>,
}
