//! The workspace: a folder, and the way to its files that does not lead out of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use threadline_core::history::fact::WorkspaceSet;

use super::place::Place;

/// The longest path that systems take.
const PATH_CAP_BYTES: usize = 4096;
/// How many names of a folder are looked at.
const NAMES_CAP: usize = 10_000;
/// How many folders are gone through one by one: each is held open.
const PARTS_CAP: usize = 128;

/// A folder whose files an agent may read and change.
///
/// It holds the folder itself, not its name: when the folder is moved, it goes with it.
#[derive(Debug)]
pub struct Workspace {
    folder: OwnedFd,
    identity: WorkspaceSet,
    way: Way,
    /// Held by whoever changes a file, from reading it to the end: no change is made of what was
    /// there before another one, and none while somebody finds out whether it was made.
    changing: Mutex<()>,
}

/// How a path is kept beneath the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The system resolves it and sees to it.
    #[cfg(target_os = "linux")]
    Beneath,
    /// Part by part, and no link is followed: for systems that cannot.
    PartByPart,
}

/// A file that was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) bytes: u64,
}

/// Why a path was not opened.
#[derive(Debug)]
pub(super) enum NotOpened {
    /// It is no path at all: why.
    NoPath(&'static str),
    /// It leads out of the workspace.
    Outside,
    /// There is nothing of this name.
    Missing,
    /// It is a folder.
    Folder,
    /// It is something else that cannot be read to its end: what.
    NoFile(&'static str),
    /// It is a link or leads through one, where none is followed.
    Link,
    /// A part of it is a file, and more follows.
    NoFolder,
    /// The system does not allow it.
    Denied,
    /// The system says something else.
    Failed(io::Error),
}

impl Workspace {
    /// Opens the folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let way = way(folder.as_fd());
        let stat = rustix::fs::fstat(&folder)?;
        let identity = WorkspaceSet {
            path: written(&path.canonicalize()?).into(),
            device: Some(stat.st_dev),
            inode: Some(stat.st_ino),
        };
        Ok(Self { folder, identity, way, changing: Mutex::new(()) })
    }

    /// Which folder it is: what a conversation that works in it records.
    pub fn identity(&self) -> &WorkspaceSet {
        &self.identity
    }

    /// Opens a file to read it. Pipes, devices and the like are not waited for and not read.
    pub(super) fn file(&self, path: &str) -> Result<Opened, NotOpened> {
        // Without NONBLOCK, opening a pipe that nobody writes to would never return.
        let handle = self.beneath(path, OFlags::NONBLOCK | OFlags::NOCTTY, Links::Followed)?;
        let file = File::from(handle);
        let metadata = file.metadata().map_err(NotOpened::Failed)?;
        let kind = metadata.file_type();
        match not_a_file(kind) {
            None => Ok(Opened { file, bytes: metadata.len() }),
            Some(reason) => Err(reason),
        }
    }

    /// Opens a folder to look into it.
    pub(super) fn folder(&self, path: &str) -> Result<OwnedFd, NotOpened> {
        self.beneath(path, OFlags::DIRECTORY, Links::Followed)
    }

    /// The place that a path names, to change what is there. No link is followed on the way.
    pub(super) fn place(&self, path: &str, missing: Missing) -> Result<Place, NotOpened> {
        checked(path)?;
        let way = Path::new(path);
        if path.ends_with('/') || path.ends_with("/.") {
            return Err(NotOpened::Folder);
        }
        let name = match way.components().next_back() {
            Some(Component::Normal(name)) => name.to_owned(),
            Some(Component::RootDir | Component::Prefix(_)) => return Err(NotOpened::Outside),
            Some(Component::CurDir | Component::ParentDir) | None => return Err(NotOpened::Folder),
        };
        let parent = way.parent().and_then(Path::to_str).filter(|parent| !parent.is_empty());
        let parent = parent.unwrap_or(".");
        let folder = match (self.beneath(parent, OFlags::DIRECTORY, Links::Refused), missing) {
            (Err(NotOpened::Missing), Missing::Made) => self.made(parent)?,
            (opened, Missing::Made | Missing::Told) => opened?,
        };
        Ok(Place { folder, name })
    }

    /// Waits until nobody else changes files through this workspace.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        // It guards files, which are whole at every moment.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a folder, and makes what is missing of it.
    fn made(&self, path: &str) -> Result<OwnedFd, NotOpened> {
        let mut steps = Steps { start: self.folder.as_fd(), passed: Vec::new() };
        for part in Path::new(path).components() {
            match steps.go(part) {
                Err(NotOpened::Missing) => steps.make(part)?,
                other => other?,
            }
        }
        steps.open(std::ffi::OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The names in a folder, sorted, those of folders with a slash; the first ones of very many.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, NotOpened> {
        let handle = self.folder(folder)?;
        let mut names = Vec::new();
        for item in Dir::new(handle).map_err(unopened)?.take(NAMES_CAP) {
            let item = item.map_err(unopened)?;
            let name = item.file_name().to_string_lossy();
            if !matches!(&*name, "." | "..") {
                let slash = if item.file_type() == FileType::Directory { "/" } else { "" };
                names.push(format!("{name}{slash}"));
            }
        }
        names.sort();
        Ok(names)
    }

    fn beneath(&self, path: &str, flags: OFlags, links: Links) -> Result<OwnedFd, NotOpened> {
        checked(path)?;
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        match self.way {
            #[cfg(target_os = "linux")]
            Way::Beneath => at_once(self.folder.as_fd(), path, flags, links),
            Way::PartByPart => part_by_part(self.folder.as_fd(), path, flags),
        }
    }
}

#[cfg(test)]
impl Workspace {
    /// The folder, opened once for each way that paths are kept beneath it.
    pub(super) fn each_way(path: &Path) -> Vec<Self> {
        let open = || Self::open(path).unwrap();
        vec![open(), Self { way: Way::PartByPart, ..open() }]
    }
}

/// A path as text. Names need not be text: odd bytes are escaped.
fn written(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
    }
}

/// What is done about folders that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// They are made.
    Made,
    /// It is told.
    Told,
}

/// Whether links are followed where the system can keep them within the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

/// Refuses what is no path at all.
fn checked(path: &str) -> Result<(), NotOpened> {
    match () {
        () if path.is_empty() => Err(NotOpened::NoPath("it is empty")),
        () if path.contains('\0') => Err(NotOpened::NoPath("it has a zero byte in it")),
        () if path.len() > PATH_CAP_BYTES => Err(NotOpened::NoPath("it is too long")),
        () => Ok(()),
    }
}

/// What something is that is no file.
pub(super) fn not_a_file(kind: std::fs::FileType) -> Option<NotOpened> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some(NotOpened::Folder),
        () if kind.is_symlink() => Some(NotOpened::Link),
        () if kind.is_fifo() => Some(NotOpened::NoFile("a pipe")),
        () if kind.is_socket() => Some(NotOpened::NoFile("a socket")),
        () => Some(NotOpened::NoFile("a device")),
    }
}

