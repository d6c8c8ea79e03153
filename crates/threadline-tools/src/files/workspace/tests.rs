//! Tests of the workspace: what opens, and that nothing leads out, whichever way the system has.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A folder beside a workspace, with links between and inside them.
fn around() -> TempDir {
    let around = TempDir::new().unwrap();
    let at = |name: &str| around.path().join(name);
    fs::create_dir_all(at("space/folder/inner")).unwrap();
    fs::create_dir_all(at("outside")).unwrap();
    fs::write(at("secret.txt"), "secret").unwrap();
    fs::write(at("outside/secret.txt"), "secret").unwrap();
    fs::write(at("space/file.txt"), "inside").unwrap();
    fs::write(at("space/folder/file.txt"), "deeper").unwrap();
    symlink("folder/file.txt", at("space/link")).unwrap();
    symlink("../file.txt", at("space/folder/up")).unwrap();
    symlink("../secret.txt", at("space/out")).unwrap();
    symlink(at("secret.txt"), at("space/absolute")).unwrap();
    symlink("../outside", at("space/door")).unwrap();
    symlink("loop", at("space/loop")).unwrap();
    around
}

fn spaces(around: &TempDir) -> Vec<Workspace> {
    Workspace::each_way(&around.path().join("space"))
}

fn read(space: &Workspace, path: &str) -> String {
    match space.file(path) {
        Ok(Opened { mut file, bytes }) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(usize::try_from(bytes).unwrap(), text.len());
            text
        }
        Err(NotOpened::NoPath(why)) => format!("no path: {why}"),
        Err(NotOpened::NoFile(what)) => format!("no file: {what}"),
        Err(NotOpened::Failed(error)) => format!("failed: {error}"),
        Err(other) => format!("{other:?}").to_lowercase(),
    }
}

#[test]
fn files_inside_open_and_nothing_outside_does() {
    let around = around();
    let absolute = around.path().join("space/file.txt").to_str().unwrap().to_owned();
    let table = [
        ("file.txt", "inside"),
        ("./file.txt", "inside"),
        ("folder//file.txt", "deeper"),
        ("folder", "folder"),
        ("folder/", "folder"),
        (".", "folder"),
        ("missing", "missing"),
        ("missing/file.txt", "missing"),
        ("file.txt/more", "missing"),
        ("..", "outside"),
        ("../secret.txt", "outside"),
        ("folder/../../secret.txt", "outside"),
        (&absolute, "outside"),
        ("/etc/passwd", "outside"),
        ("loop", "no file: a link that cannot be followed"),
        ("", "no path: it is empty"),
        ("a\0b", "no path: it has a zero byte in it"),
    ];
    for space in spaces(&around) {
        for (path, expected) in table {
            assert_eq!(read(&space, path), expected, "{path:?} {:?}", space.way);
        }
        assert_eq!(read(&space, &"a".repeat(300)), "no path: a part of it is too long");
        assert_eq!(read(&space, &"a/".repeat(3000)), "no path: it is too long");
        for out in ["out", "absolute", "door/secret.txt", "door/../../secret.txt"] {
            assert!(space.file(out).is_err(), "{out} {:?}", space.way);
        }
    }
}

#[test]
fn links_inside_are_followed_where_the_system_can_vouch_for_them() {
    let around = around();
    let space = Workspace::open(&around.path().join("space")).unwrap();
    if space.way == Way::PartByPart {
        return;
    }
    assert_eq!(read(&space, "link"), "deeper");
    assert_eq!(read(&space, "folder/up"), "inside");
    assert_eq!(read(&space, "folder/../file.txt"), "inside");
    for out in ["out", "absolute", "door/secret.txt"] {
        assert_eq!(read(&space, out), "outside", "{out}");
    }
}

