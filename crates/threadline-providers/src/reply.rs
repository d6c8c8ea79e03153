//! What a reply that is no answer means: what the caller can do, in words for people. Pure.
//!
//! Providers and the proxies before them say the same few things in a dozen shapes. [`told`] reads
//! them all: an error's body with its status and headers, and an error inside a stream, which has
//! neither.

mod limit;
mod said;
mod signs;
mod times;
mod words;

use threadline_core::history::fact::FailureKind;
use threadline_core::history::metadata::{Metadata, Value};

use self::said::Said;
use crate::failed::Failed;

/// Reads what went wrong out of a reply: its status and headers, if it has its own, and its body.
///
/// ```
/// use threadline_core::history::fact::FailureKind;
/// use threadline_providers::reply::told;
///
/// let body = br#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
/// let failed = told(Some(429), &[("retry-after".to_owned(), "20".to_owned())], body);
/// assert_eq!(failed.kind, FailureKind::Busy);
/// assert_eq!(failed.retry_after_ms, Some(20_000));
/// ```
pub fn told(status: Option<u16>, headers: &[(String, String)], body: &[u8]) -> Failed {
    let said = Said::read(body);
    let status = status.or(said.status);
    let kind = signs::kind(status, headers, &said);
    let retry_after_ms = times::retry_after_ms(headers).or(said.retry_after_ms);
    let message = words::message(status, headers, kind, &said);
    let own = [
        ("status", status.map(|status| Value::Number(status.into()))),
        ("request_id", said.request_id.as_deref().map(value)),
        ("error_type", said.kind.as_deref().map(value)),
        ("error_code", said.code.as_deref().map(value)),
    ];
    let own = own.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let metadata = Metadata::fitted(own).joined(&metadata(headers));
    let is_too_long = kind == FailureKind::ContextTooLong;
    let limit_tokens = is_too_long.then(|| limit::limit_tokens(&said)).flatten();
    Failed { kind, message, retry_after_ms, limit_tokens, metadata }
}

/// What a reply's headers tell about it: its request id and what is left of the rate limits.
pub fn metadata(headers: &[(String, String)]) -> Metadata {
    // Of several request ids the first in this table counts.
    let known = HEADERS.iter().rev();
    Metadata::fitted(known.filter_map(|(name, key)| Some((*key, value(header(headers, name)?)))))
}

/// A header's value, by its name in small letters.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A stranger's word or two, made fit to be kept.
fn value(text: &str) -> Value {
    Value::Text(words::short(text, VALUE_CAP_CHARS))
}

/// The longest value that is taken over from a header or a field.
const VALUE_CAP_CHARS: usize = 120;

/// Headers that are kept, each under one name for all providers.
const HEADERS: [(&str, &str); 25] = [
    ("request-id", "request_id"),
    ("x-request-id", "request_id"),
    ("apim-request-id", "request_id"),
    ("mistral-correlation-id", "request_id"),
    ("x-amzn-requestid", "request_id"),
    ("cf-ray", "gateway_id"),
    ("openai-processing-ms", "processing_ms"),
    ("x-ratelimit-limit-requests", "requests_limit"),
    ("x-ratelimit-remaining-requests", "requests_remaining"),
    ("x-ratelimit-reset-requests", "requests_reset"),
    ("x-ratelimit-limit-tokens", "tokens_limit"),
    ("x-ratelimit-remaining-tokens", "tokens_remaining"),
    ("x-ratelimit-reset-tokens", "tokens_reset"),
    ("anthropic-ratelimit-requests-limit", "requests_limit"),
    ("anthropic-ratelimit-requests-remaining", "requests_remaining"),
    ("anthropic-ratelimit-requests-reset", "requests_reset"),
    ("anthropic-ratelimit-tokens-limit", "tokens_limit"),
    ("anthropic-ratelimit-tokens-remaining", "tokens_remaining"),
    ("anthropic-ratelimit-tokens-reset", "tokens_reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "input_tokens_remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "input_tokens_reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "output_tokens_remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "output_tokens_reset"),
    ("x-ratelimit-remaining", "requests_remaining"),
    ("x-ratelimit-reset", "requests_reset"),
];

#[cfg(test)]
mod tests;
