//! Peers: programs that call the server as often as they are told and say what that took.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use threadline_testing::bench::{Outcome, fact};

/// What some calls took, in seconds, and the bytes of text that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) time: f64,
    pub(crate) processor: f64,
    pub(crate) bytes: usize,
}

/// A peer that runs.
pub(crate) struct Peer {
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn begin(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let says = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut peer = Self { asks: child.stdin.take(), says, child };
        fact("against", peer.line()?);
        Ok(peer)
    }

    /// Makes some calls.
    pub(crate) fn call(&mut self, calls: usize) -> Outcome<Took> {
        writeln!(self.asks.as_mut().ok_or("no input")?, "{calls}")?;
        let line = self.line()?;
        let mut numbers = line.split(' ');
        let mut next = || numbers.next().ok_or("the peer says something else");
        let (time, processor) = (next()?.parse()?, next()?.parse()?);
        Ok(Took { time, processor, bytes: next()?.parse()? })
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.says.read_line(&mut line)? == 0 {
            return Err("the peer ended; what it printed says why".into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.asks.take());
        drop(self.child.wait());
    }
}
