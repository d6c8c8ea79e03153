//! What a transaction writes to the log is written at once, and is there when it is synced.

use rusqlite::{ErrorCode, OpenFlags};
use threadline_testing::crash::{Disk, Fault, FaultKind, Op, OpKinds};

use super::*;
use crate::sqlite::vfs;

const LOG: &str = "main.db-wal";

fn open_on(world: &World, disk: &Disk, durability: Durability) -> SqliteStore {
    SqliteStore::open(SqliteOptions {
        path: disk.path("main.db").into(),
        tenant: TenantId::NIL,
        owner: "tester".to_owned(),
        clock: Arc::clone(&world.clock) as _,
        ids: Arc::clone(&world.ids) as _,
        vfs: Some(disk.vfs().to_owned()),
        durability,
    })
    .unwrap()
}

/// What was done to the log since a mark: the bytes of each write, and none for a sync.
fn done_since(disk: &Disk, mark: u64) -> Vec<Option<usize>> {
    let journal = disk.journal();
    let since = journal.ops().iter().skip_while(|op| **op != Op::Mark(mark));
    since
        .filter_map(|op| match op {
            Op::Write { file, data, .. } if &**file == LOG => Some(Some(data.len())),
            Op::Sync { file } if &**file == LOG => Some(None),
            _ => None,
        })
        .collect()
}

/// Appends a note of some length, and tells what that did to the log.
async fn appended(durability: Durability, length: usize) -> Vec<Option<usize>> {
    let (world, disk) = (World::new(), Disk::new());
    let store = open_on(&world, &disk, durability);
    let (id, history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    let (batch, _) = world.batch(&history, [note(&"x".repeat(length))]);
    disk.mark(1);
    store.append(&lease, &batch).await.unwrap();
    let done = done_since(&disk, 1);
    let read = store.read(id, &Page::backward(Seq(2), 1)).await.unwrap();
    assert_eq!(read[0].hash, batch.head_hash());
    done
}

const FRAME: usize = 24 + 8192;

#[tokio::test]
async fn an_append_is_one_write_and_one_sync() {
    let done = appended(Durability::Full, 1000).await;
    let [Some(bytes), None] = done[..] else { panic!("{done:?}") };
    assert_eq!(bytes % FRAME, 0);
    assert!(bytes > FRAME, "{bytes}");
}

#[tokio::test]
async fn a_long_one_is_written_in_pieces() {
    let done = appended(Durability::Full, 600_000).await;
    let (end, pieces) = done.split_last().unwrap();
    assert_eq!(*end, None, "{done:?}");
    assert!((5..10).contains(&pieces.len()), "{done:?}");
    assert!(pieces.iter().all(|piece| piece.is_some_and(|bytes| bytes < 128 * 1024)));
    assert_eq!(pieces.iter().flatten().sum::<usize>() % FRAME, 0);
}

/// Others may look for the frames before a sync.
#[tokio::test]
async fn what_is_not_synced_is_not_gathered() {
    let done = appended(Durability::Normal, 1000).await;
    assert!(done.len() >= 4 && done.iter().all(Option::is_some), "{done:?}");
}

/// A connection as the store writes with, and one as others have.
fn two(disk: &Disk) -> [Connection; 2] {
    let ours = vfs::gathering(Some(disk.vfs())).unwrap();
    [ours, disk.vfs()].map(|vfs| {
        let path = disk.path("main.db");
        let db = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs).unwrap();
        db.execute_batch(
            "PRAGMA cache_spill = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS t (n);",
        )
        .unwrap();
        db
    })
}

fn numbers(db: &Connection) -> Vec<i64> {
    let mut all = db.prepare_cached("SELECT n FROM t ORDER BY rowid").unwrap();
    all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn connections_take_turns_with_others() {
    let disk = Disk::new();
    let both = two(&disk);
    for n in 0..50_usize {
        let number = i64::try_from(n).unwrap();
        both[n * 5 % 7 % 2].execute("INSERT INTO t VALUES (?1)", [number]).unwrap();
        let expected: Vec<i64> = (0..=number).collect();
        assert!(both.iter().all(|db| numbers(db) == expected), "{n}");
        if n % 11 == 0 {
            both[n % 2].query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        }
    }
}

/// The place it was for may be another's by then.
#[test]
fn what_could_not_be_written_is_told_and_not_written_later() {
    for (kind, code) in
        [(FaultKind::Full, ErrorCode::DiskFull), (FaultKind::Io, ErrorCode::SystemIoFailure)]
    {
        let disk = Disk::new();
        let [ours, theirs] = two(&disk);
        ours.execute("INSERT INTO t VALUES (1)", ()).unwrap();
        disk.fail(Fault { after: 0, kind, forever: false, on: OpKinds::WRITE });
        let failed = ours.execute("INSERT INTO t VALUES (2)", ()).unwrap_err();
        assert_eq!(failed.sqlite_error_code(), Some(code));
        assert_eq!(disk.failures(), 1);
        theirs.execute("INSERT INTO t VALUES (3)", ()).unwrap();
        assert_eq!(numbers(&ours), [1, 3]);
        ours.execute("INSERT INTO t VALUES (4)", ()).unwrap();
        drop(ours);
        assert_eq!(numbers(&theirs), [1, 3, 4]);
    }
}

#[test]
fn there_is_one_before_each_other() {
    let system = vfs::gathering(None).unwrap();
    assert_eq!(vfs::gathering(None), Some(system));
    let disks = vfs::gathering(Some(Disk::new().vfs())).unwrap();
    assert_ne!(system, disks);
    assert_eq!(vfs::gathering(Some("no such thing")), None);
}
