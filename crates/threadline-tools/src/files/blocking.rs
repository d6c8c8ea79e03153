//! Work that blocks, on a thread of its own, until nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use threadline_core::tool::{Cancel, ToolContext, ToolOutcome, ToolResult};

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

/// Runs a call's work.
pub(super) async fn outcome(
    context: &ToolContext,
    work: impl FnOnce(&Stop) -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    run(context, work).await.unwrap_or_else(|error| {
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

/// Tells the thread that works when nobody waits for it any more.
#[derive(Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
