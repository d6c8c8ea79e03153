//! Garbage: imports of what is no export, or no longer one. Each is refused with the line and the
//! reason, and nothing of it remains; a salvage keeps exactly what is sound.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::verify::{self, Depth};
use threadline_core::tokens::Estimator;
use threadline_core::transfer::line::{LINE_CAP_BYTES, Line, NotALine, Part};
use threadline_core::transfer::{self, Import, ImportError, Wrong};
use threadline_stores::sqlite::SqliteStore;
use threadline_testing::crash::Disk;
use threadline_testing::ids::{Choices, SeededIds};

use super::actor::Actor;
use super::files::Remembering;
use super::transfer::{exported, import, store, with_unknown_kind};
use super::witness::records;
use super::world::{knob, on_disk, runtime, seed, words};

/// A store to import to, and what is in its tables.
struct Taker {
    disk: Disk,
    store: Option<SqliteStore>,
    /// Gives every import an id of its own.
    imports: AtomicU64,
}

/// How many rows each table has, but for finished attachments.
#[derive(Debug, PartialEq, Eq)]
struct Rows(Vec<(String, i64)>);

impl Taker {
    fn new() -> Self {
        let (disk, store) = store();
        Self { disk, store: Some(store), imports: AtomicU64::new(0) }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    fn new_id(&self) -> ConversationId {
        let nth = self.imports.fetch_add(1, Ordering::Relaxed);
        let at = threadline_core::clock::Timestamp::from_micros(1_767_225_600_000_000);
        ConversationId::new(at, &SeededIds::new(900_000 + nth))
    }

    /// Imports as a conversation of its own.
    async fn take(&self, bytes: &[u8], salvage: bool) -> Result<transfer::Imported, ImportError> {
        let options = Import { as_new: Some(self.new_id()), salvage, trusted: false };
        import(self.store(), bytes, options).await
    }

    /// Imports what is refused, tells why, and looks whether anything remains of it.
    async fn refuse(&self, bytes: &[u8], what: &str) -> ImportError {
        let before = self.rows();
        let refused = match self.take(bytes, false).await {
            Ok(imported) => panic!("{what}: was imported: {imported:?}"),
            Err(refused) => refused,
        };
        assert_eq!(self.rows(), before, "{what}: something remains after {refused:?}");
        let told = words(&refused);
        assert!(told.starts_with(&format!("line {}: ", refused.line)), "{what}: {told}");
        refused
    }

    fn rows(&self) -> Rows {
        let connection = self.disk.connect("main.db").unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get(0)).unwrap();
        // Attachments are looked at on their own, and the index has only what was adopted.
        let mut tables = connection
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'word%'
                 AND name NOT IN ('blob', 'chunk', 'sqlite_sequence', 'unindexed') ORDER BY name",
            )
            .unwrap();
        let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let mut rows: Vec<(String, i64)> = tables
            .map(Result::unwrap)
            .map(|table| (table.clone(), count(&format!("SELECT count(*) FROM {table}"))))
            .collect();
        assert!(rows.iter().any(|(table, _)| table == "conversation"), "{rows:?}");
        // What was abandoned is marked, and swept when there is time.
        rows.push((
            "uploads under way".to_owned(),
            count("SELECT count(*) FROM blob WHERE staged <> ''"),
        ));
        Rows(rows)
    }

    fn attachments(&self) -> Vec<Digest> {
        digests(&self.disk.connect("main.db").unwrap())
    }

    /// Closes and opens the store until all that was abandoned is swept.
    fn sweep(mut self) {
        let left = |disk: &Disk| -> i64 {
            let connection = disk.connect("main.db").unwrap();
            let left = "SELECT (SELECT count(*) FROM blob WHERE digest IS NULL)
                 + (SELECT count(*) FROM chunk WHERE id >> 20 NOT IN (SELECT num FROM blob))
                 + (SELECT count(*) FROM log WHERE staged IS NOT NULL)";
            connection.query_row(left, [], |row| row.get(0)).unwrap()
        };
        let mut before = i64::MAX;
        for life in 1.. {
            self.store = None;
            let now = left(&self.disk);
            if now == 0 {
                return;
            }
            assert!(now < before, "{now} rows remain");
            before = now;
            self.store = Some(SqliteStore::open(on_disk(&self.disk, seed(), life)).unwrap());
        }
    }
}

