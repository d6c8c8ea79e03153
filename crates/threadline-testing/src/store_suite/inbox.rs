//! The inbox: every key once, in order.

use threadline_core::clock::Clock as _;
use threadline_core::history::Proposal;
use threadline_core::history::fact::{Attachment, Digest, Input};
use threadline_core::id::Seq;
use threadline_core::inbox::{Body, CLIENT_KEY_CAP_BYTES, Command, Item, ItemNumber};
use threadline_core::store::{DueFilter, ItemState, Queued, StoreError};

use super::facts::{ADA, Words, answered, item, said_with_key};
use super::story::{LONG_MS, Story};
use super::{Case, World};

cases![
    the_same_key_and_body_get_the_same_answer,
    the_same_key_and_another_body_are_refused,
    items_wait_in_order,
    items_are_taken_in_the_append,
    a_refused_append_takes_nothing,
    keys_of_appended_inputs_are_known,
    an_appended_input_takes_the_item_of_its_key,
    keys_are_those_of_one_conversation,
    a_fork_knows_the_keys_it_shares,
    all_kinds_of_items_come_back_as_they_were,
    what_cannot_be_taken_is_refused,
];

/// Everything that waits.
async fn waiting(story: &Story<'_>) -> Vec<(ItemNumber, Item)> {
    story.store.waiting(story.id, ItemNumber(0), 1000).await.unwrap()
}

/// Appends an input that takes an item.
async fn take(story: &mut Story<'_>, number: ItemNumber, key: &str, text: &str) -> Seq {
    let (agent, fact) = said_with_key(ADA, key, text);
    let taking = Proposal { takes: Some(number), ..Proposal::new(agent, fact, &Words) };
    story.world.clock.advance_ms(1000);
    let proposed = story.history.propose([taking], story.world.stamp()).unwrap();
    story.take(proposed).await
}

async fn the_same_key_and_body_get_the_same_answer(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    assert_eq!(story.store.item(story.id, "k").await.unwrap(), None);
    let first = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    assert_eq!(first.taken(), None);
    assert_eq!(story.store.item(story.id, "k").await.unwrap(), Some(first));
    world.clock.advance_ms(1000);
    assert_eq!(story.store.enqueue(story.id, &item("k", "hello")).await.unwrap(), first);
    assert_eq!(waiting(&story).await.len(), 1);
    let seq = take(&mut story, first.number, "k", "hello").await;
    let taken = Queued { state: ItemState::Taken(seq), ..first };
    assert_eq!(story.store.enqueue(story.id, &item("k", "hello")).await.unwrap(), taken);
    let story = story.reopen().await;
    assert_eq!(story.store.item(story.id, "k").await.unwrap(), Some(taken));
    assert_eq!(story.store.enqueue(story.id, &item("k", "hello")).await.unwrap(), taken);
    assert!(waiting(&story).await.is_empty());
}

async fn the_same_key_and_another_body_are_refused(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let first = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    let other = item("k", "something else");
    let refused = story.store.enqueue(story.id, &other).await;
    let Err(StoreError::KeyConflict { id, key }) = refused else {
        unreachable!("expected a conflict of keys: {refused:?}")
    };
    assert_eq!((id, key.as_str()), (story.id, "k"));
    let cancel = Item { body: Body::Cancel, ..item("k", "") };
    refused!(story.store.enqueue(story.id, &cancel).await, StoreError::KeyConflict { .. });
    take(&mut story, first.number, "k", "hello").await;
    refused!(story.store.enqueue(story.id, &other).await, StoreError::KeyConflict { .. });
    assert!(waiting(&story).await.is_empty());
}

async fn items_wait_in_order(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let later = Some(world.clock.now().plus_millis(5000));
    let mut numbers = Vec::new();
    for n in 0..7 {
        let due = if n == 2 { later } else { None };
        let item = Item { due, ..item(&format!("k{}", 9 - n), &format!("text {n}")) };
        numbers.push(story.store.enqueue(story.id, &item).await.unwrap().number);
    }
    assert!(numbers.is_sorted());
    let all = waiting(&story).await;
    assert_eq!(all.iter().map(|(number, _)| *number).collect::<Vec<_>>(), numbers);
    assert_eq!(all[2].1, Item { due: later, ..item("k7", "text 2") });
    let page = story.store.waiting(story.id, numbers[2], 2).await.unwrap();
    assert_eq!(page, all[3..5]);
    assert!(story.store.waiting(story.id, numbers[6], 2).await.unwrap().is_empty());
    let story = story.reopen().await;
    assert_eq!(waiting(&story).await, all);
}

async fn items_are_taken_in_the_append(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let one = story.store.enqueue(story.id, &item("one", "first")).await.unwrap();
    let two = story.store.enqueue(story.id, &item("two", "second")).await.unwrap();
    let seq = take(&mut story, two.number, "two", "second").await;
    let left = waiting(&story).await;
    assert_eq!(left, [(one.number, item("one", "first"))]);
    let answer = story.store.enqueue(story.id, &item("two", "second")).await.unwrap();
    assert_eq!(answer, Queued { number: two.number, state: ItemState::Taken(seq) });
    // The same append again takes nothing more and is no error.
    let (lease, last) = (story.lease().await, story.batches.last().unwrap().clone());
    story.store.append(&lease, &last).await.unwrap();
    assert_eq!(waiting(&story).await, left);
    story.check().await;
}

