//! Faults over real sockets: each comes out as a typed error, in bounded time and memory.
//!
//! Memory is bounded by what the server gets rid of: what is not taken cannot be held.

use threadline_core::history::fact::FailureKind::{self, *};
use threadline_core::provider::Delta;
use threadline_providers::http::{BODY_CAP_BYTES, ERROR_CAP_BYTES, Timeouts};
use threadline_providers::sse::EVENT_CAP_BYTES;

use crate::server::{Server, Step};
use crate::wired::{
    Asker, HEAD, KEY, Outcome, ask, ends, piece, pieces_follow, says, short, whole,
};

/// What sockets may hold on both sides, generously.
const SOCKETS_BYTES: usize = 32 << 20;

#[track_caller]
fn failed(outcome: &Outcome, kind: FailureKind, words: &str) {
    let error = outcome.error.as_ref().unwrap_or_else(|| panic!("no error: {outcome:?}"));
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(words), "{words:?} is not in {:?}", error.message);
    assert!(error.message.chars().count() <= 300, "{error}");
    assert!(!error.message.contains(KEY), "{error}");
    let finished = outcome.deltas.iter().any(|delta| matches!(delta, Delta::Finished { .. }));
    assert!(!finished, "{outcome:?}");
}

/// Asks a server that does this, and checks what comes of it.
async fn check(steps: impl Into<Vec<Step>>, kind: FailureKind, words: &str) -> (Server, Outcome) {
    let server = Server::start(steps).await;
    let outcome = ask(&server).await;
    failed(&outcome, kind, words);
    assert_eq!(server.requests().len(), 1, "one request is sent once");
    (server, outcome)
}

fn send(text: impl Into<String>) -> Step {
    Step::Send(text.into().into_bytes())
}

#[tokio::test]
async fn no_answer_at_all() {
    check([Step::Hang], Unreachable, "did not answer within 700 ms").await;
}

#[tokio::test]
async fn a_head_that_never_ends() {
    let head = send("HTTP/1.1 200 OK\r\n");
    let drip = Step::Drip(b"x-a: b\r\n".to_vec());
    check([head, drip], Unreachable, "").await;
}

#[tokio::test]
async fn a_head_of_a_megabyte() {
    let long = format!("{HEAD}x-long: {}\r\n\r\n", "x".repeat(1 << 20));
    check([send(long), Step::Hang], Unreachable, "no answer of 127.0.0.1").await;
}

#[tokio::test]
async fn a_connection_that_is_closed_before_the_head() {
    check([Step::Close], Unreachable, "closed the connection without an answer").await;
    check([Step::Reset], Unreachable, "closed the connection without an answer").await;
}

#[tokio::test]
async fn something_else_than_http() {
    check([send("220 smtp.example ESMTP\r\n"), Step::Close], Unreachable, "no answer of").await;
}

#[tokio::test]
async fn nobody_is_there() {
    let server = Server::start([]).await;
    let base = server.base();
    drop(server);
    // The listener is gone once its task is.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let outcome = Asker::new(&base, short(), None).ask().await;
    failed(&outcome, Unreachable, "refused the connection; check that the server runs");
}

