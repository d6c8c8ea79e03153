//! What providers do wrong: each failure is on record, is tried again where that may help, and
//! ends the turn in words where it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::{Fact, FailureKind, Input};
use threadline_core::inbox::Body;
use threadline_core::provider::{DeltaStream, Models, Provider, Request, Target};
use threadline_providers::models::StaticModels;
use threadline_providers::scripted::Scripted;
use threadline_runtime::Settled;

use crate::house::{House, assistant, house, house_of};

async fn failures(house: &House) -> Vec<(FailureKind, bool)> {
    let facts = house.entries().await.into_iter().map(|entry| entry.fact);
    let failed = facts.filter_map(|fact| match fact {
        Fact::InvocationFailed(failed) => Some((failed.kind, failed.retry)),
        _ => None,
    });
    failed.collect()
}

async fn last_line(house: &House) -> String {
    house.story().await.lines().last().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_asked_again() {
    for (fault, kind) in [
        ("fail busy", FailureKind::Busy),
        ("fail busy after 2000 slow down", FailureKind::Busy),
        ("fail unreachable", FailureKind::Unreachable),
        ("fail protocol", FailureKind::Protocol),
        ("say half\n ends", FailureKind::Protocol),
        ("garbage", FailureKind::Protocol),
        ("huge 10000000", FailureKind::Protocol),
    ] {
        let house = house(&format!("turn\n {fault}\nagain\n {fault}\nagain\n say At last.")).await;
        house.say("k1", "hi").await;
        assert_eq!(failures(&house).await, [(kind, true), (kind, true)], "{fault}");
        assert_eq!(last_line(&house).await, "assistant: At last.", "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_five_attempts_the_turn_ends() {
    let house = house("turn\n fail busy\nturn else\n say Back again.").await;
    house.say("k1", "hi").await;
    assert_eq!(failures(&house).await.len(), 5);
    assert_snapshot!(last_line(&house).await, @"assistant ends failed: scripted: as the script has it (asked 5 times)");
    house.say("k2", "still there?").await;
    assert_eq!(last_line(&house).await, "assistant: Back again.");
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_ends_the_turn_at_once() {
    let mut lines = String::new();
    for kind in ["unauthorised", "quota_spent", "refused"] {
        let house = house(&format!("turn\n fail {kind} no, {kind}")).await;
        house.say("k1", "hi").await;
        assert_eq!(failures(&house).await.len(), 1, "{kind}");
        lines += &(last_line(&house).await + "\n");
    }
    assert_snapshot!(lines, @"
    assistant ends failed: scripted: no, unauthorised
    assistant ends failed: scripted: no, quota_spent
    assistant ends failed: scripted: no, refused
    ");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_too_long_and_cannot_be_smaller_is_not_sent_again() {
    let house = house("turn\n fail context_too_long no\nagain\n say Never.").await;
    house.say("k1", "hi").await;
    assert_eq!(failures(&house).await, [(FailureKind::ContextTooLong, true)]);
    let asked = house.story().await.matches("assistant asks").count();
    assert_eq!(asked, 1, "{}", house.story().await);
    let last = last_line(&house).await;
    let refused = "assistant ends does_not_fit: the model refused a request of about ";
    assert!(last.starts_with(refused) && last.contains("cannot be made smaller"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_paused_model_is_asked_again_up_to_five_times() {
    let house = house("turn\n say a\n stop paused\nthen\n say b").await;
    house.say("k1", "hi").await;
    assert_eq!(last_line(&house).await, "assistant: b");
    let house = crate::house::house("turn\n say a\n stop paused\nthen\n say a\n stop paused\nthen\n say a\n stop paused\nthen\n say a\n stop paused\nthen\n say a\n stop paused\nthen\n say a\n stop paused\nthen\n say Never.").await;
    house.say("k1", "hi").await;
    assert_snapshot!(last_line(&house).await, @"assistant ends failed: the model asked 6 times in a row to go on");
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_to_results_is_asked_for_once_more() {
    let house =
        house("turn\n call read {}\nthen\n stop done\nthen\n stop done\nthen\n say Never.").await;
    house.say("k1", "hi").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: hi
    assistant asks scripted/scripted
    assistant: → read {}
    read c5.0 starts read
    read c5.0 ok: done
    assistant results
    assistant asks scripted/scripted
    assistant:
    assistant asks scripted/scripted
    assistant:
    "#);
}

#[tokio::test(start_paused = true)]
async fn duplicate_ids_and_a_cut_answer_do_no_harm() {
    let house = house(
        "turn\n call read#1 {}\n call read#1 {}\nthen\n say cut\n stop length\nturn\n stop refusal\nturn\n stop blocked",
    )
    .await;
    house.say("k1", "one").await;
    house.say("k2", "two").await;
    house.say("k3", "three").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: one
    assistant asks scripted/scripted
    assistant: → read#1 {} | read#1 {}
    read c5.0 starts read
    read c5.1 starts read
    read c5.0 ok: done
    read c5.1 ok: done
    assistant results
    assistant asks scripted/scripted
    assistant (length): cut
    user {"client_key":"k2"}: two
    assistant asks scripted/scripted
    assistant (refusal):
    user {"client_key":"k3"}: three
    assistant asks scripted/scripted
    assistant (blocked):
    "#);
}

/// Why a conversation cannot be driven.
async fn driving_fails(house: &House) -> String {
    match house.runtime.settled(house.id).await {
        Settled::Failed(error) => error.to_string(),
        Settled::Resting(rest) => panic!("it rests: {rest:?}"),
    }
}

/// A model whose adapter has a bug.
struct Buggy {
    scripted: Scripted,
    panics: AtomicU32,
}

impl Provider for Buggy {
    fn invoke(&self, request: Request) -> DeltaStream {
        let left =
            self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        assert!(left.is_err(), "as it was told");
        self.scripted.invoke(request)
    }
}

/// A panic below the driver is told to whoever waits, and holds nothing: what is said next is
/// answered at once, and what was said before too.
#[tokio::test]
async fn a_provider_that_panics_is_told_and_the_conversation_goes_on() {
    let scripted = Scripted::new("turn else\n say Hello, {input}.".parse().unwrap());
    let buggy = Buggy { scripted, panics: AtomicU32::new(2) };
    let models = Arc::new(StaticModels::new([Scripted::target()]));
    let house = house_of((Arc::new(buggy), models), assistant(), Limits::default()).await;
    house.submit("k1", Body::Input(Input::from_person("one"))).await;
    assert_snapshot!(driving_fails(&house).await, @"a panic while the conversation was driven: as it was told");
    // The second panic is that of a driver that was asked to try again.
    house.runtime.start(house.id);
    driving_fails(&house).await;
    assert_eq!(house.say("k2", "two").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: one
    assistant asks scripted/scripted
    assistant: Hello, one.
    user {"client_key":"k2"}: two
    assistant asks scripted/scripted
    assistant: Hello, two.
    "#);
}

/// Models that nobody can list.
struct Unlisted;

impl Models for Unlisted {
    fn targets(&self) -> Vec<Arc<Target>> {
        panic!("no list");
    }
}

/// A panic right when a conversation is opened is told as well, every time.
#[tokio::test]
async fn a_panic_while_a_conversation_is_opened_is_told() {
    let scripted = Arc::new(Scripted::new("turn else\n say Hello.".parse().unwrap()));
    let house = house_of((scripted, Arc::new(Unlisted)), assistant(), Limits::default()).await;
    house.submit("k1", Body::Input(Input::from_person("one"))).await;
    assert_snapshot!(driving_fails(&house).await, @"a panic while the conversation was driven: no list");
    let stopped = tokio::time::timeout(Duration::from_secs(5), house.runtime.stop());
    stopped.await.expect("nothing is left that could not be stopped");
}
