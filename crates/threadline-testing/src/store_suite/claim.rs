//! Claiming what is due: timers, items, turns that can go on.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::batch::State;
use threadline_core::history::fact::{Answer, ApprovalAsked, Digest};
use threadline_core::id::{CallId, ConversationId, Seq};
use threadline_core::inbox::Item;
use threadline_core::store::{
    Attendance, DueFilter, Hold, Lease, Origin, PARK_AFTER_DEATHS, Storage, StoreError,
};

use super::facts::{ADA, answered, called, item, said, timer};
use super::story::Story;
use super::{Case, World};

cases![
    nothing_is_due_at_rest,
    a_turn_that_can_go_on_is_due,
    a_timer_is_due_when_its_time_comes,
    a_question_is_due_when_it_expires,
    an_item_is_due_at_once_or_when_its_time_comes,
    the_longest_due_comes_first,
    what_is_held_is_not_claimed,
    a_claim_is_a_lease,
    no_more_are_claimed_than_asked_for,
    what_is_on_hold_is_never_due,
    three_deaths_at_the_same_entry_park_a_conversation,
    deaths_elsewhere_and_attended_ones_do_not_count,
    work_of_a_clock_that_was_ahead_is_found,
];

const TTL_MS: u64 = 30_000;

/// What is due now, in order. All of it is given back.
async fn due(store: &Arc<dyn Storage>) -> Vec<ConversationId> {
    let leases = store.claim_due(100, TTL_MS, &DueFilter::default()).await.unwrap();
    for lease in &leases {
        store.release(lease).await.unwrap();
    }
    let claimed: Vec<_> = leases.into_iter().map(|lease| lease.conversation).collect();
    // What died too often is parked by the claim, and not due any more.
    let due = store.due(100).await.unwrap();
    assert_eq!(claimed, due, "what is due is what is claimed");
    assert_eq!(store.due(1).await.unwrap(), due[..due.len().min(1)]);
    claimed
}

async fn rested<'w>(world: &'w World, store: &Arc<dyn Storage>) -> Story<'w> {
    let mut story = Story::begin(world, store).await;
    story.turn("hello", "hi").await;
    story.rest().await;
    story
}

fn in_ms(world: &World, millis: u64) -> Timestamp {
    world.clock.now().plus_millis(millis)
}

async fn nothing_is_due_at_rest(world: &World) {
    let store = world.open().await;
    let story = rested(world, &store).await;
    assert_eq!(story.history.sums().state, State::Resting);
    world.clock.advance_ms(1_000_000);
    assert_eq!(due(&store).await, []);
}

async fn a_turn_that_can_go_on_is_due(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    story.append([said(ADA, "and now?")]).await;
    story.rest().await;
    assert_eq!(due(&store).await, [story.id]);
    story.append([answered(ADA, "nothing")]).await;
    story.rest().await;
    assert_eq!(due(&store).await, []);
}

async fn a_timer_is_due_when_its_time_comes(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    let when = in_ms(world, 60_000);
    let set = story.append([timer(ADA, when)]).await;
    story.rest().await;
    assert_eq!(due(&store).await, []);
    world.clock.set(when);
    assert_eq!(due(&store).await, [story.id]);
    // It stays due until it is taken back, also after a restart.
    let mut story = story.reopen().await;
    let store = Arc::clone(&story.store);
    assert_eq!(due(&store).await, [story.id]);
    story.rewind(set.before()).await;
    story.rest().await;
    assert_eq!(due(&store).await, []);
}

async fn a_question_is_due_when_it_expires(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    let output = story.append([said(ADA, "do it"), called(ADA, &["shell"])]).await;
    let until = in_ms(world, 60_000);
    let asked = ApprovalAsked {
        call: CallId::new(output, 0),
        digest: Digest::of(b"{}"),
        until,
        default: Answer::Deny,
    };
    story.append([(ADA, asked.into())]).await;
    story.rest().await;
    assert_eq!(story.history.sums().state, State::Waiting);
    assert_eq!(due(&store).await, []);
    world.clock.set(until);
    assert_eq!(due(&store).await, [story.id]);
}

