//! `threadline trust`: letting a project's file say all that the user's own may.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use serde::Serialize;
use threadline_core::history::fact::Digest;

use crate::args::Trust;
use crate::config::Config;
use crate::config::project;
use crate::config::trust::Trusted;
use crate::view::{Line, View};

/// What `--json` prints.
#[derive(Serialize)]
struct Told {
    file: String,
    digest: String,
    trusted: bool,
    allows: Vec<String>,
}

pub(crate) fn run(config: &Config, arguments: &Trust, view: &mut View) -> anyhow::Result<()> {
    let path = match &arguments.file {
        Some(path) => path.clone(),
        None => here()?,
    };
    let mut trusted = Trusted::load(&config.data_folder)?;
    if arguments.remove {
        let was = trusted.remove(&path)?;
        let what = if was { "is trusted no longer" } else { "was not trusted" };
        let told = Told {
            file: path.display().to_string(),
            digest: String::new(),
            trusted: false,
            allows: Vec::new(),
        };
        return tell(&told, &format!("{} {what}", path.display()), view);
    }
    let text = project::text(&path)?;
    let allows = project::asks_for(&text)
        .map_err(|wrong| anyhow!("could not understand {}: {wrong}", path.display()))?;
    let digest = Digest::of(text.as_bytes());
    trusted.add(&path, digest)?;
    let told = Told {
        file: path.display().to_string(),
        digest: digest.to_string(),
        trusted: true,
        allows,
    };
    tell(&told, &format!("{} is trusted as it is now", path.display()), view)
}

/// The project's file of this folder.
fn here() -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir().context("could not tell which folder this is")?;
    project::find(&folder).with_context(|| {
        format!("there is no {} in this folder or above it; name one", project::NAME)
    })
}

fn tell(told: &Told, line: &str, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        view.value(told)?;
        return Ok(());
    }
    view.line(&Line::new().plain(line))?;
    if !told.trusted {
        return Ok(());
    }
    if told.allows.is_empty() {
        view.line(&Line::new().dim("it says nothing that a project may not say anyway"))?;
    } else {
        view.line(&Line::new().plain("this allows it to say:"))?;
        view.remarks(&told.allows, "  ")?;
    }
    Ok(())
}
