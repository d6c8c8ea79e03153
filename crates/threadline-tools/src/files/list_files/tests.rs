//! Tests of the tool: a folder and arguments in, what the model reads out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use threadline_core::history::sections::Level;

use super::*;
use crate::testing::{at_level, context};

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("src/deep/deeper")).unwrap();
    fs::create_dir_all(at(".git/objects")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("README.md"), "# Title\n").unwrap();
    fs::write(at(".hidden"), "").unwrap();
    fs::write(at(".git/HEAD"), "ref").unwrap();
    fs::write(at("src/main.rs"), "x".repeat(1234)).unwrap();
    fs::write(at("src/deep/a.rs"), "a").unwrap();
    symlink("src", at("door")).unwrap();
    symlink("nowhere", at("src/broken")).unwrap();
    folder
}

async fn call(folder: &TempDir, arguments: &str) -> ToolOutcome {
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    ListFiles::new(workspace).call(arguments, &context()).await
}

async fn live(folder: &TempDir, arguments: &str) -> String {
    at_level(&call(folder, arguments).await, Level::Live)
}

#[tokio::test]
async fn a_folder_is_listed_with_kinds_and_sizes() {
    let folder = folder();
    let outcome = call(&folder, "{}").await;
    insta::assert_snapshot!(at_level(&outcome, Level::Live), @r"
    .git/
    .hidden  0 bytes
    README.md  8 bytes
    door -> src
    empty/
    src/
    [3 folders, 2 files, 1 other]
    ");
    assert_eq!(at_level(&outcome, Level::Gist), "listed .: 3 folders, 2 files, 1 other");
}

#[tokio::test]
async fn a_tree_is_listed_to_a_depth_and_git_keeps_its_own() {
    let folder = folder();
    insta::assert_snapshot!(live(&folder, r#"{"depth":9}"#).await, @r"
    .git/  (not listed)
    .hidden  0 bytes
    README.md  8 bytes
    door -> src
    empty/
    src/
    src/broken -> nowhere
    src/deep/
    src/deep/a.rs  1 byte
    src/deep/deeper/
    src/main.rs  1.2 KB
    [5 folders, 4 files, 2 others]
    ");
    insta::assert_snapshot!(live(&folder, r#"{"path":"./src/","depth":2,"offset":3}"#).await, @r"
    src/deep/a.rs  1 byte
    src/deep/deeper/
    src/main.rs  1.2 KB
    [entries 3 to 5 of 5: the end]
    ");
}

#[tokio::test]
async fn every_answer_says_what_it_is() {
    let folder = folder();
    let table = [
        (r#"{"path":"empty"}"#, "(empty is empty)"),
        (r#"{"path":"README.md"}"#, "README.md  8 bytes\n[a file, not a folder]"),
        (r#"{"path":".git"}"#, ".git/HEAD  3 bytes\n.git/objects/\n[1 folder, 1 file]"),
        (r#"{"path":"src","offset":9}"#, "there is no entry 9: src has 3 entries"),
        (r#"{"path":"srcs"}"#, "there is no srcs in the workspace; did you mean src/?"),
        (
            r#"{"path":".."}"#,
            ".. leads out of the workspace; give a path relative to the workspace's folder",
        ),
        (r#"{"path":""}"#, "\"\" is no path: it is empty"),
    ];
    for (arguments, expected) in table {
        assert_eq!(live(&folder, arguments).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn what_is_too_much_comes_in_pages_that_join() {
    let folder = folder();
    for number in 0..1500 {
        fs::write(folder.path().join(format!("empty/{number:04}")), "").unwrap();
    }
    let (mut seen, mut offset) = (Vec::new(), 1);
    loop {
        let arguments = format!(r#"{{"path":"empty","offset":{offset}}}"#);
        let text = live(&folder, &arguments).await;
        assert!(text.len() < PAGE_CAP_BYTES + 200, "{}", text.len());
        let lines = text.lines().filter(|line| !line.starts_with('['));
        let lines = lines.map(str::to_owned).collect::<Vec<_>>();
        offset += lines.len();
        seen.extend(lines);
        let Some((_, next)) = text.split_once("list on with offset ") else { break };
        assert_eq!(next.trim_end_matches(']'), offset.to_string());
    }
    assert_eq!(seen.len(), 1500);
    assert!(seen.is_sorted());
}

#[tokio::test]
async fn names_that_are_no_text_are_told() {
    let folder = TempDir::new().unwrap();
    if fs::write(folder.path().join(OsStr::from_bytes(b"caf\xE9")), "x").is_err() {
        // This file system has no such names.
        return;
    }
    fs::write(folder.path().join("two\nlines"), "x").unwrap();
    let told = "(a name that is not text and cannot be given)";
    assert_eq!(
        live(&folder, "{}").await,
        format!(
            "caf\u{FFFD}  1 byte  {told}\ntwo\u{FFFD}lines  1 byte  {told}\n[0 folders, 2 files]"
        )
    );
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let folder = folder();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let context = context();
    context.cancel.cancel();
    let outcome = ListFiles::new(workspace).call("{}", &context).await;
    assert!(matches!(outcome, ToolOutcome::NoAnswer(_)));
}
