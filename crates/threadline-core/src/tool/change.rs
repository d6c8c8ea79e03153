//! Changes of files: recorded by a call before it makes them, and read again when it is found out
//! what became of the call.

use std::sync::Arc;

use async_trait::async_trait;

use crate::history::fact::{Digest, FileChanged};
use crate::store::Predecessor;

/// A change that a call is about to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file, relative to the workspace.
    pub path: Arc<str>,
    /// The content before; none if the file does not exist.
    pub before: Option<Content>,
    /// Digest of the content after; none if the file is removed.
    pub after: Option<Digest>,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its digest.
    pub digest: Digest,
    /// Its bytes, unless they are over the caller's cap.
    pub bytes: Option<Arc<[u8]>>,
}

impl Content {
    /// The content with these bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { digest: Digest::of(&bytes), bytes: Some(bytes) }
    }
}

/// A change could not be recorded and must not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the change could not be recorded: {0}")]
pub struct NotRecorded(pub String);

/// Records changes of files.
#[async_trait]
pub trait RecordChange: Send + Sync {
    /// Records a change. When this returns without an error the record is durable, and the change
    /// may be made.
    async fn record(&self, change: FileChange) -> Result<(), NotRecorded>;
}

/// What a call knows of its own changes of files.
#[derive(Clone)]
pub struct FileLog {
    /// Records the next change.
    pub recorder: Arc<dyn RecordChange>,
    /// The changes that earlier attempts at the call recorded, in order.
    pub recorded: Vec<FileChanged>,
    /// Whether the process that made an earlier attempt can still be running: then a change that
    /// was recorded and not made may still be made.
    pub predecessor: Predecessor,
}
