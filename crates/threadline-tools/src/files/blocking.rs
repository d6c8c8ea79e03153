//! Work that blocks, on a thread of its own, until nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use threadline_core::tool::{
    Cancel, FileChange, NotRecorded, ToolContext, ToolOutcome, ToolResult,
};
use tokio::runtime::Handle;

use crate::typed;

/// Whether work should stop: its call was cancelled, or nobody waits for it any more.
pub(super) struct Stop {
    gone: Arc<AtomicBool>,
    cancel: Cancel,
}

impl Stop {
    pub(super) fn is_given(&self) -> bool {
        self.gone.load(Ordering::Acquire) || self.cancel.is_cancelled()
    }
}

/// Reads a call's arguments and runs its work.
pub(super) async fn call<A: DeserializeOwned + Send + 'static>(
    arguments: &str,
    context: &ToolContext,
    work: impl FnOnce(A, &Stop) -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    let arguments = match typed::read(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return typed::failed(message),
    };
    run(context, move |stop| work(arguments, stop)).await.unwrap_or_else(|error| {
        let message = format!("the call did not come to its end: {error}");
        let result = ToolResult::text(&*message);
        ToolOutcome::NoAnswer(ToolResult { error: Some(message), ..result })
    })
}

/// Runs something that blocks. It is told to stop when this is dropped.
pub(super) async fn run<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let dropped = Dropped::default();
    let stop = Stop { gone: Arc::clone(&dropped.0), cancel: context.cancel.clone() };
    tokio::task::spawn_blocking(move || work(&stop)).await
}

/// Records changes of files from a thread that blocks.
pub(super) fn recorder(
    context: &ToolContext,
) -> impl Fn(FileChange) -> Result<(), NotRecorded> + Send + 'static {
    let (runtime, recorder) = (Handle::current(), Arc::clone(&context.files.recorder));
    move |change| runtime.block_on(recorder.record(change))
}

/// Tells the thread that works when nobody waits for it any more.
#[derive(Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
