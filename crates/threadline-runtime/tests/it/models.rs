//! Several models: who is asked after a failure, what it costs, what is sent along, and a prompt
//! that was cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use threadline_core::choose::{DEFAULT_ROUTE, Route, Strategy};
use threadline_core::drive::Limits;
use threadline_core::history::fact::{
    AgentJoined, Attachment, Digest, Fact, FailureKind, Input, Money, Purpose, Usage,
};
use threadline_core::history::metadata::Value;
use threadline_core::id::Seq;
use threadline_core::inbox::Body;
use threadline_core::provider::{
    DeltaStream, MediaSupport, Models, Price, Profile, Provider, Request, Target, USAGE_REFUSED_KEY,
};
use threadline_core::store::{Storage, open, read_media};
use threadline_core::tokens::Estimator;
use threadline_providers::scripted::Scripted;
use threadline_runtime::{NewAgent, Stepped};

use crate::house::{Asked, House, house_of, item, runtime_of};

/// Models that follow scripts of their own, and a memory of what they were sent.
#[derive(Clone, Default)]
struct Cast {
    scripts: BTreeMap<Arc<str>, Scripted>,
    targets: Vec<Arc<Target>>,
    routes: Vec<Arc<Route>>,
    sent: Arc<Mutex<Vec<Request>>>,
}

impl Provider for Cast {
    fn invoke(&self, request: Request) -> DeltaStream {
        self.sent.lock().unwrap().push(request.clone());
        self.scripts[&request.target.name].invoke(request)
    }
}

impl Models for Cast {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.targets.clone()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        self.routes.clone()
    }
}

impl Cast {
    /// A model more, whose answers come in order.
    fn with(mut self, name: &str, script: &str, change: impl FnOnce(&mut Profile)) -> Self {
        let mut target = Scripted::target();
        target.name = name.into();
        target.invocation.model = name.into();
        change(&mut target.profile);
        self.targets.push(Arc::new(target));
        self.scripts.insert(name.into(), Scripted::new(script.parse().unwrap()));
        self
    }

    fn falling_back(mut self) -> Self {
        let models = self.targets.iter().map(|target| Arc::clone(&target.name)).collect();
        let (name, strategy) = (DEFAULT_ROUTE.into(), Strategy::Fallback);
        self.routes = vec![Arc::new(Route { name, models, strategy })];
        self
    }

    fn asked(&self) -> Asked {
        (Arc::new(self.clone()), Arc::new(self.clone()))
    }

    async fn house(&self, limits: Limits) -> House {
        house_of(self.asked(), crate::house::assistant(), limits).await
    }
}

/// Two models, of which the first is the first to be asked.
fn pair(first: &str, second: &str) -> Cast {
    Cast::default().with("first", first, |_| {}).with("second", second, |_| {}).falling_back()
}

/// Who was asked, and what came of it: a line for each.
async fn course(house: &House) -> String {
    let mut lines = Vec::new();
    for entry in house.entries().await {
        match entry.fact {
            Fact::InvocationStarted(started) if started.purpose == Purpose::Step => {
                lines.push(format!("{}: {}", started.invocation.model, started.why));
            }
            Fact::InvocationFailed(failed) => lines.push(format!("  {:?}", failed.kind)),
            Fact::Output(output) if !output.text().is_empty() => lines.push(output.text()),
            Fact::TurnEnded(ended) => lines.push(format!("{:?}: {}", ended.reason, ended.detail)),
            _ => {}
        }
    }
    lines.join("\n")
}