fn digests(connection: &Connection) -> Vec<Digest> {
    let mut statement =
        connection.prepare("SELECT digest FROM blob WHERE digest IS NOT NULL").unwrap();
    let found = statement.query_map([], |row| row.get(0).map(Digest)).unwrap();
    found.map(Result::unwrap).collect()
}

/// A small export: some entries, an attachment, a rewind, and a kind of a newer version.
fn small() -> Vec<u8> {
    let (_disk, from) = store();
    let witness = Remembering::default();
    runtime().block_on(async {
        let mut actor = Actor::new(seed() + 60);
        actor.say_more(&from, &witness).await.unwrap();
        actor.send(&from, &witness, 200).await.unwrap();
        for _ in 0..3 {
            actor.say_more(&from, &witness).await.unwrap();
        }
        actor.go_back(&from, &witness).await.unwrap();
        with_unknown_kind(&exported(&from, actor.id, None).await)
    })
}

fn lines(export: &[u8]) -> Vec<Vec<u8>> {
    export.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn written(line: &Line) -> Vec<u8> {
    let mut bytes = Vec::new();
    line.write(&mut bytes).unwrap();
    bytes
}

/// The records of an export.
fn entries(export: &[u8]) -> Vec<Record> {
    let parsed = lines(export).into_iter().filter_map(|line| Line::parse(line.trim_ascii()).ok());
    parsed
        .filter_map(|line| match line {
            Line::Entry(record) => Some(record),
            _ => None,
        })
        .collect()
}

#[test]
fn what_is_no_export_is_refused() {
    let taker = Taker::new();
    let mut choices = Choices::new(seed());
    runtime().block_on(async {
        let empty = taker.refuse(b"", "an empty file").await;
        assert!(matches!(empty.wrong, Wrong::NoHeader), "{empty:?}");
        for what in ["\n", "{}\n", "null\n", "{\"thread", "\u{feff}{}\n", "[1,2,3]\n", "\0\0\0\n"] {
            let refused = taker.refuse(what.as_bytes(), what).await;
            assert!(matches!(refused.wrong, Wrong::NoHeader), "{what:?}: {refused:?}");
            assert_eq!(refused.line, 1, "{what:?}");
        }
        taker.refuse(b"\xff\xfe{\"threadline\":1}\n", "invalid UTF-8").await;
        for nth in 0..50 {
            let length = choices.index(3000);
            let bytes: Vec<u8> = (0..length).map(|_| choices.any().to_le_bytes()[0]).collect();
            taker.refuse(&bytes, &format!("random bytes {nth}")).await;
        }
        let newer =
            b"{\"threadline\":2,\"conversation\":\"01890a5d-ac96-774b-bcce-b302099a8057\"}\n";
        let newer = taker.refuse(newer, "a newer format").await;
        assert!(words(&newer).contains("use a newer threadline"), "{newer:?}");
    });
    taker.sweep();
}

#[test]
fn what_is_wrong_with_an_export_is_told_by_its_line() {
    let export = small();
    let whole = lines(&export);
    let first = whole.iter().position(|line| line.starts_with(b"{\"entry\"")).unwrap();
    let end = whole.len() - 1;
    let taker = Taker::new();
    let known = |at: usize| Line::parse(whole[at].trim_ascii()).unwrap();
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        lines.concat()
    };
    runtime().block_on(async {
        let at = |index: usize| index as u64 + 1;
        let twice = with(&|lines| lines.insert(first, whole[first].clone()));
        let refused = taker.refuse(&twice, "an entry twice").await;
        assert_eq!(refused.line, at(first + 1));
        assert!(matches!(refused.wrong, Wrong::OutOfOrder { expected: Seq(2), found: Seq(1) }));

        let missing = with(&|lines| drop(lines.remove(first)));
        let refused = taker.refuse(&missing, "a missing entry").await;
        assert_eq!(refused.line, at(first));
        assert!(matches!(refused.wrong, Wrong::OutOfOrder { expected: Seq(1), found: Seq(2) }));

        let Line::Entry(mut record) = known(first) else { panic!() };
        record.hash.0[5] ^= 1;
        let wrong = with(&|lines| lines[first] = written(&Line::Entry(record.clone())));
        let refused = taker.refuse(&wrong, "a wrong hash").await;
        assert_eq!(refused.line, at(first));
        assert!(matches!(refused.wrong, Wrong::BrokenChain(Seq(1))), "{refused:?}");

        let Line::End(seq, hash) = known(end) else { panic!() };
        for line in [Line::End(seq.next(), hash), Line::End(seq, Digest([1; 32]))] {
            let wrong = with(&|lines| lines[end] = written(&line));
            let refused = taker.refuse(&wrong, "a wrong end").await;
            assert_eq!(refused.line, at(end));
            assert!(matches!(refused.wrong, Wrong::WrongEnd), "{refused:?}");
        }
        let more = with(&|lines| lines.push(whole[first].clone()));
        let refused = taker.refuse(&more, "something after the end").await;
        assert_eq!(refused.line, at(end + 1));
        assert!(matches!(refused.wrong, Wrong::AfterEnd), "{refused:?}");

        for index in [1, first + 1, end] {
            let wrong = with(&|lines| lines.insert(index, whole[0].clone()));
            let refused = taker.refuse(&wrong, "two headers").await;
            assert_eq!(refused.line, at(index));
            assert!(matches!(refused.wrong, Wrong::NotALine(NotALine::Kind)), "{refused:?}");
            for strange in ["{\"dream\":{}}\n", "\n", "{\"entry\":{}}\n", "{\"end\":1}\n"] {
                let wrong = with(&|lines| lines.insert(index, strange.as_bytes().to_vec()));
                let refused = taker.refuse(&wrong, strange).await;
                assert_eq!(refused.line, at(index));
                assert!(matches!(refused.wrong, Wrong::NotALine(_)), "{refused:?}");
            }
        }
        let only = [whole[0].clone(), written(&Line::End(Seq::ZERO, Digest([0; 32])))].concat();
        let refused = taker.refuse(&only, "no entries").await;
        assert!(matches!(refused.wrong, Wrong::Empty), "{refused:?}");
    });
    taker.sweep();
}

