//! Server-sent events out of bytes, as they come. Pure.
//!
//! An event that lies whole in a chunk is borrowed from it; only what lies across chunks is copied.
//! Every byte is looked at once, however the stream is cut.
//!
//! Bytes that are no UTF-8 become `U+FFFD`, as the standard has it: one bad byte in a text is no
//! reason to lose the answer.

use memchr::memchr2;

/// The most that one event may take, and one line.
pub const EVENT_CAP_BYTES: usize = 16 * 1024 * 1024;
/// Buffers do not stay larger than this once a large event is through.
const KEPT_BYTES: usize = 64 * 1024;
/// What some put before everything else.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// A part of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event.
    Event(Event<'a>),
    /// A comment: a sign of life.
    Comment,
    /// A line that belongs to no event, such as a line of JSON without its framing.
    Stray(&'a str),
    /// The stream ended inside this event. Some servers forget only the blank line after the last
    /// one: whether it is whole is known by its data.
    Cut(Event<'a>),
}

/// One event. Events without data are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What it is called; often nothing.
    pub event: &'a str,
    /// What it holds: its lines, joined by line feeds.
    pub data: &'a str,
}

/// An event or a line takes more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the answer is larger than {cap_bytes} bytes")]
pub struct TooLarge {
    /// What it may take.
    pub cap_bytes: usize,
}

/// Reads one stream of events.
///
/// ```
/// use threadline_providers::sse::{Frame, Sse, TooLarge};
///
/// let mut seen = Vec::new();
/// let mut sse = Sse::default();
/// for chunk in [&b"data: {\"a\":"[..], b"1}\n\n: alive\n"] {
///     sse.push(chunk, |frame| {
///         if let Frame::Event(event) = frame {
///             seen.push(event.data.to_owned());
///         }
///         Ok::<(), TooLarge>(())
///     })?;
/// }
/// assert_eq!(seen, [r#"{"a":1}"#]);
/// # Ok::<(), TooLarge>(())
/// ```
#[derive(Debug)]
pub struct Sse {
    cap_bytes: usize,
    /// A line whose end has not come.
    line: Vec<u8>,
    /// The open event, as far as it is not in the chunk at hand.
    kept: Kept,
    /// Whether the last line ended in a carriage return, to which a line feed may belong.
    after_return: bool,
    /// How much of the mark has come; all of it, once it is known whether it comes.
    mark: usize,
}

/// Of the open event, what lies in earlier chunks or in several lines.
#[derive(Debug, Default)]
struct Kept {
    event: Vec<u8>,
    data: Vec<u8>,
    /// Whether any line of data has come: it may have been empty.
    has_data: bool,
}

/// Of the open event, what lies in the chunk at hand.
#[derive(Clone, Copy, Default)]
struct Here<'c> {
    event: Option<&'c [u8]>,
    data: Option<&'c [u8]>,
}

impl Default for Sse {
    fn default() -> Self {
        Self::capped(EVENT_CAP_BYTES)
    }
}

impl Sse {
    /// A stream in which no event and no line takes more than this.
    pub fn capped(cap_bytes: usize) -> Self {
        let (line, kept) = (Vec::new(), Kept::default());
        Self { cap_bytes, line, kept, after_return: false, mark: 0 }
    }

    /// Takes the next bytes in and gives each part that they complete.
    ///
    /// The first error ends it: the stream is not to be read on after one.
    pub fn push<E: From<TooLarge>>(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = self.after_mark(chunk);
        let mut here = Here::default();
        loop {
            if self.after_return && !rest.is_empty() {
                self.after_return = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some((line, end, after)) = next_line(rest) else { break };
            (self.after_return, rest) = (end == b'\r', after);
            if self.line.is_empty() {
                self.fits(line.len())?;
                self.take_line(line, &mut here, &mut each)?;
            } else {
                self.extend_line(line)?;
                self.take_kept_line(&mut each)?;
            }
        }
        self.kept.take(here);
        self.extend_line(rest)?;
        Ok(())
    }

    /// The stream ended: gives what had begun and not ended.
    pub fn end<E: From<TooLarge>>(
        mut self,
        mut each: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.line.is_empty() {
            self.take_kept_line(&mut each)?;
        }
        self.kept.give(Here::default(), |event| each(Frame::Cut(event)))
    }

    /// A line that began in an earlier chunk: it is the first of this one, so nothing is here.
    fn take_kept_line<E: From<TooLarge>>(
        &mut self,
        each: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        let mut here = Here::default();
        self.take_line(&line, &mut here, each)?;
        self.kept.take(here);
        self.line = emptied(line);
        Ok(())
    }

    fn take_line<'c, E: From<TooLarge>>(
        &mut self,
        line: &'c [u8],
        here: &mut Here<'c>,
        each: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match Line::of(line) {
            Line::Blank => {
                let open = std::mem::take(here);
                self.kept.give(open, |event| each(Frame::Event(event)))?;
                self.kept.clear();
            }
            Line::Comment => each(Frame::Comment)?,
            Line::Data(data) if here.data.is_none() && !self.kept.has_data => {
                here.data = Some(data);
            }
            Line::Data(data) => {
                self.kept.take(std::mem::take(here));
                self.fits(self.kept.data.len().saturating_add(data.len() + 1))?;
                self.kept.add_data(data);
            }
            Line::Event(event) => here.event = Some(event),
            Line::Ignored => {}
            Line::Stray(line) => each(Frame::Stray(&String::from_utf8_lossy(line)))?,
        }
        Ok(())
    }

