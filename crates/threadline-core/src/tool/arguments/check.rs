//! Checks a value against a schema, takes what was meant for what was written, and finds all that
//! is wrong.
//!
//! A value is left as it is; what comes of it is told only where it is another one. So an
//! alternative can be tried without harm, and what fits costs no copy.

mod alternatives;
mod members;
mod wish;

use std::cmp::Ordering;

use super::coerce::{Coerced, coerce, token, took};
use super::found::{Found, Path};
use super::json::{Json, Numeral, compare, whole};
use super::schema::{Id, Node, Nodes, Range};
use wish::{one_of, wish, wish_of};

/// How many nodes may be checked for each byte of arguments and each node of a schema, and how
/// many at least. What is not tangled takes one or two.
const STEPS: usize = 64;
const STEPS_LEAST: usize = 10_000;

/// How deep checks may be nested: the stack has an end.
const DEPTH_CAP: usize = 640;

/// What comes of a check.
pub(super) struct Checked<'a> {
    /// The value to go on with, where it is not the one that came.
    pub(super) changed: Option<Json<'a>>,
    pub(super) found: Found,
    /// Whether it was given up.
    pub(super) is_tangled: bool,
}

/// Checks a value of so many bytes against the schema of the whole, and mends it if it may.
pub(super) fn check<'a>(
    nodes: &Nodes,
    value: &Json<'a>,
    size_bytes: usize,
    may_mend: bool,
) -> Checked<'a> {
    let most_steps = (size_bytes + nodes.len()).saturating_mul(STEPS).saturating_add(STEPS_LEAST);
    let mut check = Check {
        nodes,
        mode: if may_mend { Mode::Mend } else { Mode::Tell },
        found: Found::default(),
        has_failed: false,
        dropped: 0,
        steps: most_steps,
        depth: 0,
        is_tangled: false,
    };
    let changed = check.fit(Nodes::root(), value, &Path::Root, false);
    Checked { changed, found: check.found, is_tangled: check.is_tangled }
}

struct Check<'s> {
    nodes: &'s Nodes,
    mode: Mode,
    found: Found,
    /// Whether there was a problem since a trial began.
    has_failed: bool,
    /// How many members were dropped.
    dropped: usize,
    /// How many steps are left.
    steps: usize,
    depth: usize,
    is_tangled: bool,
}

/// What a check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A value may be taken as another one.
    Mend,
    /// All problems are told.
    Tell,
    /// It is only asked whether a value fits: the first problem ends it.
    Ask,
}

