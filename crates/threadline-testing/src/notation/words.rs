//! Single words: how the values of small enums and moments are written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use threadline_core::clock::Timestamp;
use threadline_core::history::fact::{EndReason, Limit, Status};
use threadline_core::id::Seq;

/// The word of a value that records write as a word.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// The value of a word, if `what` has such a value.
pub(super) fn value<T: DeserializeOwned>(word: &str, what: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(word)).map_err(|_| format!("there is no {what} {word:?}"))
}

/// A place in the history.
pub(super) fn seq(word: &str) -> Result<Seq, String> {
    word.parse().map_err(|_| format!("{word:?} is not the number of an entry"))
}

/// The word of a status.
pub(super) fn status_word(status: Status) -> &'static str {
    match status {
        Status::Success => "ok",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Unknown => "unknown",
    }
}

/// The status of a word.
pub(super) fn status(word: &str) -> Option<Status> {
    let all = [Status::Success, Status::Failed, Status::Skipped, Status::Unknown];
    all.into_iter().find(|status| status_word(*status) == word)
}

/// The word of a reason.
pub(super) fn reason_word(reason: EndReason) -> String {
    match reason {
        EndReason::Limit(limit) => format!("limit:{}", word(&limit)),
        EndReason::Cancelled | EndReason::Failed | EndReason::DoesNotFit | EndReason::Withdrawn => {
            word(&reason)
        }
    }
}

/// The reason of a word.
pub(super) fn reason(word: &str) -> Result<EndReason, String> {
    match word.strip_prefix("limit:") {
        Some(limit) => value::<Limit>(limit, "limit").map(EndReason::Limit),
        None => value(word, "reason to end a turn"),
    }
}

/// A moment: in full, or from now.
pub(super) fn moment(word: &str, now: Timestamp) -> Result<Timestamp, String> {
    match word.strip_prefix('+') {
        Some(span) => millis(span).map(|millis| now.plus_millis(millis)),
        None => word.parse().map_err(|_| format!("{word:?} is no moment such as +10m or RFC 3339")),
    }
}

/// A span of time in milliseconds.
pub(super) fn millis(word: &str) -> Result<u64, String> {
    let wrong = || format!("{word:?} is no span of time such as 500ms, 10s, 5m or 2h");
    let unit = word.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = word.split_at(unit);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
}
