//! What the SQLite store promises beyond what every store does.

mod planted;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{AgentJoined, Fact, Input, Note};
use threadline_core::history::{Aftermath, History, Proposal, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq, TenantId};
use threadline_core::inbox::{Body, Item, ItemNumber, Mode};
use threadline_core::store::{
    Attendance, Audit as _, Blobs as _, Intake as _, Origin, Page, Query, Search as _, Store as _,
    StoreError,
};
use threadline_core::tokens::Estimator;
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;

use super::{Durability, SqliteOptions, SqliteStore};

const TTL_MS: u64 = 30_000;

struct World {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, clock: Arc::default(), ids: Arc::new(SeededIds::new(1)) }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("folder/store.db")
    }

    fn try_open(&self, path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(SqliteOptions {
            path: path.to_owned(),
            tenant: TenantId::NIL,
            owner: "tester".to_owned(),
            clock: Arc::clone(&self.clock) as _,
            ids: Arc::clone(&self.ids) as _,
            vfs: None,
            durability: Durability::Full,
        })
    }

    fn open(&self) -> SqliteStore {
        self.try_open(&self.path()).unwrap()
    }

    fn stamp(&self) -> Stamp<'_> {
        use threadline_core::clock::Clock as _;
        self.clock.advance_ms(1);
        Stamp { at: self.clock.now(), ids: self.ids.as_ref(), counter: &Estimator }
    }

    fn id(&self) -> ConversationId {
        ConversationId::new(self.stamp().at, self.ids.as_ref())
    }

    /// A batch of facts, and the history after it.
    fn batch(&self, history: &History, facts: impl IntoIterator<Item = Fact>) -> (Batch, History) {
        let propose = |fact: Fact| {
            let agent = match fact {
                Fact::AgentJoined(_) | Fact::Input(_) | Fact::TurnEnded(_) => AgentId::FIRST,
                _ => AgentId::CONVERSATION,
            };
            Proposal::new(agent, fact, &Estimator)
        };
        let proposed = history.propose(facts.into_iter().map(propose), self.stamp()).unwrap();
        (proposed.batch, proposed.history)
    }

    async fn begin(&self, store: &SqliteStore) -> (ConversationId, History) {
        let id = self.id();
        let (batch, history) = self.batch(&History::new(), [joined()]);
        store.create(id, None, &batch).await.unwrap();
        (id, history)
    }

    async fn say(
        &self,
        store: &SqliteStore,
        id: ConversationId,
        history: &History,
        texts: &[&str],
    ) -> History {
        let lease = store.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
        let (batch, history) = self.batch(history, texts.iter().map(|text| note(text)));
        store.append(&lease, &batch).await.unwrap();
        store.release(&lease).await.unwrap();
        history
    }

    fn count(&self, sql: &str) -> i64 {
        let connection = Connection::open(self.path()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// How SQLite goes about a query, a line for each step.
pub(super) fn plan(sql: &str) -> String {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(super::migrate::SCHEMA).unwrap();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut plan = String::new();
    while let Some(row) = rows.next().unwrap() {
        plan += &row.get::<_, String>(3).unwrap();
        plan.push('\n');
    }
    plan
}

fn joined() -> Fact {
    Fact::AgentJoined(AgentJoined {
        name: "scout".into(),
        description: "".into(),
        route: None,
        options: threadline_core::history::fact::CallOptions::default(),
        tools: Vec::new(),
        widgets: Vec::new(),
        primary: true,
    })
}

fn note(text: &str) -> Fact {
    Fact::Note(Note { category: "test".into(), text: text.into() })
}

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), conversation: None, agent: None, after: None, most: 10 }
}

#[tokio::test]
async fn what_was_appended_is_there_after_a_reopen() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let history = world.say(&store, id, &history, &["one", "two"]).await;
    drop(store);
    let store = world.open();
    let conversation = store.conversation(id).await.unwrap();
    assert_eq!((conversation.head, conversation.head_hash), (Seq(3), history.head_hash()));
    let records = store.read(id, &Page::forward(Seq(1), 10)).await.unwrap();
    let mut previous = threadline_core::history::record::GENESIS;
    for record in &records {
        assert!(record.follows(previous));
        previous = record.hash;
    }
    assert_eq!(previous, history.head_hash());
    assert_eq!(store.search(&query("two")).await.unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let store = world.open();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.path()), 0o600);
    assert_eq!(mode(world.path().parent().unwrap()), 0o700);
    for beside in ["store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&world.path().with_file_name(beside)), 0o600, "{beside}");
    }
    drop(store);
}