impl<'s> Check<'s> {
    /// Fits a value to a node. In place are checks of a value that another node speaks of too.
    fn fit<'a>(
        &mut self,
        id: Id,
        value: &Json<'a>,
        path: &Path<'_>,
        in_place: bool,
    ) -> Option<Json<'a>> {
        self.charge(1);
        if self.depth == DEPTH_CAP {
            self.is_tangled = true;
        }
        let node = self.nodes.get(id).filter(|_| !self.is_tangled)?;
        self.depth += 1;
        let changed = self.fit_node(node, value, path);
        if !in_place {
            self.warn_of_unknown(id, node, changed.as_ref().unwrap_or(value), path);
        }
        self.depth -= 1;
        changed
    }

    fn fit_node<'a>(
        &mut self,
        node: &'s Node,
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Json<'a>> {
        if node.never {
            self.problem(path, || "nothing here".to_owned(), Some(value));
            return None;
        }
        let mut changed = None;
        let mut is_done = false;
        if !node.types.is_empty() && !node.types.iter().any(|known| known.fits(value)) {
            let Some(coerced) = self.coerced(node, value, path) else {
                // The other demands are about values of the right type.
                let nodes = self.nodes;
                self.problem(path, || wish(nodes, node), Some(value));
                return None;
            };
            is_done = coerced.is_wrapped;
            changed = Some(coerced.value);
        }
        let current = changed.as_ref().unwrap_or(value);
        if let Some(values) = &node.values
            && !values.iter().any(|known| known.same(current))
        {
            let meant = self.may_mend().then(|| token(values, current)).flatten();
            let Some(meant) = meant else {
                self.problem(path, || one_of(values), Some(value));
                return None;
            };
            let meant = meant.clone();
            self.warn(path, || took(value, &meant.text()));
            changed = Some(meant);
        }
        if !is_done {
            let next = self.fit_kind(node, changed.as_ref().unwrap_or(value), value, path);
            changed = next.or(changed);
        }
        for part in &node.all {
            let next = self.fit(*part, changed.as_ref().unwrap_or(value), path, true);
            changed = next.or(changed);
        }
        for (branches, only_one) in [(&node.any, false), (&node.one, true)] {
            if !branches.is_empty() {
                let current = changed.as_ref().unwrap_or(value);
                let next = self.fit_one_of(branches, only_one, current, path);
                changed = next.or(changed);
            }
        }
        if let Some(not) = node.not {
            let current = changed.as_ref().unwrap_or(value);
            let mark = self.found.mark();
            if self.fits_as_is(not, current, path) {
                self.found.take_since(mark);
                let nodes = self.nodes;
                let words = || format!("anything but {}", wish_of(nodes, not));
                self.problem(path, words, Some(current));
            }
        }
        changed
    }

    /// The value as one of the node's types, if it can be taken as one. A list of one is fitted.
    fn coerced<'a>(
        &mut self,
        node: &'s Node,
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Coerced<'a>> {
        if !self.may_mend() {
            return None;
        }
        if let Json::Text(text) = value {
            self.charge(text.len() / 8);
        }
        let mut coerced = coerce(&node.types, value)?;
        let mark = self.found.mark();
        self.warn(path, || took(value, &coerced.as_what));
        if coerced.is_wrapped {
            // It is a guess, which must be a good one.
            let (fits, next) =
                self.trial(|check| check.fit_kind(node, &coerced.value, value, path));
            if !fits {
                self.found.take_since(mark);
                return None;
            }
            coerced.value = next.unwrap_or(coerced.value);
        }
        Some(coerced)
    }

    /// Fits a value to what a node says of its kind of values. What came is told of problems.
    fn fit_kind<'a>(
        &mut self,
        node: &'s Node,
        value: &Json<'a>,
        came: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Json<'a>> {
        match value {
            Json::Null | Json::Flag(_) => None,
            Json::Number(number) => {
                self.check_number(node, number, came, path);
                None
            }
            Json::Text(text) => {
                self.check_text(node, text, came, path);
                None
            }
            Json::List(items) => self.fit_items(node, items, came, path).map(Json::List),
            Json::Object(members) => self.fit_members(node, members, came, path).map(Json::Object),
        }
    }

    fn check_number(
        &mut self,
        node: &Node,
        number: &Numeral<'_>,
        value: &Json<'_>,
        path: &Path<'_>,
    ) {
        let limits = [
            ("at least", &node.range.least, [Ordering::Greater, Ordering::Equal].as_slice()),
            ("at most", &node.range.most, &[Ordering::Less, Ordering::Equal]),
            ("more than", &node.exclusive.least, &[Ordering::Greater]),
            ("less than", &node.exclusive.most, &[Ordering::Less]),
        ];
        for (words, limit, right) in limits {
            let Some(limit) = limit else { continue };
            if !compare(&number.value, limit).is_some_and(|order| right.contains(&order)) {
                self.problem(path, || format!("{words} {limit}"), Some(value));
            }
        }
        if let Some(step) = &node.multiple_of
            && !is_multiple(&number.value, step)
        {
            self.problem(path, || format!("a multiple of {step}"), Some(value));
        }
    }

    fn check_text(&mut self, node: &Node, text: &str, value: &Json<'_>, path: &Path<'_>) {
        let range = &node.length_range;
        if range.least.is_some() || range.most.is_some() {
            self.check_count(text.chars().count(), range, "character", value, path);
        }
        if let Some(format) = node.format
            && !format.fits(text)
        {
            self.problem(path, || format.wish().to_owned(), Some(value));
        }
        if let Some(pattern) = &node.pattern
            && !pattern.is_match(text)
        {
            let words = || format!("text that matches the pattern {}", pattern.as_str());
            self.problem(path, words, Some(value));
        }
    }

    fn fit_items<'a>(
        &mut self,
        node: &'s Node,
        items: &[Json<'a>],
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Vec<Json<'a>>> {
        self.check_count(items.len(), &node.items_range, "item", value, path);
        let mut copy = Kept::new(items);
        for (index, item) in items.iter().enumerate() {
            if self.is_over() {
                return None;
            }
            let schema = node.prefix.get(index).or(node.items.as_ref());
            let changed =
                schema.and_then(|id| self.fit(*id, item, &Path::Item(path, index), false));
            match changed {
                Some(changed) => copy.put(index, changed),
                None => copy.keep(item),
            }
        }
        let changed = copy.changed;
        if node.unique {
            self.check_unique(changed.as_deref().unwrap_or(items), path);
        }
        changed
    }

    fn check_unique(&mut self, items: &[Json<'_>], path: &Path<'_>) {
        let mut seen = std::collections::HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let key = item.key();
            self.charge(key.len() / 8);
            if !seen.insert(key) {
                let words = || "an item that is not in the list before".to_owned();
                self.problem(&Path::Item(path, index), words, Some(item));
            }
        }
    }

    /// Tells if so many are too few or too many.
    fn check_count(
        &mut self,
        count: usize,
        range: &Range<u64>,
        unit: &str,
        value: &Json<'_>,
        path: &Path<'_>,
    ) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let (words, limit) = match (range.least, range.most) {
            (Some(least), _) if count < least => ("at least", least),
            (_, Some(most)) if count > most => ("at most", most),
            (_, _) => return,
        };
        let s = if limit == 1 { "" } else { "s" };
        self.problem(path, || format!("{words} {limit} {unit}{s}"), Some(value));
    }

    fn problem(
        &mut self,
        path: &Path<'_>,
        expected: impl FnOnce() -> String,
        got: Option<&Json<'_>>,
    ) {
        self.has_failed = true;
        if self.mode != Mode::Ask {
            self.found.problem(path, expected(), got);
        }
    }

    fn warn(&mut self, path: &Path<'_>, text: impl FnOnce() -> String) {
        // A trial may warn in vain, again and again.
        self.charge(8);
        self.found.warning(path, text);
    }

    fn may_mend(&self) -> bool {
        self.mode == Mode::Mend
    }

    /// Whether nothing that is still to come can change the answer.
    fn is_over(&self) -> bool {
        self.is_tangled || (self.mode == Mode::Ask && self.has_failed)
    }

    fn charge(&mut self, steps: usize) {
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => self.is_tangled = true,
        }
    }
}

/// Whether a number is a multiple of another: exactly where both are whole.
fn is_multiple(number: &serde_json::Number, step: &serde_json::Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return false };
    let times = number / step;
    (times - times.round()).abs() < 1e-9
}

/// Parts of which most stay as they are: copied when the first one changes.
struct Kept<'v, T> {
    from: &'v [T],
    changed: Option<Vec<T>>,
}

impl<'v, T: Clone> Kept<'v, T> {
    const fn new(from: &'v [T]) -> Self {
        Self { from, changed: None }
    }

    fn keep(&mut self, part: &T) {
        if let Some(changed) = &mut self.changed {
            changed.push(part.clone());
        }
    }

    fn put(&mut self, index: usize, part: T) {
        self.leave_out(index).push(part);
    }

    /// The parts that are kept up to a place.
    fn leave_out(&mut self, index: usize) -> &mut Vec<T> {
        let from = self.from;
        self.changed.get_or_insert_with(|| from.get(..index).unwrap_or_default().to_vec())
    }
}
