//! Tests of the tool: what is written, how it is told, and what is refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;
use threadline_core::history::fact::{Digest, FileChanged, Verdict};
use threadline_core::history::sections::Level;
use threadline_core::store::Predecessor;
use threadline_core::tool::Handling;

use super::*;
use crate::testing::{at_level, context, files};

async fn write(folder: &TempDir, path: &str, text: &str) -> ToolOutcome {
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let arguments = serde_json::json!({ "path": path, "text": text }).to_string();
    WriteFile::new(workspace).call(&arguments, &context()).await
}

fn got(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[tokio::test]
async fn a_file_is_made_with_its_folders() {
    let folder = TempDir::new().unwrap();
    let outcome = write(&folder, "a/b/c.txt", "one\ntwo\n").await;
    for level in [Level::Live, Level::Recent, Level::Gist] {
        assert_eq!(at_level(&outcome, level), "created a/b/c.txt: 2 lines, 8 bytes");
    }
    assert_eq!(got(&folder, "a/b/c.txt"), "one\ntwo\n");
    let outcome = write(&folder, "a/b/../d.txt", "").await;
    assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    assert_eq!(got(&folder, "a/d.txt"), "");
    assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_file_that_is_there_is_replaced_and_shown_as_a_diff() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.sh");
    fs::write(&path, "one\ntwo\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    let outcome = write(&folder, "run.sh", "one\nthree\n").await;
    let diff = "--- run.sh\n+++ run.sh\n@@ -1,2 +1,2 @@\n one\n-two\n+three";
    let gist = "replaced run.sh: 1 line added, 1 line removed";
    assert_eq!(at_level(&outcome, Level::Live), format!("{gist}\n{diff}"));
    assert_eq!(at_level(&outcome, Level::Recent), diff);
    assert_eq!(at_level(&outcome, Level::Gist), gist);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o754);
    // The same once more is nothing new.
    let before = fs::metadata(&path).unwrap().ino();
    let outcome = write(&folder, "run.sh", "one\nthree\n").await;
    let told = "nothing changed: run.sh reads so already (2 lines, 10 bytes)";
    assert_eq!(at_level(&outcome, Level::Live), told);
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
}

#[tokio::test]
async fn what_was_no_text_is_replaced_and_told() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("data.bin"), b"PK\0").unwrap();
    let outcome = write(&folder, "data.bin", "text").await;
    let told = "replaced data.bin, which was 3 bytes of binary data: 1 line, 4 bytes";
    assert_eq!(at_level(&outcome, Level::Live), told);
    assert_eq!(got(&folder, "data.bin"), "text");
}

