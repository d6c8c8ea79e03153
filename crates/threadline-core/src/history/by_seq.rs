//! Things by their place in a history.

use std::sync::Arc;

use super::entry::Entry;
use crate::id::Seq;

/// Things by the entry that they belong to, in its order.
///
/// A list and not a tree: most of them come in order, are looked for one after the other, and are
/// few enough to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BySeq<T>(Vec<(Seq, T)>);

impl<T> BySeq<T> {
    /// Nothing.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of an entry.
    pub fn get(&self, seq: Seq) -> Option<&T> {
        self.place(seq).ok().and_then(|place| self.at(place, seq))
    }

    /// Whether an entry has one.
    pub fn contains(&self, seq: Seq) -> bool {
        self.place(seq).is_ok()
    }

    /// That of an entry, with where it is; looked for first right before a place. Whoever goes back
    /// along a thread finds most of it there.
    pub fn get_before(&self, place: usize, seq: Seq) -> Option<(usize, &T)> {
        let before = place.saturating_sub(1);
        if let Some(found) = self.at(before, seq) {
            return Some((before, found));
        }
        let place = self.place(seq).ok()?;
        Some((place, self.at(place, seq)?))
    }

    /// Puts one in; gives the one that was there.
    pub fn insert(&mut self, seq: Seq, one: T) -> Option<T> {
        if self.0.last().is_none_or(|(last, _)| *last < seq) {
            self.0.push((seq, one));
            return None;
        }
        match self.place(seq) {
            Ok(place) => self.0.get_mut(place).map(|(_, there)| std::mem::replace(there, one)),
            Err(place) => {
                self.0.insert(place, (seq, one));
                None
            }
        }
    }

    /// Takes out those before an entry.
    pub fn drop_before(&mut self, seq: Seq) {
        let (Ok(place) | Err(place)) = self.place(seq);
        self.0.drain(..place);
    }

    /// Takes out those of which this is not so.
    pub fn retain(&mut self, mut stays: impl FnMut(Seq, &T) -> bool) {
        self.0.retain(|(seq, one)| stays(*seq, one));
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Seq, &T)> {
        self.0.iter().map(|(seq, one)| (*seq, one))
    }

    fn at(&self, place: usize, seq: Seq) -> Option<&T> {
        self.0.get(place).filter(|(found, _)| *found == seq).map(|(_, one)| one)
    }

    fn place(&self, seq: Seq) -> Result<usize, usize> {
        self.0.binary_search_by_key(&seq, |(seq, _)| *seq)
    }
}

impl BySeq<Arc<Entry>> {
    /// Some entries with the results that they seal, as far as they are at hand.
    pub fn with_sealed(
        seqs: impl IntoIterator<Item = Seq>,
        at_hand: impl Fn(Seq) -> Option<Arc<Entry>>,
    ) -> Self {
        let mut entries = Vec::new();
        for entry in seqs.into_iter().filter_map(&at_hand) {
            entries.extend(entry.sealed().iter().copied().filter_map(&at_hand));
            entries.push(entry);
        }
        entries.into_iter().map(|entry| (entry.seq, entry)).collect()
    }
}

impl<T> Default for BySeq<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> FromIterator<(Seq, T)> for BySeq<T> {
    /// In their order, whatever order they come in; of several for one entry the first stays.
    fn from_iter<I: IntoIterator<Item = (Seq, T)>>(all: I) -> Self {
        let mut by_seq = Self::new();
        by_seq.extend(all);
        by_seq
    }
}

impl<T> Extend<(Seq, T)> for BySeq<T> {
    /// Puts in those whose entry has none.
    fn extend<I: IntoIterator<Item = (Seq, T)>>(&mut self, more: I) {
        let known = self.0.len();
        self.0.extend(more);
        let unsorted = self.0.get(known.saturating_sub(1)..).unwrap_or_default();
        if !unsorted.is_sorted_by(|(one, _), (other, _)| one < other) {
            self.0.sort_by_key(|(seq, _)| *seq);
            self.0.dedup_by_key(|(seq, _)| *seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(done in prop::collection::vec((0_u8..6, 0_u64..40, 0_usize..50), 0..80)) {
            let (mut list, mut map) = (BySeq::new(), BTreeMap::new());
            for (what, number, place) in done {
                let seq = Seq(number);
                match what {
                    0 | 1 => prop_assert_eq!(list.insert(seq, place), map.insert(seq, place)),
                    2 => {
                        list.drop_before(seq);
                        map = map.split_off(&seq);
                    }
                    3 => {
                        let more = [number + 9, number, number + 1].map(|n| (Seq(n), place));
                        list.extend(more);
                        for (seq, one) in more {
                            map.entry(seq).or_insert(one);
                        }
                    }
                    4 => {
                        list.retain(|found, _| found.0 % 7 != number % 7);
                        map.retain(|found, _| found.0 % 7 != number % 7);
                    }
                    _ => {
                        let found = list.get_before(place, seq);
                        prop_assert_eq!(found.map(|(_, one)| one), map.get(&seq));
                        let there = found.and_then(|(at, _)| list.iter().nth(at));
                        prop_assert_eq!(there.map(|(of, _)| of), found.map(|_| seq));
                    }
                }
                prop_assert_eq!(list.get(seq), map.get(&seq));
                prop_assert_eq!(list.contains(seq), map.contains_key(&seq));
                prop_assert!(list.iter().eq(map.iter().map(|(seq, one)| (*seq, one))));
                prop_assert_eq!((list.len(), list.is_empty()), (map.len(), map.is_empty()));
            }
        }

        #[test]
        fn it_is_made_in_any_order(all in prop::collection::vec((0_u64..40, 0_u8..9), 0..60)) {
            let list: BySeq<u8> = all.iter().map(|(seq, one)| (Seq(*seq), *one)).collect();
            let last = all.iter().rev();
            let map: BTreeMap<Seq, u8> = last.map(|(seq, one)| (Seq(*seq), *one)).collect();
            prop_assert!(list.iter().eq(map.iter().map(|(seq, one)| (*seq, one))));
        }
    }
}
