//! What the last appends found out about their conversations: whoever appends again need not look it
//! up again.

use std::collections::HashMap;

use rusqlite::Connection;
use threadline_core::id::ConversationId;

use super::conversation::Known;

/// The most conversations that are remembered.
const CAP: usize = 1024;

/// Conversations as the last appends left them.
///
/// It is right as long as nothing but appends is written: every change by its own connection is
/// counted, those of others change the version of the data, and whoever rolls back forgets.
#[derive(Default)]
pub(super) struct Remembered {
    known: HashMap<ConversationId, Known>,
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
            self.known.clear();
            self.version = version;
        }
    }

    /// What is known of a conversation, if it is remembered.
    pub(super) fn take(&mut self, connection: &Connection, id: ConversationId) -> Option<Known> {
        if connection.total_changes() != self.changes {
            self.known.clear();
        }
        self.known.remove(&id)
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
    }
}