#[test]
fn an_attachment_that_is_not_what_it_says_is_refused() {
    let export = small();
    let whole = lines(&export);
    let part = whole.iter().position(|line| line.starts_with(b"{\"attachment\"")).unwrap();
    let taker = Taker::new();
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        lines.concat()
    };
    runtime().block_on(async {
        let refused = taker.refuse(&with(&|lines| drop(lines.remove(part))), "no attachment").await;
        assert!(matches!(refused.wrong, Wrong::NoAttachment(..)), "{refused:?}");
        let Line::Attachment(sent) = Line::parse(whole[part].trim_ascii()).unwrap() else {
            panic!()
        };
        let half = sent.bytes.len() / 2;
        let parts = |parts: &[Part]| {
            let parts: Vec<u8> =
                parts.iter().flat_map(|p| written(&Line::Attachment(p.clone()))).collect();
            with(&|lines| lines[part].clone_from(&parts))
        };
        let piece = |offset: usize, bytes: &[u8]| Part {
            offset: offset as u64,
            bytes: bytes.to_vec(),
            ..sent.clone()
        };
        let (head, tail) = sent.bytes.split_at(half);
        let mut other = sent.bytes.clone();
        other[3] ^= 1;
        for (what, bad) in [
            ("another attachment", parts(&[piece(0, &other)])),
            ("parts out of order", parts(&[piece(half, tail), piece(0, head)])),
            ("a part twice", parts(&[piece(0, head), piece(0, head)])),
            ("parts that overlap", parts(&[piece(0, head), piece(half - 1, tail)])),
            ("an empty part", parts(&[piece(0, head), piece(half, &[])])),
            ("too long a part", parts(&[piece(0, &[&sent.bytes[..], &[1]].concat())])),
            ("half an attachment", parts(&[piece(0, head)])),
        ] {
            let refused = taker.refuse(&bad, what).await;
            let wrong = matches!(refused.wrong, Wrong::Attachment(_) | Wrong::NoAttachment(..));
            assert!(wrong, "{what}: {refused:?}");
            assert_eq!(taker.attachments(), [], "{what}: an attachment remains");
        }
        // In its parts, in their order, it is as good as whole.
        let whole = parts(&[piece(0, head), piece(half, tail)]);
        let imported = taker.take(&whole, false).await.unwrap();
        assert_eq!(taker.attachments(), [sent.digest]);
        let again = exported(taker.store(), imported.id, None).await;
        assert_eq!(entries(&again), entries(&export));
    });
    taker.sweep();
}

