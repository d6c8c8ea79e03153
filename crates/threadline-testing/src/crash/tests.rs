//! Plain `SQLite` on disks that crash: nothing acknowledged is lost, unless it was asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::file::OpenFile;
use super::*;

const ROWS: u32 = 24;

fn setup(db: &Connection, synchronous: &str) -> Result<(), rusqlite::Error> {
    db.execute_batch("PRAGMA page_size = 1024")?;
    // The answer comes before the commit. A commit that fails leaves no WAL behind, and nobody hears
    // of it who does not step to the end; not even those who ask for the mode again.
    let mode = db
        .prepare("PRAGMA journal_mode = WAL")?
        .query_map((), |row| row.get::<_, String>(0))?
        .collect::<Result<String, _>>()?;
    if mode != "wal" {
        return Err(rusqlite::Error::InvalidQuery);
    }
    db.pragma_update(None, "synchronous", synchronous)?;
    db.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = 5000;")?;
    db.execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, body BLOB NOT NULL)")
}

fn insert(db: &Connection, n: u32) -> Result<usize, rusqlite::Error> {
    db.execute("INSERT INTO t VALUES (?1, zeroblob(?2))", (n, n * 97 % 3000))
}

fn checkpoint(db: &Connection, mode: &str) -> Result<i64, rusqlite::Error> {
    db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |row| row.get(0))
}

/// Inserts rows, marks each, and checkpoints now and then in both ways.
fn workload(disk: &Disk, synchronous: &str) {
    let db = disk.connect("main.db").unwrap();
    setup(&db, synchronous).unwrap();
    for n in 1..=ROWS {
        insert(&db, n).unwrap();
        disk.mark(n.into());
        match n % 10 {
            3 => assert_eq!(checkpoint(&db, "PASSIVE"), Ok(0)),
            7 => assert_eq!(checkpoint(&db, "TRUNCATE"), Ok(0)),
            _ => {}
        }
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    Everything,
    Lost,
    Corrupt,
}

fn check(image: &Image, acknowledged: u64) -> Found {
    let read = || {
        let db = Disk::from_image(image).connect("main.db")?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let verdict: String = db.query_row("PRAGMA integrity_check", (), |row| row.get(0))?;
        if !db.table_exists(None, "t")? {
            return Ok((verdict, 0, 0));
        }
        db.query_row("SELECT count(*), coalesce(max(n), 0) FROM t", (), |row| {
            Ok((verdict, row.get(0)?, row.get(1)?))
        })
    };
    let read: Result<(String, u32, u32), rusqlite::Error> = read();
    match read {
        Ok((verdict, count, last)) if verdict == "ok" && count == last => {
            if u64::from(count) < acknowledged { Found::Lost } else { Found::Everything }
        }
        Ok(_) | Err(_) => Found::Corrupt,
    }
}

/// How many images of the journal were whole, had lost rows, and were corrupt.
fn replay(journal: &Journal, seed: u64) -> (u64, u64, u64) {
    let mut counts = (0, 0, 0);
    for point in journal.crash_points() {
        let acknowledged = point.acknowledged().unwrap_or(0);
        for image in point.images(seed).take(5) {
            match check(&image, acknowledged) {
                Found::Everything => counts.0 += 1,
                Found::Lost => counts.1 += 1,
                Found::Corrupt => counts.2 += 1,
            }
        }
    }
    counts
}

#[test]
fn full_loses_nothing() {
    let disk = Disk::new();
    workload(&disk, "FULL");
    let (whole, lost, corrupt) = replay(&disk.journal(), 1);
    assert_eq!((lost, corrupt), (0, 0));
    assert!(whole > 500, "only {whole} images");
}

#[test]
fn normal_loses_rows_but_stays_sound() {
    let disk = Disk::new();
    workload(&disk, "NORMAL");
    let (whole, lost, corrupt) = replay(&disk.journal(), 1);
    assert!(whole > 0 && lost > 0, "{whole} whole, {lost} lost");
    assert_eq!(corrupt, 0);
}

#[test]
fn off_corrupts() {
    let disk = Disk::new();
    workload(&disk, "OFF");
    let (_, lost, corrupt) = replay(&disk.journal(), 1);
    assert!(lost > 0 && corrupt > 0, "{lost} lost, {corrupt} corrupt");
}

#[test]
fn a_second_crash_during_recovery_loses_nothing() {
    let disk = Disk::new();
    workload(&disk, "FULL");
    let journal = disk.journal();
    for point in journal.crash_points().step_by(17) {
        let acknowledged = point.acknowledged().unwrap_or(0);
        let again = Disk::from_image(&point.image(2, 2));
        let db = again.connect("main.db").unwrap();
        setup(&db, "FULL").unwrap();
        drop(db);
        for second in again.journal().crash_points() {
            for image in second.images(3).take(3) {
                let at = (point.at(), second.at());
                assert_eq!(check(&image, acknowledged), Found::Everything, "at {at:?}");
            }
        }
    }
}

#[test]
fn rollback_journals_lose_a_row_unless_the_directory_is_synced() {
    for (synchronous, loses) in [("EXTRA", false), ("FULL", true)] {
        let disk = Disk::new();
        let db = disk.connect("main.db").unwrap();
        db.pragma_update(None, "synchronous", synchronous).unwrap();
        db.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, body)").unwrap();
        for n in 1..=8 {
            insert(&db, n).unwrap();
            disk.mark(n.into());
        }
        let (whole, lost, corrupt) = replay(&disk.journal(), 4);
        assert!(whole > 100, "only {whole} images");
        assert_eq!((lost > 0, corrupt), (loses, 0), "{synchronous}");
    }
}

