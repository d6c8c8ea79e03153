//! Conversations whose driver stays for a while after they came to rest.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use threadline_core::drive::Rest;
use threadline_core::history::fact::{Attachment, Digest, Input};
use threadline_core::id::Seq;
use threadline_core::inbox::{Body, Item, ItemNumber, Mode};
use threadline_core::store::{Attendance, Store as _, StoreError};
use threadline_runtime::{Drive, Pace, Runtime, Stepped};
use tokio::time::Instant;

use crate::house::{House, house, item};

const SCRIPT: &str = "turn else\n say Hello, {input}.";

fn said(key: &str, text: &str) -> Item {
    item(key, Mode::Queue, Body::Input(Input::from_person(text)))
}

/// A house whose conversations are kept at hand for so long while they rest.
async fn lingering(linger_ms: u64) -> House {
    let house = house(SCRIPT).await;
    let world = Arc::clone(house.runtime.world());
    drop(house.runtime);
    let world = Arc::into_inner(world).unwrap();
    let runtime = Runtime::new(world.with_pace(Pace { linger_ms, ..Pace::default() }));
    House { runtime, ..house }
}

async fn waiting(house: &House) -> usize {
    house.store.waiting(house.id, ItemNumber(0), 10).await.unwrap().len()
}

#[tokio::test]
async fn a_second_input_is_taken_by_the_same_driver_and_its_key_is_known() {
    let house = lingering(60_000).await;
    assert_eq!(house.runtime.submit(house.id, &said("k1", "one")).await.unwrap(), None);
    assert_eq!(house.rest().await, Rest::Idle);
    let second = said("k2", "two");
    assert_eq!(house.runtime.submit(house.id, &second).await.unwrap(), None);
    assert_eq!(house.rest().await, Rest::Idle);
    assert_eq!(waiting(&house).await, 0);
    let taken = Some(Seq(6));
    // The same again, to a driver that does not know it and from elsewhere.
    assert_eq!(house.runtime.submit(house.id, &second).await.unwrap(), taken);
    assert_eq!(house.store.enqueue(house.id, &second).await.unwrap().taken(), taken);
    assert_eq!(house.rest().await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: one
    assistant asks scripted/scripted
    assistant: Hello, one.
    user {"client_key":"k2"}: two
    assistant asks scripted/scripted
    assistant: Hello, two.
    "#);
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_in_words_and_the_conversation_goes_on() {
    let house = lingering(60_000).await;
    house.say("k1", "one").await;
    let conflict = house.runtime.submit(house.id, &said("k1", "another")).await;
    assert!(matches!(conflict, Err(StoreError::KeyConflict { .. })), "{conflict:?}");
    let attachment = Attachment {
        digest: Digest::of(b"nowhere"),
        size: 7,
        media_type: "text/plain".into(),
        name: None,
        extent: None,
    };
    let input = Input { attachments: vec![attachment], ..Input::from_person("look") };
    let missing = item("k2", Mode::Queue, Body::Input(input));
    let missing = house.runtime.submit(house.id, &missing).await;
    assert!(matches!(missing, Err(StoreError::NoAttachment(_))), "{missing:?}");
    let long = said(&"k".repeat(300), "long");
    let long = house.runtime.submit(house.id, &long).await;
    assert!(matches!(long, Err(StoreError::TooLarge { .. })), "{long:?}");
    house.say("k3", "three").await;
    // What was prepared for what was refused is not shown instead of what came.
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: one
    assistant asks scripted/scripted
    assistant: Hello, one.
    user {"client_key":"k3"}: three
    assistant asks scripted/scripted
    assistant: Hello, three.
    "#);
}

/// Whoever waits for a rest need not wait until the driver goes home, if there was nothing to do.
#[tokio::test(start_paused = true)]
async fn a_look_that_finds_nothing_is_told_at_once() {
    let linger_ms = 60_000;
    let house = lingering(linger_ms).await;
    house.say("k1", "one").await;
    let before = Instant::now();
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    // One that the inbox refuses.
    let long = said(&"k".repeat(300), "long");
    house.runtime.submit(house.id, &long).await.unwrap_err();
    assert_eq!(house.rest().await, Rest::Idle);
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    // It is still at hand, and goes home in the end.
    assert_eq!(house.runtime.submit(house.id, &said("k2", "two")).await.unwrap(), None);
    assert_eq!(house.rest().await, Rest::Idle);
    tokio::time::sleep(Duration::from_millis(linger_ms + 1_000)).await;
    let lease = house
        .memory
        .another_owner("another".to_owned())
        .claim(house.id, 1_000, Attendance::Attended)
        .await;
    lease.unwrap();
}

/// However drivers come and go, everything that was said is answered once, in its order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_hangs_while_drivers_come_and_go() {
    for linger_ms in [0, 1, 2] {
        let house = lingering(linger_ms).await;
        for n in 0..60 {
            let item = said(&format!("k{n}"), "go");
            let submitted = house.runtime.submit(house.id, &item);
            let within = tokio::time::timeout(Duration::from_secs(20), submitted).await;
            within.expect("it hangs").unwrap();
            if n % 2 == 0 {
                assert_eq!(house.rest().await, Rest::Idle);
            }
            if n % 3 == 0 {
                tokio::time::sleep(Duration::from_micros(900 * (n % 4))).await;
            }
        }
        assert_eq!(house.rest().await, Rest::Idle);
        let story = house.story().await;
        let said = story.lines().filter(|line| line.starts_with("user")).count();
        let answers = story.lines().filter(|line| line.contains("Hello, go.")).count();
        assert_eq!((said, answers), (60, 60));
    }
}

async fn kinds(drive: &mut Drive) -> String {
    let mut appends = String::new();
    while let Stepped::Moved(entries) = drive.step().await.unwrap() {
        let kinds: Vec<&str> = entries.iter().map(|entry| entry.fact.kind()).collect();
        appends += &(kinds.join(" ") + "\n");
    }
    appends
}

#[tokio::test]
async fn a_drive_by_hand_takes_what_is_said_and_steps_tell_of_it() {
    let house = house("turn else\n call pay {}\nthen\n say {results}").await;
    let mut drive = house.runtime.drive(house.id).await.unwrap();
    assert_eq!(drive.submit(&said("k1", "go")).await.unwrap(), None);
    assert_snapshot!(kinds(&mut drive).await, @r"
    input invocation_started
    output tool_started
    tool_finished tool_results invocation_started
    output
    ");
    let cancel = item("k2", Mode::Queue, Body::Cancel);
    assert_eq!(drive.submit(&cancel).await.unwrap(), None);
    assert_snapshot!(kinds(&mut drive).await, @"note");
    let conflict = drive.submit(&said("k1", "another")).await;
    assert!(conflict.unwrap_err().to_string().contains("k1"));
    assert_eq!(drive.submit(&said("k3", "go on")).await.unwrap(), None);
    assert!(kinds(&mut drive).await.ends_with("output\n"));
}
