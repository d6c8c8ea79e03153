//! Which model is chosen, case by case, and what holds for all cases.

use std::collections::BTreeMap;

use proptest::prelude::{Just, any, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Arbitrary;

use super::*;
use crate::history::fact::{FailureKind, Money};
use crate::provider::{MediaSupport, Price, Profile, ToolSupport};

/// Models as a test has them.
#[derive(Clone, Debug, Default)]
struct Few {
    targets: Vec<Arc<Target>>,
    routes: Vec<Arc<Route>>,
    health: BTreeMap<Arc<str>, Health>,
}

impl Models for Few {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.targets.clone()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        self.routes.clone()
    }
}

impl HealthSource for Few {
    fn health(&self, target: &Target) -> Health {
        self.health.get(&target.name).copied().unwrap_or_default()
    }
}

fn invocation(name: &str) -> Invocation {
    Invocation {
        provider: "test".into(),
        endpoint: "here".into(),
        account: None,
        dialect: "none".into(),
        model: name.into(),
    }
}

fn target(name: &str, change: impl FnOnce(&mut Target)) -> Target {
    let profile =
        Profile { window_tokens: 10_000, tools: ToolSupport::SideBySide, ..Profile::unknown() };
    let mut target =
        Target { name: name.into(), invocation: invocation(name), profile, unusable: None };
    change(&mut target);
    target
}

fn few(strategy: Strategy, targets: impl IntoIterator<Item = Target>) -> Few {
    let targets: Vec<Arc<Target>> = targets.into_iter().map(Arc::new).collect();
    let models = targets.iter().map(|target| Arc::clone(&target.name)).collect();
    let routes = vec![Arc::new(Route { name: "plan".into(), models, strategy })];
    Few { targets, routes, health: BTreeMap::new() }
}

fn three(strategy: Strategy) -> Few {
    few(strategy, ["a", "b", "c"].map(|name| target(name, |_| {})))
}

fn failed(name: &str, kind: FailureKind) -> Failed {
    let lasting = match kind {
        FailureKind::Busy | FailureKind::Protocol | FailureKind::Unreachable => false,
        FailureKind::ContextTooLong
        | FailureKind::Unauthorised
        | FailureKind::QuotaSpent
        | FailureKind::Refused
        | FailureKind::Cancelled => true,
    };
    Failed { invocation: invocation(name), kind, lasting, not_before: None }
}

fn pick(models: &Few, needs: &Needs, asked: Option<&str>, failed: &[Failed]) -> String {
    let asked = asked.map(invocation);
    let so_far = SoFar { asked: asked.as_ref(), failed };
    match choose(models, models, Some(&"plan".into()), needs, &so_far) {
        Ok(chosen) => chosen.target.name.to_string(),
        Err(none) => none.to_string(),
    }
}

#[test]
fn a_name_is_a_route_or_a_model() {
    let mut models = three(Strategy::Fallback);
    let none = (Needs::default(), SoFar::default());
    let named = |models: &Few, name: Option<&str>| {
        let name = name.map(Arc::from);
        choose(models, models, name.as_ref(), &none.0, &none.1)
            .map(|chosen| (chosen.target, chosen.why))
    };
    let (target, why) = named(&models, Some("plan")).unwrap();
    assert_eq!((&*target.name, &*why), ("a", "route plan (fallback)"));
    let (target, why) = named(&models, Some("b")).unwrap();
    assert_eq!((&*target.name, &*why), ("b", "b is asked for"));
    let (target, why) = named(&models, None).unwrap();
    assert_eq!((&*target.name, &*why), ("a", "the first that can be asked"));
    assert_eq!(named(&models, Some("x")), Err(NoModel::Unnamed("x".into())));
    models.routes.push(Arc::new(Route {
        name: DEFAULT_ROUTE.into(),
        models: vec!["c".into()],
        strategy: Strategy::Fixed,
    }));
    assert_eq!(&*named(&models, None).unwrap().0.name, "c");
    assert_eq!(named(&Few::default(), None), Err(NoModel::None));
}

