//! Asking over a real socket: what is sent, when, and what comes of the answer.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tempfile::TempDir;
use threadline_core::context::{Context, System};
use threadline_core::history::fact::{CallOptions, Invocation, Purpose, Stop};
use threadline_core::history::metadata::Value;
use threadline_core::provider::{
    AnswerForm, Delta, DeltaStream, Profile, Provider as _, ProviderError, Request, Target,
    ToolChoice,
};
use threadline_core::tool::Catalogue;
use threadline_providers::access::{Access, KeyHeader, KeyRef};
use threadline_providers::capture::Capture;
use threadline_providers::dialect::Dialect;
use threadline_providers::http::{Call, Http, Timeouts};
use threadline_providers::quirks::Quirks;
use threadline_providers::wired::Wired;

use crate::server::{Server, Step};

/// The key of all tests. It looks like none.
pub(crate) const KEY: &str = "open-sesame";
/// Longer than anything here takes, however slow the machine is.
const FOREVER: Duration = Duration::from_mins(2);

/// A head of a stream without a length.
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: r1\r\n";

/// Short enough to wait for, long enough for a slow machine.
pub(crate) fn short() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(5),
        idle: Duration::from_millis(700),
        event: Duration::from_millis(1500),
    }
}

/// What an answer came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) error: Option<ProviderError>,
}

impl Outcome {
    /// What was said.
    pub(crate) fn text(&self) -> String {
        let text = self.deltas.iter().filter_map(|delta| match delta {
            Delta::Fragment { text, .. } => Some(&**text),
            _ => None,
        });
        text.collect()
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.deltas.last(), Some(Delta::Finished { .. })) && self.error.is_none()
    }
}

/// Whoever asks over the wire.
pub(crate) struct Asker {
    pub(crate) wired: Wired,
    _folder: TempDir,
}

impl Asker {
    /// Asks at this base URL with the key of all tests.
    pub(crate) fn new(base: &str, timeouts: Timeouts, capture: Option<Arc<Capture>>) -> Self {
        Self::with(base, timeouts, capture, Quirks::default())
    }

    /// Asks in a dialect.
    pub(crate) fn speaking(dialect: Dialect, base: &str) -> Self {
        Self::made(dialect, base, short(), None, Quirks::default())
    }

    fn with(base: &str, timeouts: Timeouts, capture: Option<Arc<Capture>>, quirks: Quirks) -> Self {
        Self::made(Dialect::OpenAiChat, base, timeouts, capture, quirks)
    }

    fn made(
        dialect: Dialect,
        base: &str,
        timeouts: Timeouts,
        capture: Option<Arc<Capture>>,
        quirks: Quirks,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, KEY).unwrap();
        let access = Access {
            dialect,
            url: format!("{base}/v1/chat/completions"),
            headers: vec![("x-own".to_owned(), "yes".to_owned())],
            key: Some((KeyHeader::Bearer, KeyRef::File(file))),
            quirks,
        };
        let accesses = BTreeMap::from([("there".into(), Arc::new(access))]);
        let wired = Wired::new(Http::new(timeouts).unwrap(), accesses, capture);
        Self { wired, _folder: folder }
    }

    pub(crate) fn stream(&self) -> DeltaStream {
        self.wired.invoke(request("there"))
    }

    pub(crate) async fn ask(&self) -> Outcome {
        read(self.stream()).await
    }
}

/// Asks a server once.
pub(crate) async fn ask(server: &Server) -> Outcome {
    Asker::new(&server.base(), short(), None).ask().await
}

async fn read(mut stream: DeltaStream) -> Outcome {
    let reading = async {
        let mut deltas = Vec::new();
        while let Some(next) = stream.next().await {
            match next {
                Ok(delta) => deltas.push(delta),
                Err(error) => {
                    assert!(stream.next().await.is_none(), "nothing follows an error");
                    return Outcome { deltas, error: Some(error) };
                }
            }
        }
        Outcome { deltas, error: None }
    };
    tokio::time::timeout(FOREVER, reading).await.expect("an answer in bounded time")
}

fn request(name: &str) -> Request {
    let invocation = Invocation {
        provider: "somebody".into(),
        endpoint: "there".into(),
        account: None,
        dialect: "openai-chat".into(),
        model: "model-1".into(),
    };
    let target =
        Target { name: name.into(), invocation, profile: Profile::unknown(), unusable: None };
    Request {
        target: Arc::new(target),
        purpose: Purpose::Step,
        context: Arc::new(Context { system: System::default(), parts: Vec::new() }),
        media: BTreeMap::new(),
        catalogue: Arc::new(Catalogue::default()),
        choice: ToolChoice::Free,
        form: AnswerForm::Text,
        options: CallOptions::default(),
        cache_key: None,
    }
}

/// An event of a chat that says something.
pub(crate) fn says(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n")
}

/// The events that end a chat.
pub(crate) fn ends() -> String {
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    format!("data: {stop}\n\ndata: [DONE]\n\n")
}

/// A whole answer with this body.
pub(crate) fn whole(head: &str, body: &str) -> Step {
    let length = body.len();
    Step::Send(format!("{head}content-length: {length}\r\n\r\n{body}").into_bytes())
}

