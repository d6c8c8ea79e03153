//! An edit as a function: a text in, a text out.

use crate::matching::{instead, line_of, places, surroundings, times};

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
/// file does.
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
    let replaced = match *places {
        _ if all => text.text.match_indices(&find).map(|(at, _)| at).collect(),
        [only] => vec![only],
        _ => {
            let (times, around) = (times(&places), surroundings(&text.text, &find, &places));
            return Err(format!(
                "the text is in it {times}; give more of what is around the one that is meant, or \
                 all to replace every one:{around}"
            ));
        }
    };
    let (mut after, mut from) = (String::with_capacity(before.len()), 0);
    for at in &replaced {
        let end = at + find.len();
        after.push_str(before.get(from..text.original(*at)).unwrap_or_default());
        after.push_str(&with.replace('\n', text.line_end(*at, end)));
        from = text.original(end);
    }
    after.push_str(before.get(from..).unwrap_or_default());
    Ok(Applied { after, count: replaced.len(), line })
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

    /// How lines end between two places.
    fn line_end(&self, from: usize, to: usize) -> &'static str {
        let first = self.text.get(from..to).and_then(|part| part.find('\n')).map(|at| from + at);
        let returned = first.map_or(self.mostly, |at| self.returns.binary_search(&at).is_ok());
        if returned { "\r\n" } else { "\n" }
    }
}

fn normal(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
