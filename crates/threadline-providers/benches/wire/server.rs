//! A server that answers every request over HTTP with a stream of `OpenAI`'s Chat Completions: in a
//! process of its own, so that what it takes is not counted as ours.
//!
//! Most answers come at once, with one write for every piece. Those of `/held/` say one piece, wait
//! until everyone is to go on, and then say one every so often.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use threadline_testing::bench::{Outcome, line};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The pieces of an answer that comes at once.
pub(crate) const PIECES: usize = 20;
/// What every piece says.
pub(crate) const PIECE: &str = " the lamp is";

/// What tells this program that it is the server.
const WANTED: &str = "--serve";
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\nx-request-id: req_bench\r\n\r\n";

/// How held answers go on.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    pieces: usize,
    every: Duration,
}

/// Whether this program is the server.
pub(crate) fn is_wanted() -> bool {
    std::env::args().nth(1).is_some_and(|first| first == WANTED)
}

/// Serves until its input ends. A line of input lets held answers go on: how many pieces, and how
/// many milliseconds between them.
pub(crate) fn serve() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        line(&listener.local_addr()?.port().to_string());
        let (pace, held) = watch::channel(Pace::default());
        let accepting = async {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (connection, _) = accepted?;
                        connection.set_nodelay(true)?;
                        connections.spawn(connected(connection, held.clone()));
                    }
                    Some(ended) = connections.join_next() => ended?,
                }
            }
        };
        let input = tokio::task::spawn_blocking(move || paced(&pace));
        tokio::select! {
            ended = accepting => ended,
            ended = input => ended?,
        }
    })
}

/// Hears how held answers go on.
fn paced(pace: &watch::Sender<Pace>) -> Outcome<()> {
    for told in std::io::stdin().lock().lines() {
        let told = told?;
        let (pieces, milliseconds) = told.split_once(' ').ok_or("two numbers are expected")?;
        let every = Duration::from_millis(milliseconds.parse()?);
        pace.send_replace(Pace { pieces: pieces.parse()?, every });
    }
    Ok(())
}

/// Answers the requests of one connection, until it ends.
async fn connected(mut connection: TcpStream, mut held: watch::Receiver<Pace>) {
    let mut input = Vec::new();
    while let Some(is_held) = asked(&mut connection, &mut input).await {
        let answered = if is_held {
            slowly(&mut connection, &mut held).await
        } else {
            at_once(&mut connection).await
        };
        if answered.is_err() {
            return;
        }
    }
}

/// Reads a request: whether its answer is to be held, or nothing at the end of the connection.
async fn asked(connection: &mut TcpStream, input: &mut Vec<u8>) -> Option<bool> {
    loop {
        if let Some((length, is_held)) = whole(input) {
            input.drain(..length);
            return Some(is_held);
        }
        if connection.read_buf(input).await.ok()? == 0 {
            return None;
        }
    }
}

/// The length of the request, once it is whole, and whether its answer is to be held.
fn whole(input: &[u8]) -> Option<(usize, bool)> {
    let text = String::from_utf8_lossy(input);
    let (head, _) = text.split_once("\r\n\r\n")?;
    let head = head.to_ascii_lowercase();
    let body = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = head.len() + 4 + body.and_then(|body| body.trim().parse().ok()).unwrap_or(0);
    let is_held = head.lines().next().is_some_and(|first| first.contains("/held/"));
    (input.len() >= length).then_some((length, is_held))
}

async fn at_once(connection: &mut TcpStream) -> std::io::Result<()> {
    let piece = chunk(&piece());
    connection.write_all(format!("{HEAD}{piece}").as_bytes()).await?;
    for _ in 1..PIECES {
        connection.write_all(piece.as_bytes()).await?;
    }
    connection.write_all(last().as_bytes()).await
}

async fn slowly(
    connection: &mut TcpStream,
    held: &mut watch::Receiver<Pace>,
) -> std::io::Result<()> {
    held.mark_unchanged();
    let piece = chunk(&piece());
    connection.write_all(format!("{HEAD}{piece}").as_bytes()).await?;
    if held.changed().await.is_err() {
        return Ok(());
    }
    let Pace { pieces, every } = *held.borrow();
    // As many do in life, they come at times of their own.
    let port = connection.peer_addr()?.port();
    sleep(every.mul_f64(f64::from(port % 100) / 100.0)).await;
    for _ in 0..pieces {
        connection.write_all(piece.as_bytes()).await?;
        sleep(every).await;
    }
    connection.write_all(last().as_bytes()).await
}

fn piece() -> String {
    event(&json!({"content": PIECE}), None)
}

/// The end of the events and of the bytes, in one write: whoever stops at the first has the second
/// at hand, and can use the connection again.
fn last() -> String {
    let stop = chunk(&event(&json!({}), Some("stop")));
    format!("{stop}{}0\r\n\r\n", chunk("data: [DONE]\n\n"))
}

fn event(delta: &serde_json::Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
    let data = json!({"id": "chatcmpl-DcLQgbFetadY4JFl0fHK0g7OYsCOL",
        "object": "chat.completion.chunk", "created": 1_778_031_210,
        "model": "gpt-4o-mini-2024-07-18", "service_tier": "default",
        "system_fingerprint": "fp_57133166c6", "choices": [choice], "usage": null});
    format!("data: {data}\n\n")
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The server, as the bench sees it. It ends with this.
pub(crate) struct Server {
    child: Child,
    asks: Option<ChildStdin>,
    /// Where it is.
    pub(crate) origin: String,
}

impl Server {
    pub(crate) fn begin() -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(WANTED)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut port)?;
        let port: u16 = port.trim().parse()?;
        Ok(Self { asks: child.stdin.take(), child, origin: format!("http://127.0.0.1:{port}") })
    }

    /// Lets held answers go on.
    pub(crate) fn go_on(&mut self, pieces: usize, every: Duration) -> Outcome<()> {
        let asks = self.asks.as_mut().ok_or("no input")?;
        Ok(writeln!(asks, "{pieces} {}", every.as_millis())?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.asks.take());
        drop(self.child.wait());
    }
}
