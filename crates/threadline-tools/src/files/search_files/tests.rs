//! Tests of the tool: a folder and arguments in, what the model reads out.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Mutex;

use tempfile::TempDir;
use threadline_core::history::sections::Level;

use super::*;
use crate::testing::{at_level, context};

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("src/deep")).unwrap();
    fs::create_dir_all(at(".git")).unwrap();
    fs::write(at(".git/HEAD"), "needle").unwrap();
    fs::write(at("README.md"), "A needle.\nNothing.\r\nNEEDLE again, needle\r\n").unwrap();
    fs::write(at("src/main.rs"), "fn main() {\n\tneedle();\n}\n").unwrap();
    fs::write(at("src/deep/a.txt"), b"caf\xE9 needle\n").unwrap();
    fs::write(at("data.bin"), b"needle\0").unwrap();
    fs::write(at("wide.txt"), b"\xFF\xFEn\0").unwrap();
    symlink("src", at("door")).unwrap();
    symlink("README.md", at("link")).unwrap();
    folder
}

async fn call(folder: &TempDir, arguments: &str) -> ToolOutcome {
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    SearchFiles::new(workspace).call(arguments, &context()).await
}

async fn live(folder: &TempDir, arguments: &str) -> String {
    at_level(&call(folder, arguments).await, Level::Live)
}

#[tokio::test]
async fn lines_are_found_and_what_was_not_searched_is_told() {
    let folder = folder();
    let outcome = call(&folder, r#"{"text":"needle"}"#).await;
    assert_eq!(
        at_level(&outcome, Level::Live),
        "README.md:1: A needle.\nREADME.md:3: NEEDLE again, needle\n\
         src/deep/a.txt:1: caf\u{FFFD} needle\nsrc/main.rs:2: \tneedle();\n\
         [4 matches in 3 files; 3 files searched; not searched: 2 binary, 2 links]"
    );
    assert_eq!(at_level(&outcome, Level::Gist), "searched for \"needle\": 4 found");
}

#[tokio::test]
async fn a_search_is_narrowed_by_folder_names_pattern_and_case() {
    let folder = folder();
    let table = [
        (
            r#"{"text":"needle","path":"src"}"#,
            "src/deep/a.txt:1: caf\u{FFFD} needle\nsrc/main.rs:2: \tneedle();\n\
             [2 matches in 2 files; 2 files searched]",
        ),
        (
            r#"{"text":"needle","names":"*.rs"}"#,
            "src/main.rs:2: \tneedle();\n[1 match; 1 file searched; not searched: 2 links]",
        ),
        (
            r#"{"text":"NEEDLE$","regex":true,"ignore_case":true,"path":"README.md"}"#,
            "README.md:3: NEEDLE again, needle\n[1 match; 1 file searched]",
        ),
        (
            r#"{"text":"needle.","path":"README.md"}"#,
            "README.md:1: A needle.\n[1 match; 1 file searched]",
        ),
        (r#"{"text":"zzz","path":"src"}"#, "[nothing found for \"zzz\" in src; 2 files searched]"),
        (
            r#"{"text":"needle","path":"src","offset":2}"#,
            "src/main.rs:2: \tneedle();\n[matches 2 to 2: the end; 2 files searched]",
        ),
        (
            r#"{"text":"needle","path":"src","offset":3}"#,
            "there is no match 3: there are 2; 2 files searched",
        ),
        (r#"{"text":"x","path":"srcs"}"#, "there is no srcs in the workspace; did you mean src/?"),
        (
            r#"{"text":"x","path":"../"}"#,
            "../ leads out of the workspace; give a path relative to the workspace's folder",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(live(&folder, arguments).await, expected, "{arguments}");
    }
    let told = live(&folder, r#"{"text":"(","regex":true}"#).await;
    assert!(told.starts_with("the text is no regular expression"), "{told}");
}

#[tokio::test]
async fn many_matches_come_in_pages_that_join() {
    let folder = TempDir::new().unwrap();
    for file in 0..3 {
        let lines = (0..150).map(|line| format!("{file} {line}\n")).collect::<Vec<_>>().concat();
        fs::write(folder.path().join(format!("{file}.txt")), lines).unwrap();
    }
    let mut seen = Vec::new();
    loop {
        let arguments = format!(r#"{{"text":" ","offset":{}}}"#, seen.len() + 1);
        let text = live(&folder, &arguments).await;
        assert!(text.len() < PAGE_CAP_BYTES + 300);
        seen.extend(text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
        let Some((_, next)) = text.split_once("go on with offset ") else { break };
        assert!(next.starts_with(&format!("{};", seen.len() + 1)), "{next}");
    }
    assert_eq!(seen.len(), 450);
    assert_eq!(seen.last().unwrap(), "2.txt:150: 2 149");
}

#[tokio::test]
async fn large_files_are_skipped_and_long_lines_cut() {
    let folder = TempDir::new().unwrap();
    let long = format!("{}needle{}", "雨".repeat(1000), "雪".repeat(1000));
    fs::write(folder.path().join("long.txt"), long).unwrap();
    let large = fs::File::create(folder.path().join("large.txt")).unwrap();
    large.set_len(FILE_CAP_BYTES + 1).unwrap();
    let text = live(&folder, r#"{"text":"needle"}"#).await;
    assert!(text.starts_with("long.txt:1: …雨"), "{text}");
    assert!(text.contains("雨needle雪") && text.contains("雪…\n"), "{text}");
    assert!(!text.contains('\u{FFFD}') && text.len() < 600, "{text}");
    assert!(text.ends_with("[1 match; 1 file searched; not searched: 1 above 4.1 MB]"), "{text}");
}

#[derive(Default)]
struct Reports(Mutex<Vec<ProgressReport>>);

impl Progress for Reports {
    fn report(&self, report: ProgressReport) {
        self.0.lock().unwrap().push(report);
    }
}

#[tokio::test]
async fn it_tells_how_far_it_is() {
    let folder = TempDir::new().unwrap();
    for number in 0..450 {
        fs::write(folder.path().join(number.to_string()), "needle").unwrap();
    }
    let reports = Arc::new(Reports::default());
    let context = ToolContext { progress: Arc::clone(&reports) as _, ..context() };
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let tool = SearchFiles::new(workspace);
    let outcome = tool.call(r#"{"text":"zzz"}"#, &context).await;
    assert!(matches!(outcome, ToolOutcome::Success(_)));
    let done = reports.0.lock().unwrap().iter().map(|report| report.done).collect::<Vec<_>>();
    assert_eq!(done, [Some(200), Some(400)]);
    context.cancel.cancel();
    let outcome = tool.call(r#"{"text":"zzz"}"#, &context).await;
    assert!(matches!(outcome, ToolOutcome::NoAnswer(_)));
}
