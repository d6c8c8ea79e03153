//! Power: the machine loses power at any moment, and nothing acknowledged is lost.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use threadline_core::store::verify::Depth;
use threadline_stores::sqlite::{Durability, SqliteStore};
use threadline_testing::crash::{CrashPoint, Disk, Image, Journal, Op};

use super::actor::Actor;
use super::witness::{Event, Expected, Witness};
use super::world::{knob, on_disk, runtime, seed};

/// How many threads look at images.
const THREADS: usize = 2;
/// How many steps the actors of one journal do, in each of its lives.
const STEPS: u64 = 12;
/// How many images of a crash point are looked at, at least.
const EACH: usize = 4;
/// Every so many images, one is looked at deeply and appended to.
const DEEP_EVERY: u64 = 8;

#[test]
fn nothing_acknowledged_is_lost() {
    let wanted = knob("THREADLINE_FIRE_IMAGES", 1500);
    let begun = Instant::now();
    let mut images = 0;
    for round in 0.. {
        let seed = seed() + round;
        let story = Story::record(seed, Durability::Full);
        // No journal is worth more than so many images: another one tells more.
        let share = (wanted - images).min(10_000);
        let verdict = story.replay(seed, share);
        assert_eq!(verdict.wrong, [""; 0], "THREADLINE_FIRE_SEED={seed}");
        images += verdict.images;
        if images >= wanted {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "it is only told")]
    let rate = images as f64 / seconds;
    eprintln!("{images} images, {rate:.0} images/s, nothing lost");
}

/// If a store that does not wait for the disk lost nothing, the test above would see nothing.
#[test]
fn a_store_that_does_not_wait_for_the_disk_loses_something() {
    let story = Story::record(seed(), Durability::Normal);
    let verdict = story.replay(seed(), 400);
    assert!(!verdict.wrong.is_empty(), "{} images, and nothing was lost", verdict.images);
    assert!(verdict.wrong.iter().all(|wrong| !wrong.contains("not sound")), "{:#?}", verdict.wrong);
}

/// What a store did to a disk, and what was seen meanwhile.
struct Story {
    journal: Journal,
    events: Vec<Event>,
}

struct Verdict {
    images: u64,
    wrong: Vec<String>,
}

/// Marks on the disk how many events have been seen.
pub(crate) struct Marking<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) events: &'a Mutex<Vec<Event>>,
}

impl Witness for Marking<'_> {
    fn see(&self, event: Event) {
        let mut events = self.events.lock().unwrap();
        events.push(event);
        self.disk.mark(events.len() as u64);
    }
}

impl Story {
    /// Lets actors do something, twice on the same disk.
    fn record(seed: u64, durability: Durability) -> Self {
        let disk = Disk::new();
        let events = Mutex::new(Vec::new());
        let witness = Marking { disk: &disk, events: &events };
        for life in 0..2 {
            let options = on_disk(&disk, seed, life);
            let store = SqliteStore::open(threadline_stores::sqlite::SqliteOptions {
                durability,
                ..options
            })
            .unwrap();
            runtime().block_on(live(&store, seed * 100 + life * 10, &disk, &witness));
        }
        Self { journal: disk.journal(), events: events.into_inner().unwrap() }
    }

    /// Looks at about so many images.
    fn replay(&self, seed: u64, wanted: u64) -> Verdict {
        let points = self.journal.crash_points().count();
        let wanted = usize::try_from(wanted).unwrap();
        let each = (wanted / points.max(1)).max(EACH);
        let stride = (points * each).div_ceil(wanted.max(1)).max(1);
        let skip = usize::try_from(seed).unwrap() % stride;
        let left = Mutex::new(self.journal.crash_points().skip(skip).step_by(stride));
        let images = AtomicU64::new(0);
        let wrong = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let runtime = runtime();
                    loop {
                        let Some(point) = left.lock().unwrap().next() else { return };
                        for (nth, image) in point.images(seed).take(each).enumerate() {
                            let deep =
                                images.fetch_add(1, Ordering::Relaxed).is_multiple_of(DEEP_EVERY);
                            let found = runtime.block_on(self.check(&point, &image, deep));
                            let at = format!("crash point {}, image {nth}", point.at());
                            let found = found.into_iter().map(|what| format!("{at}: {what}"));
                            wrong.lock().unwrap().extend(found);
                        }
                    }
                });
            }
        });
        Verdict { images: images.into_inner(), wrong: wrong.into_inner().unwrap() }
    }

    async fn check(&self, point: &CrashPoint, image: &Image, deep: bool) -> Vec<String> {
        let seen = usize::try_from(point.acknowledged().unwrap_or(0)).unwrap();
        let expected = Expected::after(&self.events[..seen]);
        check(&expected, image, deep).await
    }
}

/// What is wrong with the store in an image.
pub(crate) async fn check(expected: &Expected, image: &Image, deep: bool) -> Vec<String> {
    let disk = Disk::from_image(image);
    let store = match SqliteStore::open(on_disk(&disk, 9, 9)) {
        Ok(store) => store,
        Err(error) => return vec![format!("cannot be opened: {error:?}")],
    };
    let depth = if deep { Depth::Deep } else { Depth::Chain };
    let mut wrong = expected.check(&store, depth).await;
    if deep {
        wrong.extend(go_on(&store, expected, &disk).await);
    }
    wrong
}

/// Appends to what is there, and to something new.
async fn go_on(store: &SqliteStore, expected: &Expected, disk: &Disk) -> Vec<String> {
    let mut expected = expected.clone();
    expected.settle(store).await;
    let events = Mutex::new(Vec::new());
    let witness = Marking { disk, events: &events };
    let mut actors = vec![Actor::new(77_777)];
    if let Some(id) = expected.conversations().first() {
        match Actor::resume(store, *id, 88_888).await {
            Ok(actor) => actors.push(actor),
            Err(error) => return vec![format!("{id} cannot be opened: {error:?}")],
        }
    }
    for mut actor in actors {
        for _ in 0..2 {
            if let Err(error) = actor.say_more(store, &witness).await {
                return vec![format!("is not usable: {error:?}")];
            }
        }
    }
    events.into_inner().unwrap().iter().for_each(|event| expected.see(event));
    expected.check(store, Depth::Deep).await
}

/// Appends alone and together, forks, and leaves the store alone for a while.
async fn live(store: &SqliteStore, seed: u64, disk: &Disk, witness: &Marking<'_>) {
    let (mut one, mut two, mut three) =
        (Actor::new(seed), Actor::new(seed + 1), Actor::new(seed + 2));
    for step in 0..STEPS {
        one.step(store, witness).await.unwrap();
        if step == STEPS / 2 {
            let mut fork = one.fork(seed + 3);
            if let Some(fork) = &mut fork {
                fork.step(store, witness).await.unwrap();
                fork.step(store, witness).await.unwrap();
            }
            rest(disk);
        }
    }
    for _ in 0..STEPS / 4 {
        let done = tokio::join!(
            one.step(store, witness),
            two.step(store, witness),
            three.step(store, witness)
        );
        [done.0, done.1, done.2].into_iter().for_each(Result::unwrap);
    }
}

/// Waits until the store has brought its log into the file, as it does when it is left alone.
fn rest(disk: &Disk) {
    // A checkpoint ends by syncing the file; nothing else does while the log is in use.
    let synced = || {
        let journal = disk.journal();
        let syncs = |op: &&Op| matches!(op, Op::Sync { file } if **file == *"main.db");
        journal.ops().iter().filter(syncs).count()
    };
    let before = synced();
    for _ in 0..1000 {
        if synced() > before {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the store never brought its log into the file");
}
