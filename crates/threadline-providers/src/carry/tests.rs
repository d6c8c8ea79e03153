//! Tests of carrying: contexts told part by part, and what becomes of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::{
    Body, Context, InputPart, Level, OutputPart, Part, ResultPart, ResultsPart, Screen, Source,
    System,
};
use threadline_core::history::fact::{
    Attachment, Block, CallOptions, Digest, Foreign, Invocation, Purpose, Status, Stop, Text,
    ThinkingBlock, ToolCall,
};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{
    AnswerForm, MediaSupport, Profile, Request, Target, ToolChoice, ToolSupport,
};
use threadline_core::tool::Catalogue;

use super::*;
use crate::quirks::{IdRule, Quirks};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// A context and whom it is carried to.
struct Case {
    parts: Vec<Part>,
    profile: Profile,
    quirks: Quirks,
    dialect: &'static str,
}

impl Case {
    fn new() -> Self {
        let profile = Profile { tools: ToolSupport::SideBySide, ..Profile::unknown() };
        let quirks = Quirks::default();
        Self { parts: Vec::new(), profile, quirks, dialect: "openai-chat" }
    }

    fn part(mut self, body: Body) -> Self {
        let source = Source::Entry(Seq(u64::try_from(self.parts.len()).unwrap() + 1));
        self.parts.push(Part { source, level: Level::Live, tokens: 0, body });
        self
    }

    fn says(self, text: &str) -> Self {
        self.attaches(text, &[])
    }

    fn attaches(self, text: &str, attachments: &[Attachment]) -> Self {
        let attachments = attachments.to_vec();
        self.part(Body::Input(InputPart { text: text.into(), attachments, screen: None }))
    }

    fn screen(mut self, text: &str) -> Self {
        let shown = Some(Screen { text: text.into(), tokens: 0 });
        match &mut self.parts.last_mut().unwrap().body {
            Body::Input(input) => input.screen = shown,
            Body::Results(results) => results.screen = shown,
            Body::Output(_) => panic!("no screen on outputs"),
        }
        self
    }

    fn output(self, model: &str, stop: Stop, blocks: &[Block]) -> Self {
        let invocation = invocation(model, self.dialect);
        let blocks = blocks.to_vec();
        self.part(Body::Output(OutputPart { invocation, blocks, stop }))
    }

    fn own(self, blocks: &[Block]) -> Self {
        self.output("mine", Stop::Done, blocks)
    }

    fn other(self, blocks: &[Block]) -> Self {
        self.output("other", Stop::Done, blocks)
    }

    /// The results of the output right before, by its calls' indexes.
    fn results(self, results: &[(u32, Status, &str, &[Attachment])]) -> Self {
        let output = Seq(u64::try_from(self.parts.len()).unwrap());
        let results = results.iter().map(|(index, status, text, attachments)| ResultPart {
            call: CallId { output, index: *index },
            name: "look".into(),
            entry: Seq(output.0 + 1),
            status: *status,
            text: (*text).into(),
            attachments: attachments.to_vec(),
            level: Level::Live,
            tokens: 0,
        });
        let results = results.collect();
        self.part(Body::Results(ResultsPart { results, screen: None }))
    }

    fn told(&self) -> String {
        let target = Target {
            name: "mine".into(),
            invocation: invocation("mine", self.dialect),
            profile: self.profile.clone(),
            unusable: None,
        };
        let request = Request {
            target: Arc::new(target),
            purpose: Purpose::Step,
            context: Arc::new(Context { system: System::default(), parts: self.parts.clone() }),
            media: BTreeMap::from([(Digest::of(PNG), Arc::from(PNG))]),
            catalogue: Arc::new(Catalogue::default()),
            choice: ToolChoice::Free,
            form: AnswerForm::Text,
            options: CallOptions::default(),
            cache_key: None,
        };
        tell(&carry(&request, &self.quirks))
    }
}

fn invocation(model: &str, dialect: &str) -> Invocation {
    Invocation {
        provider: "test".into(),
        endpoint: "here".into(),
        account: None,
        dialect: dialect.into(),
        model: model.into(),
    }
}

fn text(text: &str) -> Block {
    Block::Text(Text { text: text.into(), state: None })
}

fn thinks(text: &str, state: &str) -> Block {
    Block::Thinking(ThinkingBlock { text: text.into(), state: Some(state.into()) })
}

fn calls(id: Option<&str>, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: id.map(Into::into),
        complete: true,
        state: None,
    })
}

