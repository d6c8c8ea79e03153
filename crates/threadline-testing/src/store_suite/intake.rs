//! Taking in what was exported elsewhere: unseen until it is adopted.

use std::sync::Arc;

use threadline_core::history::Proposal;
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{Attachment, Digest, Input};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::store::{
    self, Attendance, DueFilter, Filter, Listing, Origin, Query, Sort, StageId, Storage, StoreError,
};

use super::facts::{ADA, Words, answered, item, said, said_with_key, timer};
use super::story::{LONG_MS, Story};
use super::{Case, World};

cases![
    a_whole_conversation_is_taken_in,
    nothing_is_seen_before_it_is_adopted,
    nothing_remains_of_what_is_discarded,
    nothing_remains_of_what_a_dead_process_staged,
    what_follows_is_taken_in,
    batches_follow_each_other,
    an_intake_of_what_is_there_is_refused,
    a_conversation_that_changed_is_not_adopted,
    a_copy_settles_what_is_open_and_is_then_its_own,
    a_copy_does_nothing_by_itself,
    client_keys_are_known_afterwards,
    waiting_items_come_along,
    items_that_conflict_refuse_the_whole,
    an_imported_fork_knows_where_it_came_from,
    staged_records_can_be_read,
    staged_snapshots_are_kept,
];

/// A story in a store of its own, for another one to take in: the second tenant's, or as if.
pub(super) async fn elsewhere(world: &World) -> Story<'_> {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("needle one", "yes").await;
    let at = story.turn("needle two", "yes").await;
    story.turn("needle three", "no").await;
    story.rewind(at).await;
    story.turn("needle four", "yes").await;
    story
}

/// Stages batches under an id.
pub(super) async fn stage(
    store: &Arc<dyn Storage>,
    id: ConversationId,
    base: Seq,
    batches: &[Batch],
) -> StageId {
    let stage = store.begin_intake(id, base).await.unwrap();
    for batch in batches {
        store.stage(stage, batch, None).await.unwrap();
    }
    stage
}

async fn taken_in<'w>(story: &Story<'w>, origin: Origin, waiting: &[Item]) -> Story<'w> {
    let id = story.world.id();
    let stage = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.adopt(stage, origin, false, waiting).await.unwrap();
    story.told_as(id)
}

async fn is_unseen(store: &Arc<dyn Storage>, id: ConversationId, others: usize) {
    refused!(store.conversation(id).await, StoreError::NotFound(_));
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 99 };
    assert!(store.list(&listing).await.unwrap().iter().all(|known| known.id != id));
    let query =
        Query { text: "needle".to_owned(), conversation: None, agent: None, after: None, most: 99 };
    assert_eq!(store.search(&query).await.unwrap().len(), others);
}

async fn a_whole_conversation_is_taken_in(world: &World) {
    let story = elsewhere(world).await;
    let mut copy = taken_in(&story, Origin::Own, &[]).await;
    copy.check().await;
    let (theirs, mine) = (
        story.store.conversation(story.id).await.unwrap(),
        copy.store.conversation(copy.id).await.unwrap(),
    );
    let renamed = store::Conversation { id: copy.id, ..theirs };
    assert_eq!(mine, renamed);
    assert_eq!(copy.records(3).await, story.records(5).await);
    let rows = |id| story.store.outline_ledger(id, Seq::ZERO, 99);
    assert_eq!(rows(copy.id).await.unwrap(), rows(story.id).await.unwrap());
    copy.turn("it goes on here", "yes").await;
    copy.check().await;
    story.check().await;
    copy.reopen().await.check().await;
}

async fn nothing_is_seen_before_it_is_adopted(world: &World) {
    let story = elsewhere(world).await;
    let id = world.id();
    let stage = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    is_unseen(&story.store, id, 4).await;
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    story.told_as(id).check().await;
}

async fn nothing_remains_of_what_is_discarded(world: &World) {
    let story = elsewhere(world).await;
    let id = world.id();
    let first = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.discard(first).await.unwrap();
    is_unseen(&story.store, id, 4).await;
    refused!(story.store.stage(first, &story.batches[0], None).await, StoreError::Invalid(_));
    refused!(story.store.adopt(first, Origin::Own, false, &[]).await, StoreError::Invalid(_));
    // It can be begun anew.
    let second = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.adopt(second, Origin::Own, false, &[]).await.unwrap();
    story.told_as(id).check().await;
    refused!(story.store.adopt(second, Origin::Own, false, &[]).await, StoreError::Invalid(_));
}

