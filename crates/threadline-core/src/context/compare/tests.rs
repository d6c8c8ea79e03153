//! What is the same in two contexts, and what is told of the rest.

use std::sync::Arc;

use super::*;
use crate::context::{InputPart, ResultsPart, Screen};
use crate::history::fact::Status;
use crate::id::CallId;

const NO_PINS: &BTreeSet<Seq> = &BTreeSet::new();

fn context(parts: Vec<Part>) -> Context {
    let system = System { entry: Some(Seq(2)), text: "be brief".into(), tokens: 10 };
    Context { system, parts }
}

fn said(seq: u64, text: &str) -> Part {
    let input = InputPart { text: text.into(), attachments: Vec::new(), screen: None };
    let (source, level) = (Source::Entry(Seq(seq)), Level::Live);
    Part { source, level, tokens: 100, body: Body::Input(input) }
}

fn earlier(to: u64, text: &str) -> Part {
    Part { source: Source::Earlier { from: Seq(1), to: Seq(to) }, ..said(1, text) }
}

fn result(seq: u64, text: &str, level: Level) -> Part {
    let result = ResultPart {
        call: CallId::new(Seq(seq - 2), 0),
        name: "look".into(),
        entry: Seq(seq - 1),
        status: Status::Success,
        text: text.into(),
        attachments: Vec::new(),
        level,
        tokens: 100,
    };
    let body = Body::Results(ResultsPart { results: vec![result], screen: None });
    Part { source: Source::Entry(Seq(seq)), level, tokens: 100, body }
}

fn with_screen(mut part: Part, text: &str) -> Part {
    let screen = Some(Screen { text: text.into(), tokens: 5 });
    match &mut part.body {
        Body::Input(input) => input.screen = screen,
        Body::Results(results) => results.screen = screen,
        Body::Output(_) => panic!("outputs have no screens"),
    }
    part.tokens += 5;
    part
}

fn shown(context: &Context) -> Shown<'_> {
    Shown {
        context,
        catalogue: Some(Digest([1; 32])),
        catalogue_tokens: 90,
        turn: Some(Seq(3)),
        pins: NO_PINS,
        border: None,
        recap: None,
    }
}

#[track_caller]
fn breaks(previous: &Shown<'_>, next: &Shown<'_>, parts: usize, by: Breach) {
    let found = prefix(previous, next);
    assert_eq!(found.broken.map(|broken| broken.by), Some(by), "{found:?}");
    assert_eq!(found.parts, parts);
    let tokens: u32 = previous.context.parts.iter().take(parts).map(|part| part.tokens).sum();
    match by {
        Breach::Tools => assert_eq!(found.tokens, 0),
        Breach::System => assert_eq!(found.tokens, 90),
        _ => assert_eq!(found.tokens, u64::from(100 + tokens)),
    }
}

#[test]
fn what_goes_on_where_the_other_ended_is_not_broken() {
    let one = context(vec![said(3, "a")]);
    let two = context(vec![said(3, "a"), said(4, "b")]);
    let found = prefix(&shown(&one), &shown(&two));
    assert_eq!(found, Prefix { parts: 1, tokens: 200, of_tokens: 200, broken: None });
    assert_eq!(found.share(), 1000);
    let back = prefix(&shown(&two), &shown(&one));
    assert_eq!(back.share(), 666);
    assert_eq!(back.broken.unwrap().at, Some(Source::Entry(Seq(4))));
}

#[test]
fn an_empty_context_is_the_prefix_of_any() {
    let (nothing, some) = (Context::default(), context(vec![said(3, "a")]));
    let none = |context| Shown { catalogue: None, catalogue_tokens: 0, ..shown(context) };
    let next = Context { system: System::default(), ..some };
    assert_eq!(prefix(&none(&nothing), &none(&next)).share(), 1000);
}

