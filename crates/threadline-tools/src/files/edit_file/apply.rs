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

/// Replaces a text that is there exactly once, or everywhere it is. Whichever way the lines of
/// the file end, those of the two texts are taken to end the same way.
pub(super) fn applied(before: &str, find: &str, with: &str, all: bool) -> Result<Applied, String> {
    if find.is_empty() {
        return Err("there is nothing to find: give the text to replace".to_owned());
    }
    if before.is_empty() {
        return Err("it is empty; use write_file to write into it".to_owned());
    }
    let ends = ends(before).into_iter();
    let forms = ends.map(|end| (ended(find, end), ended(with, end)));
    let forms = forms.collect::<Vec<_>>();
    let form = forms.iter().find(|(find, _)| before.contains(find.as_str()));
    let Some((find, with)) = form else {
        let wanted = forms.first().map_or(find, |(find, _)| find);
        let instead = instead(before, wanted);
        return Err(format!("it does not have this text, exactly as it is written{instead}"));
    };
    let places = places(before, find);
    let line = places.first().map_or(1, |first| line_of(before, *first));
    if all {
        let count = before.matches(find.as_str()).count();
        return Ok(Applied { after: before.replace(find, with), count, line });
    }
    if let [at] = *places {
        let (head, rest) = before.split_at_checked(at).unwrap_or_default();
        let tail = rest.get(find.len()..).unwrap_or_default();
        return Ok(Applied { after: format!("{head}{with}{tail}"), count: 1, line });
    }
    Err(format!(
        "the text is in it {}; give more of what is around the one that is meant, or all to \
         replace every one:{}",
        times(&places),
        surroundings(before, find, &places)
    ))
}

/// The ways in which the lines of a text end, the more likely one first.
fn ends(text: &str) -> Vec<&'static str> {
    let crlf = text.matches("\r\n").count();
    let lf = text.matches('\n').count() - crlf;
    match (lf, crlf) {
        (_, 0) => vec!["\n"],
        (0, _) => vec!["\r\n"],
        _ if lf >= crlf => vec!["\n", "\r\n"],
        _ => vec!["\r\n", "\n"],
    }
}

fn ended(text: &str, end: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', end)
}

/// Whether a text that was replaced cannot be there by the replacement itself: neither in it nor
/// across one of its borders. Then a text that is there has not been replaced.
pub(super) fn cannot_come_back(find: &str, with: &str) -> bool {
    let (find, with) = (ended(find, "\n"), ended(with, "\n"));
    let (find, with) = (find.as_bytes(), with.as_bytes());
    // Either has the other in it: what is left and right of the replacement may complete it.
    let within = |text: &[u8], part: &[u8]| {
        part.is_empty() || text.windows(part.len()).any(|window| window == part)
    };
    if within(with, find) || within(find, with) {
        return false;
    }
    let shorter = find.len().min(with.len());
    (1..shorter).all(|len| {
        let begins =
            |one: &[u8], other: &[u8]| one.get(..len).is_some_and(|head| other.ends_with(head));
        !begins(find, with) && !begins(with, find)
    })
}

#[cfg(test)]
mod tests;
