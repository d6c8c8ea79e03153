//! `threadline trust`: letting a project's file say all that the user's own may.

use anyhow::{Context as _, anyhow};
use serde::Serialize;

use crate::args::Trust;
use crate::config::Config;
use crate::config::project::{self, Source};
use crate::config::trust::Trusted;
use crate::view::{self, Line, View};

/// What `--json` prints.
#[derive(Serialize)]
struct Told {
    file: String,
    digest: String,
    trusted: bool,
    allows: Vec<String>,
}

pub(crate) fn run(config: &Config, arguments: &Trust, view: &mut View) -> anyhow::Result<()> {
    let mut trusted = Trusted::load(&config.data_folder)?;
    if arguments.remove {
        let path = match &arguments.file {
            Some(path) => path.clone(),
            None => here(view.json)?.path,
        };
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
    let source = match &arguments.file {
        Some(path) => project::named(path)?,
        None => here(view.json)?,
    };
    let path = source.path.display();
    let allows = project::asks_for(source.text())
        .map_err(|wrong| anyhow!("could not understand {path}: {wrong}"))?;
    let digest = source.digest();
    let location = source.location().with_context(|| {
        format!("could not trust {path}: it was changed while it was read; try again")
    })?;
    trusted.add(&location, digest)?;
    let told = Told { file: path.to_string(), digest: digest.to_string(), trusted: true, allows };
    tell(&told, &format!("{path} is trusted as it is now"), view)
}

/// The project's file of this folder.
fn here(json: bool) -> anyhow::Result<Source> {
    let folder = std::env::current_dir().context("could not tell which folder this is")?;
    let mut notes = Vec::new();
    let found = project::find(&folder, &mut notes)?;
    for text in &notes {
        view::note(text, json);
    }
    found.with_context(|| {
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
