//! Reading files that somebody else may have prepared: bounded, without waiting, and only ordinary
//! files.
//!
//! The file is opened without blocking and then examined by its handle, so that a pipe that takes
//! the place of a file does not hang the program. The cap holds while the file is read, whatever
//! length the system reports.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The longest config file, instruction or trust list that is read.
pub(crate) const CAP_BYTES: u64 = 1024 * 1024;

/// Whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Anybody's: the user named the file.
    Anyone,
    /// Only those of the user who runs the program.
    User,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) text: String,
    /// The device and number by which the system knows the file; none where it has no such thing.
    pub(crate) identity: Option<(u64, u64)>,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRead {
    /// It belongs to another user.
    #[error("it belongs to another user (uid {0})")]
    OtherOwner(u32),
    /// Symbolic links lead in a circle.
    #[error("it is a symbolic link in a loop")]
    Loop,
    /// It is something else than a file.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It is longer than the cap.
    #[error("it is longer than 1 MiB")]
    TooLong,
    /// It is not text.
    #[error("it is not UTF-8 text: line {0} has other bytes")]
    NotText(usize),
    /// It has NUL bytes, as binary files and files that were cut off by a crash do.
    #[error("it is not a text file: line {0} has NUL bytes")]
    Binary(usize),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl NotRead {
    /// Whether there is no such file.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ))
    }
}

/// Reads a text file of at most [`CAP_BYTES`].
pub(crate) fn read_text(path: &Path, owner: Owner) -> Result<TextFile, NotRead> {
    let wanted = match owner {
        Owner::Anyone => None,
        Owner::User => system::user(),
    };
    read_text_of(path, wanted)
}

/// Reads a text file, which must belong to this user if one is given.
fn read_text_of(path: &Path, owner: Option<u32>) -> Result<TextFile, NotRead> {
    let file = system::open(path, owner)?;
    let identity = system::identity(&file)?;
    let mut bytes = Vec::new();
    file.take(CAP_BYTES + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).map_or(true, |length| length > CAP_BYTES) {
        return Err(NotRead::TooLong);
    }
    let text = as_text(bytes)?;
    Ok(TextFile { text, identity })
}

fn as_text(bytes: Vec<u8>) -> Result<String, NotRead> {
    let line =
        |bytes: &[u8], at: usize| 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(NotRead::Binary(line(&bytes, at)));
    }
    String::from_utf8(bytes)
        .map_err(|error| NotRead::NotText(line(error.as_bytes(), error.utf8_error().valid_up_to())))
}

#[cfg(unix)]
mod system {
    use std::fs::{FileType, Metadata};
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    use super::{File, NotRead, Path, io};

    /// The user who runs the program.
    #[expect(clippy::unnecessary_wraps, reason = "not every system has users by number")]
    pub(super) fn user() -> Option<u32> {
        Some(rustix::process::geteuid().as_raw())
    }

    /// Opens a regular file of this user without waiting for anything.
    pub(super) fn open(path: &Path, owner: Option<u32>) -> Result<File, NotRead> {
        // A link of another user is not followed, wherever it leads.
        check_owner(&path.symlink_metadata()?, owner)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(Errno::LOOP) => return Err(NotRead::Loop),
            // A socket cannot be opened, and a device may be without a driver.
            Err(Errno::NXIO) => return Err(NotRead::NotRegular("a socket or a device")),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        let metadata = file.metadata()?;
        check_owner(&metadata, owner)?;
        match other_than_a_file(metadata.file_type()) {
            Some(what) => return Err(NotRead::NotRegular(what)),
            None if is_of_the_kernel(&file) => {
                return Err(NotRead::NotRegular("a file that the kernel makes up"));
            }
            None => {}
        }
        Ok(file)
    }

    fn check_owner(metadata: &Metadata, owner: Option<u32>) -> Result<(), NotRead> {
        match owner {
            Some(owner) if metadata.uid() != owner => Err(NotRead::OtherOwner(metadata.uid())),
            Some(_) | None => Ok(()),
        }
    }

    fn other_than_a_file(kind: FileType) -> Option<&'static str> {
        if kind.is_file() {
            None
        } else if kind.is_dir() {
            Some("a folder")
        } else if kind.is_fifo() {
            Some("a pipe")
        } else if kind.is_socket() {
            Some("a socket")
        } else {
            Some("a device")
        }
    }

    /// Files of procfs and sysfs look regular, and may hold the program's own secrets or never end.
    #[cfg(target_os = "linux")]
    fn is_of_the_kernel(file: &File) -> bool {
        const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;
        rustix::fs::fstatfs(file).is_ok_and(|system| {
            [rustix::fs::PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&system.f_type)
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn is_of_the_kernel(_: &File) -> bool {
        false
    }

    pub(super) fn identity(file: &File) -> io::Result<Option<(u64, u64)>> {
        let metadata = file.metadata()?;
        Ok(Some((metadata.dev(), metadata.ino())))
    }
}

#[cfg(not(unix))]
mod system {
    use super::{File, NotRead, Path, io};

    pub(super) fn user() -> Option<u32> {
        None
    }

    pub(super) fn open(path: &Path, _: Option<u32>) -> Result<File, NotRead> {
        let file = File::open(path)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(NotRead::NotRegular("a folder")) }
    }

    pub(super) fn identity(_: &File) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

/// The device and number of what a path leads to.
#[cfg(unix)]
pub(crate) fn identity_of(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) fn identity_of(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    fn refused(path: &Path) -> String {
        read_text(path, Owner::Anyone).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("text"), "a = 1\n").unwrap();
        assert_eq!(read_text(&path("text"), Owner::User).unwrap().text, "a = 1\n");
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let _listener = UnixListener::bind(path("socket")).unwrap();
        symlink(path("one"), path("other")).unwrap();
        symlink(path("other"), path("one")).unwrap();
        symlink("/proc/self/environ", path("environ")).unwrap();
        for (name, wanted) in [
            ("pipe", "it is a pipe, not a regular file"),
            ("socket", "it is a socket or a device, not a regular file"),
            (".", "it is a folder, not a regular file"),
            ("one", "it is a symbolic link in a loop"),
            ("/dev/zero", "it is a device, not a regular file"),
        ] {
            assert_eq!(refused(&path(name)), wanted, "{name}");
        }
        if cfg!(target_os = "linux") {
            let wanted = "it is a file that the kernel makes up, not a regular file";
            assert_eq!(refused(&path("environ")), wanted);
        }
        assert!(read_text(&path("none"), Owner::User).unwrap_err().is_missing());
    }

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let cap = usize::try_from(CAP_BYTES).unwrap();
        for (bytes, wanted) in [
            (vec![b'x'; cap + 1], "it is longer than 1 MiB"),
            (b"a = 1\n\xff".to_vec(), "it is not UTF-8 text: line 2 has other bytes"),
            ("雨".as_bytes()[..2].to_vec(), "it is not UTF-8 text: line 1 has other bytes"),
            (b"\0\0\0".to_vec(), "it is not a text file: line 1 has NUL bytes"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(refused(&path), wanted);
        }
        std::fs::write(&path, vec![b'x'; cap]).unwrap();
        assert_eq!(read_text(&path, Owner::User).unwrap().text.len(), cap);
    }

    #[test]
    fn files_and_links_of_other_users_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "").unwrap();
        let user = system::user().unwrap();
        assert!(read_text_of(&path, Some(user)).is_ok());
        let other = read_text_of(&path, Some(user + 1)).unwrap_err();
        assert_eq!(other.to_string(), format!("it belongs to another user (uid {user})"));
    }
}
