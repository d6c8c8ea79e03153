//! Requests: what goes back to where it came from, what goes nowhere else, and where screens are.

use std::sync::Arc;

use threadline_core::context::{
    Body, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen, Source,
    System,
};
use threadline_core::history::fact::{Block, CallOptions, Status, Stop};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{Profile, Request, Target, ToolSupport};
use threadline_core::tool::Catalogue;

use super::answers::{assembled, framed};
use super::{Beat, Kind, Skip, Voice};

/// What is asked in the end.
const ASKED: &str = "what is on the table";
/// What a tool found.
const FOUND: &str = "two cups and a plate";
/// What a thought says, and its state.
const THOUGHT: &str = "nobody else reads this";
const STATE: &str = "bm9ib2R5IGVsc2U";
/// What is in a block that nobody has heard of.
const WORD: &str = "shimmer";

/// Sends what each voice says to each voice: panics where a promise is broken, and gives what a
/// voice cannot say.
pub fn requests(voices: &[&dyn Voice]) -> Vec<Skip> {
    let mut skips = Vec::new();
    for from in voices {
        for to in voices {
            let own = from.invocation() == to.invocation();
            let what = format!("{} to {}", from.invocation().dialect, to.invocation().dialect);
            if let Err(skip) = thinking(*from, *to, own, &what)
                && own
            {
                skips.push(skip);
            }
            if let Err(skip) = unknown_block(*from, *to, own, &what)
                && own
            {
                skips.push(skip);
            }
        }
        screens(*from);
    }
    skips
}

/// Thinking and its state go back to the model whose they are, and to no other.
fn thinking(from: &dyn Voice, to: &dyn Voice, own: bool, what: &str) -> Result<(), Skip> {
    let story = [
        Beat::Begin(0, Kind::Thinking),
        Beat::Piece(0, THOUGHT),
        Beat::State(0, STATE),
        Beat::End(0),
        Beat::Begin(1, Kind::Call { id: "c1", name: "look" }),
        Beat::Piece(1, "{}"),
        Beat::End(1),
        Beat::Stop(Stop::Done, super::stories::USAGE),
    ];
    let blocks = said(from, "a thought goes back", &story)?;
    let body = body(to, &[input(ASKED, None), output(from, blocks), results(None)]);
    assert_eq!(body.contains(STATE), own, "{what}: a thought's state\n{body}");
    assert!(own || !body.contains(THOUGHT), "{what}: a thought\n{body}");
    assert!(body.contains(FOUND), "{what}: the result of a call\n{body}");
    Ok(())
}

/// A block that only its provider understands goes back to it whole; others get no such block.
fn unknown_block(from: &dyn Voice, to: &dyn Voice, own: bool, what: &str) -> Result<(), Skip> {
    let story = [
        Beat::Begin(0, Kind::Unknown { kind: "hologram", word: WORD }),
        Beat::End(0),
        Beat::Begin(1, Kind::Text),
        Beat::Piece(1, "Nice."),
        Beat::End(1),
        Beat::Stop(Stop::Done, super::stories::USAGE),
    ];
    let name = "an unknown block goes back";
    let blocks = said(from, name, &story)?;
    let body = body(to, &[input("go on", None), output(from, blocks), input(ASKED, None)]);
    assert!(body.contains("Nice."), "{what}: a text beside a block\n{body}");
    let back = from.takes_unknown_back();
    let expected = own && back.is_ok();
    assert_eq!(body.contains(WORD), expected, "{what}: what is in a block\n{body}");
    let dialect = from.invocation().dialect.to_string();
    back.map_err(|why| Skip { dialect, story: name, why })
}

/// A screen is told once, after all that was said; what is before it stays the same when it changes.
fn screens(voice: &dyn Voice) {
    let what = voice.invocation().dialect;
    let call = [
        Beat::Begin(0, Kind::Call { id: "c1", name: "look" }),
        Beat::Piece(0, "{}"),
        Beat::End(0),
        Beat::Stop(Stop::Done, super::stories::USAGE),
    ];
    let Ok(blocks) = said(voice, "a call goes back", &call) else {
        panic!("{what}: every protocol has calls")
    };
    let with = |screen: &str| {
        let on_input = body(voice, &[input(ASKED, Some(screen))]);
        let parts = [input(ASKED, None), output(voice, blocks.clone()), results(Some(screen))];
        [(ASKED, on_input), (FOUND, body(voice, &parts))]
    };
    for ((last, one), (_, two)) in with("the blue screen").into_iter().zip(with("a red screen")) {
        assert_eq!(one.matches("the blue screen").count(), 1, "{what}: {one}");
        assert_eq!(two.matches("a red screen").count(), 1, "{what}: {two}");
        let said = one.rfind(last).unwrap_or_else(|| panic!("{what}: {last} is lost: {one}"));
        let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
        assert!(said + last.len() <= same, "{what}: the screen comes last: {one}");
    }
}

/// The blocks that a story comes to.
fn said(voice: &dyn Voice, name: &'static str, story: &[Beat]) -> Result<Vec<Block>, Skip> {
    let dialect = voice.invocation().dialect.to_string();
    let events = voice.tell(story).map_err(|why| Skip { dialect, story: name, why })?;
    let stream = framed(&events, "\n", "");
    let heard = voice.read(&[stream.as_bytes()]);
    let answer = assembled(&heard, name).finish();
    Ok(answer.unwrap_or_else(|partial| panic!("{name}: {partial:?}")).blocks)
}

fn body(voice: &dyn Voice, bodies: &[Body]) -> String {
    let parts = bodies.iter().zip(1..).map(|(body, seq)| Part {
        source: Source::Entry(Seq(seq)),
        level: Level::Live,
        tokens: 0,
        body: body.clone(),
    });
    let context = Context { system: System::default(), parts: parts.collect() };
    let profile = Profile { tools: ToolSupport::SideBySide, ..Profile::unknown() };
    let target =
        Target { name: "it".into(), invocation: voice.invocation(), profile, unusable: None };
    let (target, context) = (Arc::new(target), Arc::new(context));
    let mut request = Request::recap(target, context, CallOptions::default());
    request.catalogue = Arc::new(Catalogue::default());
    String::from_utf8(voice.encode(&request)).unwrap()
}

fn input(text: &str, screen: Option<&str>) -> Body {
    Body::Input(InputPart { text: text.into(), attachments: Vec::new(), screen: screen.map(shown) })
}

fn output(voice: &dyn Voice, blocks: Vec<Block>) -> Body {
    Body::Output(OutputPart { invocation: voice.invocation(), blocks, stop: Stop::Done })
}

fn results(screen: Option<&str>) -> Body {
    let result = ResultPart {
        call: CallId { output: Seq(2), index: 0 },
        name: "look".into(),
        entry: Seq(3),
        status: Status::Success,
        text: FOUND.into(),
        attachments: Vec::new(),
        level: Level::Live,
        tokens: 0,
    };
    Body::Results(ResultsPart { results: vec![result], screen: screen.map(shown) })
}

fn shown(text: &str) -> Screen {
    Screen { text: text.into(), tokens: 0 }
}