#[test]
fn the_same_seed_gives_the_same_images() {
    let disk = Disk::new();
    workload(&disk, "NORMAL");
    let journal = disk.journal();
    let at = journal.ops().iter().rposition(|op| matches!(op, Op::Sync { .. })).unwrap();
    let images =
        |seed| -> Vec<Image> { journal.crash_point(at).unwrap().images(seed).take(6).collect() };
    assert_eq!(images(7), images(7));
    assert_ne!(images(7)[2..], images(8)[2..]);
    assert_ne!(images(7)[2], images(7)[3]);
}

#[test]
fn a_kept_image_is_what_the_disk_holds() {
    let disk = Disk::new();
    workload(&disk, "FULL");
    let end = disk.journal().crash_points().last().unwrap();
    assert_eq!(end.image(0, 1), disk.image());
    assert_eq!(check(&disk.image(), ROWS.into()), Found::Everything);
}

#[test]
fn readers_and_a_writer_share_a_disk() {
    let disk = Disk::new();
    let db = disk.connect("main.db").unwrap();
    setup(&db, "FULL").unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    let db = Connection::open_with_flags_and_vfs(
                        disk.path("main.db"),
                        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
                        disk.vfs(),
                    )
                    .unwrap();
                    db.execute_batch("PRAGMA busy_timeout = 5000").unwrap();
                    for _ in 0..10 {
                        let (count, max): (u32, u32) = db
                            .query_row("SELECT count(*), coalesce(max(n), 0) FROM t", (), |row| {
                                Ok((row.get(0)?, row.get(1)?))
                            })
                            .unwrap();
                        assert_eq!(count, max);
                        assert!(count >= last, "{last} rows were there, and now {count}");
                        last = count;
                    }
                }
            });
        }
        for n in 1..=300 {
            insert(&db, n).unwrap();
            disk.mark(n.into());
            if n % 20 == 0 {
                // Readers may keep a checkpoint from finishing: it says so, and that is no error.
                checkpoint(&db, if n % 40 == 0 { "PASSIVE" } else { "TRUNCATE" }).unwrap();
            }
        }
        done.store(true, Ordering::Release);
    });
    let journal = disk.journal();
    for point in journal.crash_points().step_by(97) {
        for image in point.images(5).take(3) {
            assert_eq!(check(&image, point.acknowledged().unwrap_or(0)), Found::Everything);
        }
    }
}

#[test]
fn two_writers_exclude_each_other() {
    let disk = Disk::new();
    for journal_mode in ["WAL", "DELETE"] {
        let file = format!("{journal_mode}.db");
        let (one, two) = (disk.connect(&file).unwrap(), disk.connect(&file).unwrap());
        one.pragma_update(None, "journal_mode", journal_mode).unwrap();
        one.execute_batch("CREATE TABLE t (n); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
        two.execute_batch("PRAGMA busy_timeout = 0").unwrap();
        let refused = two.execute_batch("BEGIN IMMEDIATE").unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        one.execute_batch("COMMIT").unwrap();
        two.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2); COMMIT").unwrap();
        assert_eq!(one.query_row("SELECT count(*) FROM t", (), |row| row.get(0)), Ok(2));
    }
}

#[test]
fn many_writers_take_turns() {
    let disk = Disk::new();
    setup(&disk.connect("main.db").unwrap(), "FULL").unwrap();
    thread::scope(|scope| {
        for writer in 0..3 {
            let db = disk.connect("main.db").unwrap();
            db.execute_batch("PRAGMA busy_timeout = 60000").unwrap();
            scope.spawn(move || {
                for n in 0..50 {
                    insert(&db, 1 + n * 3 + writer).unwrap();
                }
            });
        }
    });
    assert_eq!(check(&disk.image(), 150), Found::Everything);
}

/// What the workload acknowledged before its first error, and that error.
fn until_error(disk: &Disk) -> (u64, Option<rusqlite::Error>) {
    let mut acknowledged = 0;
    let mut run = || {
        let db = disk.connect("main.db")?;
        setup(&db, "FULL")?;
        for n in 1..=6 {
            insert(&db, n)?;
            disk.mark(n.into());
            acknowledged = n.into();
            checkpoint(&db, if n == 3 { "TRUNCATE" } else { "PASSIVE" })?;
        }
        Ok(())
    };
    let error = run().err();
    (acknowledged, error)
}

