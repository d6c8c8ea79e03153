//! What the generator makes is a history, and the same for the same seed.

use threadline_core::history::Counts;
use threadline_core::history::fact::{Block, Fact, Stop};
use threadline_core::history::state::Stage;
use threadline_core::id::Seq;

use super::*;

/// Folds batches again from their records alone; the history after each entry a rewind leads to
/// is taken from `pasts`.
fn fold_again(batches: &[Batch]) {
    let mut history = History::new();
    let mut pasts: BTreeMap<Seq, History> = BTreeMap::from([(Seq::ZERO, History::new())]);
    for batch in batches {
        assert_eq!(batch.base, history.head());
        assert_eq!(batch.base_hash, history.head_hash());
        let mut rows = Vec::new();
        for placed in &batch.entries {
            assert!(placed.record.follows(history.head_hash()));
            let entry = placed.record.open().unwrap();
            assert_eq!(entry, *placed.entry);
            if let Fact::Rewound(rewound) = &entry.fact {
                let past = &pasts[&rewound.to];
                history.rewind(&entry, placed.record.hash, past).unwrap();
            } else {
                let counts = Counts::of(&entry.fact, &Estimator);
                let row = history.apply(&entry, placed.record.hash, counts).unwrap();
                rows.extend(row.map(Arc::new));
            }
        }
        assert_eq!(rows, batch.rows);
        assert_eq!(history.sums(), batch.sums);
        for sums in &batch.agents {
            assert!(history.agent_sums().contains(sums));
        }
        assert_eq!(history.head_hash(), batch.head_hash());
        pasts.insert(history.head(), history.clone());
    }
}

