//! Access: how a model is reached. Where its requests go, as whom, and in which form.

mod resolve;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::quirks::Quirks;

/// How a model is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The protocol that is spoken there.
    pub dialect: Dialect,
    /// Where requests go, whole: the model's name is in it where the protocol wants it there.
    pub url: String,
    /// Headers without secrets.
    pub headers: Vec<(String, String)>,
    /// The key and the header that carries it, if one is needed.
    pub key: Option<(KeyHeader, KeyRef)>,
    /// The peculiarities of the model's wire.
    pub quirks: Quirks,
}

/// The header that carries a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`.
    Bearer,
    /// The key alone, in a header of this name.
    Named(&'static str),
}

/// Where a key is. The key itself is in no configuration, history or log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRef {
    /// In an environment variable.
    Env(Arc<str>),
    /// In a file, alone.
    File(PathBuf),
    /// In what a command prints.
    Command(Vec<String>),
}

impl KeyRef {
    /// A short name for the key itself, which stands where it is redacted: the variable, or the
    /// name of the file or program.
    pub fn label(&self) -> String {
        let file_name = |path: &Path| match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => "key".to_owned(),
        };
        match self {
            Self::Env(name) => name.to_string(),
            Self::File(path) => file_name(path),
            Self::Command(words) => file_name(Path::new(words.first().map_or("", |word| word))),
        }
    }
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the key file {}", path.display()),
            // Its arguments are not shown: they are nobody's business.
            Self::Command(words) => {
                let program = words.first().map_or("", String::as_str);
                write!(f, "the key command {program:?}")
            }
        }
    }
}

/// A key. It does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A key, without the blanks around it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().into())
    }

    /// The key itself: only for the header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
