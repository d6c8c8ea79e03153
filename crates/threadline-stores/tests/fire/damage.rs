//! Damage: bytes of the file change, or its end is gone. That is told, or does no harm; what was
//! not written is never taken for what was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use threadline_core::history::fact::Digest;
use threadline_core::history::record::Record;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::store::verify::{self, Depth};
use threadline_core::store::{self, Storage, Store as _, StoreError};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::SqliteStore;
use threadline_testing::crash::{Disk, Image};
use threadline_testing::ids::Choices;

use super::actor::Actor;
use super::power::Marking;
use super::witness::{Claim, Event, blob, list, records};
use super::world::{knob, on_disk, runtime, seed, tells_of_panic, words};

const FILE: &str = "main.db";
const LOG: &str = "main.db-wal";

#[test]
fn a_changed_byte_of_the_file_is_never_taken_for_what_was_written() {
    let (image, truth) = written(true);
    change_bytes(&image, FILE, &truth);
}

#[test]
fn a_changed_byte_of_the_log_is_never_taken_for_what_was_written() {
    let (image, truth) = written(false);
    change_bytes(&image, LOG, &truth);
}

#[test]
fn a_file_that_ends_too_early_is_never_taken_for_what_was_written() {
    for (closed, name) in [(true, FILE), (false, LOG)] {
        let (image, truth) = written(closed);
        let length = image.file(name).unwrap().len();
        let most = usize::try_from(knob("THREADLINE_FIRE_FLIPS", 150)).unwrap();
        let stride = (length / most).max(1);
        let mut tally = Tally::default();
        // Whole pages, and lengths that no page ends at.
        for end in (0..length).step_by(stride).chain((0..length).step_by(8192)) {
            let mut damaged = image.clone();
            damaged.file_mut(name).unwrap().truncate(end);
            tally.judge(&damaged, &truth, &format!("{name} ends after {end} bytes"));
        }
        tally.finish(name);
    }
}

#[test]
fn a_changed_byte_of_an_item_that_waits_is_told() {
    let (image, truth) = written(true);
    let mut tally = Tally::default();
    let file = image.file(FILE).unwrap();
    for (_, item) in truth.conversations.values().flat_map(|written| &written.waiting) {
        // What it says, between the words around it.
        let text = format!("item {}", item.client_key);
        let is_text = |(_, window): &(usize, &[u8])| *window == text.as_bytes();
        let (at, _) = file.windows(text.len()).enumerate().find(is_text).unwrap();
        for offset in 0..text.len() {
            let mut damaged = image.clone();
            damaged.file_mut(FILE).unwrap()[at + offset] ^= 1;
            tally.judge(&damaged, &truth, &format!("byte {offset} of {text:?}"));
        }
    }
    tally.finish("waiting items");
}

#[test]
fn a_changed_byte_of_a_snapshot_is_never_taken_for_what_was_written() {
    let (image, truth) = written(true);
    let mut choices = Choices::new(seed());
    let mut tally = Tally::default();
    let file = image.file(FILE).unwrap();
    for snapshot in &truth.snapshots {
        let begin = &snapshot[..64];
        let places = file.windows(begin.len()).enumerate().filter(|(_, window)| *window == begin);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "the snapshot is not in the file");
        for _ in 0..knob("THREADLINE_FIRE_FLIPS", 300) / 4 {
            // What is left of the page it begins in is the snapshot's.
            let place = *choices.pick(&places).unwrap();
            let length = snapshot.len().min(8192 - place % 8192);
            let (at, bit) = (place + choices.index(length), choices.below(8));
            let mut damaged = image.clone();
            damaged.file_mut(FILE).unwrap()[at] ^= 1 << bit;
            tally.judge(&damaged, &truth, &format!("bit {bit} of byte {at} of a snapshot"));
        }
    }
    assert_eq!(tally.wrong, [""; 0], "THREADLINE_FIRE_SEED={}", seed());
    assert!(tally.told + tally.harmless > 0);
}

