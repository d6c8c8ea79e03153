//! An answer that was taken for a stream of events and is none.

use serde_json::Value;
use threadline_core::history::fact::FailureKind;
use threadline_core::sanitise;

use crate::failed::Failed;
use crate::reply;

/// How much of an odd text is shown.
const SHOWN_CHARS: usize = 80;

/// Whether an answer of this type is surely no stream of events. Some servers name none, or a
/// general one: what they send is looked at.
pub(super) fn is_odd(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/json", "application/xhtml+xml"]
        .iter()
        .any(|odd| essence.eq_ignore_ascii_case(odd))
        || essence.starts_with("image/")
        || essence.starts_with("audio/")
        || essence.starts_with("video/")
}

/// What such an answer is.
pub(super) fn told(content_type: &str, headers: &[(String, String)], body: &[u8]) -> Failed {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let json = serde_json::from_str::<Value>(text);
    let told = reply::told(None, headers, body);
    match json {
        Ok(Value::Object(all)) if all.contains_key("error") || all.contains_key("detail") => told,
        Ok(Value::Array(list)) if list.iter().any(|one| one.get("error").is_some()) => told,
        Ok(Value::Object(_) | Value::Array(_)) => {
            let words = "a whole answer came instead of a stream; \
                         check the base URL, and that this endpoint can stream";
            Failed { kind: FailureKind::Refused, message: words.to_owned(), ..told }
        }
        Ok(_) | Err(_) if text.is_empty() => {
            Failed { message: "the answer is empty".to_owned(), ..told }
        }
        Ok(_) | Err(_) if text.starts_with('<') => {
            let message = format!("{}; check the base URL", told.message);
            Failed { kind: FailureKind::Refused, message, ..told }
        }
        Ok(_) | Err(_) => {
            let start: String = text.chars().take(SHOWN_CHARS).collect();
            let what = if content_type.is_empty() { "of no type" } else { content_type };
            let message = format!(
                "the answer is {}, not a stream of events: “{}”",
                sanitise::line(what).chars().take(SHOWN_CHARS).collect::<String>(),
                sanitise::line(&start),
            );
            Failed { kind: FailureKind::Protocol, message, ..told }
        }
    }
}
