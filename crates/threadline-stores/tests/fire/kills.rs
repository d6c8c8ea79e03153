//! Kills: a process that appends is killed at any moment, and nothing it acknowledged is lost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use threadline_core::store::verify::Depth;
use threadline_core::store::{Attendance, Storage, Store as _};
use threadline_stores::sqlite::SqliteStore;
use threadline_testing::ids::Choices;
use tokio::task::JoinSet;

use super::actor::Actor;
use super::child::{self, Running, Telling};
use super::witness::{Event, Expected, list};
use super::world::{self, TTL_MS, knob, on_file, open, runtime, seed};

/// After how many kills another file is begun.
const KILLS_PER_FILE: u64 = 10;
/// How many conversations are appended to at once.
const TASKS: u64 = 3;
/// How many conversations one task appends to.
const ACTORS: usize = 3;

#[test]
fn nothing_acknowledged_is_lost() {
    let kills = knob("THREADLINE_FIRE_KILLS", 15);
    let mut acknowledged = 0;
    for begin in (0..kills).step_by(usize::try_from(KILLS_PER_FILE).unwrap()) {
        let file = File::new(seed(), begin);
        let rounds = begin..kills.min(begin + KILLS_PER_FILE);
        let wrong = file.rounds(rounds, false, &mut acknowledged);
        assert_eq!(wrong, [""; 0], "THREADLINE_FIRE_SEED={} at kill {begin} or later", seed());
    }
    assert!(acknowledged > kills, "only {acknowledged} acknowledgements in {kills} kills");
    eprintln!("{kills} kills, {acknowledged} acknowledgements, none lost");
}

/// A process that acknowledges before it appends is found out by the same check.
#[test]
fn acknowledging_too_early_is_found() {
    for begin in (1000..1100).step_by(10) {
        let file = File::new(seed(), begin);
        let wrong = file.rounds(begin..begin + 10, true, &mut 0);
        let losses = ["found the head", "NotFound", "there is no conversation"];
        let is_loss = |what: &String| losses.iter().any(|loss| what.contains(loss));
        assert!(wrong.iter().all(is_loss), "{wrong:#?}");
        if !wrong.is_empty() {
            return;
        }
    }
    panic!("100 kills of a process that acknowledges too early, and nothing was missed");
}

struct File {
    folder: tempfile::TempDir,
    seed: u64,
}

impl File {
    fn new(seed: u64, begin: u64) -> Self {
        let seed = seed.wrapping_mul(1_000_000).wrapping_add(begin * 1000);
        Self { folder: tempfile::tempdir().unwrap(), seed }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db")
    }

    /// Kills the process that appends some times; tells what is wrong after the first kill after
    /// which something is.
    fn rounds(&self, rounds: std::ops::Range<u64>, hasty: bool, seen: &mut u64) -> Vec<String> {
        let mut expected = Expected::default();
        for round in rounds {
            let seed = self.seed + round * 10;
            *seen += self.append_and_kill(seed, hasty, &mut expected);
            let store = open(self.path(), seed);
            let wrong = runtime().block_on(async {
                let mut wrong = expected.check(&store, Depth::Deep).await;
                wrong.extend(leases(&store, &expected).await);
                expected.settle(&store).await;
                wrong
            });
            if !wrong.is_empty() {
                return wrong;
            }
        }
        Vec::new()
    }

    /// Tells how much was acknowledged.
    fn append_and_kill(&self, seed: u64, hasty: bool, expected: &mut Expected) -> u64 {
        let mut choices = Choices::new(seed);
        let path = self.path().to_str().unwrap().to_owned();
        let arguments = [path, seed.to_string(), hasty.to_string()];
        let mut child = Running::start(child::command("kills::child", &arguments));
        // Now and then it is killed while it opens the store.
        let acknowledged = if choices.percent(10) { 0 } else { 1 + choices.below(60) };
        let mut seen = 0;
        while seen < acknowledged {
            let line = child.line().expect("the child goes on until it is killed");
            let event: Event = line.parse().unwrap();
            seen += u64::from(matches!(event, Event::Done(_)));
            expected.see(&event);
        }
        let pause = if acknowledged == 0 { 20_000 } else { 3000 };
        std::thread::sleep(Duration::from_micros(choices.below(pause)));
        child.kill();
        for line in child.rest().0 {
            let event: Event = line.parse().unwrap();
            seen += u64::from(matches!(event, Event::Done(_)));
            expected.see(&event);
        }
        seen
    }
}

/// The leases of the dead can be taken at once.
async fn leases(store: &SqliteStore, expected: &Expected) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in expected.conversations() {
        match store.claim(id, TTL_MS, Attendance::Attended).await {
            Ok(lease) => store.release(&lease).await.unwrap(),
            Err(error) => wrong.push(format!("{id}: {error}")),
        }
    }
    wrong
}

/// Appends to several conversations until it is killed.
#[test]
#[ignore = "a child process of the tests here"]
fn child() {
    let Some(arguments) = child::arguments() else { return };
    let [path, seed, hasty] = &arguments[..] else { panic!("{arguments:?}") };
    let (seed, hasty) = (seed.parse::<u64>().unwrap(), hasty == "true");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = Arc::new(SqliteStore::open(on_file(Path::new(path), seed)).unwrap());
    runtime.block_on(async {
        let mut known = list(store.as_ref()).await.unwrap().into_iter();
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let mut actors = Vec::new();
            for _ in 1..ACTORS {
                if let Some(id) = known.next() {
                    let seed = seed + 100_000 * (actors.len() as u64 + 1) + task;
                    actors.push(Actor::resume(store.as_ref(), id, seed).await.unwrap());
                }
            }
            actors.push(Actor::new(seed + task));
            for actor in &mut actors {
                actor.hasty = hasty;
            }
            let store = Arc::clone(&store);
            tasks.spawn(async move { act(store.as_ref(), actors, seed + task).await });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
}

async fn act(store: &dyn Storage, mut actors: Vec<Actor>, seed: u64) {
    let mut choices = Choices::new(seed);
    for step in 0..u64::MAX {
        let index = choices.index(actors.len());
        let actor = &mut actors[index];
        if choices.percent(4)
            && let Some(fork) = actor.fork(seed + 10_000_000 * (step + 1))
        {
            actors.push(fork);
            if actors.len() > ACTORS {
                actors.remove(0);
            }
            continue;
        }
        if let Err(error) = actor.step(store, &Telling).await {
            panic!("{}", world::words(&error));
        }
    }
}
