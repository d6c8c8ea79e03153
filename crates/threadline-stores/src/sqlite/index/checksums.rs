//! What the search index holds of each entry, as a checksum.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rusqlite::Connection;
use threadline_core::search::{place_checksum, term_hash};

use super::super::number::count;
use super::segment::{Unread, each_part};

/// The bits of an entry's number that tell its place in a run.
const RUN_BITS: u32 = 5;
/// How many entries are kept together.
const RUN: usize = 1 << RUN_BITS;

/// The checksums of all that is in the index, by entry number.
pub(in super::super) struct Checksums {
    connection: Connection,
    /// Changes when anyone else writes to the file.
    version: i64,
    sums: Vec<(i64, u64)>,
}

impl Checksums {
    /// Reads the whole index.
    pub(in super::super) fn read(connection: Connection) -> rusqlite::Result<Self> {
        let version = version(&connection)?;
        let sums = {
            // All of it at one moment: segments come and go.
            let _moment = connection.unchecked_transaction()?;
            sums(&connection)?
        };
        Ok(Self { connection, version, sums })
    }

    /// Whether nothing was written since.
    pub(in super::super) fn is_current(&self) -> bool {
        version(&self.connection).is_ok_and(|version| version == self.version)
    }

    /// Those of a run of entries.
    pub(in super::super) fn between(&self, first: i64, last: i64) -> &[(i64, u64)] {
        let from = self.sums.partition_point(|(id, _)| *id < first);
        let to = self.sums.partition_point(|(id, _)| *id <= last);
        self.sums.get(from..to).unwrap_or_default()
    }
}

/// Sums that grow, by entry number. Neighbours are kept together: a term's entries come in order.
#[derive(Default)]
struct Sums {
    /// Which run holds the entries whose numbers begin like this.
    places: HashMap<i64, usize, BuildHasherDefault<NumberHasher>>,
    runs: Vec<Run>,
    /// The run that was added to last.
    last: Option<(i64, usize)>,
}

/// The sums of neighbours.
#[derive(Clone, Default)]
struct Run {
    /// Which of them are here, by bit.
    here: u32,
    sums: [u64; RUN],
}

impl Sums {
    fn add(&mut self, entry: i64, sum: u64) {
        let number = entry >> RUN_BITS;
        let place = match self.last {
            Some((last, place)) if last == number => place,
            Some(_) | None => self.seek(number),
        };
        let within = entry.cast_unsigned() % (1 << RUN_BITS);
        if let Some(run) = self.runs.get_mut(place) {
            run.here |= 1 << within;
            let kept = usize::try_from(within).ok().and_then(|within| run.sums.get_mut(within));
            if let Some(kept) = kept {
                *kept = kept.wrapping_add(sum);
            }
        }
    }

    fn seek(&mut self, number: i64) -> usize {
        let place = *self.places.entry(number).or_insert(self.runs.len());
        if place == self.runs.len() {
            self.runs.push(Run::default());
        }
        self.last = Some((number, place));
        place
    }

    /// All of them, by number.
    fn into_sorted(self) -> Vec<(i64, u64)> {
        let mut places: Vec<_> = self.places.into_iter().collect();
        places.sort_unstable();
        let mut sorted = Vec::new();
        for (number, place) in places {
            let Some(run) = self.runs.get(place) else { continue };
            let numbered = (0..).zip(number << RUN_BITS..).zip(run.sums);
            let here = numbered.filter(|((within, _), _)| run.here >> within & 1 == 1);
            sorted.extend(here.map(|((_, entry), sum)| (entry, sum)));
        }
        sorted
    }
}

/// Spreads entry numbers: they are ours, so nobody can choose them to collide.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(8) ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    fn write_i64(&mut self, number: i64) {
        let spread = number.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The sums of all entries, by number.
fn sums(connection: &Connection) -> rusqlite::Result<Vec<(i64, u64)>> {
    match from_segments(connection) {
        Ok(sums) => Ok(sums),
        // FTS5 knows what it is, or says that it is damaged.
        Err(Unread::Unusual) => from_places(connection),
        Err(Unread::Sqlite(error)) => Err(error),
    }
}

/// The sums, from the leaves of the index.
fn from_segments(connection: &Connection) -> Result<Vec<(i64, u64)>, Unread> {
    let mut sums = Sums::default();
    each_part(connection, |entry, sum| sums.add(entry, sum))?;
    Ok(sums.into_sorted())
}

