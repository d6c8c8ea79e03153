//! Appending: whole, in order, fenced, and once.

use threadline_core::history::History;
use threadline_core::history::batch::Taken;
use threadline_core::history::fact::{Attachment, Digest, Input};
use threadline_core::history::record::Record;
use threadline_core::id::Seq;
use threadline_core::inbox::ItemNumber;
use threadline_core::store::{Attendance, StoreError};

use super::facts::{ADA, BOB, answered, joins, said, said_with_key};
use super::story::{LONG_MS, Story, propose};
use super::{Case, World};

cases![
    entries_are_kept_in_order_byte_for_byte,
    what_was_appended_survives_a_restart,
    a_batch_that_does_not_follow_is_refused_whole,
    a_batch_on_another_entry_at_the_head_is_refused,
    the_same_batch_again_is_no_error_and_changes_nothing,
    a_lost_answer_is_resolved_after_a_takeover,
    another_batch_at_the_same_place_is_refused,
    an_attachment_must_be_there_first,
    an_empty_batch_is_refused,
    an_item_that_does_not_wait_cannot_be_taken,
    a_client_key_is_taken_once,
    creating_again_is_no_error_with_the_same_batch_only,
    a_conversation_begins_at_its_beginning,
    sums_and_agents_follow_the_history,
    what_is_not_there_is_not_found,
];

async fn entries_are_kept_in_order_byte_for_byte(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for n in 0..20 {
        story.turn(&format!("question {n}"), &format!("answer {n}")).await;
    }
    let written = story.batches.iter().flat_map(|batch| &batch.entries);
    let written: Vec<Record> = written.map(|placed| (*placed.record).clone()).collect();
    assert_eq!(story.records(7).await, written);
    let seqs = written.iter().map(|record| record.open().unwrap().seq.0);
    assert!(seqs.eq(1..=42), "entries are dense from 1");
    story.check().await;
}

async fn what_was_appended_survives_a_restart(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("hello", "hi").await;
    let mut story = story.reopen().await;
    story.check().await;
    story.turn("and again", "hi again").await;
    story.reopen().await.check().await;
}

async fn a_batch_that_does_not_follow_is_refused_whole(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let late = story.propose([said(ADA, "late"), answered(ADA, "too late")]);
    let head = story.turn("first", "yes").await;
    let error = story.refuse(&late).await;
    let StoreError::Conflict { id, expected, head: at } = error else {
        unreachable!("expected a conflict: {error:?}")
    };
    assert_eq!((id, expected, at), (story.id, late.batch.base, head));
    let next = story.propose([said(ADA, "next")]);
    let early = propose(world, &next.history, [answered(ADA, "an answer to what was not said")]);
    assert!(matches!(story.refuse(&early).await, StoreError::Conflict { .. }));
    story.check().await;
}

async fn a_batch_on_another_entry_at_the_head_is_refused(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let mut other = story.propose([said(ADA, "one")]);
    other.batch.base_hash = Digest::of(b"another entry");
    assert!(matches!(story.refuse(&other).await, StoreError::Conflict { .. }));
    story.check().await;
}

async fn the_same_batch_again_is_no_error_and_changes_nothing(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let proposed = story.propose([said(ADA, "once"), answered(ADA, "only once")]);
    story.take(proposed.clone()).await;
    let lease = story.lease().await;
    story.store.append(&lease, &proposed.batch).await.unwrap();
    story.check().await;
    // Also when the history has gone on, and after a restart.
    story.turn("next", "yes").await;
    story.store.append(&lease, &proposed.batch).await.unwrap();
    let story = story.reopen().await;
    story.store.append(&lease, &proposed.batch).await.unwrap();
    story.check().await;
}

async fn a_lost_answer_is_resolved_after_a_takeover(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let kept = story.propose([said(ADA, "this was written")]);
    story.take(kept.clone()).await;
    let stale = story.lease().await;
    let lost = story.propose([said(ADA, "this was not")]);
    world.clock.advance_ms(LONG_MS);
    let other = world.rig.open("two").await;
    let lease = other.claim(story.id, LONG_MS, Attendance::Attended).await.unwrap();
    story.store.append(&stale, &kept.batch).await.unwrap();
    refused!(story.store.append(&stale, &lost.batch).await, StoreError::Fenced(_));
    story.check().await;
    // The new owner may find the same out for the old one.
    other.append(&lease, &kept.batch).await.unwrap();
    story.check().await;
}

async fn another_batch_at_the_same_place_is_refused(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let one = story.propose([said(ADA, "the same words")]);
    let other = story.propose([said(ADA, "the same words")]);
    story.take(one).await;
    assert!(matches!(story.refuse(&other).await, StoreError::Conflict { .. }));
    let stale = story.lease().await;
    story.rest().await;
    refused!(story.store.append(&stale, &other.batch).await, StoreError::Fenced(_));
    story.check().await;
}

async fn an_attachment_must_be_there_first(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let digest = Digest::of(b"a picture");
    let attachment =
        Attachment { digest, size: 9, media_type: "image/png".into(), name: None, extent: None };
    let input = Input { attachments: vec![attachment], ..Input::from_person("look") };
    let proposed = story.propose([said(ADA, "wait"), (ADA, input.into())]);
    let error = story.refuse(&proposed).await;
    assert!(matches!(error, StoreError::NoAttachment(missing) if missing == digest), "{error:?}");
    story.check().await;
    let upload = story.store.begin_upload().await.unwrap();
    story.store.upload(upload, b"a picture".to_vec()).await.unwrap();
    story.store.finish_upload(upload).await.unwrap();
    story.take(proposed).await;
    story.check().await;
}

