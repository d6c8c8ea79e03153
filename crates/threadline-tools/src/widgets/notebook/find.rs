//! Finding in the notebook what a call means, and saying what would be right if it is not there.

use std::fmt::Write as _;

use crate::text::{nearest, one_line, shortened};

/// How much is shown on each side of a place.
const AROUND_BYTES: usize = 40;
/// How many places are shown.
const PLACES_SHOWN: usize = 5;
/// How many lines are offered instead of one that is not there.
const NEAREST_SHOWN: usize = 3;
/// How much of a line is shown.
const LINE_BYTES: usize = 120;

/// Why a call changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The reason in one word, for statistics.
    pub(super) code: &'static str,
    /// The reason, and what to do instead.
    pub(super) message: String,
}

impl Unfit {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What came of a call's anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchored {
    /// There was none.
    None,
    /// It is in the notebook.
    Hit,
    /// It is not.
    Missed,
}

impl Anchored {
    /// Looks for an anchor whose lines are normal.
    pub(super) fn of(text: &str, anchor: Option<&str>) -> Self {
        match anchor {
            None => Self::None,
            Some(anchor) if text.contains(anchor) => Self::Hit,
            Some(_) => Self::Missed,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hit => "hit",
            Self::Missed => "missed",
        }
    }
}

/// The argument by which something is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Find,
    Start,
    End,
    Anchor,
}

impl Argument {
    const fn name(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Start => "start",
            Self::End => "end",
            Self::Anchor => "anchor",
        }
    }

    const fn empty(self) -> &'static str {
        match self {
            Self::Find => "find_empty",
            Self::Start => "start_empty",
            Self::End => "end_empty",
            Self::Anchor => "anchor_empty",
        }
    }

    const fn not_found(self) -> &'static str {
        match self {
            Self::Find => "find_not_found",
            Self::Start => "start_not_found",
            Self::End => "end_not_found",
            Self::Anchor => "anchor_not_found",
        }
    }

    const fn not_unique(self) -> &'static str {
        match self {
            Self::Find => "find_not_unique",
            Self::Start => "start_not_unique",
            Self::End => "end_not_unique",
            Self::Anchor => "anchor_not_unique",
        }
    }
}

/// Refuses an argument that says nothing.
pub(super) fn given(argument: Argument, wanted: &str) -> Result<(), Unfit> {
    if !wanted.is_empty() {
        return Ok(());
    }
    let message = match argument {
        Argument::Find => {
            "there is nothing to find: give the text to replace, or use notebook_append".to_owned()
        }
        Argument::Start | Argument::End | Argument::Anchor => {
            format!("the {} is empty: give a text of the notebook", argument.name())
        }
    };
    Err(Unfit::new(argument.empty(), message))
}

/// Where a text begins that is there once, or the first one after an anchor.
pub(super) fn one(
    text: &str,
    argument: Argument,
    wanted: &str,
    anchor: Option<&str>,
) -> Result<usize, Unfit> {
    given(argument, wanted)?;
    let Some(anchor) = anchor else {
        let places = places(text, wanted);
        return match *places {
            [] => Err(not_found(text, argument, wanted)),
            [only] => Ok(only),
            _ => Err(several(text, argument, wanted, &places)),
        };
    };
    let Some(behind) = text.find(anchor).map(|at| at + anchor.len()) else {
        return Err(not_found(text, Argument::Anchor, anchor));
    };
    first_from(text, wanted, behind).ok_or_else(|| {
        let mut unfit = not_found(text, argument, wanted);
        if text.contains(wanted) {
            let line = line_of(text, behind);
            let what = if argument == Argument::Find { "text" } else { argument.name() };
            unfit.message = format!(
                "the {what} is in the notebook, but not after the anchor, which ends in line \
                 {line}; give another anchor or none"
            );
        }
        unfit
    })
}

/// Where the end of a span begins: the first one behind its start.
pub(super) fn end(text: &str, wanted: &str, behind: usize) -> Result<usize, Unfit> {
    given(Argument::End, wanted)?;
    first_from(text, wanted, behind).ok_or_else(|| {
        let line = line_of(text, behind);
        let mut message = format!(
            "the notebook does not have this end after the start, which ends in line {line}"
        );
        if let Some(before) = text.find(wanted) {
            let place = line_of(text, before);
            let _ = write!(message, "; the first one is in line {place}, before it");
        }
        let rest = text.get(behind..).unwrap_or_default();
        offer(&mut message, wanted, rest, line);
        Unfit::new(Argument::End.not_found(), message)
    })
}

fn first_from(text: &str, wanted: &str, from: usize) -> Option<usize> {
    text.get(from..).and_then(|rest| rest.find(wanted)).map(|at| from + at)
}

/// Where a text begins, each place, those that overlap included.
fn places(text: &str, wanted: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = first_from(text, wanted, from) {
        places.push(at);
        from = text.ceil_char_boundary(at + 1);
    }
    places
}

fn not_found(text: &str, argument: Argument, wanted: &str) -> Unfit {
    if text.is_empty() {
        let message = "the notebook is empty; use notebook_append to write into it";
        return Unfit::new(argument.not_found(), message);
    }
    let what = argument.name();
    let mut message = format!("the notebook does not have this {what}, exactly as it is written");
    offer(&mut message, wanted, text, 1);
    Unfit::new(argument.not_found(), message)
}

/// Adds the lines of a text that are most like what is wanted, with their numbers from one on.
fn offer(message: &mut String, wanted: &str, text: &str, number: usize) {
    let lines = (number..).zip(text.lines());
    let first = wanted.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let alike = nearest(first, lines.map(|line| (line, line.1)), NEAREST_SHOWN);
    if !alike.is_empty() {
        message.push_str("; the nearest there is:");
    }
    for (number, line) in alike {
        let _ = write!(message, "\nline {number}: {}", shortened(line, LINE_BYTES));
    }
}

fn several(text: &str, argument: Argument, wanted: &str, places: &[usize]) -> Unfit {
    let count = places.len();
    let what = if argument == Argument::Find { "text" } else { argument.name() };
    let mut message = format!(
        "the {what} is in the notebook {count} times; give more of what is around the one that is \
         meant, or an anchor before it:"
    );
    for at in places.iter().take(PLACES_SHOWN) {
        let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES));
        let end = text.ceil_char_boundary((at + wanted.len()).saturating_add(AROUND_BYTES));
        let around = one_line(text.get(start..end).unwrap_or_default());
        let around = shortened(&around, LINE_BYTES + 2 * AROUND_BYTES);
        let _ = write!(message, "\nline {}: …{around}…", line_of(text, *at));
    }
    if count > PLACES_SHOWN {
        let _ = write!(message, "\nand {} more", count - PLACES_SHOWN);
    }
    Unfit::new(argument.not_unique(), message)
}

/// The number of the line that a byte is in, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}
