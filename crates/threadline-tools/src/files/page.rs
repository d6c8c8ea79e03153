//! A page of a text file: some lines, read without holding more of the file than that.

use std::io::{self, Read};

pub use crate::text::PAGE_CAP_BYTES;

/// The most lines of a page.
pub const PAGE_CAP_LINES: u64 = 2000;
/// How much of a file is looked at to tell whether it is text.
const PROBE_BYTES: usize = 8 * 1024;
/// How much is read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How much is read behind a page only to say how many lines there are.
const COUNT_CAP_BYTES: u64 = 16 * 1024 * 1024;

/// Which lines are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// The first line, counted from 1.
    pub(super) first: u64,
    /// How many lines at most.
    pub(super) most: u64,
}

/// Some lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The lines, without the line end of the last.
    pub(super) text: String,
    /// How many lines these are.
    pub(super) lines: u64,
    /// How many lines the file has, if it was read to its end.
    pub(super) total: Option<u64>,
    /// How many bytes the first line has, if it is cut.
    pub(super) cut: Option<u64>,
    /// How many bytes were no text.
    pub(super) bad_bytes: u64,
    /// Whether lines end with a carriage return and a line feed.
    pub(super) crlf: bool,
}

/// Why there is no page.
#[derive(Debug)]
pub(super) enum NotRead {
    /// It is no text.
    Binary,
    /// It is text of two bytes for each character.
    Utf16,
    /// It was to stop.
    Stopped,
    /// The system says something else.
    Failed(io::Error),
}

/// Reads a page. It asks `stopped` before each read.
pub(super) fn read(
    source: &mut impl Read,
    wish: Wish,
    stopped: &dyn Fn() -> bool,
) -> Result<Page, NotRead> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut reader = Reader::new(wish);
    let mut begun = false;
    loop {
        let bytes = fill(source, &mut chunk, stopped)?;
        let mut bytes = chunk.get(..bytes).unwrap_or_default();
        let last = bytes.len() < CHUNK_BYTES;
        if !begun {
            bytes = text_start(bytes)?;
            begun = true;
        }
        reader.take(bytes);
        if last {
            return Ok(reader.finish());
        }
        if reader.counted_bytes > COUNT_CAP_BYTES {
            return Ok(reader.page);
        }
    }
}

/// Fills the chunk unless the file ends before.
fn fill(
    source: &mut impl Read,
    chunk: &mut [u8],
    stopped: &dyn Fn() -> bool,
) -> Result<usize, NotRead> {
    let mut filled = 0;
    while let Some(rest) = chunk.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        if stopped() {
            return Err(NotRead::Stopped);
        }
        match source.read(rest) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(NotRead::Failed(error)),
        }
    }
    Ok(filled)
}

/// The file's first bytes without the mark of UTF-8, if they look like text.
pub(super) fn text_start(bytes: &[u8]) -> Result<&[u8], NotRead> {
    if let Some(text) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return Ok(text);
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(NotRead::Utf16);
    }
    if bytes.iter().take(PROBE_BYTES).any(|byte| *byte == 0) {
        return Err(NotRead::Binary);
    }
    Ok(bytes)
}

/// Takes the file as it comes and keeps the lines that are asked for.
struct Reader {
    wish: Wish,
    page: Page,
    /// The number of the line that is being read.
    line: u64,
    /// Its bytes so far, no more than a page has.
    held: Vec<u8>,
    /// How many bytes it has so far.
    held_bytes: u64,
    full: bool,
    /// How many bytes came after the page was full.
    counted_bytes: u64,
}

impl Reader {
    fn new(wish: Wish) -> Self {
        Self {
            wish: Wish { first: wish.first.max(1), most: wish.most.clamp(1, PAGE_CAP_LINES) },
            page: Page::default(),
            line: 1,
            held: Vec::new(),
            held_bytes: 0,
            full: false,
            counted_bytes: 0,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        if self.full {
            self.counted_bytes += to_u64(bytes.len());
        }
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.hold(line);
            self.end_line(true);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.hold(bytes);
    }

    fn finish(mut self) -> Page {
        if self.held_bytes > 0 {
            self.end_line(false);
        }
        self.page.total = Some(self.line - 1);
        self.page
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.held_bytes += to_u64(bytes.len());
        if !self.full && self.line >= self.wish.first {
            let room = PAGE_CAP_BYTES + 1 - self.held.len();
            self.held.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
    }

    fn end_line(&mut self, fed: bool) {
        if !self.full && self.line >= self.wish.first {
            self.keep(fed);
        }
        self.line += 1;
        self.held.clear();
        self.held_bytes = 0;
    }

    /// Takes the line into the page, or finds the page full.
    fn keep(&mut self, fed: bool) {
        let mut line = std::mem::take(&mut self.held);
        let cut = line.len() > PAGE_CAP_BYTES;
        if fed && !cut && line.last() == Some(&b'\r') {
            line.pop();
            self.page.crlf = true;
        }
        let empty = self.page.lines == 0;
        let joined = self.page.text.len() + usize::from(!empty) + line.len();
        if !empty && (cut || joined > PAGE_CAP_BYTES) {
            self.full = true;
            return;
        }
        if !empty {
            self.page.text.push('\n');
        }
        if cut {
            line.truncate(PAGE_CAP_BYTES);
            line.truncate(whole_characters(&line));
            self.page.cut = Some(self.held_bytes);
        }
        self.page.bad_bytes += push_text(&mut self.page.text, &line);
        self.page.lines += 1;
        // Bytes that are no text take more room as signs than they did.
        self.full = self.page.lines == self.wish.most || self.page.text.len() >= PAGE_CAP_BYTES;
        self.held = line;
    }
}

/// How many bytes there are without a character that is cut at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut whole = 0;
    for chunk in bytes.utf8_chunks() {
        whole += chunk.valid().len();
        let cut = whole + chunk.invalid().len() == bytes.len() && chunk.invalid().len() < 4;
        if cut
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none())
        {
            return whole;
        }
        whole += chunk.invalid().len();
    }
    whole
}

/// Adds bytes to a text, with signs in place of those that are no text, and counts these.
fn push_text(text: &mut String, bytes: &[u8]) -> u64 {
    let mut bad = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\0' {
                bad += 1;
                text.push(char::REPLACEMENT_CHARACTER);
            } else {
                text.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            bad += to_u64(chunk.invalid().len());
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    bad
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
