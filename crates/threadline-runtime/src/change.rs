//! File changes on their way from a running call to the history.

use std::sync::Arc;

use async_trait::async_trait;
use threadline_core::history::fact::{Attachment, FileChanged};
use threadline_core::id::CallId;
use threadline_core::tool::{Content, FileChange, NotRecorded, RecordChange};
use tokio::sync::{mpsc, oneshot};

use crate::toolbox::keep_bytes;
use crate::world::World;

/// The largest content before a change that is kept as an attachment.
const CONTENT_CAP_BYTES: usize = 4 * 1024 * 1024;

/// A change that is to be recorded before it is made.
pub(crate) struct ChangeRequest {
    pub(crate) change: Box<FileChanged>,
    /// Answered once the change is on record; dropped if it will not be.
    pub(crate) recorded: oneshot::Sender<()>,
}

/// Records the changes of one call.
pub(crate) struct ChangeRecorder {
    pub(crate) call: CallId,
    pub(crate) world: Arc<World>,
    pub(crate) announce: mpsc::UnboundedSender<ChangeRequest>,
}

#[async_trait]
impl RecordChange for ChangeRecorder {
    async fn record(&self, change: FileChange) -> Result<(), NotRecorded> {
        let FileChange { path, before, after } = change;
        let content = match &before {
            Some(content) => self.keep(content).await?,
            None => None,
        };
        let before = before.map(|content| content.digest);
        let change = FileChanged { call: self.call, path, before, after, content };
        let (recorded, answer) = oneshot::channel();
        let stopped = || NotRecorded("the conversation is no longer driven here".to_owned());
        let request = ChangeRequest { change: Box::new(change), recorded };
        self.announce.send(request).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }
}

impl ChangeRecorder {
    /// Keeps the content before a change, unless it is over the cap.
    async fn keep(&self, content: &Content) -> Result<Option<Attachment>, NotRecorded> {
        let Some(bytes) = content.bytes.as_ref().filter(|bytes| bytes.len() <= CONTENT_CAP_BYTES)
        else {
            return Ok(None);
        };
        let kept = keep_bytes(&*self.world.store, bytes).await;
        let digest = kept.map_err(|error| NotRecorded(error.to_string()))?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let media_type = match std::str::from_utf8(bytes) {
            Ok(_) => "text/plain",
            Err(_) => "application/octet-stream",
        };
        Ok(Some(Attachment {
            digest,
            size,
            media_type: media_type.into(),
            name: None,
            extent: None,
        }))
    }
}