    fn extend_line(&mut self, more: &[u8]) -> Result<(), TooLarge> {
        self.fits(self.line.len().saturating_add(more.len()))?;
        self.line.extend_from_slice(more);
        Ok(())
    }

    const fn fits(&self, bytes: usize) -> Result<(), TooLarge> {
        if bytes > self.cap_bytes {
            return Err(TooLarge { cap_bytes: self.cap_bytes });
        }
        Ok(())
    }

    /// A chunk without the mark at the beginning of the stream.
    fn after_mark<'c>(&mut self, mut chunk: &'c [u8]) -> &'c [u8] {
        while let (Some(expected), Some((first, rest))) = (MARK.get(self.mark), chunk.split_first())
        {
            if first != expected {
                // It was no mark: what looked like one belongs to the first line.
                self.line.extend(MARK.get(..self.mark).unwrap_or_default());
                self.mark = MARK.len();
                break;
            }
            self.mark += 1;
            chunk = rest;
        }
        chunk
    }
}

impl Kept {
    /// Takes over what would be gone with its chunk.
    fn take(&mut self, here: Here<'_>) {
        if let Some(event) = here.event {
            self.event.clear();
            self.event.extend_from_slice(event);
        }
        if let Some(data) = here.data {
            self.add_data(data);
        }
    }

    fn add_data(&mut self, data: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(data);
    }

    /// Gives the open event, unless it has no data. Of data, either is here or kept, never both.
    fn give<E>(
        &self,
        here: Here<'_>,
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let event = String::from_utf8_lossy(here.event.unwrap_or(&self.event));
        let data = String::from_utf8_lossy(here.data.unwrap_or(&self.data));
        if data.is_empty() { Ok(()) } else { each(Event { event: &event, data: &data }) }
    }

    fn clear(&mut self) {
        self.has_data = false;
        self.event.clear();
        self.data = emptied(std::mem::take(&mut self.data));
    }
}

/// A line by what it is for.
enum Line<'c> {
    Blank,
    Comment,
    Data(&'c [u8]),
    Event(&'c [u8]),
    /// Of no use here.
    Ignored,
    Stray(&'c [u8]),
}

impl<'c> Line<'c> {
    fn of(line: &'c [u8]) -> Self {
        if let Some(data) = field(line, b"data") {
            return Self::Data(data);
        }
        match line {
            [] => Self::Blank,
            [b':', ..] => Self::Comment,
            _ if field(line, b"id").or(field(line, b"retry")).is_some() => Self::Ignored,
            _ => field(line, b"event").map_or(Self::Stray(line), Self::Event),
        }
    }
}

/// The value of a field of this name, without the one space that may stand before it.
fn field<'c>(line: &'c [u8], name: &[u8]) -> Option<&'c [u8]> {
    match line.strip_prefix(name)? {
        [] | [b':'] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// A line, the byte that ends it, and what follows; nothing if its end has not come.
fn next_line(rest: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (line, rest) = rest.split_at_checked(memchr2(b'\n', b'\r', rest)?)?;
    let (end, after) = rest.split_first()?;
    Some((line, *end, after))
}

/// A buffer to be used again, unless it has grown large.
fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    buffer.shrink_to(KEPT_BYTES);
    buffer
}

#[cfg(test)]
mod tests;
