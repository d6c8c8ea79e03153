//! Checks a value against a schema and finds all that is wrong with it.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Number;

use super::json::{Json, compare, quoted};
use super::schema::{Node, Others, Range, Type};
use super::{PROBLEMS_CAP, Problem};

/// How much is shown of a value that does not fit.
const GOT_CAP_BYTES: usize = 80;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) problems: Vec<Problem>,
    /// How many more problems there are.
    pub(super) more: usize,
    pub(super) warnings: Vec<String>,
}

/// Checks a value against the schema of the whole.
pub(super) fn check(root: &Node, value: &Json) -> Found {
    let mut found = Found::default();
    found.check(root, value, &Path::Root);
    found
}

/// Where a value is: made into text only when there is something to tell.
enum Path<'a> {
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
                    let _ = write!(text, "[{}]", quoted(name));
                }
                text
            }
        }
    }
}

/// Whether a name can be told from the signs around it in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

impl Found {
    fn check(&mut self, node: &Node, value: &Json, path: &Path<'_>) {
        if !node.types.is_empty() && !node.types.iter().any(|known| known.fits(value)) {
            // The other demands are about values of the right type.
            return self.problem(path, names(&node.types), Some(value));
        }
        if let Some(values) = &node.values
            && !values.iter().any(|known| known.same(value))
        {
            return self.problem(path, one_of(values), Some(value));
        }
        match value {
            Json::Null | Json::Flag(_) => {}
            Json::Number(number) => self.check_number(node, number, value, path),
            Json::Text(text) => {
                let length = text.chars().count();
                if let Some(words) = out_of(length, &node.length_range, "character") {
                    self.problem(path, words, Some(value));
                }
            }
            Json::List(items) => {
                if let Some(words) = out_of(items.len(), &node.items_range, "item") {
                    self.problem(path, words, Some(value));
                }
                for (index, item) in items.iter().enumerate() {
                    if let Some(node) = &node.items {
                        self.check(node, item, &Path::Item(path, index));
                    }
                }
            }
            Json::Object(members) => self.check_members(node, members, path),
        }
    }

    fn check_number(&mut self, node: &Node, number: &Number, value: &Json, path: &Path<'_>) {
        let limits = [
            ("at least", &node.range.least, [Ordering::Greater, Ordering::Equal].as_slice()),
            ("at most", &node.range.most, &[Ordering::Less, Ordering::Equal]),
            ("more than", &node.exclusive.least, &[Ordering::Greater]),
            ("less than", &node.exclusive.most, &[Ordering::Less]),
        ];
        for (words, limit, right) in limits {
            let Some(limit) = limit else { continue };
            if !compare(number, limit).is_some_and(|order| right.contains(&order)) {
                self.problem(path, format!("{words} {limit}"), Some(value));
            }
        }
    }

    fn check_members(&mut self, node: &Node, members: &[(String, Json)], path: &Path<'_>) {
        for (name, value) in members {
            let path = Path::Member(path, name);
            if let Some((_, node)) = node.properties.iter().find(|(known, _)| known == name) {
                self.check(node, value, &path);
                continue;
            }
            match &node.others {
                Others::Welcome => {}
                Others::Odd => self.unknown(&path),
                Others::Refused => self.problem(&path, known_names(node), Some(value)),
                Others::Fit(node) => self.check(node, value, &path),
            }
        }
        for name in &node.required {
            if !members.iter().any(|(given, _)| given == name) {
                let known = node.properties.iter().find(|(known, _)| known == name);
                let expected = known.map_or_else(|| "a value".to_owned(), |(_, node)| wish(node));
                self.problem(&Path::Member(path, name), expected, None);
            }
        }
    }

    fn problem(&mut self, path: &Path<'_>, expected: String, got: Option<&Json>) {
        if self.problems.len() == PROBLEMS_CAP {
            self.more += 1;
            return;
        }
        let got = got.map(|got| got.shortened(GOT_CAP_BYTES));
        self.problems.push(Problem { path: path.text(), expected, got });
    }

    fn unknown(&mut self, path: &Path<'_>) {
        if self.warnings.len() < PROBLEMS_CAP {
            self.warnings.push(format!("{}: unknown parameter", path.text()));
        } else if self.warnings.len() == PROBLEMS_CAP {
            self.warnings.push("there are more unknown parameters".to_owned());
        }
    }
}

/// What a value should be, in a few words.
fn wish(node: &Node) -> String {
    match (&node.values, &*node.types) {
        (Some(values), _) => one_of(values),
        (None, []) => "a value".to_owned(),
        (None, types) => names(types),
    }
}

fn names(types: &[Type]) -> String {
    types.iter().map(|known| known.name()).collect::<Vec<_>>().join(" or ")
}

fn one_of(values: &[Json]) -> String {
    match values {
        [only] => only.shortened(GOT_CAP_BYTES),
        _ => {
            let texts = values.iter().map(|value| value.shortened(GOT_CAP_BYTES));
            format!("one of {}", texts.collect::<Vec<_>>().join(", "))
        }
    }
}

fn known_names(node: &Node) -> String {
    let names = node.properties.iter().map(|(name, _)| &**name).collect::<Vec<_>>();
    if names.is_empty() {
        return "no parameters here".to_owned();
    }
    format!("no parameter but {}", names.join(", "))
}

/// Why so many are too few or too many, if they are.
fn out_of(count: usize, range: &Range<u64>, unit: &str) -> Option<String> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let (words, limit) = match (range.least, range.most) {
        (Some(least), _) if count < least => ("at least", least),
        (_, Some(most)) if count > most => ("at most", most),
        (_, _) => return None,
    };
    let s = if limit == 1 { "" } else { "s" };
    Some(format!("{words} {limit} {unit}{s}"))
}
