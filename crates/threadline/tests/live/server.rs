//! The server: started once for all tests of a process, and gone with it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

/// What the server reads and writes at most, of one request, where a test says nothing else.
pub(crate) const CONTEXT_TOKENS: u64 = 8_192;
/// How often a server is asked whether it is ready, or done, before it is given up.
const TRIES: u32 = 1_200;
/// How long is waited between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// A server that a test has for itself.
pub(crate) struct Server {
    port: u16,
    /// What it says, for whoever wonders.
    log: PathBuf,
    /// It ends when its standard input does, which is when this process does.
    process: std::sync::Mutex<Child>,
}

/// The server that all tests share.
static SHARED: LazyLock<Option<Server>> =
    LazyLock::new(|| installed().map(|folder| Server::start(&folder, CONTEXT_TOKENS)));
/// One test at a time: the model has one thread, and its answers should depend on nothing else.
static ALONE: Mutex<()> = Mutex::const_new(());

/// The server, for as long as the guard is held; none, with a word about it, if there is no model.
pub(crate) async fn shared() -> Option<(&'static Server, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().await;
    SHARED.as_ref().map(|server| (server, alone))
}

/// A server whose context is smaller; none, with a word about it, if there is no model.
pub(crate) async fn small(context_tokens: u64) -> Option<(Server, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().await;
    installed().map(|folder| (Server::start(&folder, context_tokens), alone))
}

/// The folder of the model.
#[expect(clippy::disallowed_methods, reason = "where the model is, and whether it must be there")]
fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os("THREADLINE_LOCAL_MODEL").map(PathBuf::from);
    let is_there = |folder: &PathBuf| folder.join("model.gguf").is_file();
    let found = folder.filter(is_there);
    if found.is_none() {
        let required = std::env::var("THREADLINE_TEST_REQUIRE").unwrap_or_default();
        assert!(
            !required.contains("local-model"),
            "THREADLINE_LOCAL_MODEL must name a folder that `.ci/local-model` has filled"
        );
        eprintln!(
            "skipped: there is no local model; `.ci/local-model FOLDER` installs one, and \
             THREADLINE_LOCAL_MODEL names that folder"
        );
    }
    found
}

impl Server {
    fn start(folder: &Path, context_tokens: u64) -> Self {
        // Whoever takes the port in between makes the server end, which is told.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/server");
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{port}.log"));
        let out = File::create(&log).unwrap();
        let errors = out.try_clone().unwrap();
        let process = Command::new(folder.join("venv/bin/python"))
            .arg(own.join("serve.py"))
            .arg(folder.join("model.gguf"))
            .args([port.to_string(), context_tokens.to_string()])
            .arg(own.join("tools.jinja"))
            .stdin(Stdio::piped())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .unwrap();
        let server = Self { port, log, process: process.into() };
        server.wait_until(|server| server.get("/health").starts_with("HTTP/1.1 200"));
        server
    }

    /// Where its paths begin.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Waits until it works on nothing, and tells the most tokens that it keeps of any request, its
    /// answer included.
    pub(crate) fn most_kept_when_idle(&self) -> u64 {
        self.wait_until(|server| !server.slots().contains("\"is_processing\":true"));
        let slots = self.slots();
        let kept = slots.split("\"n_prompt_tokens\":").skip(1);
        let number = |text: &str| text.split(',').next().unwrap_or_default().parse().unwrap();
        kept.map(number).max().unwrap()
    }

    /// What it works on, as it tells it.
    fn slots(&self) -> String {
        let slots = self.get("/slots");
        assert!(slots.contains("\"is_processing\":"), "{slots}");
        slots
    }

    fn wait_until(&self, is_so: impl Fn(&Self) -> bool) {
        let log = self.log.display();
        for _ in 0..TRIES {
            let ended = self.process.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            assert_eq!(ended.unwrap(), None, "the server ended: {log}");
            if is_so(self) {
                return;
            }
            thread::sleep(BETWEEN_TRIES);
        }
        panic!("the server takes too long: {log}");
    }

    /// All that it answers, as it comes over the wire; nothing if it is not there yet.
    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return answer };
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(process.stdin.take());
        drop(process.wait());
    }
}