#[test]
fn what_is_not_a_store_is_refused_with_a_remedy() {
    let world = World::new();
    let folder = world.folder.path();
    let failed = world.try_open(folder).err().unwrap();
    assert!(matches!(failed, StoreError::Unavailable { .. }), "{failed:?}");

    let text = folder.join("text");
    std::fs::write(&text, "this is no database at all".repeat(100)).unwrap();
    let failed = world.try_open(&text).err().unwrap();
    assert!(matches!(failed, StoreError::Damaged(_)), "{failed:?}");

    let foreign = folder.join("foreign");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
    let failed = world.try_open(&foreign).err().unwrap();
    assert!(matches!(failed, StoreError::Damaged(_)), "{failed:?}");

    drop(world.open());
    let connection = Connection::open(world.path()).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    let failed = world.try_open(&world.path()).err().unwrap();
    assert!(matches!(failed, StoreError::Newer { found: 99, known: 8 }), "{failed:?}");
}

/// Development builds wrote files whose tables are of no use any more.
#[test]
fn a_file_of_a_development_build_is_refused() {
    let world = World::new();
    drop(world.open());
    let connection = Connection::open(world.path()).unwrap();
    for version in 1..7 {
        connection.pragma_update(None, "user_version", version).unwrap();
        let failed = world.try_open(&world.path()).err().unwrap();
        assert!(failed.to_string().contains("development build"), "{failed}");
    }
}

#[tokio::test]
async fn entries_are_never_changed_or_removed() {
    let world = World::new();
    let store = world.open();
    world.begin(&store).await;
    drop(store);
    let connection = Connection::open(world.path()).unwrap();
    for sql in ["DELETE FROM entry", "UPDATE entry SET agent = 7", "UPDATE entry SET body = x'00'"]
    {
        let refused = connection.execute_batch(sql).unwrap_err().to_string();
        assert!(refused.contains("entries are never"), "{sql}: {refused}");
    }
    assert_eq!(world.count("SELECT count(*) FROM entry"), 1);
}

/// Refuses after it has written, in a group with others.
#[test]
fn a_job_that_fails_late_leaves_nothing_and_does_not_fail_its_neighbours() {
    let world = World::new();
    let store = Arc::new(world.open());
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let write = |tenant: u8, ends: Result<(), &'static str>| {
        store.write("write a tenant", (0, None), move |connection: &Connection| {
            connection.execute("INSERT INTO tenant (id) VALUES (?1)", [[tenant]])?;
            ends.map_err(|why| StoreError::Invalid(why.to_owned()).into())
        })
    };
    // Someone writes, on a thread of their own, while the others come.
    let mut begun = Some(begun);
    let hold = store.write("hold the writer", (0, None), move |_| {
        begun.take().map(|begun| begun.send(()));
        let _released = wait.recv();
        Ok(())
    });
    let let_go = async { drop(go) };
    let (first, late, last, ()) = std::thread::scope(|scope| {
        scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(hold)
        });
        let others = async {
            begins.await.unwrap();
            tokio::join!(write(1, Ok(())), write(2, Err("late")), write(3, Ok(())), let_go)
        };
        scope
            .spawn(|| {
                tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(others)
            })
            .join()
            .unwrap()
    });
    assert!(first.is_ok() && last.is_ok());
    assert!(matches!(late, Err(StoreError::Invalid(why)) if why == "late"));
    assert_eq!(world.count("SELECT count(*) FROM tenant WHERE id IN (x'01', x'03')"), 2);
    assert_eq!(world.count("SELECT count(*) FROM tenant WHERE id = x'02'"), 0);
}

#[tokio::test]
async fn a_dead_owner_is_replaced_at_once_and_a_living_one_is_not() {
    let world = World::new();
    let (first, second) = (world.open(), world.open());
    let (id, history) = world.begin(&first).await;
    let lease = first.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
    let held = second.claim(id, TTL_MS, Attendance::Attended).await.unwrap_err();
    assert!(matches!(held, StoreError::Held { .. }), "{held:?}");
    let again = first.claim(id, TTL_MS, Attendance::Attended).await.unwrap_err();
    assert!(matches!(again, StoreError::Held { .. }), "{again:?}");
    drop(first);
    let taken = second.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
    assert!(taken.epoch > lease.epoch);
    let (batch, _) = world.batch(&history, [note("late")]);
    let fenced = second.append(&lease, &batch).await.unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced(_)), "{fenced:?}");
    second.append(&taken, &batch).await.unwrap();
    // The first owner asks what became of its batch, and learns that it is there.
    second.append(&lease, &batch).await.unwrap();
}

