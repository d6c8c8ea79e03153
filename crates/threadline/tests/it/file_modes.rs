//! Who can read the files that the program makes: the user, whatever the umask is.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::Home;

/// A program that is under way while its files are looked at, and a call that edits a file.
const SCRIPT: &str = r#"
turn when edit
  call edit_file {"path":"note.txt","find":"old","with":"new"}
then
  say done
turn when wait
  call dev_read {"line":"waits","ms":60000}
then
  say done
turn else
  say hello
"#;

/// Every file and folder below a folder, without following links.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The program, with another umask.
fn with_umask(home: &Home, umask: &str, arguments: &[&str]) -> Command {
    let program = home.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
    command.arg(program.get_program()).args(program.get_args());
    command.env_clear().current_dir(home.path("."));
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap());
    }
    command.env("PATH", "/usr/bin:/bin").env("THREADLINE_CAPTURE", home.path("captures"));
    command
}

#[test]
fn only_the_user_can_read_what_the_program_makes() {
    for umask in ["022", "000"] {
        let home = Home::new();
        home.follows(SCRIPT);
        home.write("note.txt", "old\n");
        home.write("threadline.toml", "[limits]\nsteps = 9\n");
        let given = below(&home.path("."));
        let run = |arguments: &[&str]| {
            let output = with_umask(&home, umask, arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
        };
        run(&["trust"]);
        run(&["--log", "all", "run", "hello"]);
        run(&["policy", "last", "allow", "edit_file"]);
        run(&["run", "edit", "--continue", "last"]);
        run(&["export", "last", "-o", "talk.threadline.jsonl"]);
        let child = with_umask(&home, umask, &["--log", "all", "run", "wait"])
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        // The log is there while a process has the database open.
        let wal = home.path(".local/share/threadline/threadline.db-wal");
        for _ in 0..1_000 {
            if wal.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        home.await_entry("last", "tool_started");
        let made: Vec<PathBuf> =
            below(&home.path(".")).into_iter().filter(|path| !given.contains(path)).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        let named = |end: &str| made.iter().any(|path| path.to_string_lossy().ends_with(end));
        for end in [
            "threadline.db",
            "threadline.db-wal",
            "threadline.db-shm",
            "threadline.db.run",
            ".lock",
            "threadline.log",
            "trusted",
            "talk.threadline.jsonl",
            "captures",
        ] {
            assert!(named(end), "no {end} among {made:#?}");
        }
        for path in made.iter().filter(|path| !path.ends_with("ledger")) {
            // What is only there while something is written may be gone.
            let Ok(metadata) = fs::metadata(path) else { continue };
            let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(path), wanted, "umask {umask}: {}", path.display());
        }
    }
}

#[test]
fn files_that_others_could_read_are_tightened() {
    let home = Home::new();
    home.write("threadline.toml", "[limits]\nsteps = 9\n");
    home.run(&["trust"]).ok();
    home.run(&["--log", "all", "run", "hello"]).ok();
    let data = home.path(".local/share/threadline");
    let names = ["threadline.db", "threadline.log", "trusted"];
    set_mode(&data, 0o755);
    set_mode(&data.join("threadline.db.run"), 0o755);
    for name in names {
        set_mode(&data.join(name), 0o644);
    }
    home.run(&["--log", "all", "run", "hello"]).ok();
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("threadline.db.run")), 0o700);
    for name in names {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    // A folder that the user chose stays as it is; the file in it does not.
    home.write("shared/note.txt", "");
    set_mode(&home.path("shared"), 0o755);
    home.run(&["--db", "shared/x.db", "list"]).ok();
    set_mode(&home.path("shared/x.db"), 0o664);
    home.run(&["--db", "shared/x.db", "list"]).ok();
    assert_eq!((mode(&home.path("shared")), mode(&home.path("shared/x.db"))), (0o755, 0o600));
    // What belongs to somebody else is not touched, where the test may give files away.
    symlink(home.path("shared/x.db"), home.path("link.db")).unwrap();
    set_mode(&home.path("shared/x.db"), 0o664);
    if std::os::unix::fs::chown(home.path("shared/x.db"), Some(12_345), None).is_ok() {
        drop(home.run(&["--db", "link.db", "list"]));
        assert_eq!(mode(&home.path("shared/x.db")), 0o664);
    }
}