#[test]
fn a_way_up_within_the_folder_is_gone() {
    let around = around();
    for space in spaces(&around) {
        assert_eq!(read(&space, "folder/../file.txt"), "inside");
        assert_eq!(read(&space, "folder/inner/../../folder/file.txt"), "deeper");
        assert_eq!(read(&space, "missing/../file.txt"), "missing");
        assert_eq!(read(&space, "folder/.."), "folder");
        assert!(matches!(space.place("a/..", Missing::Made), Err(NotOpened::Folder)));
        assert!(matches!(space.place("folder/../../x", Missing::Made), Err(NotOpened::Outside)));
    }
    let deep = "a/".repeat(200) + "x";
    let space = Workspace::each_way(around.path()).pop().unwrap();
    fs::create_dir_all(around.path().join(&deep)).unwrap();
    assert_eq!(read(&space, &deep), "no path: it has too many parts");
}

#[test]
fn no_path_leads_out() {
    let around = around();
    let spaces = spaces(&around);
    let part = prop::sample::select(vec![
        "..",
        ".",
        "",
        "folder",
        "inner",
        "file.txt",
        "secret.txt",
        "up",
        "link",
        "out",
        "door",
        "absolute",
        "outside",
        "loop",
        "/",
    ]);
    proptest!(|(parts in prop::collection::vec(part, 0..8), any in "\\PC{0,20}")| {
        for space in &spaces {
            for path in [parts.join("/"), any.clone()] {
                let text = read(space, &path);
                prop_assert!(text != "secret", "{} {:?}", path, space.way);
            }
        }
    });
}

#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let around = around();
    let at = |name: &str| around.path().join(name);
    fs::create_dir(at("space/swapped")).unwrap();
    fs::write(at("space/swapped/secret.txt"), "open").unwrap();
    let (done, mut seen) = (AtomicBool::new(false), BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::rename(at("space/swapped"), at("kept")).unwrap();
                symlink("../outside", at("space/swapped")).unwrap();
                fs::remove_file(at("space/swapped")).unwrap();
                fs::rename(at("kept"), at("space/swapped")).unwrap();
            }
        });
        for space in spaces(&around) {
            // On a busy machine the other thread may rest for long in a moment without the folder.
            let mut count = 0;
            while count < 5000 || (count < 10_000_000 && !seen.contains("open")) {
                seen.insert(read(&space, "swapped/secret.txt"));
                count += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.contains("open"), "the folder was never there");
    assert!(!seen.contains("secret"), "{seen:?}");
}

#[test]
fn a_workspace_that_is_moved_stays_the_same_folder() {
    let around = around();
    for (number, space) in spaces(&around).into_iter().enumerate() {
        let (here, there) = (around.path().join("space"), around.path().join(format!("{number}")));
        fs::rename(&here, &there).unwrap();
        fs::create_dir(&here).unwrap();
        assert_eq!(read(&space, "file.txt"), "inside");
        fs::remove_dir(&here).unwrap();
        fs::rename(&there, &here).unwrap();
    }
}

#[test]
fn pipes_sockets_and_devices_are_told_and_not_waited_for() {
    let around = around();
    let space = around.path().join("space");
    let pipe = std::process::Command::new("mkfifo").arg(space.join("pipe")).status().unwrap();
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(space.join("socket")).unwrap();
    for space in spaces(&around) {
        assert_eq!(read(&space, "pipe"), "no file: a pipe");
        assert_eq!(read(&space, "socket"), "no file: a socket");
    }
    let devices = Workspace::open(Path::new("/dev")).unwrap();
    assert_eq!(read(&devices, "null"), "no file: a device");
}

#[test]
fn names_are_sorted_and_folders_marked() {
    let around = around();
    for space in spaces(&around) {
        let names = space.names("folder").unwrap();
        assert_eq!(names, ["file.txt", "inner/", "up"]);
        assert!(space.names("file.txt").is_err());
        assert!(space.names("..").is_err());
    }
    assert!(Workspace::open(&around.path().join("secret.txt")).is_err());
    assert!(Workspace::open(&around.path().join("missing")).is_err());
}