#[tokio::test]
async fn one_refused_append_does_not_fail_its_neighbours() {
    let world = World::new();
    let store = Arc::new(world.open());
    let mut conversations = Vec::new();
    for _ in 0..16 {
        let (id, history) = world.begin(&store).await;
        let lease = store.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
        conversations.push((lease, world.batch(&history, [note("hello")]).0));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (index, (mut lease, batch)) in conversations.into_iter().enumerate() {
        let store = Arc::clone(&store);
        let fenced = index % 3 == 0;
        lease.epoch += u64::from(fenced);
        tasks.spawn(async move { (fenced, store.append(&lease, &batch).await) });
    }
    while let Some(done) = tasks.join_next().await {
        let (fenced, answer) = done.unwrap();
        assert_eq!(matches!(answer, Err(StoreError::Fenced(_))), fenced, "{answer:?}");
        assert_eq!(answer.is_ok(), !fenced);
    }
    assert_eq!(world.count("SELECT count(*) FROM entry"), 16 + 10);
}

#[tokio::test]
async fn a_full_disk_writes_nothing_and_the_store_goes_on() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let lease = store.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
    let pages = |most: i64| {
        store.write("set a limit", (0, None), move |connection| {
            connection.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))?;
            Ok(())
        })
    };
    pages(1).await.unwrap();
    let (batch, _) = world.batch(&history, [note(&"word ".repeat(40_000))]);
    let full = store.append(&lease, &batch).await.unwrap_err();
    assert!(matches!(full, StoreError::Full), "{full:?}");
    assert_eq!(store.conversation(id).await.unwrap().head, Seq(1));
    pages(1_000_000).await.unwrap();
    store.append(&lease, &batch).await.unwrap();
    assert_eq!(store.conversation(id).await.unwrap().head, Seq(2));
}

#[tokio::test]
async fn forks_of_forks_read_and_search_through_what_they_share() {
    let world = World::new();
    let store = world.open();
    let (mut id, mut history) = world.begin(&store).await;
    let mut all = Vec::new();
    for depth in 0..40 {
        all.push(id);
        let text = format!("level {depth}");
        history = world.say(&store, id, &history, &[&text]).await;
        let child = world.id();
        let forked = history.propose_fork(id, &Aftermath::default(), world.stamp()).unwrap();
        store.create(child, Some((id, history.head())), &forked.batch).await.unwrap();
        // What the parent says after the fork is not the child's.
        world.say(&store, id, &history, &["afterwards"]).await;
        (id, history) = (child, forked.history);
    }
    let records = store.read(id, &Page::forward(Seq(1), 500)).await.unwrap();
    assert_eq!(records.len(), 81);
    let mut previous = threadline_core::history::record::GENESIS;
    for record in &records {
        assert!(record.follows(previous));
        previous = record.hash;
    }
    let backward = store.read(id, &Page::backward(Seq(u64::MAX), 500)).await.unwrap();
    assert!(backward.iter().rev().eq(&records));
    let one = Query { conversation: Some(id), most: 100, ..query("level") };
    assert_eq!(store.search(&one).await.unwrap().len(), 40);
    let everywhere = store.search(&Query { most: 100, ..query("level") }).await.unwrap();
    let writers: Vec<_> = everywhere.iter().map(|hit| hit.conversation).collect();
    assert!(writers.iter().rev().eq(&all), "each is found once, under the one that wrote it");
    let paged = Query { after: Some((all[3], Seq(10))), ..query("level") };
    let paged = store.search(&paged).await.unwrap();
    let paged: Vec<_> = paged.iter().map(|hit| hit.conversation).collect();
    assert!(paged.iter().rev().eq(&all[..4]));
    assert_eq!(store.index_lag().await.unwrap(), 0);
    assert_eq!(store.index_checksums(id, Seq::ZERO, 100).await.unwrap().len(), 40);
}

