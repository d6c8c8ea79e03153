//! Logs by category, into a file in the data folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context as _, bail};
use threadline_core::sanitise;
use threadline_stores::private_file;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The categories there are.
pub(crate) const CATEGORIES: [&str; 5] =
    ["History", "Provider", "Tools", "StateMachine", "Widgets"];

/// Starts logging what was asked for: `History,Tools=debug`, or `all`, with a level or without.
pub(crate) fn start(wanted: &str, folder: &Path) -> anyhow::Result<()> {
    let targets = parse(wanted)?;
    private_file::make_folder(folder)
        .with_context(|| format!("could not make the data folder {}", folder.display()))?;
    let path = folder.join("threadline.log");
    private_file::tighten(&path);
    let file = private_file::options()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("could not open the log file {}", path.display()))?;
    let layer =
        tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(LogFile(file)));
    tracing_subscriber::registry()
        .with(layer)
        .with(targets)
        .try_init()
        .context("could not start logging")
}

/// The log file: one line for each event, and inert, since people look at it in a terminal.
struct LogFile(File);

impl Write for LogFile {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // An event comes in one piece, with its line end.
        let text = String::from_utf8_lossy(event);
        self.0.write_all(format!("{}\n", sanitise::line(text.trim_end())).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn parse(wanted: &str) -> anyhow::Result<Targets> {
    let mut targets = Targets::new().with_default(LevelFilter::OFF);
    for part in wanted.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (name, level) = match part.split_once('=') {
            None => (part, LevelFilter::DEBUG),
            Some((name, level)) => {
                let Ok(level) = level.trim().parse() else {
                    bail!(
                        "there is no log level {level:?}; there are off, error, warn, info, debug and trace"
                    );
                };
                (name.trim(), level)
            }
        };
        if name.eq_ignore_ascii_case("all") {
            targets = targets.with_targets(CATEGORIES.map(|category| (category, level)));
            continue;
        }
        let category = CATEGORIES.into_iter().find(|category| category.eq_ignore_ascii_case(name));
        let Some(category) = category else {
            bail!("there is no log category {name:?}; there are {} and all", CATEGORIES.join(", "));
        };
        targets = targets.with_target(category, level);
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_and_levels_are_read() {
        let targets = parse("history, Tools=trace;all=warn").unwrap();
        assert!(targets.would_enable("Tools", &tracing::Level::WARN));
        assert!(!targets.would_enable("Other", &tracing::Level::ERROR));
        assert!(parse("").is_ok());
        assert!(parse("Histories").is_err());
        assert!(parse("History=loud").is_err());
    }
}
