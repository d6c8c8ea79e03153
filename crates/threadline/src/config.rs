//! Configuration: the user's file, the project's, and what the command line and the environment
//! say over them.

pub(crate) mod bounded_read;
pub(crate) mod environment;
mod explain;
pub(crate) mod file;
pub(crate) mod policy;
pub(crate) mod project;
pub(crate) mod trust;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use etcetera::BaseStrategy as _;
use threadline_stores::private_file;

use self::bounded_read::Owner;
use self::file::{Dev, File};
use self::project::Project;
use self::trust::Trusted;
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
    pub(crate) path: Option<PathBuf>,
    /// What it says, with what a trusted project adds.
    pub(crate) file: File,
    /// The project's file, if there is one; what a trusted one says is in `file` already.
    pub(crate) project: Option<Project>,
    /// What was passed over, in words for people.
    pub(crate) notes: Vec<String>,
    /// What is only for tests of the program.
    pub(crate) dev: Dev,
}

impl Config {
    /// The configuration: command line and environment (which the arguments already hold) beat
    /// the files, the files beat defaults.
    ///
    /// A project's file counts only for what drives agents: whoever lists conversations in a
    /// folder of somebody else is not to be stopped by it.
    pub(crate) fn load(global: &Global, with_project: bool) -> anyhow::Result<Self> {
        let base = etcetera::choose_base_strategy().map_err(|_| {
            anyhow!("could not find the home folder; set HOME, or name --db and --config")
        });
        let home = base.as_ref().ok().map(|base| base.home_dir().to_path_buf());
        let (mut file, path) = match &global.config {
            Some(path) => (read(path, home.as_deref())?, Some(path.clone())),
            None => {
                let path = base
                    .as_ref()
                    .ok()
                    .map(|base| base.config_dir().join("threadline").join("config.toml"));
                // A link that leads nowhere is a mistake, and not the same as no file.
                match path.filter(|path| path.symlink_metadata().is_ok()) {
                    Some(path) => (read(&path, home.as_deref())?, Some(path)),
                    None => (File::default(), None),
                }
            }
        };
        let db = global.db.clone().or_else(|| file.db.clone());
        let data_folder = match (&base, &db) {
            (Ok(base), _) => base.data_dir().join("threadline"),
            (Err(_), Some(db)) => db.parent().map(Path::to_path_buf).unwrap_or_default(),
            (Err(_), None) => base.map(|base| base.data_dir())?,
        };
        if home.is_some() {
            // The folder of this program alone; any other one may be shared on purpose.
            private_file::tighten(&data_folder);
        }
        let mut notes = Vec::new();
        let mut project = if with_project { project_here(&data_folder, &mut notes)? } else { None };
        if let Some(project) = project.as_mut().filter(|project| project.trusted) {
            let folder = project.path.parent().unwrap_or(Path::new("."));
            project.file.resolve_paths(folder, home.as_deref());
            file.take_in(std::mem::take(&mut project.file));
        } else if let Some(project) = &mut project {
            file.take_in_untrusted(std::mem::take(&mut project.file));
        }
        let db = db.unwrap_or_else(|| data_folder.join("threadline.db"));
        // An empty one says that nothing is to be logged, whatever the file says.
        let log = global.log.clone().or_else(|| file.log.clone());
        let log = log.filter(|log| !log.trim().is_empty());
        let dev = file.dev.clone();
        Ok(Self { db, log, data_folder, path, file, project, notes, dev })
    }
}

/// The project's file of the folder that the program runs in.
fn project_here(data_folder: &Path, notes: &mut Vec<String>) -> anyhow::Result<Option<Project>> {
    let Ok(folder) = std::env::current_dir() else { return Ok(None) };
    let Some(source) = project::find(&folder, notes)? else { return Ok(None) };
    source.parse(&Trusted::load(data_folder)?).map(Some)
}

fn read(path: &Path, home: Option<&Path>) -> anyhow::Result<File> {
    let text = bounded_read::read_text(path, Owner::Anyone)
        .with_context(|| format!("could not read the config file {}", path.display()))?
        .text;
    let mut file: File = explain::read(&text).map_err(|wrong| {
        anyhow!("could not understand the config file {}: {wrong}", path.display())
    })?;
    file.resolve_paths(path.parent().unwrap_or(Path::new("")), home);
    Ok(file)
}
