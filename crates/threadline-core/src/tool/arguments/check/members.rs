//! The members of an object: their names, what is under them, and which there must be.

use std::borrow::Cow;

use super::super::coerce::is_same_word;
use super::super::json::Member;
use super::super::schema::Others;
use super::wish::wish_of;
use super::{Check, Id, Json, Kept, Node, Path};

/// The most names that are told in one line.
const NAMES_CAP: usize = 20;

/// The longest name that is compared with others, letter by letter.
const NAME_CAP_CHARS: usize = 64;

impl<'s> Check<'s> {
    pub(super) fn fit_members<'a>(
        &mut self,
        node: &'s Node,
        members: &[Member<'a>],
        came: &Json<'a>,
        path: &Path<'_>,
    ) -> Option<Vec<Member<'a>>> {
        let mut copy = Kept::new(members);
        let mut meant: Option<Vec<Option<usize>>> = None;
        let mut hint = 0;
        for (index, member) in members.iter().enumerate() {
            if self.is_over() {
                return None;
            }
            let (name, value) = member;
            let known = node.property(name, hint);
            let renamed = match known {
                None if self.may_mend() => {
                    let meant = meant.get_or_insert_with(|| meant_by(node, members));
                    meant.get(index).copied().flatten()
                }
                _ => None,
            };
            let place = known.or(renamed);
            hint = place.map_or(hint, |place| place + 1);
            match self.fit_member(node, place, name, value, path) {
                Fitted::Same if renamed.is_none() => copy.keep(member),
                Fitted::Same => copy.put(index, (goes_by(node, place, name), value.clone())),
                Fitted::Changed(value) => {
                    copy.put(index, (goes_by(node, place, name), value));
                }
                Fitted::Dropped => {
                    copy.leave_out(index);
                }
            }
        }
        let changed = copy.changed;
        self.check_presence(node, changed.as_deref().unwrap_or(members), came, path);
        changed
    }

    fn fit_member<'a>(
        &mut self,
        node: &'s Node,
        place: Option<usize>,
        name: &str,
        value: &Json<'a>,
        path: &Path<'_>,
    ) -> Fitted<'a> {
        let property = place.and_then(|place| node.properties.get(place));
        let known_name = property.map_or(name, |(known, _)| known);
        let here = Path::Member(path, known_name);
        if known_name != name {
            self.warn(&Path::Member(path, name), || {
                format!("took it as the parameter {known_name}")
            });
        }
        let mut changed = None;
        let mut is_known = false;
        if let Some((known, id)) = property {
            is_known = true;
            if self.is_none_at_all(node, known, *id, value, &here) {
                self.warn(&here, || "took null as not given".to_owned());
                return Fitted::Dropped;
            }
            changed = self.fit(*id, value, &here, false);
        }
        for (pattern, id) in &node.patterns {
            if pattern.is_match(known_name) {
                is_known = true;
                let next = self.fit(*id, changed.as_ref().unwrap_or(value), &here, false);
                changed = next.or(changed);
            }
        }
        if !is_known {
            match node.others {
                Others::Odd | Others::Welcome => {}
                Others::Refused if self.may_mend() => {
                    self.dropped += 1;
                    self.warn(&here, || format!("dropped: {}", known_names(node, Some(name))));
                    return Fitted::Dropped;
                }
                Others::Refused => {
                    self.problem(&here, || known_names(node, None), Some(value));
                }
                Others::Fit(id) => changed = self.fit(id, value, &here, false),
            }
        }
        if let Some(names) = node.names {
            let text = Json::Text(Cow::Borrowed(known_name));
            if !self.fits_as_is(names, &text, &here) {
                let nodes = self.nodes;
                let words = || format!("a name that is {}", wish_of(nodes, names));
                self.problem(&here, words, Some(&text));
            }
        }
        changed.map_or(Fitted::Same, Fitted::Changed)
    }

    /// Whether null stands for nothing at all: where there need be nothing, and null does not fit.
    fn is_none_at_all(
        &mut self,
        node: &Node,
        name: &str,
        id: Id,
        value: &Json<'_>,
        path: &Path<'_>,
    ) -> bool {
        self.may_mend()
            && matches!(value, Json::Null)
            && !node.required.iter().any(|required| required == name)
            && !self.fits_as_is(id, value, path)
    }

    fn check_presence(
        &mut self,
        node: &Node,
        members: &[Member<'_>],
        came: &Json<'_>,
        path: &Path<'_>,
    ) {
        for name in &node.required {
            if members.iter().any(|(given, _)| given == name) {
                continue;
            }
            let known = node.properties.iter().find(|(known, _)| known == name);
            let nodes = self.nodes;
            let words =
                || known.map_or_else(|| "a value".to_owned(), |(_, id)| wish_of(nodes, *id));
            self.problem(&Path::Member(path, name), words, None);
        }
        self.check_count(members.len(), &node.members_range, "parameter", came, path);
    }

    /// Warns of members that no part of the schema speaks of, where it speaks of members at all.
    pub(super) fn warn_of_unknown(
        &mut self,
        id: Id,
        node: &Node,
        value: &Json<'_>,
        path: &Path<'_>,
    ) {
        let Json::Object(members) = value else { return };
        if !matches!(node.others, Others::Odd) || !self.names_members(id) {
            return;
        }
        let mut hint = 0;
        for (name, _) in members {
            match node.property(name, hint) {
                Some(place) => hint = place + 1,
                None if self.speaks_of(id, name) => {}
                None => self.warn(&Path::Member(path, name), || "unknown parameter".to_owned()),
            }
        }
    }

    /// Whether a node, or one that speaks of the same value, has something to say of a member.
    fn speaks_of(&mut self, id: Id, name: &str) -> bool {
        self.charge(1);
        let Some(node) = self.nodes.get(id).filter(|_| !self.is_tangled) else { return true };
        matches!(node.others, Others::Welcome | Others::Fit(_))
            || node.property(name, 0).is_some()
            || node.patterns.iter().any(|(pattern, _)| pattern.is_match(name))
            || node.in_place().any(|part| self.speaks_of(part, name))
    }

    fn names_members(&mut self, id: Id) -> bool {
        self.charge(1);
        let Some(node) = self.nodes.get(id).filter(|_| !self.is_tangled) else { return false };
        node.names_members || node.in_place().any(|part| self.names_members(part))
    }
}

