//! Random interleavings, told to the model and to a store under test: both must give the same
//! answers and end with the same contents.

mod contents;
mod op;
mod told;
mod twins;

use proptest::test_runner::{Config, RngSeed, TestRunner};
use threadline_testing::store_suite::MakeRig;

use self::op::ops;
use self::twins::Twins;
use crate::rigs;

/// How many runs, and of how many steps at most.
const RUNS: u32 = 48;
const STEPS: usize = 80;

fn check(seed: u64, tested: MakeRig) {
    let config = Config {
        cases: RUNS,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&ops(STEPS), |ops| {
        rigs::runtime().block_on(async {
            let mut twins = Twins::new(rigs::memory, tested).await;
            for op in ops {
                twins.step(op).await;
            }
            twins.compare().await;
        });
        Ok(())
    });
    if let Err(error) = result {
        unreachable!("{error}");
    }
}

#[test]
fn the_model_agrees_with_what_was_told() {
    check(1, rigs::memory);
}

#[test]
fn sqlite_agrees_with_the_model() {
    check(2, rigs::sqlite);
}