/// The sums, from what FTS5 says of every place of every term. It takes several times as long.
fn from_places(connection: &Connection) -> rusqlite::Result<Vec<(i64, u64)>> {
    let mut sums = Sums::default();
    let mut statement = connection.prepare("SELECT doc, offset, term FROM word_places")?;
    let mut rows = statement.query([])?;
    // All places of a term come one after the other.
    let (mut term, mut hash) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let next = row.get_ref(2)?.as_bytes()?;
        if term != next {
            next.clone_into(&mut term);
            hash = term_hash(&String::from_utf8_lossy(next));
        }
        sums.add(row.get(0)?, place_checksum(count(row.get(1)?), hash));
    }
    Ok(sums.into_sorted())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use rusqlite::params;
    use threadline_core::search::{checksum, terms};
    use threadline_testing::ids::Choices;

    use super::*;

    /// An index like the store's, with texts of all sizes, written in small transactions so that
    /// its segments are merged now and then, and the checksums it should have.
    fn written(seed: u64, texts: i64) -> (Connection, Vec<(i64, u64)>) {
        let connection = Connection::open_in_memory().unwrap();
        let schema = include_str!("../0001_store.sql");
        let index = schema.split_once("CREATE VIRTUAL TABLE words").unwrap().1;
        connection.execute_batch(&format!("CREATE VIRTUAL TABLE words{index}")).unwrap();
        let mut choices = Choices::new(seed);
        let mut truth = Vec::new();
        let mut number = 1_i64 << 36;
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..texts {
            number += 1 + i64::try_from(choices.below(4)).unwrap();
            let length = [3, 30, 300, 3000][choices.index(4)];
            let words: Vec<_> = (0..=choices.index(length))
                .map(|_| match choices.below(20) {
                    0 => "天气".to_owned(),
                    1 => "é".repeat(40),
                    2..8 => "the".to_owned(),
                    _ => format!("word{}", choices.below(3000)),
                })
                .collect();
            let terms = terms(&words.join(" "));
            let insert = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
            connection.execute(insert, params![number, terms.join(" ")]).unwrap();
            truth.push((number, checksum(&terms)));
            if choices.below(3) == 0 {
                connection.execute_batch("COMMIT; BEGIN").unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        (connection, truth)
    }

    #[test]
    fn the_leaves_say_what_fts5_says() {
        for seed in 0..6 {
            let (connection, truth) = written(seed, 30 << seed);
            assert_eq!(from_places(&connection).unwrap(), truth);
            assert_eq!(from_segments(&connection).unwrap(), truth, "seed {seed}");
            // A merge that is under way leaves what was merged in one segment only.
            for _ in 0..20 {
                let merge = "INSERT INTO words (words, rank) VALUES ('merge', -3)";
                connection.execute(merge, []).unwrap();
                assert_eq!(from_segments(&connection).unwrap(), truth, "seed {seed}");
            }
            let whole = "INSERT INTO words (words) VALUES ('optimize')";
            connection.execute(whole, []).unwrap();
            assert_eq!(from_segments(&connection).unwrap(), truth, "seed {seed}");
        }
    }

    #[test]
    fn an_empty_index_has_no_sums() {
        let (connection, _) = written(1, 0);
        assert_eq!(from_segments(&connection).unwrap(), []);
    }

    #[test]
    fn what_was_taken_back_is_left_to_fts5() {
        let (connection, mut truth) = written(7, 5);
        let text = terms("one more text").join(" ");
        connection.execute("INSERT INTO words (rowid, text) VALUES (1, ?1)", [&text]).unwrap();
        truth.insert(0, (1, checksum(&terms(&text))));
        assert_eq!(sums(&connection).unwrap(), truth);
        let delete = "INSERT INTO words (words, rowid, text) VALUES ('delete', 1, ?1)";
        connection.execute(delete, [&text]).unwrap();
        assert!(matches!(from_segments(&connection), Err(Unread::Unusual)));
        truth.remove(0);
        assert_eq!(sums(&connection).unwrap(), truth);
    }

    /// What FTS5 would see is seen.
    #[test]
    fn a_changed_byte_of_a_leaf_is_told_if_fts5_would_tell_or_show_it() {
        let (connection, truth) = written(8, 60);
        let ids: Vec<i64> = connection
            .prepare("SELECT id FROM words_data WHERE id >= 10")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let mut choices = Choices::new(9);
        let mut told = 0;
        for _ in 0..500 {
            let id = *choices.pick(&ids).unwrap();
            let read = "SELECT block FROM words_data WHERE id = ?1";
            let block: Vec<u8> = connection.query_row(read, [id], |row| row.get(0)).unwrap();
            let mut damaged = block.clone();
            let at = choices.index(block.len());
            damaged[at] ^= 1 << choices.below(8);
            write(&connection, id, &damaged);
            let seen = from_places(&connection).is_ok_and(|sums| sums == truth);
            let ours = sums(&connection).is_ok_and(|sums| sums == truth);
            assert!(seen || !ours, "byte {at} of leaf {id}");
            told += usize::from(!ours);
            write(&connection, id, &block);
        }
        assert!(told > 300, "only {told} were told");
        assert_eq!(from_segments(&connection).unwrap(), truth);
    }

    fn write(connection: &Connection, id: i64, block: &[u8]) {
        let write = "UPDATE words_data SET block = ?2 WHERE id = ?1";
        connection.execute(write, params![id, block]).unwrap();
    }
}
