//! Transfer: what is exported, imported and exported again is the same, byte for byte.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use threadline_core::history::Stamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Attachment, Digest, Fact, Unrecognised};
use threadline_core::history::metadata::Metadata;
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, ConversationId, EntryId, Seq};
use threadline_core::inbox::ItemNumber;
use threadline_core::store::verify::{self, Depth};
use threadline_core::store::{Attendance, Blobs as _, Origin, Storage, Store as _, StoreError};
use threadline_core::tokens::Estimator;
use threadline_core::transfer::line::Line;
use threadline_core::transfer::{self, Import, ImportError, Imported, Wrong};
use threadline_stores::sqlite::SqliteStore;
use threadline_testing::crash::Disk;
use threadline_testing::generator::{Generator, GeneratorOptions, fill};
use threadline_testing::ids::SeededIds;

use super::actor::Actor;
use super::child::{self, Running};
use super::files::Remembering;
use super::world::{TTL_MS, knob, on_disk, open, runtime, seed};

/// A store in memory.
pub(crate) fn store() -> (Disk, SqliteStore) {
    let disk = Disk::new();
    let store = SqliteStore::open(on_disk(&disk, seed(), 0)).unwrap();
    (disk, store)
}

/// A conversation of a seed: several agents, rewinds and attachments.
pub(crate) async fn generated(store: &dyn Storage, seed: u64, entries: u64) -> ConversationId {
    let mut attachments = Vec::new();
    for size in [0, 1, 700, 300_001] {
        let upload = store.begin_upload().await.unwrap();
        let bytes: Vec<u8> = (0..size).map(|n: u64| (n ^ seed).to_le_bytes()[0]).collect();
        for piece in bytes.chunks(1 << 20) {
            store.upload(upload, piece.to_vec()).await.unwrap();
        }
        let digest = store.finish_upload(upload).await.unwrap();
        let media_type = "application/octet-stream".into();
        attachments.push(Attachment { digest, size, media_type, name: None, extent: None });
    }
    let agents = u32::try_from(1 + seed % 4).unwrap();
    let mixed = GeneratorOptions::mixed(seed, agents);
    let options = GeneratorOptions { rewinds_percent: 20, attachments, ..mixed };
    let ids = SeededIds::new(seed + 500);
    let id = ConversationId::new(options.start, &ids);
    let mut generator = Generator::new(options);
    fill(store, id, &mut generator, entries, |_| {}).await.unwrap();
    id
}

/// The export of a conversation.
pub(crate) async fn exported(
    store: &dyn Storage,
    id: ConversationId,
    up_to: Option<Seq>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    transfer::export(store, id, up_to, &mut bytes, &mut |_| {}).await.unwrap();
    bytes
}

/// Imports some bytes.
pub(crate) async fn import(
    store: &dyn Storage,
    mut bytes: &[u8],
    options: Import,
) -> Result<Imported, ImportError> {
    transfer::import(store, &mut bytes, options, &Estimator, &mut |_| {}).await
}

