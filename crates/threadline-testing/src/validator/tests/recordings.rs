//! Real requests: those that were answered are taken, those that broke a rule are refused.
//!
//! The recordings are not part of the repository; without them this says so and is skipped.
#![allow(clippy::disallowed_methods, reason = "the environment says where the recordings are")]

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// The folder of the recordings, if there is one here.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("THREADLINE_RECORDINGS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let found = named.or(Some(beside)).filter(|folder| folder.is_dir());
    let required = std::env::var("THREADLINE_TEST_REQUIRE").unwrap_or_default();
    assert!(found.is_some() || !required.contains("recordings"), "there are no recordings here");
    if found.is_none() {
        println!("skipped: there are no recordings here");
    }
    found
}

/// A request that was really sent.
struct Sent {
    /// Where it is recorded.
    case: String,
    dialect: WireDialect,
    body: String,
    /// The status of the answer, and the answer.
    status: u64,
    answer: String,
}

/// Every request that was recorded with its answer.
fn sent(folder: &Path) -> Vec<Sent> {
    let mut all = Vec::new();
    for provider in fs::read_dir(folder).unwrap() {
        let provider = provider.unwrap().path();
        let files = if provider.is_dir() { fs::read_dir(&provider).unwrap() } else { continue };
        for file in files.map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|ending| ending == "json") {
                let recording: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                let lone = [recording.clone()];
                let cases = recording["cases"].as_array().map_or(lone.as_slice(), Vec::as_slice);
                all.extend(cases.iter().flat_map(|case| sent_in(&file, case)));
            }
        }
    }
    all.sort_by(|one, other| one.case.cmp(&other.case));
    all
}

/// The requests of one case.
fn sent_in(file: &Path, case: &Value) -> Vec<Sent> {
    let interactions = case["interactions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let requests = interactions.iter().filter_map(|interaction| {
        let (request, response) = (&interaction["request"], &interaction["response"]);
        let address = request["url"].as_str().or(request["path"].as_str())?;
        let address = address.split('?').next().unwrap_or_default();
        let dialect = match address {
            chat if chat.ends_with("/chat/completions") => WireDialect::OpenAiChat,
            responses if responses.ends_with("/responses") => WireDialect::OpenAiResponses,
            messages if messages.ends_with("/messages") => WireDialect::Anthropic,
            _ => WireDialect::Gemini,
        };
        Some(Sent {
            case: format!("{} {}", file.display(), case["id"].as_str().unwrap_or_default()),
            dialect,
            body: request["body"].as_str()?.to_owned(),
            status: response["status"].as_u64()?,
            answer: response["body"].as_str().unwrap_or_default().to_owned(),
        })
    });
    requests.collect()
}

/// What is known of the server that a request went to.
fn server(sent: &Sent) -> Server {
    let mut server = Server::lenient();
    if sent.body.contains("deepseek") {
        server.extra_fields = vec!["thinking".to_owned()];
        server.message_fields = vec!["reasoning_content".to_owned()];
        server.thinking_required_back = true;
        server.forced_choice_refused = sent.body.contains(r#""thinking":{"type":"enabled"}"#);
    }
    server
}

#[test]
fn requests_that_were_answered_are_taken() {
    let Some(folder) = folder() else { return };
    let all = sent(&folder);
    let answered: Vec<_> = all.iter().filter(|sent| sent.status == 200).collect();
    assert!(answered.len() >= 25, "only {} requests were found", answered.len());
    for sent in answered {
        let violations = check(sent.dialect, &server(sent), sent.body.as_bytes());
        assert_eq!(violations, [], "{}", sent.case);
    }
}

/// What a service said when a rule was broken, and the rule.
const SAID: [(&str, &str); 5] = [
    ("`tool_use` ids were found without", "calls-come-last"),
    ("temperature: range: 0..1", "sampling-is-in-range"),
    ("too many optional parameters", "strict-tools-are-few"),
    ("decimal above maximum value", "sampling-is-in-range"),
    ("does not support this tool_choice", "no-forced-call"),
];

#[test]
fn requests_that_broke_a_rule_are_refused_by_it() {
    let Some(folder) = folder() else { return };
    let all = sent(&folder);
    for (said, rule) in SAID {
        let mut refused =
            all.iter().filter(|sent| sent.status == 400 && sent.answer.contains(said)).peekable();
        assert!(refused.peek().is_some(), "nobody said {said}");
        for sent in refused {
            let violations = check(sent.dialect, &server(sent), sent.body.as_bytes());
            let rules: BTreeSet<_> = violations.iter().map(|violation| violation.rule).collect();
            assert_eq!(rules, BTreeSet::from([rule]), "{}", sent.case);
        }
    }
}
