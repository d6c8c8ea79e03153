//! What a response tells beside its items: what it took, which one it was, what went wrong.

use threadline_core::history::fact::{FailureKind, Usage};
use threadline_core::history::metadata::{Metadata, Value};

use crate::dialect::openai_responses::wire;
use crate::failed::Failed;
use crate::reply;

/// What it took, as far as it was told.
pub(super) fn usage(response: &wire::Response<'_>) -> Option<Usage> {
    let usage = wire::read::<wire::Usage<'_>>(response.usage)?;
    let input = wire::read::<wire::Details>(usage.input_tokens_details).unwrap_or_default();
    let output = wire::read::<wire::Details>(usage.output_tokens_details).unwrap_or_default();
    Some(Usage {
        input: usage.input_tokens.unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0),
        cached_input: input.cached,
        cache_write: input.cache_write,
        reasoning: output.reasoning,
        estimated: false,
    })
}

pub(super) fn metadata(response: &wire::Response<'_>) -> Metadata {
    let details = wire::read::<wire::Incomplete<'_>>(response.incomplete_details);
    let told = [
        ("response_id", response.id.some()),
        ("model", response.model.some()),
        ("stop_reason", details.as_ref().and_then(|details| details.reason.some())),
    ];
    let told = told.into_iter().filter_map(|(key, text)| Some((key, text?.to_owned())));
    Metadata::fitted(told.map(|(key, text)| (key, Value::Text(text))))
}

/// The failure that an error object tells of.
pub(super) fn failed(error: &str) -> Failed {
    let code = serde_json::from_str::<wire::Error<'_>>(error).unwrap_or_default().code;
    let failed = reply::told(None, &[], error.as_bytes());
    match code.get().and_then(kind_of) {
        Some(kind) => Failed { kind, ..failed },
        None => failed,
    }
}

/// What can be done about an error whose code says so only in this protocol.
fn kind_of(code: &str) -> Option<FailureKind> {
    match code {
        "server_error" => Some(FailureKind::Busy),
        // However it sounds, the same request would fail again.
        "vector_store_timeout" => Some(FailureKind::Refused),
        image if image.contains("image") => Some(FailureKind::Refused),
        _ => None,
    }
}