/// The name under which a member goes on.
fn goes_by<'a>(node: &Node, place: Option<usize>, name: &Cow<'a, str>) -> Cow<'a, str> {
    let known = place.and_then(|place| node.properties.get(place));
    match known {
        Some((known, _)) if known != name => Cow::Owned(known.clone()),
        _ => name.clone(),
    }
}

/// What became of a member.
enum Fitted<'a> {
    Same,
    Changed(Json<'a>),
    Dropped,
}

/// Which property each member was meant for: that whose name differs only in upper and lower case,
/// if it is not given otherwise and nothing else may be under such a name.
fn meant_by(node: &Node, members: &[Member<'_>]) -> Vec<Option<usize>> {
    if matches!(node.others, Others::Welcome | Others::Fit(_)) || !node.patterns.is_empty() {
        return Vec::new();
    }
    let meant = |(name, _): &Member<'_>| {
        if let Some(exact) = node.property(name, 0) {
            return Some(exact);
        }
        let mut same =
            (0..).zip(&node.properties).filter(|(_, (known, _))| is_same_word(known, name));
        let (place, _) = same.next()?;
        same.next().is_none().then_some(place)
    };
    let meant: Vec<Option<usize>> = members.iter().map(meant).collect();
    let mut claims = vec![0_usize; node.properties.len()];
    for place in meant.iter().flatten() {
        if let Some(claims) = claims.get_mut(*place) {
            *claims += 1;
        }
    }
    let is_clear = |place: &usize| claims.get(*place) == Some(&1);
    meant.into_iter().map(|place| place.filter(is_clear)).collect()
}

/// Which parameters there are, those first whose names are nearest to another.
fn known_names(node: &Node, near: Option<&str>) -> String {
    let mut names = node.properties.iter().map(|(name, _)| &**name).collect::<Vec<_>>();
    if names.is_empty() {
        return "no parameters here".to_owned();
    }
    if let Some(near) = near {
        names.sort_by_cached_key(|name| distance(name, near));
    }
    let more = names.len().saturating_sub(NAMES_CAP);
    names.truncate(NAMES_CAP);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no parameter but {}{more}", names.join(", "))
}

/// How many letters have to change to make one name of another.
fn distance(one: &str, two: &str) -> usize {
    let lower = |text: &str| {
        text.chars().take(NAME_CAP_CHARS).flat_map(char::to_lowercase).collect::<Vec<_>>()
    };
    let (one, two) = (lower(one), lower(two));
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (place, letter) in one.iter().enumerate() {
        let mut before = place;
        let mut left = place + 1;
        for (above, other) in row.iter_mut().skip(1).zip(&two) {
            let here = (before + usize::from(letter != other)).min(*above + 1).min(left + 1);
            before = std::mem::replace(above, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = place + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
