//! Databases of earlier versions, one of each: they are migrated, sound, and can be appended to.

use std::path::Path;
use std::sync::Arc;

use threadline_core::history::fact::Note;
use threadline_core::history::{Proposal, Stamp};
use threadline_core::id::AgentId;
use threadline_core::store::Query;
use threadline_core::store::verify::{Depth, verify};
use threadline_core::store::{
    self, Attendance, DEFAULT_TENANT, Filter, Hold, Listing, Search as _, Sort, Store as _,
};
use threadline_core::tokens::O200k;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;

use crate::rigs::runtime;

#[test]
fn databases_of_every_version_are_sound_and_go_on() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases");
    let mut versions = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        runtime().block_on(check(&file.unwrap().path()));
        versions += 1;
    }
    assert_eq!(versions, 2);
}

/// The tables and indexes of a database: their columns, and the SQL of the indexes.
fn schema(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT m.name || ' ' || c.name || ' ' || c.type
               FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
               UNION ALL SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
               ORDER BY 1";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_migrated_database_has_the_tables_and_indexes_of_a_new_one() {
    let databases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases");
    let folder = tempfile::tempdir().unwrap();
    let [new, old] = ["new.db", "old.db"].map(|name| folder.path().join(name));
    std::fs::copy(databases.join("7.db"), &old).unwrap();
    for path in [&new, &old] {
        drop(open(path, Arc::new(ManualClock::default()), Arc::new(SeededIds::new(1))));
    }
    assert_eq!(schema(&old), schema(&new));
}

fn open(path: &Path, clock: Arc<ManualClock>, ids: Arc<SeededIds>) -> SqliteStore {
    SqliteStore::open(SqliteOptions {
        path: path.to_owned(),
        tenant: DEFAULT_TENANT,
        owner: "test".to_owned(),
        clock,
        ids,
        vfs: None,
        durability: Durability::Full,
    })
    .unwrap()
}

async fn check(database: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::copy(database, &path).unwrap();
    let (clock, ids) = (Arc::new(ManualClock::default()), Arc::new(SeededIds::new(1)));
    let store = open(&path, Arc::clone(&clock), Arc::clone(&ids));
    let listing = Listing { filter: Filter::All, sort: Sort::Created, after: None, most: 10 };
    let all = store.list(&listing).await.unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all.iter().filter(|found| found.hold == Some(Hold::Imported)).count(), 1);
    assert_eq!(all.iter().filter(|found| found.forked_from.is_some()).count(), 2);
    let query =
        Query { text: "tea".to_owned(), conversation: None, agent: None, after: None, most: 10 };
    assert!(!store.search(&query).await.unwrap().is_empty());
    for found in &all {
        let (_, history) = store::open(&store, found.id, &O200k).await.unwrap();
        let lease = store.claim(found.id, 1_000, Attendance::Attended).await.unwrap();
        let note = Note { category: "test".into(), text: "still here".into() };
        let note = Proposal::new(AgentId::CONVERSATION, note, &O200k);
        let stamp = Stamp { at: found.active_at, ids: &*ids, counter: &O200k };
        let proposed = history.propose([note], stamp).unwrap();
        store::append(&store, &lease, proposed).await.unwrap();
        let report =
            verify(&store, found.id, Depth::Deep, Arc::new(O200k), &mut |_| {}).await.unwrap();
        assert!(report.is_sound() && report.entries > found.head.0, "{report:?}");
    }
}
