//! A leaf of a segment of the search index, as FTS5 lays it out.
//!
//! A leaf has a header of two numbers of two bytes (where its first entry is if no term comes
//! before it, and where its footer begins), then terms, each with its entries, and a footer that
//! says where the terms begin. What does not fit a leaf goes on in the next one. Numbers are
//! varints; an entry is told by how far it is from the one before it, and so is a place in its
//! text.

use threadline_core::search::{place_checksum, term_hash};

/// The bytes of a leaf's header.
const HEADER: usize = 4;
/// What every term of the main index begins with.
const MAIN: u8 = b'0';
/// What is added to a place's distance: smaller numbers have a meaning of their own.
const PLACE_BASE: u64 = 2;

/// Something that our index never holds, or that nobody reads like this: FTS5 must judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unusual;

/// Reads the leaves of one segment, one after the other.
#[derive(Default)]
pub(super) struct Leaves {
    term: Vec<u8>,
    hash: u64,
    entry: i64,
    /// How many bytes of places of `entry` are still to come.
    left: usize,
    place: u64,
}

impl Leaves {
    /// Takes in the next leaf. `add` is given each entry with the sum of its places of a term, in
    /// one or more parts.
    pub(super) fn take(
        &mut self,
        leaf: &[u8],
        add: &mut impl FnMut(i64, u64),
    ) -> Result<(), Unusual> {
        let first_entry = usize::from(u16_at(leaf, 0)?);
        let end = usize::from(u16_at(leaf, 2)?);
        let mut footer = Bytes(leaf.get(end..).ok_or(Unusual)?);
        let mut term_at = footer.next_offset(0)?;
        let first_term = term_at.unwrap_or(end);
        let goes_on = if first_entry == 0 { first_term } else { first_entry };
        let mut rest = Bytes(part(leaf, HEADER, goes_on)?);
        self.places(&mut rest, add)?;
        if !rest.0.is_empty() || (self.left > 0 && goes_on < end) {
            return Err(Unusual);
        }
        if first_entry > 0 {
            if self.term.is_empty() {
                return Err(Unusual);
            }
            // A leaf begins anew: its first entry is told in full.
            self.entry = 0;
            self.entries(part(leaf, first_entry, first_term)?, add)?;
        }
        let mut is_first = true;
        while let Some(at) = term_at {
            if self.left > 0 {
                return Err(Unusual);
            }
            let next = footer.next_offset(at)?;
            let mut bytes = Bytes(part(leaf, at, next.unwrap_or(end))?);
            self.next_term(&mut bytes, is_first)?;
            self.entries(bytes.0, add)?;
            (is_first, term_at) = (false, next);
        }
        Ok(())
    }

    /// Whether everything that was begun has ended.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0
    }

    fn next_term(&mut self, bytes: &mut Bytes<'_>, is_first: bool) -> Result<(), Unusual> {
        let kept = if is_first { 0 } else { bytes.size()? };
        let new = bytes.size()?;
        if kept > self.term.len() || new == 0 {
            return Err(Unusual);
        }
        self.term.truncate(kept);
        self.term.extend_from_slice(bytes.take(new)?);
        let (MAIN, term) = self.term.split_first().map(|(a, b)| (*a, b)).ok_or(Unusual)? else {
            return Err(Unusual);
        };
        self.hash = term_hash(std::str::from_utf8(term).map_err(|_| Unusual)?);
        self.entry = 0;
        Ok(())
    }

    fn entries(&mut self, bytes: &[u8], add: &mut impl FnMut(i64, u64)) -> Result<(), Unusual> {
        let mut bytes = Bytes(bytes);
        while !bytes.0.is_empty() {
            if self.left > 0 {
                return Err(Unusual);
            }
            let further = i64::try_from(bytes.varint()?).map_err(|_| Unusual)?;
            self.entry = self.entry.checked_add(further).ok_or(Unusual)?;
            let size = bytes.size()?;
            // An odd one takes an entry back.
            if size % 2 == 1 || size == 0 || further == 0 {
                return Err(Unusual);
            }
            (self.left, self.place) = (size / 2, 0);
            self.places(&mut bytes, add)?;
        }
        Ok(())
    }

    /// Reads the places of an entry, those that are on this leaf.
    fn places(
        &mut self,
        bytes: &mut Bytes<'_>,
        add: &mut impl FnMut(i64, u64),
    ) -> Result<(), Unusual> {
        let here = self.left.min(bytes.0.len());
        self.left -= here;
        let mut places = Bytes(bytes.take(here)?);
        let mut sum = 0_u64;
        while !places.0.is_empty() {
            let further = places.varint()?.checked_sub(PLACE_BASE).ok_or(Unusual)?;
            self.place = self.place.checked_add(further).ok_or(Unusual)?;
            sum = sum.wrapping_add(place_checksum(self.place, self.hash));
        }
        if here > 0 {
            add(self.entry, sum);
        }
        Ok(())
    }
}

/// Bytes that are read from the front.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Unusual> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unusual)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of one to nine bytes, the highest bits first. Each of the first eight gives seven
    /// bits and says whether there are more.
    pub(super) fn varint(&mut self) -> Result<u64, Unusual> {
        // Nearly all are this short.
        if let [byte @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0_u64;
        for (index, byte) in self.0.iter().take(9).enumerate() {
            let last = index == 8;
            let bits = if last { 8 } else { 7 };
            value = (value << bits) | u64::from(if last { *byte } else { byte & 0x7f });
            if last || byte & 0x80 == 0 {
                self.take(index + 1)?;
                return Ok(value);
            }
        }
        Err(Unusual)
    }

    pub(super) fn size(&mut self) -> Result<usize, Unusual> {
        usize::try_from(self.varint()?).map_err(|_| Unusual)
    }

    /// The next place in a leaf, told by how far it is from the last one.
    fn next_offset(&mut self, last: usize) -> Result<Option<usize>, Unusual> {
        if self.0.is_empty() {
            return Ok(None);
        }
        last.checked_add(self.size()?).map(Some).ok_or(Unusual)
    }
}

fn part(leaf: &[u8], from: usize, to: usize) -> Result<&[u8], Unusual> {
    leaf.get(from..to).ok_or(Unusual)
}

fn u16_at(leaf: &[u8], at: usize) -> Result<u16, Unusual> {
    let bytes = leaf.get(at..at + 2).ok_or(Unusual)?;
    Ok(u16::from_be_bytes(bytes.try_into().map_err(|_| Unusual)?))
}
