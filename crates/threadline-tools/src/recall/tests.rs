//! Stories, and what is recalled of them.

use std::sync::Arc;

use proptest::prelude::*;
use threadline_core::history::fact::{Attachment, Digest, Input};
use threadline_core::history::path::Path;
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{AgentId, CallId};
use threadline_core::store::Direction;
use threadline_core::tool::{Schema, ThreadReader};
use threadline_testing::notation;

use super::*;
use crate::testing::context;

/// Reads an agent's thread of a story, as a store does.
struct Thread {
    entries: Vec<Entry>,
    agent: AgentId,
    until: Seq,
}

impl Thread {
    fn own(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let rewinds = self.entries.iter();
        let rewinds = rewinds.filter_map(|entry| Some((entry.seq, entry.fact.rewinds_to()?)));
        let rewinds = rewinds.filter(|(at, _)| *at <= self.until).collect::<Vec<_>>();
        let path = Path::new(self.until, &rewinds);
        let own = self.entries.iter().filter(|entry| entry.agent == self.agent);
        own.filter(move |entry| path.contains(entry.seq))
    }
}

#[async_trait]
impl ThreadReader for Thread {
    async fn entry(&self, seq: Seq) -> Result<Option<Entry>, StoreError> {
        Ok(self.own().find(|entry| entry.seq == seq).cloned())
    }

    async fn page(
        &self,
        from: Seq,
        direction: Direction,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        assert_eq!(direction, Direction::Backward);
        let back = self.own().rev().filter(|entry| entry.seq <= from);
        Ok(back.take(most).cloned().collect())
    }

    async fn search(
        &self,
        text: &str,
        before: Option<Seq>,
        most: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let phrases = search::phrases(text);
        let older = self.own().rev().filter(|entry| before.is_none_or(|seq| entry.seq < seq));
        let found = older.filter(|entry| {
            let text = search::text_of(entry).unwrap_or_default();
            search::matches(&search::terms(&text), &phrases)
        });
        Ok(found.take(most).map(|entry| entry.seq).collect())
    }

