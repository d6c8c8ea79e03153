//! What the tests of the tools share: a call's surroundings.

use std::sync::Arc;

use async_trait::async_trait;
use threadline_core::clock::Timestamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, FileChanged};
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq, TenantId};
use threadline_core::store::{Direction, Predecessor, StoreError};
use threadline_core::tool::{
    Cancel, FileChange, FileLog, NotRecorded, Progress, ProgressReport, RecordChange, ThreadReader,
    ToolContext, ToolOutcome,
};

/// The surroundings of a call in an empty thread.
pub(crate) fn context() -> ToolContext {
    ToolContext {
        conversation: ConversationId(TenantId::NIL.0),
        agent: AgentId(0),
        call: CallId { output: Seq(1), index: 0 },
        attempt: 1,
        effect_key: "key".into(),
        at: Timestamp::default(),
        thread: Arc::new(Nothing),
        cancel: Cancel::new(),
        progress: Arc::new(Nothing),
        files: files(Vec::new(), Predecessor::Gone),
    }
}

/// A log that lets every change be made, of a call that recorded some before.
pub(crate) fn files(recorded: Vec<FileChanged>, predecessor: Predecessor) -> FileLog {
    FileLog { recorder: Arc::new(Nothing), recorded, predecessor }
}

/// What the model reads of an outcome at a level.
pub(crate) fn at_level(outcome: &ToolOutcome, level: Level) -> String {
    render(&outcome.result().sections, level).into_owned()
}

struct Nothing;

#[async_trait]
impl ThreadReader for Nothing {
    async fn entry(&self, _seq: Seq) -> Result<Option<Entry>, StoreError> {
        Ok(None)
    }

    async fn page(
        &self,
        _from: Seq,
        _direction: Direction,
        _most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }

    async fn search(
        &self,
        _text: &str,
        _before: Option<Seq>,
        _most: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        Ok(Vec::new())
    }

    async fn attachment(
        &self,
        _of: Seq,
        _digest: Digest,
        _offset: u64,
        _most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl RecordChange for Nothing {
    async fn record(&self, _change: FileChange) -> Result<(), NotRecorded> {
        Ok(())
    }
}

impl Progress for Nothing {
    fn report(&self, _report: ProgressReport) {}
}
