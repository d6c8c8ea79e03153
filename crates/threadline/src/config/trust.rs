//! Trust: which project's files may say all that the user's own may.
//!
//! A file is trusted as it is, where it is: by the digest of its bytes, and by its path.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use threadline_core::history::fact::Digest;

/// The files that are trusted.
#[derive(Debug, Default)]
pub(crate) struct Trusted {
    folder: PathBuf,
    /// The digest and the path of each.
    files: Vec<(String, String)>,
}

impl Trusted {
    /// What was trusted before; nothing if nothing was.
    pub(crate) fn load(data_folder: &Path) -> anyhow::Result<Self> {
        let path = list(data_folder);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("could not read {}", path.display()));
            }
        };
        let files = text.lines().filter_map(|line| line.split_once(' '));
        let files = files.map(|(digest, path)| (digest.to_owned(), path.to_owned())).collect();
        Ok(Self { folder: data_folder.to_path_buf(), files })
    }

    /// Whether a file is trusted as it is.
    pub(crate) fn has(&self, path: &Path, digest: Digest) -> bool {
        let (digest, path) = (digest.to_string(), written(path));
        self.files.iter().any(|(known, at)| *known == digest && *at == path)
    }

    /// Trusts a file as it is, and no longer as it was.
    pub(crate) fn add(&mut self, path: &Path, digest: Digest) -> anyhow::Result<()> {
        self.forget(path);
        self.files.push((digest.to_string(), written(path)));
        self.save()
    }

    /// Trusts a file no longer; whether it was trusted.
    pub(crate) fn remove(&mut self, path: &Path) -> anyhow::Result<bool> {
        let was = self.forget(path);
        if was {
            self.save()?;
        }
        Ok(was)
    }

    fn forget(&mut self, path: &Path) -> bool {
        let (path, before) = (written(path), self.files.len());
        self.files.retain(|(_, at)| *at != path);
        self.files.len() != before
    }

    /// Writes the list as a whole: one that broke off in the middle would trust less, or worse.
    fn save(&self) -> anyhow::Result<()> {
        let path = list(&self.folder);
        let could_not = || format!("could not write {}", path.display());
        std::fs::create_dir_all(&self.folder).with_context(could_not)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).with_context(could_not)?;
        for (digest, path) in &self.files {
            writeln!(file, "{digest} {path}").with_context(could_not)?;
        }
        file.as_file().sync_all().with_context(could_not)?;
        file.persist(&path).with_context(could_not)?;
        Ok(())
    }
}

fn list(data_folder: &Path) -> PathBuf {
    data_folder.join("trusted")
}

/// A path in one line, the same however it was named.
fn written(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    // Names need not be text, and may hold line ends: so each is written with its odd bytes escaped.
    whole.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}