#[tokio::test]
async fn a_server_without_tls() {
    let server = Server::start([send("no tls here"), Step::Close]).await;
    let base = server.base().replace("http:", "https:");
    let outcome = Asker::new(&base, short(), None).ask().await;
    assert_eq!(outcome.error.as_ref().unwrap().kind, Unreachable);
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[tokio::test]
async fn an_address_that_is_none() {
    for base in ["ftp://somewhere", "not an address", "file:///somewhere"] {
        let outcome = Asker::new(base, short(), None).ask().await;
        failed(&outcome, Refused, "the base URL is not usable");
    }
}

#[tokio::test]
async fn half_an_answer() {
    let half = || [pieces_follow(), Step::Send(piece(says("half").as_bytes()))];
    let ends_so = [
        (Step::Hang, "stalled: nothing came for 700 ms"),
        (Step::Close, "broke off"),
        (Step::Reset, "broke off"),
        (send("7f\r\ndata: {\"cho"), ""),
        (send("nonsense\r\n"), "broke off"),
        (send("0\r\n\r\n"), ""),
    ];
    for (end, words) in ends_so {
        // What was sent has arrived before the connection is torn down.
        let steps = [&half()[..], &[Step::Wait(100), end, Step::Close]].concat();
        let (_, outcome) = check(steps, Protocol, words).await;
        assert_eq!(outcome.text(), "half", "what came before counts: {words}");
        assert!(outcome.error.unwrap().metadata.get("request_id").is_some(), "{words}");
    }
}

#[tokio::test]
async fn an_answer_that_was_ended_is_whole_whatever_follows() {
    let stop = ends().replace("data: [DONE]\n\n", "");
    for end in [Step::Hang, Step::Close, Step::Reset] {
        let steps = [
            pieces_follow(),
            Step::Send(piece((says("whole") + &stop).as_bytes())),
            Step::Wait(100),
            end,
        ];
        let outcome = ask(&Server::start(steps).await).await;
        assert!(outcome.is_finished() && outcome.text() == "whole", "{outcome:?}");
    }
}

#[tokio::test]
async fn signs_of_life_and_nothing_else() {
    let alive = Step::Drip(piece(b": alive\n\n"));
    let (server, _) = check([pieces_follow(), alive], Protocol, "only signs of life").await;
    server.hung_up().await;
}

#[tokio::test]
async fn an_answer_without_end() {
    let event = piece(says(&"x".repeat(64 << 10)).as_bytes());
    let steps = [pieces_follow(), Step::Repeat(event, 2000), Step::Hang];
    let (server, _) = check(steps, Protocol, "larger than 64 MiB").await;
    server.hung_up().await;
    assert!(server.sent_bytes() < BODY_CAP_BYTES + SOCKETS_BYTES, "{}", server.sent_bytes());
}

#[tokio::test]
async fn an_event_without_end() {
    let first = Step::Send(piece(b"data: "));
    let steps =
        [pieces_follow(), first, Step::Repeat(piece(&vec![b'x'; 64 << 10]), 2000), Step::Hang];
    let (server, _) = check(steps, Protocol, "an event of the answer is larger").await;
    server.hung_up().await;
    assert!(server.sent_bytes() < EVENT_CAP_BYTES + SOCKETS_BYTES, "{}", server.sent_bytes());
}

#[tokio::test]
async fn an_error_without_end() {
    let head = "HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n";
    let steps = [send(head), Step::Repeat(piece(&vec![b'x'; 64 << 10]), 2000), Step::Hang];
    let (server, _) = check(steps, Busy, "HTTP 500: xxx").await;
    server.hung_up().await;
    assert!(server.sent_bytes() < ERROR_CAP_BYTES + SOCKETS_BYTES, "{}", server.sent_bytes());
    let drip = [send(head), Step::Drip(piece(b"slow "))];
    check(drip, Busy, "HTTP 500: slow slow").await;
}

#[tokio::test]
async fn a_bomb() {
    let head = format!("{HEAD}content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n");
    let comments = format!(": {}\n", "x".repeat(255));
    let rows = [(comments, "larger than 64 MiB"), ("x".repeat(258), "an event of the answer")];
    for (line, words) in rows {
        let steps = [send(head.clone()), Step::Send(piece(&bomb(line.as_bytes()))), Step::Hang];
        let server = Server::start(steps).await;
        let outcome = Asker::new(&server.base(), Timeouts::default(), None).ask().await;
        failed(&outcome, Protocol, words);
    }
}

/// A quarter of a gigabyte, compressed: 258 bytes, and then again and again the last 258 bytes.
fn bomb(line: &[u8]) -> Vec<u8> {
    assert_eq!(line.len(), 258);
    let mut bits = vec![true, true, false];
    let mut code = |code: u32, length: u32| {
        bits.extend((0..length).rev().map(|place| code >> place & 1 == 1));
    };
    for byte in line {
        code(0x30 + u32::from(*byte), 8);
    }
    for _ in 0..(256 << 20) / line.len() {
        code(0b1100_0101, 8);
        code(0b10000, 5);
        code(0b100_0000, 7);
    }
    let bytes = bits.chunks(8).map(|eight| {
        eight.iter().enumerate().fold(0, |byte, (place, bit)| byte | u8::from(*bit) << place)
    });
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255].into_iter().chain(bytes).collect()
}

#[tokio::test]
async fn nothing_that_counts() {
    check([send("HTTP/1.1 204 No Content\r\n\r\n")], Protocol, "the answer is empty").await;
    check([whole(HEAD, "")], Protocol, "the answer is empty").await;
}

#[tokio::test]
async fn an_answer_of_another_kind() {
    let typed = |kind: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n");
    let rows = [
        (
            "text/html",
            "<html><title>Log in</title>",
            Refused,
            "titled “Log in”; check the base URL",
        ),
        ("application/json", r#"{"choices":[]}"#, Refused, "a whole answer came instead"),
        ("application/json; charset=utf-8", r#"{"error":{"message":"no","code":429}}"#, Busy, "no"),
        ("text/event-stream", r#"[{"error":{"code":503,"message":"later"}}]"#, Busy, "later"),
        (
            "text/plain",
            "{\n \"error\": {\n  \"code\": 401, \"message\": \"who\"}}",
            Unauthorised,
            "who",
        ),
        ("text/plain", "hello", Protocol, "not a stream of events: “hello”"),
        ("text/event-stream", "<html><title>Hi</title></html>", Refused, "titled “Hi”"),
        ("image/png", "\u{1}PNG", Protocol, "the answer is image/png"),
    ];
    for (kind, body, expected, words) in rows {
        check([whole(&typed(kind), body)], expected, words).await;
    }
}

#[tokio::test]
async fn a_page_that_tells_of_an_error() {
    let head = "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n";
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head></html>";
    check([whole(head, page)], Busy, "titled “502 Bad Gateway”").await;
}

#[tokio::test]
async fn an_error_that_repeats_the_key() {
    let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\n";
    let body = format!(r#"{{"error":{{"message":"wrong key: {KEY}"}}}}"#);
    check([whole(head, &body)], Unauthorised, "wrong key: [redacted: key]; check the key").await;
}

#[tokio::test]
async fn an_error_inside_the_answer() {
    let body = says("well") + "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n";
    let (_, outcome) = check([whole(HEAD, &body)], Busy, "overloaded").await;
    assert_eq!(outcome.text(), "well");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Server::start([whole(HEAD, &ends())]).await;
        let to = format!("{}/other", elsewhere.base());
        let head = format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\n");
        check([whole(&head, "")], Refused, &format!("points to {to}")).await;
        assert_eq!((elsewhere.connections(), elsewhere.requests().len()), (0, 0), "{status}");
    }
}
