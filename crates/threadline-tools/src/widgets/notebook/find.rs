//! Finding in the notebook what a call means, and saying what would be right if it is not there.

use std::fmt::Write as _;

use crate::matching::{alike, line_of, places, surroundings, times};
use crate::widgets::answer::Unfit;

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
        message.push_str(&alike(rest, wanted, line));
        Unfit::new(Argument::End.not_found(), message)
    })
}

fn first_from(text: &str, wanted: &str, from: usize) -> Option<usize> {
    text.get(from..).and_then(|rest| rest.find(wanted)).map(|at| from + at)
}

fn not_found(text: &str, argument: Argument, wanted: &str) -> Unfit {
    if text.is_empty() {
        let message = "the notebook is empty; use notebook_append to write into it";
        return Unfit::new(argument.not_found(), message);
    }
    let what = argument.name();
    let mut message = format!("the notebook does not have this {what}, exactly as it is written");
    message.push_str(&alike(text, wanted, 1));
    Unfit::new(argument.not_found(), message)
}

fn several(text: &str, argument: Argument, wanted: &str, places: &[usize]) -> Unfit {
    let what = if argument == Argument::Find { "text" } else { argument.name() };
    let message = format!(
        "the {what} is in the notebook {}; give more of what is around the one that is meant, or an \
         anchor before it:{}",
        times(places),
        surroundings(text, wanted, places)
    );
    Unfit::new(argument.not_unique(), message)
}