#[test]
fn an_error_at_any_operation_loses_nothing() {
    let cases = [
        (FaultKind::Io, OpKinds::READ | OpKinds::WRITE | OpKinds::TRUNCATE),
        (FaultKind::Io, OpKinds::SYNC),
        (FaultKind::Full, OpKinds::ALL),
        (FaultKind::Busy, OpKinds::LOCK),
    ];
    for (kind, on) in cases {
        for forever in [false, true] {
            let mut errors = 0;
            for after in 0.. {
                let disk = Disk::new();
                disk.fail(Fault { after, kind, forever, on });
                let (acknowledged, error) = until_error(&disk);
                if disk.failures() == 0 {
                    assert!(after > 5 && error.is_none(), "{kind:?} never struck: {error:?}");
                    break;
                }
                errors += u64::from(error.is_some());
                let end = disk.journal().crash_points().last().unwrap();
                for image in end.images(after).take(4).chain([disk.image()]) {
                    let found = check(&image, acknowledged);
                    assert_eq!(found, Found::Everything, "{kind:?} {on:?} {forever} {after}");
                }
            }
            // A single refused lock is waited for, or means that someone else does the work.
            assert!(errors > 3 || (kind == FaultKind::Busy && !forever), "{kind:?} {on:?}");
        }
    }
}

#[test]
fn a_full_disk_works_again_when_there_is_space() {
    let disk = Disk::new();
    let db = disk.connect("main.db").unwrap();
    setup(&db, "FULL").unwrap();
    let writes = disk.operations(OpKinds::WRITE);
    disk.fail(Fault { after: 0, kind: FaultKind::Full, forever: true, on: OpKinds::WRITE });
    let error = insert(&db, 1).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert!(disk.operations(OpKinds::WRITE) > writes);
    disk.heal();
    insert(&db, 1).unwrap();
    assert_eq!(db.query_row("SELECT count(*) FROM t", (), |row| row.get(0)), Ok(1));
}

#[test]
fn a_sync_after_a_failed_one_brings_nothing_back() {
    let disk = Disk::new();
    let file = OpenFile::named(disk.clone(), "file", true).unwrap();
    file.write(0, b"old").unwrap();
    file.sync().unwrap();
    file.write(0, b"new").unwrap();
    disk.fail(Fault { after: 0, kind: FaultKind::Io, forever: false, on: OpKinds::SYNC });
    file.sync().unwrap_err();
    file.sync().unwrap();
    let end = disk.journal().crash_points().last().unwrap();
    assert_eq!(end.images(0).count(), 1);
    assert_eq!(end.image(0, 0).file("file"), Some(&b"old"[..]));
    assert_eq!(disk.image().file("file"), Some(&b"new"[..]));
}

#[test]
fn an_unsynced_file_may_be_gone_and_a_deleted_one_back() {
    let disk = Disk::new();
    let file = OpenFile::named(disk.clone(), "kept", true).unwrap();
    file.write(0, b"1").unwrap();
    file.sync().unwrap();
    OpenFile::named(disk.clone(), "new", true).unwrap().write(0, b"2").unwrap();
    disk.delete("kept", false).unwrap();
    let end = disk.journal().crash_points().last().unwrap();
    assert_eq!(end.image(0, 0).names().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(end.image(0, 1).names().collect::<Vec<_>>(), ["new"]);
    // A synced deletion syncs the directory, and with it every name.
    disk.delete("new", true).unwrap();
    let end = disk.journal().crash_points().last().unwrap();
    assert_eq!(end.images(0).map(|image| image.names().count()).collect::<Vec<_>>(), [0]);
}

#[test]
fn torn_writes_change_whole_sectors_and_nothing_else() {
    let disk = Disk::new();
    let file = OpenFile::named(disk.clone(), "file", true).unwrap();
    file.write(0, &[b'a'; 2048]).unwrap();
    file.sync().unwrap();
    file.write(100, &[b'b'; 1500]).unwrap();
    let end = disk.journal().crash_points().last().unwrap();
    let (mut torn, mut garbled) = (0, 0);
    for image in end.images(9).take(100) {
        let data = image.file("file").unwrap();
        assert_eq!(data.len(), 2048);
        assert!(data[..100].iter().chain(&data[1600..]).all(|byte| *byte == b'a'));
        let sectors = [&data[100..512], &data[512..1024], &data[1024..1536], &data[1536..1600]];
        let all = |sector: &[u8], value| sector.iter().all(|byte| *byte == value);
        let old = sectors.iter().filter(|sector| all(sector, b'a')).count();
        let new = sectors.iter().filter(|sector| all(sector, b'b')).count();
        torn += usize::from(old > 0 && new > 0 && old + new == 4);
        garbled += usize::from(old + new < 4);
    }
    assert!(torn > 5 && garbled > 5, "{torn} torn, {garbled} garbled");
}

#[test]
fn a_connection_keeps_its_disk() {
    let disk = Disk::new();
    let path = disk.path("main.db");
    let vfs = disk.vfs();
    let db = disk.connect("main.db").unwrap();
    drop(disk);
    db.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(db.query_row("SELECT n FROM t", (), |row| row.get(0)), Ok(1));
    drop(db);
    let gone = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs).unwrap_err();
    assert_eq!(gone.sqlite_error_code(), Some(ErrorCode::CannotOpen));
}
