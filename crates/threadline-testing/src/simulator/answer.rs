//! What simulated models answer, and how their streams go wrong.

use std::collections::VecDeque;
use std::sync::Arc;

use threadline_core::drive::{SET_TIMER, WAIT};
use threadline_core::history::fact::{CALL_AGENT, Digest, FailureKind, Stop, Usage};
use threadline_core::history::metadata::Metadata;
use threadline_core::id::Seq;
use threadline_core::provider::{BlockIndex, BlockKind, Delta, Prepared, ProviderError};

use super::chaos::{Mood, Swarm};
use super::mark::Mark;
use super::notebook::{BULKY, NOTE};
use super::{Course, Directed, gear, team};
use crate::ids::Choices;

/// A step of a stream.
#[derive(Debug)]
pub(super) enum Beat {
    Delta(Delta),
    Break(Option<ProviderError>),
    Hang,
}

/// A stream, and what is remarkable about it.
pub(super) struct Script {
    pub(super) beats: VecDeque<Beat>,
    pub(super) marks: Vec<Mark>,
}

/// A block that is to be streamed.
struct Planned {
    kind: BlockKind,
    text: String,
    ended: bool,
}

/// Where an agent stands when its model is asked.
pub(super) struct Asked<'a> {
    /// A number of its own for each invocation: it is in every text of the answer.
    pub(super) number: u64,
    /// The newest input of the turn.
    pub(super) input: &'a str,
    /// The outputs of the turn so far.
    pub(super) steps: u32,
    /// The model that is asked, and what the request takes by its own count.
    pub(super) model: &'a str,
    pub(super) tokens: u64,
    /// What is to be recapped, if a recap is asked for.
    pub(super) recap: Option<&'a str>,
    /// The agent's timers, and the others whom it can call.
    pub(super) timers: &'a [Seq],
    pub(super) others: &'a [Arc<str>],
}

/// What a text carries so that it can be known again.
pub(super) fn tag(number: u64) -> String {
    format!("<{number}>")
}

/// The numbers of the answers whose texts are in a text.
pub(super) fn tags(text: &str) -> impl Iterator<Item = u64> {
    text.split('<').skip(1).filter_map(|rest| rest.split_once('>')?.0.parse().ok())
}

/// The answer to an invocation.
pub(super) fn script(
    choices: &mut Choices,
    swarm: &Swarm,
    course: &Course,
    asked: &Asked<'_>,
) -> Script {
    match course {
        Course::Drawn => drawn(choices, swarm, asked),
        Course::Directed(directed) => fixed(directed, asked),
    }
}

fn text(asked: &Asked<'_>, words: &str) -> Planned {
    let text = format!("{} {words}", tag(asked.number));
    Planned { kind: BlockKind::Text, text, ended: true }
}

fn thinking(asked: &Asked<'_>) -> Planned {
    let text = format!("{} hm", tag(asked.number));
    Planned { kind: BlockKind::Thinking, text, ended: true }
}

fn call(name: &str, arguments: String) -> Planned {
    let kind = BlockKind::ToolCall { name: name.into(), provider_id: None };
    Planned { kind, text: arguments, ended: true }
}

