//! Recorded errors, and what they mean.

use threadline_core::history::fact::FailureKind;
use threadline_providers::reply::told;

use crate::recordings;

#[test]
fn recorded_errors_are_told() {
    let mut shown = Vec::new();
    for folder in ["anthropic", "gemini", "openai-compatible", "openai-responses"] {
        let all = recordings::cases(folder).into_iter();
        for case in all.filter(|case| case.file.ends_with("errors.json")) {
            if case.status == Some(200) {
                continue;
            }
            let failed = told(case.status, &case.headers, case.raw.as_bytes());
            let id = case.id.rsplit('/').next().unwrap().to_owned();
            assert!(failed.message.len() > 12, "{id}: {failed:?}");
            shown.push((id, failed));
        }
    }
    let kinds: Vec<_> = shown.iter().map(|(id, failed)| (id.as_str(), failed.kind)).collect();
    for (id, kind) in kinds {
        let expected = match id {
            "auth_rejection_carries_identity#0"
            | "nonstreaming_unauthorized_preserves_status_and_body#0" => FailureKind::Unauthorised,
            "google-429-retry-info.json#0" => FailureKind::Busy,
            "context_overflow_streaming#0" => FailureKind::ContextTooLong,
            _ => FailureKind::Refused,
        };
        assert_eq!(kind, expected, "{id}");
    }
    let waits = shown.iter().filter_map(|(_, failed)| failed.retry_after_ms);
    assert!(shown.is_empty() || waits.eq([34_400]), "{shown:?}");
}
