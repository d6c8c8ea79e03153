//! Snapshots: a cache that can be replaced, and is never wrong.

use std::collections::BTreeMap;

use threadline_core::history::fact::Digest;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::Seq;
use threadline_core::store::StoreError;

use super::story::Story;
use super::{Case, World};

cases![
    the_newest_at_or_before_a_place_is_found,
    one_not_kept_for_good_is_replaced,
    snapshots_come_back_as_they_were,
    a_fork_sees_its_parents_up_to_where_it_branched_off,
    a_snapshot_of_another_history_is_refused,
];

/// A snapshot of the history after an entry, with a mark.
async fn at(story: &Story<'_>, seq: Seq, mark: u8) -> Snapshot {
    let record = &story.store.records(story.id, &[seq]).await.unwrap()[0];
    let widgets =
        BTreeMap::from([("plan".to_owned(), vec![mark, 0, 255]), (String::new(), vec![])]);
    Snapshot { seq, hash: record.hash, fold_version: 9, history: vec![mark; 100], widgets }
}

async fn keep(story: &Story<'_>, seq: Seq, mark: u8, for_good: bool) -> Snapshot {
    let snapshot = at(story, seq, mark).await;
    story.store.keep_snapshot(story.id, &snapshot, for_good).await.unwrap();
    snapshot
}

async fn newest(story: &Story<'_>, at_most: Seq) -> Option<Snapshot> {
    story.store.snapshot(story.id, at_most).await.unwrap()
}

async fn ten_turns(world: &World) -> Story<'_> {
    let mut story = Story::begin(world, &world.open().await).await;
    for _ in 0..10 {
        story.turn("more", "of it").await;
    }
    story
}

async fn the_newest_at_or_before_a_place_is_found(world: &World) {
    let story = ten_turns(world).await;
    assert_eq!(newest(&story, Seq(22)).await, None);
    let five = keep(&story, Seq(5), 5, true).await;
    let twelve = keep(&story, Seq(12), 12, true).await;
    let nine = keep(&story, Seq(9), 9, true).await;
    assert_eq!(newest(&story, Seq(4)).await, None);
    for (place, expected) in [(5, &five), (8, &five), (9, &nine), (11, &nine), (12, &twelve)] {
        assert_eq!(newest(&story, Seq(place)).await.as_ref(), Some(expected), "at {place}");
    }
    assert_eq!(newest(&story, Seq(u64::MAX)).await, Some(twelve));
}

async fn one_not_kept_for_good_is_replaced(world: &World) {
    let story = ten_turns(world).await;
    let good = keep(&story, Seq(4), 4, true).await;
    let six = keep(&story, Seq(6), 6, false).await;
    assert_eq!(newest(&story, Seq(7)).await, Some(six));
    let eight = keep(&story, Seq(8), 8, false).await;
    assert_eq!(newest(&story, Seq(9)).await, Some(eight));
    assert_eq!(newest(&story, Seq(7)).await, Some(good.clone()));
    // One kept for good replaces none.
    let ten = keep(&story, Seq(10), 10, true).await;
    assert_eq!(newest(&story, Seq(9)).await.unwrap().seq, Seq(8));
    let twelve = keep(&story, Seq(12), 12, false).await;
    assert_eq!(newest(&story, Seq(9)).await, Some(good));
    assert_eq!(newest(&story, Seq(11)).await, Some(ten));
    assert_eq!(newest(&story, Seq(22)).await, Some(twelve));
    // The same place again: the newer counts.
    let again = keep(&story, Seq(12), 13, false).await;
    assert_eq!(newest(&story, Seq(22)).await, Some(again));
}

async fn snapshots_come_back_as_they_were(world: &World) {
    let mut story = ten_turns(world).await;
    let snapshot = story.history.to_snapshot();
    story.store.keep_snapshot(story.id, &snapshot, false).await.unwrap();
    story.turn("one more", "yes").await;
    let story = story.reopen().await;
    assert_eq!(newest(&story, story.history.head()).await, Some(snapshot));
}

async fn a_fork_sees_its_parents_up_to_where_it_branched_off(world: &World) {
    let parent = ten_turns(world).await;
    let six = keep(&parent, Seq(6), 6, true).await;
    let twelve = keep(&parent, Seq(12), 12, true).await;
    let fork = parent.fork(Seq(10)).await;
    assert_eq!(newest(&fork, Seq(100)).await, Some(six.clone()));
    let mut fork = fork.fork(Seq(8)).await;
    assert_eq!(newest(&fork, Seq(100)).await, Some(six.clone()));
    for _ in 0..5 {
        fork.turn("mine", "yes").await;
    }
    let own = keep(&fork, fork.history.head(), 77, false).await;
    assert_eq!(newest(&fork, Seq(100)).await, Some(own));
    assert_eq!(newest(&fork, Seq(12)).await, Some(six));
    // The parent sees nothing of it.
    assert_eq!(newest(&parent, Seq(100)).await, Some(twelve));
    let early = parent.fork(Seq(5)).await;
    assert_eq!(newest(&early, Seq(100)).await, None);
}

async fn a_snapshot_of_another_history_is_refused(world: &World) {
    let story = ten_turns(world).await;
    let sound = at(&story, Seq(9), 1).await;
    let other = Snapshot { hash: Digest::of(b"another entry"), ..sound.clone() };
    refused!(story.store.keep_snapshot(story.id, &other, true).await, StoreError::NoEntry { .. });
    let beyond = Snapshot { seq: story.history.head().next(), ..sound };
    refused!(story.store.keep_snapshot(story.id, &beyond, true).await, StoreError::NoEntry { .. });
    assert_eq!(newest(&story, Seq(100)).await, None);
}
