//! Run states: the table in the documentation is what happens.

use std::collections::BTreeSet;

use threadline_core::drive::{RunState, Step, next_step, run_state};
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::Fact;
use threadline_core::history::{Counts, History};
use threadline_core::tokens::Estimator;
use threadline_testing::generator::{Generator, GeneratorOptions};
use threadline_testing::notation;

const DOCUMENT: &str = include_str!("../../../../docs/run-states.md");

/// What the generator leaves out, told by hand.
const STORIES: [&str; 2] = [
    "@ a joins primary tools=t
user: go
a asks scripted/m1
a: → t {} | t {}
t c4.0 asked until +15m
t c4.1 asked until +15m
t c4.0 allowed
t c4.1 denied
t c4.1 skipped
t c4.0 starts once
t c4.0 ok: done
a results
a asks scripted/m1
a: done",
    "@ a joins primary tools=t
user: go
a asks scripted/m1
a: → t {}
t c4.0 asked until +15m
t c4.0 skipped
a results
user: and this
a ends cancelled",
];

type Transitions = BTreeSet<(String, String, String)>;

/// The transitions that the entries of a batch make, one after the other.
fn collect(before: &History, batch: &Batch, seen: &mut Transitions) {
    let is_rewind = |fact: &Fact| matches!(fact, Fact::Rewound(_));
    if batch.entries.iter().any(|placed| is_rewind(&placed.entry.fact)) {
        return;
    }
    let mut history = before.clone();
    for placed in &batch.entries {
        let last = history.clone();
        let counts = Counts::of(&placed.entry.fact, &Estimator);
        history.apply(&placed.entry, placed.record.hash, counts).unwrap();
        for agent in history.state().agents.keys() {
            let (from, to) = (run_state(&last, *agent), run_state(&history, *agent));
            let moved = (from.name().into(), placed.entry.fact.kind().into(), to.name().into());
            if from != to {
                seen.insert(moved);
            }
            check(&history, *agent, to);
        }
    }
}

/// What an agent does next goes with where it stands.
fn check(history: &History, agent: threadline_core::id::AgentId, state: RunState) {
    let fits = match (state, next_step(history, agent)) {
        (RunState::WaitingInput, Step::Rest)
        | (RunState::PendingInput | RunState::PendingToolResults, Step::Invoke)
        | (RunState::ToolResultsReady, Step::Seal(_)) => true,
        (RunState::WaitingToolResults | RunState::AwaitingApproval, Step::Calls(calls)) => {
            !calls.is_empty()
        }
        _ => false,
    };
    assert!(fits, "{state} and {:?}", next_step(history, agent));
}

fn documented() -> Transitions {
    let table = DOCUMENT.split_once("| from | fact | to |").unwrap().1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`'));
        let mut next = || cells.next().unwrap_or_default().to_owned();
        (next(), next(), next())
    });
    cells.collect()
}

#[test]
fn the_documented_transitions_are_those_that_happen() {
    let mut seen = Transitions::new();
    for seed in 0..40 {
        let mut generator = Generator::new(GeneratorOptions::mixed(seed, 3));
        for _ in 0..150 {
            let before = generator.history().clone();
            let proposed = generator.next_batch().unwrap();
            collect(&before, &proposed.batch, &mut seen);
        }
    }
    for story in STORIES {
        let story = notation::parse(story).unwrap();
        for batch in story.batches() {
            collect(story.history_at(batch.base).unwrap(), batch, &mut seen);
        }
    }
    let documented = documented();
    let missing: Vec<_> = seen.difference(&documented).collect();
    assert!(missing.is_empty(), "these happen and are not documented: {missing:#?}");
    let never: Vec<_> = documented.difference(&seen).collect();
    assert!(never.is_empty(), "these are documented and never happen: {never:#?}");
}

#[test]
fn the_document_names_every_state() {
    for state in RunState::ALL {
        assert!(DOCUMENT.contains(&format!("| `{state}` |")), "{state}");
    }
}