fn change_bytes(image: &Image, name: &str, truth: &Truth) {
    let most = knob("THREADLINE_FIRE_FLIPS", 300);
    let mut choices = Choices::new(seed());
    let mut tally = Tally::default();
    let length = image.file(name).unwrap().len();
    for _ in 0..most {
        let (at, bit) = (choices.index(length), choices.below(8));
        let mut damaged = image.clone();
        damaged.file_mut(name).unwrap()[at] ^= 1 << bit;
        tally.judge(&damaged, truth, &format!("bit {bit} of byte {at} of {name}"));
    }
    tally.finish(name);
}

/// What was written.
struct Truth {
    conversations: BTreeMap<ConversationId, Written>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    snapshots: Vec<Vec<u8>>,
}

struct Written {
    records: Vec<Record>,
    waiting: Vec<(ItemNumber, Item)>,
    state: Vec<u8>,
}

/// A small store, closed or as it is while it is open.
fn written(closed: bool) -> (Image, Truth) {
    let disk = Disk::new();
    let events = Mutex::new(Vec::new());
    let witness = Marking { disk: &disk, events: &events };
    let store = SqliteStore::open(on_disk(&disk, 1, 0)).unwrap();
    let truth = runtime().block_on(async {
        let mut actors = vec![Actor::new(seed() + 41), Actor::new(seed() + 42)];
        for _ in 0..20 {
            for actor in &mut actors {
                actor.step(&store, &witness).await.unwrap();
            }
        }
        for actor in &mut actors {
            actor.put(&store, &witness).await.unwrap();
            actor.keep_snapshot(&store).await.unwrap();
            actor.say_more(&store, &witness).await.unwrap();
        }
        let mut fork = actors[0].fork(seed() + 43).unwrap();
        fork.say_more(&store, &witness).await.unwrap();
        let mut conversations = BTreeMap::new();
        for id in list(&store).await.unwrap() {
            conversations.insert(id, Written::of(&store, id).await.unwrap());
        }
        let mut blobs = BTreeMap::new();
        let seen = events.lock().unwrap().clone();
        for event in &seen {
            if let Event::Done(Claim::Blob(digest, _)) = event {
                blobs.insert(*digest, blob(&store, *digest).await.unwrap());
            }
        }
        assert!(!blobs.is_empty() && conversations.len() == 3);
        let mut snapshots = Vec::new();
        for actor in &actors {
            let snapshot = store.snapshot(actor.id, Seq(u64::MAX)).await.unwrap();
            snapshots.push(snapshot.unwrap().history);
        }
        Truth { conversations, blobs, snapshots }
    });
    let open = disk.image();
    drop(store);
    (if closed { disk.image() } else { open }, truth)
}

impl Written {
    async fn of(store: &dyn Storage, id: ConversationId) -> Result<Self, StoreError> {
        let records = records(store, id).await?;
        let waiting = store.waiting(id, ItemNumber(0), 1000).await?;
        let (_, history) = match store::open(store, id, &Estimator).await {
            Ok(open) => open,
            Err(error) => return Err(StoreError::Damaged(words(&error))),
        };
        Ok(Self { records, waiting, state: history.to_snapshot().history })
    }
}

#[derive(Default)]
struct Tally {
    told: u64,
    harmless: u64,
    shorter: Vec<String>,
    /// Something is missing, and only a look through the whole file tells.
    hidden: u64,
    wrong: Vec<String>,
}

/// What became of a damaged store.
enum Outcome {
    /// Someone is told.
    Told,
    /// All that was written is there.
    Harmless,
    /// The newest is gone, and what is there was written.
    Shorter(String),
}

impl Tally {
    fn judge(&mut self, damaged: &Image, truth: &Truth, how: &str) {
        let disk = Disk::from_image(damaged);
        match runtime().block_on(look(&disk, truth)) {
            Ok(Outcome::Told) => self.told += 1,
            Ok(Outcome::Harmless) => self.harmless += 1,
            // A damaged index of SQLite's own hides what it should find. Neither reading nor
            // verifying a conversation can see that, but looking through the whole file can.
            Ok(Outcome::Shorter(_)) if !is_intact(&disk) => self.hidden += 1,
            Ok(Outcome::Shorter(what)) => self.shorter.push(format!("{how}: {what}")),
            Err(wrong) => self.wrong.push(format!("{how}: {wrong}")),
        }
    }

