//! What was found while arguments were checked, and where.

use std::fmt::Write as _;

use super::json::{Json, NAME_CAP_BYTES, quoted_name};
use super::{PROBLEMS_CAP, Problem};

/// How much is shown of a value.
pub(super) const SHOWN_CAP_BYTES: usize = 80;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) problems: Vec<Problem>,
    /// How many more problems there are.
    pub(super) more: usize,
    pub(super) warnings: Vec<String>,
    /// How many more warnings there are.
    pub(super) more_warnings: usize,
}

/// How much was found up to some moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    problems: usize,
    more: usize,
    warnings: usize,
    more_warnings: usize,
}

impl Found {
    pub(super) fn problem(&mut self, path: &Path<'_>, expected: String, got: Option<&Json<'_>>) {
        if self.problems.len() == PROBLEMS_CAP {
            self.more += 1;
            return;
        }
        let got = got.map(|got| got.shortened(SHOWN_CAP_BYTES));
        self.problems.push(Problem { path: path.text(), expected, got });
    }

    pub(super) fn warning(&mut self, path: &Path<'_>, text: impl FnOnce() -> String) {
        if self.warnings.len() == PROBLEMS_CAP {
            self.more_warnings += 1;
            return;
        }
        let path = path.text();
        let colon = if path.is_empty() { "" } else { ": " };
        self.warnings.push(format!("{path}{colon}{}", text()));
    }

    /// The warnings, and how many more there were.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        if self.more_warnings > 0 {
            self.warnings.push(format!("and {} more warnings", self.more_warnings));
        }
        self.warnings
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            problems: self.problems.len(),
            more: self.more,
            warnings: self.warnings.len(),
            more_warnings: self.more_warnings,
        }
    }

    /// Takes out what was found since a moment.
    pub(super) fn take_since(&mut self, mark: Mark) -> Self {
        let taken = Self {
            problems: self.problems.split_off(mark.problems),
            more: self.more - mark.more,
            warnings: self.warnings.split_off(mark.warnings),
            more_warnings: self.more_warnings - mark.more_warnings,
        };
        (self.more, self.more_warnings) = (mark.more, mark.more_warnings);
        taken
    }

    /// Puts back what was taken out, at the moment at which it was found.
    pub(super) fn put_back(&mut self, taken: Self) {
        self.problems.extend(taken.problems);
        self.warnings.extend(taken.warnings);
        self.more += taken.more;
        self.more_warnings += taken.more_warnings;
    }
}

/// Where a value is: made into text only when there is something to tell.
pub(super) enum Path<'a> {
    Root,
    Member(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl Path<'_> {
    fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Item(list, index) => format!("{}[{index}]", list.text()),
            Self::Member(object, name) => {
                let mut text = object.text();
                if is_plain(name) {
                    let dot = if text.is_empty() { "" } else { "." };
                    let _ = write!(text, "{dot}{name}");
                } else {
                    let _ = write!(text, "[{}]", quoted_name(name));
                }
                text
            }
        }
    }
}

/// Whether a name can be told from the signs around it in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_CAP_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}
