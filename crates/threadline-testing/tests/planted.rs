//! The simulator finds the bugs that are planted into drivers, each within a thousand seeds.

use threadline_core::drive::planted::{Bug, plant};
use threadline_testing::simulator::{Options, run};

/// Within how many seeds a bug must be found.
const SEEDS: u64 = 1_000;

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        plant(Some(*bug));
        let found =
            (0..SEEDS).find_map(|seed| Some((seed, run(seed, &Options::default()).failure?)));
        plant(None);
        match found {
            Some((seed, failure)) => println!("{bug:?}: after {} seeds, by {failure}", seed + 1),
            None => missed.push(*bug),
        }
    }
    assert!(missed.is_empty(), "not found in {SEEDS} seeds: {missed:?}");
}
