//! What the last appends found out: whoever appends again need not look it up again.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use threadline_core::history::fact::Digest;
use threadline_core::id::ConversationId;

use super::conversation::Known;

/// The most conversations that are remembered, and the most attachments.
const CAP: usize = 1024;

/// Conversations as the last appends left them, and the attachments that they named.
///
/// It is right as long as nothing but appends is written: every change by its own connection is
/// counted, those of others change the version of the data, and whoever rolls back forgets.
#[derive(Default)]
pub(super) struct Remembered {
    known: HashMap<ConversationId, Known>,
    kept: HashSet<Digest>,
    /// The changes by this connection up to the last append.
    changes: u64,
    /// The version of the data, which others' changes change.
    version: Option<i64>,
}

impl Remembered {
    /// Forgets everything if others have written. To be called in every transaction before it is
    /// asked.
    pub(super) fn look(&mut self, connection: &Connection) {
        let version = connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut version| version.query_row([], |row| row.get(0)))
            .ok();
        if version.is_none() || version != self.version {
            self.forget();
            self.version = version;
        }
    }

    /// What is known of a conversation, if it is remembered.
    pub(super) fn take(&mut self, connection: &Connection, id: ConversationId) -> Option<Known> {
        self.look_here(connection);
        self.known.remove(&id)
    }

    /// Forgets everything if its own connection has written anything but appends.
    fn look_here(&mut self, connection: &Connection) {
        let changes = connection.total_changes();
        if changes != self.changes {
            self.forget();
            self.changes = changes;
        }
    }

    /// Those of some attachments that are not known to be kept.
    pub(super) fn unknown(&mut self, connection: &Connection, digests: &[Digest]) -> Vec<Digest> {
        self.look_here(connection);
        digests.iter().filter(|digest| !self.kept.contains(digest)).copied().collect()
    }

    /// Remembers that attachments are kept.
    pub(super) fn keep_attachments(&mut self, digests: Vec<Digest>) {
        if self.kept.len().saturating_add(digests.len()) > CAP {
            self.kept.clear();
        }
        self.kept.extend(digests.into_iter().take(CAP));
    }

    /// Remembers a conversation as an append left it.
    pub(super) fn keep(&mut self, connection: &Connection, id: ConversationId, known: Known) {
        if self.known.len() >= CAP {
            self.known.clear();
        }
        self.known.insert(id, known);
        self.changes = connection.total_changes();
    }

    /// Forgets everything: what was written since is not there any more.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.kept.clear();
    }
}