    fn finish(self, name: &str) {
        let Self { told, harmless, shorter, hidden, wrong } = self;
        let gone = shorter.len() as u64;
        eprintln!("{name}: {told} told, {harmless} harmless, {gone} shorter, {hidden} hidden");
        let gone_in_file = if name == FILE { &shorter[..] } else { &[] };
        let wrong: Vec<&String> = wrong.iter().chain(gone_in_file).collect();
        assert!(wrong.is_empty(), "THREADLINE_FIRE_SEED={}: {wrong:#?}", seed());
        // A log that is damaged ends before the damage.
        assert!(told > 0 || name == LOG, "nothing was told");
        assert!(told + gone > harmless / 50, "hardly any damage was done");
    }
}

/// Whether SQLite finds nothing wrong with the file.
fn is_intact(disk: &Disk) -> bool {
    let verdict = disk.connect(FILE).and_then(|connection| {
        connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
    });
    verdict.is_ok_and(|verdict| verdict == "ok")
}

async fn look(disk: &Disk, truth: &Truth) -> Result<Outcome, String> {
    let told = |error: StoreError| match error {
        error if tells_of_panic(&error) => Err(words(&error)),
        _ => Ok(Outcome::Told),
    };
    let store = match SqliteStore::open(on_disk(disk, 1, 1)) {
        Ok(store) => store,
        Err(error) => return told(error),
    };
    let listed = match list(&store).await {
        Ok(listed) => listed,
        Err(error) => return told(error),
    };
    let mut outcome = Outcome::Harmless;
    for (id, written) in &truth.conversations {
        match store.conversation(*id).await {
            Ok(_) => {}
            // It is gone as a whole. Where it is not, it is still in the lists.
            Err(StoreError::NotFound(_)) if listed.contains(id) => return Ok(Outcome::Told),
            Err(StoreError::NotFound(_)) => {
                outcome = Outcome::Shorter(format!("{id} is gone"));
                continue;
            }
            Err(error) => return told(error),
        }
        let report =
            verify::verify(&store, *id, Depth::Deep, Arc::new(Estimator), &mut |_| {}).await;
        match report {
            Ok(report) if report.is_sound() => {}
            Ok(_) => return Ok(Outcome::Told),
            Err(error) => return told(error),
        }
        let found = match Written::of(&store, *id).await {
            Ok(found) => found,
            Err(error) => return told(error),
        };
        if !written.records.starts_with(&found.records) {
            return Err(format!("{id} verifies, but is not what was written"));
        }
        if found.records.len() < written.records.len() {
            let (found, written) = (found.records.len(), written.records.len());
            outcome = Outcome::Shorter(format!("{id} has {found} of {written} entries"));
            continue;
        }
        if found.state != written.state {
            return Err(format!("{id} opens as something else than was written"));
        }
        if found.waiting != written.waiting && !matches!(outcome, Outcome::Shorter(_)) {
            let known = |item: &(ItemNumber, Item)| written.waiting.contains(item);
            if let Some(strange) = found.waiting.iter().find(|item| !known(item)) {
                return Err(format!("{id} has an item that was never put in: {strange:?}"));
            }
            outcome = Outcome::Shorter(format!("{id} lacks items"));
        }
    }
    if let Some(strange) = listed.iter().find(|id| !truth.conversations.contains_key(id)) {
        // Its records would still have to verify.
        return match store.conversation(*strange).await {
            Err(_) => Ok(Outcome::Told),
            Ok(_) => Err(format!("{strange} was never begun")),
        };
    }
    for (digest, bytes) in &truth.blobs {
        match blob(&store, *digest).await {
            Ok(found) if found == *bytes => {}
            // Whoever reads an attachment knows its digest.
            Ok(_) | Err(_) => return Ok(Outcome::Told),
        }
    }
    Ok(outcome)
}
