//! Tests of the tool: a folder and arguments in, what the model reads out.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::task::Poll;

use tempfile::TempDir;
use threadline_core::history::sections::Level;

use super::*;
use crate::testing::{at_level as at, context};

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("notes/old")).unwrap();
    fs::write(at("README.md"), "# Title\n\nText.\n").unwrap();
    fs::write(at("notes/todo.md"), "- tea\n").unwrap();
    fs::write(at("empty.txt"), "").unwrap();
    fs::write(at("data.bin"), b"PK\x03\x04\0\0").unwrap();
    fs::write(at("latin.txt"), b"caf\xE9\r\n").unwrap();
    fs::write(at("wide.txt"), b"\xFF\xFEa\0").unwrap();
    let long = (1..=3000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    fs::write(at("long.txt"), long).unwrap();
    folder
}

async fn call(folder: &TempDir, arguments: &str) -> ToolOutcome {
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    ReadFile::new(workspace).call(arguments, &context()).await
}

#[tokio::test]
async fn a_file_is_read_at_three_levels() {
    let folder = folder();
    let outcome = call(&folder, r#"{"path":"README.md"}"#).await;
    assert!(matches!(outcome, ToolOutcome::Success(_)));
    assert_eq!(at(&outcome, Level::Live), "# Title\n\nText.");
    assert_eq!(at(&outcome, Level::Gist), "read README.md: 3 lines, 15 bytes");

    let outcome = call(&folder, r#"{"path":"long.txt"}"#).await;
    let live = at(&outcome, Level::Live);
    assert!(live.starts_with("1\n2\n3\n"), "{live}");
    let end = "\n2000\n[lines 1 to 2000 of 3000, file of 13.8 KB: read on with offset 2001]";
    assert!(live.ends_with(end), "{live}");
    let recent = at(&outcome, Level::Recent);
    assert!(recent.len() < 5000 && recent.contains("bytes left out") && recent.ends_with(end));
    let gist = "read long.txt: lines 1 to 2000 of 3000, file of 13.8 KB";
    assert_eq!(at(&outcome, Level::Gist), gist);
}

#[tokio::test]
async fn every_answer_says_what_it_is() {
    let folder = folder();
    let table = [
        (r#"{"path":"empty.txt"}"#, "(empty.txt is empty)"),
        (
            r#"{"path":"long.txt","offset":2999}"#,
            "2999\n3000\n[lines 2999 to 3000 of 3000: the end of the file]",
        ),
        (
            r#"{"path":"long.txt","offset":7,"limit":2}"#,
            "7\n8\n[lines 7 to 8 of 3000, file of 13.8 KB: read on with offset 9]",
        ),
        (
            r#"{"path":"latin.txt"}"#,
            "caf\u{FFFD}\n[bytes that are not UTF-8, 1 of them, are shown as \u{FFFD}]\n[lines end with CRLF]",
        ),
    ];
    for (arguments, expected) in table {
        let outcome = call(&folder, arguments).await;
        assert!(matches!(outcome, ToolOutcome::Success(_)), "{arguments}");
        assert_eq!(at(&outcome, Level::Live), expected, "{arguments}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_told_with_what_can() {
    let folder = folder();
    let table = [
        (
            r#"{"path":"long.txt","offset":3001}"#,
            "long.txt has no line 3001: it has 3000 lines, 13.8 KB",
        ),
        (r#"{"path":"data.bin"}"#, "data.bin is no text file: 6 bytes of binary data"),
        (r#"{"path":"wide.txt"}"#, "wide.txt is UTF-16 text (4 bytes); only UTF-8 can be read"),
        (r#"{"path":"notes"}"#, "notes is a folder; it has old/, todo.md"),
        (r#"{"path":"notes/old"}"#, "notes/old is a folder; it is empty"),
        (
            r#"{"path":"REAMDE.md"}"#,
            "there is no REAMDE.md in the workspace; did you mean README.md?",
        ),
        (
            r#"{"path":"notes/tood.md"}"#,
            "there is no notes/tood.md in the workspace; did you mean notes/todo.md?",
        ),
        (
            r#"{"path":"note/todo.md"}"#,
            "there is no note/todo.md in the workspace; did you mean notes/?",
        ),
        (
            r#"{"path":"notes/zzz/a/b"}"#,
            "there is no notes/zzz/a/b in the workspace; notes has old/, todo.md",
        ),
        (
            r#"{"path":"README.md/"}"#,
            "there is no README.md/ in the workspace; did you mean README.md?",
        ),
        (
            r#"{"path":"../x"}"#,
            "../x leads out of the workspace; give a path relative to the workspace's folder",
        ),
        (
            r#"{"path":"/etc/passwd"}"#,
            "/etc/passwd leads out of the workspace; give a path relative to the workspace's folder",
        ),
        (r#"{"path":""}"#, "\"\" is no path: it is empty"),
        (
            r#"{"path":7}"#,
            "the arguments do not fit: invalid type: integer `7`, expected a string at line 1 column 9",
        ),
        ("{", "the arguments do not fit: EOF while parsing an object at line 1 column 1"),
    ];
    for (arguments, expected) in table {
        let outcome = call(&folder, arguments).await;
        let ToolOutcome::Failed(result) = &outcome else { panic!("{arguments}: {outcome:?}") };
        assert_eq!(at(&outcome, Level::Live), expected, "{arguments}");
        assert_eq!(result.error.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_told() {
    let folder = folder();
    let path = folder.path().join("README.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        // Whoever runs the tests may read everything.
        return;
    }
    let outcome = call(&folder, r#"{"path":"README.md"}"#).await;
    assert_eq!(at(&outcome, Level::Live), "README.md may not be read: permission denied");
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let folder = folder();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let context = context();
    context.cancel.cancel();
    let outcome = ReadFile::new(workspace).call(r#"{"path":"long.txt"}"#, &context).await;
    assert!(matches!(outcome, ToolOutcome::NoAnswer(_)));
    assert_eq!(at(&outcome, Level::Live), "reading long.txt was stopped");
}

#[tokio::test]
async fn a_call_that_is_dropped_stops_reading() {
    let folder = folder();
    let path = folder.path().join("huge.txt");
    fs::write(&path, "head\n".repeat(4000)).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 42).unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let tool = ReadFile::new(Arc::clone(&workspace));
    {
        let context = context();
        let arguments = format!(r#"{{"path":"huge.txt","offset":{}}}"#, u64::MAX);
        let mut call = tool.call(&arguments, &context);
        // It has begun: the thread that reads holds the workspace, too.
        assert!(
            std::future::poll_fn(|task| Poll::Ready(call.as_mut().poll(task).is_pending())).await
        );
        assert_eq!(Arc::strong_count(&workspace), 3);
    }
    while Arc::strong_count(&workspace) > 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_huge_file_costs_what_a_page_costs() {
    let folder = folder();
    let file = fs::File::create(folder.path().join("huge.txt")).unwrap();
    fs::write(folder.path().join("huge.txt"), "head\n".repeat(4000)).unwrap();
    // The rest is a hole of a terabyte.
    file.set_len(1 << 40).unwrap();
    let outcome = call(&folder, r#"{"path":"huge.txt","limit":2}"#).await;
    let expected = "head\nhead\n[lines 1 to 2, file of 1099.5 GB: read on with offset 3]";
    assert_eq!(at(&outcome, Level::Live), expected);
}

#[test]
fn sizes_are_for_people() {
    let table = [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (4200, "4.2 KB")];
    for (bytes, expected) in table {
        assert_eq!(size(bytes), expected);
    }
    assert_eq!(size(1_999_999), "1.9 MB");
    assert_eq!(size(u64::MAX), "18446744073.7 GB");
}

#[test]
fn its_schema_takes_what_it_reads() {
    let folder = folder();
    let tool = ReadFile::new(Arc::new(Workspace::open(folder.path()).unwrap()));
    let description = &tool.spec().description;
    assert!(description.contains(&format!("{PAGE_CAP_LINES} lines")), "{description}");
    assert!(description.contains(&format!("{} KB", page::PAGE_CAP_BYTES / 1024)), "{description}");
    let schema = threadline_core::tool::Schema::new(&tool.spec().schema).unwrap();
    assert!(schema.validate(r#"{"path":"README.md","offset":1,"limit":10}"#).is_ok());
    for raw in ["", r#"{"path":""}"#, r#"{"path":"a","offset":0}"#, r#"{"path":"a","limit":"two"}"#]
    {
        assert!(schema.validate(raw).is_err(), "{raw}");
    }
}