/// How many cases share a store: to verify one conversation deeply reads the whole search index.
const IN_ONE_STORE: usize = 100;

#[test]
fn an_export_that_breaks_off_is_refused_and_can_be_salvaged() {
    let export = small();
    let most = usize::try_from(knob("THREADLINE_FIRE_GARBAGE", 250)).unwrap();
    let stride = (export.len() / most).max(1);
    let ends: Vec<usize> = (0..export.len()).step_by(stride).chain([export.len() - 1]).collect();
    for ends in ends.chunks(IN_ONE_STORE) {
        let taker = Taker::new();
        runtime().block_on(async {
            for end in ends {
                let broken = &export[..*end];
                let what = format!("cut after {end} bytes");
                let refused = taker.refuse(broken, &what).await;
                assert_eq!(refused.line, lines(broken).len() as u64, "{what}: {refused:?}");
                let sound: Vec<u8> =
                    lines(broken).into_iter().filter(|l| l.ends_with(b"\n")).flatten().collect();
                salvage(&taker, broken, &entries(&sound), &what).await;
            }
        });
        taker.sweep();
    }
}

#[test]
fn an_export_with_a_changed_byte_is_refused_and_can_be_salvaged() {
    let export = small();
    let all = entries(&export);
    let most = knob("THREADLINE_FIRE_GARBAGE", 250);
    let mut choices = Choices::new(seed());
    let exhaustive = most >= export.len() as u64;
    let count = if exhaustive { export.len() } else { usize::try_from(most).unwrap() };
    let nths: Vec<usize> = (0..count).collect();
    for nths in nths.chunks(IN_ONE_STORE) {
        let taker = Taker::new();
        runtime().block_on(async {
            for &nth in nths {
                let at = if exhaustive { nth } else { choices.index(export.len()) };
                let bit = choices.below(8);
                let mut broken = export.clone();
                broken[at] ^= 1 << bit;
                let what = format!("bit {bit} of byte {at}");
                let line = lines(&export[..=at]).len();
                let before = taker.rows();
                match taker.take(&broken, false).await {
                    // The case of a digit says nothing, and the id is not what is imported here.
                    Ok(imported) => {
                        let found = records(taker.store(), imported.id).await.unwrap();
                        assert!(found == all, "{what}: something else was imported");
                    }
                    Err(refused) => {
                        assert_eq!(taker.rows(), before, "{what}: something remains");
                        let told = usize::try_from(refused.line).unwrap();
                        // An attachment may be missed only by the entry that names it.
                        assert!(
                            told >= line.min(told + 1) && told + 1 >= line,
                            "{what}: {refused:?}"
                        );
                        let sound = sound_prefix(&broken, &all);
                        salvage(&taker, &broken, sound, &what).await;
                    }
                }
            }
        });
        taker.sweep();
    }
}

