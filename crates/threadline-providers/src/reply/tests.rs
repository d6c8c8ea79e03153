//! Replies of all shapes, and what they mean.

use FailureKind::{Busy, ContextTooLong, Protocol, QuotaSpent, Refused, Unauthorised};
use proptest::prelude::*;
use threadline_core::history::fact::FailureKind;

use super::*;

fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[track_caller]
fn check(status: Option<u16>, body: &str, kind: FailureKind, part: &str) -> Failed {
    let failed = told(status, &[], body.as_bytes());
    assert_eq!(failed.kind, kind, "{status:?} {body}\n{}", failed.message);
    assert!(failed.message.contains(part), "{part:?} is not in {:?}", failed.message);
    assert!(failed.message.chars().count() <= 300, "{}", failed.message);
    failed
}

#[test]
fn every_shape_says_what_the_caller_can_do() {
    let rows = [
        (
            Some(401),
            r#"{"error":{"message":"Incorrect API key provided: sk-inval*****-key.","code":"invalid_api_key"}}"#,
            Unauthorised,
            "provided: <redacted>; check the key",
        ),
        (
            Some(400),
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
            Unauthorised,
            "API key not valid",
        ),
        (
            Some(400),
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***3f."}"#,
            Unauthorised,
            "Incorrect API key",
        ),
        (
            Some(401),
            r#"{"detail":"Could not parse your authentication token."}"#,
            Unauthorised,
            "authentication token",
        ),
        (
            Some(401),
            r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}"#,
            Unauthorised,
            "Access denied",
        ),
        (Some(407), "", Unauthorised, "credentials of the proxy"),
        (
            Some(403),
            r#"{"type":"error","error":{"type":"permission_error","message":"no access"}}"#,
            Unauthorised,
            "may use this model",
        ),
        (
            Some(403),
            r#"{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"…"}}}"#,
            Refused,
            "flagged",
        ),
        (
            Some(402),
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            QuotaSpent,
            "add credit",
        ),
        (
            Some(429),
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            QuotaSpent,
            "raise the limit",
        ),
        (
            Some(429),
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            QuotaSpent,
            "limit",
        ),
        (
            Some(400),
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}"#,
            QuotaSpent,
            "usage limits",
        ),
        (
            Some(429),
            r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]"#,
            QuotaSpent,
            "quota",
        ),
        (
            Some(429),
            r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
            Busy,
            "HTTP 429: Rate limit reached",
        ),
        (
            Some(429),
            r#"{"error":{"message":"Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ContextTooLong,
            "too large",
        ),
        (Some(429), "", Busy, "nothing was said"),
        (
            Some(529),
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Busy,
            "Overloaded",
        ),
        (
            Some(503),
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            Busy,
            "Loading model",
        ),
        (
            Some(500),
            r#"{"error":{"message":"The server had an error","type":"server_error"}}"#,
            Busy,
            "had an error",
        ),
        (
            Some(500),
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
            Refused,
            "--jinja",
        ),
        (
            Some(500),
            r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
            Refused,
            "mmproj",
        ),
        (
            Some(502),
            "<html>\r\n<head><TITLE>502 Bad Gateway</TITLE></head><body>context window</body></html>",
            Busy,
            "titled “502 Bad Gateway”",
        ),
        (Some(403), "<!DOCTYPE html><html><body>blocked</body></html>", Unauthorised, "a web page"),
        (
            Some(413),
            "<html><h1>413 Request Entity Too Large</h1></html>",
            ContextTooLong,
            "Too Large”",
        ),
        (
            Some(400),
            r#"{"error":{"code":400,"message":"request (2009 tokens) exceeds the available context size (512 tokens), try increasing it","n_ctx":512,"type":"exceed_context_size_error"}}"#,
            ContextTooLong,
            "2009 tokens",
        ),
        (
            Some(400),
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextTooLong,
            "210000",
        ),
        (
            Some(400),
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
            ContextTooLong,
            "8192",
        ),
        (
            Some(400),
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ContextTooLong,
            "1048576",
        ),
        (
            Some(400),
            r#"{"error":{"code":"content_filter","message":"The response was filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            Refused,
            "filtered",
        ),
        (
            Some(400),
            r#"{"object":"error","code":"1500","message":"Invalid model: no-such","type":"invalid_model","raw_status_code":400}"#,
            Refused,
            "no-such",
        ),
        (
            Some(422),
            r#"{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"value_error"}]}"#,
            Refused,
            "body.messages.0: field required",
        ),
        (
            Some(422),
            r#"{"object":"error","message":{"detail":[{"loc":["body"],"msg":"bad"}]},"type":"invalid_request_error"}"#,
            Refused,
            "body: bad",
        ),
        (
            Some(404),
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#,
            Refused,
            "check the model's name",
        ),
        (
            Some(400),
            r#"{"code":"invalid-argument","error":"Model not found: grok-x"}"#,
            Refused,
            "grok-x",
        ),
        (
            Some(429),
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"slow down a bit\"}}","provider_name":"Someone"}}}"#,
            Busy,
            "slow down a bit",
        ),
        (
            Some(400),
            r#"{"error":{"message":"Failed to call a function","code":"tool_use_failed","failed_generation":"x"}}"#,
            Protocol,
            "call a function",
        ),
        (Some(404), "404 page not found", Refused, "404: 404 page not found"),
        (Some(500), "\u{0}\u{1}\u{2}", Busy, "cannot be read"),
        (
            None,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Busy,
            "Overloaded",
        ),
        (
            None,
            r#"{"type":"error","code":"server_error","message":"oops","param":null}"#,
            Busy,
            "oops",
        ),
        (
            None,
            r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"wait"}}}"#,
            Busy,
            "wait",
        ),
        (
            None,
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}"#,
            Refused,
            "no",
        ),
        (
            None,
            r#"{"error":{"code":502,"message":"Upstream is gone"}}"#,
            Busy,
            "HTTP 502: Upstream",
        ),
        (None, r#"{"error":{"message":"What is this"}}"#, Protocol, "What is this"),
        (
            None,
            r#"event: error
data: {"error":{"message":"Failed","code":"tool_use_failed","status_code":400}}"#,
            Protocol,
            "Failed",
        ),
        (None, "", Protocol, "nothing was said"),
        (Some(200), "{}", Protocol, "without any words"),
    ];
    for (status, body, kind, part) in rows {
        check(status, body, kind, part);
    }
}

