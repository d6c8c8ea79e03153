//! The workspace: a folder, and the way to its files that does not lead out of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The longest path that systems take.
const PATH_CAP_BYTES: usize = 4096;
/// How many names of a folder are looked at.
const NAMES_CAP: usize = 10_000;

/// A folder whose files an agent may read.
///
/// It holds the folder itself, not its name: when the folder is moved, it goes with it.
#[derive(Debug)]
pub struct Workspace {
    folder: OwnedFd,
    way: Way,
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
        Ok(Self { folder, way })
    }

    /// Opens a file to read it. Pipes, devices and the like are not waited for and not read.
    pub(super) fn file(&self, path: &str) -> Result<Opened, NotOpened> {
        // Without NONBLOCK, opening a pipe that nobody writes to would never return.
        let handle = self.beneath(path, OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let file = File::from(handle);
        let metadata = file.metadata().map_err(NotOpened::Failed)?;
        let kind = metadata.file_type();
        if kind.is_file() {
            return Ok(Opened { file, bytes: metadata.len() });
        }
        Err(match () {
            () if kind.is_dir() => NotOpened::Folder,
            () if kind.is_fifo() => NotOpened::NoFile("a pipe"),
            () if kind.is_socket() => NotOpened::NoFile("a socket"),
            () => NotOpened::NoFile("a device"),
        })
    }

    /// The names in a folder, sorted, those of folders with a slash; the first ones of very many.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, NotOpened> {
        let handle = self.beneath(folder, OFlags::DIRECTORY)?;
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

    fn beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, NotOpened> {
        if path.is_empty() {
            return Err(NotOpened::NoPath("it is empty"));
        }
        if path.contains('\0') {
            return Err(NotOpened::NoPath("it has a zero byte in it"));
        }
        if path.len() > PATH_CAP_BYTES {
            return Err(NotOpened::NoPath("it is too long"));
        }
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        match self.way {
            #[cfg(target_os = "linux")]
            Way::Beneath => at_once(self.folder.as_fd(), path, flags),
            Way::PartByPart => part_by_part(self.folder.as_fd(), path, flags),
        }
    }
}

/// The way that this system has.
#[cfg(target_os = "linux")]
fn way(folder: BorrowedFd<'_>) -> Way {
    // Old kernels do not know the call, and some containers forbid what they do not know.
    match at_once(folder, ".", OFlags::DIRECTORY | OFlags::CLOEXEC) {
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
fn at_once(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, NotOpened> {
    use rustix::fs::{ResolveFlags, openat2};

    /// How often it is tried again when a folder on the way is being moved.
    const RACES_CAP: usize = 16;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RACES_CAP {
        match openat2(folder, path, flags, Mode::empty(), within) {
            // Something on the way was moved: the system cannot vouch for it and says so.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other.map_err(unopened),
        }
    }
    Err(unopened(Errno::AGAIN))
}

fn part_by_part(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, NotOpened> {
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(NotOpened::Outside);
            }
        }
    }
    let step = |from: BorrowedFd<'_>, name: &std::ffi::OsStr, flags: OFlags| {
        rustix::fs::openat(from, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            .map_err(unopened)
    };
    let last = names.pop().unwrap_or(std::ffi::OsStr::new("."));
    let mut at = None;
    for name in names {
        let from = at.as_ref().map_or(folder, OwnedFd::as_fd);
        at = Some(step(from, name, OFlags::RDONLY | OFlags::DIRECTORY)?);
    }
    step(at.as_ref().map_or(folder, OwnedFd::as_fd), last, flags)
}

fn unopened(errno: Errno) -> NotOpened {
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
