//! What the search index holds of each entry, as a checksum.

use std::collections::HashMap;

use rusqlite::Connection;
use threadline_core::search::{place_checksum, term_hash};

use super::super::number::count;

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
        let sums = sums(&connection)?;
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

/// The checksum of every entry, by number: from what FTS5 says of each place of each term.
fn sums(connection: &Connection) -> rusqlite::Result<Vec<(i64, u64)>> {
    let mut sums: HashMap<i64, u64> = HashMap::new();
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
        let sum = sums.entry(row.get(0)?).or_default();
        *sum = sum.wrapping_add(place_checksum(count(row.get(1)?), hash));
    }
    let mut sums: Vec<(i64, u64)> = sums.into_iter().collect();
    sums.sort_unstable();
    Ok(sums)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use rusqlite::params;
    use threadline_core::search::{checksum, terms};

    use super::*;
    use crate::sqlite::migrate::SCHEMA;

    #[test]
    fn they_are_those_of_the_terms() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        assert_eq!(sums(&connection).unwrap(), []);
        let mut truth = Vec::new();
        for (number, text) in (7..).zip(["one more text", "the text, the text", "天气 é", "x"]) {
            let terms = terms(text);
            let insert = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
            connection.execute(insert, params![number, terms.join(" ")]).unwrap();
            truth.push((number, checksum(&terms)));
        }
        assert_eq!(sums(&connection).unwrap(), truth);
    }
}