async fn an_item_is_due_at_once_or_when_its_time_comes(world: &World) {
    let store = world.open().await;
    let (now, later) = (rested(world, &store).await, rested(world, &store).await);
    let when = in_ms(world, 60_000);
    store.enqueue(now.id, &item("k", "hello")).await.unwrap();
    store.enqueue(later.id, &Item { due: Some(when), ..item("k", "hello") }).await.unwrap();
    assert_eq!(due(&store).await, [now.id]);
    world.clock.set(when);
    assert_eq!(due(&store).await, [now.id, later.id]);
    // Taken, it is due no more.
    let mut now = now;
    now.append([super::facts::said_with_key(ADA, "k", "hello"), answered(ADA, "hi")]).await;
    now.rest().await;
    assert_eq!(due(&store).await, [later.id]);
}

async fn the_longest_due_comes_first(world: &World) {
    let store = world.open().await;
    let mut stories = Vec::new();
    for _ in 0..5 {
        stories.push(rested(world, &store).await);
    }
    let at = |millis| in_ms(world, millis);
    let (first, second, third) = (at(10_000), at(20_000), at(30_000));
    store.enqueue(stories[3].id, &Item { due: Some(third), ..item("a", "x") }).await.unwrap();
    stories[1].append([timer(ADA, second)]).await;
    stories[1].rest().await;
    store.enqueue(stories[4].id, &Item { due: Some(first), ..item("b", "x") }).await.unwrap();
    // The earliest of several counts.
    store.enqueue(stories[4].id, &Item { due: Some(at(90_000)), ..item("c", "x") }).await.unwrap();
    world.clock.set(at(40_000));
    store.enqueue(stories[0].id, &item("d", "now")).await.unwrap();
    stories[2].append([said(ADA, "a turn that can go on")]).await;
    stories[2].rest().await;
    // An item without a time counts from the last entry before it.
    let expected = [0, 4, 1, 3, 2].map(|n: usize| stories[n].id);
    assert_eq!(due(&store).await, expected);
}

async fn what_is_held_is_not_claimed(world: &World) {
    let store = world.open().await;
    let other = world.rig.open("two").await;
    let mut story = rested(world, &store).await;
    story.append([said(ADA, "go on")]).await;
    story.rest().await;
    let lease = store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    assert_eq!(due(&other).await, []);
    assert_eq!(due(&store).await, []);
    world.clock.advance_ms(TTL_MS);
    let claimed = other.claim_due(9, TTL_MS, &DueFilter::default()).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(claimed[0].epoch > lease.epoch);
    assert!(store.claim_due(9, TTL_MS, &DueFilter::default()).await.unwrap().is_empty());
}

async fn a_claim_is_a_lease(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    story.append([said(ADA, "go on")]).await;
    story.rest().await;
    let claimed = store.claim_due(9, TTL_MS, &DueFilter::default()).await.unwrap();
    let [lease] = &claimed[..] else { unreachable!("expected one: {claimed:?}") };
    let Lease { conversation, head, until, .. } = lease;
    assert_eq!((*conversation, *head), (story.id, story.history.head()));
    assert_eq!(*until, world.clock.now().plus_millis(TTL_MS));
    let proposed = story.propose([answered(ADA, "done")]);
    store.append(lease, &proposed.batch).await.unwrap();
    store.release(lease).await.unwrap();
}

async fn no_more_are_claimed_than_asked_for(world: &World) {
    let store = world.open().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut story = rested(world, &store).await;
        story.append([said(ADA, "go on")]).await;
        story.rest().await;
        ids.push(story.id);
    }
    assert!(store.claim_due(0, TTL_MS, &DueFilter::default()).await.unwrap().is_empty());
    let mut claimed = Vec::new();
    for expected in [2, 2, 1, 0] {
        let leases = store.claim_due(2, TTL_MS, &DueFilter::default()).await.unwrap();
        assert_eq!(leases.len(), expected);
        claimed.extend(leases.into_iter().map(|lease| lease.conversation));
    }
    assert_eq!(claimed, ids);
}

/// A conversation that was imported and is held, with a turn that could go on.
async fn held(world: &World, store: &Arc<dyn Storage>) -> ConversationId {
    let mut source = rested(world, store).await;
    source.append([said(ADA, "go on")]).await;
    source.rest().await;
    let id = world.id();
    let stage = store.begin_intake(id, Seq::ZERO).await.unwrap();
    for batch in &source.batches {
        store.stage(stage, batch, None).await.unwrap();
    }
    store.adopt(stage, Origin::Own, true, &[item("k", "hello")]).await.unwrap();
    id
}

