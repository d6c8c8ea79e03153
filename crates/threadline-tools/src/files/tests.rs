//! Tests of the wall around the workspace: whatever the tools are asked for, nothing outside of it
//! is read, made, changed or removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;
use threadline_core::history::sections::Level;
use threadline_core::tool::{Schema, ToolOutcome};

use super::*;
use crate::testing::{at_level, context};

/// What only files outside of the workspace contain.
const SECRET: &str = "the secret";
/// A name that only a file outside of the workspace has.
const HIDDEN: &str = "hidden-name";

/// A folder with a workspace in it, things beside it, and links of all sorts that lead out.
fn around() -> TempDir {
    let around = TempDir::new().unwrap();
    let at = |name: &str| around.path().join(name);
    fs::create_dir_all(at("space/folder/inner")).unwrap();
    fs::create_dir_all(at("outside/folder")).unwrap();
    for name in ["secret.txt", "file.txt", HIDDEN, "outside/secret.txt", "outside/folder/file.txt"]
    {
        fs::write(at(name), SECRET).unwrap();
    }
    fs::write(at(&format!("outside/{HIDDEN}")), SECRET).unwrap();
    fs::write(at("space/file.txt"), "inside").unwrap();
    fs::write(at("space/folder/file.txt"), "inside").unwrap();
    // Not every file system has such names.
    drop(fs::write(at("space/folder").join(OsStr::from_bytes(b"caf\xE9")), "inside"));
    symlink("../secret.txt", at("space/out")).unwrap();
    symlink(at("outside"), at("space/absolute")).unwrap();
    symlink("../outside", at("space/door")).unwrap();
    symlink("../../outside", at("space/folder/door")).unwrap();
    symlink("..", at("space/up")).unwrap();
    symlink("../new.txt", at("space/broken")).unwrap();
    symlink("door", at("space/second")).unwrap();
    symlink("loop", at("space/loop")).unwrap();
    symlink("/proc/self/root", at("space/root")).unwrap();
    symlink("/proc/self/cwd", at("space/cwd")).unwrap();
    around
}

/// All that is beside the workspace: what each thing is, what it contains, and when it changed.
fn outside(around: &Path) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![around.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            if path == around.join("space") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let bytes = match () {
                () if metadata.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                () if metadata.is_file() => fs::read(&path).unwrap(),
                () => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            };
            seen.insert(path, (metadata.mode(), metadata.ctime_nsec(), bytes));
        }
    }
    seen
}

/// Asks every tool for a path, and gives back what they answer.
async fn everything(tools: &[Arc<dyn Tool>], path: &str) -> Vec<String> {
    let arguments = serde_json::json!({
        "path": path, "text": "secret", "find": "secret", "with": "written", "depth": 5,
    });
    let writes = serde_json::json!({ "path": path, "text": "written by a tool" });
    let inside = serde_json::json!({ "path": path, "find": "inside", "with": "within" });
    let mut answers = Vec::new();
    for tool in tools {
        let asked = match &*tool.spec().name {
            "write_file" => vec![&writes],
            "edit_file" => vec![&arguments, &inside],
            _ => vec![&arguments],
        };
        for arguments in asked {
            let arguments = arguments.to_string();
            let outcome = tool.call(&arguments, &context()).await;
            answers.push(at_level(&outcome, Level::Live));
            let became = tool.reconcile(&arguments, &context()).await;
            answers.extend(became.map(|outcome| at_level(&outcome, Level::Live)));
        }
    }
    answers
}

/// Both ways of opening, with all tools.
fn each_way(around: &Path) -> Vec<Vec<Arc<dyn Tool>>> {
    let spaces = Workspace::each_way(&around.join("space"));
    spaces.into_iter().map(|space| tools(&Arc::new(space), Some(around.join("edits")))).collect()
}

fn gets_nothing_out(around: &Path, paths: &[String]) -> Result<(), TestCaseError> {
    fs::create_dir(around.join("edits")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let before = outside(around);
    for tools in each_way(around) {
        for path in paths {
            let path = path.replace("{outside}", around.join("outside").to_str().unwrap());
            for answer in runtime.block_on(everything(&tools, &path)) {
                let told = answer.contains(SECRET) || answer.contains(HIDDEN);
                prop_assert!(!told, "{:?} got {}", path, answer);
            }
        }
    }
    // The journal is ours.
    fs::remove_dir_all(around.join("edits")).unwrap();
    fs::create_dir(around.join("edits")).unwrap();
    let after = outside(around);
    for (path, was) in &before {
        let is = after.get(path);
        prop_assert!(path.ends_with("edits") || is == Some(was), "{:?} became {:?}", path, is);
    }
    prop_assert_eq!(before.len(), after.len());
    Ok(())
}

fn path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "..",
        ".",
        "",
        "folder",
        "inner",
        "file.txt",
        "secret.txt",
        "out",
        "door",
        "absolute",
        "up",
        "second",
        "broken",
        "loop",
        "root",
        "cwd",
        "outside",
        "new",
        "new.txt",
        "{outside}",
        "~",
        "proc/self/cwd",
        "\\",
        "%2e%2e",
    ]);
    prop_oneof![
        8 => prop::collection::vec(part, 0..7).prop_map(|parts| parts.join("/")),
        1 => "\\PC{0,20}",
        1 => "[./]{1,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_path_gets_anything_out(paths in prop::collection::vec(path(), 1..5)) {
        let around = around();
        gets_nothing_out(around.path(), &paths)?;
    }
}