async fn nothing_remains_of_what_a_dead_process_staged(world: &World) {
    let story = elsewhere(world).await;
    let id = world.id();
    let left = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    let story = story.reopen().await;
    refused!(story.store.adopt(left, Origin::Own, false, &[]).await, StoreError::Invalid(_));
    is_unseen(&story.store, id, 4).await;
    story.check().await;
    let again = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.adopt(again, Origin::Own, false, &[]).await.unwrap();
    story.told_as(id).check().await;
}

async fn what_follows_is_taken_in(world: &World) {
    let mut story = elsewhere(world).await;
    let copy = taken_in(&story, Origin::Copy, &[]).await;
    let here = story.history.head();
    story.turn("needle five", "yes").await;
    story.rewind(Seq(4)).await;
    let news = &story.batches[story.batches.len() - 2..];
    let stage = stage(&story.store, copy.id, here, news).await;
    let before = story.store.conversation(copy.id).await.unwrap();
    assert_eq!(before.head, here);
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let mut copy = story.told_as(copy.id);
    copy.check().await;
    copy.turn("needle six", "yes").await;
    copy.check().await;
    let query = Query {
        text: "needle".to_owned(),
        conversation: Some(copy.id),
        agent: None,
        after: None,
        most: 99,
    };
    assert_eq!(story.store.search(&query).await.unwrap().len(), 6);
    copy.reopen().await.check().await;
}

async fn batches_follow_each_other(world: &World) {
    let story = elsewhere(world).await;
    let stage = story.store.begin_intake(world.id(), Seq::ZERO).await.unwrap();
    let refused = story.store.stage(stage, &story.batches[1], None).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    story.store.stage(stage, &story.batches[0], None).await.unwrap();
    refused!(story.store.stage(stage, &story.batches[2], None).await, StoreError::Conflict { .. });
    let mut forged = story.batches[1].clone();
    forged.base_hash = Digest::of(b"another entry");
    refused!(story.store.stage(stage, &forged, None).await, StoreError::Conflict { .. });
    let digest = Digest::of(b"not here");
    let attachment =
        Attachment { digest, size: 8, media_type: "text/plain".into(), name: None, extent: None };
    let input = Input { attachments: vec![attachment], ..Input::from_person("look") };
    let mut other = Story::begin(world, &story.store).await;
    other.history = story.fold().await[2].clone();
    let missing = other.propose([(ADA, input.into())]).batch;
    refused!(story.store.stage(stage, &missing, None).await, StoreError::NoAttachment(_));
    refused!(
        story.store.stage(StageId(u64::MAX >> 2), &story.batches[0], None).await,
        StoreError::Invalid(_)
    );
}

async fn an_intake_of_what_is_there_is_refused(world: &World) {
    let story = elsewhere(world).await;
    let begin = |base| story.store.begin_intake(story.id, base);
    refused!(begin(Seq::ZERO).await, StoreError::Exists(_));
    refused!(begin(Seq(3)).await, StoreError::Conflict { .. });
    refused!(begin(Seq(99)).await, StoreError::NoEntry { .. });
    let empty = story.store.begin_intake(world.id(), Seq::ZERO).await.unwrap();
    refused!(story.store.adopt(empty, Origin::Own, false, &[]).await, StoreError::Invalid(_));
    story.check().await;
}

async fn a_conversation_that_changed_is_not_adopted(world: &World) {
    let mut story = elsewhere(world).await;
    // It went on while it was taken in.
    let mut copy = taken_in(&story, Origin::Own, &[]).await;
    let here = story.history.head();
    story.turn("there", "yes").await;
    let late = stage(&story.store, copy.id, here, &story.batches[story.batches.len() - 1..]).await;
    copy.turn("here", "yes").await;
    refused!(story.store.adopt(late, Origin::Own, false, &[]).await, StoreError::Conflict { .. });
    copy.check().await;
    // It came to be while it was taken in, and only one of two is adopted.
    let id = world.id();
    let one = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    let two = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    story.store.adopt(two, Origin::Own, false, &[]).await.unwrap();
    refused!(story.store.adopt(one, Origin::Own, false, &[]).await, StoreError::Conflict { .. });
    story.store.discard(one).await.unwrap();
    story.told_as(id).check().await;
}

