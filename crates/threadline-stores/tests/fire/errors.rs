//! Errors: the disk fails, is full or is locked at any operation. Callers are told in the words of
//! a store, and nothing acknowledged is lost.

use std::sync::Mutex;
use std::time::Duration;

use threadline_core::store::verify::Depth;
use threadline_core::store::{Attendance, Store as _, StoreError};
use threadline_stores::sqlite::SqliteStore;
use threadline_testing::crash::{Disk, Fault, FaultKind, OpKinds};

use super::actor::Actor;
use super::power::{self, Marking};
use super::witness::{Event, Expected};
use super::world::{TTL_MS, knob, on_disk, runtime, seed, tells_of_panic, words};

/// How many steps are taken.
const STEPS: usize = 14;
/// How many more steps are taken after the first error.
const STEPS_AFTER: usize = 3;

#[test]
fn a_failing_read_is_told() {
    every_operation(FaultKind::Io, OpKinds::READ);
}

#[test]
fn a_failing_write_is_told() {
    every_operation(FaultKind::Io, OpKinds::WRITE | OpKinds::TRUNCATE);
}

#[test]
fn a_failing_sync_stops_the_store() {
    every_operation(FaultKind::Io, OpKinds::SYNC);
}

#[test]
fn a_failing_lock_is_told() {
    every_operation(FaultKind::Io, OpKinds::LOCK | OpKinds::DELETE);
}

#[test]
fn a_full_disk_is_usable_again_when_there_is_room() {
    every_operation(FaultKind::Full, OpKinds::WRITE | OpKinds::TRUNCATE);
}

#[test]
fn a_locked_disk_is_usable_again_when_it_is_free() {
    every_operation(FaultKind::Busy, OpKinds::LOCK);
}

#[test]
fn what_fails_while_nobody_waits_is_told_to_the_next() {
    let writes = OpKinds::WRITE | OpKinds::TRUNCATE;
    for (kind, on) in [
        (FaultKind::Io, OpKinds::SYNC),
        (FaultKind::Io, writes),
        (FaultKind::Full, writes),
        (FaultKind::Busy, OpKinds::LOCK),
    ] {
        let most = knob("THREADLINE_FIRE_ERRORS", 20).div_ceil(5);
        let operations = Trial::rest(None).1;
        let stride = usize::try_from(operations(on).div_ceil(most).max(1)).unwrap();
        let (mut struck, mut wrong) = (0, Vec::new());
        for after in (seed() % stride as u64..operations(on)).step_by(stride) {
            let fault = Fault { after, kind, forever: true, on };
            let (trial, _) = Trial::rest(Some(fault));
            struck += trial.disk.failures();
            let told = trial.told();
            let found = trial.judge(fault).into_iter();
            wrong.extend(found.map(|what| format!("{fault:?}, after {told:?}: {what}")));
        }
        assert_eq!(wrong, [""; 0], "THREADLINE_FIRE_SEED={}", seed());
        assert!(struck > 0, "{kind:?} never struck");
    }
}

/// Lets each operation fail, once and from then on.
fn every_operation(kind: FaultKind, on: OpKinds) {
    let most = knob("THREADLINE_FIRE_ERRORS", 25);
    for forever in [false, true] {
        let calm = Trial::run(None);
        assert!(calm.errors.is_empty(), "{:?}", calm.errors);
        let operations = calm.disk.operations(on);
        assert!(operations > 5, "only {operations} operations can fail");
        let stride = operations.div_ceil(most.max(1)).max(1);
        let (mut tried, mut told, mut wrong) = (0, 0, Vec::new());
        for after in (seed() % stride..operations).step_by(usize::try_from(stride).unwrap()) {
            let fault = Fault { after, kind, forever, on };
            let trial = Trial::run(Some(fault));
            told += u64::from(!trial.errors.is_empty());
            tried += 1;
            let told = trial.told();
            let found = trial.judge(fault).into_iter();
            wrong.extend(found.map(|what| format!("{fault:?}, after {told:?}: {what}")));
        }
        assert_eq!(wrong, [""; 0], "THREADLINE_FIRE_SEED={}", seed());
        eprintln!("{kind:?}, for ever: {forever}: {told} of {tried} faults were told");
        // A single refused lock is waited for, or means that someone else does the work.
        assert!(told > 0 || (kind == FaultKind::Busy && !forever), "no fault was told");
    }
}

/// A store on a disk with a fault, and what became of it.
struct Trial {
    disk: Disk,
    /// None if it could not be opened.
    store: Option<SqliteStore>,
    actors: Vec<Actor>,
    events: Mutex<Vec<Event>>,
    errors: Vec<StoreError>,
    /// How often the fault had struck when the store was open.
    struck_while_opening: u64,
}

impl Trial {
    fn run(fault: Option<Fault>) -> Self {
        let disk = Disk::new();
        if let Some(fault) = fault {
            disk.fail(fault);
        }
        let seed = seed() * 1000;
        let (store, errors) = match SqliteStore::open(on_disk(&disk, seed, 0)) {
            Ok(store) => (Some(store), Vec::new()),
            Err(error) => (None, vec![error]),
        };
        let struck_while_opening = disk.failures();
        let actors = vec![Actor::new(seed + 1), Actor::new(seed + 2)];
        let events = Mutex::new(Vec::new());
        let mut trial = Self { disk, store, actors, events, errors, struck_while_opening };
        runtime().block_on(trial.act());
        trial
    }

