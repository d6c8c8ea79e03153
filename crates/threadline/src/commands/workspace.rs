//! `threadline workspace`: the folder that a conversation works in.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use threadline_core::history::fact::WorkspaceSet;
use threadline_core::id::ConversationId;
use threadline_core::inbox::Command;
use threadline_core::store;

use super::change::change;
use crate::args::SetWorkspace;
use crate::compose::Parts;
use crate::view::{Line, View};

/// What `--json` prints.
#[derive(Serialize)]
struct WorkspaceJson<'a> {
    id: String,
    path: Option<&'a str>,
    exists: bool,
}

pub(crate) async fn run(
    parts: &Parts,
    arguments: &SetWorkspace,
    view: &mut View,
) -> anyhow::Result<()> {
    let id = parts.find(&arguments.conversation).await?.id;
    if let Some(path) = &arguments.set {
        let workspace = identity(path)
            .with_context(|| format!("could not open the folder {}", path.display()))?;
        change(parts, id, None, Command::SetWorkspace(workspace)).await?;
    }
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    print(id, history.ledger().workspace.as_ref(), view)
}

/// Which folder a path names.
#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<WorkspaceSet> {
    Ok(threadline_tools::files::Workspace::open(path)?.identity().clone())
}

/// Which folder a path names. Where the system has no inodes, the path is all there is.
#[cfg(not(unix))]
fn identity(path: &Path) -> std::io::Result<WorkspaceSet> {
    let path = path.canonicalize()?.display().to_string().into();
    Ok(WorkspaceSet { path, device: None, inode: None })
}

fn print(
    id: ConversationId,
    workspace: Option<&WorkspaceSet>,
    view: &mut View,
) -> anyhow::Result<()> {
    let path = workspace.map(|workspace| &*workspace.path);
    let exists = path.is_some_and(|path| Path::new(path).is_dir());
    if view.json {
        return Ok(view.value(&WorkspaceJson { id: id.to_string(), path, exists })?);
    }
    match path {
        None => view.line(&Line::new().plain("This conversation has no workspace."))?,
        Some(path) if exists => view.line(&Line::new().plain(path))?,
        Some(path) => {
            view.line(&Line::new().plain(path).bad("  does not exist here"))?;
            let hint =
                format!("To bind it to another folder: threadline workspace {id} --set PATH");
            view.line(&Line::new().dim(hint))?;
        }
    }
    Ok(())
}
