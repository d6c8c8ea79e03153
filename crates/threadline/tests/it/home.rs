//! A home folder for one test, and the program run in it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use threadline_core::transfer::line::Line;
use threadline_testing::notation;

/// The conversation that stories are told in.
pub(crate) const TALK: &str = "019b76da-a800-7000-8000-000000000001";

/// A home folder that is gone when the test is.
pub(crate) struct Home(TempDir);

impl Home {
    /// A home of someone who has never run the program.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A home whose database holds a story as [`TALK`].
    pub(crate) fn with(story: &str) -> Self {
        let home = Self::new();
        home.write("talk.threadline.jsonl", export_of(story));
        home.run(&["import", "talk.threadline.jsonl"]).ok();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Where the database is if nobody says otherwise.
    pub(crate) fn database(&self) -> PathBuf {
        self.path(".local/share/threadline/threadline.db")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The program, with nothing of the environment but this home.
    pub(crate) fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadline"));
        command.args(arguments).env_clear().env("HOME", self.0.path()).current_dir(self.0.path());
        // Whatever runs on this machine is none of a test's business.
        for name in ["VLLM_BASE_URL", "OLLAMA_BASE_URL", "LLAMA_BASE_URL"] {
            command.env(name, "http://127.0.0.1:1/v1");
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(self.command(arguments).output().unwrap())
    }

    /// Runs the program with something said in the environment.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        self.ran(self.command(arguments).envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn feed(&self, bytes: &[u8], arguments: &[&str]) -> Ran {
        self.feed_command(self.command(arguments), bytes)
    }

    /// Runs a command with something on its standard input.
    pub(crate) fn feed_command(&self, mut command: Command, bytes: &[u8]) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that stops reading early has said why.
        drop(child.stdin.take().unwrap().write_all(bytes));
        self.ran(child.wait_with_output().unwrap())
    }

    /// Has a script followed instead of a model, with tools that add lines to `ledger`.
    pub(crate) fn follows(&self, script: &str) {
        self.write("script", script);
        let config = "[dev]\nscript = \"../../script\"\nledger = \"../../ledger\"\n";
        self.write(".config/threadline/config.toml", config);
    }

    /// The lines that tools have added, without the keys of their effects.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("ledger")).unwrap_or_default();
        let line = |line: &str| line.rsplit_once(' ').unwrap().0.to_owned();
        text.lines().map(line).collect()
    }

    /// Starts a task that is still under way when this returns.
    pub(crate) fn start(&self, arguments: &[&str]) -> Started {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        let id = match serde_json::from_str::<Value>(&line) {
            Ok(told) => told["id"].as_str().unwrap().to_owned(),
            Err(_) => line.trim().strip_prefix("conversation ").unwrap().to_owned(),
        };
        Started { child, told, id }
    }

    /// All entries of a conversation.
    pub(crate) fn entries(&self, id: &str) -> Vec<Value> {
        let shown = self.run(&["show", id, "--all", "--json"]).json();
        shown["entries"].as_array().unwrap().clone()
    }

    /// The bodies of a conversation's entries of a kind.
    pub(crate) fn bodies(&self, id: &str, kind: &str) -> Vec<Value> {
        let entries = self.entries(id).into_iter().filter(|entry| entry["kind"] == kind);
        entries.map(|entry| entry["body"].clone()).collect()
    }

    /// Waits until a conversation has an entry of a kind.
    pub(crate) fn await_entry(&self, id: &str, kind: &str) {
        for _ in 0..3_000 {
            if !self.bodies(id, kind).is_empty() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("no {kind} in {:#?}", self.entries(id));
    }

    pub(crate) fn ran(&self, output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap(),
            bytes: output.stdout.clone(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            home: self.0.path().to_str().unwrap().to_owned(),
        }
    }
}

/// A run of the program that is under way.
pub(crate) struct Started {
    child: Child,
    told: BufReader<ChildStderr>,
    /// The conversation.
    pub(crate) id: String,
}

impl Started {
    /// Kills it, without a word.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.id
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for its end: its exit code, what it printed, and what else it told.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.told.read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out, err)
    }
}

/// What a run of the program gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) out: String,
    pub(crate) err: String,
    home: String,
}

impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n{}\n--- standard error\n{}", self.code, self.out, self.err)
    }
}

impl Ran {
    /// What was printed, if all went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:#?}");
        self.out
    }

    /// The JSON that was printed, if all went well.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// What was told of an error; nothing was printed beside it.
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:#?}");
        assert_eq!(self.out, "", "an error is told on standard error");
        self.told()
    }

    /// What was told on standard error.
    pub(crate) fn told(&self) -> String {
        redacted(&self.err, &self.home)
    }

    /// All of it as a snapshot: output, standard error, exit code.
    pub(crate) fn shown(&self) -> String {
        let mut text = redacted(&self.out, &self.home);
        if !self.err.is_empty() {
            text.push_str("--- standard error\n");
            text.push_str(&self.told());
        }
        if self.code != 0 {
            writeln!(text, "--- exit code {}", self.code).unwrap();
        }
        text
    }
}

/// Says something beside the results of tests.
#[expect(clippy::print_stderr, reason = "who reads the results wants to know what was skipped")]
pub(crate) fn remark(text: &str) {
    eprintln!("{text}");
}

/// The export of a story, as [`TALK`].
pub(crate) fn export_of(story: &str) -> Vec<u8> {
    let story = notation::parse(story).unwrap();
    let mut bytes = Vec::new();
    Line::Header(TALK.parse().unwrap()).write(&mut bytes).unwrap();
    let placed = story.batches().iter().flat_map(|batch| &batch.entries);
    for placed in placed {
        Line::Entry((*placed.record).clone()).write(&mut bytes).unwrap();
    }
    let history = story.history();
    Line::End(history.head(), history.head_hash()).write(&mut bytes).unwrap();
    bytes
}

/// Text without what differs from run to run: folders, how long a run took, and ids that were made up.
fn redacted(text: &str, home: &str) -> String {
    let mut text = text.replace(home, "~");
    for minutes in 1..60 {
        text = text.replace(&format!("{minutes} min ago"), "just now");
    }
    let mut seen: Vec<String> = vec![TALK.to_owned()];
    let mut redacted = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if let Some(id) = rest.get(..36).filter(|id| is_id(id)) {
            let number = seen.iter().position(|known| known == id).unwrap_or_else(|| {
                seen.push(id.to_owned());
                seen.len() - 1
            });
            match number {
                0 => redacted.push_str("<talk>"),
                _ => write!(redacted, "<id {number}>").unwrap(),
            }
            rest = &rest[36..];
        } else {
            redacted.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    redacted
}

fn is_id(text: &str) -> bool {
    text.char_indices().all(|(at, c)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    })
}
