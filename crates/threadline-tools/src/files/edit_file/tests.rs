//! Tests of the tool: edits, refusals, and what is found out about those that were cut off.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;
use threadline_core::history::fact::{Digest, FileChanged, Verdict};
use threadline_core::history::sections::Level;
use threadline_core::store::Predecessor;
use threadline_core::tool::{Handling, RecordChange};

use super::*;
use crate::testing::{at_level, context, files};

/// A folder with a workspace in it.
fn around() -> TempDir {
    let around = TempDir::new().unwrap();
    fs::create_dir(around.path().join("space")).unwrap();
    around
}

fn tool(around: &TempDir) -> EditFile {
    let workspace = Arc::new(Workspace::open(&around.path().join("space")).unwrap());
    EditFile::new(workspace)
}

fn put(around: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    fs::write(around.path().join("space").join(name), text).unwrap();
}

fn got(around: &TempDir, name: &str) -> String {
    fs::read_to_string(around.path().join("space").join(name)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names =
        names.map(|item| item.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
    names.sort();
    names
}

async fn edit(around: &TempDir, path: &str, find: &str, with: &str) -> ToolOutcome {
    tool(around).call(&arguments(path, find, with), &context()).await
}

fn arguments(path: &str, find: &str, with: &str) -> String {
    serde_json::json!({ "path": path, "find": find, "with": with }).to_string()
}

#[tokio::test]
async fn an_edit_is_told_at_three_levels() {
    let around = around();
    put(&around, "a.txt", (1..=9).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat());
    let outcome = edit(&around, "a.txt", "line 5", "five\nfive and a half").await;
    assert!(matches!(outcome, ToolOutcome::Success(_)));
    let diff = "--- a.txt\n+++ a.txt\n@@ -2,7 +2,8 @@\n line 2\n line 3\n line 4\n-line 5\n\
        +five\n+five and a half\n line 6\n line 7\n line 8";
    let gist = "edited a.txt: replaced text in line 5: 2 lines added, 1 line removed";
    assert_eq!(at_level(&outcome, Level::Live), format!("{gist}\n{diff}"));
    assert_eq!(at_level(&outcome, Level::Recent), diff);
    assert_eq!(at_level(&outcome, Level::Gist), gist);
    assert!(got(&around, "a.txt").contains("line 4\nfive\nfive and a half\nline 6\n"));
    assert_eq!(names(&around.path().join("space")), ["a.txt"]);
}

#[tokio::test]
async fn a_file_keeps_its_line_ends_its_mark_and_its_mode() {
    let around = around();
    put(&around, "run.sh", "\u{FEFF}a\r\nb\r\n");
    let path = around.path().join("space/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let outcome = edit(&around, "run.sh", "a\nb\n", "a\nc\nb\n").await;
    assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    assert_eq!(got(&around, "run.sh"), "\u{FEFF}a\r\nc\r\nb\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
}

#[tokio::test]
async fn everything_or_nothing_is_replaced() {
    let around = around();
    put(&around, "a.txt", "x y x");
    let all = r#"{"path":"a.txt","find":"x","with":"","all":true}"#;
    let outcome = tool(&around).call(all, &context()).await;
    assert!(at_level(&outcome, Level::Gist).starts_with("edited a.txt: deleted text in 2 places"));
    assert_eq!(got(&around, "a.txt"), " y ");
    let outcome = edit(&around, "a.txt", "y", "y").await;
    assert_eq!(at_level(&outcome, Level::Live), "nothing changed: a.txt reads so already");
}

#[tokio::test]
async fn what_cannot_be_edited_is_told_and_left_alone() {
    let around = around();
    let space = around.path().join("space");
    put(&around, "a.txt", "alpha\nbeta\n");
    put(&around, "empty.txt", "");
    put(&around, "data.bin", b"PK\x03\0");
    put(&around, "latin.txt", b"one\ncaf\xE9 two\n");
    put(&around, "wide.txt", b"\xFF\xFEa\0");
    put(&around, "huge.txt", "");
    let huge = fs::File::options().write(true).open(space.join("huge.txt")).unwrap();
    huge.set_len(FILE_CAP_BYTES + 1).unwrap();
    fs::create_dir(space.join("folder")).unwrap();
    symlink("a.txt", space.join("link")).unwrap();
    symlink("folder", space.join("door")).unwrap();
    put(&around, "folder/b.txt", "alpha");
    let link = "is a link or leads through one, which is not followed; give the path of what it \
        leads to";
    let table = [
        (
            "a.txt",
            "a.txt was not edited: it does not have this text, exactly as it is written; the \
             nearest there is:\nline 1: alpha"
                .to_owned(),
        ),
        (
            "empty.txt",
            "empty.txt was not edited: it is empty; use write_file to write into it".into(),
        ),
        (
            "data.bin",
            "data.bin was not edited: it is 4 bytes of binary data, and only UTF-8 text is edited"
                .into(),
        ),
        (
            "latin.txt",
            "latin.txt was not edited: it is no UTF-8 text (13 bytes; the first byte that is none \
             is in line 2), and only UTF-8 text is edited"
                .into(),
        ),
        (
            "wide.txt",
            "wide.txt was not edited: it is UTF-16 text (4 bytes), and only UTF-8 text is edited"
                .into(),
        ),
        (
            "huge.txt",
            "huge.txt was not edited: it has 16.7 MB, and only files of up to 16.7 MB are edited"
                .into(),
        ),
        ("folder", "folder is a folder; it has b.txt".into()),
        ("link", format!("link {link}")),
        ("door/b.txt", format!("door/b.txt {link}")),
        (
            "folder/c.txt",
            "there is no folder/c.txt in the workspace; did you mean folder/b.txt?".into(),
        ),
        (
            "../edits",
            "../edits leads out of the workspace; give a path relative to the workspace's folder"
                .into(),
        ),
    ];
    let before = names(&space);
    for (path, expected) in table {
        let outcome = edit(&around, path, "alphq", "x").await;
        assert!(matches!(outcome, ToolOutcome::Failed(_)), "{path}");
        assert_eq!(at_level(&outcome, Level::Live), expected, "{path}");
        assert_eq!(at_level(&outcome, Level::Gist), format!("could not edit {path}"));
    }
    assert_eq!(names(&space), before);
    assert_eq!(got(&around, "a.txt"), "alpha\nbeta\n");
}

/// Notes what is recorded, and what the file contains at that moment.
struct Recorder {
    file: PathBuf,
    seen: Mutex<Vec<(FileChange, String)>>,
    refuses: bool,
}

#[async_trait]
impl RecordChange for Recorder {
    async fn record(&self, change: FileChange) -> Result<(), NotRecorded> {
        let text = fs::read_to_string(&self.file).unwrap();
        self.seen.lock().unwrap().push((change, text));
        if self.refuses { Err(NotRecorded("no lease".into())) } else { Ok(()) }
    }
}

async fn edit_with(around: &TempDir, refuses: bool) -> (ToolOutcome, Vec<(FileChange, String)>) {
    put(around, "a.txt", "alpha");
    let (file, seen) = (around.path().join("space/a.txt"), Mutex::default());
    let recorder = Arc::new(Recorder { file, seen, refuses });
    let mut context = context();
    context.files.recorder = Arc::clone(&recorder) as _;
    let outcome = tool(around).call(&arguments("a.txt", "alpha", "beta"), &context).await;
    let seen = recorder.seen.lock().unwrap().clone();
    (outcome, seen)
}

#[tokio::test]
async fn an_edit_is_recorded_before_it_is_made() {
    let around = around();
    let (outcome, seen) = edit_with(&around, false).await;
    assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    let change = FileChange {
        path: "a.txt".into(),
        before: Some(Content::new(*b"alpha")),
        after: Some(Digest::of(b"beta")),
    };
    assert_eq!(seen, [(change, "alpha".to_owned())]);
    assert_eq!(got(&around, "a.txt"), "beta");
}

#[tokio::test]
async fn an_edit_that_cannot_be_recorded_is_not_made() {
    let around = around();
    let (outcome, _) = edit_with(&around, true).await;
    let told = at_level(&outcome, Level::Live);
    assert_eq!(told, "a.txt was not edited: the change could not be recorded: no lease");
    assert_eq!(got(&around, "a.txt"), "alpha");
    assert_eq!(names(&around.path().join("space")), ["a.txt"]);
}

#[tokio::test]
async fn a_cancelled_edit_is_not_made() {
    let around = around();
    put(&around, "a.txt", "alpha");
    let context = context();
    context.cancel.cancel();
    let outcome = tool(&around).call(&arguments("a.txt", "alpha", "beta"), &context).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)));
    assert_eq!(got(&around, "a.txt"), "alpha");
}

/// The change that an edit of `a.txt` recorded.
fn recorded(before: &str, after: &str) -> FileChanged {
    FileChanged {
        call: context().call,
        path: "a.txt".into(),
        before: Some(Digest::of(before.as_bytes())),
        after: Some(Digest::of(after.as_bytes())),
        content: None,
    }
}

/// What is found out about an edit that gave no answer: whether it was made, if that is known.
async fn became(
    around: &TempDir,
    changes: Vec<FileChanged>,
    predecessor: Predecessor,
) -> Option<bool> {
    let context = ToolContext { files: files(changes, predecessor), ..context() };
    let outcome = tool(around).reconcile(&arguments("a.txt", "old", "new"), &context).await?;
    Some(matches!(outcome, ToolOutcome::Success(_)))
}

#[tokio::test]
async fn an_edit_that_was_cut_off_is_known_by_its_record() {
    use Predecessor::{Gone, MayLive};
    let change = || vec![recorded("the old text", "the new text")];
    let table = [
        // Before the record nothing is changed, and whoever is fenced cannot record any more.
        ("the old text", Vec::new(), Gone, Some(false)),
        ("the old text", Vec::new(), MayLive, Some(false)),
        ("the old text", change(), Gone, Some(false)),
        // The process before may still make the change that it recorded.
        ("the old text", change(), MayLive, None),
        ("the new text", change(), Gone, Some(true)),
        ("the new text", change(), MayLive, Some(true)),
        // Somebody changed it since.
        ("the new text and more", change(), Gone, None),
        ("something else", change(), Gone, None),
        ("", change(), Gone, None),
    ];
    for (text, changes, predecessor, expected) in table {
        let around = around();
        put(&around, "a.txt", text);
        // A temporary file that was left behind is removed.
        let left = tool(&around);
        let place = left.workspace.place("a.txt", Missing::Told).unwrap();
        let there = place.there().unwrap();
        let prepared = place.prepare(b"half", there.as_ref(), &context().effect_key).unwrap();
        std::mem::forget(prepared);
        let found = became(&around, changes, predecessor).await;
        assert_eq!(found, expected, "{text:?} {predecessor:?}");
        assert_eq!(got(&around, "a.txt"), text);
        assert_eq!(names(&around.path().join("space")), ["a.txt"]);
    }
}

#[tokio::test]
async fn a_file_that_is_gone_leaves_the_edit_unknown() {
    let around = around();
    let changes = vec![recorded("the old text", "the new text")];
    assert_eq!(became(&around, changes, Predecessor::Gone).await, None);
}

#[tokio::test]
async fn edits_at_the_same_time_are_all_made() {
    let around = around();
    put(&around, "a.txt", (0..8).map(|n| format!("<{n}>\n")).collect::<Vec<_>>().concat());
    let tool = tool(&around);
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..8 {
        let tool = tool.clone();
        calls.spawn(async move {
            let mut context = context();
            context.effect_key = format!("key {n}").into();
            let arguments = arguments("a.txt", &format!("<{n}>"), &format!("[{n}]"));
            tool.call(&arguments, &context).await
        });
    }
    for outcome in calls.join_all().await {
        assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    }
    assert_eq!(
        got(&around, "a.txt"),
        (0..8).map(|n| format!("[{n}]\n")).collect::<Vec<_>>().concat()
    );
}

#[test]
fn it_asks_and_must_not_run_twice() {
    let around = around();
    let spec = tool(&around).spec().clone();
    assert_eq!(spec.verdict, Verdict::Ask);
    let Handling::Run(rules) = spec.handling else { panic!("{:?}", spec.handling) };
    assert_eq!((rules.effect, rules.side_by_side), (Effect::Once, false));
}