#[test]
fn the_first_usable_one_is_asked_where_nobody_says_anything() {
    let unusable = target("a", |target| target.unusable = Some("no key".into()));
    let models = few(Strategy::Fallback, [unusable, target("b", |_| {}), target("c", |_| {})]);
    let choose = |asked: Option<&Invocation>, failed: &[Failed]| {
        let so_far = SoFar { asked, failed };
        choose(&models, &models, None, &Needs::default(), &so_far)
            .map(|c| c.target.name.to_string())
    };
    assert_eq!(choose(None, &[]).unwrap(), "b");
    assert_eq!(choose(Some(&invocation("c")), &[]).unwrap(), "c", "kept within a turn");
    // Nobody said that another one may take its place.
    let refused = choose(None, &[failed("b", FailureKind::Unauthorised)]).unwrap_err();
    assert_eq!(refused.to_string(), "b: its credentials were refused");
}

#[test]
fn a_fixed_route_never_leaves_its_model() {
    let models = three(Strategy::Fixed);
    let needs = Needs::default();
    for kind in [FailureKind::Busy, FailureKind::Protocol, FailureKind::Unreachable] {
        let failed = [failed("a", kind), failed("a", kind)];
        assert_eq!(pick(&models, &needs, Some("a"), &failed), "a");
    }
    for (kind, why) in [
        (FailureKind::Unauthorised, "a: its credentials were refused"),
        (FailureKind::QuotaSpent, "a: its quota is spent"),
        (FailureKind::Refused, "a: it refused the request"),
        (FailureKind::ContextTooLong, "a: the request is too long for it"),
    ] {
        assert_eq!(pick(&models, &needs, Some("a"), &[failed("a", kind)]), why);
    }
    // What it lacks is said, and it is asked all the same.
    let needs = Needs { media: vec!["image/png".into()], ..Needs::default() };
    let chosen = choose(&models, &models, Some(&"plan".into()), &needs, &SoFar::default()).unwrap();
    assert_eq!(chosen.why, "route plan (fixed); though it takes no image/png");
    let unusable = target("a", |target| target.unusable = Some("no key".into()));
    let models = few(Strategy::Fixed, [unusable, target("b", |_| {})]);
    assert_eq!(pick(&models, &Needs::default(), None, &[]), "a: no key");
}

#[test]
fn a_fallback_moves_on_and_comes_back_round() {
    use FailureKind::{Busy, ContextTooLong, Protocol, QuotaSpent, Unauthorised, Unreachable};
    let models = three(Strategy::Fallback);
    let tightened = Failed { lasting: false, ..failed("a", ContextTooLong) };
    let none = "no model of the route plan can be asked: a: its credentials were refused; \
                b: its quota is spent; c: its credentials were refused";
    for (asked, failed, wanted) in [
        (None, vec![], "a"),
        (Some("a"), vec![failed("a", Busy)], "b"),
        (Some("b"), vec![failed("a", Busy), failed("b", Unreachable)], "c"),
        (Some("c"), vec![failed("a", Busy), failed("b", Busy), failed("c", Busy)], "a"),
        (
            Some("a"),
            vec![failed("a", Busy), failed("b", Busy), failed("c", Busy), failed("a", Protocol)],
            "b",
        ),
        (Some("a"), vec![failed("a", Unauthorised)], "b"),
        (Some("b"), vec![failed("a", Unauthorised), failed("b", Busy)], "c"),
        (Some("c"), vec![failed("a", Unauthorised), failed("b", Busy), failed("c", Busy)], "b"),
        (
            Some("c"),
            vec![failed("a", Unauthorised), failed("b", QuotaSpent), failed("c", Unauthorised)],
            none,
        ),
        // A request that was too long is shorter now: the same one is asked with it.
        (Some("a"), vec![tightened.clone()], "a"),
        (Some("a"), vec![tightened, failed("a", ContextTooLong)], "b"),
        // Within a turn the one that answered is kept.
        (Some("b"), vec![], "b"),
        // One that the route no longer has is not.
        (Some("z"), vec![], "a"),
    ] {
        assert_eq!(
            pick(&models, &Needs::default(), asked, &failed),
            wanted,
            "{asked:?} {failed:?}"
        );
    }
}

