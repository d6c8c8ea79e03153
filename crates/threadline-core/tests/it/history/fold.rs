//! What holds for the fold of any history: it never panics, goes on from any snapshot, and a
//! rewind brings back what was.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use threadline_core::clock::Timestamp;
use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Fact, Note};
use threadline_core::history::metadata::Metadata;
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::{Aftermath, Counts, History, Proposal, Stamp};
use threadline_core::id::{AgentId, ConversationId, EntryId, Seq};
use threadline_core::tokens::Estimator;
use threadline_testing::generator::{Generator, GeneratorOptions, generate};
use threadline_testing::ids::{Choices, SeededIds};
use uuid::Uuid;

use crate::strategies::{fact, seeded};

/// A history that takes whatever comes, and remembers what it was.
struct Heap {
    history: History,
    pasts: Vec<History>,
    taken: usize,
}

impl Heap {
    fn new() -> Self {
        Self { history: History::new(), pasts: vec![History::new()], taken: 0 }
    }

    /// Takes a fact in by one of the ways there are, or refuses it unchanged.
    fn take(&mut self, agent: AgentId, fact: Fact, choices: &mut Choices) {
        let entry = Entry {
            seq: self.history.head().next(),
            id: EntryId(Uuid::nil()),
            at: Timestamp::from_micros(1_700_000_000_000_000),
            agent,
            cause: None,
            metadata: Metadata::new(),
            fact,
        };
        let before = self.history.clone();
        let hash = Digest([7; 32]);
        let past = choices.pick(&self.pasts).unwrap().clone();
        let taken = match (&entry.fact, choices.below(20)) {
            (Fact::Rewound(_), 0..15) => self.history.rewind(&entry, hash, &past).is_ok(),
            (Fact::Rewound(_), _) => self.history.rewind_in_place(&entry, hash).is_ok(),
            (_, 0) => self.history.pass(&entry, hash).is_ok(),
            (fact, _) => {
                let counts = Counts::of(fact, &Estimator);
                self.history.apply(&entry, hash, counts).is_ok()
            }
        };
        if taken {
            self.taken += 1;
            self.pasts.push(self.history.clone());
        } else {
            assert_eq!(self.history, before, "a refusal must change nothing");
        }
        // Everything that is derived can be derived.
        let _sums = (self.history.sums(), self.history.agent_sums());
    }

    /// Whatever it has come to, it can be settled or says why not.
    fn settle(&self) {
        let ids = SeededIds::new(1);
        let stamp = Stamp { at: Timestamp::default(), ids: &ids, counter: &Estimator };
        let last = self.pasts.last().unwrap();
        let from = ConversationId(Uuid::nil());
        let rewound = self.history.propose_rewind(last, &Aftermath::default(), stamp);
        let forked = self.history.propose_fork(from, &Aftermath::default(), stamp);
        let note = Note::default();
        let note = Proposal::new(AgentId::CONVERSATION, note, &Estimator);
        let copied = self.history.clone().into_copy().propose([note], stamp);
        for settled in [rewound, forked, copied] {
            let understood = self.history.ledger().unrecognised.is_none();
            assert_eq!(settled.is_ok(), understood);
            let Ok(settled) = settled else { continue };
            let agents = settled.history.state().agents.values();
            assert!(agents.filter(|agent| agent.present).all(|agent| !agent.in_turn()));
        }
    }
}