#[tokio::test]
async fn what_cannot_be_written_is_told_and_left_alone() {
    let around = TempDir::new().unwrap();
    let folder = TempDir::new_in(around.path()).unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(around.path().join("secret.txt"), "secret").unwrap();
    fs::write(at("a.txt"), "alpha").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("a.txt", at("link")).unwrap();
    symlink("../secret.txt", at("out")).unwrap();
    symlink("folder", at("door")).unwrap();
    symlink("nowhere", at("broken")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let link = "is a link or leads through one, which is not followed; give the path of what it \
        leads to";
    let out = "leads out of the workspace; give a path relative to the workspace's folder";
    // What must not be written would be in a folder of ours.
    let absolute = around.path().join("x.txt").to_str().unwrap().to_owned();
    let table = [
        ("folder", "folder is a folder; it is empty".to_owned()),
        ("new/", "new/ is the path of a folder; give that of a file".into()),
        (
            "folder/..",
            "folder/.. is a folder; it has a.txt, broken, door, folder/, link, out, socket".into(),
        ),
        ("link", format!("link {link}")),
        ("out", format!("out {link}")),
        ("broken", format!("broken {link}")),
        ("broken/x.txt", format!("broken/x.txt {link}")),
        ("door/x.txt", format!("door/x.txt {link}")),
        ("door/new/x.txt", format!("door/new/x.txt {link}")),
        (
            "a.txt/x.txt",
            "a.txt/x.txt leads through a file as if it were a folder; give another path".into(),
        ),
        ("socket", "socket is a socket, not a file that can be written".into()),
        ("../x.txt", format!("../x.txt {out}")),
        ("new/../../x.txt", format!("new/../../x.txt {out}")),
        (&absolute, format!("{absolute} {out}")),
        ("", "\"\" is no path: it is empty".into()),
    ];
    for (path, expected) in table {
        let outcome = write(&folder, path, "written").await;
        assert!(matches!(outcome, ToolOutcome::Failed(_)), "{path}: {outcome:?}");
        assert_eq!(at_level(&outcome, Level::Live), expected, "{path}");
    }
    let outcome = write(&folder, "a.txt", "zero\0").await;
    let told = "a.txt was not written: the text has a zero byte in it, which no text file has";
    assert_eq!(at_level(&outcome, Level::Live), told);
    let outcome = write(&folder, "a.txt", &"x".repeat(TEXT_CAP_BYTES + 1)).await;
    let told = "a.txt was not written: the text has 1.0 MB, and at most 1048576 bytes are written \
        at once; write less of it";
    assert_eq!(at_level(&outcome, Level::Live), told);
    assert_eq!(got(&folder, "a.txt"), "alpha");
    assert_eq!(fs::read_to_string(around.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_text_of_the_largest_size_is_written() {
    let folder = TempDir::new().unwrap();
    let outcome = write(&folder, "a.txt", &"x\n".repeat(TEXT_CAP_BYTES / 2)).await;
    assert!(matches!(outcome, ToolOutcome::Success(_)));
    let outcome = write(&folder, "a.txt", &"y\n".repeat(TEXT_CAP_BYTES / 2)).await;
    assert!(at_level(&outcome, Level::Live).len() < 13_000);
    assert!(at_level(&outcome, Level::Recent).len() < 4300);
}

#[tokio::test]
async fn what_an_attempt_left_behind_is_not_in_the_way() {
    let folder = TempDir::new().unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let place = workspace.place("a.txt", Missing::Told).unwrap();
    std::mem::forget(place.prepare(b"half", None, &context().effect_key).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let outcome = write(&folder, "a.txt", "whole").await;
    assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    assert_eq!(got(&folder, "a.txt"), "whole");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_somebody_else_changed_meanwhile_is_seen() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.txt");
    let workspace = Workspace::open(folder.path()).unwrap();
    let place = workspace.place("a.txt", Missing::Told).unwrap();
    assert!(place.is_still(None));
    fs::write(&path, "one").unwrap();
    assert!(!place.is_still(None));
    let there = place.there().unwrap();
    assert!(place.is_still(there.as_ref()));
    fs::write(&path, "other").unwrap();
    assert!(!place.is_still(there.as_ref()));
    let there = place.there().unwrap();
    fs::remove_file(&path).unwrap();
    symlink("x", &path).unwrap();
    assert!(!place.is_still(there.as_ref()));
}

#[tokio::test]
async fn a_folder_that_may_not_be_changed_is_told() {
    // Not even root can make files there.
    let path = Path::new("/sys/kernel");
    if !path.is_dir() {
        return;
    }
    let workspace = Arc::new(Workspace::open(path).unwrap());
    let arguments = r#"{"path":"threadline.txt","text":"x"}"#;
    let outcome = WriteFile::new(workspace).call(arguments, &context()).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
    let told = at_level(&outcome, Level::Live);
    assert!(
        told.starts_with("threadline.txt may not be written: ") || told.contains("ead-only"),
        "{told}"
    );
}

#[tokio::test]
async fn a_cancelled_call_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let context = context();
    context.cancel.cancel();
    let arguments = r#"{"path":"new/a.txt","text":"x"}"#;
    let outcome = WriteFile::new(workspace).call(arguments, &context).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn it_asks_and_must_not_run_twice() {
    let folder = TempDir::new().unwrap();
    let tool = WriteFile::new(Arc::new(Workspace::open(folder.path()).unwrap()));
    assert_eq!(tool.spec().verdict, Verdict::Ask);
    let Handling::Run(rules) = tool.spec().handling else { panic!("{:?}", tool.spec().handling) };
    assert_eq!((rules.effect, rules.side_by_side), (Effect::Once, false));
}

/// A write that a process recorded and did not answer for.
async fn became(folder: &TempDir, before: Option<&str>) -> Option<bool> {
    let digest = |text: &str| Digest::of(text.as_bytes());
    let change = FileChanged {
        call: context().call,
        path: "a.txt".into(),
        before: before.map(digest),
        after: Some(digest("by the agent")),
        content: None,
    };
    let context = ToolContext { files: files(vec![change], Predecessor::Gone), ..context() };
    let tool = WriteFile::new(Arc::new(Workspace::open(folder.path()).unwrap()));
    let arguments = r#"{"path":"a.txt","text":"by the agent"}"#;
    let outcome = tool.reconcile(arguments, &context).await?;
    Some(matches!(outcome, ToolOutcome::Success(_)))
}

#[tokio::test]
async fn a_write_that_was_cut_off_is_known_and_destroys_nothing() {
    let folder = TempDir::new().unwrap();
    assert_eq!(became(&folder, None).await, Some(false));
    assert_eq!(became(&folder, Some("old")).await, None);
    let path = folder.path().join("a.txt");
    let table = [
        ("by the agent", Some("old"), Some(true)),
        ("old", Some("old"), Some(false)),
        ("by a person", Some("old"), None),
        ("by a person", None, None),
    ];
    for (text, before, expected) in table {
        fs::write(&path, text).unwrap();
        assert_eq!(became(&folder, before).await, expected, "{text} {before:?}");
        assert_eq!(got(&folder, "a.txt"), text);
    }
}

#[tokio::test]
async fn a_file_over_the_cap_is_known_by_its_digest() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.txt");
    let file = fs::File::create(&path).unwrap();
    file.set_len(FILE_CAP_BYTES + 1).unwrap();
    let there = Workspace::open(folder.path()).unwrap().place("a.txt", Missing::Told).unwrap();
    let (_, content) = before(&mut there.there().unwrap().unwrap()).unwrap();
    let content = content.unwrap();
    assert_eq!(content.digest, Digest::of(&fs::read(&path).unwrap()));
    assert_eq!(content.bytes, None);
}
