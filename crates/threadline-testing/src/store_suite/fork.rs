//! Forks: they share what came before, and nothing after.

use threadline_core::history::fact::{Effect, Status};
use threadline_core::id::{CallId, Seq};
use threadline_core::store::StoreError;

use super::facts::{ADA, BOB, answered, called, joins, said, started};
use super::story::Story;
use super::{Case, World};

cases![
    a_fork_goes_its_own_way,
    a_parent_does_not_notice,
    siblings_do_not_notice_each_other,
    forks_of_forks_ten_deep,
    a_fork_in_the_middle_of_a_turn_is_settled,
    a_fork_has_the_agents_of_its_beginning,
    a_fork_may_branch_off_at_a_rewound_entry,
    a_fork_of_nothing_shares_nothing,
    a_fork_begun_twice_is_one_fork,
];

async fn a_fork_goes_its_own_way(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("shared", "yes").await;
    parent.turn("not shared", "no").await;
    let mut fork = parent.fork(at).await;
    fork.check().await;
    let known = fork.store.conversation(fork.id).await.unwrap();
    assert_eq!(known.forked_from, Some((parent.id, at)));
    assert_eq!(known.created_at, fork.batches[0].entries[0].entry.at);
    fork.turn("mine", "yes").await;
    fork.check().await;
    let (theirs, mine) = (parent.records(3).await, fork.records(3).await);
    assert_eq!(theirs[..4], mine[..4]);
    assert_ne!(theirs[4], mine[4]);
    let fork = fork.reopen().await;
    fork.check().await;
}

async fn a_parent_does_not_notice(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("shared", "yes").await;
    let before = parent.store.conversation(parent.id).await.unwrap();
    let records = parent.records(9).await;
    let mut fork = parent.fork(at).await;
    fork.turn("mine", "yes").await;
    fork.rewind(Seq(2)).await;
    assert_eq!(parent.store.conversation(parent.id).await.unwrap(), before);
    assert_eq!(parent.records(9).await, records);
    parent.turn("the parent goes on", "yes").await;
    parent.rewind(Seq(2)).await;
    parent.turn("another way", "yes").await;
    parent.check().await;
    fork.check().await;
}

async fn siblings_do_not_notice_each_other(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("shared", "yes").await;
    let mut forks = Vec::new();
    for _ in 0..4 {
        forks.push(parent.fork(at).await);
    }
    for round in 0..3 {
        for (n, fork) in forks.iter_mut().enumerate() {
            fork.turn(&format!("fork {n}, round {round}"), "yes").await;
        }
        parent.turn("parent", "yes").await;
    }
    for fork in &forks {
        fork.check().await;
    }
    parent.check().await;
}

async fn forks_of_forks_ten_deep(world: &World) {
    let mut generations = vec![Story::begin(world, &world.open().await).await];
    for n in 0..10 {
        let last = generations.last_mut().unwrap();
        let at = last.turn(&format!("generation {n}"), "yes").await;
        last.turn("goes on alone", "yes").await;
        if n % 3 == 0 {
            last.rewind(at).await;
        }
        let fork = last.fork(at).await;
        generations.push(fork);
    }
    for (n, story) in generations.iter_mut().enumerate() {
        story.turn(&format!("all alive: {n}"), "yes").await;
    }
    for story in &generations {
        story.check().await;
    }
    let last = generations.pop().unwrap().reopen().await;
    last.check().await;
    let head = last.history.head();
    let (all, single) = (last.records(4).await, last.store.records(last.id, &[Seq(1), head]).await);
    assert_eq!(single.unwrap(), [all[0].clone(), all.last().unwrap().clone()]);
}

async fn a_fork_in_the_middle_of_a_turn_is_settled(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let output = parent.append([said(ADA, "do both"), called(ADA, &["one", "two"])]).await;
    let at = parent.append([started(ADA, CallId::new(output, 0), Effect::Once)]).await;
    let fork = parent.fork(at).await;
    fork.check().await;
    let statuses: Vec<Status> = fork.batches[0]
        .entries
        .iter()
        .filter_map(|placed| Some(placed.entry.fact.as_tool_finished()?.status))
        .collect();
    assert_eq!(statuses, [Status::Unknown, Status::Skipped]);
    parent.check().await;
}

async fn a_fork_has_the_agents_of_its_beginning(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("hello", "hi").await;
    parent.append([joins(BOB, "bob"), said(BOB, "hello"), answered(BOB, "hi")]).await;
    parent.turn("more", "of it").await;
    let fork = parent.fork(at).await;
    fork.check().await;
    assert_eq!(fork.store.agents(fork.id).await.unwrap().len(), 1);
    let both = parent.fork(parent.history.head()).await;
    both.check().await;
    assert_eq!(both.store.agents(both.id).await.unwrap().len(), 2);
}

async fn a_fork_may_branch_off_at_a_rewound_entry(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let one = parent.turn("one", "1").await;
    let left = parent.turn("left behind", "2").await;
    parent.rewind(one).await;
    parent.turn("three", "3").await;
    let mut fork = parent.fork(left).await;
    fork.turn("from there", "4").await;
    fork.check().await;
    let after = parent.fork(parent.history.head()).await;
    after.check().await;
}

async fn a_fork_of_nothing_shares_nothing(world: &World) {
    let parent = Story::begin(world, &world.open().await).await;
    let mut fork = parent.fork(Seq::ZERO).await;
    fork.append([joins(ADA, "another ada")]).await;
    fork.check().await;
    assert_eq!(fork.history.head(), Seq(2));
    let known = fork.store.conversation(fork.id).await.unwrap();
    assert_eq!(known.forked_from, Some((parent.id, Seq::ZERO)));
}

async fn a_fork_begun_twice_is_one_fork(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("shared", "yes").await;
    let mut fork = parent.fork(at).await;
    let (base, first) = (Some((parent.id, at)), fork.batches[0].clone());
    fork.store.create(fork.id, base, &first).await.unwrap();
    fork.turn("mine", "yes").await;
    fork.store.create(fork.id, base, &first).await.unwrap();
    fork.check().await;
    let other = parent.fork(at).await.batches[0].clone();
    refused!(fork.store.create(fork.id, base, &other).await, StoreError::Exists(_));
}