/// The way that this system has.
#[cfg(target_os = "linux")]
fn way(folder: BorrowedFd<'_>) -> Way {
    // Old kernels do not know the call, and some containers forbid what they do not know.
    match at_once(folder, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Links::Followed) {
        Ok(_) => Way::Beneath,
        Err(_) => Way::PartByPart,
    }
}

/// The way that this system has.
#[cfg(not(target_os = "linux"))]
fn way(_folder: BorrowedFd<'_>) -> Way {
    Way::PartByPart
}

#[cfg(target_os = "linux")]
fn at_once(
    folder: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, NotOpened> {
    use rustix::fs::{ResolveFlags, openat2};

    /// How often it is tried again when a folder on the way is being moved.
    const RACES_CAP: usize = 16;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let within = match links {
        Links::Followed => within,
        Links::Refused => within | ResolveFlags::NO_SYMLINKS,
    };
    for _ in 0..RACES_CAP {
        match openat2(folder, path, flags, Mode::empty(), within) {
            // Something on the way was moved: the system cannot vouch for it and says so.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::LOOP) if links == Links::Refused => return Err(NotOpened::Link),
            other => return other.map_err(unopened),
        }
    }
    Err(unopened(Errno::AGAIN))
}

fn part_by_part(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, NotOpened> {
    let mut steps = Steps { start: folder, passed: Vec::new() };
    let mut parts = Path::new(path).components();
    let last = match parts.clone().next_back() {
        Some(Component::Normal(name)) => {
            parts.next_back();
            name
        }
        _ => std::ffi::OsStr::new("."),
    };
    for part in parts {
        steps.go(part)?;
    }
    steps.open(last, flags)
}

/// Goes from folder to folder by their handles. No link is followed, and the way up is the way it
/// came: the system is never asked for `..`.
struct Steps<'a> {
    start: BorrowedFd<'a>,
    passed: Vec<OwnedFd>,
}

impl Steps<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.passed.last().map_or(self.start, OwnedFd::as_fd)
    }

    fn open(&self, name: &std::ffi::OsStr, flags: OFlags) -> Result<OwnedFd, NotOpened> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.here(), name, flags, Mode::empty()).map_err(unopened)
    }

    fn go(&mut self, part: Component<'_>) -> Result<(), NotOpened> {
        match part {
            Component::CurDir => Ok(()),
            Component::RootDir | Component::Prefix(_) => Err(NotOpened::Outside),
            Component::ParentDir => self.passed.pop().map(drop).ok_or(NotOpened::Outside),
            Component::Normal(_) if self.passed.len() >= PARTS_CAP => {
                Err(NotOpened::NoPath("it has too many parts"))
            }
            Component::Normal(name) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let opened = self.open(name, flags).map_err(|reason| match reason {
                    NotOpened::Missing if self.is_link(name) => NotOpened::Link,
                    other => other,
                })?;
                self.passed.push(opened);
                Ok(())
            }
        }
    }

    /// Makes a folder and goes into it.
    fn make(&mut self, part: Component<'_>) -> Result<(), NotOpened> {
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        match rustix::fs::mkdirat(self.here(), part.as_os_str(), mode) {
            Ok(()) => super::place::synced(self.here()).map_err(NotOpened::Failed)?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(unopened(errno)),
        }
        self.go(part).map_err(|reason| match reason {
            NotOpened::Missing => NotOpened::NoFolder,
            other => other,
        })
    }

    fn is_link(&self, name: &std::ffi::OsStr) -> bool {
        let stat = rustix::fs::statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }
}

pub(super) fn unopened(errno: Errno) -> NotOpened {
    match errno {
        Errno::XDEV => NotOpened::Outside,
        Errno::NOENT | Errno::NOTDIR => NotOpened::Missing,
        Errno::ACCESS | Errno::PERM => NotOpened::Denied,
        Errno::LOOP => NotOpened::NoFile("a link that cannot be followed"),
        Errno::NXIO => NotOpened::NoFile("a socket"),
        Errno::NAMETOOLONG => NotOpened::NoPath("a part of it is too long"),
        other => NotOpened::Failed(other.into()),
    }
}

#[cfg(test)]
mod tests;
