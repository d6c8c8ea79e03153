//! The tool `list_files`: what is in a folder of the workspace.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};

use super::blocking::{self, Stop};
use super::in_workspace;
use super::page::PAGE_CAP_BYTES;
use super::told::{self, LIST, failed, success};
use super::walk::{Found, Inside, Kind, NAMES_CAP, Walk};
use super::workspace::{NotOpened, Workspace};
use crate::text::{counted, shortened, size};
use crate::typed;

/// How many entries come at once.
const ENTRIES_CAP: usize = 1000;
/// How much of a line is shown.
const LINE_BYTES: usize = 1000;

/// Lists folders of a workspace: the tool `list_files`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct ListFiles {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ListFiles {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { spec: typed::run::<Arguments>("list_files", in_workspace(Effect::Read)), workspace }
    }
}

/// Lists what is in a folder of the workspace, sorted: files with their sizes, folders with a slash
/// at the end, hidden ones included. With a depth above 1 what is in its folders is listed, too, but
/// not what is in .git. At most 1000 entries or 12 KB come at once; the end says how to list on.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// the folder, relative to the workspace, such as src; the workspace itself unless given
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// how many levels of folders to list; 1 unless given
    #[schemars(range(min = 1))]
    depth: Option<u64>,
    /// the entry to start at, counted from 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let workspace = Arc::clone(&self.workspace);
        blocking::call(arguments, context, move |arguments, stop| {
            outcome(&workspace, &arguments, stop)
        })
        .await
    }
}

fn outcome(workspace: &Workspace, arguments: &Arguments, stop: &Stop) -> ToolOutcome {
    let path = arguments.path.as_deref().unwrap_or(".");
    let told = told::path(path);
    let depth = usize::try_from(arguments.depth.unwrap_or(1)).unwrap_or(usize::MAX);
    let opened = workspace.folder(path).and_then(|folder| Walk::new(folder, path, depth));
    let mut walk = match opened {
        Ok(walk) => walk,
        Err(reason) => return not_a_folder(workspace, path, &told, &reason),
    };
    let first = usize::try_from(arguments.offset.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
    let mut listing = Listing { first, ..Listing::default() };
    while let Some(found) = walk.next() {
        if stop.is_given() {
            return told::stopped(format!("listing {told} was stopped"));
        }
        listing.take(&found);
    }
    listing.told(&told, walk.cut)
}

/// The answer to a path that is no folder. A file is listed as itself.
fn not_a_folder(workspace: &Workspace, path: &str, told: &str, reason: &NotOpened) -> ToolOutcome {
    match workspace.file(path) {
        Ok(opened) => {
            let line = format!("{told}  {}", size(opened.bytes));
            success(format!("{line}\n[a file, not a folder]"), format!("listed {line}"))
        }
        Err(NotOpened::Folder) => told::not_opened(workspace, LIST, path, reason),
        Err(reason) => told::not_opened(workspace, LIST, path, &reason),
    }
}

/// What is listed of a walk.
#[derive(Default)]
struct Listing {
    /// The first entry that is asked for.
    first: usize,
    text: String,
    /// How many entries are in the text.
    shown: usize,
    full: bool,
    folders: usize,
    files: usize,
    others: usize,
}

impl Listing {
    fn take(&mut self, found: &Found<'_>) {
        match found.kind {
            Kind::Folder(_) => self.folders += 1,
            Kind::File => self.files += 1,
            Kind::Link | Kind::Other(_) => self.others += 1,
        }
        if self.full || self.seen() < self.first {
            return;
        }
        let line = line(found);
        if self.shown >= ENTRIES_CAP
            || (self.shown > 0 && self.text.len() + line.len() > PAGE_CAP_BYTES)
        {
            self.full = true;
            return;
        }
        self.text.push_str(&line);
        self.text.push('\n');
        self.shown += 1;
    }

    fn seen(&self) -> usize {
        self.folders + self.files + self.others
    }

    fn told(mut self, path: &str, cut: bool) -> ToolOutcome {
        let seen = self.seen();
        if seen == 0 {
            return success(format!("({path} is empty)"), format!("listed {path}: empty"));
        }
        if self.shown == 0 {
            let has = counted(seen, "entry").replace("entrys", "entries");
            return failed(
                LIST,
                path,
                format!("there is no entry {}: {path} has {has}", self.first),
            );
        }
        let mut kinds = vec![counted(self.folders, "folder"), counted(self.files, "file")];
        if self.others > 0 {
            kinds.push(counted(self.others, "other"));
        }
        let kinds = kinds.join(", ");
        let (first, last) = (self.first, self.first + self.shown - 1);
        let _ = match (last < seen, first > 1) {
            (true, _) => write!(
                self.text,
                "[entries {first} to {last} of {seen} ({kinds}): list on with offset {}]",
                last + 1
            ),
            (false, true) => write!(self.text, "[entries {first} to {last} of {seen}: the end]"),
            (false, false) => write!(self.text, "[{kinds}]"),
        };
        if cut {
            let _ = write!(
                self.text,
                "\n[only the first {NAMES_CAP} names that came up were looked at: list a folder \
                 further down]"
            );
        }
        let gist = if self.shown == seen {
            format!("listed {path}: {kinds}")
        } else {
            format!("listed {path}: entries {first} to {last} of {seen}")
        };
        success(self.text, gist)
    }
}

fn line(found: &Found<'_>) -> String {
    let path = shortened(&found.path, LINE_BYTES);
    let mut line = match found.kind {
        Kind::File => match found.bytes() {
            Some(bytes) => format!("{path}  {}", size(bytes)),
            None => path.into_owned(),
        },
        Kind::Folder(Inside::Next | Inside::Deeper) => format!("{path}/"),
        Kind::Folder(Inside::Git) => format!("{path}/  (not listed)"),
        Kind::Folder(Inside::Closed) => format!("{path}/  (may not be looked into)"),
        Kind::Link => {
            let target = found.target().unwrap_or_default();
            format!("{path} -> {}", shortened(&target, LINE_BYTES))
        }
        Kind::Other(what) => format!("{path}  ({what})"),
    };
    if !found.named {
        line.push_str("  (a name that is not text and cannot be given)");
    }
    line
}

#[cfg(test)]
mod tests;
