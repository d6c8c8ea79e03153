//! Files: those that cannot be written, are in use, or are no stores at all. Each is refused in
//! words that help, loses nothing, and is usable again when the cause is gone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::Connection;
use threadline_core::store::StoreError;
use threadline_core::store::verify::Depth;
use threadline_stores::sqlite::SqliteStore;

use super::actor::Actor;
use super::child::{self, Running};
use super::witness::{Event, Expected, Witness, list};
use super::world::{on_file, open, runtime, seed, words};

/// Somebody who is not root.
const NOBODY: u32 = 65_534;

/// Remembers what it sees.
#[derive(Default)]
pub(crate) struct Remembering(Mutex<Vec<Event>>);

impl Witness for Remembering {
    fn see(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Remembering {
    pub(crate) fn expected(&self) -> Expected {
        Expected::after(&self.0.lock().unwrap())
    }
}

/// A folder with a store in it that has something.
struct Kept {
    folder: tempfile::TempDir,
    expected: Expected,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let witness = Remembering::default();
        let store = open(folder.path().join("store.db"), 1);
        let mut actor = Actor::new(seed());
        runtime().block_on(async {
            for _ in 0..10 {
                actor.step(&store, &witness).await.unwrap();
            }
        });
        drop(store);
        Self { folder, expected: witness.expected() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// All is there, and more can be added.
    fn is_well(&self) {
        let store = open(self.path(), 2);
        let witness = Remembering::default();
        runtime().block_on(async {
            assert_eq!(self.expected.check(&store, Depth::Deep).await, [""; 0]);
            Actor::new(seed() + 1).step(&store, &witness).await.unwrap();
        });
    }
}

/// Why a path cannot be opened.
fn refused(path: &Path) -> StoreError {
    SqliteStore::open(on_file(path, 3)).err().expect("it is refused")
}

/// The words of an error, which must name these.
fn says(error: &StoreError, parts: &[&str]) {
    let words = words(error);
    for part in parts {
        assert!(words.contains(part), "{words:?} does not say {part:?}");
    }
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thing");

    fs::create_dir(&path).unwrap();
    let error = refused(&path);
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    says(&error, &["is a folder", "name a file in it"]);
    fs::remove_dir(&path).unwrap();

    for text in ["no", "this is no database", &"neither is this, long as it may be".repeat(1000)] {
        fs::write(&path, text).unwrap();
        let error = refused(&path);
        assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
        says(&error, &["choose another path"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::remove_file(&path).unwrap();

    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let error = refused(&path);
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    says(&error, &["another program", "choose another path"]);
    assert_eq!(fs::read(&path).unwrap(), before, "what is another program's stays as it is");
    fs::remove_file(&path).unwrap();

    // When the cause is gone, the path is as good as any.
    fs::write(&path, "").unwrap();
    let store = open(&path, 4);
    assert!(runtime().block_on(list(&store)).unwrap().is_empty());
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let kept = Kept::new();
    let version = |number: i64| {
        let connection = Connection::open(kept.path()).unwrap();
        connection.pragma_update(None, "user_version", number).unwrap();
    };
    let own: i64 = Connection::open(kept.path())
        .and_then(|connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0)))
        .unwrap();
    version(99);
    let before = fs::read(kept.path()).unwrap();
    let error = refused(&kept.path());
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    says(&error, &["99", "use a newer threadline"]);
    assert_eq!(fs::read(kept.path()).unwrap(), before);
    version(own);
    kept.is_well();
}

#[test]
fn a_file_that_another_process_locks_is_busy_until_it_is_free() {
    let kept = Kept::new();
    let store = open(kept.path(), 5);
    let witness = Remembering::default();
    let mut actor = Actor::new(seed() + 2);
    let arguments = ["lock".to_owned(), kept.path().to_str().unwrap().to_owned()];
    let mut other = Running::start(child::command("files::child", &arguments));
    other.until("locked");
    runtime().block_on(async {
        let busy = actor.step(&store, &witness).await.unwrap_err();
        assert!(matches!(busy, StoreError::Busy), "{busy:?}");
        says(&busy, &["another process", "try again"]);
        // What only reads is not kept waiting.
        assert_eq!(kept.expected.check(&store, Depth::Deep).await, [""; 0]);
        other.say("go");
        let (said, ended) = other.rest();
        assert!(ended, "{said:?}");
        actor.step(&store, &witness).await.unwrap();
    });
}

#[test]
fn a_full_disk_is_usable_again_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let command = child::command(
        "files::child",
        &["fill".to_owned(), folder.path().to_str().unwrap().to_owned()],
    );
    // In a small file system of its own, which goes with the process.
    let mut small = std::process::Command::new("unshare");
    small.args(["--map-root-user", "--mount", "sh", "-c"]);
    small.arg("mount -t tmpfs -o size=3m none \"$0\" && echo mounted >&2 && exec \"$@\"");
    small.arg(folder.path()).arg(command.get_program()).args(command.get_args());
    small.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    small.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    small.stderr(std::process::Stdio::piped());
    if !has("unshare") {
        return eprintln!("skipped: there is no unshare here");
    }
    let mut running = Running::start(small);
    let first = running.line();
    if first.as_deref() != Some("mounted") {
        return eprintln!("skipped: no file system can be mounted here: {first:?}");
    }
    let (said, ended) = running.rest();
    assert!(ended, "{said:#?}");
}

fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn what_may_not_be_written_is_refused_until_it_may() {
    let kept = Kept::new();
    let folder = kept.folder.path();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let run = folder.join("store.db.run");
    mode(folder, 0o777);
    for (what, file, above, beside) in [
        ("a file that may only be read", 0o444, 0o777, 0o777),
        ("a folder that may only be read", 0o666, 0o555, 0o777),
        ("run files that may only be read", 0o666, 0o777, 0o555),
        ("a folder that may not be looked into", 0o666, 0o000, 0o777),
    ] {
        mode(&kept.path(), file);
        mode(&run, beside);
        mode(&run.join("open.lock"), 0o666);
        mode(folder, above);
        let outcome = refused_to_nobody(&kept.path());
        let new = refused_to_nobody(&folder.join("new.db"));
        mode(folder, 0o777);
        let Some(outcome) = outcome else {
            return eprintln!("skipped: nobody else can run this program here");
        };
        eprintln!("{what}: {outcome}");
        assert!(outcome.starts_with("ReadOnly"), "{what}: {outcome}");
        let helps = outcome.contains("store.db") && outcome.contains("may");
        assert!(helps, "{what}: {outcome}");
        if above == 0o777 {
            fs::remove_file(folder.join("new.db")).unwrap();
        } else {
            let new = new.unwrap();
            assert!(new.starts_with("ReadOnly"), "a new file in {what}: {new}");
        }
    }
    mode(&kept.path(), 0o666);
    mode(&run, 0o777);
    kept.is_well();
}

/// What somebody who is not root is told who opens a path; none if there is nobody to be.
fn refused_to_nobody(path: &Path) -> Option<String> {
    let arguments = ["open".to_owned(), path.to_str().unwrap().to_owned()];
    let mut command = child::command("files::child", &arguments);
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    let said = String::from_utf8(output.stderr).unwrap();
    Some(said.lines().next().unwrap_or_default().to_owned())
}

/// What other processes do to a file.
#[test]
#[ignore = "a child process of the tests here"]
fn child() {
    let Some(arguments) = child::arguments() else { return };
    let [what, path] = &arguments[..] else { panic!("{arguments:?}") };
    match what.as_str() {
        "lock" => lock(Path::new(path)),
        "open" => child::tell(&match SqliteStore::open(on_file(path, 6)) {
            Ok(_) => "opened".to_owned(),
            Err(error) => format!("{error:?}"),
        }),
        "fill" => fill(Path::new(path)),
        _ => panic!("{arguments:?}"),
    }
}

fn lock(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    child::tell("locked");
    child::wait();
    connection.execute_batch("COMMIT").unwrap();
}

/// Appends until the disk is full, and goes on when there is room.
fn fill(folder: &Path) {
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![1; 1024 * 1024]).unwrap();
    let store = open(folder.join("store.db"), 7);
    let witness = Remembering::default();
    let mut actors = [Actor::new(seed() + 3), Actor::new(seed() + 4)];
    runtime().block_on(async {
        let mut full = 0;
        for step in 0..10_000 {
            match actors[step % 2].step(&store, &witness).await {
                Ok(()) => {}
                Err(StoreError::Full) => full += 1,
                Err(error) => panic!("{}", words(&error)),
            }
            if full == 5 {
                break;
            }
        }
        assert_eq!(full, 5, "the disk was never full");
        assert_eq!(witness.expected().check(&store, Depth::Chain).await, [""; 0]);
        fs::remove_file(&ballast).unwrap();
        for actor in &mut actors {
            actor.say_more(&store, &witness).await.unwrap();
        }
        assert_eq!(witness.expected().check(&store, Depth::Deep).await, [""; 0]);
    });
    drop(store);
    let store = open(folder.join("store.db"), 8);
    let wrong = runtime().block_on(witness.expected().check(&store, Depth::Deep));
    assert_eq!(wrong, [""; 0]);
}
