//! Recorded answers of real models, which lie beside the repository and are never part of it.
//!
//! A test over them goes `for case in recordings::cases("openai-chat") { … }`; where there are no
//! recordings it says so and passes, unless they are required.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One request and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file it is from, under the folder of recordings.
    pub(crate) file: String,
    /// Its name in that file, with the step; empty for a file of bare events.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) shows: String,
    /// The request's body, if it was recorded.
    pub(crate) request: Option<Value>,
    /// The status, if it was recorded.
    pub(crate) status: Option<u16>,
    /// The headers of the answer.
    pub(crate) headers: Vec<(String, String)>,
    /// The body as it came over the wire; what was kept without its framing is framed again.
    pub(crate) raw: String,
    /// The data of each event, without its framing; none of a body that is not a stream.
    pub(crate) events: Vec<String>,
    /// What a small parser read out of it: a hint, not an oracle.
    pub(crate) facts: Value,
}

impl Case {
    /// Whether it is a stream of events, not an error with a status.
    pub(crate) fn is_stream(&self) -> bool {
        self.status.is_none_or(|status| status == 200) && !self.events.is_empty()
    }
}

/// The cases of a folder, by file and place; none, with a word about it, if nothing is recorded.
pub(crate) fn cases(folder: &str) -> Vec<Case> {
    let Some(root) = root() else {
        assert!(!required(), "THREADLINE_RECORDINGS must name the folder of the recordings");
        eprintln!("skipped: there are no recordings of {folder} here");
        return Vec::new();
    };
    let facts = read_json(&root.join("FACTS.json"));
    let mut files: Vec<PathBuf> =
        fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let all: Vec<Case> = files.iter().flat_map(|file| read(&root, file, &facts)).collect();
    assert!(!all.is_empty(), "{folder} has no recordings");
    all
}

/// The data of every whole event of a stream, without its framing.
pub(crate) fn unframed(raw: &str) -> Vec<String> {
    let raw = raw.replace("\r\n", "\n").replace('\r', "\n");
    let Some((whole, _)) = raw.rsplit_once("\n\n") else { return Vec::new() };
    let data = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    whole.split("\n\n").map(data).filter(|data| !data.is_empty()).collect()
}

/// Events as they come over the wire.
pub(crate) fn framed(events: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let events = events.into_iter();
    events
        .flat_map(|data| ["data: ".to_owned(), data.as_ref().to_owned(), "\n\n".to_owned()])
        .collect()
}

fn read(root: &Path, file: &Path, facts: &Value) -> Vec<Case> {
    let name = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let facts = &facts[&name];
    if name.ends_with(".chunks.txt") {
        let text = fs::read_to_string(file).unwrap();
        let events: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let case = Case {
            id: String::new(),
            shows: String::new(),
            request: None,
            status: None,
            headers: Vec::new(),
            raw: framed(events.iter().copied()),
            events: events.into_iter().map(str::to_owned).collect(),
            facts: facts[""].clone(),
            file: name,
        };
        return vec![case];
    }
    let all = read_json(file);
    let cases = all["cases"].as_array().cloned().unwrap_or_else(|| vec![all.clone()]);
    let case = |case: &Value| {
        let id = case["id"].as_str().unwrap_or_default().to_owned();
        let steps = case["interactions"].as_array().unwrap().clone();
        let shows = case["shows"].as_str().unwrap_or_default().to_owned();
        let read = move |(step, interaction): (usize, &Value)| {
            let id = format!("{id}#{step}");
            (facts[&id].clone(), id, shows.clone(), interaction.clone())
        };
        steps.iter().enumerate().map(read).collect::<Vec<_>>()
    };
    let told = cases.iter().flat_map(case);
    told.map(|(facts, id, shows, interaction)| {
        interaction_case(&name, id, shows, facts, &interaction)
    })
    .collect()
}

fn interaction_case(
    file: &str,
    id: String,
    shows: String,
    facts: Value,
    interaction: &Value,
) -> Case {
    let response = &interaction["response"];
    let lines = response["payload_lines"].as_array();
    let raw = match lines {
        Some(lines) => framed(lines.iter().map(|line| line.as_str().unwrap())),
        None => response["body"].as_str().unwrap_or_default().to_owned(),
    };
    let headers = response["headers"].as_object().into_iter().flatten();
    let body = interaction["request"]["body"].as_str();
    Case {
        file: file.to_owned(),
        id,
        shows,
        request: body.and_then(|body| serde_json::from_str(body).ok()),
        status: response["status"].as_u64().map(|status| u16::try_from(status).unwrap()),
        headers: headers
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        events: unframed(&raw),
        raw,
        facts,
    }
}

fn read_json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "what lies beside the repository is told so")]
fn root() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let root = std::env::var_os("THREADLINE_RECORDINGS").map_or_else(beside, PathBuf::from);
    root.is_dir().then_some(root)
}

#[expect(clippy::disallowed_methods, reason = "what a test run must not skip is told so")]
fn required() -> bool {
    std::env::var("THREADLINE_TEST_REQUIRE").is_ok_and(|all| all.contains("recordings"))
}

#[test]
fn what_is_framed_is_unframed() {
    let raw = ": a comment\r\n\r\nevent: x\r\ndata:{\"a\":1}\r\ndata: 2\r\n\r\ndata: [DONE]\r\n\r\ndata: cut";
    assert_eq!(unframed(raw), ["{\"a\":1}\n2", "[DONE]"]);
    assert_eq!(unframed(&framed(["a", "b"])), ["a", "b"]);
}

#[test]
fn every_stream_has_events_and_every_case_has_facts() {
    for folder in ["anthropic", "gemini", "openai-chat", "openai-compatible", "openai-responses"] {
        for case in cases(folder) {
            let Case { file, id, shows, .. } = &case;
            assert!(!case.raw.is_empty(), "{file} {id}: {shows}");
            assert!(case.is_stream() || !case.raw.starts_with("data:"), "{file} {id}: {case:?}");
            if let (true, Some(events)) = (case.is_stream(), case.facts["events"].as_u64()) {
                let data = case.events.iter().filter(|data| *data != "[DONE]").count();
                assert_eq!(data as u64, events, "{file} {id}");
            }
            let is_chat_request = case.request.as_ref().is_none_or(Value::is_object);
            assert!(is_chat_request, "{file} {id}");
            assert!(case.headers.iter().all(|(name, _)| !name.is_empty()), "{file} {id}");
        }
    }
}
