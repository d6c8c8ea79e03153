//! One of several: what fits as it is wins, then what fits when it is mended.

use super::super::schema::Type;
use super::wish::wishes;
use super::{Check, Found, Id, Json, Mode, Node, Path};

impl<'s> Check<'s> {
    /// Whether a value fits a node as it is.
    pub(super) fn fits_as_is(&mut self, id: Id, value: &Json<'_>, path: &Path<'_>) -> bool {
        let mark = self.found.mark();
        let before = std::mem::replace(&mut self.mode, Mode::Ask);
        let (fits, _) = self.trial(|check| check.fit(id, value, path, true));
        self.mode = before;
        if !fits {
            self.found.take_since(mark);
        }
        fits
    }

    /// Does something, and tells whether it found no problem.
    pub(super) fn trial<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> (bool, T) {
        let before = std::mem::take(&mut self.has_failed);
        let done = what(self);
        let fits = !self.has_failed && !self.is_tangled;
        self.has_failed = before;
        (fits, done)
    }

    /// Fits a value to one of some nodes, and to no other if only one may fit.
    pub(super) fn fit_one_of<'a>(
        &mut self,
        branches: &'s [Id],
        only_one: bool,
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Json<'a>> {
        match self.count_as_is(branches, only_one, value, path) {
            0 => {}
            1 => return None,
            _ => {
                let nodes = self.nodes;
                let words = || format!("only one of {}", wishes(nodes, branches));
                self.problem(path, words, Some(value));
                return None;
            }
        }
        if self.mode == Mode::Ask {
            self.has_failed = true;
            return None;
        }
        self.mend_one_of(branches, only_one, value, path)
    }

    /// How many nodes a value fits as it is: of more than the first, only if that matters.
    fn count_as_is(
        &mut self,
        branches: &[Id],
        only_one: bool,
        value: &Json<'_>,
        path: &Path<'_>,
    ) -> usize {
        let mut count = 0;
        for branch in branches {
            let mark = self.found.mark();
            if !self.fits_as_is(*branch, value, path) {
                continue;
            }
            count += 1;
            if count > 1 {
                self.found.take_since(mark);
            }
            if count > 1 || !only_one {
                break;
            }
        }
        count
    }

    /// Fits a value that fits no node as it is: to the first that it fits without losing
    /// anything, else to the first that it fits.
    fn mend_one_of<'a>(
        &mut self,
        branches: &'s [Id],
        only_one: bool,
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Json<'a>> {
        let meant = self.only_likely(branches, value);
        let mut with_loss: Option<(Option<Json<'a>>, Found)> = None;
        let mut told = None;
        for branch in branches {
            if !self.may_mend() && meant != Some(*branch) {
                continue;
            }
            let (mark, dropped) = (self.found.mark(), self.dropped);
            let (fits, changed) = self.trial(|check| check.fit(*branch, value, path, true));
            let lost = std::mem::replace(&mut self.dropped, dropped) > dropped;
            let fits = fits
                && (!only_one
                    || changed.as_ref().is_none_or(|changed| {
                        let mark = self.found.mark();
                        let count = self.count_as_is(branches, true, changed, path);
                        self.found.take_since(mark);
                        count == 1
                    }));
            if fits && !lost {
                return changed;
            }
            let found = self.found.take_since(mark);
            if fits && with_loss.is_none() {
                with_loss = Some((changed, found));
            } else if !fits && meant == Some(*branch) && !found.problems.is_empty() {
                told = Some(found);
            }
        }
        if let Some((changed, found)) = with_loss {
            self.dropped += 1;
            self.found.put_back(found);
            return changed;
        }
        match told {
            Some(found) => {
                self.has_failed = true;
                self.found.put_back(found);
            }
            None => {
                let nodes = self.nodes;
                self.problem(path, || wishes(nodes, branches), Some(value));
            }
        }
        None
    }

    /// The node that a value was meant for, if it is plain to see.
    fn only_likely(&mut self, branches: &[Id], value: &Json<'_>) -> Option<Id> {
        let mut likely = branches.iter().copied().filter(|branch| self.is_likely(*branch, value));
        let first = likely.next();
        if likely.next().is_some() { None } else { first }
    }

    /// Whether a value looks like what a node wants: by its type, and by what can only be one of
    /// a few values.
    fn is_likely(&mut self, id: Id, value: &Json<'_>) -> bool {
        self.charge(1);
        let nodes = self.nodes;
        let Some(node) = nodes.get(id).filter(|_| !self.is_tangled) else { return false };
        let fits_type = node.types.is_empty()
            || node.types.iter().any(|known| known.fits(value))
            || (node.types.contains(&Type::Integer) && matches!(value, Json::Number(_)));
        let is_value = |node: &Node, value: &Json<'_>| {
            node.values.as_ref().is_none_or(|values| values.iter().any(|known| known.same(value)))
        };
        let fits_tags = || {
            node.properties.iter().all(|(name, id)| {
                let given = value.get(name).zip(nodes.get(*id));
                given.is_none_or(|(given, node)| is_value(node, given))
            })
        };
        !node.never
            && fits_type
            && is_value(node, value)
            && fits_tags()
            && node.all.iter().all(|part| self.is_likely(*part, value))
    }
}