#[test]
fn a_redirect_is_refused_and_names_where_to() {
    let to = headers(&[("Location", "https://elsewhere.example/v1?key=AIzaSyDEADBEEF")]);
    let failed = told(Some(307), &to, b"<html>");
    assert_eq!(failed.kind, Refused);
    assert_eq!(
        failed.message,
        "the server points to https://elsewhere.example/v1, which is not followed; set the base URL"
    );
}

/// Headers, a body, and how long to wait.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<u64>);

#[test]
fn the_time_to_wait_is_read_from_wherever_it_is() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let rows: [Row<'_>; 12] = [
        (&[("retry-after", "20")], "", Some(20_000)),
        (&[("Retry-After", "1.5")], "", Some(1500)),
        (&[("retry-after-ms", "250"), ("retry-after", "1")], "", Some(250)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), ("date", date)], "", Some(60_000)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT"), ("date", date)], "", Some(0)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], "", None),
        (&[("retry-after", "-3")], "", None),
        (&[("retry-after", "NaN")], "", None),
        (&[("retry-after", "1e300")], "", None),
        (&[], r#"{"error":{"details":[{"retryDelay":"34.4s"}]}}"#, Some(34_400)),
        (&[], r#"{"error":{"message":"Please try again in 1m3.5s. Visit"}}"#, Some(63_500)),
        (&[], r#"{"error":{"message":"try again in a while"}}"#, None),
    ];
    for (given, body, expected) in rows {
        let failed = told(Some(429), &headers(given), body.as_bytes());
        assert_eq!(failed.retry_after_ms, expected, "{given:?} {body}");
    }
}

#[test]
fn the_providers_own_word_on_retrying_counts() {
    let kind =
        |status, said: &str| told(Some(status), &headers(&[("x-should-retry", said)]), b"").kind;
    assert_eq!(kind(429, "false"), QuotaSpent);
    assert_eq!(kind(500, "false"), Refused);
    assert_eq!(kind(400, "true"), Busy);
    assert_eq!(kind(401, "true"), Unauthorised);
}

#[test]
fn metadata_has_one_name_for_all_providers() {
    let given = headers(&[
        ("x-request-id", "req_1"),
        ("x-ratelimit-remaining-tokens", "9"),
        ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:00Z"),
        ("set-cookie", "secret"),
    ]);
    let failed = told(Some(429), &given, br#"{"error":{"type":"t","code":7},"request_id":"b"}"#);
    let shown: Vec<String> =
        failed.metadata.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    error_code=Text("7")
    error_type=Text("t")
    request_id=Text("req_1")
    requests_reset=Text("2026-01-01T00:00:00Z")
    status=Number(429)
    tokens_remaining=Text("9")
    "#);
}

#[test]
fn of_several_request_ids_the_providers_own_counts() {
    let given = headers(&[("apim-request-id", "gateway"), ("x-request-id", "own")]);
    assert_eq!(metadata(&given).get("request_id"), Some(&Value::Text("own".to_owned())));
}

#[test]
fn keys_are_not_echoed() {
    let keys = [
        "sk-proj-abc123def456",
        "sk-ant-api03-xyz",
        "AIzaSyA1234567890",
        "gsk_0123456789",
        "0123456789abcdef0123456789abcdef",
        "q1W2e3R4t5Y6u7I8o9P0q1W2e3R4t5Y6u7I8",
    ];
    for key in keys {
        for text in [format!("bad key {key}."), format!("'{key}'"), format!("/v1?key={key}&a=b")] {
            let body = serde_json::json!({"error": {"message": text, "code": key}}).to_string();
            let failed = told(Some(401), &headers(&[("x-request-id", key)]), body.as_bytes());
            assert!(!format!("{failed:?}").contains(key), "{failed:?}");
        }
    }
    let failed = check(Some(401), "Authorization: Bearer hunter2hunter2", Unauthorised, "Bearer");
    assert!(!failed.message.contains("hunter2"), "{failed:?}");
    check(
        Some(404),
        "gpt-4o-mini-nonexistent-rig-test-a1",
        Refused,
        "gpt-4o-mini-nonexistent-rig-test-a1",
    );
}

#[test]
fn an_error_without_words_is_told_in_ours() {
    for body in [".", " ...", r#"{"error":{"message":"."}}"#, r#"{"error":{"message":""}}"#, "{}"] {
        let message = told(None, &[], body.as_bytes()).message;
        assert!(message.starts_with("an error without any words"), "{body}: {message}");
    }
}

#[test]
fn a_body_of_any_size_gives_a_short_message() {
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "no \u{1b}[2J ".repeat(20_000));
    let failed = check(Some(400), &long, Refused, "␛[2J");
    assert!(failed.message.ends_with('…'));
    let endless = vec![b'x'; 100 << 20];
    assert!(told(Some(500), &[], &endless).message.chars().count() <= 300);
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check(Some(400), &nested, Refused, "[[");
}

proptest! {
    #[test]
    fn any_reply_is_told(
        status in prop::option::of(any::<u16>()),
        given in prop::collection::vec(("(retry-after|date|location|x-request-id|x-should-retry)", "\\PC{0,40}"), 0..4),
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let failed = told(status, &given, &body);
        prop_assert!(failed.message.chars().count() <= 300, "{}", failed.message);
        prop_assert_eq!(failed.metadata.check(), Ok(()));
    }

    #[test]
    fn any_json_is_told(
        status in prop::option::of(300u16..600),
        fields in prop::collection::vec((
            "(error|message|detail|details|code|type|metadata|raw|response|errors|status|innererror)",
            "(\"\\PC{0,20}\"|[0-9]{1,4}|null|\\[\\]|\\{\\}|\\[\\{\"message\":\"x\"\\}\\]|\\{\"message\":\"y\",\"error\":\"z\"\\})",
        ), 0..6),
    ) {
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let failed = told(status, &[], format!("{{{}}}", fields.join(",")).as_bytes());
        prop_assert!(!failed.message.is_empty());
    }
}

#[test]
fn a_message_is_never_too_long() {
    let long = "x ".repeat(400);
    for body in [
        format!(r#"{{"error":{{"type":"{long}"}}}}"#),
        format!(r#"{{"error":{{"message":"{long}","code":"{long}"}}}}"#),
        format!("<html><title>{long}</title></html>"),
        long,
    ] {
        for status in [None, Some(401), Some(404), Some(429), Some(500)] {
            let message = told(status, &[], body.as_bytes()).message;
            assert!(message.chars().count() <= 300, "{message}");
        }
    }
}