/// A conversation verifies to its last byte.
async fn is_sound(store: &dyn Storage, id: ConversationId) {
    let report =
        verify::verify(store, id, Depth::Deep, Arc::new(Estimator), &mut |_| {}).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The export with one more entry, of a kind that only a newer version knows.
pub(crate) fn with_unknown_kind(export: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = export.split_inclusive(|byte| *byte == b'\n').collect();
    let end = Line::parse(lines.pop().unwrap()).unwrap();
    let Line::End(last, hash) = end else { panic!("{end:?}") };
    let ids = SeededIds::new(99);
    let at = threadline_core::clock::Timestamp::from_micros(1_800_000_000_000_000);
    let body = r#"{"dreams": [1,  2.50, {"of":"Schäfchen"}] }"#.as_bytes().to_vec();
    let entry = Entry {
        seq: last.next(),
        id: EntryId::new(at, &ids),
        at,
        agent: AgentId::CONVERSATION,
        cause: None,
        metadata: Metadata::new(),
        fact: Fact::Unrecognised(Unrecognised { kind: "dreamt".to_owned(), body }),
    };
    let record = Record::seal(&entry, [7; 16], hash).unwrap();
    let mut bytes = lines.concat();
    let hash = record.hash;
    Line::Entry(record).write(&mut bytes).unwrap();
    Line::End(entry.seq, hash).write(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_was_imported_exports_to_the_same_bytes() {
    let (_disk, from) = store();
    let (_other, to) = store();
    runtime().block_on(async {
        for seed in seed()..seed() + 4 {
            let id = generated(&from, seed, 300).await;
            let bytes = exported(&from, id, None).await;
            let imported = import(&to, &bytes, Import::default()).await.unwrap();
            assert_eq!((imported.id, imported.entries, imported.new), (id, 300, 300));
            assert!(!imported.moved && imported.salvaged.is_none());
            assert!(exported(&to, id, None).await == bytes, "seed {seed}");
            is_sound(&to, id).await;
            // Once more changes nothing.
            let again = import(&to, &bytes, Import::default()).await.unwrap();
            assert_eq!((again.entries, again.new), (300, 0));
            assert!(exported(&to, id, None).await == bytes, "seed {seed}");
        }
    });
}

#[test]
fn forks_and_kinds_of_newer_versions_are_carried_over_as_they_are() {
    let (_disk, from) = store();
    let (_other, to) = store();
    let witness = Remembering::default();
    runtime().block_on(async {
        let mut parent = Actor::new(seed());
        for _ in 0..30 {
            parent.step(&from, &witness).await.unwrap();
        }
        let mut fork = loop {
            if let Some(fork) = parent.fork(seed() + 1) {
                break fork;
            }
            parent.step(&from, &witness).await.unwrap();
        };
        for _ in 0..10 {
            fork.step(&from, &witness).await.unwrap();
        }
        for (id, unknown) in [(fork.id, false), (parent.id, true)] {
            let bytes = exported(&from, id, None).await;
            let bytes = if unknown { with_unknown_kind(&bytes) } else { bytes };
            import(&to, &bytes, Import::default()).await.unwrap();
            assert!(exported(&to, id, None).await == bytes);
            is_sound(&to, id).await;
        }
        let found = to.conversation(fork.id).await.unwrap();
        assert_eq!(found.forked_from.map(|(parent, _)| parent), Some(parent.id));
    });
}

#[test]
fn the_same_beginning_goes_on_and_another_is_refused() {
    let (_disk, from) = store();
    let (_other, to) = store();
    let witness = Remembering::default();
    runtime().block_on(async {
        let id = generated(&from, seed() + 9, 400).await;
        let (part, whole) =
            (exported(&from, id, Some(Seq(150))).await, exported(&from, id, None).await);
        import(&to, &part, Import::default()).await.unwrap();
        let imported = import(&to, &whole, Import::default()).await.unwrap();
        assert_eq!((imported.entries, imported.new), (400, 250));
        assert!(exported(&to, id, None).await == whole);
        is_sound(&to, id).await;
        // An older export of what is here brings nothing.
        let imported = import(&to, &part, Import::default()).await.unwrap();
        assert_eq!((imported.entries, imported.new), (400, 0));

        // It goes another way here than there.
        let (_third, elsewhere) = store();
        import(&elsewhere, &part, Import::default()).await.unwrap();
        let mut actor = Actor::resume(&elsewhere, id, seed() + 10).await.unwrap();
        actor.say_more(&elsewhere, &witness).await.unwrap();
        let own = exported(&elsewhere, id, None).await;
        for salvage in [false, true] {
            let options = Import { salvage, ..Import::default() };
            let refused = import(&elsewhere, &whole, options).await.unwrap_err();
            let Wrong::Diverged { id: diverged, seq } = refused.wrong else {
                panic!("{refused:?}")
            };
            assert_eq!((diverged, seq), (id, Seq(151)));
            assert!(refused.wrong.to_string().contains("--as-new"));
            assert!(exported(&elsewhere, id, None).await == own);
        }
        let new = Actor::new(seed() + 11).id;
        let options = Import { as_new: Some(new), ..Import::default() };
        let imported = import(&elsewhere, &whole, options).await.unwrap();
        assert_eq!((imported.id, imported.new), (new, 400));
        let renamed = String::from_utf8(whole).unwrap().replace(&id.to_string(), &new.to_string());
        assert!(exported(&elsewhere, new, None).await == renamed.into_bytes());
        is_sound(&elsewhere, new).await;
    });
}

/// Moves a conversation out of a store, to a file.
async fn moved_out(store: &dyn Storage, actor: &mut Actor) -> Vec<u8> {
    let lease = actor.lease(store).await.unwrap();
    let mut bytes = Vec::new();
    let ids = SeededIds::new(4242);
    let at = store.conversation(actor.id).await.unwrap().active_at.plus_millis(5);
    let stamp = Stamp { at, ids: &ids, counter: &Estimator };
    let moving =
        transfer::export_move(store, actor.id, None, stamp, &mut bytes, &mut |_| {}).await.unwrap();
    moving.close(store, &lease).await.unwrap();
    store.release(&lease).await.unwrap();
    bytes
}

#[test]
fn a_conversation_moves_away_and_back() {
    let (_disk, here) = store();
    let (_other, there) = store();
    let witness = Remembering::default();
    runtime().block_on(async {
        let mut actor = Actor::new(seed() + 20);
        for _ in 0..40 {
            actor.step(&here, &witness).await.unwrap();
        }
        actor.put(&here, &witness).await.unwrap();
        let id = actor.id;
        let items = |waiting: Vec<(ItemNumber, _)>| -> Vec<_> {
            waiting.into_iter().map(|(_, item)| item).collect::<Vec<_>>()
        };
        let waited = items(here.waiting(id, ItemNumber(0), 100).await.unwrap());
        assert!(!waited.is_empty());

        let out = moved_out(&here, &mut actor).await;
        assert!(here.conversation(id).await.unwrap().moved_away);
        assert!(matches!(
            here.claim(id, TTL_MS, Attendance::Attended).await,
            Err(StoreError::MovedAway(_))
        ));
        let trusted = Import { trusted: true, ..Import::default() };
        let imported = import(&there, &out, trusted).await.unwrap();
        assert!(imported.moved);
        let found = there.conversation(id).await.unwrap();
        assert_eq!((found.origin, found.moved_away), (Origin::Own, false));
        assert_eq!(items(there.waiting(id, ItemNumber(0), 100).await.unwrap()), waited);

        let mut actor = Actor::resume(&there, id, seed() + 21).await.unwrap();
        actor.take_all(&there, &witness).await.unwrap();
        actor.put(&there, &witness).await.unwrap();
        let waits = items(there.waiting(id, ItemNumber(0), 100).await.unwrap());
        let back = moved_out(&there, &mut actor).await;
        let imported = import(&here, &back, trusted).await.unwrap();
        assert!(imported.moved && imported.new > 0);
        assert!(!here.conversation(id).await.unwrap().moved_away);
        assert_eq!(items(here.waiting(id, ItemNumber(0), 100).await.unwrap()), waits);
        let mut actor = Actor::resume(&here, id, seed() + 22).await.unwrap();
        actor.say_more(&here, &witness).await.unwrap();
        is_sound(&here, id).await;
        is_sound(&there, id).await;
    });
}

/// Whoever moved a conversation away and thinks better of it imports the same file again.
#[test]
fn a_conversation_that_was_moved_away_is_taken_back() {
    let (_disk, here) = store();
    let witness = Remembering::default();
    runtime().block_on(async {
        let mut actor = Actor::new(seed() + 30);
        for _ in 0..10 {
            actor.step(&here, &witness).await.unwrap();
        }
        let out = moved_out(&here, &mut actor).await;
        let imported = import(&here, &out, Import::default()).await.unwrap();
        assert!(imported.moved);
        assert!(!here.conversation(actor.id).await.unwrap().moved_away);
        let mut actor = Actor::resume(&here, actor.id, seed() + 31).await.unwrap();
        actor.say_more(&here, &witness).await.unwrap();
        // From now on the file is only an older export.
        let imported = import(&here, &out, Import::default()).await.unwrap();
        assert_eq!(imported.new, 0);
        is_sound(&here, actor.id).await;
    });
}

#[test]
fn a_large_conversation_is_carried_over_in_little_memory() {
    let megabytes = knob("THREADLINE_FIRE_LARGE_MB", 0);
    if megabytes == 0 {
        return eprintln!("skipped: THREADLINE_FIRE_LARGE_MB says how large");
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = [folder.path().to_str().unwrap().to_owned(), megabytes.to_string()];
    let child = Running::start(child::command("transfer::child", &arguments));
    let (said, ended) = child.rest();
    assert!(ended, "{said:#?}");
    eprintln!("{}", said.join("\n"));
}

/// Exports and imports a large conversation. It is a process of its own, so that the memory it
/// took is known.
#[test]
#[ignore = "a child process of the tests here"]
fn child() {
    let Some(arguments) = child::arguments() else { return };
    let [folder, megabytes] = &arguments[..] else { panic!("{arguments:?}") };
    let (folder, megabytes) = (Path::new(folder), megabytes.parse::<u64>().unwrap());
    let (from, to) = (open(folder.join("from.db"), 1), open(folder.join("to.db"), 2));
    let file = folder.join("export");
    runtime().block_on(async {
        // Half of it are entries, half one attachment.
        let upload = from.begin_upload().await.unwrap();
        for n in 0..megabytes / 2 {
            from.upload(upload, n.to_le_bytes().repeat(1 << 17)).await.unwrap();
        }
        let digest: Digest = from.finish_upload(upload).await.unwrap();
        let size = megabytes / 2 * (1 << 20);
        let mut actor = Actor::new(1);
        let witness = Remembering::default();
        actor.say_more(&from, &witness).await.unwrap();
        let media_type = Arc::from("application/octet-stream");
        actor.attach(Attachment { digest, size, media_type, name: None, extent: None });
        for _ in 0..megabytes {
            actor.say_at_length(&from, &witness, 1 << 19).await.unwrap();
        }
        let mut bytes = BufWriter::new(File::create(&file).unwrap());
        transfer::export(&from, actor.id, None, &mut bytes, &mut |_| {}).await.unwrap();
        bytes.flush().unwrap();
        let mut bytes = BufReader::new(File::open(&file).unwrap());
        let options = Import::default();
        let done = transfer::import(&to, &mut bytes, options, &Estimator, &mut |_| {}).await;
        assert_eq!(done.unwrap().entries, from.conversation(actor.id).await.unwrap().head.0);
    });
    let length = std::fs::metadata(&file).unwrap().len();
    assert!(length > megabytes * 900_000, "only {length} bytes were exported");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak.map_or(0, |peak| peak.trim().trim_end_matches(" kB").parse().unwrap());
    child::tell(&format!("{length} bytes exported and imported, {peak} kB of memory at most"));
    // It does not grow with the size: 187 MB at 70 MB, 191 MB at 350 MB.
    assert!(peak < 256 * 1024, "{peak} kB");
}
