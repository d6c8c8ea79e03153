//! The simulator: many seeds, and every fault at every place of a fixed conversation.
//!
//! `THREADLINE_SIM_SEEDS=30000` runs so many seeds, `THREADLINE_SIM_SEED=7` runs one and prints
//! what happened.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use threadline_testing::simulator::{
    Class, Course, Coverage, Directed, Fault, Mark, Options, Report, run,
};

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many seeds are run, unless more are asked for.
const SEEDS: u64 = 1_000;
/// From how many seeds on every mark must have been seen, and from how many all but the rare ones.
const ALL_MARKS: u64 = 20_000;
const MOST_MARKS: u64 = 1_000;
/// The marks that a thousand seeds may not see.
const RARE: &[Mark] =
    &[Mark::BatchBytes, Mark::TooLarge, Mark::Huge, Mark::NotAgain, Mark::RecapUndone];
/// What several agents go through in a fixed conversation where nothing goes wrong.
const TEAM: &[Mark] = &[
    Mark::AgentNested,
    Mark::AgentsAtOnce,
    Mark::ChildAsks,
    Mark::ReplyEndedWait,
    Mark::TimerFired,
    Mark::ChildCancelled,
];
/// How many threads run seeds, each on its own.
const THREADS: u64 = 2;
/// Every so many seeds, one is run twice.
const TWICE: u64 = 50;

#[expect(clippy::disallowed_methods, reason = "these variables make the tests larger")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn command(seed: u64) -> String {
    format!("THREADLINE_SIM_SEED={seed} cargo test -p threadline-testing --test simulator seeds")
}

/// Runs something for every number below `count`, on a few threads.
fn for_all(count: u64, each: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= count {
                        break;
                    }
                    each(number);
                }
            });
        }
    });
}

fn broken(report: &Report) -> Option<String> {
    let failure = report.failure.as_ref()?;
    Some(format!("{}\n    {failure}", command(report.seed)))
}

#[test]
fn seeds() {
    if let Some(seed) = number("THREADLINE_SIM_SEED") {
        let report = run(seed, &Options { traced: true, ..Options::default() });
        for line in &report.trace {
            println!("{line}");
        }
        assert!(report.failure.is_none(), "{:?}", report.failure);
        return;
    }
    let seeds = number("THREADLINE_SIM_SEEDS").unwrap_or(SEEDS);
    let seen = Mutex::new((Coverage::default(), Vec::new()));
    for_all(seeds, |seed| {
        let report = run(seed, &Options::default());
        if seed % TWICE == 0 {
            let again = run(seed, &Options::default());
            assert_eq!(report.trace_digest, again.trace_digest, "{}", command(seed));
        }
        let mut seen = seen.lock().unwrap();
        seen.0.add(&report.coverage);
        seen.1.extend(broken(&report));
    });
    let (coverage, failures) = seen.into_inner().unwrap();
    let shown: Vec<&str> = failures.iter().take(10).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} of {seeds} seeds broke a promise:\n{}",
        failures.len(),
        shown.join("\n")
    );
    for mark in Mark::ALL {
        println!("{:>8}  {}", coverage.of(*mark), mark.name());
    }
    if seeds >= MOST_MARKS {
        let mut missing = coverage.missing();
        missing.retain(|mark| seeds >= ALL_MARKS || !RARE.contains(mark));
        let missing: Vec<&str> = missing.into_iter().map(Mark::name).collect();
        assert!(missing.is_empty(), "{seeds} seeds never saw: {}", missing.join(", "));
    }
}

/// A fixed conversation of one agent with so many calls at once, in which nothing goes wrong.
const fn alone(calls: u32, class: Class) -> Directed {
    Directed { fault: None, at: 0, calls, class, team: false, lingers: false }
}

/// One agent with calls, one whose driver stays for a while, and several who call each other and wait.
const FIXED: [Directed; 6] = [
    alone(1, Class::Once),
    alone(1, Class::Idempotent),
    alone(3, Class::Once),
    alone(3, Class::Idempotent),
    Directed { lingers: true, ..alone(1, Class::Once) },
    Directed { team: true, ..alone(1, Class::Idempotent) },
];

fn run_directed(directed: Directed) -> Report {
    run(1, &Options { course: Course::Directed(directed), traced: false })
}

/// Every fault before every command and every event of a fixed conversation.
#[test]
fn every_fault_at_every_place() {
    let mut cells = Vec::new();
    for fixed in FIXED {
        let calm = run_directed(fixed);
        assert!(calm.failure.is_none(), "{:?}", calm.failure);
        assert!(calm.boundaries > 50, "{} places are too few", calm.boundaries);
        let marks = if fixed.team { TEAM } else { &[] };
        for mark in marks {
            assert!(calm.coverage.of(*mark) > 0, "it lacks: {}", mark.name());
        }
        for fault in Fault::ALL {
            let places = 0..calm.boundaries;
            cells.extend(places.map(|at| Directed { fault: Some(*fault), at, ..fixed }));
        }
    }
    let failures = Mutex::new(Vec::new());
    for_all(u64::try_from(cells.len()).unwrap(), |cell| {
        let cell = cells[usize::try_from(cell).unwrap()];
        if let Some(failure) = run_directed(cell).failure {
            failures.lock().unwrap().push(format!("{cell:?}: {failure}"));
        }
    });
    let failures = failures.into_inner().unwrap();
    let shown: Vec<&str> = failures.iter().take(10).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cells broke a promise:\n{}",
        failures.len(),
        cells.len(),
        shown.join("\n")
    );
}
