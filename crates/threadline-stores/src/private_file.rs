//! Files and folders that only the user may read, whatever the umask is.

#[cfg(unix)]
use std::fs;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Options to open a file that, if it is made, only the user may read.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder and those above it that are missing, for the user alone. A folder that is there
/// stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Takes the access of others to a file or folder of the user away. What is not there, or belongs
/// to somebody else, stays as it is.
///
/// It goes by the path and opens nothing: closing a database file, however it was opened, would
/// release the locks that this process holds on it.
#[cfg(unix)]
pub fn tighten(path: &Path) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(metadata) = path.metadata() else { return };
    let mode = metadata.permissions().mode() & 0o7777;
    let tight = mode & !0o077;
    if metadata.uid() != rustix::process::geteuid().as_raw() || tight == mode {
        return;
    }
    if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(tight)) {
        tracing::debug!(target: "History", path = %path.display(), %error, "left a mode as it is");
    }
}

/// Elsewhere a file's permissions are not ours to judge.
#[cfg(not(unix))]
pub fn tighten(_: &Path) {}