async fn an_empty_batch_is_refused(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let mut empty = story.propose([said(ADA, "nothing")]);
    empty.batch.entries.clear();
    assert!(matches!(story.refuse(&empty).await, StoreError::Invalid(_)));
    let created = story.store.create(world.id(), None, &empty.batch).await;
    assert!(created.is_err(), "a conversation has a first entry");
}

async fn an_item_that_does_not_wait_cannot_be_taken(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let mut proposed = story.propose([said(ADA, "hello")]);
    let seq = proposed.batch.head();
    proposed.batch.taken = vec![Taken { item: ItemNumber(4711), seq }];
    assert!(matches!(story.refuse(&proposed).await, StoreError::ItemGone { .. }));
    story.check().await;
}

async fn a_client_key_is_taken_once(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([said_with_key(ADA, "k", "hello"), answered(ADA, "hi")]).await;
    let again = story.propose([said_with_key(ADA, "k", "hello")]);
    assert!(matches!(story.refuse(&again).await, StoreError::KeyConflict { .. }));
    // A rewind does not give it back.
    story.rewind(Seq(2)).await;
    let again = story.propose([said_with_key(ADA, "k", "hello")]);
    assert!(matches!(story.refuse(&again).await, StoreError::KeyConflict { .. }));
    let twice = story.propose([said_with_key(ADA, "l", "one"), said_with_key(ADA, "l", "one")]);
    assert!(matches!(story.refuse(&twice).await, StoreError::KeyConflict { .. }));
    story.check().await;
}

async fn creating_again_is_no_error_with_the_same_batch_only(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let first = story.batches[0].clone();
    story.store.create(story.id, None, &first).await.unwrap();
    story.turn("hello", "hi").await;
    story.store.create(story.id, None, &first).await.unwrap();
    story.check().await;
    let other = propose(world, &History::new(), [joins(ADA, "eve")]);
    refused!(story.store.create(story.id, None, &other.batch).await, StoreError::Exists(_));
    story.check().await;
}

async fn a_conversation_begins_at_its_beginning(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let later = story.propose([said(ADA, "hello")]).batch;
    let id = world.id();
    refused!(story.store.create(id, None, &later).await, StoreError::Conflict { .. });
    refused!(story.store.conversation(id).await, StoreError::NotFound(_));
    // Nor does a fork begin elsewhere than its base.
    let base = Some((story.id, Seq(1)));
    refused!(story.store.create(id, base, &later).await, StoreError::Conflict { .. });
    let base = Some((story.id, Seq(9)));
    refused!(story.store.create(id, base, &later).await, StoreError::NoEntry { .. });
    let base = Some((world.id(), Seq(2)));
    refused!(story.store.create(id, base, &later).await, StoreError::NotFound(_));
    refused!(story.store.conversation(id).await, StoreError::NotFound(_));
    story.check().await;
}

async fn sums_and_agents_follow_the_history(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.check().await;
    story.turn("hello", "hi").await;
    story.check().await;
    story.append([joins(BOB, "bob"), said(BOB, "and you?")]).await;
    story.check().await;
    assert_eq!(story.store.agents(story.id).await.unwrap().len(), 2);
    // A rewind to before someone joined takes them back.
    story.rewind(Seq(4)).await;
    story.check().await;
    assert_eq!(story.store.agents(story.id).await.unwrap().len(), 1);
    story.reopen().await.check().await;
}

async fn what_is_not_there_is_not_found(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let (store, id) = (story.store.clone(), world.id());
    let batch = story.propose([said(ADA, "hello")]).batch;
    let lease = story.lease().await;
    let lease = threadline_core::store::Lease { conversation: id, ..lease };
    let snapshot = story.history.to_snapshot();
    refused!(store.conversation(id).await, StoreError::NotFound(_));
    refused!(store.agents(id).await, StoreError::NotFound(_));
    refused!(store.append(&lease, &batch).await, StoreError::NotFound(_));
    let page = threadline_core::store::Page::forward(Seq(1), 1);
    refused!(store.read(id, &page).await, StoreError::NotFound(_));
    refused!(store.records(id, &[Seq(1)]).await, StoreError::NotFound(_));
    refused!(store.outline(id, ADA, Seq(1), 1).await, StoreError::NotFound(_));
    refused!(store.outline_ledger(id, Seq(0), 1).await, StoreError::NotFound(_));
    refused!(store.rewinds(id, Seq(0)).await, StoreError::NotFound(_));
    refused!(store.claim(id, 1, Attendance::Attended).await, StoreError::NotFound(_));
    refused!(store.renew(&lease, 1).await, StoreError::NotFound(_));
    refused!(store.enqueue(id, &super::facts::item("k", "x")).await, StoreError::NotFound(_));
    refused!(store.waiting(id, ItemNumber(0), 1).await, StoreError::NotFound(_));
    refused!(store.snapshot(id, Seq(1)).await, StoreError::NotFound(_));
    refused!(store.keep_snapshot(id, &snapshot, false).await, StoreError::NotFound(_));
    if let Some(audit) = store.audit() {
        refused!(audit.index_checksums(id, Seq(0), 1).await, StoreError::NotFound(_));
    }
    refused!(store.begin_intake(id, Seq(1)).await, StoreError::NotFound(_));
}
