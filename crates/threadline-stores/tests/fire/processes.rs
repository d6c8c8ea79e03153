//! Processes: several write to one file at once. What each acknowledged is there, and who lost a
//! lease appends no more.

use std::path::Path;
use std::sync::Arc;

use threadline_core::id::ConversationId;
use threadline_core::store::verify::Depth;
use threadline_core::store::{Attendance, Storage, StoreError};
use threadline_testing::clock::ManualClock;

use super::actor::Actor;
use super::child::{self, Running, Telling};
use super::files::Remembering;
use super::witness::{Event, Expected};
use super::world::{TTL_MS, knob, on_file, open, runtime, seed, words};

#[test]
fn two_processes_write_to_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let steps = knob("THREADLINE_FIRE_STEPS", 60);
    // One conversation that both want, now and then.
    let witness = Remembering::default();
    let shared = runtime().block_on(async {
        let store = open(&path, 1);
        let mut actor = Actor::new(seed());
        actor.step(&store, &witness).await.unwrap();
        actor.id
    });
    let children: Vec<Running> = (1..=2)
        .map(|number: u64| {
            let arguments = [
                "write".to_owned(),
                path.to_str().unwrap().to_owned(),
                (seed() * 100 + number).to_string(),
                shared.to_string(),
                steps.to_string(),
            ];
            Running::start(child::command("processes::child", &arguments))
        })
        .collect();
    let said: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            children.into_iter().map(|child| scope.spawn(move || child.rest())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut expected = witness.expected();
    let mut held = 0;
    let mut newest: Vec<Event> = Vec::new();
    for (lines, ended) in said {
        assert!(ended, "{lines:#?}");
        for line in lines {
            if line == "held" {
                held += 1;
                continue;
            }
            let event: Event = line.parse().unwrap();
            // Both append to the shared one: the last of all is its head.
            match &event {
                Event::Done(super::witness::Claim::Head(id, ..)) if *id == shared => {
                    newest.push(event);
                }
                Event::Asked(super::witness::Claim::Head(id, ..)) if *id == shared => {}
                _ => expected.see(&event),
            }
        }
    }
    newest.sort_by_key(|event| match event {
        Event::Done(super::witness::Claim::Head(_, seq, _)) => seq.0,
        _ => 0,
    });
    assert!(newest.len() > 2, "the shared conversation was hardly written to");
    let store = open(&path, 2);
    runtime().block_on(async {
        let records = super::witness::records(&store, shared).await.unwrap();
        for event in &newest {
            let Event::Done(super::witness::Claim::Head(_, seq, hash)) = event else { continue };
            let index = usize::try_from(seq.0 - 1).unwrap();
            assert_eq!(records.get(index).map(|record| record.hash), Some(*hash), "entry {seq}");
        }
        for event in &newest {
            expected.see(event);
        }
        assert_eq!(expected.check(&store, Depth::Deep).await, [""; 0]);
    });
    eprintln!("{} appends to the shared conversation; it was held {held} times", newest.len());
}

#[test]
fn who_lost_a_lease_appends_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 1);
    let witness = Remembering::default();
    runtime().block_on(async {
        let mut actor = Actor::new(seed());
        actor.step(&store, &witness).await.unwrap();
        actor.say_more(&store, &witness).await.unwrap();
        let arguments = |what: &str| {
            let path = path.to_str().unwrap().to_owned();
            let seed = seed().to_string();
            [what.to_owned(), path, seed, actor.id.to_string(), "1".to_owned()]
        };
        // It is held by one who lives.
        let child = Running::start(child::command("processes::child", &arguments("take")));
        let (said, ended) = child.rest();
        assert!(ended && said == ["held"], "{said:?}");
        // Its time is over: another process takes it.
        let child = Running::start(child::command("processes::child", &arguments("take late")));
        let (said, ended) = child.rest();
        assert!(ended, "{said:?}");
        let mut expected: Expected = witness.expected();
        for line in &said {
            expected.see(&line.parse().unwrap());
        }
        let fenced = actor.say_more(&store, &Remembering::default()).await.unwrap_err();
        assert!(matches!(fenced, StoreError::Fenced(_)), "{fenced:?}");
        assert!(words(&fenced).contains("another owner"), "{fenced:?}");
        assert_eq!(expected.check(&store, Depth::Deep).await, [""; 0]);
    });
}

/// What another process does with a file.
#[test]
#[ignore = "a child process of the tests here"]
fn child() {
    let Some(arguments) = child::arguments() else { return };
    let [what, path, seed, shared, steps] = &arguments[..] else { panic!("{arguments:?}") };
    let (seed, shared) = (seed.parse().unwrap(), shared.parse().unwrap());
    runtime().block_on(async {
        match what.as_str() {
            "write" => write(Path::new(path), seed, shared, steps.parse().unwrap()).await,
            "take" => take(Path::new(path), seed, shared, 0).await,
            "take late" => take(Path::new(path), seed, shared, 2 * TTL_MS).await,
            _ => panic!("{arguments:?}"),
        }
    });
}

/// Appends to a conversation of its own, and to the shared one whenever it is free.
async fn write(path: &Path, seed: u64, shared: ConversationId, steps: u64) {
    let store = open(path, seed);
    let mut own = Actor::new(seed);
    for step in 0..steps {
        patient(own.step(&store, &Telling).await);
        if step % 3 == 0 {
            go_on(&store, shared, seed * 1000 + step).await;
        }
    }
}

/// Takes the lease, appends, and gives it back; or tells that someone else has it.
async fn go_on(store: &dyn Storage, id: ConversationId, seed: u64) {
    let lease = match store.claim(id, TTL_MS, Attendance::Attended).await {
        Ok(lease) => lease,
        Err(StoreError::Held { .. }) => return child::tell("held"),
        Err(error) => panic!("{}", words(&error)),
    };
    let mut actor = Actor::resume(store, id, seed).await.unwrap();
    actor.hold(lease.clone());
    for _ in 0..2 {
        patient(actor.say_more(store, &Telling).await);
    }
    store.release(&lease).await.unwrap();
}

fn patient(done: Result<(), StoreError>) {
    if let Err(error) = done {
        panic!("{}", words(&error));
    }
}

/// Takes a conversation over, so much later, and appends to it.
async fn take(path: &Path, seed: u64, id: ConversationId, later_ms: u64) {
    let clock = ManualClock::new();
    clock.advance_ms(later_ms);
    let options = on_file(path, seed + 1);
    let options = threadline_stores::sqlite::SqliteOptions { clock: Arc::new(clock), ..options };
    let store = threadline_stores::sqlite::SqliteStore::open(options).unwrap();
    go_on(&store, id, seed + 2).await;
}
