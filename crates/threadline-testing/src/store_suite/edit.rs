//! Messages that their sender edits or withdraws while they wait.

use threadline_core::clock::Clock as _;
use threadline_core::history::Proposal;
use threadline_core::history::fact::{Attachment, Digest, Input, Moved};
use threadline_core::id::AgentId;
use threadline_core::inbox::{Body, Item, ItemNumber};
use threadline_core::store::{ItemState, Queued, StoreError};

use super::facts::{ADA, Words, item, said_with_key};
use super::story::Story;
use super::{Case, World};

cases![
    an_edited_message_replaces_the_one_that_waits,
    a_withdrawn_message_does_not_wait_and_keeps_its_key,
    what_was_taken_cannot_be_changed,
    an_append_that_takes_a_changed_message_is_refused_whole,
    only_messages_that_wait_can_be_changed,
    a_changed_message_changes_when_a_conversation_is_due,
];

async fn texts(story: &Story<'_>) -> Vec<String> {
    let waiting = story.store.waiting(story.id, ItemNumber(0), 9).await.unwrap();
    waiting.into_iter().map(|(_, item)| item.client_key.to_string()).collect()
}

async fn an_edited_message_replaces_the_one_that_waits(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let (store, id) = (&story.store, story.id);
    let one = store.enqueue(id, &item("one", "first")).await.unwrap();
    let two = store.enqueue(id, &item("two", "second")).await.unwrap();
    let edited = store.edit(id, &item("one", "first, but better")).await.unwrap();
    assert_eq!(edited.state, ItemState::Waiting);
    assert!(edited.number > two.number && edited.number != one.number);
    assert_eq!(texts(&story).await, ["two", "one"]);
    let story = story.reopen().await;
    let waiting = story.store.waiting(id, two.number, 9).await.unwrap();
    assert_eq!(waiting, [(edited.number, item("one", "first, but better"))]);
    assert_eq!(story.store.item(id, "one").await.unwrap(), Some(edited));
    // The key stands for what it was edited to.
    let again = story.store.enqueue(id, &item("one", "first, but better")).await.unwrap();
    assert_eq!(again, edited);
    refused!(story.store.enqueue(id, &item("one", "first")).await, StoreError::KeyConflict { .. });
    // A later one comes after it.
    let three = story.store.enqueue(id, &item("three", "third")).await.unwrap();
    assert!(three.number > edited.number);
}

async fn a_withdrawn_message_does_not_wait_and_keeps_its_key(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let (store, id) = (&story.store, story.id);
    let queued = store.enqueue(id, &item("k", "hello")).await.unwrap();
    let withdrawn = store.withdraw(id, "k").await.unwrap();
    assert_eq!(withdrawn, Queued { state: ItemState::Withdrawn, ..queued });
    assert_eq!(store.withdraw(id, "k").await.unwrap(), withdrawn);
    let story = story.reopen().await;
    assert!(texts(&story).await.is_empty());
    assert_eq!(story.store.item(id, "k").await.unwrap(), Some(withdrawn));
    // A client that retries does not bring it back.
    assert_eq!(story.store.enqueue(id, &item("k", "hello")).await.unwrap(), withdrawn);
    assert!(texts(&story).await.is_empty());
    refused!(story.store.edit(id, &item("k", "other")).await, StoreError::NotWaiting { .. });
    // A fork does not share what was never in an entry.
    let fork = story.fork(story.history.head()).await;
    assert_eq!(fork.store.item(fork.id, "k").await.unwrap(), None);
}

async fn what_was_taken_cannot_be_changed(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let queued = story.store.enqueue(story.id, &item("k", "hello")).await.unwrap();
    let (agent, fact) = said_with_key(ADA, "k", "hello");
    let taking = Proposal { takes: Some(queued.number), ..Proposal::new(agent, fact, &Words) };
    let proposed = story.history.propose([taking], world.stamp()).unwrap();
    let seq = story.take(proposed).await;
    let taken = ItemState::Taken(seq);
    for refused in [
        story.store.edit(story.id, &item("k", "other")).await,
        story.store.withdraw(story.id, "k").await,
    ] {
        refused!(refused, StoreError::NotWaiting { state, .. } if *state == taken);
    }
    story.check().await;
}