async fn a_copy_settles_what_is_open_and_is_then_its_own(world: &World) {
    let mut story = elsewhere(world).await;
    story.append([said(ADA, "unfinished")]).await;
    let copy = taken_in(&story, Origin::Copy, &[]).await;
    let (known, history) = store::open(&*copy.store, copy.id, &Words).await.unwrap();
    assert_eq!(known.origin, Origin::Copy);
    assert!(history.is_copy());
    world.clock.advance_ms(1000);
    let (agent, fact) = said(ADA, "go on");
    let proposal = Proposal::new(agent, fact, &Words);
    let proposed = history.propose([proposal], world.stamp()).unwrap();
    assert_eq!(proposed.batch.entries.len(), 2, "the open turn ends first");
    let lease = copy.store.claim(copy.id, LONG_MS, Attendance::Attended).await.unwrap();
    copy.store.append(&lease, &proposed.batch).await.unwrap();
    let (known, history) = store::open(&*copy.store, copy.id, &Words).await.unwrap();
    assert_eq!(known.origin, Origin::Own);
    assert_eq!(history, proposed.history);
    let own = taken_in(&story, Origin::Own, &[]).await;
    assert_eq!(own.store.conversation(own.id).await.unwrap().origin, Origin::Own);
}

async fn a_copy_does_nothing_by_itself(world: &World) {
    let mut story = elsewhere(world).await;
    let when = threadline_core::clock::Clock::now(&*world.clock).plus_millis(60_000);
    story.append([timer(ADA, when), said(ADA, "unfinished")]).await;
    let copy = taken_in(&story, Origin::Copy, &[]).await;
    world.clock.set(when.plus_millis(LONG_MS));
    let claimed = story.store.claim_due(9, LONG_MS, &DueFilter::default()).await.unwrap();
    let claimed: Vec<ConversationId> = claimed.into_iter().map(|l| l.conversation).collect();
    assert_eq!(claimed, [story.id], "the original is due, its copy is not");
    copy.store.enqueue(copy.id, &item("k", "hello")).await.unwrap();
    let claimed = copy.store.claim_due(9, LONG_MS, &DueFilter::default()).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].conversation, copy.id);
    // Once it is its own, its timers count.
    let batch = copy.propose([answered(ADA, "done")]).batch;
    copy.store.append(&claimed[0], &batch).await.unwrap();
    copy.store.release(&claimed[0]).await.unwrap();
    assert_eq!(copy.store.claim_due(9, LONG_MS, &DueFilter::default()).await.unwrap().len(), 1);
}

async fn client_keys_are_known_afterwards(world: &World) {
    let mut story = elsewhere(world).await;
    let seq = story.append([said_with_key(ADA, "k", "hello"), answered(ADA, "hi")]).await;
    let mut copy = taken_in(&story, Origin::Own, &[]).await;
    let answer = copy.store.enqueue(copy.id, &item("k", "hello")).await.unwrap();
    assert_eq!(answer.taken(), Some(seq.before()));
    refused!(
        copy.store.enqueue(copy.id, &item("k", "other")).await,
        StoreError::KeyConflict { .. }
    );
    let again = copy.propose([said_with_key(ADA, "k", "hello")]);
    assert!(matches!(copy.refuse(&again).await, StoreError::KeyConflict { .. }));
    // What follows may bring an input that waits here.
    let here = copy.history.head();
    copy.store.enqueue(copy.id, &item("later", "hello again")).await.unwrap();
    story.append([said_with_key(ADA, "later", "hello again"), answered(ADA, "hi")]).await;
    let news = &story.batches[story.batches.len() - 1..];
    let stage = stage(&story.store, copy.id, here, news).await;
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let waiting = copy.store.waiting(copy.id, ItemNumber(0), 9).await.unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
    let answer = copy.store.enqueue(copy.id, &item("later", "hello again")).await.unwrap();
    assert_eq!(answer.taken(), Some(here.next()));
}