/// One piece of a body of unknown length.
pub(crate) fn piece(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The head of a body of unknown length.
pub(crate) fn pieces_follow() -> Step {
    Step::Send(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").into_bytes())
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_announced() {
    let server = Server::start([whole(HEAD, &(says("hello") + &ends()))]).await;
    let asker = Asker::new(&server.base(), short(), None);
    let mut stream = asker.stream();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.connections(), 0, "nothing happens until it is polled");
    let first = stream.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(matches!(first, Delta::Prepared(_)), "{first:?}");
    assert_eq!(server.connections(), 0, "nothing is sent until it is polled again");

    let rest = read(stream).await;
    let Some(Delta::Started(head)) = rest.deltas.first() else { panic!("{rest:?}") };
    assert_eq!(head.get("request_id"), Some(&Value::Text("r1".to_owned())));
    assert_eq!(rest.text(), "hello");
    let Some(Delta::Finished { stop, .. }) = rest.deltas.last() else { panic!("{rest:?}") };
    assert_eq!(*stop, Stop::Done);

    let requests = server.requests();
    let [request] = &*requests else { panic!("{requests:?}") };
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    for line in [
        "authorization: Bearer open-sesame",
        "accept: text/event-stream",
        "content-type: application/json",
        "x-own: yes",
    ] {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{line} is not in {request}");
    }
    assert!(request.contains("\"model\":\"model-1\""), "{request}");
}

#[tokio::test]
async fn a_connection_is_used_again_unless_its_server_ends_them() {
    let end = [piece(ends().as_bytes()), b"0\r\n\r\n".to_vec()].concat();
    let steps = [pieces_follow(), Step::Send(piece(says("a").as_bytes())), Step::Send(end)];
    for (ends_connections, connections) in [(false, 1), (true, 3)] {
        let server = Server::start(steps.clone()).await;
        let quirks = Quirks { ends_connections, ..Quirks::default() };
        let asker = Asker::with(&server.base(), Timeouts::default(), None, quirks);
        for _ in 0..3 {
            assert!(asker.ask().await.is_finished());
        }
        assert_eq!((server.connections(), server.requests().len()), (connections, 3));
    }
}

/// As llama.cpp does. The server has a thread of its own: it goes on while the one that asks is held
/// up between two requests, as by a write to the disk.
#[tokio::test]
async fn a_connection_that_was_closed_after_an_answer_is_not_used_again() {
    let end = [piece(ends().as_bytes()), b"0\r\n\r\n".to_vec()].concat();
    let steps = vec![pieces_follow(), Step::Send(end), Step::Wait(1), Step::Close];
    let (tell, told) = std::sync::mpsc::channel();
    let (done, until) = tokio::sync::oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let server = Server::start(steps).await;
            tell.send(server.base()).unwrap();
            drop(until.await);
            (server.connections(), server.requests().len())
        })
    });
    let asker = Asker::new(&told.recv().unwrap(), Timeouts::default(), None);
    for _ in 0..5 {
        assert!(asker.ask().await.is_finished());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(done);
    assert_eq!(serving.join().unwrap(), (5, 5));
}

#[tokio::test]
async fn dropping_the_answer_ends_the_connection() {
    let steps = [pieces_follow(), Step::Send(piece(says("a").as_bytes())), Step::Hang];
    let server = Server::start(steps).await;
    let asker = Asker::new(&server.base(), Timeouts::default(), None);
    let mut stream = asker.stream();
    while !matches!(stream.next().await.unwrap().unwrap(), Delta::Fragment { .. }) {}
    drop(stream);
    tokio::time::timeout(FOREVER, server.hung_up()).await.expect("the connection is ended");
}

#[tokio::test]
async fn text_is_whole_however_the_bytes_are_cut() {
    let body = says("naïve 😀 日本") + &ends();
    let mut steps = vec![pieces_follow()];
    for byte in body.as_bytes() {
        steps.push(Step::Send(piece(&[*byte])));
    }
    steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
    let outcome = ask(&Server::start(steps).await).await;
    assert_eq!(outcome.text(), "naïve 😀 日本");
    assert!(outcome.is_finished(), "{outcome:?}");
}

#[tokio::test]
async fn a_last_event_without_its_blank_line_counts() {
    let body = says("a") + ends().trim_end();
    assert!(ask(&Server::start([whole(HEAD, &body)]).await).await.is_finished());
}

#[tokio::test]
async fn what_is_said_is_captured_without_the_key() {
    let body = says("the key is open-sesame") + &ends();
    let server = Server::start([whole(HEAD, &body)]).await;
    let folder = TempDir::new().unwrap();
    let capture = Arc::new(Capture::new(folder.path()).unwrap());
    let asker = Asker::new(&server.base(), short(), Some(capture));
    assert!(asker.ask().await.is_finished());
    drop(asker);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (request, response) = (read("0001-model-1.request.json"), read("0001-model-1.response"));
    assert!(request.contains(r#"["authorization","<redacted>"]"#), "{request}");
    assert!(response.starts_with("HTTP 200\r\n"), "{response}");
    assert!(response.contains("the key is [redacted: key]"), "{response}");
    assert!(response.ends_with("data: [DONE]\n\n"), "{response}");
    assert!(!request.contains(KEY) && !response.contains(KEY), "{request}\n{response}");
}

#[tokio::test]
async fn a_target_that_nobody_knows_is_refused() {
    let asker = Asker::new("http://127.0.0.1:1", short(), None);
    let outcome = read(asker.wired.invoke(request("elsewhere"))).await;
    assert!(outcome.deltas.is_empty());
    assert!(outcome.error.unwrap().to_string().contains("how elsewhere is reached"));
}

#[tokio::test]
async fn a_list_can_be_asked_for() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let server = Server::start([whole(head, r#"{"data":[]}"#)]).await;
    let http = Http::new(short()).unwrap();
    let url = format!("{}/v1/models", server.base());
    let mut answer = http.get(&Call { url: &url, headers: &[], key: None }).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.beginning(1 << 20).await, br#"{"data":[]}"#);
    assert!(server.requests()[0].starts_with("GET /v1/models HTTP/1.1"));
}
