//! The journal of edits: what a file was before an edit and was to be after it, by the edit's key.
//!
//! An entry is a small file in a folder outside of the workspace. It is safely on the disk before
//! the file is touched, and is kept for some days.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use threadline_core::history::fact::Digest;

use super::super::place::synced;

/// How long an entry is kept. Whoever goes on with a conversation later than that is told what can
/// be told without.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// How many entries are looked at to find those that are too old.
const LOOKED_AT: usize = 10_000;
/// The name's end of an entry that is being written.
const NEW: &str = ".new";

/// A journal: its folder.
#[derive(Clone, Debug)]
pub(super) struct Journal(PathBuf);

/// What a file was, and what it was to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The file, as the call names it.
    pub(super) path: String,
    pub(super) before: Digest,
    pub(super) after: Digest,
}

impl Journal {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Keeps an entry, safely on the disk, and forgets those that are too old.
    pub(super) fn write(&self, key: &str, entry: &Entry) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let (path, new) = (self.path(key, ""), self.path(key, NEW));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(entry)?)?;
        file.sync_all()?;
        let now = file.metadata()?.modified()?;
        fs::rename(&new, &path)?;
        synced(File::open(&self.0)?.as_fd())?;
        // What cannot be removed now will be the next time.
        drop(self.forget(now - KEPT));
        Ok(())
    }

    /// The entry of a key; none if there is none.
    pub(super) fn read(&self, key: &str) -> io::Result<Option<Entry>> {
        match fs::read(self.path(key, "")) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self, key: &str, end: &str) -> PathBuf {
        self.0.join(format!("{}{end}", Digest::of(key.as_bytes())))
    }

    fn forget(&self, before: std::time::SystemTime) -> io::Result<()> {
        for item in fs::read_dir(&self.0)?.take(LOOKED_AT) {
            let path = item?.path();
            if is_entry(&path) && fs::symlink_metadata(&path)?.modified()? < before {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// Whether a file is one of ours. Others in the folder are left alone.
fn is_entry(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(NEW).unwrap_or(name).parse::<Digest>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry { path: path.into(), before: Digest::of(b"a"), after: Digest::of(b"b") }
    }

    #[test]
    fn an_entry_is_kept_and_those_too_old_are_forgotten() {
        let folder = tempfile::TempDir::new().unwrap();
        let journal = Journal::new(folder.path().join("made/edits"));
        assert_eq!(journal.read("one").unwrap(), None);
        journal.write("one", &entry("a.txt")).unwrap();
        journal.write("two", &entry("b.txt")).unwrap();
        assert_eq!(journal.read("one").unwrap(), Some(entry("a.txt")));
        let age = |path: &Path, days: u64| {
            let file = File::options().write(true).open(path).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - Duration::from_hours(days * 24)).unwrap();
        };
        let foreign = folder.path().join("made/edits/notes.txt");
        fs::write(&foreign, "mine").unwrap();
        fs::write(journal.path("three", NEW), "cut off").unwrap();
        age(&foreign, 100);
        age(&journal.path("one", ""), 8);
        age(&journal.path("two", ""), 6);
        age(&journal.path("three", NEW), 8);
        journal.write("four", &entry("c.txt")).unwrap();
        assert_eq!(journal.read("one").unwrap(), None);
        assert_eq!(journal.read("two").unwrap(), Some(entry("b.txt")));
        assert!(foreign.exists() && !journal.path("three", NEW).exists());
    }

    #[test]
    fn what_is_no_entry_is_told() {
        let folder = tempfile::TempDir::new().unwrap();
        let journal = Journal::new(folder.path().to_owned());
        fs::write(journal.path("key", ""), "{").unwrap();
        assert!(journal.read("key").is_err());
    }
}
