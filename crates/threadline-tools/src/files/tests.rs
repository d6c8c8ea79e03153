//! Tests of the wall around the workspace: whatever the tools are asked for, nothing outside of it
//! is read, made, changed or removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

/// How deep the workspace is in its folder.
const DEPTH: &str = "1/2/3/4/5/6/7/8";

/// A folder with a workspace in it, things beside it, and links of all sorts that lead out.
///
/// These tests ask for what must not happen. Should the wall have a hole one day, it has to show
/// here and do no harm: so every path that is written to leads, wall or not, to somewhere in this
/// folder. That is why the workspace is so deep in it, and why no link and no absolute path is of
/// anything else, not even those that go through `/proc`.
struct Around {
    root: TempDir,
    /// The folder that the workspace is in.
    here: PathBuf,
}

impl Around {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let here = root.path().join(DEPTH);
        let at = |name: &str| here.join(name);
        fs::create_dir_all(at("space/folder/inner")).unwrap();
        fs::create_dir_all(at("outside/folder")).unwrap();
        let secrets = ["secret.txt", "file.txt", "outside/secret.txt", "outside/folder/file.txt"];
        for name in secrets {
            fs::write(at(name), SECRET).unwrap();
        }
        fs::write(at(HIDDEN), SECRET).unwrap();
        fs::write(at("outside").join(HIDDEN), SECRET).unwrap();
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
        let outside = at("outside").to_str().unwrap().to_owned();
        symlink(format!("/proc/self/root{outside}"), at("space/proc")).unwrap();
        Self { root, here }
    }

    /// A path as it is meant: what is absolute is in this folder.
    fn path(&self, path: &str) -> String {
        let outside = self.here.join("outside");
        let path = path.replace("{outside}", outside.to_str().unwrap());
        let ours = path.starts_with(self.root.path().to_str().unwrap())
            || path.starts_with("/proc/self/root/") && path.contains(outside.to_str().unwrap());
        let absolute = path.starts_with('/') && !ours;
        if absolute { format!("{}{path}", outside.display()) } else { path }
    }

    /// Both ways of opening, with all tools.
    fn each_way(&self) -> Vec<Vec<Arc<dyn Tool>>> {
        let spaces = Workspace::each_way(&self.here.join("space"));
        spaces.into_iter().map(|space| tools(&Arc::new(space))).collect()
    }

    /// What only reads, both ways.
    fn readers(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        let reads = ["read_file", "list_files", "search_files"];
        self.each_way()
            .into_iter()
            .flatten()
            .filter(move |tool| reads.contains(&&*tool.spec().name))
    }
}

/// Something outside of the workspace.
#[derive(Debug, PartialEq)]
struct Thing {
    mode: u32,
    changed: (i64, i64),
    bytes: Vec<u8>,
}

/// All that is beside the workspace: what each thing is, what it contains, and when it changed.
fn outside(around: &Around) -> BTreeMap<PathBuf, Thing> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![around.root.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            if path == around.here.join("space") {
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
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            seen.insert(path, Thing { mode: metadata.mode(), changed, bytes });
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

fn gets_nothing_out(around: &Around, paths: &[String]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let before = outside(around);
    for tools in around.each_way() {
        for path in paths {
            let path = around.path(path);
            for answer in runtime.block_on(everything(&tools, &path)) {
                let told = answer.contains(SECRET) || answer.contains(HIDDEN);
                prop_assert!(!told, "{:?} got {}", path, answer);
            }
        }
    }
    prop_assert_eq!(before, outside(around));
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
        "proc",
        "outside",
        "new",
        "new.txt",
        "~",
        "\\",
        "%2e%2e",
    ]);
    let start = prop::sample::select(vec!["", "{outside}/", "/proc/self/root{outside}/"]);
    // So few parts that none leads up out of the folder around.
    let parts = (start, prop::collection::vec(part, 0..7));
    prop_oneof![
        8 => parts.prop_map(|(start, parts)| format!("{start}{}", parts.join("/"))),
        1 => "\\PC{0,20}",
        1 => "[./]{1,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_path_gets_anything_out(paths in prop::collection::vec(path(), 1..5)) {
        gets_nothing_out(&Around::new(), &paths)?;
    }
}