fn image() -> Attachment {
    Attachment {
        digest: Digest::of(PNG),
        size: 12,
        media_type: "image/png".into(),
        name: Some("dog.png".into()),
        extent: None,
    }
}

fn sees(in_results: bool) -> Vec<MediaSupport> {
    let media_type = "image/png".into();
    vec![MediaSupport { media_type, cap_bytes: 1_000_000, tokens: 1_000, in_results }]
}

/// A carried conversation, a line for each turn.
fn tell(carried: &Carried<'_>) -> String {
    let mut out = String::new();
    for turn in &carried.turns {
        match turn {
            Turn::User(pieces) => {
                out.push_str("user:");
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => write!(out, " {text:?}").unwrap(),
                        Piece::Media(media) => write!(out, " <{}>", media.media_type).unwrap(),
                        Piece::Screen(text) => write!(out, " screen {text:?}").unwrap(),
                    }
                }
            }
            Turn::Model(turn) => {
                out.push_str(if turn.own { "own" } else { "model" });
                out.push_str(if turn.current { " now:" } else { ":" });
                for said in &turn.blocks {
                    match said {
                        Said::Thinking { text, state } => {
                            write!(out, " thinks {text:?} {state:?}").unwrap();
                        }
                        Said::Text { text, .. } => write!(out, " {text:?}").unwrap(),
                        Said::Call(call) => {
                            write!(out, " {}={}{}", call.id, call.name, call.arguments.get())
                                .unwrap();
                        }
                        Said::Foreign { kind, state } => write!(out, " {kind} {state}").unwrap(),
                    }
                }
            }
            Turn::Results(results) => {
                out.push_str("results:");
                for result in results {
                    let failed = if result.failed { " failed" } else { "" };
                    write!(out, " {}{failed} {:?}", result.id, result.text).unwrap();
                    for media in &result.media {
                        write!(out, " <{}>", media.media_type).unwrap();
                    }
                }
            }
        }
        out.push('\n');
    }
    if carried.goes_on {
        out.push_str("goes on\n");
    }
    for repair in &carried.repairs {
        let entry = repair.entry.map(|seq| seq.0);
        writeln!(out, "mended {entry:?}: {}", repair.what).unwrap();
    }
    out
}

