//! The conformance suite, for every store.

use std::panic::{AssertUnwindSafe, catch_unwind};

use threadline_testing::store_suite::{CASES, MakeRig, World};

use crate::rigs;

/// Runs every case in a world of its own, and tells all that fail.
fn check_all(make: MakeRig) {
    let mut failed = Vec::new();
    for (about, cases) in CASES {
        for case in *cases {
            println!("{about}: {}", case.name);
            let runtime = rigs::runtime();
            let run = || runtime.block_on(async { (case.run)(&World::new(make)).await });
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                failed.push(format!("{about}: {}", case.name));
            }
        }
    }
    assert!(failed.is_empty(), "promises broken:\n{}", failed.join("\n"));
}

#[test]
fn memory_keeps_every_promise() {
    check_all(rigs::memory);
}

#[test]
fn sqlite_keeps_every_promise() {
    check_all(rigs::sqlite);
}