#[tokio::test(start_paused = true)]
async fn the_next_model_is_asked_at_once_and_kept_for_the_turn() {
    let second = r#"
        turn
          call calculator {"expression":"2 + 3"}
        then
          say {result}
    "#;
    let house =
        pair("turn\n fail busy\nturn\n say Back again.", second).house(Limits::default()).await;
    house.say("k1", "sum").await;
    house.say("k2", "and now?").await;
    assert_snapshot!(course(&house).await, @r"
    first: route default (fallback)
      Busy
    second: route default (fallback); passed over: first (it was busy)
    second: route default (fallback), the model of this turn
    2 + 3 = 5
    first: route default (fallback)
    Back again.
    ");
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_is_not_asked_again() {
    let house = pair("turn\n fail unauthorised no key", "turn\n fail busy\nagain\n say Hello.")
        .house(Limits::default())
        .await;
    house.say("k1", "hi").await;
    assert_snapshot!(course(&house).await, @r"
    first: route default (fallback)
      Unauthorised
    second: route default (fallback); passed over: first (its credentials were refused)
      Busy
    second: route default (fallback); asked again: it was busy; passed over: first (its credentials were refused)
    Hello.
    ");
    let house =
        pair("turn\n fail quota_spent", "turn\n fail refused never").house(Limits::default()).await;
    house.say("k1", "hi").await;
    let end = course(&house).await.lines().last().unwrap().to_owned();
    assert_eq!(end, "Failed: scripted: never (asked 2 times, 2 models)");
}

#[tokio::test(start_paused = true)]
async fn a_route_of_its_own_counts_for_a_turn() {
    let house = pair("turn\n say I am the first.", "turn\n say I am the second.")
        .house(Limits::default())
        .await;
    let input = Input { route: Some("second".into()), ..Input::from_person("you") };
    house.submit("k1", Body::Input(input)).await;
    house.rest().await;
    let input = Input { route: Some("nobody".into()), ..Input::from_person("or you") };
    house.submit("k2", Body::Input(input)).await;
    house.rest().await;
    assert_snapshot!(course(&house).await, @r#"
    second: second is asked for
    I am the second.
    Failed: there is no route and no model named "nobody"
    "#);
}

/// Drives by hand until an invocation has failed for the n-th time.
async fn until_failed(house: &House, times: usize) {
    let mut drive = house.runtime.drive(house.id).await.unwrap();
    let mut failed = 0;
    while failed < times {
        let Stepped::Moved(entries) = drive.step().await.unwrap() else { panic!("blocked") };
        failed += entries.iter().filter(|e| matches!(e.fact, Fact::InvocationFailed(_))).count();
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_across_a_kill() {
    let cast = pair("turn\n fail busy", "turn\n fail unreachable");
    let whole = cast.house(Limits::default()).await;
    whole.say("k1", "hi").await;
    for killed_after in 1..=4 {
        let house = cast.house(Limits::default()).await;
        let input = Body::Input(Input::from_person("hi"));
        let letter = item("k1", threadline_core::inbox::Mode::Queue, input);
        house.store.enqueue(house.id, &letter).await.unwrap();
        until_failed(&house, killed_after).await;
        // Its lease runs out, and another process goes on.
        house.clock.advance_ms(60_000);
        let store: Arc<dyn Storage> = Arc::new(house.memory.another_owner("next".to_owned()));
        let next =
            runtime_of(cast.asked(), &store, &house.clock, &house.effects, Limits::default());
        next.start(house.id);
        next.settled(house.id).await;
        assert_eq!(course(&house).await, course(&whole).await, "killed after {killed_after}");
    }
    assert_snapshot!(course(&whole).await, @r"
    first: route default (fallback)
      Busy
    second: route default (fallback); passed over: first (it was busy)
      Unreachable
    first: route default (fallback); asked again: it was busy
      Busy
    second: route default (fallback); asked again: it could not be reached; passed over: first (it was busy)
      Unreachable
    first: route default (fallback); asked again after 2 failures: it was busy
      Busy
    Failed: scripted: as the script has it (asked 5 times, 2 models)
    ");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_again_and_again_is_left_alone_for_a_while() {
    let house = pair("turn else\n fail unreachable", "turn else\n say Here.")
        .house(Limits::default())
        .await;
    let asked = || async {
        let course = course(&house).await;
        let lines = course.lines().filter(|line| line.starts_with("first:"));
        lines.count()
    };
    for turn in 0..3 {
        house.say(&format!("k{turn}"), "hi").await;
    }
    assert_eq!(asked().await, 3);
    house.say("k3", "hi").await;
    assert_eq!(asked().await, 3);
    assert_snapshot!(course(&house).await.lines().rev().nth(1).unwrap(), @"second: route default (fallback); passed over: first (it failed several times a moment ago)");
    // After half a minute it gets another chance, and only one.
    house.clock.advance_ms(30_000);
    house.say("k4", "hi").await;
    assert_eq!(asked().await, 4);
    house.say("k5", "hi").await;
    assert_eq!(asked().await, 4);
}

fn priced(profile: &mut Profile) {
    profile.prices = vec![Price {
        from_input_tokens: 0,
        input: Money(1_000_000_000),
        output: Money(10_000_000_000),
        cached_input: None,
        cache_write: None,
    }];
}

#[tokio::test(start_paused = true)]
async fn what_an_answer_costs_is_on_record_and_has_limits() {
    let script = r#"
        turn
          usage 2000 100
          call read {"do":"1"}
        then
          usage 3000 100
          call read {"do":"2"}
        then
          say Never said.
        turn else
          usage 990 1
          say Here again.
    "#;
    let cast = Cast::default().with("only", script, priced);
    let limits = Limits { turn_cost: Some(Money(6_000_000)), ..Limits::default() };
    let house = cast.house(limits).await;
    house.say("k1", "go").await;
    house.say("k2", "go on").await;
    let costs: Vec<Option<Money>> = house
        .entries()
        .await
        .into_iter()
        .filter_map(|entry| match entry.fact {
            Fact::Output(output) => Some(output.cost),
            _ => None,
        })
        .collect();
    let wanted = [3_000_000, 4_000_000, 1_000_000].map(|cost| Some(Money(cost)));
    assert_eq!(costs, wanted);
    assert_snapshot!(course(&house).await, @r"
    only: the first that can be asked
    only: the first that can be asked, the model of this turn
    Limit(Money): $0.007 of $0.006 in one turn
    only: the first that can be asked
    Here again.
    ");
    let limits = Limits { conversation_cost: Some(Money(3_000_000)), ..Limits::default() };
    let house = cast.house(limits).await;
    house.say("k1", "go").await;
    house.say("k2", "go on").await;
    assert_snapshot!(course(&house).await, @r"
    only: the first that can be asked
    Limit(Money): $0.003 of $0.003 in this conversation
    Limit(Money): $0.003 of $0.003 in this conversation
    ");
}

/// The usage and cost of every output, and what was refused of what was reported.
async fn taken(house: &House) -> Vec<(Usage, Option<Money>, Option<String>)> {
    let entries = house.entries().await.into_iter();
    let taken = entries.filter_map(|entry| match entry.fact {
        Fact::Output(output) => {
            let refused = match entry.metadata.get(USAGE_REFUSED_KEY) {
                Some(Value::Text(text)) => Some(text.clone()),
                Some(Value::Flag(_) | Value::Number(_)) | None => None,
            };
            Some((output.usage, output.cost, refused))
        }
        _ => None,
    });
    taken.collect()
}

#[tokio::test(start_paused = true)]
async fn limits_hold_for_a_model_that_reports_no_usage() {
    let steps = (0..30).map(|n| format!("call read {{\"do\":\"part {n} of it\"}}\n"));
    let endless = format!("turn\n {}", steps.collect::<Vec<_>>().join("then\n "));
    for (reported, refused) in [
        ("", None),
        ("usage 0 0\n ", None),
        ("usage 18446744073709551615 3\n ", Some("an impossible number of input tokens")),
        ("usage 300 9000000\n ", Some("9000000 output tokens")),
    ] {
        let script = endless.replace("call", &format!("{reported}call"));
        let cast = Cast::default().with("only", &script, priced);
        let limits = Limits { turn_tokens: Some(5_000), ..Limits::default() };
        let house = cast.house(limits).await;
        house.say("k1", "go").await;
        let ended = course(&house).await;
        let last = ended.lines().last().unwrap();
        assert!(
            last.starts_with("Limit(Tokens): about ")
                && last.ends_with("of 5000 tokens in one turn"),
            "{ended}"
        );
        let taken = taken(&house).await;
        let steps = taken.len();
        assert!((3..=25).contains(&steps), "{reported:?}: {steps} steps");
        for (usage, cost, note) in taken {
            assert!(usage.estimated && usage.input < 5_000 && usage.output < 5_000, "{usage:?}");
            assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
            assert_eq!(cost, Target::cost(&cast.targets[0], None, Some(&usage)));
            assert_eq!(note.is_some(), refused.is_some(), "{note:?}");
            assert!(note.unwrap_or_default().contains(refused.unwrap_or_default()));
        }

        let limits = Limits { turn_cost: Some(Money(5_000_000)), ..Limits::default() };
        let house = cast.house(limits).await;
        house.say("k1", "go").await;
        let ended = course(&house).await;
        assert!(ended.lines().last().unwrap().starts_with("Limit(Money): about $0.00"), "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_a_model_reported_says_how_it_counts() {
    let long = "many words ".repeat(1_000);
    for (reported, corrected) in [("", 0), ("usage 99999999 9\n", 0), ("usage 3000 9\n", 1)] {
        let cast = Cast::default().with("only", &format!("turn\n {reported}say ok"), |_| {});
        let house = cast.house(Limits::default()).await;
        house.say("k1", &long).await;
        let (_, history) = open(&*house.store, house.id, &Estimator).await.unwrap();
        assert_eq!(history.state().corrections.len(), corrected, "{reported:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_streamed_before_a_failure_counts_without_usage_too() {
    let script = "turn\n say Half of what was to be said.\n fail refused no";
    let house = Cast::default().with("only", script, priced).house(Limits::default()).await;
    house.say("k1", "go").await;
    let failed = house.entries().await.into_iter().find_map(|entry| match entry.fact {
        Fact::InvocationFailed(failed) => Some(failed),
        _ => None,
    });
    let usage = failed.as_ref().unwrap().usage.unwrap();
    assert!(usage.estimated && usage.input > 100 && usage.output > 5, "{usage:?}");
    assert!(failed.unwrap().cost.is_some());
    // One that was refused before it began took nothing that we know of.
    let house = Cast::default().with("only", "turn\n fail refused no", priced);
    let house = house.house(Limits::default()).await;
    house.say("k1", "go").await;
    let story = house.story().await;
    assert!(story.contains("failed refused") && !story.contains("estimated"), "{story}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_costs_what_it_took() {
    let cast = Cast::default().with("only", "turn\n usage 500 10\n fail refused no", priced);
    let house = cast.house(Limits::default()).await;
    house.say("k1", "go").await;
    let failed = house.entries().await.into_iter().find_map(|entry| match entry.fact {
        Fact::InvocationFailed(failed) => Some(failed.cost),
        _ => None,
    });
    assert_eq!(failed, Some(Some(Money(600_000))));
}

async fn keep(house: &House, bytes: &[u8]) -> Digest {
    let upload = house.store.begin_upload().await.unwrap();
    house.store.upload(upload, bytes.to_vec()).await.unwrap();
    house.store.finish_upload(upload).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_media_come_with_the_request() {
    let png = |profile: &mut Profile| {
        profile.media = vec![MediaSupport {
            media_type: "image/png".into(),
            cap_bytes: 1_000,
            tokens: 100,
            in_results: true,
        }];
    };
    let cast = Cast::default().with("seeing", "turn else\n say I see.", png);
    let house = cast.house(Limits::default()).await;
    let attachment = |digest, media_type: &str| Attachment {
        digest,
        size: 5,
        media_type: media_type.into(),
        name: None,
        extent: None,
    };
    let kept = keep(&house, b"image").await;
    let sound = keep(&house, b"sound").await;
    let attachments = vec![attachment(kept, "image/png"), attachment(sound, "audio/wav")];
    let input = Input { attachments, ..Input::from_person("look") };
    house.submit("k1", Body::Input(input)).await;
    house.rest().await;
    assert!(house.story().await.ends_with("assistant: I see."), "{}", house.story().await);
    // What is not there is just not there.
    let read = read_media(&*house.store, &[Digest::of(b"lost"), sound]).await.unwrap();
    assert_eq!(read.keys().copied().collect::<Vec<_>>(), [sound]);
    let sent = cast.sent.lock().unwrap();
    let [request] = sent.as_slice() else { panic!("asked {} times", sent.len()) };
    let media: Vec<(Digest, &[u8])> =
        request.media.iter().map(|(digest, bytes)| (*digest, &**bytes)).collect();
    assert_eq!(media, [(kept, &b"image"[..])]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_a_cut_prompt_does_not_count() {
    let long = "All of this was said before. ".repeat(250);
    let mut cast = Cast::default().with("local", "turn\n say x", |_| {});
    let mut script = format!("turn\n say {long}\n").repeat(8);
    script += "turn\n usage 4096 9\n say From a part of it.\n";
    script += "turn\n usage 3500 9\n say From all of it.\n";
    // Whatever it is sent: a second request is another one than the first.
    cast.scripts.insert("local".into(), Scripted::in_order(script.parse().unwrap()));
    let house = cast.house(Limits { recaps: false, ..Limits::default() }).await;
    for turn in 0..9 {
        house.say(&format!("k{turn}"), "go on").await;
    }
    let entries = house.entries().await;
    let failed = entries.iter().find_map(|entry| match &entry.fact {
        Fact::InvocationFailed(failed) => Some((entry.seq, failed.clone())),
        _ => None,
    });
    let (at, failed) = failed.unwrap();
    assert_eq!(failed.kind, FailureKind::ContextTooLong);
    assert_eq!(failed.usage.unwrap().input, 4_096);
    assert!(failed.message.contains("4096") && failed.message.contains("window_tokens"));
    let started = |wanted: &dyn Fn(Seq) -> bool| {
        entries.iter().filter(|entry| wanted(entry.seq)).find_map(|entry| match &entry.fact {
            Fact::InvocationStarted(started) => Some(started.clone()),
            _ => None,
        })
    };
    let (before, after) = (started(&|seq| seq == failed.started), started(&|seq| seq > at));
    let (before, after) = (before.unwrap(), after.unwrap());
    assert!(before.estimate_tokens > 8_000, "{}", before.estimate_tokens);
    assert!(after.options.window_tokens <= 4_096 && after.estimate_tokens < 4_096);
    let Fact::Output(output) = &entries.last().unwrap().fact else { panic!("no answer") };
    assert_eq!(output.text(), "From all of it.");
}

/// The estimates of a conversation whose last input is refused as too long, from that request on,
/// and how it went on.
async fn after_refusal(refusals: &str) -> (Vec<u64>, String) {
    let long = "All of this was said before. ".repeat(250);
    let mut script = format!("turn\n say {long}\n").repeat(8);
    script += refusals;
    let mut cast = Cast::default().with("local", "turn\n say x", |_| {});
    cast.scripts.insert("local".into(), Scripted::in_order(script.parse().unwrap()));
    let house = cast.house(Limits { recaps: false, ..Limits::default() }).await;
    for turn in 0..10 {
        house.say(&format!("k{turn}"), "go on").await;
    }
    let sent: Vec<_> =
        cast.sent.lock().unwrap().iter().map(|request| request.context.digest()).collect();
    let different: BTreeSet<_> = sent.iter().collect();
    assert_eq!(different.len(), sent.len(), "no request is sent twice");
    let entries = house.entries().await;
    let started = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::InvocationStarted(started) => Some(started.estimate_tokens),
        _ => None,
    });
    (started.skip(8).collect(), course(&house).await)
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_made_smaller() {
    let fits = "turn\n say That fits.\n";
    let (estimates, course) =
        after_refusal(&format!("turn\n fail context_too_long\n{fits}{fits}")).await;
    let [refused, next, _] = estimates[..] else { panic!("{estimates:?}\n{course}") };
    assert!(refused > 12_000 && next > refused / 4, "{estimates:?}");
    assert!(next <= refused - refused / 4, "{estimates:?}");
    assert!(course.ends_with("That fits."), "{course}");
}

#[tokio::test(start_paused = true)]
async fn the_limit_that_an_error_states_holds_for_later_turns_too() {
    let fits = "turn\n say That fits.\n";
    let refusal = "turn\n fail context_too_long limit 6000 at most 6000 tokens\n";
    let (estimates, course) = after_refusal(&format!("{refusal}{fits}{fits}")).await;
    let [refused, next, later] = estimates[..] else { panic!("{estimates:?}\n{course}") };
    assert!(refused > 12_000, "{estimates:?}");
    // A quarter of the window is kept free for the answer.
    assert!((2_000..=4_500).contains(&next) && (2_000..=4_500).contains(&later), "{estimates:?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_refusal_ends_the_turn() {
    let refusal = "turn\n fail context_too_long no\n";
    let (estimates, course) = after_refusal(&format!("{refusal}{refusal}turn\n say Fits.")).await;
    let [first, second, _] = estimates[..] else { panic!("{estimates:?}\n{course}") };
    assert!(first > second, "{estimates:?}");
    assert!(course.contains("DoesNotFit: scripted: no (asked 2 times)"), "{course}");
    assert!(course.ends_with("Fits."), "{course}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_nothing_fits_is_tried_again_in_the_next_turn() {
    let script = "turn\n fail context_too_long limit 300 no\nturn\n usage 900 3\n say More now.\n\
                  turn\n usage 900 3\n say And again.";
    let mut cast = Cast::default().with("local", "turn\n say x", |_| {});
    cast.scripts.insert("local".into(), Scripted::in_order(script.parse().unwrap()));
    let house = cast.house(Limits::default()).await;
    for key in ["k1", "k2", "k3"] {
        house.say(key, "hi").await;
    }
    let course = course(&house).await;
    let ended = course.lines().find(|line| line.starts_with("DoesNotFit: ")).unwrap();
    assert!(ended.contains("cannot be made smaller"), "{course}");
    assert_eq!(cast.sent.lock().unwrap().len(), 3, "{course}");
    assert!(course.contains("More now.") && course.ends_with("And again."), "{course}");
}

/// So many small turns do not fit a small window.
const TURNS: usize = 60;

/// A conversation of small turns in a small window; gives how many recaps were begun.
async fn recaps_begun(window_tokens: u64) -> (usize, String) {
    let script = "turn else\n say {input} it is, and then some more words about that.";
    let cast = Cast::default().with("tiny", script, |profile| {
        profile.window_tokens = window_tokens;
        profile.output_cap_tokens = 40;
    });
    let joined = AgentJoined { name: "assistant".into(), primary: true, ..AgentJoined::default() };
    let agent = NewAgent { joined, instruction: None };
    let house = house_of(cast.asked(), agent, Limits::default()).await;
    for turn in 0..TURNS {
        house.say(&format!("k{turn}"), &format!("the matter of number {turn} is what")).await;
    }
    let begun = house.entries().await.into_iter().filter(|entry| match &entry.fact {
        Fact::InvocationStarted(started) => started.purpose == Purpose::Recap,
        _ => false,
    });
    (begun.count(), course(&house).await)
}

#[tokio::test(start_paused = true)]
async fn without_room_for_a_recap_the_step_goes_on() {
    let (begun, course) = recaps_begun(1_000).await;
    assert!(begun > 0, "a recap is wished for:\n{course}");
    let (begun, course) = recaps_begun(450).await;
    assert_eq!(begun, 0, "{course}");
    let answers = course.lines().filter(|line| line.contains("it is, and then"));
    assert_eq!(answers.count(), TURNS, "{course}");
}
