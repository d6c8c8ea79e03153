//! Leases: for liveness; the fence is the safety.

use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::store::{Attendance, Holder, Lease, StoreError};

use super::facts::{ADA, said};
use super::story::Story;
use super::{Case, World};

cases![
    a_lease_is_held_by_one_owner,
    a_lease_given_back_is_free_and_of_no_use,
    a_lease_ends_with_its_time,
    an_expired_lease_that_nobody_took_still_counts,
    a_lost_lease_is_fenced,
    a_forged_lease_is_fenced,
    the_epoch_rises_with_every_owner,
    releasing_a_lost_lease_harms_nobody,
    a_clock_that_goes_back_hurts_nothing,
    a_lease_outlives_a_restart_or_is_free,
];

const TTL_MS: u64 = 30_000;

async fn a_lease_is_held_by_one_owner(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    assert_eq!(other.holder(story.id).await.unwrap(), None);
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    assert_eq!(lease.conversation, story.id);
    assert_eq!(lease.head, story.history.head());
    assert_eq!(lease.until, world.clock.now().plus_millis(TTL_MS));
    for store in [&other, &story.store] {
        let refused = store.claim(story.id, TTL_MS, Attendance::Attended).await;
        let Err(StoreError::Held { id, by, until }) = refused else {
            unreachable!("expected that it is held: {refused:?}")
        };
        assert_eq!((id, by.owner.as_str(), until), (story.id, "one", lease.until));
        let holder = Holder { owner: "one".to_owned(), until: lease.until };
        assert_eq!(store.holder(story.id).await.unwrap(), Some(holder));
    }
    // Another conversation is free.
    let free = Story::begin(world, &story.store).await;
    other.claim(free.id, TTL_MS, Attendance::Attended).await.unwrap();
}

async fn a_lease_given_back_is_free_and_of_no_use(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    story.store.release(&lease).await.unwrap();
    assert_eq!(story.store.holder(story.id).await.unwrap(), None);
    let batch = story.propose([said(ADA, "hello")]).batch;
    refused!(story.store.append(&lease, &batch).await, StoreError::Fenced(_));
    refused!(story.store.renew(&lease, TTL_MS).await, StoreError::Fenced(_));
    let other = world.rig.open("two").await;
    let theirs = other.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    other.release(&theirs).await.unwrap();
    story.turn("hello", "hi").await;
    story.check().await;
}

async fn a_lease_ends_with_its_time(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    world.clock.advance_ms(TTL_MS - 1);
    refused!(other.claim(story.id, TTL_MS, Attendance::Attended).await, StoreError::Held { .. });
    let renewed = story.store.renew(&lease, TTL_MS).await.unwrap();
    assert_eq!((renewed.epoch, renewed.claim), (lease.epoch, lease.claim));
    assert_eq!(renewed.until, world.clock.now().plus_millis(TTL_MS));
    world.clock.advance_ms(TTL_MS - 1);
    refused!(other.claim(story.id, TTL_MS, Attendance::Attended).await, StoreError::Held { .. });
    world.clock.advance_ms(1);
    other.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
}

async fn an_expired_lease_that_nobody_took_still_counts(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    world.clock.advance_ms(10 * TTL_MS);
    let batch = story.propose([said(ADA, "late but alone")]).batch;
    story.store.append(&lease, &batch).await.unwrap();
    let renewed = story.store.renew(&lease, TTL_MS).await.unwrap();
    let other = world.rig.open("two").await;
    refused!(other.claim(story.id, TTL_MS, Attendance::Attended).await, StoreError::Held { .. });
    assert_eq!(renewed.epoch, lease.epoch);
}