    async fn attachment(
        &self,
        _of: Seq,
        _digest: Digest,
        _offset: u64,
        _most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

/// A story whose last entry calls the tool.
struct Scene {
    context: ToolContext,
}

impl Scene {
    fn of(story: &str) -> Self {
        Self::with(notation::parse(story).unwrap().entries().cloned().collect())
    }

    fn with(entries: Vec<Entry>) -> Self {
        let last = entries.last().unwrap();
        let (output, agent) = (last.seq, last.agent);
        let thread = Arc::new(Thread { entries, agent, until: output });
        let call = CallId::new(output, 0);
        Self { context: ToolContext { agent, call, thread, ..context() } }
    }

    async fn outcome(&self, arguments: &str) -> ToolOutcome {
        Recall::new().call(arguments, &self.context).await
    }

    /// What a model sees of a result, or why there is none.
    async fn at(&self, arguments: &str, level: Level) -> String {
        let outcome = self.outcome(arguments).await;
        let text = render(&outcome.result().sections, level).into_owned();
        match outcome {
            ToolOutcome::Success(_) => text,
            ToolOutcome::Failed(_) => format!("FAILED {text}"),
            ToolOutcome::NoAnswer(_) => panic!("{text}"),
        }
    }

    async fn live(&self, arguments: &str) -> String {
        self.at(arguments, Level::Live).await
    }

    /// The whole and the line of each of some calls.
    async fn told(&self, calls: &[&str]) -> String {
        let mut told = Vec::new();
        for call in calls {
            let (live, recent) = (self.live(call).await, self.at(call, Level::Recent).await);
            assert_eq!(recent, self.at(call, Level::Gist).await);
            assert!(!recent.contains('\n'), "{recent}");
            told.push(format!("> {call}\n{live}\n= {recent}"));
        }
        told.join("\n")
    }
}

const TALK: &str = r#"
@ planner joins primary tools=weather,notes,recall
@ planner instruction: be brief
user: what is the weather in Oslo?
    I go there on Friday.
planner asks scripted/m1
planner: let me look → weather {"city":"Oslo"} | notes {}
weather c5.0 starts read
weather c5.0 ok: 4 °C, rain
notes c5.1 failed: the notes are gone
planner results
planner: It rains in Oslo.
user: and in Rome?
planner: → weather {"city": "Rome"}
weather c12.0 ok: sun
planner results
planner ends cancelled: the turn was cancelled
planner recap 3..10: Oslo has rain
user: what was that about Oslo?
planner: → recall {"query":"Oslo"}
"#;

#[tokio::test]
async fn every_kind_of_entry_is_told() {
    let seqs = [1, 2, 3, 4, 5, 7, 9, 10, 12, 14, 15, 16].map(|seq| format!(r#"{{"seq":{seq}}}"#));
    let calls = seqs.iter().map(String::as_str).collect::<Vec<_>>();
    insta::assert_snapshot!(Scene::of(TALK).told(&calls).await, @r#"
    > {"seq":1}
    entry 1 is a change of your settings: models do not see it, and it has nothing to read
    = entry 1 is a change of your settings: models do not see it, and it has nothing to read
    > {"seq":2}
    [entry 2, your instruction, 2026-01-01 00:00]
    be brief
    = recall of 2 (instruction): be brief
    > {"seq":3}
    [entry 3, an input of a person, 2026-01-01 00:00]
    what is the weather in Oslo?
    I go there on Friday.
    = recall of 3 (input of a person): what is the weather in Oslo? I go there on Friday.
    > {"seq":4}
    entry 4 is a question to a model: models do not see it, and it has nothing to read
    = entry 4 is a question to a model: models do not see it, and it has nothing to read
    > {"seq":5}
    [entry 5, your output with 2 calls, 2026-01-01 00:00]
    let me look

    [call of weather] {"city":"Oslo"}

    [call of notes] {}
    = recall of 5 (output with 2 calls): let me look [call of weather] {"city":"Oslo"} [call of notes] {}
    > {"seq":7}
    [entry 7, a result of weather, success, 2026-01-01 00:00]
    4 °C, rain
    = recall of 7 (result of weather, success): 4 °C, rain
    > {"seq":9}
    [entry 9, the results of weather, notes, 2026-01-01 00:00]
    [entry 7, a result of weather, success]
    4 °C, rain

    [entry 8, a result of notes, failed]
    the notes are gone
    = recall of 9 (results of weather, notes): [entry 7, a result of weather, success] 4 °C, rain [entry 8, a result of notes,…
    > {"seq":10}
    [entry 10, your answer, 2026-01-01 00:00]
    It rains in Oslo.
    = recall of 10 (answer): It rains in Oslo.
    > {"seq":12}
    [entry 12, your output with 1 call, 2026-01-01 00:00]
    [call of weather] {"city": "Rome"}
    = recall of 12 (output with 1 call): [call of weather] {"city": "Rome"}
    > {"seq":14}
    [entry 14, a result of weather, success, 2026-01-01 00:00]
    sun
    = recall of 14 (result of weather, success): sun
    > {"seq":15}
    [entry 15, the end of a turn without an answer, 2026-01-01 00:00]
    [the turn ended: it was cancelled]
    the turn was cancelled
    = recall of 15 (end of a turn without an answer): [the turn ended: it was cancelled] the turn was cancelled
    > {"seq":16}
    [entry 16, a recap of entries 3 to 10, 2026-01-01 00:00]
    Oslo has rain
    = recall of 16 (recap of entries 3 to 10): Oslo has rain
    "#);
}

#[tokio::test]
async fn what_is_not_its_own_or_does_not_count_is_not_told_from_what_is_not_there() {
    let scene = Scene::of(
        "@ planner joins primary
@ coder joins
@ coder instruction: the secret is 7
user: hello
planner: hi
user: a secret that is taken back
planner: oh
rewind 5
user: what did I say?
planner: → recall {}",
    );
    for seq in ["4", "5", "9"] {
        assert!(scene.live(&format!(r#"{{"seq":{seq}}}"#)).await.starts_with("[entry"), "{seq}");
    }
    let nothing = format!("FAILED {}", not_there());
    let not_its_own = ["2", "3"];
    let rewound = ["6", "7"];
    let not_yet = ["10", "11", "99", "18446744073709551615", "1e99"];
    let nowhere = ["0", "-1", "8"];
    for seq in [&not_its_own[..], &rewound, &not_yet, &nowhere].concat() {
        assert_eq!(scene.live(&format!(r#"{{"seq":{seq}}}"#)).await, nothing, "{seq}");
    }
    for query in ["secret", "7", "taken back", "recall"] {
        let found = scene.live(&format!(r#"{{"query":"{query}"}}"#)).await;
        assert!(found.starts_with("nothing found"), "{found}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_what_would() {
    let scene = Scene::of(TALK);
    let long = format!(r#"{{"query":"{}"}}"#, "a ".repeat(600));
    let calls = [
        "{}",
        r#"{"seq":3,"query":"Oslo"}"#,
        r#"{"query":"Oslo","page":2}"#,
        r#"{"seq":"three"}"#,
        r#"{"seq":3,"page":0}"#,
        r#"{"seq":3,"page":2}"#,
        r#"{"seq":3,"page":1.5}"#,
        r#"{"query":"?!"}"#,
        r#"{"query":7}"#,
        &long,
        "[",
    ];
    let mut told = Vec::new();
    for call in calls {
        told.push(scene.live(call).await);
        assert!(scene.outcome(call).await.result().error.is_some());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    FAILED give seq, the number of the entry to read, or query, words to find entries by
    FAILED give either seq, to read an entry, or query, to find some, not both
    FAILED page goes with seq; give query without it
    FAILED seq is the number of an entry, such as 12
    FAILED page is a whole number from 1 on
    FAILED entry 3 has no page 2: its last page is 1
    FAILED page is a whole number from 1 on
    FAILED the query has no words in it; give some that stand in what you look for
    FAILED the arguments do not fit: invalid type: integer `7`, expected a string at line 1 column 10
    FAILED the query has 1200 bytes, and may have 1000: give fewer words
    FAILED the arguments do not fit: EOF while parsing a list at line 1 column 1
    "#);
    // What models write instead of what they leave out, or of a number.
    for call in [r#"{"seq":"3","query":null,"page":null}"#, r#"{"seq":3,"page":"1"}"#] {
        assert!(scene.live(call).await.starts_with("[entry 3, "));
    }
}

#[tokio::test]
async fn an_entry_comes_in_pages() {
    let mut entries = notation::parse(TALK).unwrap().entries().cloned().collect::<Vec<_>>();
    let mut lines = String::new();
    for n in 1..2000 {
        writeln!(lines, "line {n} of what was said").unwrap();
    }
    let mut long = Input::from_person(lines.as_str());
    long.attachments.push(Attachment {
        digest: Digest::of(b""),
        size: 2_345_678,
        media_type: "image/png".into(),
        extent: None,
        name: Some("cat.png".into()),
    });
    entries[2].fact = long.into();
    let scene = Scene::with(entries);
    let first = scene.live(r#"{"seq":3}"#).await;
    let pages = "page 1 of 6: read on with {\"seq\":3,\"page\":2}]";
    assert!(first.starts_with("[entry 3, an input of a person, 2026-01-01 00:00, page 1 of "));
    assert!(first.ends_with(pages), "{}", &first[first.len() - 90..]);
    let mut read = Vec::new();
    for page in 1..=6 {
        let shown = scene.live(&format!(r#"{{"seq":3,"page":{page}}}"#)).await;
        assert!(shown.len() <= PAGE_CAP_BYTES, "{}", shown.len());
        read.extend(shown.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
        if page == 6 {
            let end = "\n[attachment cat.png, image/png, 2.3 MB]";
            assert!(shown.ends_with(end), "{}", &shown[shown.len() - 90..]);
        }
    }
    assert!(read.iter().eq(lines.lines()), "{} lines", read.len());
    let line = scene.at(r#"{"seq":3,"page":2}"#, Level::Recent).await;
    let head = "recall of 3 (input of a person, page 2 of 6): line ";
    assert!(line.starts_with(head) && line.len() < head.len() + 90, "{line}");
    let beyond = scene.live(r#"{"seq":3,"page":7}"#).await;
    assert_eq!(beyond, "FAILED entry 3 has no page 7: its last page is 6");
}

#[tokio::test]
async fn thinking_is_not_shown_but_said() {
    let scene = Scene::of(
        r#"
@ planner joins primary
user: hello
! #1 output {"blocks":[{"thinking":{"text":"a hidden thought"}},{"text":{"text":"Hi"}},{"foreign":{"kind":"web_search","state":"{}"}}],"invocation":{"provider":"p","endpoint":"e","dialect":"d","model":"m"},"stop":"length"}
user: again
planner: → recall {}
"#,
    );
    insta::assert_snapshot!(scene.live(r#"{"seq":3}"#).await, @r#"
    [entry 3, your answer, 2026-01-01 00:00]
    [thinking is not shown]

    Hi

    [web_search]

    [cut off by the output limit]
    "#);
    let found = scene.live(r#"{"query":"hidden"}"#).await;
    assert!(found.starts_with("nothing found"), "{found}");
}

#[tokio::test]
async fn what_is_found_is_listed_newest_first_without_what_was_recalled() {
    let scene = Scene::of(
        r#"
@ planner joins primary tools=recall
user: my door is red
planner: noted
user: what colour is my door?
planner: → recall {"query":"door"}
recall c5.0 ok: 2 input: my door is red
planner results
planner: Let me see the door once more. → recall {"query":"door"}
recall c8.0 ok: 2 input: my door is red
planner results
planner: Your door is red.
user: and the door of my neighbour?
planner: → recall {"query":"door"}
"#,
    );
    insta::assert_snapshot!(
        scene.told(&[r#"{"query":"Door"}"#, r#"{"query":"\"is red\""}"#, r#"{"query":"blue"}"#])
            .await,
        @r#"
    > {"query":"Door"}
    4 found for "Door", newest first:
    11 answer, 2026-01-01 00:00: Your door is red.
    8 output with 1 call, 2026-01-01 00:00: Let me see the door once more.
    4 input of a person, 2026-01-01 00:00: what colour is my door?
    2 input of a person, 2026-01-01 00:00: my door is red
    [read one with its number, such as {"seq":11}]
    = recall of "Door": 4 found (2, 4, 8, 11)
    > {"query":"\"is red\""}
    2 found for "\"is red\"", newest first:
    11 answer, 2026-01-01 00:00: Your door is red.
    2 input of a person, 2026-01-01 00:00: my door is red
    [read one with its number, such as {"seq":11}]
    = recall of "\"is red\"": 2 found (2, 11)
    > {"query":"blue"}
    nothing found for "blue" before this turn's own question; try fewer or other words
    = recall of "blue": nothing found
    "#
    );
    // What was recalled can be recalled.
    let again = scene.live(r#"{"seq":6}"#).await;
    assert!(again.ends_with("\n2 input: my door is red"), "{again}");
}

#[tokio::test]
async fn many_hits_are_cut_to_the_newest() {
    let mut story = "@ planner joins primary\n".to_owned();
    for n in 1..=40 {
        writeln!(story, "user: tea number {n}\nplanner: noted").unwrap();
    }
    let ten = format!("{story}user: go\nplanner: → recall {{}}");
    let scene = Scene::of(&ten);
    let line = scene.at(r#"{"query":"tea"}"#, Level::Gist).await;
    let seqs = "62, 64, 66, 68, 70, 72, 74, 76, 78, 80";
    assert_eq!(line, format!("recall of \"tea\": more than 10 found ({seqs})"));
    // Those between that are passed over do not stand in for others.
    for _ in 0..40 {
        story.push_str("user: x\nplanner: → recall {\"query\":\"tea\"}\n");
        let output = story.lines().count();
        writeln!(story, "recall c{output}.0 ok: tea tea\nplanner results\nplanner: so").unwrap();
    }
    let scene = Scene::of(&format!("{story}user: go\nplanner: → recall {{}}"));
    assert_eq!(scene.at(r#"{"query":"tea"}"#, Level::Gist).await, line);
}

/// Any JSON, weighted towards what the tool takes.
fn any_arguments() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        (-2i64..25).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| Value::from(number).to_string()),
        "\\PC{0,12}".prop_map(|text| Value::from(text).to_string()),
        "(Oslo|rain|what|\"| ){1,3}".prop_map(|text| Value::from(text).to_string()),
        Just("null".to_owned()),
        Just("[{}]".to_owned()),
        Just("18446744073709551616".to_owned()),
    ];
    let name = prop_oneof![Just("seq"), Just("page"), Just("query"), Just("other")];
    let member = (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let members = proptest::collection::vec(member, 0..4);
    prop_oneof![
        8 => members.prop_map(|members| format!("{{{}}}", members.join(","))),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_arguments_have_an_answer(arguments in any_arguments()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(Scene::of(TALK).outcome(&arguments));
        let [section] = &outcome.result().sections[..] else { panic!("{outcome:?}") };
        prop_assert!(!section.is_blank() && section.text.len() <= PAGE_CAP_BYTES);
        prop_assert!(!section.at(Level::Gist).contains('\n'));
        let one = matches!(outcome, ToolOutcome::Success(_));
        prop_assert_eq!(one, outcome.result().error.is_none());
    }
}

#[test]
fn its_schema_is_one_that_can_be_checked() {
    let schema = Schema::new(&Recall::new().spec().schema).unwrap();
    assert!(schema.validate(r#"{"seq":12}"#).is_ok());
    assert!(schema.validate(r#"{"seq":0}"#).is_ok(), "the tool itself says what is wrong");
    assert!(schema.validate(r#"{"seq":12,"page":0}"#).is_err());
    assert!(schema.validate(r#"{"query":""}"#).is_err());
}
