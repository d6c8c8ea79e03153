//! The segments of the search index, as FTS5 lays them out in the table `words_data`.
//!
//! A segment is a sorted run of terms in leaves; together they are the index. An entry is indexed
//! once and never taken back, so what the segments say of it adds up in any order.

use rusqlite::{Connection, OptionalExtension as _};

use super::leaf::{Bytes, Leaves, Unusual};

/// The row that tells which segments there are.
const STRUCTURE: i64 = 10;
/// The bits of a leaf's number that are not the segment's.
const LEAF_BITS: u32 = 37;
/// The largest number of a segment.
const SEGMENT_MAX: u64 = (1 << 16) - 1;
/// The largest number of a leaf within its segment.
const LEAF_MAX: u64 = (1 << 31) - 1;
/// What the structure begins with, after four bytes, in another form than ours.
const OTHER_FORM: [u8; 4] = [0xff, 0, 0, 1];

/// Why segments could not be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// They are not as we know them.
    Unusual,
    /// SQLite could not read them.
    Sqlite(rusqlite::Error),
}

impl From<Unusual> for Unread {
    fn from(_: Unusual) -> Self {
        Self::Unusual
    }
}

impl From<rusqlite::Error> for Unread {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A segment: the numbers of its first and last leaf.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    first: i64,
    last: i64,
}

/// Gives each entry of the index with the sum of its places of a term, in parts and in no order.
pub(super) fn each_part(
    connection: &Connection,
    mut add: impl FnMut(i64, u64),
) -> Result<(), Unread> {
    let structure = connection
        .prepare_cached("SELECT block FROM words_data WHERE id = ?1")?
        .query_row([STRUCTURE], |row| row.get::<_, Vec<u8>>(0))
        .optional()?
        .ok_or(Unusual)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, block FROM words_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    )?;
    for segment in segments(&structure)? {
        let mut leaves = Leaves::default();
        let mut rows = statement.query([segment.first, segment.last])?;
        let mut next = segment.first;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? != next {
                return Err(Unread::Unusual);
            }
            let leaf = row.get_ref(1)?.as_blob().map_err(|_| Unusual)?;
            leaves.take(leaf, &mut add)?;
            next += 1;
        }
        if next != segment.last + 1 || !leaves.is_at_end() {
            return Err(Unread::Unusual);
        }
    }
    Ok(())
}

/// The segments that a structure tells of.
fn segments(structure: &[u8]) -> Result<Vec<Segment>, Unusual> {
    let mut bytes = Bytes(structure);
    // A number that changes with the options of the table.
    bytes.take(4)?;
    if bytes.0.starts_with(&OTHER_FORM) {
        return Err(Unusual);
    }
    let (levels, count) = (bytes.size()?, bytes.size()?);
    // How much was written.
    bytes.varint()?;
    let (mut segments, mut found) = (Vec::new(), 0);
    for _ in 0..levels {
        // How many of the level are being merged. Their terms are in one place at any moment.
        bytes.varint()?;
        for _ in 0..bytes.size()? {
            let (number, first, last) = (bytes.varint()?, bytes.varint()?, bytes.varint()?);
            if number == 0 || number > SEGMENT_MAX || first > last || last > LEAF_MAX {
                return Err(Unusual);
            }
            // One whose terms are all merged, and that is not yet removed, has no leaves.
            if first > 0 {
                let (first, last) = (leaf_id(number, first)?, leaf_id(number, last)?);
                segments.push(Segment { first, last });
            }
            found += 1;
        }
    }
    if found != count || !bytes.0.is_empty() {
        return Err(Unusual);
    }
    Ok(segments)
}

/// The number of a leaf among all.
fn leaf_id(segment: u64, leaf: u64) -> Result<i64, Unusual> {
    i64::try_from(segment << LEAF_BITS | leaf).map_err(|_| Unusual)
}