#[test]
fn the_next_wait_is_that_of_the_model_itself() {
    let models = three(Strategy::Fallback);
    let at = |ms: i64| Some(Timestamp::from_micros(ms * 1_000));
    let busy = |name, not_before| Failed { not_before, ..failed(name, FailureKind::Busy) };
    let all = [busy("a", at(60_000)), busy("b", at(2_000)), busy("c", at(9_000))];
    let choose = |failed: &[Failed]| {
        let so_far = SoFar { asked: None, failed };
        let chosen =
            choose(&models, &models, Some(&"plan".into()), &Needs::default(), &so_far).unwrap();
        (chosen.target.name.to_string(), chosen.failures, chosen.not_before)
    };
    assert_eq!(choose(&all[..1]), ("b".to_owned(), 0, None));
    assert_eq!(choose(&all), ("b".to_owned(), 1, at(2_000)), "it asks for the shortest wait");
}

#[test]
fn what_is_unusable_or_failing_is_passed_over() {
    let mut models = three(Strategy::Fallback);
    models.targets[0] = Arc::new(target("a", |target| target.unusable = Some("no key".into())));
    models.health.insert("b".into(), Health { latency_ms: None, open: true });
    let route = Some("plan".into());
    let choose = |models: &Few, failed: &[Failed]| {
        let so_far = SoFar { asked: None, failed };
        choose(models, models, route.as_ref(), &Needs::default(), &so_far).unwrap()
    };
    let chosen = choose(&models, &[]);
    assert_eq!(&*chosen.target.name, "c");
    assert_eq!(
        chosen.why,
        "route plan (fallback); passed over: a (no key), b (it failed several times a moment ago)"
    );
    // Where nothing else is left, it is asked.
    let chosen = choose(&models, &[failed("c", FailureKind::QuotaSpent)]);
    assert_eq!(&*chosen.target.name, "b");
    assert_eq!(
        chosen.why,
        "route plan (fallback); though it failed several times a moment ago; \
         passed over: a (no key)"
    );
    let route = Route {
        name: "plan".into(),
        models: ["gone", "c"].map(Arc::from).to_vec(),
        strategy: Strategy::Fallback,
    };
    models.routes = vec![Arc::new(route)];
    let chosen = choose(&models, &[failed("c", FailureKind::Busy)]);
    assert_eq!(
        chosen.why,
        "route plan (fallback); asked again: it was busy; passed over: gone (there is no such \
         model)"
    );
}

#[test]
fn what_cannot_meet_the_needs_is_passed_over() {
    let png = MediaSupport {
        media_type: "image/png".into(),
        cap_bytes: 1_000,
        tokens: 100,
        in_results: true,
    };
    let models = few(
        Strategy::Fallback,
        [
            target("mute", |target| target.profile.tools = ToolSupport::None),
            target("small", |target| target.profile.window_tokens = 2_000),
            target("seeing", |target| target.profile.media = vec![png]),
            target("large", |target| target.profile.window_tokens = 100_000),
        ],
    );
    let needs = |tokens, media: &[&str], tools| Needs {
        tokens,
        whole_tokens: 1_000_000,
        media: media.iter().map(|media| Arc::from(*media)).collect(),
        tools,
    };
    for (needs, wanted) in [
        (needs(0, &[], false), "mute"),
        (needs(0, &[], true), "small"),
        (needs(2_000, &[], true), "seeing"),
        (needs(0, &["image/png"], true), "seeing"),
        // Text is nobody's medium.
        (needs(0, &["text/csv"], true), "small"),
        (needs(50_000, &[], true), "large"),
        // Nothing fits: the one with the most room.
        (needs(5_000_000, &[], true), "large"),
        (needs(50_000, &["image/png"], true), "large"),
    ] {
        assert_eq!(pick(&models, &needs, None, &[]), wanted, "{needs:?}");
    }
    // Rather ask again one that fits than one that does not.
    let busy = [failed("seeing", FailureKind::Busy)];
    assert_eq!(pick(&models, &needs(0, &["image/png"], true), Some("seeing"), &busy), "seeing");
}

#[test]
fn the_first_that_fits_holds_all_of_it() {
    let window = |name, tokens| target(name, |target| target.profile.window_tokens = tokens);
    let models = few(
        Strategy::FirstThatFits,
        [window("small", 8_000), window("large", 200_000), window("huge", 1_000_000)],
    );
    let whole = |whole_tokens| Needs { whole_tokens, ..Needs::default() };
    for (tokens, wanted) in
        [(0, "small"), (4_000, "small"), (20_000, "large"), (400_000, "huge"), (9_000_000, "huge")]
    {
        assert_eq!(pick(&models, &whole(tokens), None, &[]), wanted, "{tokens}");
    }
    assert_eq!(pick(&models, &whole(20_000), Some("small"), &[]), "small", "kept within a turn");
    let chosen = choose(&models, &models, Some(&"plan".into()), &whole(20_000), &SoFar::default());
    assert_eq!(
        chosen.unwrap().why,
        "route plan (first that fits); passed over: small (its window of 8000 tokens is too small)"
    );
}