#[test]
fn batches_fold_again_from_their_records() {
    for (seed, agents) in [(1, 1), (2, 3), (3, 7)] {
        let options =
            GeneratorOptions { rewinds_percent: 30, ..GeneratorOptions::mixed(seed, agents) };
        fold_again(&generate(options, 6000).unwrap());
    }
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let of = |seed| {
        let batches = generate(GeneratorOptions::mixed(seed, 3), 3000).unwrap();
        batches.last().unwrap().head_hash()
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// The kinds of facts that do not come up within 50,000 entries.
fn missing_kinds(options: GeneratorOptions) -> Vec<&'static str> {
    let mut missing = Fact::KINDS.to_vec();
    // These need a second conversation, a second store, or a real folder.
    let elsewhere = ["forked", "moved", "authority_reset", "workspace_set", "file_changed"];
    missing.retain(|kind| !elsewhere.contains(kind));
    let mut generator = Generator::new(options);
    while generator.history().head() < Seq(50_000) && !missing.is_empty() {
        for placed in generator.next_batch().unwrap().batch.entries {
            missing.retain(|kind| *kind != placed.entry.fact.kind());
        }
    }
    missing
}

#[test]
fn every_kind_of_fact_comes_up() {
    assert_eq!(missing_kinds(GeneratorOptions::mixed(4, 3)), [""; 0]);
    let options = GeneratorOptions { rewinds_percent: 0, ..GeneratorOptions::mixed(5, 2) };
    assert_eq!(missing_kinds(options), ["rewound"]);
    let alone = missing_kinds(GeneratorOptions::mixed(6, 1));
    assert_eq!(alone, ["agent_called", "agent_returned"]);
}

#[test]
fn a_history_ends_at_rest_after_exactly_so_many_entries() {
    for entries in [1, 2, 3, 10, 50, 1000, 1001, 1002] {
        for agents in [1, 4] {
            let mut generator = Generator::new(GeneratorOptions::mixed(entries, agents));
            while generator.history().head().0 < entries {
                let left = entries - generator.history().head().0;
                generator.next_within(left).unwrap();
            }
            assert_eq!(generator.history().head(), Seq(entries));
            let agents = &generator.history().state().agents;
            assert!(agents.values().all(|agent| agent.stage == Stage::Resting), "{entries}");
        }
    }
}

#[test]
fn entries_are_shared_as_asked() {
    let shares = vec![40, 30, 20, 9, 1];
    let options = GeneratorOptions { shares, ..GeneratorOptions::mixed(5, 5) };
    let batches = generate(options, 20_000).unwrap();
    let placed = batches.iter().flat_map(|batch| &batch.entries);
    let rare = placed.filter(|placed| placed.entry.agent == AgentId(5)).count();
    assert!((150..300).contains(&rare), "{rare}");
}

#[test]
fn inputs_have_exactly_the_size_asked_for() {
    let batches = generate(GeneratorOptions::inputs(6, 1024), 100).unwrap();
    let mut inputs = 0;
    for placed in batches.iter().flat_map(|batch| &batch.entries) {
        if let Fact::Input(input) = &placed.entry.fact {
            assert_eq!(input.sections[0].text.len(), 1024);
            inputs += 1;
        }
    }
    assert!(inputs >= 95, "{inputs}");
}

#[test]
fn rewinds_come_as_often_as_asked() {
    let rewinds = |percent| {
        let options =
            GeneratorOptions { rewinds_percent: percent, ..GeneratorOptions::mixed(9, 2) };
        let batches = generate(options, 10_000).unwrap();
        let placed = batches.iter().flat_map(|batch| &batch.entries);
        placed.filter(|placed| matches!(placed.entry.fact, Fact::Rewound(_))).count()
    };
    assert_eq!(rewinds(0), 0);
    let (some, many) = (rewinds(8), rewinds(100));
    assert!(some > 20 && many > 5 * some, "{some} {many}");
}

/// A model of each dialect.
fn speakers() -> Vec<Invocation> {
    let dialects = ["openai-chat", "openai-responses", "anthropic", "gemini"];
    let speaker = |dialect: &str| Invocation {
        provider: dialect.into(),
        endpoint: dialect.into(),
        account: None,
        dialect: dialect.into(),
        model: "m".into(),
    };
    dialects.map(speaker).to_vec()
}

#[test]
fn speakers_say_what_only_their_dialect_says_and_get_things_wrong() {
    let options = GeneratorOptions { speakers: speakers(), ..GeneratorOptions::mixed(10, 2) };
    let batches = generate(options, 20_000).unwrap();
    fold_again(&batches);
    let mut seen: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for placed in batches.iter().flat_map(|batch| &batch.entries) {
        let Fact::Output(output) = &placed.entry.fact else { continue };
        let mut saw = |what| {
            *seen.entry((output.invocation.dialect.to_string(), what)).or_default() += 1;
        };
        match output.stop {
            Stop::Done => {}
            Stop::Length => saw("length"),
            Stop::Refusal => saw("refusal"),
            Stop::Blocked => saw("blocked"),
            Stop::Paused => saw("paused"),
        }
        for block in &output.blocks {
            match block {
                Block::Thinking(thinking) if thinking.state.is_some() => saw("signed thinking"),
                Block::Thinking(_) => saw("plain thinking"),
                Block::Text(text) if text.state.is_some() => saw("signed text"),
                Block::Text(_) => saw("text"),
                Block::Foreign(_) => saw("foreign"),
                Block::ToolCall(call) => {
                    let aspects = [
                        (!call.complete, "cut call"),
                        (call.state.is_some(), "signed call"),
                        (call.provider_id.is_none(), "call without id"),
                        (call.arguments.is_empty(), "call without arguments"),
                        (!call.name.is_ascii(), "odd name"),
                    ];
                    aspects.iter().filter(|(is, _)| *is).for_each(|(_, what)| saw(what));
                }
            }
        }
    }
    let common = [
        "length",
        "refusal",
        "blocked",
        "paused",
        "plain thinking",
        "text",
        "foreign",
        "cut call",
        "call without arguments",
        "odd name",
    ];
    for speaker in speakers() {
        let own: &[&str] = match &*speaker.dialect {
            "anthropic" => &["signed thinking"],
            "openai-responses" => &["signed thinking", "signed text"],
            "gemini" => &["signed thinking", "signed text", "signed call", "call without id"],
            _ => &[],
        };
        for what in common.iter().chain(own) {
            let count = seen.get(&(speaker.dialect.to_string(), *what));
            assert!(count.is_some(), "{} never has: {what}", speaker.dialect);
        }
    }
}
