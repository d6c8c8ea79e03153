//! An edit as a function: a text in, a text out.

use super::super::change::FILE_CAP_BYTES;
use crate::matching::{instead, line_of, places, surroundings, times};
use crate::text::{line_feeds, size as told};

/// What an edit comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) after: String,
    /// How many places were replaced.
    pub(super) count: usize,
    /// The line of the first.
    pub(super) line: usize,
}

/// Replaces a text that is there exactly once, or everywhere it is. Whichever way lines end makes
/// no difference for what is found; what comes ends its lines as what went did, or as most of the
/// file does. A result above [`FILE_CAP_BYTES`] is refused before it is built.
pub(super) fn applied(before: &str, find: &str, with: &str, all: bool) -> Result<Applied, String> {
    if find.is_empty() {
        return Err("there is nothing to find: give the text to replace".to_owned());
    }
    if before.is_empty() {
        return Err("it is empty; use write_file to write into it".to_owned());
    }
    let (text, find, with) = (Normal::of(before), normal(find), normal(with));
    let places = places(&text.text, &find);
    let Some(first) = places.first() else {
        let instead = instead(&text.text, &find);
        return Err(format!("it does not have this text, exactly as it is written{instead}"));
    };
    let line = line_of(&text.text, *first);
    if places.len() > 1 && !all {
        let (times, around) = (times(&places), surroundings(&text.text, &find, &places));
        return Err(format!(
            "the text is in it {times}; give more of what is around the one that is meant, or all \
             to replace every one:{around}"
        ));
    }
    let size = size_after(before, &text, &find, &with);
    if size > FILE_CAP_BYTES {
        let (has, cap) = (told(size), told(FILE_CAP_BYTES));
        return Err(format!("it would have {has}, and only files of up to {cap} are edited"));
    }
    let mut after = String::with_capacity(usize::try_from(size).unwrap_or_default());
    let (mut from, mut count) = (0, 0);
    let with_returns = with.replace('\n', "\r\n");
    for (at, _) in text.text.match_indices(&find) {
        let end = at + find.len();
        after.push_str(before.get(from..text.original(at)).unwrap_or_default());
        after.push_str(if text.has_returns(at, end) { &with_returns } else { &with });
        from = text.original(end);
        count += 1;
    }
    after.push_str(before.get(from..).unwrap_or_default());
    Ok(Applied { after, count, line })
}

/// How many bytes a text has once every place is replaced.
fn size_after(before: &str, text: &Normal, find: &str, with: &str) -> u64 {
    let with_returns = bytes(with.len()) + bytes(line_feeds(with));
    let (mut size, mut from) = (0_u64, 0);
    for (at, _) in text.text.match_indices(find) {
        let end = at + find.len();
        let replacement = if text.has_returns(at, end) { with_returns } else { bytes(with.len()) };
        size = size.saturating_add(bytes(text.original(at) - from)).saturating_add(replacement);
        from = text.original(end);
    }
    size.saturating_add(bytes(before.len() - from))
}

fn bytes(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A text whose lines all end with a line feed, and where in it they did not.
struct Normal {
    text: String,
    /// The line feeds that had a carriage return before them.
    returns: Vec<usize>,
    /// Whether most had.
    mostly: bool,
}

impl Normal {
    fn of(original: &str) -> Self {
        let pairs = original.match_indices("\r\n").enumerate();
        // Each pair before a place has made it one byte earlier.
        let returns = pairs.map(|(before, (at, _))| at - before).collect::<Vec<_>>();
        let text = normal(original);
        let mostly = 2 * returns.len() > text.matches('\n').count();
        Self { text, returns, mostly }
    }

    /// Where a place is in the original.
    fn original(&self, at: usize) -> usize {
        at + self.returns.partition_point(|returned| *returned < at)
    }

    /// Whether lines between two places end with a carriage return and a line feed.
    fn has_returns(&self, from: usize, to: usize) -> bool {
        let first = self.text.get(from..to).and_then(|part| part.find('\n')).map(|at| from + at);
        first.map_or(self.mostly, |at| self.returns.binary_search(&at).is_ok())
    }
}

fn normal(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
