//! Tool names, there and back: what a protocol does not take as a name is sent under another.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of tools in one request, each under what the wire calls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    to_wire: BTreeMap<Arc<str>, Arc<str>>,
    from_wire: BTreeMap<Arc<str>, Arc<str>>,
}

impl Names {
    /// These names, in this order, none longer than the cap. A name that every protocol takes is
    /// sent as it is; the others are told apart whatever they are.
    pub fn new(names: &[Arc<str>], cap: usize) -> Self {
        let mut all = Self::default();
        let (plain, odd): (Vec<_>, Vec<_>) = names.iter().partition(|name| fits(name, cap));
        for name in plain {
            all.insert(name, Arc::clone(name));
        }
        for name in odd {
            if !all.to_wire.contains_key(name) {
                let wire = all.free(name, cap);
                all.insert(name, wire);
            }
        }
        all
    }

    /// What the wire calls a tool.
    pub fn to_wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, |wire| wire)
    }

    /// The tool that the wire calls so; a name that was never sent is its own.
    pub fn from_wire(&self, wire: &str) -> Arc<str> {
        self.from_wire.get(wire).map_or_else(|| wire.into(), Arc::clone)
    }

    /// The names that are sent under another.
    pub fn changed(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.to_wire.iter().filter(|(name, wire)| name != wire)
    }

    fn insert(&mut self, name: &Arc<str>, wire: Arc<str>) {
        self.from_wire.insert(Arc::clone(&wire), Arc::clone(name));
        self.to_wire.insert(Arc::clone(name), wire);
    }

    /// A name that is like the given one, fits, and is not taken.
    fn free(&self, name: &str, cap: usize) -> Arc<str> {
        let like =
            |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        let mut base: String = name.chars().map(like).collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        base.truncate(cap);
        let mut wire = base.clone();
        let mut number = 2;
        while self.from_wire.contains_key(&*wire) {
            let suffix = format!("_{number}");
            wire = base.chars().take(cap.saturating_sub(suffix.len())).collect();
            wire.push_str(&suffix);
            number += 1;
        }
        wire.into()
    }
}

/// Whether every protocol takes a name: a letter or `_`, then letters, digits, `_` and `-`.
fn fits(name: &str, cap: usize) -> bool {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= cap && letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_names_are_sent_under_others_and_come_back() {
        let names: Vec<Arc<str>> =
            ["read_file", "files.read", "files_read", "9lives", "", "查"].map(Arc::from).into();
        let all = Names::new(&names, 64);
        let wire: Vec<&str> = names.iter().map(|name| all.to_wire(name)).collect();
        assert_eq!(wire, ["read_file", "files_read_2", "files_read", "_9lives", "_", "__2"]);
        assert_eq!(&*all.from_wire("files_read_2"), "files.read");
        assert_eq!(&*all.from_wire("never_sent"), "never_sent");
    }

    proptest! {
        #[test]
        fn any_names_fit_and_come_back(names in prop::collection::vec("\\PC{0,80}", 0..20), cap in 8usize..70) {
            let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
            let all = Names::new(&names, cap);
            for name in &names {
                let wire = all.to_wire(name);
                prop_assert!(fits(wire, cap), "{wire}");
                prop_assert_eq!(&all.from_wire(wire), name);
            }
        }
    }
}
