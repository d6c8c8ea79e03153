//! Halves of surrogate pairs: `\uXXXX` escapes that are no character without their other half.
//!
//! Servers that cut a text by UTF-16 units can split a pair over two events of a stream. [`Joiner`]
//! puts such halves together again. A half whose other half never comes is an error of the stream:
//! the text around it must not be lost silently.

use std::borrow::Cow;

use memchr::memmem;
use threadline_core::provider::Delta;

use crate::dialect::Decode;
use crate::failed::Failed;

/// The members that hold a text in pieces, in any dialect.
const PIECES: [&str; 11] = [
    "arguments",
    "content",
    "delta",
    "partial_json",
    "reasoning",
    "reasoning_content",
    "refusal",
    "stringValue",
    "summary",
    "text",
    "thinking",
];
/// The length of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;
/// What stands for half a pair that cannot be sent.
const REPLACEMENT: &str = "\\ufffd";

/// An escape of half a pair, without the other half next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Half {
    at: usize,
    is_high: bool,
}

/// The halves in JSON text, or in the content of a JSON string, in their order.
fn lone_halves(json: &str) -> Vec<Half> {
    let mut halves: Vec<Half> = Vec::new();
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let Some(code) = code_at(json, at) else {
            // Another escape: the sign after the backslash belongs to it.
            at += 1 + json
                .get(at + 1..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
            continue;
        };
        let half = match code {
            0xd800..0xdc00 => Some(Half { at, is_high: true }),
            0xdc00..0xe000 => Some(Half { at, is_high: false }),
            _ => None,
        };
        if let Some(half) = half {
            let before = halves.last().filter(|before| before.at + ESCAPE_BYTES == at);
            if before.is_some_and(|before| before.is_high && !half.is_high) {
                halves.pop();
            } else {
                halves.push(half);
            }
        }
        at += ESCAPE_BYTES;
    }
    halves
}

/// The code of the escape `\uXXXX` at a place, if there is one.
fn code_at(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix("\\u")?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// Whether there may be escapes of halves in a text, which is rare.
fn may_have_halves(json: &str) -> bool {
    let has = |what: &str| memmem::find(json.as_bytes(), what.as_bytes()).is_some();
    has("\\ud") || has("\\uD")
}

/// JSON text in which every half without its other half is a replacement character: many servers
/// refuse a body that has one.
pub(crate) fn replace_lone_halves(json: &str) -> Cow<'_, str> {
    if !may_have_halves(json) {
        return Cow::Borrowed(json);
    }
    let mut text = Cow::Borrowed(json);
    // Both escapes have the same length, so that places stay what they are.
    for Half { at, .. } in lone_halves(json) {
        text.to_mut().replace_range(at..at + ESCAPE_BYTES, REPLACEMENT);
    }
    text
}

/// A decoder that is given events in which split pairs are whole again.
pub(crate) struct Joiner<D> {
    decoder: D,
    /// The first halves that wait for the second, by the member that they ended.
    pending: Vec<(&'static str, String)>,
}

impl<D: Decode> Joiner<D> {
    /// Joins what is split in the events for a decoder.
    pub(crate) const fn new(decoder: D) -> Self {
        Self { decoder, pending: Vec::new() }
    }

    /// The event with a waiting half put before its other half, and without a half at the end of a
    /// piece, which waits from now on. Halves anywhere else stay: the decoder cannot read them.
    fn joined<'d>(&mut self, data: &'d str) -> Result<Cow<'d, str>, Failed> {
        if self.pending.is_empty() && !may_have_halves(data) {
            return Ok(Cow::Borrowed(data));
        }
        let mut joined = String::with_capacity(data.len() + ESCAPE_BYTES);
        let mut written = 0;
        for (member, start, end) in pieces(data) {
            let content = data.get(start..end).unwrap_or_default();
            let halves = lone_halves(content);
            if let Some(place) = self.pending.iter().position(|(waits, _)| *waits == member) {
                if !halves.first().is_some_and(|half| half.at == 0 && !half.is_high) {
                    return Err(half_pair(member));
                }
                joined.push_str(data.get(written..start).unwrap_or_default());
                joined.push_str(&self.pending.remove(place).1);
                written = start;
            }
            let last = halves.last().filter(|half| half.is_high);
            if let Some(half) = last.filter(|half| half.at + ESCAPE_BYTES == content.len()) {
                joined.push_str(data.get(written..start + half.at).unwrap_or_default());
                let escape = content.get(half.at..).unwrap_or_default();
                self.pending.push((member, escape.to_owned()));
                written = end;
            }
        }
        joined.push_str(data.get(written..).unwrap_or_default());
        Ok(Cow::Owned(joined))
    }

    fn nothing_waits(&self) -> Result<(), Failed> {
        self.pending.first().map_or(Ok(()), |(member, _)| Err(half_pair(member)))
    }
}

impl<D: Decode> Decode for Joiner<D> {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let data = self.joined(data)?;
        let before = out.len();
        self.decoder.event(&data, out)?;
        let new = out.get(before..).unwrap_or_default();
        if new.iter().any(Delta::is_last) {
            self.nothing_waits().inspect_err(|_| out.truncate(before))?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        self.nothing_waits()?;
        self.decoder.end(out)
    }
}

fn half_pair(member: &str) -> Failed {
    Failed::protocol(format!(
        "the answer could not be read: `{member}` has half of a surrogate pair without the other"
    ))
}

/// The strings that are pieces of a text and not empty: the member that each is, and where its
/// content begins and ends. Of what is no JSON, some of them or none.
fn pieces(json: &str) -> Vec<(&'static str, usize, usize)> {
    let mut pieces = Vec::new();
    let mut member = None;
    let mut at = 0;
    while let Some((start, end)) = next_string(json, at) {
        at = end + 1;
        let after = json.get(at..).unwrap_or_default().trim_start();
        if after.starts_with(':') {
            let name = json.get(start..end).unwrap_or_default();
            member = PIECES.into_iter().find(|piece| *piece == name);
        } else if let Some(member) = member.filter(|_| start < end) {
            pieces.push((member, start, end));
        }
    }
    pieces
}

/// Where the content of the next string begins and ends.
fn next_string(json: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + memchr::memchr(b'"', json.as_bytes().get(from..)?)? + 1;
    let mut at = start;
    loop {
        let found = memchr::memchr2(b'"', b'\\', json.as_bytes().get(at..)?)?;
        at += found;
        if json.as_bytes().get(at) == Some(&b'"') {
            return Some((start, at));
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests;