#[test]
fn thinking_goes_back_to_its_origin_alone() {
    let said = [thinks("hm", "sig"), text("Looking."), calls(Some("c-1"), "look", r#"{"x":1}"#)];
    let foreign = Block::Foreign(Foreign {
        kind: "web_search".into(),
        text: "found it".into(),
        state: "{}".into(),
    });
    let case = Case::new().says("go").own(&said).results(&[(0, Status::Success, "ok", &[])]);
    let case =
        case.other(&[thinks("no", "sig"), calls(Some("c-1"), "look", "{}"), foreign.clone()]);
    let case = case.results(&[(0, Status::Failed, "dark", &[])]);
    let case = case.own(&[foreign, text("Done.")]).says("and now?");
    insta::assert_snapshot!(case.told(), @r#"
    user: "go"
    own: thinks "hm" Some("sig") "Looking." c-1=look{"x":1}
    results: c-1 "ok"
    model: "found it" call_4_0=look{}
    results: call_4_0 failed "dark"
    own: web_search {} "Done."
    user: "and now?"
    "#);
}

#[test]
fn a_call_has_one_id_whoever_made_it() {
    let twice = [calls(Some("same"), "look", "{}"), calls(Some("same"), "look", "{}")];
    let done: &[(u32, Status, &str, &[Attachment])] =
        &[(1, Status::Success, "second", &[]), (0, Status::Success, "first", &[])];
    let case = Case::new().says("go").own(&twice).results(done);
    insta::assert_snapshot!(case.told(), @r#"
    user: "go"
    own now: same=look{} call_2_1=look{}
    results: same "first" call_2_1 "second"
    "#);
    let quirks = Quirks { ids: IdRule::NineAlphanumeric, ..Quirks::default() };
    insta::assert_snapshot!(Case { quirks, ..case }.told(), @r#"
    user: "go"
    own now: 000000002=look{} 010000002=look{}
    results: 000000002 "first" 010000002 "second"
    "#);
}

#[test]
fn arguments_are_always_an_object_and_names_always_fit() {
    let odd = [
        calls(None, "files.read", ""),
        calls(None, "look", r#"{"cut": "of"#),
        calls(None, "look", "[1]"),
        calls(None, "look", " {\"a\": 12345678901234567890123} "),
    ];
    let case = Case::new().says("go").other(&odd).results(&[(0, Status::Success, "", &[])]);
    insta::assert_snapshot!(case.told(), @r#"
    user: "go"
    model now: call_2_0=files_read{} call_2_1=look{} call_2_2=look{} call_2_3=look{"a": 12345678901234567890123}
    results: call_2_0 "" call_2_1 failed "interrupted: no result was recorded" call_2_2 failed "interrupted: no result was recorded" call_2_3 failed "interrupted: no result was recorded"
    mended Some(2): arguments that are no object are sent as an empty one
    mended Some(2): arguments that are no object are sent as an empty one
    mended Some(2): a call without a result is told as interrupted
    mended Some(2): a call without a result is told as interrupted
    mended Some(2): a call without a result is told as interrupted
    "#);
}

#[test]
fn arguments_that_are_no_json_go_out_repaired() {
    let recorded = |arguments: &str, repaired: &str| {
        let Block::ToolCall(call) = calls(None, "look", arguments) else { unreachable!() };
        Block::ToolCall(ToolCall { repaired: Some(repaired.into()), ..call })
    };
    let odd = [
        recorded(r#"{"a":1,}"#, r#"{"a":1}"#),
        recorded(r#"{"a":2,}"#, "no JSON"),
        recorded(r#"{"a": 3}"#, r#"{"a":3}"#),
        recorded("[4,]", "[4]"),
        calls(None, "look", "{a: 'x', \"b\": [True,],}"),
        calls(None, "look", r#"{"a":"x\ud83d"}"#),
        calls(None, "look", r#"{"a":"x\ud83d",}"#),
    ];
    let told = Case::new().says("go").own(&odd).told();
    let called = told.lines().find(|line| line.contains("=look")).unwrap();
    let sent: Vec<&str> = called.split(" call_2_").skip(1).collect();
    assert_eq!(
        sent,
        [
            r#"0=look{"a":1}"#,
            r#"1=look{"a":2}"#,
            r#"2=look{"a": 3}"#,
            "3=look{}",
            r#"4=look{"a":"x","b":[true]}"#,
            r#"5=look{"a":"x\ufffd"}"#,
            "6=look{\"a\":\"x\u{fffd}\"}",
        ]
    );
    let notes = |words: &str| told.lines().filter(|line| line.contains(words)).count();
    assert_eq!(notes("are sent in their repaired form"), 4);
    assert_eq!(notes("are sent as an empty one"), 1);
    assert_eq!(notes("sent as a replacement character"), 1);
}

#[test]
fn media_stand_where_the_model_takes_them() {
    let look = [calls(None, "look", "{}")];
    let shows: &[(u32, Status, &str, &[Attachment])] = &[(0, Status::Success, "a dog", &[image()])];
    let case = || {
        let case = Case::new().attaches("see", &[image()]).own(&look).results(shows);
        case.screen("# [Live Screen]")
    };
    let profile = |media| Profile { media, ..case().profile };
    insta::assert_snapshot!(case().told(), @r##"
    user: "see" "[dog.png: image/png, 12 bytes, not shown]"
    own now: call_2_0=look{}
    results: call_2_0 "a dog\n[dog.png: image/png, 12 bytes, not shown]"
    user: screen "# [Live Screen]"
    "##);
    let inside = Case { profile: profile(sees(true)), ..case() };
    insta::assert_snapshot!(inside.told(), @r##"
    user: "see" <image/png>
    own now: call_2_0=look{}
    results: call_2_0 "a dog" <image/png>
    user: screen "# [Live Screen]"
    "##);
    let after = Case { profile: profile(sees(false)), ..case() };
    insta::assert_snapshot!(after.told(), @r##"
    user: "see" <image/png>
    own now: call_2_0=look{}
    results: call_2_0 "a dog\n[dog.png: image/png, 12 bytes, shown below]"
    user: <image/png> screen "# [Live Screen]"
    "##);
    let quirks = Quirks { user_after_tool: false, ..Quirks::default() };
    insta::assert_snapshot!(Case { quirks, ..after }.told(), @r##"
    user: "see" <image/png>
    own now: call_2_0=look{}
    results: call_2_0 "a dog\n[dog.png: image/png, 12 bytes, not shown]"
    user: screen "# [Live Screen]"
    "##);
}

#[test]
fn bytes_that_are_not_what_they_say_are_only_named() {
    let lies = Attachment { media_type: "image/jpeg".into(), ..image() };
    let mut case = Case::new().attaches("see", &[lies]);
    case.profile.media = sees(true);
    case.profile.media[0].media_type = "image/jpeg".into();
    insta::assert_snapshot!(case.told(), @r#"user: "see" "[dog.png: image/jpeg, 12 bytes, not shown]""#);
}

#[test]
fn what_was_refused_is_not_shown_again() {
    let look = [text("I will not"), calls(None, "look", "{}")];
    let case = Case::new().says("bad").output("mine", Stop::Refusal, &look);
    let case = case.results(&[(0, Status::Skipped, "never", &[])]).says("sorry");
    insta::assert_snapshot!(case.told(), @r#"
    user: "bad" "sorry"
    mended Some(2): what was refused or filtered is not shown again
    "#);
}

#[test]
fn models_without_tools_read_of_calls_and_those_with_one_at_a_time_see_them_so() {
    let both =
        [thinks("hm", "s"), text("Both."), calls(None, "look", "{}"), calls(None, "ask", "{}")];
    let done: &[(u32, Status, &str, &[Attachment])] =
        &[(0, Status::Success, "first", &[]), (1, Status::Failed, "second", &[])];
    let case = || Case::new().says("go").other(&both).results(done).screen("# [Live Screen]");
    let profile = |tools| Profile { tools, ..Profile::unknown() };
    insta::assert_snapshot!(Case { profile: profile(ToolSupport::None), ..case() }.told(), @r##"
    user: "go"
    model: "Both." "[called look {}]" "[called ask {}]"
    user: "[look: first]" "[ask failed: second]" screen "# [Live Screen]"
    "##);
    insta::assert_snapshot!(Case { profile: profile(ToolSupport::OneByOne), ..case() }.told(), @r##"
    user: "go"
    model now: "Both." call_2_0=look{}
    results: call_2_0 "first"
    model now: call_2_1=ask{}
    results: call_2_1 failed "second"
    user: screen "# [Live Screen]"
    mended Some(2): calls that were made side by side are shown one by one
    "##);
}

#[test]
fn a_conversation_begins_and_ends_with_a_user() {
    let case = Case::new().own(&[text("I was here first.")]);
    insta::assert_snapshot!(case.told(), @r#"
    user: "[The conversation goes on from here.]"
    own: "I was here first."
    user: "Go on."
    mended Some(1): a line stands before what a model said first
    mended Some(1): a line asks the model to go on
    "#);
    insta::assert_snapshot!(Case::new().told(), @r#"
    user: "Go on."
    mended None: a line asks the model to go on
    "#);
    let empty = Case::new().says("  ").own(&[text(" \n")]).own(&[thinks("only", "s")]);
    insta::assert_snapshot!(empty.told(), @r#"
    user: "Go on."
    mended None: a line asks the model to go on
    "#);
    let mixed = Case::new().says("go").other(&[text("a")]).own(&[text("b")]).own(&[text("c")]);
    insta::assert_snapshot!(mixed.says("and").told(), @r#"
    user: "go"
    model: "a"
    user: "Go on."
    own: "b" "c"
    user: "and"
    mended Some(3): a line stands between two models that spoke in a row
    "#);
}

#[test]
fn a_paused_model_goes_on_where_it_can() {
    let case = |dialect| {
        let case = Case { dialect, ..Case::new() };
        case.says("go").output("mine", Stop::Paused, &[text("Searching…")])
    };
    insta::assert_snapshot!(case("anthropic").told(), @r#"
    user: "go"
    own now: "Searching…"
    goes on
    "#);
    insta::assert_snapshot!(case("gemini").told(), @r#"
    user: "go"
    own: "Searching…"
    user: "Go on."
    mended Some(2): a line asks the model to go on
    "#);
}

#[test]
fn pairs_that_lost_a_half_are_told() {
    let case = Case::new().says("go").own(&[calls(None, "look", "{}"), text("after")]);
    insta::assert_snapshot!(case.says("what?").told(), @r#"
    user: "go"
    own now: call_2_0=look{} "after"
    results: call_2_0 failed "interrupted: no result was recorded"
    user: "what?"
    mended Some(2): a call without a result is told as interrupted
    "#);
    let orphan = Case::new().says("go").says("on").results(&[(0, Status::Success, "lost", &[])]);
    insta::assert_snapshot!(orphan.told(), @r#"
    user: "go" "on" "[look: lost]"
    mended Some(3): a result without its call is told as text
    "#);
}