async fn a_refused_append_takes_nothing(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let one = story.store.enqueue(story.id, &item("one", "first")).await.unwrap();
    let (agent, fact) = said_with_key(ADA, "one", "first");
    let taking = Proposal { takes: Some(one.number), ..Proposal::new(agent, fact, &Words) };
    let late = story.history.propose([taking], world.stamp()).unwrap();
    story.turn("in between", "yes").await;
    assert!(matches!(story.refuse(&late).await, StoreError::Conflict { .. }));
    assert_eq!(waiting(&story).await.len(), 1);
    take(&mut story, one.number, "one", "first").await;
    // Taken by one, it cannot be taken by another.
    let (agent, fact) = said_with_key(ADA, "other", "first");
    let taking = Proposal { takes: Some(one.number), ..Proposal::new(agent, fact, &Words) };
    let again = story.history.propose([taking], world.stamp()).unwrap();
    assert!(matches!(story.refuse(&again).await, StoreError::ItemGone { .. }));
    story.check().await;
}

async fn keys_of_appended_inputs_are_known(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let seq = story.append([said_with_key(ADA, "k", "hello")]).await;
    let answer = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    assert_eq!(answer.taken(), Some(seq));
    assert_eq!(story.store.enqueue(story.id, &item("k", "hello")).await.unwrap(), answer);
    refused!(
        story.store.enqueue(story.id, &item("k", "other")).await,
        StoreError::KeyConflict { .. }
    );
    assert!(waiting(&story).await.is_empty());
    // Also after a rewind: what was said was said.
    story.append([answered(ADA, "hi")]).await;
    story.rewind(Seq(2)).await;
    assert_eq!(story.store.enqueue(story.id, &item("k", "hello")).await.unwrap(), answer);
}

async fn an_appended_input_takes_the_item_of_its_key(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let queued = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    let other = story.propose([said_with_key(ADA, "k", "something else")]);
    assert!(matches!(story.refuse(&other).await, StoreError::KeyConflict { .. }));
    assert_eq!(waiting(&story).await.len(), 1);
    let seq = story.append([said_with_key(ADA, "k", "hello")]).await;
    assert!(waiting(&story).await.is_empty());
    let answer = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    assert_eq!(answer, Queued { number: queued.number, state: ItemState::Taken(seq) });
}

async fn keys_are_those_of_one_conversation(world: &World) {
    let store = world.open().await;
    let (one, two) = (Story::begin(world, &store).await, Story::begin(world, &store).await);
    let first = store.enqueue(one.id, &item("k", "hello")).await.unwrap();
    let second = store.enqueue(two.id, &item("k", "other")).await.unwrap();
    assert_ne!(first.number, second.number);
    assert_eq!(waiting(&one).await, [(first.number, item("k", "hello"))]);
    assert_eq!(waiting(&two).await, [(second.number, item("k", "other"))]);
}

async fn a_fork_knows_the_keys_it_shares(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let seq = story.append([said_with_key(ADA, "shared", "a"), answered(ADA, "1")]).await;
    story.append([said_with_key(ADA, "later", "b"), answered(ADA, "2")]).await;
    story.store.enqueue(story.id, &item("waits", "c")).await.unwrap();
    let mut fork = story.fork(seq).await;
    let answer = fork.store.enqueue(fork.id, &item("shared", "a")).await.unwrap();
    assert_eq!(answer.taken(), Some(Seq(3)));
    let again = fork.propose([said_with_key(ADA, "shared", "a")]);
    assert!(matches!(fork.refuse(&again).await, StoreError::KeyConflict { .. }));
    // What the parent took later, or what waits for it, is none of the fork's business.
    assert!(waiting(&fork).await.is_empty());
    for (key, text) in [("later", "another b"), ("waits", "another c")] {
        let answer = fork.store.enqueue(fork.id, &item(key, text)).await.unwrap();
        assert_eq!(answer.taken(), None);
    }
    assert_eq!(waiting(&fork).await.len(), 2);
    assert_eq!(waiting(&story).await.len(), 1);
    let grandchild = fork.fork(fork.history.head()).await;
    let answer = grandchild.store.enqueue(grandchild.id, &item("shared", "a")).await.unwrap();
    assert_eq!(answer.taken(), Some(Seq(3)));
}

async fn all_kinds_of_items_come_back_as_they_were(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let command = Body::Command(Command::Rewind { to: Seq(2) });
    let items = [
        Item { to: Some(ADA), ..item("a", "雨 \u{0} \u{1b}[31m") },
        Item { body: Body::Cancel, ..item("b", "") },
        Item { body: command, ..item("c", "") },
        item(&"k".repeat(CLIENT_KEY_CAP_BYTES), "a long key"),
    ];
    for item in &items {
        story.store.enqueue(story.id, item).await.unwrap();
    }
    let found: Vec<Item> = waiting(&story).await.into_iter().map(|(_, item)| item).collect();
    assert_eq!(found, items);
}

async fn what_cannot_be_taken_is_refused(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let long = item(&"k".repeat(CLIENT_KEY_CAP_BYTES + 1), "x");
    refused!(story.store.enqueue(story.id, &long).await, StoreError::TooLarge { .. });
    let digest = Digest::of(b"not here");
    let attachment =
        Attachment { digest, size: 8, media_type: "text/plain".into(), name: None, extent: None };
    let input = Input { attachments: vec![attachment], ..Input::from_person("look") };
    let missing = Item { body: Body::Input(input), ..item("k", "") };
    refused!(story.store.enqueue(story.id, &missing).await, StoreError::NoAttachment(_));
    assert!(waiting(&story).await.is_empty());
    world.clock.advance_ms(LONG_MS);
    assert!(story.store.claim_due(9, 1000, &DueFilter::default()).await.unwrap().is_empty());
}