#[test]
fn the_cheapest_and_the_fastest_come_first() {
    let priced = |name, input: u64, from: u64, then: u64| {
        let price = |from_input_tokens, input| Price {
            from_input_tokens,
            input: Money(input),
            output: Money(input),
            cached_input: None,
            cache_write: None,
        };
        target(name, |target| {
            target.profile.window_tokens = 1_000_000;
            target.profile.prices = vec![price(0, input), price(from, then)];
        })
    };
    let unknown = target("unknown", |_| {});
    let targets = [unknown, priced("dear", 900, 1, 900), priced("rising", 100, 50_000, 2_000)];
    let models = few(Strategy::Cheapest, targets.clone());
    let whole = |whole_tokens| Needs { whole_tokens, ..Needs::default() };
    assert_eq!(pick(&models, &whole(1_000), None, &[]), "rising");
    assert_eq!(pick(&models, &whole(100_000), None, &[]), "dear");
    let gone = ["rising", "dear"].map(|name| failed(name, FailureKind::QuotaSpent));
    assert_eq!(pick(&models, &whole(1_000), None, &gone), "unknown");

    let mut models = few(Strategy::Fastest, targets);
    let measured = |ms| Health { latency_ms: Some(ms), open: false };
    models.health =
        BTreeMap::from([("dear".into(), measured(300)), ("rising".into(), measured(200))]);
    assert_eq!(pick(&models, &whole(0), None, &[]), "unknown", "never measured: now it is");
    models.health.insert("unknown".into(), measured(250));
    assert_eq!(pick(&models, &whole(0), None, &[]), "rising");
    let chosen =
        choose(&models, &models, Some(&"plan".into()), &whole(0), &SoFar::default()).unwrap();
    assert_eq!(chosen.why, "route plan (fastest); it began to answer in 200 ms of late");
    assert_eq!(pick(&models, &whole(0), None, &[failed("rising", FailureKind::Busy)]), "unknown");
}

#[test]
fn a_route_without_models_says_so() {
    let models = few(Strategy::Fallback, []);
    let none = pick(&models, &Needs::default(), None, &[]);
    assert_eq!(none, "no model of the route plan can be asked: it names none");
}

fn any_target(name: &'static str) -> impl Arbitrary<Value = Target> {
    let profile = (1_000_u64..200_000, any::<bool>(), any::<bool>(), 0_u64..3);
    (profile, proptest::option::weighted(0.2, Just("no key"))).prop_map(
        move |((window_tokens, tools, sees, price), unusable)| {
            let mut target = target(name, |target| target.profile.window_tokens = window_tokens);
            if !tools {
                target.profile.tools = ToolSupport::None;
            }
            if sees {
                target.profile.media = vec![MediaSupport {
                    media_type: "image/png".into(),
                    cap_bytes: 1,
                    tokens: 1,
                    in_results: false,
                }];
            }
            if price > 0 {
                let (input, output) = (Money(price), Money(price));
                let (cached_input, cache_write) = (None, None);
                let from_input_tokens = 0;
                let price = Price { from_input_tokens, input, output, cached_input, cache_write };
                target.profile.prices = vec![price];
            }
            target.unusable = unusable.map(Arc::from);
            target
        },
    )
}

fn any_failed() -> impl Arbitrary<Value = Failed> {
    let kinds = proptest::sample::select(vec![
        FailureKind::Busy,
        FailureKind::ContextTooLong,
        FailureKind::Unauthorised,
        FailureKind::QuotaSpent,
        FailureKind::Refused,
        FailureKind::Protocol,
        FailureKind::Unreachable,
    ]);
    let name = proptest::sample::select(vec!["a", "b", "c", "z"]);
    (name, kinds, any::<bool>()).prop_map(|(name, kind, tightened)| {
        let failed = failed(name, kind);
        let lasting = failed.lasting && !(tightened && failed.kind == FailureKind::ContextTooLong);
        Failed { lasting, ..failed }
    })
}

