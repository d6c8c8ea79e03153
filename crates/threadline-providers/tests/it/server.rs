//! A server on a real socket that does exactly what it is told, right or wrong.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// One thing that the server does once it has read a request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes so often.
    Repeat(Vec<u8>, usize),
    /// Sends these bytes every few milliseconds until nobody listens.
    Drip(Vec<u8>),
    /// Waits for so many milliseconds.
    Wait(u64),
    /// Does nothing more until the other side hangs up.
    Hang,
    /// Ends the connection as it should be ended.
    Close,
    /// Tears the connection down.
    Reset,
}

/// A server that treats every request alike. Dropping it stops it.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
    _accepting: JoinSet<()>,
}

/// What the server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
    sent_bytes: AtomicUsize,
    hung_up: Notify,
}

impl Server {
    /// Starts one.
    pub(crate) async fn start(steps: impl Into<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, steps) = (Arc::new(Seen::default()), steps.into());
        let mut accepting = JoinSet::new();
        let its_seen = Arc::clone(&seen);
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                its_seen.connections.fetch_add(1, Ordering::SeqCst);
                serving.spawn(serve(stream, steps.clone(), Arc::clone(&its_seen)));
            }
        });
        Self { address, seen, _accepting: accepting }
    }

    /// Its address, as the beginning of a URL.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// How many bytes it got rid of.
    pub(crate) fn sent_bytes(&self) -> usize {
        self.seen.sent_bytes.load(Ordering::SeqCst)
    }

    /// Every request as it came, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Waits until the other side has ended a connection.
    pub(crate) async fn hung_up(&self) {
        self.seen.hung_up.notified().await;
    }
}

async fn serve(mut stream: TcpStream, steps: Vec<Step>, seen: Arc<Seen>) {
    while let Some(request) = read_request(&mut stream).await {
        seen.requests.lock().unwrap().push(request);
        for step in &steps {
            if !take(step, &mut stream, &seen).await {
                return;
            }
        }
    }
    seen.hung_up.notify_one();
}

/// Takes a step; whether the connection is still there.
async fn take(step: &Step, stream: &mut TcpStream, seen: &Seen) -> bool {
    match step {
        Step::Send(bytes) => send(stream, bytes, seen).await,
        Step::Repeat(bytes, times) => {
            for _ in 0..*times {
                if !send(stream, bytes, seen).await {
                    return false;
                }
            }
            true
        }
        Step::Drip(bytes) => {
            while send(stream, bytes, seen).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            false
        }
        Step::Wait(millis) => {
            tokio::time::sleep(Duration::from_millis(*millis)).await;
            true
        }
        Step::Hang => {
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(1..)) {}
            seen.hung_up.notify_one();
            false
        }
        Step::Close => {
            stream.shutdown().await.unwrap_or_default();
            false
        }
        Step::Reset => {
            stream.set_zero_linger().unwrap();
            false
        }
    }
}

async fn send(stream: &mut TcpStream, bytes: &[u8], seen: &Seen) -> bool {
    let sent = stream.write_all(bytes).await.is_ok();
    if sent {
        seen.sent_bytes.fetch_add(bytes.len(), Ordering::SeqCst);
    } else {
        seen.hung_up.notify_one();
    }
    sent
}

/// A whole request; none if the other side has hung up.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