async fn waiting_items_come_along(world: &World) {
    let mut story = elsewhere(world).await;
    story.append([said_with_key(ADA, "said", "hello"), answered(ADA, "hi")]).await;
    let items = [item("a", "first"), item("b", "second"), item("said", "hello")];
    let copy = taken_in(&story, Origin::Own, &items).await;
    let waiting = copy.store.waiting(copy.id, ItemNumber(0), 9).await.unwrap();
    let waiting: Vec<Item> = waiting.into_iter().map(|(_, item)| item).collect();
    assert_eq!(waiting, items[..2], "what was said before does not wait");
    let claimed = copy.store.claim_due(9, LONG_MS, &DueFilter::default()).await.unwrap();
    assert_eq!(claimed.len(), 1);
    // The items that a batch took are those of the other store.
    let queued = story.store.enqueue(story.id, &item("taken", "there")).await.unwrap();
    let (agent, fact) = said_with_key(ADA, "taken", "there");
    let taking = Proposal { takes: Some(queued.number), ..Proposal::new(agent, fact, &Words) };
    let proposed = story.history.propose([taking], world.stamp()).unwrap();
    story.take(proposed).await;
    let other = taken_in(&story, Origin::Own, &[]).await;
    other.check().await;
}

async fn items_that_conflict_refuse_the_whole(world: &World) {
    let mut story = elsewhere(world).await;
    story.append([said_with_key(ADA, "said", "hello"), answered(ADA, "hi")]).await;
    let id = world.id();
    let stage = stage(&story.store, id, Seq::ZERO, &story.batches).await;
    let items = [item("a", "first"), item("said", "something else")];
    refused!(
        story.store.adopt(stage, Origin::Own, false, &items).await,
        StoreError::KeyConflict { .. }
    );
    is_unseen(&story.store, id, 4).await;
    story.store.adopt(stage, Origin::Own, false, &items[..1]).await.unwrap();
    story.told_as(id).check().await;
}

async fn an_imported_fork_knows_where_it_came_from(world: &World) {
    let parent = elsewhere(world).await;
    let mut fork = parent.fork(Seq(4)).await;
    fork.turn("mine", "yes").await;
    let mut batches = parent.batches[..2].to_vec();
    batches.extend(fork.batches.iter().cloned());
    let id = world.id();
    let stage = stage(&fork.store, id, Seq::ZERO, &batches).await;
    fork.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let copy = fork.told_as(id);
    copy.check().await;
    let known = copy.store.conversation(id).await.unwrap();
    let theirs = fork.store.conversation(fork.id).await.unwrap();
    assert_eq!(known.forked_from, Some((parent.id, Seq(4))));
    assert_eq!(known, store::Conversation { id, ..theirs });
}

async fn staged_records_can_be_read(world: &World) {
    let story = elsewhere(world).await;
    let all = story.records(99).await;
    let stage = stage(&story.store, world.id(), Seq::ZERO, &story.batches).await;
    let staged = async |from, most| story.store.staged(stage, Seq(from), most).await.unwrap();
    assert_eq!(staged(1, 99).await, all);
    assert_eq!(staged(3, 2).await, all[2..4]);
    assert!(staged(99, 9).await.is_empty());
    story.store.discard(stage).await.unwrap();
    refused!(story.store.staged(stage, Seq(1), 1).await, StoreError::Invalid(_));
}

async fn staged_snapshots_are_kept(world: &World) {
    let story = elsewhere(world).await;
    let id = world.id();
    let stage = story.store.begin_intake(id, Seq::ZERO).await.unwrap();
    let histories = story.fold().await;
    for batch in &story.batches {
        let history = &histories[usize::try_from(batch.head().0).unwrap()];
        let snapshot = (batch.head() == Seq(4)).then(|| history.to_snapshot());
        story.store.stage(stage, batch, snapshot.as_ref()).await.unwrap();
    }
    story.store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let copy = story.told_as(id);
    let kept = copy.store.snapshot(id, Seq(99)).await.unwrap();
    assert_eq!(kept, Some(histories[4].to_snapshot()));
    let temporary = copy.history.to_snapshot();
    copy.store.keep_snapshot(id, &temporary, false).await.unwrap();
    assert_eq!(copy.store.snapshot(id, Seq(5)).await.unwrap(), kept);
    copy.check().await;
}
