//! A place in the workspace at which a file is made or replaced, whole or not at all.
//!
//! The new text goes into a file beside the old one and takes its name when it is safely on the
//! disk: whoever reads sees the old text or the new one. Everything is done by the folder's
//! handle and a plain name, so that it happens in this folder and nowhere else.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use threadline_core::history::fact::Digest;

use super::workspace::{NotOpened, not_a_file, unopened};

/// A name in a folder of the workspace.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
}

/// A file that is at a place.
#[derive(Debug)]
pub(super) struct There {
    file: File,
    metadata: Metadata,
}

impl There {
    pub(super) fn bytes(&self) -> u64 {
        self.metadata.len()
    }

    /// The digest of its content, whatever its size.
    pub(super) fn digest(&self) -> io::Result<Digest> {
        digest_of(&self.file)
    }

    /// Reads all of it, but no more than so much: none if there is more.
    pub(super) fn read(&mut self, cap_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        if self.bytes() > cap_bytes {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        (&mut self.file).take(cap_bytes + 1).read_to_end(&mut bytes)?;
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(Some(bytes).filter(|_| read <= cap_bytes))
    }
}

/// How much of a file is read at a time to make its digest.
const DIGEST_BYTES: usize = 64 * 1024;

/// The digest of a file's content, read piece by piece.
pub(super) fn digest_of(file: &File) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; DIGEST_BYTES];
    let mut at = 0;
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            return Ok(Digest(*hasher.finalize().as_bytes()));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        at += u64::try_from(read).unwrap_or(u64::MAX);
    }
}

impl Place {
    /// Opens the file that is there, to read it and because it is to be changed; none if there is
    /// nothing.
    pub(super) fn there(&self) -> Result<Option<There>, NotOpened> {
        // What is no file is not even opened: with some devices that alone does something.
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(unopened(errno)),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {}
                FileType::Symlink => return Err(NotOpened::Link),
                FileType::Directory => return Err(NotOpened::Folder),
                FileType::Fifo => return Err(NotOpened::NoFile("a pipe")),
                FileType::Socket => return Err(NotOpened::NoFile("a socket")),
                _ => return Err(NotOpened::NoFile("a device")),
            },
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened =
            rustix::fs::openat(&self.folder, &self.name, flags | OFlags::CLOEXEC, Mode::empty());
        let file = match opened {
            Ok(handle) => File::from(handle),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(NotOpened::Link),
            Err(errno) => return Err(unopened(errno)),
        };
        let metadata = file.metadata().map_err(NotOpened::Failed)?;
        match not_a_file(metadata.file_type()) {
            None => Ok(Some(There { file, metadata })),
            Some(reason) => Err(reason),
        }
    }

    /// Whether the file that was there is there still, as it was; or nothing, as it was.
    pub(super) fn is_still(&self, there: Option<&There>) -> bool {
        let now = match self.there() {
            Ok(now) => now.map(|now| now.metadata),
            Err(_) => return false,
        };
        let known = |metadata: &Metadata| {
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            (metadata.dev(), metadata.ino(), metadata.len(), changed)
        };
        now.as_ref().map(known) == there.map(|there| known(&there.metadata))
    }

    /// Puts a text beside the place, safely on the disk, for what is to be done under this key.
    pub(super) fn prepare(
        &self,
        text: &[u8],
        there: Option<&There>,
        key: &str,
    ) -> io::Result<Prepared<'_>> {
        let temporary = temporary(key);
        let usual = Mode::from_raw_mode(0o666);
        let mode = there.map_or(usual, |_| Mode::RUSR | Mode::WUSR);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let create = || rustix::fs::openat(&self.folder, &temporary, flags | OFlags::CLOEXEC, mode);
        let handle = match create() {
            // An attempt that was cut off has left it behind: keys are never used for two things.
            Err(Errno::EXIST) => {
                self.remove_temporary(key)?;
                create()?
            }
            other => other?,
        };
        let prepared = Prepared { place: self, temporary, committed: false };
        let mut file = File::from(handle);
        file.write_all(text)?;
        if let Some(There { metadata, .. }) = there {
            // As when a file is written to, the right to run as its owner is not kept.
            let mode = metadata.permissions().mode() & 0o777;
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        Ok(prepared)
    }

    /// Removes what an attempt under this key may have left behind.
    pub(super) fn remove_temporary(&self, key: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, temporary(key), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn temporary(key: &str) -> String {
    let digest = Digest::of(key.as_bytes()).to_string();
    format!(".threadline-{}.tmp", digest.get(..32).unwrap_or(&digest))
}

/// A text beside the place it is for. Dropping it takes it away again.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    place: &'a Place,
    temporary: String,
    committed: bool,
}

/// Why a text is not, or perhaps not, at its place.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// Nothing was changed.
    Unchanged(io::Error),
    /// It is there, but may be lost again should the machine stop.
    Unsafe(io::Error),
}

impl Prepared<'_> {
    /// Gives the text its place, in one step.
    pub(super) fn commit(mut self) -> Result<(), NotCommitted> {
        let Place { folder, name } = self.place;
        rustix::fs::renameat(folder, &self.temporary, folder, name)
            .map_err(|errno| NotCommitted::Unchanged(errno.into()))?;
        self.committed = true;
        synced(folder.as_fd()).map_err(NotCommitted::Unsafe)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if !self.committed {
            // If it cannot be taken away, it is in nobody's way either.
            let _ = rustix::fs::unlinkat(&self.place.folder, &self.temporary, AtFlags::empty());
        }
    }
}

/// Sees to it that a folder's names are on the disk.
pub(super) fn synced(folder: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::fs::fsync(folder) {
        // Some file systems keep nothing that could be lost, and say so.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
