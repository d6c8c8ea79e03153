//! Standard input, line by line, on a thread of its own.

use std::io::{self, BufRead};
use std::thread;

use threadline_core::tool::WHOLE_CAP_BYTES;
use tokio::sync::mpsc;

/// The longest line that is taken for a message.
pub(crate) const LINE_CAP_BYTES: usize = WHOLE_CAP_BYTES;
/// How many lines are read ahead.
const AHEAD: usize = 4;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// What it says; bytes that are no text are replaced.
    Line(String),
    /// It is too long to be taken for a message.
    TooLong,
}

/// The lines of standard input.
///
/// A thread reads them, since reading cannot be given up half way. It ends with the program.
pub(crate) struct Lines(mpsc::Receiver<io::Result<Said>>);

impl Lines {
    /// Begins to read.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let read = move || {
            let mut input = io::stdin().lock();
            while let Some(line) = read_line(&mut input, LINE_CAP_BYTES).transpose() {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdin".to_owned()).spawn(read)?;
        Ok(Self(receiver))
    }

    /// The next line; none at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Said>> {
        self.0.recv().await.transpose()
    }
}

/// Reads a line without its end. What is over the cap is read and let go.
fn read_line(input: &mut impl BufRead, cap: usize) -> io::Result<Option<Said>> {
    let mut line = Vec::new();
    let (mut any, mut whole) = (false, true);
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            break;
        }
        any = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        whole = whole && line.len() + part.len() <= cap;
        if whole {
            line.extend_from_slice(part);
        }
        let read = part.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() {
            break;
        }
    }
    if !whole {
        return Ok(Some(Said::TooLong));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(any.then(|| Said::Line(String::from_utf8_lossy(&line).into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8], cap: usize) -> Vec<Said> {
        std::iter::from_fn(|| read_line(&mut bytes, cap).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_whatever_they_hold() {
        let line = |text: &str| Said::Line(text.to_owned());
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"one\r\n\ntwo", 9), [line("one"), line(""), line("two")]);
        assert_eq!(all(b"a\0b\n\xff\xfe\n", 9), [line("a\0b"), line("\u{fffd}\u{fffd}")]);
        assert_eq!(all(b"0123456789\nnext\n", 9), [Said::TooLong, line("next")]);
        assert_eq!(all(b"012345678\n", 9), [line("012345678")]);
    }
}
