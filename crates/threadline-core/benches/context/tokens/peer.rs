//! The Python package `tiktoken`, in a process of its own.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::Outcome;
use threadline_testing::bench::fact;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers/tiktoken_counts.py");

/// A process that counts the texts it is told of and says what that took.
pub(crate) struct Python {
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    text: PathBuf,
}

impl Python {
    /// Starts it. The package downloads its vocabulary; it is given ours, in the form of that
    /// download, and checks that it is the same by its hash.
    pub(crate) fn begin(python: &Path, folder: &Path) -> Outcome<Self> {
        let vocabulary = folder.join("o200k_base.tiktoken");
        std::fs::write(&vocabulary, ranks()?)?;
        let mut child = Command::new(python)
            .arg(SCRIPT)
            .arg(&vocabulary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = BufReader::new(child.stdout.take().ok_or("no output")?);
        let text = folder.join("text");
        let mut peer = Self { asks: child.stdin.take(), says, child, text };
        fact("against", peer.line()?);
        Ok(peer)
    }

    /// Its count of a text, and the processor time it took.
    pub(crate) fn count(&mut self, text: &str) -> Outcome<(usize, Duration)> {
        std::fs::write(&self.text, text)?;
        writeln!(self.asks.as_mut().ok_or("no input")?, "{}", self.text.display())?;
        let line = self.line()?;
        let (seconds, count) = line.split_once(' ').ok_or("the peer says something else")?;
        Ok((count.parse()?, Duration::from_secs_f64(seconds.parse()?)))
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.says.read_line(&mut line)? == 0 {
            return Err("the peer ended; what it printed says why".into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.asks.take());
        drop(self.child.wait());
    }
}

/// The vocabulary as it is published: a line for each token, its bytes in base64 and its rank.
fn ranks() -> Outcome<String> {
    let vocabulary = tiktoken::get_encoding("o200k_base").ok_or("no o200k")?;
    let mut lines = String::new();
    for rank in 0..u32::try_from(vocabulary.vocab_size())? {
        writeln!(lines, "{} {rank}", BASE64_STANDARD.encode(vocabulary.decode(&[rank])))?;
    }
    Ok(lines)
}
