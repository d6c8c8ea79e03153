//! Opening over the store: what is read back equals what was told, with snapshots or without.

use std::sync::Arc;

use threadline_core::context::plan::{Ask, Piece};
use threadline_core::context::{Material, render};
use threadline_core::history::fact::{Effect, Fact, Input, Status, ToolResults};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::history::{Proposal, Stamp};
use threadline_core::id::{BroadcastId, CallId, Seq};
use threadline_core::store::{self, Page, verify};
use threadline_core::tokens::{Estimator, TokenCounter};

use super::facts::{ADA, BOB, Words, answered, called, finished, joins, said, started};
use super::story::Story;
use super::{Case, World};
use crate::ids::Choices;

cases![
    every_place_opens_as_the_full_fold,
    snapshots_of_another_version_are_not_used,
    append_keeps_snapshots_that_open_alike,
    the_past_knows_what_became_of_calls,
    the_last_turns_are_those_of_the_fold,
    what_is_gathered_is_what_the_plan_shows,
    what_is_recalled_is_what_is_read,
    what_began_a_turn_and_its_newest_exchange_are_gathered,
    what_was_told_is_sound,
    what_several_counters_counted_is_sound,
];

/// A story with turns, calls, rewinds to anywhere and snapshots at some places.
async fn winding(world: &World, seed: u64, snapshots: bool) -> Story<'_> {
    let mut choices = Choices::new(seed);
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob")]).await;
    for n in 0..25 {
        match choices.below(5) {
            0 => {
                let to = Seq(2 + choices.below(story.history.head().0 - 1));
                story.rewind(to).await;
            }
            1 => tool_turn(&mut story).await,
            2 if story.history.agent(BOB).is_some() => {
                story.append([said(BOB, &format!("aside {n}")), answered(BOB, "yes")]).await;
            }
            _ => {
                story.turn(&format!("question {n}"), "an answer").await;
            }
        }
        if snapshots && choices.percent(50) {
            let snapshot = story.history.to_snapshot();
            let for_good = choices.percent(50);
            story.store.keep_snapshot(story.id, &snapshot, for_good).await.unwrap();
        }
    }
    story
}

/// A turn with a call, batch by batch.
async fn tool_turn(story: &mut Story<'_>) {
    let output = story.append([said(ADA, "look"), called(ADA, &["list"])]).await;
    let call = CallId::new(output, 0);
    story.append([started(ADA, call, Effect::Read)]).await;
    let done = story.append([finished(ADA, call, "list", "a file")]).await;
    let results = ToolResults { output, results: vec![done], execute_error: None };
    story.append([(ADA, results.into()), answered(ADA, "seen")]).await;
}

async fn every_place_opens_as_the_full_fold(world: &World) {
    for (seed, snapshots) in [(1, false), (1, true), (2, true), (3, true)] {
        let story = winding(world, seed, snapshots).await;
        story.check().await;
        for expected in story.fold().await.iter().skip(1) {
            let at = expected.head();
            let opened = store::history_at(&*story.store, story.id, at, &Words).await.unwrap();
            assert_eq!(opened, *expected, "at {at}, seed {seed}");
        }
        let fork = story.fork(Seq(story.history.head().0 / 2)).await;
        fork.check().await;
    }
}

async fn snapshots_of_another_version_are_not_used(world: &World) {
    let story = winding(world, 4, true).await;
    let newest = story.history.to_snapshot();
    for (version, history) in [(u32::MAX, Vec::new()), (newest.fold_version, b"{".to_vec())] {
        let bad = Snapshot { fold_version: version, history, ..newest.clone() };
        story.store.keep_snapshot(story.id, &bad, false).await.unwrap();
        story.check().await;
    }
}

async fn append_keeps_snapshots_that_open_alike(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for n in 0..5 {
        let lease = story.lease().await;
        let proposed = story.propose([said(ADA, &format!("question {n}")), answered(ADA, "yes")]);
        story.batches.push(proposed.batch.clone());
        story.history = store::append(&*story.store, &lease, proposed).await.unwrap();
        story.check().await;
    }
    let head = story.history.head();
    let kept = story.store.snapshot(story.id, head).await.unwrap().unwrap();
    assert_eq!(kept, story.history.to_snapshot(), "a turn ended: a snapshot is kept");
    let story = story.reopen().await;
    story.check().await;
}