/// The fixed conversation: calls, then a question and a note, then an answer that never ends.
fn fixed(directed: &Directed, asked: &Asked<'_>) -> Script {
    let number = |index: u32| format!("{{\"n\":{}}}", asked.number * 100 + u64::from(index));
    let tell = |name: &str, more: &str| call(CALL_AGENT, format!("{{\"name\":\"{name}\",{more}}}"));
    let blocks = match (asked.input, asked.steps) {
        // Two are asked at once, one of whom asks a third, who asks the person.
        ("first", 0) if directed.team => {
            vec![tell("helper", r#""task":"one""#), tell("guard", r#""task":"two""#)]
        }
        ("one", 0) => vec![tell("clerk", r#""task":"three""#)],
        ("two", 0) => (0..directed.calls).map(|i| call(directed.class.tool(), number(i))).collect(),
        ("three", 0) => vec![call("send_asked", number(0)), call("look", number(1))],
        // A timer, an answer that is not waited for, and a wait that it ends.
        ("second", 0) if directed.team => vec![
            call(SET_TIMER, r#"{"text":"tick","seconds":1}"#.to_owned()),
            tell("helper", r#""task":"four","wait":false"#),
            call(WAIT, r#"{"seconds":600}"#.to_owned()),
        ],
        ("four", 0) => vec![call("look", number(0))],
        ("third", 0) if directed.team => vec![tell("helper", r#""task":"endless""#)],
        ("first", 0) => {
            let calls = (0..directed.calls).map(|i| call(directed.class.tool(), number(i)));
            [thinking(asked), text(asked, "on it")].into_iter().chain(calls).collect()
        }
        ("second", 0) => vec![call("note", number(0)), call("send_asked", number(1))],
        ("third" | "endless", _) if asked.input == "endless" || !directed.team => {
            let story = vec![text(asked, "a long story")];
            let mut beats = streamed(story, Stop::Done, 3, asked);
            beats.truncate(4);
            beats.push_back(Beat::Hang);
            return Script { beats, marks: Vec::new() };
        }
        _ => vec![text(asked, "done")],
    };
    Script { beats: streamed(blocks, Stop::Done, 4, asked), marks: Vec::new() }
}

fn drawn(choices: &mut Choices, swarm: &Swarm, asked: &Asked<'_>) -> Script {
    let (blocks, stop) = answer(choices, swarm, asked);
    let mut script =
        Script { beats: streamed(blocks, stop, 1 + choices.index(12), asked), marks: Vec::new() };
    let ill = swarm.ill.filter(|(name, _)| *name == asked.model && choices.percent(80));
    if let Some((_, kind)) = ill {
        let after = choices.percent(30).then(|| choices.below(4_000));
        script.beats.truncate(choices.index(script.beats.len()));
        script.beats.push_back(Beat::Break(Some(error(kind, after))));
    } else if choices.percent(swarm.model) {
        spoil(choices, &mut script);
    }
    script
}

fn answer(choices: &mut Choices, swarm: &Swarm, asked: &Asked<'_>) -> (Vec<Planned>, Stop) {
    if let Some(source) = asked.recap.filter(|_| choices.percent(70)) {
        let half = source.chars().filter(char::is_ascii).take(source.len() * 2 / 3);
        return (vec![text(asked, &half.collect::<String>())], Stop::Done);
    }
    let mut blocks = Vec::new();
    if choices.percent(30) {
        blocks.push(thinking(asked));
    }
    let odd = choices.below(1000);
    let calls = 1 + choices.below(swarm.calls.max(1));
    if swarm.mood == Mood::Stubborn {
        blocks.push(call("look", "{\"n\":7}".to_owned()));
        return (blocks, Stop::Done);
    }
    match odd {
        0..=39 => return (vec![text(asked, "wait")], Stop::Paused),
        40..=89 => return (blocks, Stop::Done),
        90..=109 => return (vec![text(asked, "no")], Stop::Refusal),
        110..=129 => return (vec![text(asked, "and so")], Stop::Length),
        130..=134 => {
            // More calls than a batch has room for.
            let many = (0..70).map(|i| call("no_such_tool", format!("{{\"n\":{i}}}")));
            return (many.collect(), Stop::Done);
        }
        _ => {}
    }
    if swarm.mood == Mood::Leading && asked.steps == 0 && choices.percent(75) {
        for index in 0..=choices.below(3) {
            let n = asked.number * 100 + index;
            blocks.push(if choices.percent(80) {
                call(CALL_AGENT, team::task(choices, asked.others, n))
            } else {
                drawn_call(choices, swarm, asked, n)
            });
        }
        return (blocks, Stop::Done);
    }
    let wants_calls = swarm.calls > 0 && (swarm.mood == Mood::Tireless || odd < 640);
    if !wants_calls {
        blocks.push(text(asked, "that is all"));
        return (blocks, Stop::Done);
    }
    if choices.percent(40) {
        blocks.push(text(asked, "let me see"));
    }
    for index in 0..calls {
        blocks.push(drawn_call(choices, swarm, asked, asked.number * 100 + index));
    }
    if choices.percent(8) {
        if let Some(last) = blocks.last_mut() {
            last.ended = false;
        }
        return (blocks, Stop::Length);
    }
    (blocks, Stop::Done)
}

fn drawn_call(choices: &mut Choices, swarm: &Swarm, asked: &Asked<'_>, n: u64) -> Planned {
    if swarm.mood == Mood::Bulky {
        if swarm.team && choices.percent(30) {
            let task = "much to do ".repeat(60_000);
            let name = asked.others.first().map_or("helper", |name| &**name);
            return call(CALL_AGENT, format!("{{\"name\":\"{name}\",\"task\":\"{task}\"}}"));
        }
        let name = if choices.percent(30) { NOTE } else { "look" };
        return call(name, format!("{{\"n\":{}}}", BULKY + n));
    }
    if swarm.team && choices.percent(swarm.team_calls) {
        let (name, arguments) = team::drawn_call(choices, asked.timers, asked.others, n);
        return call(name, arguments);
    }
    let names: Vec<&str> = if swarm.mood == Mood::Eager {
        vec!["look", "set", "send", "send_known"]
    } else if choices.percent(swarm.harmless) {
        vec!["look", "set", "set", "set_alone", "note"]
    } else {
        gear::callable().collect()
    };
    let name = choices.pick(&names).copied().unwrap_or("look");
    let arguments = match choices.below(20) {
        _ if name == gear::PING => String::new(),
        0 => "{\"n\":".to_owned(),
        1 => "{\"n\":[]}".to_owned(),
        _ => format!("{{\"n\":{n}}}"),
    };
    call(name, arguments)
}

/// The deltas of an answer, texts in pieces of so many bytes.
fn streamed(blocks: Vec<Planned>, stop: Stop, piece: usize, asked: &Asked<'_>) -> VecDeque<Beat> {
    let prepared =
        Prepared { body_digest: Digest::of(b"request"), encoder_version: 1, repairs: Vec::new() };
    let mut deltas = vec![Delta::Prepared(prepared), Delta::Started(Metadata::new())];
    for (index, planned) in (0..).zip(blocks) {
        let block = BlockIndex(index);
        deltas.push(Delta::Begin { block, kind: planned.kind });
        // All texts are ASCII, and long ones come in a few pieces.
        let piece = piece.max(planned.text.len() / 3).max(1);
        let bytes = planned.text.as_bytes();
        for fragment in bytes.chunks(piece) {
            let text = String::from_utf8_lossy(fragment).as_ref().into();
            deltas.push(Delta::Fragment { block, text });
        }
        if planned.ended {
            deltas.push(Delta::End { block });
        }
    }
    deltas.push(Delta::Usage(Usage { input: asked.tokens, output: 10, ..Usage::default() }));
    deltas.push(Delta::Finished { stop, metadata: Metadata::new() });
    deltas.into_iter().map(Beat::Delta).collect()
}

/// Something goes wrong with a stream.
fn spoil(choices: &mut Choices, script: &mut Script) {
    let place = choices.index(script.beats.len());
    match choices.below(100) {
        0..=54 => {
            let error = drawn_error(choices);
            script.beats.truncate(place);
            script.beats.push_back(Beat::Break(Some(error)));
        }
        55..=74 => {
            script.beats.truncate(place.max(1));
            script.beats.push_back(Beat::Break(None));
            script.marks.push(Mark::BrokeOff);
        }
        75..=86 => {
            let garbage = match choices.below(3) {
                0 => Delta::Fragment { block: BlockIndex(99), text: "?".into() },
                1 => Delta::Begin { block: BlockIndex(77), kind: BlockKind::Text },
                _ => Delta::Started(Metadata::new()),
            };
            script.beats.insert(place.max(2), Beat::Delta(garbage));
            script.marks.push(Mark::Garbage);
        }
        87..=98 => {
            script.beats.truncate(place.max(1));
            script.beats.push_back(Beat::Hang);
            script.marks.push(Mark::Hung);
        }
        _ => {
            let text = "far too much ".repeat(90_000).into();
            let fragment = Delta::Fragment { block: BlockIndex(0), text };
            let begin = Delta::Begin { block: BlockIndex(0), kind: BlockKind::Text };
            script.beats.truncate(2);
            script.beats.extend([Beat::Delta(begin), Beat::Delta(fragment)]);
            script.beats.push_back(Beat::Break(None));
            script.marks.push(Mark::Huge);
        }
    }
}

fn drawn_error(choices: &mut Choices) -> ProviderError {
    let kinds = [
        FailureKind::Busy,
        FailureKind::Busy,
        FailureKind::Protocol,
        FailureKind::Unreachable,
        FailureKind::Unreachable,
        FailureKind::ContextTooLong,
        FailureKind::Unauthorised,
        FailureKind::QuotaSpent,
        FailureKind::Refused,
    ];
    let kind = choices.pick(&kinds).copied().unwrap_or(FailureKind::Busy);
    let retry_after_ms = choices.percent(30).then(|| choices.below(4_000));
    error(kind, retry_after_ms)
}

/// An error of a kind.
pub(super) fn error(kind: FailureKind, retry_after_ms: Option<u64>) -> ProviderError {
    ProviderError {
        provider: "simulated".into(),
        kind,
        retry_after_ms,
        limit_tokens: None,
        message: "it went wrong".to_owned(),
        metadata: Metadata::new(),
        source: None,
    }
}
