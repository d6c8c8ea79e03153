//! Two drivers, one conversation; crashes; clocks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use threadline_core::drive::{Limits, Stopped};
use threadline_core::history::fact::{Fact, Input, Status};
use threadline_core::inbox::Body;
use threadline_core::store::{Layer, Layered, Operation, Storage, StoreError};
use threadline_runtime::{DriveError, Settled, Stepped};
use tokio::time::timeout;

use crate::house::{house, runtime};

const SCRIPT: &str = r#"
    turn
      call pay {"do":"slow"}
      call write {"do":"slow"}
    then
      say Done.
"#;

#[tokio::test]
async fn the_second_driver_is_refused_until_the_first_is_done() {
    let house = house(SCRIPT).await;
    let first = house.runtime.drive(house.id).await.unwrap();
    let store: Arc<dyn Storage> = Arc::new(house.memory.another_owner("the second".to_owned()));
    let second = runtime(SCRIPT, &store, &house.clock, &house.effects, Limits::default());
    match second.drive(house.id).await {
        Err(DriveError::Store(StoreError::Held { by, .. })) => assert_eq!(by.owner, "the first"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("two drivers"),
    }
    first.release().await.unwrap();
    second.drive(house.id).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_although_its_time_came_while_nobody_looked() {
    let house = house(SCRIPT).await;
    let mut drive = house.runtime.drive(house.id).await.unwrap();
    drive.run().await.unwrap();
    for _ in 0..3 {
        // It waits; then it is busy elsewhere, and its times come and go.
        assert!(timeout(Duration::from_millis(1), drive.wait()).await.is_err());
        tokio::time::advance(Duration::from_secs(11)).await;
        house.clock.advance_ms(11_000);
    }
    assert!(timeout(Duration::from_secs(1), drive.wait()).await.is_err());
    house.clock.advance_ms(20_000);
    let store: Arc<dyn Storage> = Arc::new(house.memory.another_owner("the second".to_owned()));
    let second = runtime(SCRIPT, &store, &house.clock, &house.effects, Limits::default());
    let refused = second.drive(house.id).await.err();
    assert!(matches!(refused, Some(DriveError::Store(StoreError::Held { .. }))), "{refused:?}");
}

#[tokio::test]
async fn after_a_takeover_the_first_cannot_append_and_nothing_runs_twice() {
    let house = house(SCRIPT).await;
    house
        .store
        .enqueue(
            house.id,
            &crate::house::item(
                "k1",
                threadline_core::inbox::Mode::Queue,
                Body::Input(Input::from_person("go")),
            ),
        )
        .await
        .unwrap();
    let mut first = house.runtime.drive(house.id).await.unwrap();
    // Until both calls are started, and not longer.
    loop {
        let Stepped::Moved(entries) = first.step().await.unwrap() else { panic!("blocked") };
        if entries.iter().any(|entry| matches!(entry.fact, Fact::ToolStarted(_))) {
            break;
        }
    }
    // The first sleeps for longer than its lease, and another goes on.
    house.clock.advance_ms(60_000);
    let store: Arc<dyn Storage> = Arc::new(house.memory.another_owner("the second".to_owned()));
    let second = runtime(SCRIPT, &store, &house.clock, &house.effects, Limits::default());
    let mut drive = second.drive(house.id).await.unwrap();
    drive.run().await.unwrap();
    // What the first still has to say does not count.
    let stopped = loop {
        match first.step().await {
            Ok(Stepped::Moved(_)) => {}
            Ok(Stepped::Blocked(rest)) => panic!("{rest:?}"),
            Err(DriveError::Stopped(stopped)) => break stopped,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(stopped, Stopped::LeaseLost);
    let entries = house.entries().await;
    let statuses: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::ToolFinished(finished) => Some((&*finished.name, finished.status)),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, [("pay", Status::Unknown), ("write", Status::Success)]);
    let done = house.done();
    assert!(done.contains(&("c5.0".to_owned(), 1)), "{done:?}");
    assert!(house.story().await.ends_with("assistant: Done."));
}

#[tokio::test]
async fn a_clock_that_goes_back_an_hour_hurts_nobody() {
    let house = house("turn else\n say Hello.").await;
    house.say("k1", "one").await;
    let now = threadline_core::clock::Clock::now(&*house.clock);
    let earlier = threadline_core::clock::Timestamp::from_micros(now.micros() - 3_600_000_000);
    house.clock.set(earlier);
    house.say("k2", "two").await;
    assert!(house.story().await.ends_with("assistant: Hello."));
    assert_eq!(house.entries().await.len(), 8);
}

#[tokio::test]
async fn a_runtime_that_stops_gives_its_leases_back() {
    let house = house("turn\n say It begins\n hang").await;
    house.submit("k1", Body::Input(Input::from_person("go"))).await;
    house.until("asks").await;
    house.runtime.stop().await;
    let store: Arc<dyn Storage> = Arc::new(house.memory.another_owner("the second".to_owned()));
    let script = "turn\n say Here it is.";
    let second = runtime(script, &store, &house.clock, &house.effects, Limits::default());
    second.drive(house.id).await.unwrap().run().await.unwrap();
    assert!(house.story().await.ends_with("assistant: Here it is."));
}

/// A store whose inbox cannot be read, or panics when it is.
struct NoInbox {
    inner: Arc<dyn Storage>,
    panics: bool,
}

#[async_trait]
impl Layer for NoInbox {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match operation.name {
            "waiting" if self.panics => panic!("as the test has it"),
            "waiting" => Err(StoreError::Full),
            _ => call.await,
        }
    }
}

#[tokio::test]
async fn a_conversation_that_cannot_be_opened_is_released() {
    for panics in [false, true] {
        let house = house(SCRIPT).await;
        let store: Arc<dyn Storage> =
            Arc::new(Layered(NoInbox { inner: Arc::clone(&house.store), panics }));
        let failing = runtime(SCRIPT, &store, &house.clock, &house.effects, Limits::default());
        failing.start(house.id);
        assert!(matches!(failing.settled(house.id).await, Settled::Failed(_)));
        assert_eq!(house.store.holder(house.id).await.unwrap(), None);
        if !panics {
            assert!(failing.drive(house.id).await.is_err());
            assert_eq!(house.store.holder(house.id).await.unwrap(), None);
        }
    }
}