proptest! {
    #![proptest_config(seeded(24))]

    #[test]
    fn any_facts_in_any_order_are_folded_or_refused(
        facts in vec((0_u32..4, fact()), 0..60),
        seed: u64,
    ) {
        let mut choices = Choices::new(seed);
        let mut heap = Heap::new();
        for (agent, fact) in facts {
            heap.take(AgentId(agent), fact, &mut choices);
        }
        heap.settle();
    }

    /// Facts that could follow, shuffled: most rules are at stake.
    #[test]
    fn a_shuffled_history_is_folded_or_refused(seed: u64) {
        let mut choices = Choices::new(seed);
        let options = GeneratorOptions { rewinds_percent: 20, ..GeneratorOptions::mixed(seed, 3) };
        let entries: Vec<Entry> = entries(&generate(options, 150).unwrap()).cloned().collect();
        let mut heap = Heap::new();
        for nth in 0..entries.len() {
            // Mostly in order, with some left out, repeated, or from elsewhere.
            let entry = match choices.below(10) {
                0 => continue,
                1 => choices.pick(&entries).unwrap(),
                _ => &entries[nth],
            };
            let fact = match choices.below(200) {
                0 => Fact::from_body(entry.fact.kind(), b"not JSON"),
                _ => entry.fact.clone(),
            };
            heap.take(entry.agent, fact, &mut choices);
        }
        prop_assert!(heap.taken > 5);
        heap.settle();
    }

    #[test]
    fn a_fold_goes_on_from_any_snapshot(seed: u64, cuts in vec(0.0..1.0, 4)) {
        let options = GeneratorOptions { rewinds_percent: 20, ..GeneratorOptions::mixed(seed, 3) };
        let batches = generate(options, 200).unwrap();
        let states = states(&batches);
        let last = states.last_key_value().unwrap().1;
        for cut in cuts {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
            let cut = Seq((cut * 200.0) as u64);
            let snapshot = states[&cut].to_snapshot();
            prop_assert_eq!((snapshot.seq, snapshot.hash), (cut, states[&cut].head_hash()));
            let mut history = History::from_snapshot(&snapshot).unwrap();
            prop_assert_eq!(&history, &states[&cut]);
            for (entry, record) in placed(&batches).filter(|(entry, _)| entry.seq > cut) {
                step(&mut history, entry, record.hash, &states);
            }
            prop_assert_eq!(&history, last);
        }
    }

    #[test]
    fn a_rewind_brings_back_what_was(seed: u64) {
        let options = GeneratorOptions { rewinds_percent: 60, ..GeneratorOptions::mixed(seed, 2) };
        let batches = generate(options, 300).unwrap();
        let states = states(&batches);
        for batch in &batches {
            let Fact::Rewound(rewound) = &batch.entries[0].entry.fact else { continue };
            let (past, now) = (states[&rewound.to].state(), states[&batch.head()].state());
            prop_assert!(now.agents.values().all(|agent| !agent.in_turn()));
            prop_assert_eq!((now.messages, &now.last_message), (past.messages, &past.last_message));
            prop_assert_eq!((&now.title, &now.labels), (&past.title, &past.labels));
            prop_assert_eq!((&now.pins, &now.recaps), (&past.pins, &past.recaps));
            let before = &states[&batch.base];
            prop_assert_eq!(before.ledger(), states[&batch.head()].ledger());
            if past.agents.values().all(|agent| !agent.in_turn() && agent.invoking.is_none()) {
                prop_assert_eq!(past, now);
            }
        }
    }
}

#[test]
fn a_snapshot_of_another_version_is_not_used() {
    let mut generator = Generator::new(GeneratorOptions::mixed(1, 1));
    let snapshot = generator.next_batch().unwrap().history.to_snapshot();
    let mut other = snapshot.clone();
    other.fold_version += 1;
    assert!(History::from_snapshot(&other).is_none());
    let mut broken = snapshot.clone();
    broken.history.truncate(snapshot.history.len() / 2);
    assert!(History::from_snapshot(&broken).is_none());
}

fn entries(batches: &[Batch]) -> impl Iterator<Item = &Entry> {
    placed(batches).map(|(entry, _)| entry)
}

fn placed(batches: &[Batch]) -> impl Iterator<Item = (&Entry, &Record)> {
    batches.iter().flat_map(|batch| &batch.entries).map(|placed| (&*placed.entry, &*placed.record))
}

/// The history after every entry, the beginning included.
fn states(batches: &[Batch]) -> BTreeMap<Seq, History> {
    let mut history = History::new();
    assert_eq!(history.head_hash(), GENESIS);
    let mut states = BTreeMap::from([(Seq::ZERO, history.clone())]);
    for (entry, record) in placed(batches) {
        step(&mut history, entry, record.hash, &states);
        states.insert(entry.seq, history.clone());
    }
    states
}

fn step(history: &mut History, entry: &Entry, hash: Digest, states: &BTreeMap<Seq, History>) {
    match &entry.fact {
        Fact::Rewound(rewound) => history.rewind(entry, hash, &states[&rewound.to]).unwrap(),
        fact => {
            let counts = Counts::of(fact, &Estimator);
            history.apply(entry, hash, counts).unwrap();
        }
    }
}
