//! Configuration: the user's file, and what the command line and the environment say over it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use etcetera::BaseStrategy as _;
use serde::Deserialize;

use crate::args::Global;

/// What the program runs with.
#[derive(Debug)]
pub(crate) struct Config {
    /// The database file.
    pub(crate) db: PathBuf,
    /// What to log.
    pub(crate) log: Option<String>,
    /// The folder of the database and the log.
    pub(crate) data_folder: PathBuf,
    /// The config file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// What is only for tests of the program.
    pub(crate) dev: Dev,
}

/// What is only for tests of the program: a model and tools that do as a test wants.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dev {
    /// A script that is followed instead of asking a model.
    pub(crate) script: Option<PathBuf>,
    /// A file that tools of every effect add lines to.
    pub(crate) ledger: Option<PathBuf>,
    /// How long the built-in model takes over each word.
    pub(crate) pause_ms: Option<u64>,
}

/// The user's config file. Every key is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    db: Option<PathBuf>,
    log: Option<String>,
    #[serde(default)]
    dev: Dev,
}

impl Config {
    /// The configuration: command line and environment (which the arguments already hold) beat
    /// the file, the file beats defaults.
    pub(crate) fn load(global: &Global) -> anyhow::Result<Self> {
        let base = etcetera::choose_base_strategy().map_err(|_| {
            anyhow!("could not find the home folder; set HOME, or name --db and --config")
        });
        let (file, found) = match &global.config {
            Some(path) => (read(path)?, Some(path.clone())),
            None => {
                let path = base
                    .as_ref()
                    .ok()
                    .map(|base| base.config_dir().join("threadline").join("config.toml"));
                match path.filter(|path| path.exists()) {
                    Some(path) => (read(&path)?, Some(path)),
                    None => (File::default(), None),
                }
            }
        };
        let db = global.db.clone().or(file.db);
        let data_folder = match (&base, &db) {
            (Ok(base), _) => base.data_dir().join("threadline"),
            (Err(_), Some(db)) => db.parent().map(Path::to_path_buf).unwrap_or_default(),
            (Err(_), None) => base.map(|base| base.data_dir())?,
        };
        let db = db.unwrap_or_else(|| data_folder.join("threadline.db"));
        // An empty one says that nothing is to be logged, whatever the file says.
        let log = global.log.clone().or(file.log).filter(|log| !log.trim().is_empty());
        Ok(Self { db, log, data_folder, file: found, dev: file.dev })
    }
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the config file {}", path.display()))?;
    let mut file: File = toml::from_str(&text)
        .with_context(|| format!("could not understand the config file {}", path.display()))?;
    // A relative path in a file is relative to that file, wherever the program runs.
    if let Some(folder) = path.parent() {
        for named in [&mut file.db, &mut file.dev.script, &mut file.dev.ledger] {
            *named = named.take().map(|name| folder.join(name));
        }
    }
    Ok(file)
}
