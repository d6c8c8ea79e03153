//! The toolbox: runs calls within their bounds, whatever their tools do.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use threadline_core::drive::{Outcome, Run};
use threadline_core::history::fact::{Attachment, Digest, Extent};
use threadline_core::history::metadata::Metadata;
use threadline_core::store::{Blobs, PIECE_CAP_BYTES, StoreError};
use threadline_core::tool::{
    Cancel, Handling, Product, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, capped,
};
use tokio::task::JoinSet;

/// Runs calls.
#[derive(Clone, Default)]
pub struct Toolbox(BTreeMap<Arc<str>, Arc<dyn Tool>>);

impl Toolbox {
    /// A toolbox with these tools; of two with one name the later one counts.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self(tools.into_iter().map(|tool| (Arc::clone(&tool.spec().name), tool)).collect())
    }

    /// Runs a call. What the tool says, that it says nothing in time, and that it panics are all
    /// outcomes.
    pub(crate) async fn run(&self, run: &Run, context: ToolContext, stop: Duration) -> ToolOutcome {
        let Some(tool) = self.0.get(&run.tool.name).map(Arc::clone) else {
            return ToolOutcome::Failed(ToolResult::text("the tool is not there"));
        };
        let cancel = context.cancel.clone();
        let arguments = Arc::clone(&run.arguments);
        let task = async move { tool.call(&arguments, &context).await };
        let rules = rules(run);
        let timeout = Duration::from_millis(rules.timeout_ms);
        bounded(task, timeout, &cancel, stop).await
    }

    /// Finds out what became of a call; none if there is no way to know.
    pub(crate) async fn reconcile(&self, run: &Run, context: ToolContext) -> Option<ToolOutcome> {
        let tool = self.0.get(&run.tool.name).map(Arc::clone)?;
        let arguments = Arc::clone(&run.arguments);
        let timeout = Duration::from_millis(rules(run).timeout_ms);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { tool.reconcile(&arguments, &context).await });
        tokio::time::timeout(timeout, tasks.join_next()).await.ok()??.ok()?
    }
}

fn rules(run: &Run) -> RunRules {
    match run.tool.handling {
        Handling::Run(rules) => rules,
        Handling::Recorded => RunRules::usual(threadline_core::history::fact::Effect::Once),
    }
}

/// Awaits a call in a task of its own, so that neither a panic nor a busy loop takes more down
/// than the call. Dropping this ends the task.
async fn bounded(
    task: impl Future<Output = ToolOutcome> + Send + 'static,
    timeout: Duration,
    cancel: &Cancel,
    stop: Duration,
) -> ToolOutcome {
    let mut tasks = JoinSet::new();
    tasks.spawn(task);
    let timed_out = tokio::time::sleep(timeout);
    let stopped = async {
        cancel.cancelled().await;
        tokio::time::sleep(stop).await;
    };
    let words = tokio::select! {
        biased;
        joined = tasks.join_next() => match joined {
            Some(Ok(outcome)) => return outcome,
            Some(Err(error)) if error.is_panic() => {
                format!("the tool panicked: {}", panic_text(&*error.into_panic()))
            }
            Some(Err(_)) | None => "the tool was stopped before it answered".to_owned(),
        },
        () = timed_out => {
            // It may still be able to tidy up.
            cancel.cancel();
            match tokio::time::timeout(stop, tasks.join_next()).await {
                Ok(Some(Ok(ToolOutcome::Success(result)))) => return ToolOutcome::Success(result),
                _ => format!("no answer within {} s", timeout.as_secs_f64()),
            }
        }
        () = stopped => "stopped before it answered".to_owned(),
    };
    let error = Some(words.clone());
    ToolOutcome::NoAnswer(ToolResult { error, ..ToolResult::text(words) })
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}

/// An outcome as it is recorded: cut to its cap, with what it made kept in the store.
pub(crate) async fn kept(
    blobs: &dyn Blobs,
    run: &Run,
    outcome: ToolOutcome,
    began: Instant,
) -> Outcome {
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (make, result): (fn(ToolResult) -> ToolOutcome, ToolResult) = match outcome {
        ToolOutcome::Success(result) => (ToolOutcome::Success, result),
        ToolOutcome::Failed(result) => (ToolOutcome::Failed, result),
        ToolOutcome::NoAnswer(result) => (ToolOutcome::NoAnswer, result),
    };
    let cut = capped(&result, rules(run).result_cap_bytes);
    let mut products = result.attachments;
    if let Some(whole) = cut.whole {
        let bytes = whole.as_bytes().into();
        products.push(Product::Made { bytes, media_type: "text/plain".into(), name: None });
    }
    if let Some(data) = &result.data {
        let bytes = data.as_bytes().into();
        products.push(Product::Made { bytes, media_type: "application/json".into(), name: None });
    }
    let mut attachments = Vec::new();
    let mut error = result.error;
    for product in products {
        match keep(blobs, product).await {
            Ok(attachment) => attachments.push(attachment),
            // What was done is done: that a part of the result is lost must not undo it.
            Err(lost) => error = Some(format!("an attachment could not be kept: {lost}")),
        }
    }
    let result = ToolResult { sections: cut.sections, attachments: Vec::new(), data: None, error };
    Outcome { outcome: make(result), attachments, elapsed_ms, metadata: Metadata::new() }
}

async fn keep(blobs: &dyn Blobs, product: Product) -> Result<Attachment, StoreError> {
    match product {
        Product::Kept(attachment) => Ok(attachment),
        Product::Made { bytes, media_type, name } => {
            let digest = keep_bytes(blobs, &bytes).await?;
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let extent = Extent::of(&bytes);
            Ok(Attachment { digest, size, media_type, name, extent })
        }
    }
}

/// Keeps bytes as an attachment, if the store does not have them already.
pub(crate) async fn keep_bytes(blobs: &dyn Blobs, bytes: &[u8]) -> Result<Digest, StoreError> {
    let digest = Digest::of(bytes);
    if blobs.blob_size(digest).await?.is_some() {
        return Ok(digest);
    }
    let upload = blobs.begin_upload().await?;
    for piece in bytes.chunks(PIECE_CAP_BYTES) {
        blobs.upload(upload, piece.to_vec()).await?;
    }
    blobs.finish_upload(upload).await
}
