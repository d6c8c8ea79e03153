//! Conversations that were moved away: closed here, until they come back.

use std::sync::Arc;

use threadline_core::history::fact::Moved;
use threadline_core::id::{AgentId, Seq};
use threadline_core::inbox::{Body, Item, ItemNumber};
use threadline_core::store::{Attendance, DueFilter, Lease, Origin, StoreError};
use threadline_core::transfer::{ExportError, export_move};

use super::facts::{ADA, answered, item, said, said_with_key};
use super::intake::{elsewhere, stage};
use super::story::{LONG_MS, Story};
use super::{Case, World};

cases![
    a_moved_conversation_is_closed,
    a_moved_conversation_can_be_read_and_forked,
    taking_it_in_opens_it,
    coming_back_is_a_fast_forward,
    coming_back_unchanged_only_opens_it,
    what_waited_went_with_it,
    a_move_that_is_overtaken_goes_on_here,
];

/// Moves a conversation away, with a lease that is still held.
async fn move_away(story: &mut Story<'_>) -> Lease {
    story.append([(AgentId::CONVERSATION, Moved::default().into())]).await;
    story.lease().await
}

async fn a_moved_conversation_is_closed(world: &World) {
    let mut story = elsewhere(world).await;
    story.append([said(ADA, "unfinished")]).await;
    let lease = move_away(&mut story).await;
    assert!(story.store.conversation(story.id).await.unwrap().moved_away);
    let batch = story.propose([answered(ADA, "too late")]).batch;
    refused!(story.store.append(&lease, &batch).await, StoreError::MovedAway(_));
    // The answer to the closing append can be lost, too.
    story.store.append(&lease, story.batches.last().unwrap()).await.unwrap();
    story.rest().await;
    refused!(
        story.store.claim(story.id, 1000, Attendance::Attended).await,
        StoreError::MovedAway(_)
    );
    refused!(story.store.enqueue(story.id, &item("k", "x")).await, StoreError::MovedAway(_));
    world.clock.advance_ms(LONG_MS);
    assert!(story.store.claim_due(9, 1000, &DueFilter::default()).await.unwrap().is_empty());
    let story = story.reopen().await;
    refused!(
        story.store.claim(story.id, 1000, Attendance::Attended).await,
        StoreError::MovedAway(_)
    );
    story.check().await;
}

async fn a_moved_conversation_can_be_read_and_forked(world: &World) {
    let mut story = elsewhere(world).await;
    move_away(&mut story).await;
    story.check().await;
    let mut fork = story.fork(Seq(4)).await;
    fork.turn("goes on", "yes").await;
    fork.check().await;
}

async fn taking_it_in_opens_it(world: &World) {
    let mut story = elsewhere(world).await;
    move_away(&mut story).await;
    let id = world.id();
    let stage = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let mut arrived = story.told_as(id);
    assert!(!arrived.store.conversation(id).await.unwrap().moved_away);
    arrived.turn("it goes on here", "yes").await;
    arrived.check().await;
    assert!(story.store.conversation(story.id).await.unwrap().moved_away);
}

/// Moves a story away, lets it go on under another id, and gives both.
async fn there(world: &World) -> (Story<'_>, Story<'_>) {
    let mut here = elsewhere(world).await;
    here.store.enqueue(here.id, &item("input", "waits")).await.unwrap();
    let cancel = Item { body: Body::Cancel, ..item("cancel", "") };
    here.store.enqueue(here.id, &cancel).await.unwrap();
    move_away(&mut here).await;
    let waiting = here.store.waiting(here.id, ItemNumber(0), 9).await.unwrap();
    let waiting: Vec<Item> = waiting.into_iter().map(|(_, item)| item).collect();
    assert_eq!(waiting.len(), 2);
    let id = world.id();
    let stage = stage(&here.store, id, Seq::ZERO, &here.batches).await;
    here.store.adopt(stage, Origin::Own, false, &waiting).await.unwrap();
    let there = here.told_as(id);
    (here, there)
}

async fn coming_back_is_a_fast_forward(world: &World) {
    let (here, mut there) = there(world).await;
    let base = here.history.head();
    there.turn("there", "yes").await;
    move_away(&mut there).await;
    let news = &there.batches[there.batches.len() - 2..];
    let stage = stage(&here.store, here.id, base, news).await;
    here.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let mut back = there.told_as(here.id);
    assert!(!back.store.conversation(here.id).await.unwrap().moved_away);
    back.check().await;
    world.clock.advance_ms(LONG_MS);
    back.turn("and back", "yes").await;
    back.check().await;
}

async fn coming_back_unchanged_only_opens_it(world: &World) {
    let mut story = elsewhere(world).await;
    move_away(&mut story).await;
    story.rest().await;
    let stage = stage(&story.store, story.id, story.history.head(), &[]).await;
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    assert!(!story.store.conversation(story.id).await.unwrap().moved_away);
    story.check().await;
    story.turn("as if nothing had been", "yes").await;
    story.check().await;
}

async fn what_waited_went_with_it(world: &World) {
    let (here, mut there) = there(world).await;
    let base = here.history.head();
    // The input was taken there, and something new came.
    there.append([said_with_key(ADA, "input", "waits"), answered(ADA, "not any more")]).await;
    let news = &there.batches[there.batches.len() - 1..];
    let stage = stage(&here.store, here.id, base, news).await;
    here.store.adopt(stage, Origin::Own, false, &[item("new", "waits now")]).await.unwrap();
    let waiting = here.store.waiting(here.id, ItemNumber(0), 9).await.unwrap();
    let waiting: Vec<Item> = waiting.into_iter().map(|(_, item)| item).collect();
    assert_eq!(waiting, [item("new", "waits now")]);
    let answer = here.store.enqueue(here.id, &item("input", "waits")).await.unwrap();
    assert_eq!(answer.taken(), Some(base.next()));
}

async fn a_move_that_is_overtaken_goes_on_here(world: &World) {
    let mut story = elsewhere(world).await;
    let (store, id) = (Arc::clone(&story.store), story.id);
    store.enqueue(id, &item("early", "written")).await.unwrap();
    let lease = story.lease().await;
    let mut file = Vec::new();
    let moved =
        export_move(&*store, id, None, world.stamp(), &mut file, &mut |_| ()).await.unwrap();
    assert_eq!(moved.exported.waiting, 1);
    store.enqueue(id, &item("late", "not written")).await.unwrap();
    assert!(matches!(moved.close(&*store, &lease).await, Err(ExportError::Changed)));
    // It is open, nothing that waited is lost, and the next try takes both along.
    let waiting = store.waiting(id, ItemNumber(0), 9).await.unwrap();
    let keys: Vec<_> = waiting.iter().map(|(_, item)| &*item.client_key).collect();
    assert_eq!(keys, ["early", "late"]);
    assert!(!store.conversation(id).await.unwrap().moved_away);
    let lease = store.claim(id, LONG_MS, Attendance::Attended).await.unwrap_or(lease);
    let moved =
        export_move(&*store, id, None, world.stamp(), &mut file, &mut |_| ()).await.unwrap();
    assert_eq!(moved.close(&*store, &lease).await.unwrap().waiting, 2);
    assert!(store.conversation(id).await.unwrap().moved_away);
}