#[test]
fn tools_come_first_then_the_system_message() {
    let one = context(vec![said(3, "a")]);
    let mut two = one.clone();
    two.system.text = "be long".into();
    breaks(&shown(&one), &shown(&two), 0, Breach::System);
    let tools = Shown { catalogue: None, ..shown(&two) };
    breaks(&shown(&one), &tools, 0, Breach::Tools);
}

#[test]
fn another_level_with_the_same_words_is_the_same() {
    let one = context(vec![said(3, "a"), result(6, "x", Level::Live)]);
    let mut two = context(vec![said(3, "a"), result(6, "x", Level::Recent)]);
    two.parts[0].level = Level::Recent;
    assert_eq!(prefix(&shown(&one), &shown(&two)).broken, None);
    assert_eq!(changes(&one, &two), []);
    let two = context(vec![said(3, "a"), result(6, "x…", Level::Recent)]);
    breaks(&shown(&one), &shown(&two), 1, Breach::Level);
    let two = context(vec![said(3, "a"), result(6, "y", Level::Live)]);
    breaks(&shown(&one), &shown(&two), 1, Breach::Other);
}

#[test]
fn a_screen_breaks_it_within_a_turn_and_a_new_turn_otherwise() {
    let one = context(vec![said(2, "a"), with_screen(said(3, "b"), "1")]);
    let two = context(vec![said(2, "a"), with_screen(said(3, "b"), "2")]);
    breaks(&shown(&one), &shown(&two), 1, Breach::Screen);
    let two = context(vec![said(2, "a"), said(3, "b"), said(9, "c")]);
    let next = Shown { turn: Some(Seq(9)), ..shown(&two) };
    breaks(&shown(&one), &next, 1, Breach::Turn);
}

#[test]
fn a_border_that_moves_breaks_it_before_all_else() {
    let one = context(vec![earlier(4, "4"), said(5, "b"), said(7, "c")]);
    let two = context(vec![earlier(6, "4\n6"), said(7, "c")]);
    let previous = Shown { border: Some(Seq(5)), ..shown(&one) };
    let next = Shown { border: Some(Seq(7)), turn: Some(Seq(7)), ..shown(&two) };
    breaks(&previous, &next, 0, Breach::Border);
    let recap = Shown { recap: Some(Seq(8)), ..next };
    breaks(&previous, &recap, 0, Breach::Recap);
}

#[test]
fn pins_and_rewinds_are_told_from_each_other() {
    let one = context(vec![said(2, "a"), said(3, "b")]);
    let two = context(vec![said(2, "a")]);
    breaks(&shown(&one), &shown(&two), 1, Breach::Rewound);
    let pins = BTreeSet::from([Seq(1)]);
    let two = context(vec![said(1, "p"), said(2, "a"), said(3, "b")]);
    let next = Shown { pins: &pins, ..shown(&two) };
    breaks(&shown(&one), &next, 0, Breach::Pin);
    breaks(&next, &shown(&one), 0, Breach::Pin);
}

#[test]
fn changes_are_told_in_order() {
    let one = context(vec![earlier(4, "4"), said(5, "b"), said(7, "c"), said(8, "d")]);
    let two = context(vec![earlier(6, "4\n6"), said(7, "C"), said(8, "d"), said(9, "e")]);
    let told: Vec<String> = changes(&one, &two)
        .iter()
        .map(|change| match change {
            Change::System(..) => "system".to_owned(),
            Change::Gone(part) => format!("- {:?}", part.source),
            Change::New(part) => format!("+ {:?}", part.source),
            Change::Changed(was, is) => format!("~ {:?} {:?}", was.source, is.source),
        })
        .collect();
    assert_eq!(
        told,
        [
            "~ Earlier { from: Seq(1), to: Seq(4) } Earlier { from: Seq(1), to: Seq(6) }",
            "- Entry(Seq(5))",
            "~ Entry(Seq(7)) Entry(Seq(7))",
            "+ Entry(Seq(9))",
        ]
    );
    let mut other = one.clone();
    other.system.text = Arc::from("");
    assert!(matches!(changes(&one, &other)[..], [Change::System(..)]));
    assert_eq!(changes(&one, &one), []);
}
