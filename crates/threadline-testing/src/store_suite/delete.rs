//! Deleting conversations, and notifications of changes.

use threadline_core::history::record::Record;
use threadline_core::id::Seq;
use threadline_core::inbox::ItemNumber;
use threadline_core::store::{Change, Filter, Listing, Page, Query, Sort, StoreError};

use super::facts::item;
use super::story::{LONG_MS, Story};
use super::{Case, World};

cases![
    nothing_remains_of_a_deleted_conversation,
    a_conversation_whose_entries_a_fork_shares_is_not_deleted,
    a_conversation_that_is_held_is_not_deleted,
    subscribers_learn_of_changes,
    subscribers_learn_of_changes_that_another_process_makes,
];

async fn listed(story: &Story<'_>) -> usize {
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 9 };
    story.store.list(&listing).await.unwrap().len()
}

async fn found(story: &Story<'_>, text: &str) -> usize {
    let text = text.to_owned();
    let query = Query { text, conversation: None, agent: None, after: None, most: 9 };
    story.store.search(&query).await.unwrap().len()
}

async fn nothing_remains_of_a_deleted_conversation(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let mut other = Story::begin(world, &story.store).await;
    story.turn("a needle here", "found it").await;
    other.turn("a needle there", "found it too").await;
    story.store.enqueue(story.id, &item("k", "waits")).await.unwrap();
    let snapshot = story.history.to_snapshot();
    story.store.keep_snapshot(story.id, &snapshot, true).await.unwrap();
    story.rest().await;
    assert_eq!((listed(&story).await, found(&story, "needle").await), (2, 2));
    story.store.delete(story.id).await.unwrap();
    for _ in 0..2 {
        let (store, id) = (&story.store, story.id);
        refused!(store.conversation(id).await, StoreError::NotFound(_));
        refused!(store.read(id, &Page::forward(Seq(1), 9)).await, StoreError::NotFound(_));
        refused!(store.waiting(id, ItemNumber(0), 9).await, StoreError::NotFound(_));
        refused!(store.snapshot(id, Seq(9)).await, StoreError::NotFound(_));
        refused!(store.delete(id).await, StoreError::NotFound(_));
        assert_eq!((listed(&story).await, found(&story, "needle").await), (1, 1));
        assert_eq!(store.due(9).await.unwrap(), []);
        story = story.reopen().await;
    }
    // The same conversation can be created again, and knows nothing of the one before.
    let first = &story.batches[0];
    story.store.create(story.id, None, first).await.unwrap();
    let records: Vec<Record> = story.records(9).await;
    assert_eq!(records.len(), first.entries.len());
    assert_eq!(story.store.item(story.id, "k").await.unwrap(), None);
    assert_eq!(story.store.snapshot(story.id, Seq(9)).await.unwrap(), None);
    assert_eq!(found(&story, "needle").await, 1);
    let other = other.reopen().await;
    other.check().await;
}

async fn a_conversation_whose_entries_a_fork_shares_is_not_deleted(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("one", "two").await;
    story.rest().await;
    let mut fork = story.fork(Seq(3)).await;
    fork.turn("three", "four").await;
    fork.rest().await;
    // It shares entries that the parent wrote, and none of the fork.
    let sibling = fork.fork(Seq(2)).await;
    refused!(
        story.store.delete(story.id).await,
        StoreError::Shared { by, .. } if *by == fork.id || *by == sibling.id
    );
    story.store.delete(fork.id).await.unwrap();
    sibling.check().await;
    refused!(
        story.store.delete(story.id).await,
        StoreError::Shared { by, .. } if *by == sibling.id
    );
    story.store.delete(sibling.id).await.unwrap();
    story.check().await;
    story.store.delete(story.id).await.unwrap();
    assert_eq!(listed(&story).await, 0);
}

async fn a_conversation_that_is_held_is_not_deleted(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.lease().await;
    refused!(story.store.delete(story.id).await, StoreError::Held { .. });
    story.check().await;
    world.clock.advance_ms(LONG_MS);
    story.store.delete(story.id).await.unwrap();
}

async fn subscribers_learn_of_changes(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let other = Story::begin(world, &story.store).await;
    let (store, id) = (std::sync::Arc::clone(&story.store), story.id);
    let (mut all, mut only) = (store.subscribe(None), store.subscribe(Some(id)));
    store.enqueue(other.id, &item("o", "for another")).await.unwrap();
    assert_eq!(all.next().await, Change::Inbox(other.id));
    store.enqueue(id, &item("k", "hello")).await.unwrap();
    store.edit(id, &item("k", "hello again")).await.unwrap();
    store.withdraw(id, "k").await.unwrap();
    story.turn("hello", "hi").await;
    story.rest().await;
    store.delete(id).await.unwrap();
    let expected = [
        Change::Inbox(id),
        Change::Inbox(id),
        Change::Inbox(id),
        Change::History(id),
        Change::Lease(id),
        Change::History(id),
    ];
    for change in expected {
        assert_eq!(all.next().await, change);
        assert_eq!(only.next().await, change);
    }
}

async fn subscribers_learn_of_changes_that_another_process_makes(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let mut changes = story.store.subscribe(Some(story.id));
    for round in 0..3 {
        // A change may be reported late, and again.
        let (key, mut known) = (format!("k{round}"), false);
        other.enqueue(story.id, &item(&key, "hello")).await.unwrap();
        while !known {
            assert!(changes.next().await.concerns(story.id));
            known = story.store.item(story.id, &key).await.unwrap().is_some();
        }
    }
}
