//! Run files: how processes on one machine tell whether the owner of a lease still lives.
//!
//! Each opened store holds an OS lock on a file of its own beside the database for as long as it
//! is open. The system gives the lock back when the process dies, however it dies. A run file
//! that is gone, or that can be locked, is that of a dead owner.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use threadline_core::id::IdSource;
use threadline_core::store::StoreError;

use super::connection::{file_error, make_folder};
use crate::private_file;

const OPEN_LOCK: &str = "open.lock";
/// How long others may take to open the same store: each takes some milliseconds, and many may come at
/// once.
const OPEN_LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Tells apart the stores that one process opens, whatever its source of ids.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The name of an opened store among those that share its file.
pub(super) fn run_name(ids: &dyn IdSource) -> String {
    let nth = OPENED.fetch_add(1, Ordering::Relaxed);
    let random = u128::from_le_bytes(ids.random());
    format!("{random:032x}-{}-{nth}", std::process::id())
}

/// The folder of the run files of one database.
#[derive(Clone, Debug)]
pub(super) struct RunFolder(PathBuf);

impl RunFolder {
    /// The folder beside a database.
    pub(super) fn of(path: &Path) -> Self {
        let mut name = OsString::from(path);
        name.push(".run");
        Self(PathBuf::from(name))
    }

    /// Lets one process at a time open the store and look through the run files.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let failed =
            |error: io::Error| file_error("lock the store while it is opened", &self.0, &error);
        if !self.0.exists() {
            make_folder(&self.0).map_err(failed)?;
        }
        let mut options = private_file::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(self.0.join(OPEN_LOCK)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The system wakes those who wait for a lock. A thread waits, because that cannot be stopped:
        // if it takes too long, the thread gives the lock back as soon as it has it.
        let (sender, locked) = channel();
        std::thread::spawn(move || {
            let done = file.lock().map(|()| file);
            drop(sender.send(done));
        });
        match locked.recv_timeout(OPEN_LOCK_PATIENCE) {
            Ok(file) => file.map_err(failed),
            Err(_) => Err(StoreError::Busy),
        }
    }

    /// Makes and holds the run file of a store that was just opened.
    pub(super) fn hold(&self, name: &str) -> Result<RunFile, StoreError> {
        let path = self.path_of(name);
        let failed =
            |error: io::Error| file_error("create the run file of the store", &path, &error);
        let file =
            private_file::options().write(true).create_new(true).open(&path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Busy,
            TryLockError::Error(error) => failed(error),
        })?;
        Ok(RunFile { path, _file: file })
    }

    /// Removes the run files of the dead. Only under [`RunFolder::lock`], so that none is removed
    /// before its owner has locked it.
    pub(super) fn remove_dead(&self) {
        let Ok(files) = fs::read_dir(&self.0) else { return };
        for file in files.flatten() {
            if file.file_name() != OPEN_LOCK && is_free(&file.path()) {
                remove(&file.path());
            }
        }
    }

    /// Whether the store with a run name is open somewhere.
    fn lives(&self, name: &str) -> bool {
        !is_free(&self.path_of(name))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.lock"))
    }
}

/// Whether nobody holds the lock on a file. When in doubt, somebody does.
fn is_free(path: &Path) -> bool {
    match File::open(path) {
        // A shared lock, so that two that look at the same moment do not see each other.
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(target: "History", path = %path.display(), %error, "left a run file behind");
    }
}

/// The run file of an opened store, locked until it is dropped.
#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
    _file: File,
}

impl Drop for RunFile {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Who of the owners of leases and leftovers lives, asked once for each.
#[derive(Debug)]
pub(super) struct Living<'a> {
    own: &'a str,
    folder: Option<&'a RunFolder>,
    known: HashMap<String, bool>,
}

impl<'a> Living<'a> {
    /// Seen from the store `own`. Without run files only its own leftovers are known to be in
    /// use, and every lease is taken to be that of a living owner.
    pub(super) fn new(own: &'a str, folder: Option<&'a RunFolder>) -> Self {
        Self { own, folder, known: HashMap::new() }
    }

    /// Whether the owner of a lease may still live.
    pub(super) fn holds_lease(&mut self, run: &str) -> bool {
        self.folder.is_none() || self.lives(run)
    }

    /// Whether a leftover is still in use.
    pub(super) fn uses(&mut self, run: &str) -> bool {
        !run.is_empty() && self.lives(run)
    }

    fn lives(&mut self, run: &str) -> bool {
        if run == self.own {
            return true;
        }
        let Some(folder) = self.folder else { return false };
        if let Some(lives) = self.known.get(run) {
            return *lives;
        }
        let lives = folder.lives(run);
        self.known.insert(run.to_owned(), lives);
        lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than a hundred that come at once are all let in, one at a time.
    #[test]
    fn everyone_who_waits_is_let_in() {
        let folder = tempfile::tempdir().unwrap();
        let folder = RunFolder::of(&folder.path().join("store.db"));
        let inside = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..120 {
                scope.spawn(|| {
                    let lock = folder.lock().unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::sleep(Duration::from_millis(50));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                });
            }
        });
    }
}