async fn an_append_that_takes_a_changed_message_is_refused_whole(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for change in ["edit", "withdraw"] {
        let key = format!("to {change}");
        let queued = story.store.enqueue(story.id, &item(&key, "hello")).await.unwrap();
        let (agent, fact) = said_with_key(ADA, &key, "hello");
        let taking = Proposal { takes: Some(queued.number), ..Proposal::new(agent, fact, &Words) };
        let proposed = story.history.propose([taking], world.stamp()).unwrap();
        match change {
            "edit" => drop(story.store.edit(story.id, &item(&key, "other")).await.unwrap()),
            _ => drop(story.store.withdraw(story.id, &key).await.unwrap()),
        }
        let refused = story.refuse(&proposed).await;
        let gone = matches!(&refused, StoreError::ItemGone { item, .. } if *item == queued.number);
        assert!(gone, "{refused:?}");
        story.check().await;
    }
    assert_eq!(texts(&story).await, ["to edit"]);
}

async fn only_messages_that_wait_can_be_changed(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let (store, id) = (std::sync::Arc::clone(&story.store), story.id);
    refused!(store.edit(id, &item("k", "x")).await, StoreError::NoItem { .. });
    refused!(store.withdraw(id, "k").await, StoreError::NoItem { .. });
    let cancel = Item { body: Body::Cancel, ..item("cancel", "") };
    store.enqueue(id, &cancel).await.unwrap();
    refused!(store.withdraw(id, "cancel").await, StoreError::Invalid(_));
    refused!(store.edit(id, &item("cancel", "x")).await, StoreError::Invalid(_));
    store.enqueue(id, &item("k", "hello")).await.unwrap();
    let not_a_message = Item { body: Body::Cancel, ..item("k", "") };
    refused!(store.edit(id, &not_a_message).await, StoreError::Invalid(_));
    let attachment = Attachment {
        digest: Digest::of(b"missing"),
        size: 7,
        media_type: "text/plain".into(),
        name: None,
        extent: None,
    };
    let input = Input { attachments: vec![attachment], ..Input::from_person("with it") };
    let attached = Item { body: Body::Input(input), ..item("k", "") };
    refused!(store.edit(id, &attached).await, StoreError::NoAttachment(_));
    assert_eq!(texts(&story).await, ["cancel", "k"]);
    story.append([(AgentId::CONVERSATION, Moved::default().into())]).await;
    refused!(store.edit(id, &item("k", "x")).await, StoreError::MovedAway(_));
    refused!(store.withdraw(id, "k").await, StoreError::MovedAway(_));
}

async fn a_changed_message_changes_when_a_conversation_is_due(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.rest().await;
    let (store, id) = (&story.store, story.id);
    assert_eq!(store.conversation(id).await.unwrap().due_at, None);
    store.enqueue(id, &item("k", "now")).await.unwrap();
    assert_eq!(store.due(9).await.unwrap(), [id]);
    let later = world.clock.now().plus_millis(5_000);
    store.edit(id, &Item { due: Some(later), ..item("k", "later") }).await.unwrap();
    assert_eq!(store.due(9).await.unwrap(), []);
    assert_eq!(store.conversation(id).await.unwrap().due_at, Some(later));
    world.clock.advance_ms(5_000);
    assert_eq!(store.due(9).await.unwrap(), [id]);
    store.withdraw(id, "k").await.unwrap();
    assert_eq!(store.due(9).await.unwrap(), []);
    assert_eq!(store.conversation(id).await.unwrap().due_at, None);
}
