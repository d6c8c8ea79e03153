//! `threadline export`.

use std::fs;
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use tempfile::NamedTempFile;
use threadline_core::id::Seq;
use threadline_core::store::{Attendance, Conversation, Lease, StoreError};
use threadline_core::transfer::{self, ExportError, Exported};

use crate::args::Export;
use crate::compose::Parts;
use crate::view::{Progress, View, counted, remark};

/// How long a move holds the conversation.
const LEASE_MS: u64 = 600_000;

pub(crate) async fn run(parts: &Parts, arguments: &Export, view: &mut View) -> anyhow::Result<()> {
    let conversation = parts.find(&arguments.conversation).await?;
    if let Some(at) = arguments.at {
        anyhow::ensure!(
            (1..=conversation.head.0).contains(&at),
            "there is no entry {at}; the last is {}",
            conversation.head
        );
    }
    match arguments.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => to_file(parts, arguments, &conversation, path, view).await,
        None => {
            if arguments.r#move {
                bail!("a move needs a file: it is closed here only once the file is safe");
            }
            if io::stdout().is_terminal() {
                bail!("an export is for a file or another program: give --output FILE, or pipe it");
            }
            let mut out = BufWriter::new(io::stdout());
            let mut progress = Progress::new("exported", Some(conversation.head.0), view);
            let up_to = arguments.at.map(Seq);
            transfer::export(&*parts.store, conversation.id, up_to, &mut out, &mut |n| {
                progress.at(n);
            })
            .await?;
            Ok(())
        }
    }
}

async fn to_file(
    parts: &Parts,
    arguments: &Export,
    conversation: &Conversation,
    path: &Path,
    view: &mut View,
) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("{} is a folder; name a file in it", path.display());
    }
    if path.exists() && !arguments.force {
        bail!("{} is there already; give --force to write over it", path.display());
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        bail!("there is no folder {}; make it first", folder.display());
    }
    // Written beside it and renamed: a file that is there is whole.
    let beside = NamedTempFile::new_in(folder)
        .with_context(|| format!("could not write to the folder {}", folder.display()))?;
    let mut out = BufWriter::new(beside);
    let exported = if arguments.r#move {
        let lease = parts.store.claim(conversation.id, LEASE_MS, Attendance::Attended).await?;
        let moved = r#move(parts, &lease, out, path, view).await;
        if moved.is_err() {
            parts.store.release(&lease).await?;
        }
        moved?
    } else {
        let mut progress = Progress::new("exported", Some(conversation.head.0), view);
        let (up_to, progress) = (arguments.at.map(Seq), &mut |n| progress.at(n));
        let exported =
            transfer::export(&*parts.store, conversation.id, up_to, &mut out, progress).await?;
        keep(out, path)?;
        exported
    };
    tell(conversation, exported, path, arguments.r#move, view)
}

/// Writes the export of a conversation that goes on elsewhere; closes it once the file is safe.
async fn r#move(
    parts: &Parts,
    lease: &Lease,
    mut out: BufWriter<NamedTempFile>,
    path: &Path,
    view: &View,
) -> anyhow::Result<Exported> {
    let mut progress = Progress::new("exported", None, view);
    let (id, progress) = (lease.conversation, &mut |n| progress.at(n));
    let moved =
        transfer::export_move(&*parts.store, id, None, parts.stamp(), &mut out, progress).await?;
    keep(out, path)?;
    let closed = moved.close(&*parts.store, lease).await;
    if let Err(ExportError::Changed | ExportError::Store(StoreError::Conflict { .. })) = &closed {
        // It goes on here: a file that says otherwise would make two of it.
        fs::remove_file(path).with_context(|| format!("could not remove {}", path.display()))?;
        return Ok(closed?);
    }
    closed.with_context(|| {
        format!("{} was written, but the conversation could not be closed here", path.display())
    })
}

/// Makes what was written durable under its name.
fn keep(out: BufWriter<NamedTempFile>, path: &Path) -> anyhow::Result<()> {
    let beside = out.into_inner().context("could not write the export")?;
    beside.as_file().sync_all().context("could not write the export")?;
    beside.persist(path).with_context(|| format!("could not write {}", path.display()))?;
    let folder = fs::File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    folder.context("could not write the export")
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

fn tell(
    conversation: &Conversation,
    exported: Exported,
    path: &Path,
    moved: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told<'a> {
        id: String,
        file: &'a Path,
        entries: u64,
        attachments: u64,
        waiting: u64,
        moved: bool,
    }
    let Exported { entries, attachments, waiting } = exported;
    if view.json {
        view.value(&Told {
            id: conversation.id.to_string(),
            file: path,
            entries,
            attachments,
            waiting,
            moved,
        })?;
        return Ok(());
    }
    let what = counted(entries, "entry", "entries");
    remark(&format!("wrote {what} to {}", path.display()));
    if moved {
        remark("the conversation is closed here and goes on where the file is imported");
    }
    Ok(())
}