    /// Leaves a store alone, so that it indexes and brings its log into the file, with a fault.
    /// Tells also how many operations that took.
    fn rest(fault: Option<Fault>) -> (Self, impl Fn(OpKinds) -> u64) {
        let mut trial = Self::run(None);
        let kinds = [OpKinds::SYNC, OpKinds::WRITE | OpKinds::TRUNCATE, OpKinds::LOCK];
        let count = |disk: &Disk| kinds.map(|on| disk.operations(on));
        let before = count(&trial.disk);
        if let Some(fault) = fault {
            trial.disk.fail(fault);
        }
        // It is at rest when nothing was done for twice as long as it waits.
        let mut last = before;
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(200));
            let now = count(&trial.disk);
            if now == last && (now != before || trial.disk.failures() > 0) {
                break;
            }
            last = now;
        }
        let after = count(&trial.disk);
        runtime().block_on(trial.act());
        let taken = move |on: OpKinds| {
            let index = kinds.iter().position(|kinds| *kinds == on).unwrap();
            after[index] - before[index]
        };
        (trial, taken)
    }

    async fn act(&mut self) {
        let Some(store) = &self.store else { return };
        let witness = Marking { disk: &self.disk, events: &self.events };
        let mut after = 0;
        for step in 0..STEPS {
            let index = step % self.actors.len();
            self.errors.extend(self.actors[index].step(store, &witness).await.err());
            after += usize::from(!self.errors.is_empty());
            if after > STEPS_AFTER {
                return;
            }
        }
    }

    fn told(&self) -> Vec<String> {
        self.errors.iter().map(|error| words(error)).collect()
    }

    /// What is wrong with how the store bore the fault.
    fn judge(mut self, fault: Fault) -> Vec<String> {
        let mut wrong: Vec<String> = Vec::new();
        for error in &self.errors {
            if tells_of_panic(error) || !is_fitting(error, fault.kind) {
                wrong.push(format!("{:?} is not what is told of {:?}", words(error), fault.kind));
            }
        }
        let struck = self.disk.failures() > 0;
        let expected = |events: &Mutex<Vec<Event>>| Expected::after(&events.lock().unwrap());
        runtime().block_on(async {
            if let Some(store) = &self.store {
                if fault.on == OpKinds::SYNC && struck {
                    wrong.extend(stays_stopped(&self, store).await);
                }
                self.disk.heal();
                if fault.kind != FaultKind::Io {
                    wrong.extend(goes_on(store, &mut self.actors, &self.disk, &self.events).await);
                }
            }
            self.disk.heal();
            self.store = None;
            for life in 1..3 {
                let store = match SqliteStore::open(on_disk(&self.disk, seed(), life)) {
                    Ok(store) => store,
                    Err(error) => return wrong.push(format!("cannot be opened: {error:?}")),
                };
                wrong.extend(expected(&self.events).check(&store, Depth::Deep).await);
                wrong.extend(begins(&store, life, &self.disk, &self.events).await);
            }
            // What is acknowledged after an error is as durable as before.
            let end = self.disk.journal().crash_points().last().unwrap();
            for image in end.images(seed()).take(2) {
                let found = power::check(&expected(&self.events), &image, true).await;
                wrong.extend(found.into_iter().map(|what| format!("after a power loss: {what}")));
            }
        });
        wrong
    }
}

/// Whether an error says what happened to the disk.
fn is_fitting(error: &StoreError, kind: FaultKind) -> bool {
    match kind {
        FaultKind::Io => matches!(
            error,
            StoreError::Poisoned(_) | StoreError::AnswerLost(_) | StoreError::Unavailable { .. }
        ),
        FaultKind::Full => matches!(error, StoreError::Full),
        FaultKind::Busy => matches!(error, StoreError::Busy),
    }
}

/// After a failed sync nothing is promised any more, until the store is opened again.
async fn stays_stopped(trial: &Trial, store: &SqliteStore) -> Vec<String> {
    if trial.struck_while_opening > 0 {
        return vec!["a sync failed while the store was opened, and nobody was told".to_owned()];
    }
    trial.disk.heal();
    let mut wrong = Vec::new();
    for actor in &trial.actors {
        match store.claim(actor.id, TTL_MS, Attendance::Attended).await {
            Err(StoreError::Poisoned(_)) => {}
            other => wrong.push(format!("a sync failed, and the store goes on: {other:?}")),
        }
    }
    wrong
}

/// When the cause is gone, the same store is usable again.
async fn goes_on(
    store: &SqliteStore,
    actors: &mut [Actor],
    disk: &Disk,
    events: &Mutex<Vec<Event>>,
) -> Vec<String> {
    let witness = Marking { disk, events };
    for actor in actors {
        for _ in 0..3 {
            if let Err(error) = actor.say_more(store, &witness).await {
                return vec![format!("is not usable again: {error:?}")];
            }
        }
    }
    Vec::new()
}

/// A store that was opened again takes something new.
async fn begins(
    store: &SqliteStore,
    life: u64,
    disk: &Disk,
    events: &Mutex<Vec<Event>>,
) -> Vec<String> {
    let mut actors = [Actor::new(1_000_000 + life)];
    goes_on(store, &mut actors, disk, events).await
}
