//! Rules of the workspace that no compiler checks: edges between crates, heads and lengths of
//! files, things left behind.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong, in its helpers too"
)]

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The crates, and which of the others each may use. A star around the core.
const EDGES: &[(&str, &[&str])] = &[
    ("threadline-core", &[]),
    ("threadline-providers", &["threadline-core"]),
    ("threadline-stores", &["threadline-core"]),
    ("threadline-tools", &["threadline-core"]),
    ("threadline-runtime", &["threadline-core"]),
    ("threadline-server", &["threadline-core", "threadline-runtime"]),
    ("threadline-testing", &["threadline-core"]),
    (
        "threadline",
        &[
            "threadline-core",
            "threadline-providers",
            "threadline-stores",
            "threadline-tools",
            "threadline-runtime",
            "threadline-server",
            "threadline-testing",
        ],
    ),
];

/// What the core must not use: it does no I/O, reads no clock and runs no tasks.
const NOT_IN_CORE: &[&str] =
    &["anyhow", "clap", "getrandom", "reqwest", "rusqlite", "tempfile", "tokio", "tracing"];

/// The longest file of ours.
const LINES_CAP: usize = 700;

#[test]
fn crates_use_only_what_they_may() {
    for (name, manifest) in manifests() {
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            panic!("{name} is new: give it its place in the table of edges");
        };
        for dependency in dependencies(&manifest) {
            let ours = dependency.starts_with("threadline");
            assert!(!ours || allowed.contains(&&*dependency), "{name} may not use {dependency}");
        }
    }
}

#[test]
fn the_core_is_pure() {
    let manifests = manifests();
    let (_, core) = manifests.iter().find(|(name, _)| name == "threadline-core").unwrap();
    for dependency in dependencies(core) {
        assert!(!NOT_IN_CORE.contains(&&*dependency), "the core may not use {dependency}");
    }
}

#[test]
fn edges_are_seen_wherever_they_are_written() {
    let manifest = r#"
        [dependencies]
        serde = "1"
        store = { package = "threadline-stores", path = "x" }
        [build-dependencies]
        threadline-tools.workspace = true
        [target.'cfg(unix)'.dependencies]
        threadline-server = { path = "x" }
        [dev-dependencies]
        threadline-testing.workspace = true
    "#;
    let mut seen = dependencies(&manifest.parse().unwrap());
    seen.sort();
    assert_eq!(seen, ["serde", "threadline-server", "threadline-stores", "threadline-tools"]);
}

#[test]
fn every_crate_keeps_the_workspace_lints() {
    for (name, manifest) in manifests() {
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(lints, Some(&Value::Boolean(true)), "{name} has lints of its own");
    }
}

#[test]
fn every_source_file_says_what_it_is_about_and_ends_in_time() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{path} does not open with `//!`");
        let lines = text.lines().count();
        assert!(lines <= LINES_CAP, "{path} has {lines} lines: it wants to be two files");
        assert!(!path.ends_with("/mod.rs"), "{path}: name it after its folder, beside it");
    }
}

#[test]
fn nothing_is_left_behind_in_the_sources() {
    let macros = ["todo", "dbg", "unimplemented"].map(|name| format!("{name}!("));
    for (path, text) in sources() {
        for (number, line) in (1..).zip(text.lines()) {
            let left = macros.iter().find(|left| line.contains(left.as_str()));
            assert_eq!(left, None, "{path}:{number}");
        }
    }
}

#[test]
fn nothing_names_a_folder_of_somebodys_machine() {
    let folders = ["work", "tmp", "root", "home", "Users"].map(|name| format!("/{name}/"));
    for (path, text) in texts() {
        for (number, line) in (1..).zip(text.lines()) {
            let named = folders.iter().find(|folder| names(line, folder));
            assert_eq!(named, None, "{path}:{number}: {line}");
        }
    }
}

#[test]
fn a_folder_is_one_of_the_machine_only_at_its_root() {
    assert!(names("/folder/x", "/folder/"));
    assert!(names("see \"/folder/x\"", "/folder/"));
    assert!(!names("https://example.org/folder/x", "/folder/"));
    assert!(!names("tests/folder/x, ~/folder/x", "/folder/"));
}

/// Whether a line names a folder of the root, and not one of that name somewhere below.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}'))
    })
}

/// The name and the manifest of every crate.
/// Every file and function that ARCHITECTURE.md names exists.
#[test]
fn the_map_names_what_there_is() {
    let root = root();
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (mut files, mut functions) = (0, 0);
    for line in map.lines().filter(|line| line.starts_with('|')) {
        let mut source = None;
        for (index, name) in line.split('`').enumerate() {
            if index % 2 == 0 {
                continue;
            }
            if Path::new(name).extension().is_some_and(|extension| extension == "rs") {
                let path = match name.strip_prefix('/') {
                    Some(path) => root.join("crates/threadline").join(path),
                    None => root.join(format!("crates/threadline-{name}")),
                };
                let text = fs::read_to_string(&path);
                source = Some((name, text.unwrap_or_else(|_| panic!("there is no {name}"))));
                files += 1;
            } else if let Some((file, text)) = &source
                && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                && line.split('|').nth(2).is_some_and(|cell| cell.contains(&format!("`{name}`")))
            {
                assert!(text.contains(&format!("fn {name}")), "{file} has no fn {name}");
                functions += 1;
            }
        }
    }
    assert!(files > 30 && functions > 20, "{files} files, {functions} functions");
}

fn manifests() -> Vec<(String, Table)> {
    let mut manifests = Vec::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let path = folder.unwrap().path().join("Cargo.toml");
        let manifest: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        manifests.push((name, manifest));
    }
    assert!(manifests.len() >= 4, "the crates are not where they were");
    manifests
}

/// What a crate itself is built from, on any platform; what only its tests use does not count.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let per_target = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut names = Vec::new();
    for table in per_target.chain([manifest]) {
        for kind in ["dependencies", "build-dependencies"] {
            let listed = table.get(kind).and_then(Value::as_table);
            for (key, value) in listed.into_iter().flatten() {
                // A dependency may go by another name.
                let package = value.get("package").and_then(Value::as_str);
                names.push(package.unwrap_or(key).to_owned());
            }
        }
    }
    names
}

/// The path and the text of every Rust file.
fn sources() -> Vec<(String, String)> {
    let mut files = texts();
    files.retain(|(path, _)| Path::new(path).extension().is_some_and(|ending| ending == "rs"));
    assert!(files.len() > 20, "the sources are not where they were");
    files
}

/// The path and the text of every file that is text and not generated.
fn texts() -> Vec<(String, String)> {
    let root = root();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if matches!(&*name, ".git" | "target" | "corpus" | "artifacts" | "Cargo.lock") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