#[test]
fn no_path_made_by_hand_gets_anything_out() {
    let around = around();
    let paths = [
        "..",
        "../",
        "../secret.txt",
        "folder/../../secret.txt",
        "folder/inner/../../../file.txt",
        "{outside}/secret.txt",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd",
        "/proc/self/fd/3",
        "/dev/stdin",
        "root/etc/passwd",
        "cwd/Cargo.toml",
        "out",
        "door",
        "door/secret.txt",
        "door/../secret.txt",
        "door/new/file.txt",
        "absolute/secret.txt",
        "up/secret.txt",
        "up/new.txt",
        "second/secret.txt",
        "folder/door/folder/file.txt",
        "broken",
        "broken/new.txt",
        "loop",
        "loop/file.txt",
        "secret.txt\0",
        "\0",
        "file.txt\0/../secret.txt",
        "//secret.txt",
        "./..//./secret.txt",
        "..\\secret.txt",
        "new/../../new.txt",
        "new/door/../../../secret.txt",
    ];
    let mut paths = paths.map(str::to_owned).to_vec();
    paths.push("../".repeat(1000) + "etc/passwd");
    paths.push("a".repeat(300));
    paths.push("a/".repeat(3000));
    paths.push("../".repeat(2000));
    gets_nothing_out(around.path(), &paths).unwrap();
}

/// Swaps what two names are of, at once: neither is ever missing.
#[cfg(target_os = "linux")]
fn swap(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_gets_out_while_folders_and_files_become_links() {
    let around = around();
    let at = |name: &str| around.path().join(name);
    fs::create_dir(at("edits")).unwrap();
    fs::create_dir(at("space/swapped")).unwrap();
    fs::write(at("space/swapped/secret.txt"), "inside").unwrap();
    symlink("../outside", at("space/spare")).unwrap();
    let before = outside(around.path());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (done, mut seen) = (AtomicBool::new(false), BTreeSet::new());
    let swaps = std::thread::scope(|scope| {
        let swaps = scope.spawn(|| {
            let mut swaps = 0_u32;
            while !done.load(Ordering::Relaxed) {
                swap(&at("space/swapped"), &at("space/spare"));
                // A file becomes a link and a file again.
                symlink("../secret.txt", at("space/turn")).unwrap();
                fs::rename(at("space/turn"), at("space/file.txt")).unwrap();
                fs::write(at("space/turn"), "inside").unwrap();
                fs::rename(at("space/turn"), at("space/file.txt")).unwrap();
                swaps += 1;
            }
            swaps
        });
        for tools in each_way(around.path()) {
            for _ in 0..60 {
                for path in ["swapped/secret.txt", "file.txt", "swapped", "swapped/new/a.txt"] {
                    seen.extend(runtime.block_on(everything(&tools, path)));
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        swaps.join().unwrap()
    });
    assert!(swaps > 100, "{swaps}");
    let told = |what: &str| seen.iter().any(|answer| answer.contains(what));
    assert!(told("is a link"), "nothing was ever swapped");
    assert!(told("created swapped/new/a.txt") || told("replaced swapped/"), "nothing was written");
    assert!(!told(SECRET) && !told(HIDDEN), "{seen:#?}");
    fs::remove_dir_all(at("edits")).unwrap();
    let mut after = outside(around.path());
    after.retain(|path, _| !path.ends_with("edits"));
    let mut before = before;
    before.retain(|path, _| !path.ends_with("edits"));
    assert_eq!(before, after);
}

#[test]
fn every_tool_has_a_schema_that_takes_what_it_needs() {
    let folder = TempDir::new().unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let tools = tools(&workspace, None);
    let needs = [
        ("read_file", r#"{"path":"a"}"#, "{}"),
        ("list_files", "{}", r#"{"depth":0}"#),
        ("search_files", r#"{"text":"a","regex":true}"#, r#"{"text":""}"#),
        ("write_file", r#"{"path":"a","text":""}"#, r#"{"path":"a"}"#),
        (
            "edit_file",
            r#"{"path":"a","find":"b","with":"","all":false}"#,
            r#"{"path":"a","find":"b"}"#,
        ),
    ];
    assert_eq!(tools.len(), needs.len());
    for (tool, (name, fits, unfit)) in tools.iter().zip(needs) {
        assert_eq!(&*tool.spec().name, name);
        let schema = Schema::new(&tool.spec().schema).unwrap();
        assert!(schema.validate(fits).is_ok(), "{name} {fits}");
        assert!(schema.validate(unfit).is_err(), "{name} {unfit}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told() {
    let folder = TempDir::new().unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    for tool in tools(&workspace, None) {
        for arguments in ["", "7", r#"{"path":7}"#, "\0"] {
            let outcome = tool.call(arguments, &context()).await;
            assert!(matches!(outcome, ToolOutcome::Failed(_)), "{arguments}");
        }
    }
}
