//! A walk through a folder and what is beneath it, by the folders' handles.
//!
//! Names come sorted, a folder before what is in it. No link is followed, and nothing is opened
//! but relative to the folder that it was found in.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::workspace::{NotOpened, Opened, not_a_file, unopened};
use crate::text::plain;

/// How deep a walk goes: every folder on the way is held open.
pub(super) const DEPTH_CAP: usize = 64;
/// How many names a walk looks at.
pub(super) const NAMES_CAP: usize = 200_000;

/// A walk.
pub(super) struct Walk {
    levels: Vec<Level>,
    depth: usize,
    /// How many names may still be looked at.
    left: usize,
    /// Whether there are more names than a walk looks at.
    pub(super) cut: bool,
}

/// A folder on the way.
struct Level {
    handle: OwnedFd,
    /// Its path, with a slash at the end unless it is empty.
    path: String,
    /// The names in it that are still to come.
    names: std::vec::IntoIter<(CString, FileType)>,
}

/// What is found on a walk.
pub(super) struct Found<'a> {
    /// Its path, relative to the workspace; as far as it is text.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Whether its name is text, so that it can be asked for.
    pub(super) named: bool,
    name: CString,
    folder: BorrowedFd<'a>,
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder(Inside),
    Link,
    /// Something else: what.
    Other(&'static str),
}

/// Whether what is in a folder comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// It does.
    Next,
    /// It is deeper than was asked for.
    Deeper,
    /// It is what git keeps, which nobody wants to read.
    Git,
    /// The system does not let it be looked into.
    Closed,
}

impl Walk {
    /// A walk through a folder, so many levels deep.
    pub(super) fn new(folder: OwnedFd, path: &str, depth: usize) -> Result<Self, NotOpened> {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let path = if matches!(path, "." | "") { String::new() } else { format!("{path}/") };
        let depth = depth.clamp(1, DEPTH_CAP);
        let mut walk = Self { levels: Vec::new(), depth, left: NAMES_CAP, cut: false };
        walk.enter(folder, path)?;
        Ok(walk)
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Option<Found<'_>> {
        let (path, name, kind) = loop {
            let level = self.levels.last_mut()?;
            match level.names.next() {
                Some((name, kind)) => {
                    break (
                        format!("{}{}", level.path, plain(&name.to_string_lossy())),
                        name,
                        kind,
                    );
                }
                None => drop(self.levels.pop()),
            }
        };
        let kind = match kind {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Folder(self.inside(&name, &path)),
            FileType::Fifo => Kind::Other("a pipe"),
            FileType::Socket => Kind::Other("a socket"),
            _ => Kind::Other("a device"),
        };
        let named = name.to_str().is_ok_and(|text| plain(text) == text);
        let folder = self.levels.last()?.handle.as_fd();
        Some(Found { path, kind, named, name, folder })
    }

    /// Goes into a folder, if it is to be gone into.
    fn inside(&mut self, name: &CString, path: &str) -> Inside {
        if self.levels.len() >= self.depth {
            return Inside::Deeper;
        }
        if name.as_bytes() == b".git" {
            return Inside::Git;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Some(level) = self.levels.last() else { return Inside::Closed };
        let opened = rustix::fs::openat(&level.handle, name, flags, Mode::empty());
        let entered = opened.map_err(unopened).and_then(|it| self.enter(it, format!("{path}/")));
        entered.map_or(Inside::Closed, |()| Inside::Next)
    }

    fn enter(&mut self, handle: OwnedFd, path: String) -> Result<(), NotOpened> {
        let mut names = Vec::new();
        for item in Dir::read_from(&handle).map_err(unopened)? {
            let item = item.map_err(unopened)?;
            let name = item.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.left == 0 {
                self.cut = true;
                break;
            }
            self.left -= 1;
            names.push((name.to_owned(), kind_of(handle.as_fd(), name, item.file_type())));
        }
        names.sort_by(|(one, _): &(CString, FileType), (other, _)| one.cmp(other));
        self.levels.push(Level { handle, path, names: names.into_iter() });
        Ok(())
    }
}

/// Not every file system says at once what a name is of.
fn kind_of(folder: BorrowedFd<'_>, name: &std::ffi::CStr, said: FileType) -> FileType {
    match said {
        FileType::Unknown => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        known => known,
    }
}

impl Found<'_> {
    /// How large it is, if the system says so.
    pub(super) fn bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statat(self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        u64::try_from(stat.st_size).ok()
    }

    /// What it says, if it is a link.
    pub(super) fn target(&self) -> Option<String> {
        let target = rustix::fs::readlinkat(self.folder, &self.name, Vec::new()).ok()?;
        Some(plain(&target.to_string_lossy()))
    }

    /// Opens it, if it is a file.
    pub(super) fn open(&self) -> Result<Opened, NotOpened> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let handle =
            rustix::fs::openat(self.folder, &self.name, flags | OFlags::CLOEXEC, Mode::empty());
        let file = File::from(handle.map_err(unopened)?);
        let metadata = file.metadata().map_err(NotOpened::Failed)?;
        match not_a_file(metadata.file_type()) {
            None => Ok(Opened { file, bytes: metadata.len() }),
            Some(reason) => Err(reason),
        }
    }
}