proptest! {
    /// What is chosen can be asked, whatever came before; the same is chosen twice; and there is a
    /// choice exactly as long as one is left that can be asked.
    #[test]
    fn what_is_chosen_can_be_asked(
        targets in (any_target("a"), any_target("b"), any_target("c")),
        strategy in proptest::sample::select(vec![
            Strategy::Fixed,
            Strategy::Fallback,
            Strategy::Cheapest,
            Strategy::Fastest,
            Strategy::FirstThatFits,
        ]),
        failed in proptest::collection::vec(any_failed(), 0..8),
        asked in proptest::option::of(proptest::sample::select(vec!["a", "b", "c", "z"])),
        open in proptest::collection::vec(any::<(bool, Option<u16>)>(), 3),
        (tokens, whole_tokens) in any::<(u16, u32)>(),
        (sees, tools) in any::<(bool, bool)>(),
    ) {
        let mut models = few(strategy, [targets.0, targets.1, targets.2]);
        for (target, (open, latency)) in models.targets.iter().zip(open) {
            let health = Health { latency_ms: latency.map(u64::from), open };
            models.health.insert(Arc::clone(&target.name), health);
        }
        let media = if sees { vec!["image/png".into()] } else { Vec::new() };
        let (tokens, whole_tokens) = (u64::from(tokens), u64::from(whole_tokens));
        let needs = Needs { tokens, whole_tokens, media, tools };
        let asked = asked.map(invocation);
        let so_far = SoFar { asked: asked.as_ref(), failed: &failed };
        let out = |target: &Target| {
            let lasting = |f: &Failed| f.lasting && f.invocation == target.invocation;
            target.unusable.is_some() || failed.iter().any(lasting)
        };
        let candidates = if strategy == Strategy::Fixed { 1 } else { 3 };
        let left = models.targets.iter().take(candidates).filter(|target| !out(target)).count();
        let name = Some("plan".into());
        match choose(&models, &models, name.as_ref(), &needs, &so_far) {
            Ok(chosen) => {
                prop_assert!(!out(&chosen.target), "{}", chosen.why);
                prop_assert!(!chosen.why.is_empty() && !chosen.why.contains('\n'));
                let again = choose(&models, &models, name.as_ref(), &needs, &so_far);
                prop_assert_eq!(Ok(chosen), again);
            }
            Err(none) => prop_assert_eq!(left, 0, "{}", none),
        }
    }
}

#[test]
fn a_breaker_opens_after_three_failures_and_closes_with_an_answer() {
    let (model, other) = (invocation("a"), invocation("b"));
    let mut book = HealthBook::default();
    let at = Timestamp::from_micros(1_000_000_000);
    for kind in [FailureKind::Busy, FailureKind::Unreachable] {
        book.failed(&model, kind, at);
        assert!(!book.health(&model, at).open);
    }
    book.failed(&model, FailureKind::Cancelled, at);
    assert!(!book.health(&model, at).open, "someone stopped it: that says nothing");
    book.failed(&model, FailureKind::Protocol, at);
    assert!(book.health(&model, at).open);
    assert!(!book.health(&other, at).open);
    assert!(book.health(&model, at.plus_millis(29_999)).open);
    // Half open: one more failure is enough.
    let later = at.plus_millis(30_000);
    assert!(!book.health(&model, later).open);
    book.failed(&model, FailureKind::Busy, later);
    assert!(book.health(&model, later).open);
    // A clock that was set back does not keep it open for an hour.
    assert!(!book.health(&model, Timestamp::from_micros(0)).open);
    let later = later.plus_millis(30_000);
    book.finished(&model);
    for _ in 0..2 {
        book.failed(&model, FailureKind::Busy, later);
    }
    assert!(!book.health(&model, later).open, "an answer began the count anew");
    book.failed(&model, FailureKind::Refused, later);
    book.failed(&model, FailureKind::Busy, later);
    assert!(!book.health(&model, later).open, "a refusal shows that it is there");
}

#[test]
fn a_newer_measurement_weighs_a_quarter() {
    let model = invocation("a");
    let at = Timestamp::from_micros(0);
    let mut book = HealthBook::default();
    assert_eq!(book.health(&model, at).latency_ms, None);
    let mut seen = Vec::new();
    for ms in [400, 800, 100, 100] {
        book.began(&model, ms);
        seen.extend(book.health(&model, at).latency_ms);
    }
    assert_eq!(seen, [400, 500, 400, 325]);
}