/// The records of the lines before the first that differs.
fn sound_prefix<'a>(broken: &[u8], all: &'a [Record]) -> &'a [Record] {
    let mut sound = 0;
    for line in lines(broken) {
        match Line::parse(line.trim_ascii()) {
            Ok(Line::Entry(record)) if all.get(sound) == Some(&record) => sound += 1,
            Ok(Line::Entry(_) | Line::End(..) | Line::Waiting(_)) | Err(_) => break,
            Ok(Line::Attachment(part)) if !is_whole(&part) => break,
            Ok(Line::Header(_) | Line::Attachment(_)) => {}
        }
    }
    &all[..sound]
}

fn is_whole(part: &Part) -> bool {
    let size = part.bytes.len() as u64;
    Digest::of(&part.bytes) == part.digest && part.offset == 0 && part.size == size
}

/// A salvage keeps exactly these records, and says why no more.
async fn salvage(taker: &Taker, broken: &[u8], sound: &[Record], what: &str) {
    let before = taker.rows();
    match taker.take(broken, true).await {
        Err(refused) => {
            assert!(sound.is_empty(), "{what}: nothing was salvaged: {refused:?}");
            assert_eq!(taker.rows(), before, "{what}: something remains of a failed salvage");
        }
        Ok(imported) => {
            assert_eq!(imported.entries, sound.len() as u64, "{what}: {imported:?}");
            assert!(imported.salvaged.is_some(), "{what}: it does not say why it ends");
            let found = records(taker.store(), imported.id).await.unwrap();
            assert!(found == sound, "{what}: what was salvaged is not what was written");
            let (store, id) = (taker.store(), imported.id);
            let report =
                verify::verify(store, id, Depth::Deep, Arc::new(Estimator), &mut |_| {}).await;
            let report = report.unwrap();
            assert!(report.is_sound(), "{what}: {report:?}");
        }
    }
}

/// A line without an end, which counts what is read of it.
struct Endless {
    begin: Vec<u8>,
    read: u64,
}

impl Read for Endless {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        assert!(self.read < 1 << 30, "a gigabyte was read");
        let length = if self.begin.is_empty() {
            to.fill(b'x');
            to.len()
        } else {
            let length = self.begin.len().min(to.len());
            to[..length].copy_from_slice(&self.begin[..length]);
            self.begin.drain(..length);
            length
        };
        self.read += length as u64;
        Ok(length)
    }
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    let export = small();
    let whole = lines(&export);
    let taker = Taker::new();
    runtime().block_on(async {
        for keep in [0, 1, whole.len() / 2, whole.len()] {
            let before = taker.rows();
            let begin = whole[..keep].concat();
            let begin_bytes = begin.len() as u64;
            let mut from = BufReader::new(Endless { begin, read: 0 });
            let options = Import { as_new: Some(taker.new_id()), salvage: false, trusted: false };
            let refused =
                transfer::import(taker.store(), &mut from, options, &Estimator, &mut |_| {}).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.line, keep as u64 + 1);
            let fits = match keep {
                0 => matches!(refused.wrong, Wrong::TooLong | Wrong::NoHeader),
                keep if keep == whole.len() => matches!(refused.wrong, Wrong::AfterEnd),
                _ => matches!(refused.wrong, Wrong::TooLong),
            };
            assert!(fits, "{refused:?}");
            let read = from.get_ref().read - begin_bytes;
            assert!(read < LINE_CAP_BYTES as u64 + 64 * 1024, "{read} bytes were read");
            assert_eq!(taker.rows(), before);
        }
    });
    taker.sweep();
}
