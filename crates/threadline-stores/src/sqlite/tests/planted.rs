//! What is derived and wrong is found by a deep verify: each part of it, planted one by one.

use std::sync::Arc;

use rusqlite::params;
use threadline_core::search::{terms, text_of};
use threadline_core::store::Audit as _;
use threadline_core::store::verify::{Depth, Finding, verify};
use threadline_testing::generator::{self, Generator, GeneratorOptions};

use super::*;

/// A statement, and the entry and the words it is about.
type Change<'a> = (&'a str, i64, &'a str);

/// A closed store with a generated conversation, its index complete.
struct Planted {
    world: World,
    id: ConversationId,
}

impl Planted {
    async fn new() -> Self {
        let world = World::new();
        let store = world.open();
        let id = world.id();
        let mut generator = Generator::new(GeneratorOptions::mixed(5, 2));
        generator::fill(&store, id, &mut generator, 300, |_| {}).await.unwrap();
        store.index_checksums(id, Seq::ZERO, 1).await.unwrap();
        drop(store);
        Self { world, id }
    }

    /// What is found after something was changed in a copy of the file.
    async fn found(&self, change: impl FnOnce(&Connection)) -> Result<Vec<Finding>, StoreError> {
        let copy = self.world.folder.path().join("copy.db");
        std::fs::copy(self.world.path(), &copy).unwrap();
        let connection = Connection::open(&copy).unwrap();
        change(&connection);
        drop(connection);
        let store = self.world.try_open(&copy)?;
        let report = verify(&store, self.id, Depth::Deep, Arc::new(Estimator), &mut |_| {}).await?;
        Ok(report.findings)
    }

    /// Whether a statement that changes one row makes something be found about an entry.
    async fn tells(&self, sql: &str, of: Seq) -> bool {
        let found = self.found(|connection| {
            assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
        });
        match found.await {
            Ok(findings) => findings.iter().any(|finding| finding.seq == of),
            Err(StoreError::Damaged(_)) => true,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    fn connection(&self) -> Connection {
        Connection::open(self.world.path()).unwrap()
    }

    /// Each entry's number, its seq and the terms the index has of it.
    async fn texts(&self) -> Vec<(i64, Seq, String)> {
        let store = self.world.open();
        let records = store.read(self.id, &Page::forward(Seq(1), 1000)).await.unwrap();
        let log = self.world.count("SELECT tail_log FROM conversation");
        let entries = records.iter().map(|record| record.open().unwrap());
        let with_terms = entries.map(|entry| {
            let terms = terms(&text_of(&entry).unwrap_or_default());
            (super::super::number::entry_id(log, entry.seq), entry.seq, terms.join(" "))
        });
        with_terms.collect()
    }
}

#[tokio::test]
async fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(Planted::new().await.found(|_| {}).await.unwrap(), []);
}

#[tokio::test]
async fn every_column_of_an_outline_row_is_verified() {
    let planted = Planted::new().await;
    let connection = planted.connection();
    let mut columns = connection
        .prepare(
            "SELECT name, type FROM pragma_table_info('entry')
             WHERE name NOT IN ('id', 'agent', 'salt', 'hash', 'envelope', 'body')",
        )
        .unwrap();
    let columns: Vec<(String, String)> = columns
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut changed = 0;
    for (column, kind) in columns {
        let other = match kind.as_str() {
            // The tokens of another result.
            "TEXT" if column == "results" => "iif(results IS NULL, '[[1,1,1]]', NULL)".to_owned(),
            "TEXT" => format!("{column} || 'x'"),
            _ => format!("coalesce({column}, 0) + 1"),
        };
        let ids = "SELECT id FROM entry WHERE kind IS NOT NULL ORDER BY id";
        let ids: Vec<i64> = connection
            .prepare(ids)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for id in ids.iter().step_by(40) {
            let (_, seq) = super::super::number::log_and_seq(*id);
            let sql = format!("UPDATE entry SET {column} = {other} WHERE id = {id}");
            assert!(planted.tells(&sql, seq).await, "{sql}");
            if column == "kind" {
                let sql = format!("UPDATE entry SET kind = NULL WHERE id = {id}");
                assert!(planted.tells(&sql, seq).await, "{sql}");
            }
            changed += 1;
        }
    }
    assert!(changed >= 10, "only {changed} were changed");
}

#[tokio::test]
async fn an_outline_row_of_an_entry_that_has_none_is_found() {
    let planted = Planted::new().await;
    let id = "SELECT min(id) FROM entry WHERE kind IS NULL";
    let (_, seq) = super::super::number::log_and_seq(planted.world.count(id));
    let sql = format!(
        "UPDATE entry SET kind = 0, live = 1, recent = 1, gist_tokens = 1, exchange = 1, counter = 0,
           recent_sum = 1, live_sum = 1, turn = 1, gist = 'x' WHERE id = ({id})"
    );
    assert!(planted.tells(&sql, seq).await);
}

#[tokio::test]
async fn the_sums_are_verified() {
    let planted = Planted::new().await;
    for change in [
        "conversation SET messages = messages + 1",
        "conversation SET cost = cost + 1",
        "conversation SET archived = 1 - archived",
        "conversation SET title = coalesce(title, '') || 'x'",
        "conversation SET last_text = last_text || 'x'",
        "agent SET interactions = interactions + 1 WHERE agent = 1",
        "agent SET present = 1 - present WHERE agent = 1",
        "agent SET name = name || 'x' WHERE agent = 1",
        "agent SET description = description || 'x' WHERE agent = 1",
    ] {
        assert!(planted.tells(&format!("UPDATE {change}"), Seq::ZERO).await, "{change}");
    }
}

#[tokio::test]
async fn what_the_search_index_holds_is_verified() {
    let planted = Planted::new().await;
    let texts = planted.texts().await;
    let (number, seq, words) =
        texts.iter().find(|(_, _, words)| words.split(' ').count() > 3).unwrap();
    let (silent, silent_seq, _) = texts.iter().find(|(_, _, words)| words.is_empty()).unwrap();
    let delete = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?1, ?2)";
    let insert = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
    let reversed = words.split(' ').rev().collect::<Vec<_>>().join(" ");
    let longer = format!("{words} more");
    let cases: [(&[Change<'_>], Seq); 5] = [
        (&[(delete, *number, words)], *seq),
        (&[(delete, *number, words), (insert, *number, &reversed)], *seq),
        (&[(delete, *number, words), (insert, *number, &longer)], *seq),
        (&[(insert, *number, "planted")], *seq),
        (&[(insert, *silent, "planted")], *silent_seq),
    ];
    for (changes, of) in cases {
        let found = planted.found(|connection| {
            for (sql, number, words) in changes {
                connection.execute(sql, params![number, words]).unwrap();
            }
        });
        let found = found.await.unwrap();
        let is_it = |finding: &Finding| finding.seq == of && finding.what.contains("search index");
        assert!(found.len() == 1 && found.iter().all(is_it), "{changes:?}: {found:?}");
    }
}
