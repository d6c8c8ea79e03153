//! Trust: which project's files may say all that the user's own may.
//!
//! A file is trusted as it is, where it is: by the digest of its bytes, by the place where it is
//! found, and by the file that is read there. So a link to a trusted file is not trusted: the file
//! was trusted in its own folder, to which the paths in it are relative. Nor is a place trusted any
//! longer once a link there leads to another file, even one with the same bytes.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use threadline_core::history::fact::Digest;
use threadline_stores::private_file;

use super::bounded_read::{self, Owner};

/// The files that are trusted.
#[derive(Debug, Default)]
pub(crate) struct Trusted {
    folder: PathBuf,
    /// The digest and the place of each, as they are written in the list.
    files: Vec<(String, String)>,
}

/// Where a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The place: its folder without links, and its name.
    place: PathBuf,
    /// The file that is read there, without links: another one if the place is a link.
    pub(super) real: PathBuf,
}

impl Location {
    /// The location of a path; none if it leads nowhere.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Some(Self { place: place_of(path)?, real: path.canonicalize().ok()? })
    }

    /// The location in one line: the place, and behind a tab the file if the place is a link to it.
    fn written(&self) -> String {
        if self.place == self.real {
            escaped(&self.place)
        } else {
            format!("{}\t{}", escaped(&self.place), escaped(&self.real))
        }
    }
}

impl Trusted {
    /// What was trusted before; nothing if nothing was.
    pub(crate) fn load(data_folder: &Path) -> anyhow::Result<Self> {
        let path = list(data_folder);
        private_file::tighten(&path);
        let text = match bounded_read::read_text(&path, Owner::User) {
            Ok(file) => file.text,
            Err(error) if error.is_missing() => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("could not read {}", path.display()));
            }
        };
        let files = text.lines().filter_map(|line| line.split_once(' '));
        let files = files.map(|(digest, path)| (digest.to_owned(), path.to_owned())).collect();
        Ok(Self { folder: data_folder.to_path_buf(), files })
    }

    /// Whether a file is trusted as it is.
    pub(crate) fn has(&self, location: &Location, digest: Digest) -> bool {
        let (digest, at) = (digest.to_string(), location.written());
        self.files.iter().any(|(known, place)| *known == digest && *place == at)
    }

    /// Trusts a file as it is, and no longer as it was.
    pub(crate) fn add(&mut self, location: &Location, digest: Digest) -> anyhow::Result<()> {
        self.forget(&escaped(&location.place));
        self.files.push((digest.to_string(), location.written()));
        self.save()
    }

    /// Trusts the file of a path no longer; whether it was trusted.
    pub(crate) fn remove(&mut self, path: &Path) -> anyhow::Result<bool> {
        let place = place_of(path).unwrap_or_else(|| path.to_path_buf());
        let was = self.forget(&escaped(&place));
        if was {
            self.save()?;
        }
        Ok(was)
    }

    /// Forgets what is trusted at a place, whether a file or a link.
    fn forget(&mut self, place: &str) -> bool {
        let before = self.files.len();
        self.files.retain(|(_, at)| at.split('\t').next() != Some(place));
        self.files.len() != before
    }

    /// Writes the list as a whole: one that broke off in the middle would trust less, or worse.
    fn save(&self) -> anyhow::Result<()> {
        let path = list(&self.folder);
        let could_not = || format!("could not write {}", path.display());
        private_file::make_folder(&self.folder).with_context(could_not)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).with_context(could_not)?;
        for (digest, path) in &self.files {
            writeln!(file, "{digest} {path}").with_context(could_not)?;
        }
        file.as_file().sync_all().with_context(could_not)?;
        file.persist(&path).with_context(could_not)?;
        Ok(())
    }
}

/// A path whose folder is without links, whatever is there.
fn place_of(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

fn list(data_folder: &Path) -> PathBuf {
    data_folder.join("trusted")
}

/// A path in one line. Names need not be text, and may hold line ends: so each is written with its
/// odd bytes escaped.
fn escaped(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}