async fn the_past_knows_what_became_of_calls(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let output = story.append([said(ADA, "do both"), called(ADA, &["one", "two"])]).await;
    let (one, two) = (CallId::new(output, 0), CallId::new(output, 1));
    story.append([started(ADA, one, Effect::Once), started(ADA, two, Effect::Once)]).await;
    story.append([finished(ADA, two, "two", "done")]).await;
    story.rewind(output).await;
    story.check().await;
    let settled = story.batches.last().unwrap().entries.iter();
    let settled: Vec<(CallId, Status)> = settled
        .filter_map(|placed| placed.entry.fact.as_tool_finished())
        .map(|finished| (finished.call, finished.status))
        .collect();
    assert_eq!(settled, [(one, Status::Unknown), (two, Status::Success)]);
}

/// Where each turn began is found by the outline, as folding back from one to the next finds it.
async fn the_last_turns_are_those_of_the_fold(world: &World) {
    for seed in 1..=6 {
        let mut story = winding(world, seed, true).await;
        if story.history.agent(BOB).is_some_and(|bob| bob.present) {
            // What is said to all of them begins one turn.
            let broadcast = Some(BroadcastId::of_key("to all"));
            let to_all = |agent| match said(agent, "to all") {
                (agent, Fact::Input(input)) => (agent, Fact::Input(Input { broadcast, ..input })),
                other => other,
            };
            story.append([to_all(ADA), to_all(BOB)]).await;
        }
        let mut expected: Vec<Seq> = story.history.state().last_turn.into_iter().collect();
        while let Some(turn) = expected.last() {
            let to = turn.before();
            let before = store::history_at(&*story.store, story.id, to, &Words).await.unwrap();
            match before.state().last_turn {
                Some(turn) => expected.push(turn),
                None => break,
            }
        }
        assert!(expected.len() > 1, "seed {seed}: {expected:?}");
        for limit in [0, 1, 2, expected.len() - 1, expected.len(), expected.len() + 3] {
            let found = store::last_turns(&*story.store, story.id, &story.history, limit);
            let wanted = &expected[..limit.min(expected.len())];
            assert_eq!(found.await.unwrap(), wanted, "seed {seed}, limit {limit}");
        }
    }
}

/// The entries that are shown one by one, in order.
fn shown(material: &Material) -> Vec<Seq> {
    let pieces = material.plan.pieces.iter().filter_map(|piece| match piece {
        Piece::Row(row) => Some(row.seq),
        Piece::Earlier(_) => None,
    });
    pieces.collect()
}

async fn what_is_gathered_is_what_the_plan_shows(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for n in 0..200 {
        story.turn(&format!("question {n} has five words"), "so has this answer here").await;
    }
    tool_turn(&mut story).await;
    let gathered = async |tokens| {
        let (store, history) = (&*story.store, &story.history);
        store::gather(store, story.id, history, &Ask::bare(ADA, tokens)).await.unwrap().unwrap()
    };
    let material = gathered(1000).await;
    let tokens = render(&material, &[]).tokens();
    assert!(tokens <= 1000 && tokens > 500, "{tokens}");
    let all = story.records(1000).await;
    for (seq, entry) in material.entries.iter() {
        let place = usize::try_from(seq.0).unwrap() - 1;
        assert_eq!(**entry, all[place].open().unwrap());
    }
    let results = material.entries.iter();
    let results = results.filter(|(_, entry)| matches!(entry.fact, Fact::ToolFinished(_))).count();
    assert_eq!(results, 1, "results come with what they seal");
    assert_eq!(shown(&gathered(1_000_000).await).len(), 404);
}

