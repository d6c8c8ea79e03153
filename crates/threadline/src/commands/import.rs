//! `threadline import`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use threadline_core::transfer::{self, ImportError, Imported, Voided, Wrong};

use crate::args::Import;
use crate::compose::Parts;
use crate::report::chain;
use crate::view::{Line, Progress, View, counted, grouped};
use crate::words;

/// How much of the file is read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) async fn run(parts: &Parts, arguments: &Import, view: &mut View) -> anyhow::Result<()> {
    let (name, mut from) = source(&arguments.file)?;
    let options = transfer::Import {
        as_new: arguments.as_new.then(|| parts.new_id()),
        salvage: arguments.salvage,
        trusted: arguments.trusted,
    };
    let mut progress = Progress::new("imported", None, view);
    let imported = transfer::import(&*parts.store, &mut *from, options, &parts.counter, &mut |n| {
        progress.at(n);
    })
    .await;
    drop(progress);
    let imported = imported.map_err(|error| {
        if let Wrong::NoHeader = error.wrong {
            return anyhow::anyhow!("{name} is not an export: it does not begin as one");
        }
        let salvage = !arguments.salvage && can_be_salvaged(&error);
        let hint = if salvage { "; --salvage keeps what is sound" } else { "" };
        let why = chain(&anyhow::Error::new(error));
        anyhow::anyhow!("could not import {name}, nothing of it was kept: {why}{hint}")
    })?;
    tell(imported, arguments.trusted, view)
}

/// Where the export comes from: what to call it, and its bytes.
fn source(file: &Path) -> anyhow::Result<(String, Box<dyn BufRead + Send>)> {
    if file == Path::new("-") {
        anyhow::ensure!(
            !io::stdin().is_terminal(),
            "an export is read from a file or another program: name the file, or pipe it in"
        );
        let from = BufReader::with_capacity(BUFFER_BYTES, io::stdin());
        return Ok(("standard input".to_owned(), Box::new(from)));
    }
    let name = file.display().to_string();
    let opened = File::open(file).with_context(|| format!("could not open {name}"))?;
    anyhow::ensure!(!opened.metadata()?.is_dir(), "{name} is a folder; name a file in it");
    Ok((name, Box::new(BufReader::with_capacity(BUFFER_BYTES, opened))))
}

/// Whether a part of the export is sound although all of it is not.
fn can_be_salvaged(error: &ImportError) -> bool {
    match &error.wrong {
        Wrong::NoHeader | Wrong::Empty | Wrong::Diverged { .. } => false,
        Wrong::Store(_) | Wrong::Open(_) => false,
        Wrong::NotALine(_)
        | Wrong::Read(_)
        | Wrong::TooLong
        | Wrong::BreaksOff
        | Wrong::AfterEnd
        | Wrong::WrongEnd
        | Wrong::BrokenChain(_)
        | Wrong::OutOfOrder { .. }
        | Wrong::Unreadable(_)
        | Wrong::Rule(_)
        | Wrong::Attachment(_)
        | Wrong::NoAttachment(..)
        | Wrong::TooManyWaiting => error.line > 2,
    }
}

/// Authority in the file that has no effect here, as `--json` prints it.
#[derive(serde::Serialize)]
struct VoidedJson {
    rules: Vec<String>,
    approvals: u64,
    workspace: Option<String>,
    items: u64,
}

impl From<&Voided> for VoidedJson {
    fn from(voided: &Voided) -> Self {
        Self {
            rules: voided.policies.iter().map(words::policy).collect(),
            approvals: voided.approvals,
            workspace: voided.workspace.as_deref().map(str::to_owned),
            items: voided.items,
        }
    }
}

/// Says what lost its authority, and how to grant it again.
fn tell_voided(imported: &Imported, view: &mut View) -> anyhow::Result<()> {
    let (id, voided) = (imported.id, &imported.voided);
    if voided.is_empty() {
        return Ok(());
    }
    let mut lost: Vec<String> = voided.policies.iter().map(words::policy).collect();
    if voided.approvals > 0 {
        lost.push(counted(voided.approvals, "approval", "approvals"));
    }
    if let Some(path) = &voided.workspace {
        lost.push(format!("the workspace {path}"));
    }
    if voided.items > 0 {
        let items =
            counted(voided.items, "pending answer or command", "pending answers or commands");
        lost.push(format!("{items}, discarded"));
    }
    view.line(&Line::new().plain("The file is not trusted, so this has no effect here:"))?;
    view.remarks(&lost, "  ")?;
    let hint = format!(
        "To set a rule again: threadline policy {id} allow TOOL. To vouch for the whole file: import it again with --trusted."
    );
    view.line(&Line::new().dim(hint))?;
    Ok(())
}

fn tell(imported: Imported, trusted: bool, view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told {
        id: String,
        entries: u64,
        new: u64,
        attachments: u64,
        waiting: u64,
        moved: bool,
        trusted: bool,
        voided: VoidedJson,
        salvaged: Option<String>,
    }
    let mut imported = imported;
    let salvaged = imported.salvaged.take().map(|error| chain(&anyhow::Error::new(error)));
    if view.json {
        view.value(&Told {
            id: imported.id.to_string(),
            entries: imported.entries,
            new: imported.new,
            attachments: imported.attachments,
            waiting: imported.waiting,
            moved: imported.moved,
            trusted,
            voided: VoidedJson::from(&imported.voided),
            salvaged,
        })?;
        return Ok(());
    }
    let what = match imported.new {
        0 if imported.moved => "nothing new, but it is open again".to_owned(),
        0 => "nothing new: all of it is here already".to_owned(),
        new if new == imported.entries => format!("imported {}", counted(new, "entry", "entries")),
        new => {
            let all = grouped(imported.entries);
            format!("added {}, {all} in all", counted(new, "entry", "entries"))
        }
    };
    view.line(&Line::new().name(imported.id.to_string()).plain("  ").plain(what))?;
    if imported.moved && trusted {
        view.line(&Line::new().plain("It was moved here and continues where it stopped."))?;
    }
    tell_voided(&imported, view)?;
    if let Some(why) = salvaged {
        view.line(&Line::new().bad("salvaged: ").plain(format!("the file is broken at {why}")))?;
        let kept = match imported.entries {
            1 => "kept is entry 1".to_owned(),
            entries => format!("kept are entries 1 to {}", grouped(entries)),
        };
        view.line(&Line::new().plain(kept))?;
    }
    let id = imported.id;
    let mut hint = format!("To read it: threadline show {id}");
    if imported.new > 0 || imported.moved {
        let _ = write!(hint, ". Nothing runs before you resume it: threadline resume {id}");
    }
    view.line(&Line::new().dim(hint))?;
    Ok(())
}