#[tokio::test]
async fn nothing_remains_of_an_intake_whose_process_died() {
    let world = World::new();
    let (dying, living) = (world.open(), world.open());
    let (batch, history) = world.batch(&History::new(), [joined(), note("lost words")]);
    let (lost, kept) = (world.id(), world.id());
    let stage = dying.begin_intake(lost, Seq::ZERO).await.unwrap();
    dying.stage(stage, &batch, Some(&history.to_snapshot())).await.unwrap();
    assert_eq!(dying.staged(stage, Seq(2), 10).await.unwrap().len(), 1);
    let upload = dying.begin_upload().await.unwrap();
    dying.upload(upload, vec![7; 600_000]).await.unwrap();
    let stage = living.begin_intake(kept, Seq::ZERO).await.unwrap();
    living.stage(stage, &batch, None).await.unwrap();
    assert!(matches!(dying.conversation(lost).await, Err(StoreError::NotFound(_))));
    drop(dying);
    drop(world.open());
    assert_eq!(world.count("SELECT count(*) FROM entry"), 2, "what is still in use stays");
    assert_eq!(world.count("SELECT count(*) FROM snapshot"), 0);
    assert_eq!(world.count("SELECT count(*) FROM chunk"), 0);
    living.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    assert_eq!(living.search(&query("lost")).await.unwrap().len(), 1);
    assert_eq!(living.agents(kept).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_intake_takes_a_conversation_further() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let other = world.begin(&store).await;
    world.say(&store, other.0, &other.1, &["further still"]).await;
    let stage = store.begin_intake(id, history.head()).await.unwrap();
    let (batch, further) = world.batch(&history, [note("further on")]);
    store.stage(stage, &batch, Some(&further.to_snapshot())).await.unwrap();
    assert!(store.search(&query("\"further on\"")).await.unwrap().is_empty());
    store.adopt(stage, Origin::Copy, false, &[]).await.unwrap();
    let conversation = store.conversation(id).await.unwrap();
    assert_eq!((conversation.head, conversation.origin), (Seq(2), Origin::Copy));
    assert_eq!(store.snapshot(id, Seq(9)).await.unwrap().unwrap().seq, Seq(2));
    let history = world.say(&store, id, &further, &["and further"]).await;
    assert_eq!(store.conversation(id).await.unwrap().origin, Origin::Own);
    assert_eq!(store.conversation(id).await.unwrap().head_hash, history.head_hash());
    // Its later log does not make it a newer conversation.
    let hits = store.search(&query("further")).await.unwrap();
    let found: Vec<_> = hits.iter().map(|hit| (hit.conversation, hit.seq)).collect();
    assert_eq!(found, [(other.0, Seq(2)), (id, Seq(3)), (id, Seq(2))]);
    let after = store.search(&Query { after: Some(found[0]), ..query("further") }).await.unwrap();
    assert_eq!(after, hits[1..]);
}

#[tokio::test]
async fn attachments_come_back_in_any_pieces() {
    let world = World::new();
    let store = world.open();
    let bytes: Vec<u8> =
        (0..700_001_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let mut digests = Vec::new();
    for size in [1000, 262_144, 300_000] {
        let upload = store.begin_upload().await.unwrap();
        for piece in bytes.chunks(size) {
            store.upload(upload, piece.to_vec()).await.unwrap();
        }
        digests.push(store.finish_upload(upload).await.unwrap());
    }
    digests.dedup();
    let [digest] = digests[..] else { panic!("{digests:?}") };
    assert_eq!(world.count("SELECT count(*) FROM blob WHERE digest IS NOT NULL"), 1);
    assert_eq!(store.blob_size(digest).await.unwrap(), Some(700_001));
    for (offset, most) in [(0, 10), (262_140, 10), (262_144, 262_144), (700_000, 99), (800_000, 1)]
    {
        let expected: Vec<u8> = bytes.iter().skip(offset).take(most).copied().collect();
        let offset = u64::try_from(offset).unwrap();
        assert_eq!(store.blob(digest, offset, most).await.unwrap(), expected, "{offset}");
    }
}

#[tokio::test]
async fn a_failed_write_poisons_the_store() {
    let world = World::new();
    let store = world.open();
    let (id, _) = world.begin(&store).await;
    let failed = store.write("break", (0, None), |_| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        Err::<(), _>(rusqlite::Error::SqliteFailure(code, None).into())
    });
    assert!(matches!(failed.await, Err(StoreError::Poisoned(_))));
    assert!(matches!(store.conversation(id).await, Err(StoreError::Poisoned(_))));
    assert!(matches!(
        store.claim(id, TTL_MS, Attendance::Attended).await,
        Err(StoreError::Poisoned(_))
    ));
    drop(store);
    assert!(world.open().conversation(id).await.is_ok());
}

/// A newer version may put items into an inbox that this one does not understand.
#[tokio::test]
async fn an_item_of_a_newer_version_hides_no_other() {
    let world = World::new();
    let store = world.open();
    let (id, _) = world.begin(&store).await;
    for key in ["a", "b", "c"] {
        let body = Body::Input(Input::from_person(key));
        let item = Item { client_key: key.into(), to: None, mode: Mode::Queue, due: None, body };
        store.enqueue(id, &item).await.unwrap();
    }
    let connection = Connection::open(world.path()).unwrap();
    let newer = r#"{"client_key":"b","body":{"telepathy":{}}}"#;
    connection
        .execute("UPDATE inbox SET item = ?1 WHERE client_key = 'b'", [newer.as_bytes()])
        .unwrap();
    let page = store.waiting(id, ItemNumber(0), 9).await.unwrap();
    let [(first, _)] = &page[..] else { panic!("{page:?}") };
    let refused = store.waiting(id, *first, 9).await.unwrap_err();
    let StoreError::NewerItem { item, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(store.waiting(id, item, 9).await.unwrap().len(), 1);
    connection.execute("UPDATE inbox SET item = x'7b' WHERE client_key = 'b'", []).unwrap();
    let refused = store.waiting(id, ItemNumber(0), 9).await.unwrap_err();
    assert!(refused.damage().is_some(), "{refused:?}");
}
