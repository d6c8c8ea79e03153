//! `threadline doctor`: whether this installation, its database and its connections are well.

mod connection;

use std::process::ExitCode;

use threadline_core::store::{Filter, Listing, Sort};

use crate::args::Doctor;
use crate::compose::Parts;
use crate::config::Config;
use crate::report::chain;
use crate::view::{Line, View, counted, grouped};

/// How many conversations the doctor counts before it says "more than".
const COUNT_CAP: usize = 10_000;
/// How many damaged conversations are named.
const NAMED: usize = 10;

#[derive(serde::Serialize)]
struct Check {
    what: String,
    ok: bool,
    detail: String,
}

#[derive(serde::Serialize)]
struct Verdict {
    ok: bool,
}

pub(crate) async fn run(
    config: &Config,
    arguments: &Doctor,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let mut checks = vec![
        fine("version", format!("threadline {}", env!("CARGO_PKG_VERSION"))),
        fine(
            "config",
            match &config.path {
                Some(path) => path.display().to_string(),
                None => "no config file; defaults are used".to_owned(),
            },
        ),
        fine("project", project(config)),
        fine("data folder", config.data_folder.display().to_string()),
        fine(
            "database",
            match std::fs::metadata(&config.db) {
                Ok(file) => format!("{}, {} bytes", config.db.display(), grouped(file.len())),
                Err(_) => format!("{}, not there yet", config.db.display()),
            },
        ),
        fine("sqlite", threadline_stores::sqlite::version().to_owned()),
    ];
    match Parts::open_to_read(config) {
        Ok(parts) => {
            checks.push(check("open", opens(&parts)));
            checks.push(check("file", file(config)));
            checks.push(check("conversations", conversations(&parts).await));
            checks.push(check("search", index(&parts).await));
        }
        Err(error) => checks.push(check("open", Err(error))),
    }
    checks.extend(connection::checks(config, arguments.model.as_deref()).await);
    let well = checks.iter().all(|check| check.ok);
    if view.json {
        let mut list = view.list("checks", &crate::json::Nothing {})?;
        for check in &checks {
            list.push(check)?;
        }
        list.end(&Verdict { ok: well })?;
    } else {
        let width = checks.iter().map(|check| check.what.len()).fold(13, usize::max);
        for check in &checks {
            let mark = if check.ok { Line::new().good("ok   ") } else { Line::new().bad("wrong") };
            view.line(&mark.plain(format!("  {:<width$} {}", check.what, check.detail)))?;
        }
        if well {
            view.line(
                &Line::new().dim("all is well; to check every entry: threadline verify --all"),
            )?;
        }
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fine(what: impl Into<String>, detail: String) -> Check {
    Check { what: what.into(), ok: true, detail }
}

fn check(what: impl Into<String>, outcome: anyhow::Result<String>) -> Check {
    match outcome {
        Ok(detail) => fine(what, detail),
        Err(error) => Check { what: what.into(), ok: false, detail: chain(&error) },
    }
}

fn project(config: &Config) -> String {
    match &config.project {
        Some(project) if project.trusted => format!("{}, trusted", project.path.display()),
        Some(project) => format!("{}, which may choose but not define", project.path.display()),
        None => "no threadline.toml in this folder or above it".to_owned(),
    }
}

fn file(config: &Config) -> anyhow::Result<String> {
    let found = threadline_stores::sqlite::check_file(&config.db)?;
    anyhow::ensure!(
        found.is_empty(),
        "the file is damaged: {}; export what `threadline verify --all` calls sound, and import it into a new one",
        found.join("; ")
    );
    Ok("its trees and indexes are sound".to_owned())
}

async fn conversations(parts: &Parts) -> anyhow::Result<String> {
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: COUNT_CAP };
    let listed = parts.store.list(&listing).await?;
    let (count, more) = (listed.len(), if listed.len() == COUNT_CAP { "at least " } else { "" });
    let damaged: Vec<String> = listed
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.id, one.damage.as_ref()?)))
        .take(NAMED)
        .collect();
    anyhow::ensure!(
        damaged.is_empty(),
        "of {more}{}, some cannot be read ({}); the others are not touched by it; \
         `threadline verify --all --deep` shows more",
        counted(u64::try_from(count)?, "conversation", "conversations"),
        damaged.join("; ")
    );
    Ok(format!("{more}{}", counted(u64::try_from(count)?, "conversation", "conversations")))
}

fn opens(parts: &Parts) -> anyhow::Result<String> {
    match &parts.only_to_read {
        None => Ok("the database opens".to_owned()),
        Some(why) => anyhow::bail!("the database can be read but not written: {why}"),
    }
}

async fn index(parts: &Parts) -> anyhow::Result<String> {
    let lag = match parts.store.audit() {
        Some(audit) => audit.index_lag().await?,
        None => 0,
    };
    Ok(match lag {
        0 => "the index is up to date".to_owned(),
        lag => format!(
            "the index lags {} behind; it catches up before a search",
            counted(lag, "entry", "entries")
        ),
    })
}
