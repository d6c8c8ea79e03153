//! By which signs it is known what the caller can do. Codes count before words, words before the
//! status: a status alone does not decide.

use threadline_core::history::fact::FailureKind;

use super::header;
use super::said::{Odd, Said};

/// Codes, types and reasons, in small letters, and what they mean whatever the status is.
const CODES: [(FailureKind, &[&str]); 6] = [
    (
        FailureKind::QuotaSpent,
        &[
            "insufficient_quota",
            "enforced_spend_limit_reached",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "insufficient_balance",
            "insufficient_credits",
            "payment_required",
        ],
    ),
    (
        FailureKind::ContextTooLong,
        &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "request_too_large",
            "string_above_max_length",
        ],
    ),
    (
        FailureKind::Refused,
        &[
            "content_filter",
            "content_policy_violation",
            "responsibleaipolicyviolation",
            "flagged_input",
            "invalid_prompt",
            "bio_policy",
            "misalignment_policy_violation",
            "data_residency_mismatch",
            "model_not_found",
            "deploymentnotfound",
        ],
    ),
    (
        FailureKind::Unauthorised,
        &[
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "api_key_invalid",
            "invalid_authentication_error",
            "unauthenticated",
            "permission_denied",
            "account_deactivated",
        ],
    ),
    // The model's call was not valid: it may do better when it is asked again.
    (FailureKind::Protocol, &["tool_use_failed"]),
    (
        FailureKind::Busy,
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "ramp_limit_exceeded",
            "resource_exhausted",
            "overloaded_error",
            "server_is_overloaded",
            "unavailable_error",
            "unavailable",
            "slow_down",
        ],
    ),
];

/// Words of requests that are too long.
const TOO_LONG: [&str; 16] = [
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "maximum context length",
    "maximum prompt length",
    "maximum model length",
    "exceed context limit",
    "exceeds the context",
    "exceeds the available context size",
    "exceed the context window",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "input token count",
    "too many tokens",
    "reduce the length of",
    "request too large for",
];

/// Words of keys that are missing or wrong, for providers that call that a bad request.
const BAD_KEY: [&str; 9] = [
    "api key not valid",
    "api key not found",
    "api key expired",
    "incorrect api key",
    "invalid api key",
    "invalid x-api-key",
    "no api key",
    "missing api key",
    "must provide an api key",
];

/// Words of money that is spent.
const SPENT: [&str; 4] =
    ["usage limits", "credit balance is too low", "insufficient balance", "insufficient credits"];

/// Words of a mistake of the caller's, told as one of the server's.
const NEVER: [&str; 4] = ["not supported", "unsupported", "does not support", "requires"];

/// What the caller can do.
pub(super) fn kind(status: Option<u16>, headers: &[(String, String)], said: &Said) -> FailureKind {
    let kind = by_code(status, said)
        .or_else(|| by_words(status, said))
        .unwrap_or_else(|| by_status(status, said));
    match (header(headers, "x-should-retry"), status) {
        (Some("false"), Some(429)) if kind.may_pass() => FailureKind::QuotaSpent,
        (Some("false"), _) if kind.may_pass() => FailureKind::Refused,
        (Some("true"), _) if kind == FailureKind::Refused => FailureKind::Busy,
        _ => kind,
    }
}

fn by_code(status: Option<u16>, said: &Said) -> Option<FailureKind> {
    let own = [said.kind.as_deref(), said.code.as_deref()];
    let all = own.into_iter().flatten().chain(said.reasons.iter().map(String::as_str));
    let all: Vec<String> = all.map(str::to_ascii_lowercase).collect();
    if all.iter().any(|code| code.contains("perday")) {
        return Some(FailureKind::QuotaSpent);
    }
    let codes = CODES.iter().filter(|(kind, _)| {
        // A request can be too large to be taken at any rate: the status and words decide that.
        *kind != FailureKind::Busy || (status != Some(413) && !says(said, &TOO_LONG))
    });
    let mut known = codes.filter(|(_, codes)| all.iter().any(|code| codes.contains(&&**code)));
    known.next().map(|(kind, _)| *kind)
}

fn by_words(status: Option<u16>, said: &Said) -> Option<FailureKind> {
    // A page's words are a proxy's.
    if said.odd == Some(Odd::Page) {
        return None;
    }
    let unsure = |known: &[u16]| status.is_none_or(|status| known.contains(&status));
    if unsure(&[400, 413, 422, 429, 500]) && says(said, &TOO_LONG) {
        Some(FailureKind::ContextTooLong)
    } else if unsure(&[400, 403, 429]) && says(said, &SPENT) {
        Some(FailureKind::QuotaSpent)
    } else if unsure(&[400]) && says(said, &BAD_KEY) {
        Some(FailureKind::Unauthorised)
    } else if unsure(&[500]) && says(said, &NEVER) {
        Some(FailureKind::Refused)
    } else {
        None
    }
}

fn by_status(status: Option<u16>, said: &Said) -> FailureKind {
    match status {
        Some(401 | 403 | 407) => FailureKind::Unauthorised,
        Some(402) => FailureKind::QuotaSpent,
        Some(413) => FailureKind::ContextTooLong,
        Some(408 | 409 | 425 | 429) => FailureKind::Busy,
        Some(501 | 505) => FailureKind::Refused,
        Some(500..) => FailureKind::Busy,
        Some(300..500) => FailureKind::Refused,
        Some(_) | None => in_stream(said),
    }
}

/// An error without a status, by its type.
fn in_stream(said: &Said) -> FailureKind {
    let own = [said.kind.as_deref(), said.code.as_deref()];
    let all: Vec<String> = own.into_iter().flatten().map(str::to_ascii_lowercase).collect();
    let begins = |start: &str| all.iter().any(|code| code.starts_with(start));
    if begins("server_error") || begins("api_error") || begins("timeout") || begins("internal") {
        FailureKind::Busy
    } else if begins("invalid") || begins("not_found") || begins("image_") {
        FailureKind::Refused
    } else {
        FailureKind::Protocol
    }
}

fn says(said: &Said, phrases: &[&str]) -> bool {
    let message = said.message.to_ascii_lowercase();
    phrases.iter().any(|phrase| message.contains(phrase))
}
