//! The limit that an error states: how many tokens a model takes at most.
//!
//! Only what is known to stand before or after a limit counts: such messages have other numbers,
//! too, and some of them are smaller.

use super::said::Said;

/// What stands right before a limit, in small letters.
const BEFORE: [&str; 17] = [
    // Anthropic: "210000 tokens > 200000 maximum", "188240 + 21333 > 200000".
    ">",
    "maximum context length is",
    "maximum context length of",
    "maximum prompt length is",
    "maximum model length is",
    "maximum model length of",
    "maximum number of tokens allowed",
    "available context size",
    "context window of",
    "context window is",
    "context length is",
    "context length of",
    "context limit of",
    "context limit is",
    "model token limit:",
    "model token limit is",
    // A request of more tokens than a minute allows is never taken.
    "(tpm): limit",
];
/// What stands right after a limit, in small letters.
const AFTER: [&str; 1] = ["maximum context length"];
/// What may stand between such words and a number: a bracket, a colon, a word or two.
const GAP_CAP_BYTES: usize = 16;
/// No model takes less, or more: another number is no limit in tokens.
const RANGE: std::ops::RangeInclusive<u64> = 256..=100_000_000;
/// Units of other limits.
const OTHER_UNITS: [&str; 4] = ["byte", "char", "kb", "mb"];

/// The limit that an error states, if it does.
pub(super) fn limit_tokens(said: &Said) -> Option<u64> {
    let window = said.window_tokens.filter(|tokens| RANGE.contains(tokens));
    window.or_else(|| in_words(&said.message.to_ascii_lowercase()))
}

/// The limit that words state.
fn in_words(message: &str) -> Option<u64> {
    let after = BEFORE.iter().flat_map(|words| message.match_indices(words));
    let after = after.filter_map(|(at, words)| first_number(message.get(at + words.len()..)?));
    let before = AFTER.iter().flat_map(|words| message.match_indices(words));
    let before = before.filter_map(|(at, _)| last_number(message.get(..at)?));
    after.chain(before).find(|tokens| RANGE.contains(tokens))
}

/// The number that a text begins with, after a small gap. Digits may be in groups.
fn first_number(text: &str) -> Option<u64> {
    let start = text.bytes().take(GAP_CAP_BYTES).position(|byte| byte.is_ascii_digit())?;
    let rest = text.get(start..)?;
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b',' | b'_');
    let (digits, unit) = rest.split_at(rest.bytes().take_while(is_part).count());
    let unit = unit.trim_start();
    if OTHER_UNITS.iter().any(|other| unit.starts_with(other)) {
        return None;
    }
    number(digits)
}

/// The number that a text ends with.
fn last_number(text: &str) -> Option<u64> {
    number(text.trim_end().rsplit(' ').next()?)
}

fn number(digits: &str) -> Option<u64> {
    let plain: String = digits.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::reply::told;

    #[test]
    fn the_limit_is_told_apart_from_other_numbers() {
        for (message, limit) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages \
                 resulted in 9000 tokens. Please reduce the length of the messages.",
                Some(8_192),
            ),
            (
                "This model's maximum context length is 4097 tokens. However, you requested 5000 \
                 tokens (3000 in the messages, 2000 in the completion).",
                Some(4_097),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, \
                 decrease input length or `max_tokens` and try again",
                Some(200_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
                 (1048576).",
                Some(1_048_576),
            ),
            (
                "request (2009 tokens) exceeds the available context size (512 tokens), try \
                 increasing it",
                Some(512),
            ),
            (
                "the request exceeds the available context size. try increasing the context size",
                None,
            ),
            (
                "Prompt contains 40000 tokens, too large for model with 32768 maximum context \
                 length",
                Some(32_768),
            ),
            (
                "Invalid request: Your request exceeded model token limit: 131072 (requested: \
                 140000)",
                Some(131_072),
            ),
            (
                "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested \
                 40000.",
                Some(30_000),
            ),
            ("maximum context length is 128,000 tokens", Some(128_000)),
            (
                "This model's maximum prompt length is 131072 but the request contains 140000 tokens",
                Some(131_072),
            ),
            ("Input is too long for requested model.", None),
            ("prompt is too long: it has > 5 parts", None),
            ("prompt is too long: 99999999999999999999999 > 99999999999999999999999", None),
            ("prompt is too long: 40000000 > 33554432 bytes", None),
        ] {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            let failed = told(Some(400), &[], body.as_bytes());
            assert_eq!(failed.limit_tokens, limit, "{message}");
        }
    }

    #[test]
    fn a_number_of_its_own_counts_first_and_only_of_requests_that_are_too_long() {
        let of = |kind: &str| {
            let error = serde_json::json!({
                "error": {"type": kind, "message": "maximum context length is 9000", "n_ctx": 4096}
            });
            told(Some(403), &[], error.to_string().as_bytes()).limit_tokens
        };
        assert_eq!(of("exceed_context_size_error"), Some(4_096));
        assert_eq!(of("permission_error"), None);
    }
}