async fn what_is_on_hold_is_never_due(world: &World) {
    let store = world.open().await;
    let id = held(world, &store).await;
    let on_hold = |error| match error {
        Err(StoreError::OnHold { hold, .. }) => hold,
        other => unreachable!("expected a hold: {other:?}"),
    };
    assert_eq!(store.conversation(id).await.unwrap().hold, Some(Hold::Imported));
    assert!(!due(&store).await.contains(&id));
    assert_eq!(on_hold(store.claim(id, TTL_MS, Attendance::Unattended).await), Hold::Imported);
    // A change of the conversation does not lift it, a person who resumes it does.
    let lease = store.claim(id, TTL_MS, Attendance::Attended).await.unwrap();
    store.release(&lease).await.unwrap();
    assert!(!due(&store).await.contains(&id));
    store.lift_hold(id).await.unwrap();
    assert_eq!(store.conversation(id).await.unwrap().hold, None);
    assert!(due(&store).await.contains(&id));
    let lease = store.claim(id, TTL_MS, Attendance::Unattended).await.unwrap();
    store.release(&lease).await.unwrap();
}

/// An unattended driver takes the lease and is never heard of again.
async fn dies(world: &World, store: &Arc<dyn Storage>, id: ConversationId) {
    store.claim(id, TTL_MS, Attendance::Unattended).await.unwrap();
    world.clock.advance_ms(TTL_MS);
}

async fn three_deaths_at_the_same_entry_park_a_conversation(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    story.append([said(ADA, "go on")]).await;
    story.rest().await;
    for _ in 0..PARK_AFTER_DEATHS {
        dies(world, &store, story.id).await;
    }
    assert_eq!(due(&store).await, []);
    let parked = Some(Hold::Parked { deaths: PARK_AFTER_DEATHS });
    assert_eq!(store.conversation(story.id).await.unwrap().hold, parked);
    assert!(matches!(
        store.claim(story.id, TTL_MS, Attendance::Unattended).await,
        Err(StoreError::OnHold { .. })
    ));
    // A person can always try again.
    let lease = store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    store.release(&lease).await.unwrap();
    store.lift_hold(story.id).await.unwrap();
    assert_eq!(due(&store).await, [story.id]);
}

async fn deaths_elsewhere_and_attended_ones_do_not_count(world: &World) {
    let store = world.open().await;
    let mut story = rested(world, &store).await;
    story.append([said(ADA, "go on")]).await;
    story.rest().await;
    for _ in 0..2 {
        dies(world, &store, story.id).await;
    }
    // What a person drives may be killed by the person.
    for _ in 0..PARK_AFTER_DEATHS {
        store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
        world.clock.advance_ms(TTL_MS);
    }
    assert_eq!(due(&store).await, [story.id]);
    // One that gave its lease back did not die, and one that appended got further.
    let lease = store.claim(story.id, TTL_MS, Attendance::Unattended).await.unwrap();
    let proposed = story.propose([answered(ADA, "done"), said(ADA, "and on")]);
    store.append(&lease, &proposed.batch).await.unwrap();
    world.clock.advance_ms(TTL_MS);
    for _ in 0..PARK_AFTER_DEATHS - 1 {
        dies(world, &store, story.id).await;
    }
    assert_eq!(due(&store).await, [story.id]);
}

async fn work_of_a_clock_that_was_ahead_is_found(world: &World) {
    let store = world.open().await;
    let now = world.clock.now();
    let (queued, mut story) = (rested(world, &store).await, rested(world, &store).await);
    let mut timed = rested(world, &store).await;
    world.clock.advance_ms(86_400_000);
    store.enqueue(queued.id, &item("k", "hello")).await.unwrap();
    story.append([said(ADA, "go on")]).await;
    story.rest().await;
    let when = world.clock.now();
    timed.append([timer(ADA, when)]).await;
    timed.rest().await;
    world.clock.set(now);
    let found: BTreeSet<ConversationId> = due(&store).await.into_iter().collect();
    assert_eq!(found, [queued.id, story.id, timed.id].into_iter().collect());
}
