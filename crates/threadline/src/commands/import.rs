//! `threadline import`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use anyhow::Context as _;
use threadline_core::transfer::{self, Imported};

use crate::args::Import;
use crate::compose::Parts;
use crate::view::{Line, Progress, View, counted};

/// How much of the file is read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) async fn run(parts: &Parts, arguments: &Import, view: &mut View) -> anyhow::Result<()> {
    let name = arguments.file.display().to_string();
    let mut from: Box<dyn BufRead + Send> = if name == "-" {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))
    } else {
        let file = File::open(&arguments.file).with_context(|| format!("could not open {name}"))?;
        anyhow::ensure!(!file.metadata()?.is_dir(), "{name} is a folder, not an export");
        Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
    };
    let options = transfer::Import {
        as_new: arguments.as_new.then(|| parts.new_id()),
        salvage: arguments.salvage,
    };
    let mut progress = Progress::new("imported", None, view);
    let imported = transfer::import(&*parts.store, &mut *from, options, &parts.counter, &mut |n| {
        progress.at(n);
    })
    .await;
    drop(progress);
    let imported =
        imported.with_context(|| format!("could not import {name}; nothing of it was kept"))?;
    tell(&imported, view)
}

fn tell(imported: &Imported, view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told {
        id: String,
        entries: u64,
        new: u64,
        attachments: u64,
        waiting: u64,
        moved: bool,
        salvaged: Option<String>,
    }
    let salvaged =
        imported.salvaged.as_ref().map(|error| format!("line {}: {}", error.line, error.wrong));
    if view.json {
        view.value(&Told {
            id: imported.id.to_string(),
            entries: imported.entries,
            new: imported.new,
            attachments: imported.attachments,
            waiting: imported.waiting,
            moved: imported.moved,
            salvaged,
        })?;
        return Ok(());
    }
    let what = match imported.new {
        0 => "nothing new: all of it is here already".to_owned(),
        new if new == imported.entries => format!("imported {}", counted(new, "entry", "entries")),
        new => format!("added {}, {} in all", counted(new, "entry", "entries"), imported.entries),
    };
    view.line(&Line::new().name(imported.id.to_string()).plain("  ").plain(what))?;
    if imported.moved {
        view.line(&Line::new().plain("it was moved here and goes on exactly"))?;
    }
    if let Some(why) = salvaged {
        view.line(&Line::new().bad("salvaged: ").plain(format!("the file is broken at {why}")))?;
        view.line(&Line::new().plain(format!("kept are entries 1 to {}", imported.entries)))?;
    }
    Ok(())
}