async fn a_lost_lease_is_fenced(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let stale = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    world.clock.advance_ms(TTL_MS);
    let lease = other.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    let (mine, theirs) = (story.propose([said(ADA, "mine")]), story.propose([said(ADA, "theirs")]));
    refused!(story.store.append(&stale, &mine.batch).await, StoreError::Fenced(_));
    refused!(story.store.renew(&stale, TTL_MS).await, StoreError::Fenced(_));
    other.append(&lease, &theirs.batch).await.unwrap();
    refused!(story.store.append(&stale, &mine.batch).await, StoreError::Fenced(_));
    // Not even when the new owner is gone.
    other.release(&lease).await.unwrap();
    refused!(story.store.append(&stale, &mine.batch).await, StoreError::Fenced(_));
    let known = story.store.conversation(story.id).await.unwrap();
    assert_eq!(known.head_hash, theirs.batch.head_hash());
}

async fn a_forged_lease_is_fenced(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    let batch = story.propose([said(ADA, "hello")]).batch;
    let forged = [
        Lease { claim: [7; 16], ..lease.clone() },
        Lease { epoch: lease.epoch + 1, ..lease.clone() },
        Lease { epoch: lease.epoch - 1, ..lease.clone() },
    ];
    for forged in &forged {
        refused!(story.store.append(forged, &batch).await, StoreError::Fenced(_));
        refused!(story.store.renew(forged, TTL_MS).await, StoreError::Fenced(_));
        story.store.release(forged).await.unwrap();
    }
    story.store.append(&lease, &batch).await.unwrap();
}

async fn the_epoch_rises_with_every_owner(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let mut last: Option<Lease> = None;
    for round in 0..6 {
        let store = if round % 2 == 0 { &story.store } else { &other };
        let lease = store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
        if let Some(last) = &last {
            assert!(lease.epoch > last.epoch);
            assert_ne!(lease.claim, last.claim);
        }
        match round % 3 {
            0 => store.release(&lease).await.unwrap(),
            _ => world.clock.advance_ms(TTL_MS),
        }
        last = Some(lease);
    }
}

async fn releasing_a_lost_lease_harms_nobody(world: &World) {
    let story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let stale = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    world.clock.advance_ms(TTL_MS);
    let lease = other.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    story.store.release(&stale).await.unwrap();
    refused!(
        story.store.claim(story.id, TTL_MS, Attendance::Attended).await,
        StoreError::Held { .. }
    );
    let batch = story.propose([said(ADA, "hello")]).batch;
    other.append(&lease, &batch).await.unwrap();
}

async fn a_clock_that_goes_back_hurts_nothing(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let other = world.rig.open("two").await;
    let lease = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    let mut history = story.history.clone();
    for micros in [0, -1_000_000_000_000, 1_000_000_000_000_000] {
        world.clock.set(Timestamp::from_micros(micros));
        let proposed = super::story::propose(world, &history, [said(ADA, "whenever")]);
        story.store.append(&lease, &proposed.batch).await.unwrap();
        history = proposed.history;
        refused!(
            other.claim(story.id, TTL_MS, Attendance::Attended).await,
            StoreError::Held { .. }
        );
        story.batches.push(proposed.batch);
    }
    let renewed = story.store.renew(&lease, TTL_MS).await.unwrap();
    world.clock.advance_ms(TTL_MS);
    let theirs = other.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    assert!(theirs.epoch > renewed.epoch);
    story.history = history;
    story.check().await;
}

async fn a_lease_outlives_a_restart_or_is_free(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let stale = story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
    story.store = world.reopen(story.store).await;
    // A store that knows that the owner died gives it to the next at once.
    match story.store.claim(story.id, TTL_MS, Attendance::Attended).await {
        Ok(lease) => {
            assert!(lease.epoch > stale.epoch);
            let batch = story.propose([said(ADA, "hello")]).batch;
            refused!(story.store.append(&stale, &batch).await, StoreError::Fenced(_));
        }
        Err(StoreError::Held { .. }) => {
            world.clock.advance_ms(TTL_MS);
            story.store.claim(story.id, TTL_MS, Attendance::Attended).await.unwrap();
        }
        Err(error) => unreachable!("expected a lease or that it is held: {error:?}"),
    }
}