/// What is recalled is what is read, whatever was appended or taken back since.
async fn what_is_recalled_is_what_is_read(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let mut recall = store::Recall::default();
    let (mut begun, mut noted) = (Seq::ZERO, 0);
    for n in 0..40 {
        match n {
            10 => begun = story.history.head(),
            30 => {
                story.rewind(begun).await;
            }
            _ if n % 3 == 0 => tool_turn(&mut story).await,
            _ => {
                story.turn(&format!("question {n} has five words"), "so has this").await;
            }
        }
        // Some of it is noted when it is written, some is read.
        for batch in story.batches.iter().skip(noted).filter(|_| n % 4 != 1) {
            recall.note(ADA, batch);
        }
        noted = story.batches.len();
        let (store, history) = (&*story.store, &story.history);
        let ask = Ask::bare(ADA, if n == 35 { 1000 } else { 250 });
        let read = store::gather(store, story.id, history, &ask).await.unwrap().unwrap();
        let recalled = store::gather_with(store, story.id, history, &ask, &mut recall).await;
        let recalled = recalled.unwrap().unwrap();
        assert_eq!(recalled.plan, read.plan, "after turn {n}");
        assert_eq!(render(&recalled, &[]), render(&read, &[]), "after turn {n}");
    }
}

async fn what_began_a_turn_and_its_newest_exchange_are_gathered(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("an earlier question", "an earlier answer").await;
    let first = story.append([said(ADA, "the first"), said(ADA, "and the second")]).await.before();
    let mut newest = Seq::ZERO;
    for n in 0..300 {
        newest = story.append([called(ADA, &["list"])]).await;
        let call = CallId::new(newest, 0);
        let done = story.append([finished(ADA, call, "list", "a file")]).await;
        let results = ToolResults { output: newest, results: vec![done], execute_error: None };
        story.append([(ADA, results.into())]).await;
        if n == 298 {
            story.append([said(ADA, "hurry"), said(ADA, "up")]).await;
        }
    }
    let hurry = newest.before().before();
    let gathered = async |tokens| -> Vec<Seq> {
        let (store, history) = (&*story.store, &story.history);
        shown(
            &store::gather(store, story.id, history, &Ask::bare(ADA, tokens))
                .await
                .unwrap()
                .unwrap(),
        )
    };
    let all = gathered(1_000_000).await;
    assert_eq!(all.len(), 2 + 2 + 600 + 2);
    let opening = [first, first.next()];
    let few = gathered(100).await;
    assert_eq!(few[..2], opening);
    assert!(few.contains(&hurry) && few.contains(&newest), "{few:?}");
    let some = gathered(500).await;
    assert_eq!(some[..2], opening);
    assert!(all.ends_with(&some[2..]) && some.len() > 8 && some.len() < all.len());
}

/// What another counter counted is not counted again; all else is compared.
async fn what_several_counters_counted_is_sound(world: &World) {
    let mut story = winding(world, 6, true).await;
    let (_, history) = store::open(&*story.store, story.id, &Estimator).await.unwrap();
    let stamp = Stamp { counter: &Estimator, ..world.stamp() };
    let facts = [said(ADA, "who counts this?"), answered(ADA, "somebody else"), said(ADA, "so?")];
    let facts = facts.map(|(agent, fact)| Proposal::new(agent, fact, &Estimator));
    let lease = story.lease().await;
    let proposed = history.propose(facts, stamp).unwrap();
    store::append(&*story.store, &lease, proposed).await.unwrap();
    let counters: [Arc<dyn TokenCounter>; 2] = [Arc::new(Words), Arc::new(Estimator)];
    for counter in counters {
        let depth = verify::Depth::Deep;
        let report = verify::verify(&*story.store, story.id, depth, counter, &mut |_| {}).await;
        assert_eq!(report.unwrap().findings, []);
    }
}

async fn what_was_told_is_sound(world: &World) {
    let story = winding(world, 5, true).await;
    let fork = story.fork(Seq(20)).await;
    for id in [story.id, fork.id] {
        let depth = verify::Depth::Deep;
        let report =
            verify::verify(&*story.store, id, depth, Arc::new(Words), &mut |_| {}).await.unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        assert!(report.entries > 0);
    }
    let page = story.store.read(story.id, &Page::forward(Seq(1), 1)).await.unwrap();
    assert_eq!(page.len(), 1);
}