#[test]
fn no_path_made_by_hand_gets_anything_out() {
    let around = Around::new();
    let paths = [
        "..",
        "../",
        "../secret.txt",
        "folder/../../secret.txt",
        "folder/inner/../../../file.txt",
        "{outside}",
        "{outside}/secret.txt",
        "{outside}/new/file.txt",
        "/proc/self/root{outside}/secret.txt",
        "proc",
        "proc/secret.txt",
        "proc/new.txt",
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
        "./..//./secret.txt",
        "..\\secret.txt",
        "new/../../new.txt",
        "new/door/../../../secret.txt",
    ];
    let mut paths = paths.map(str::to_owned).to_vec();
    paths.push("a".repeat(300));
    paths.push("a/".repeat(3000));
    gets_nothing_out(&around, &paths).unwrap();
}

#[tokio::test]
async fn what_the_system_has_is_not_read() {
    let around = Around::new();
    symlink("/proc/self/root", around.here.join("space/root")).unwrap();
    symlink("/proc/self/cwd", around.here.join("space/cwd")).unwrap();
    let up = "../".repeat(1000);
    let paths = [
        "/",
        "/etc",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd",
        "/proc/self/fd/3",
        "/dev/null",
        "root",
        "root/etc/passwd",
        "root/proc/self/cwd",
        "cwd",
        "cwd/Cargo.toml",
        "//etc//passwd",
        "../../../../../../../../../../../../../etc/passwd",
        &up,
    ];
    for tool in around.readers() {
        for path in paths {
            let arguments = serde_json::json!({ "path": path, "text": "root" }).to_string();
            let outcome = tool.call(&arguments, &context()).await;
            let name = &tool.spec().name;
            assert!(matches!(outcome, ToolOutcome::Failed(_)), "{name} {path}: {outcome:?}");
        }
    }
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
    let around = Around::new();
    let at = |name: &str| around.here.join(name);
    fs::create_dir(at("space/swapped")).unwrap();
    fs::write(at("space/swapped/secret.txt"), "inside").unwrap();
    symlink("../outside", at("space/spare")).unwrap();
    let before = outside(&around);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (done, swaps, mut seen) = (AtomicBool::new(false), AtomicU32::new(0), BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&at("space/swapped"), &at("space/spare"));
                // A file becomes a link and a file again.
                symlink("../secret.txt", at("space/turn")).unwrap();
                fs::rename(at("space/turn"), at("space/file.txt")).unwrap();
                fs::write(at("space/turn"), "inside").unwrap();
                fs::rename(at("space/turn"), at("space/file.txt")).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        for tools in around.each_way() {
            // The other thread has its turn as well, however busy the machine is.
            let (from, mut rounds) = (swaps.load(Ordering::Relaxed), 0);
            while rounds < 40 || (rounds < 4000 && swaps.load(Ordering::Relaxed) < from + 1000) {
                rounds += 1;
                for path in ["swapped/secret.txt", "file.txt", "swapped", "swapped/new/a.txt"] {
                    seen.extend(runtime.block_on(everything(&tools, path)));
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let told = |what: &str| seen.iter().any(|answer| answer.contains(what));
    assert!(told("is a link"), "nothing was ever swapped");
    assert!(told("created swapped/new/a.txt") || told("replaced swapped/"), "nothing was written");
    assert!(!told(SECRET) && !told(HIDDEN), "{seen:#?}");
    assert_eq!(before, outside(&around));
}

#[test]
fn every_tool_has_a_schema_that_takes_what_it_needs() {
    let folder = TempDir::new().unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let tools = tools(&workspace);
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
    for tool in tools(&workspace) {
        for arguments in ["", "7", r#"{"path":7}"#, "\0"] {
            let outcome = tool.call(arguments, &context()).await;
            assert!(matches!(outcome, ToolOutcome::Failed(_)), "{arguments}");
        }
    }
}
