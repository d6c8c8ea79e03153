//! Opening over the store: what is read back equals what was told, with snapshots or without.

use std::sync::Arc;

use threadline_core::history::fact::{Effect, Fact, Status, ToolResults};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{CallId, Seq};
use threadline_core::store::{self, Page, verify};

use super::facts::{ADA, BOB, Words, answered, called, finished, joins, said, started};
use super::story::Story;
use super::{Case, World};
use crate::ids::Choices;

cases![
    every_place_opens_as_the_full_fold,
    snapshots_of_another_version_are_not_used,
    append_keeps_snapshots_that_open_alike,
    the_past_knows_what_became_of_calls,
    a_window_has_the_newest_rows_that_fit,
    a_window_is_recalled_as_it_is_read,
    a_window_has_what_a_turn_cannot_do_without,
    what_was_told_is_sound,
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
        .filter_map(|placed| match &placed.entry.fact {
            Fact::ToolFinished(finished) => Some((finished.call, finished.status)),
            _ => None,
        })
        .collect();
    assert_eq!(settled, [(one, Status::Unknown), (two, Status::Success)]);
}

async fn a_window_has_the_newest_rows_that_fit(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for n in 0..200 {
        story.turn(&format!("question {n} has five words"), "so has this answer here").await;
    }
    tool_turn(&mut story).await;
    let window = async |tokens| {
        store::window(&*story.store, story.id, &story.history, ADA, tokens).await.unwrap()
    };
    let shown = window(1000).await;
    let tokens: u32 = shown.iter().map(|(row, _)| row.tokens.recent).sum();
    assert!(tokens <= 1000 && tokens > 980, "{tokens}");
    let all = story.records(1000).await;
    for (row, entries) in &shown {
        let place = usize::try_from(row.seq.0).unwrap() - 1;
        assert_eq!(*entries[0], all[place].open().unwrap());
    }
    let (_, results) = &shown[shown.len() - 2];
    assert!(matches!(results[1].fact, Fact::ToolFinished(_)), "results come with what they seal");
    assert_eq!(window(u64::MAX).await.len(), 404);
    assert!(window(0).await.is_empty());
}

/// A window that is recalled is the one that is read, whatever was appended or taken back since.
async fn a_window_is_recalled_as_it_is_read(world: &World) {
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
        let tokens = if n == 35 { 1000 } else { 150 };
        let read = store::window(store, story.id, history, ADA, tokens).await.unwrap();
        let recalled =
            store::window_with(store, story.id, history, ADA, tokens, &mut recall).await.unwrap();
        assert_eq!(recalled, read, "after turn {n}");
    }
}

async fn a_window_has_what_a_turn_cannot_do_without(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("an earlier question", "an earlier answer").await;
    let first = story.append([said(ADA, "the first"), said(ADA, "and the second")]).await.before();
    let mut newest = Seq::ZERO;
    for n in 0..50 {
        newest = story.append([called(ADA, &["list"])]).await;
        let call = CallId::new(newest, 0);
        let done = story.append([finished(ADA, call, "list", "a file")]).await;
        let results = ToolResults { output: newest, results: vec![done], execute_error: None };
        story.append([(ADA, results.into())]).await;
        if n == 48 {
            story.append([said(ADA, "hurry"), said(ADA, "up")]).await;
        }
    }
    let hurry = newest.before().before();
    let window = async |tokens| -> Vec<Seq> {
        let shown = store::window(&*story.store, story.id, &story.history, ADA, tokens).await;
        shown.unwrap().iter().map(|(row, _)| row.seq).collect()
    };
    let all = window(u64::MAX).await;
    assert_eq!(all.len(), 2 + 2 + 100 + 2);
    let opening = [first, first.next()];
    assert_eq!(window(0).await[..3], [&opening[..], &[hurry]].concat());
    assert_eq!(window(0).await.len(), 2 + 4, "what began it, and the newest with its inputs");
    let some = window(100).await;
    assert_eq!(some[..2], opening);
    assert!(all.ends_with(&some[2..]) && some.len() > 8 && some.len() < all.len());
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
