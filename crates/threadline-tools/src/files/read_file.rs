//! The tool `read_file`: a page of a text file of the workspace.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde::Deserialize;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};

use super::page::{self, NotRead, PAGE_CAP_BYTES, PAGE_CAP_LINES, Page, Wish};
use super::workspace::{NotOpened, Opened, Workspace};
use crate::text::{nearest, plain, shortened, size};
use crate::typed;

/// How many names of a folder are told.
const NAMES_TOLD: usize = 20;
/// How much of a path or a name is told.
const NAME_TOLD_BYTES: usize = 200;

/// Reads text files of a workspace: the tool `read_file`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct ReadFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ReadFile {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let description = format!(
            "Reads a text file of the workspace, from its first line or from the line `offset` \
             on. At most {PAGE_CAP_LINES} lines or {} KB come at once; the end says how to read \
             on.",
            PAGE_CAP_BYTES / 1024
        );
        let spec = ToolSpec {
            name: "read_file".into(),
            description: description.into(),
            schema: r#"{"type":"object","properties":{"path":{"type":"string","description":"the file, relative to the workspace, such as src/main.rs","minLength":1},"offset":{"type":"integer","description":"the line to start at, counted from 1","minimum":1},"limit":{"type":"integer","description":"how many lines at most","minimum":1}},"required":["path"]}"#
                .into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Run(RunRules::usual(Effect::Read)),
        };
        Self { spec, workspace }
    }
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let arguments = match typed::read(arguments) {
            Ok(arguments) => arguments,
            Err(message) => return typed::failed(message),
        };
        let dropped = Dropped::default();
        let (gone, cancel) = (Arc::clone(&dropped.0), context.cancel.clone());
        let workspace = Arc::clone(&self.workspace);
        let reading = tokio::task::spawn_blocking(move || {
            let stopped = || gone.load(Ordering::Relaxed) || cancel.is_cancelled();
            outcome(&workspace, &arguments, &stopped)
        });
        reading.await.unwrap_or_else(|error| {
            let message = format!("reading did not come to its end: {error}");
            ToolOutcome::NoAnswer(ToolResult {
                error: Some(message.clone()),
                ..ToolResult::text(message)
            })
        })
    }
}

/// Tells the thread that reads when nobody waits for it any more.
#[derive(Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens and reads.
fn outcome(
    workspace: &Workspace,
    arguments: &Arguments,
    stopped: &dyn Fn() -> bool,
) -> ToolOutcome {
    let path = &*shortened(&plain(&arguments.path), NAME_TOLD_BYTES).into_owned();
    let Opened { mut file, bytes } = match workspace.file(&arguments.path) {
        Ok(opened) => opened,
        Err(reason) => return failed(path, not_opened(workspace, &arguments.path, path, &reason)),
    };
    let wish = Wish {
        first: arguments.offset.unwrap_or(1).max(1),
        most: arguments.limit.unwrap_or(PAGE_CAP_LINES),
    };
    match page::read(&mut file, wish, stopped) {
        Ok(page) => told(path, bytes, wish, &page),
        Err(NotRead::Stopped) => {
            let message = format!("reading {path} was stopped");
            ToolOutcome::NoAnswer(ToolResult::text(message))
        }
        Err(NotRead::Binary) => {
            failed(path, format!("{path} is no text file: {} of binary data", size(bytes)))
        }
        Err(NotRead::Utf16) => {
            failed(path, format!("{path} is UTF-16 text ({}); only UTF-8 can be read", size(bytes)))
        }
        Err(NotRead::Failed(error)) => failed(path, format!("{path} could not be read: {error}")),
    }
}

/// What a page is told as.
fn told(path: &str, bytes: u64, wish: Wish, page: &Page) -> ToolOutcome {
    let size = size(bytes);
    let (first, last) = (wish.first, wish.first + page.lines.saturating_sub(1));
    if page.lines == 0 {
        return match page.total {
            Some(0) => success(format!("({path} is empty)"), format!("read {path}: empty")),
            total => {
                let lines = total.unwrap_or_default();
                failed(path, format!("{path} has no line {first}: it has {lines} lines, {size}"))
            }
        };
    }
    let whole = first == 1 && page.total == Some(last);
    let of = match page.total {
        Some(total) => format!(" of {total}"),
        None => String::new(),
    };
    let mut text = page.text.clone();
    if let Some(cut) = page.cut {
        let _ = write!(text, "\n[line {first} is cut here: it has {cut} bytes]");
    }
    if page.total.is_none_or(|total| last < total) {
        let next = last + 1;
        let _ = write!(
            text,
            "\n[lines {first} to {last}{of}, file of {size}: read on with offset {next}]"
        );
    } else if !whole {
        let _ = write!(text, "\n[lines {first} to {last}{of}: the end of the file]");
    }
    if page.bad_bytes > 0 {
        let sign = char::REPLACEMENT_CHARACTER;
        let bad = page.bad_bytes;
        let _ = write!(text, "\n[bytes that are not UTF-8, {bad} of them, are shown as {sign}]");
    }
    if page.crlf {
        text.push_str("\n[lines end with CRLF]");
    }
    let gist = match page.lines {
        _ if !whole => format!("read {path}: lines {first} to {last}{of}, file of {size}"),
        1 => format!("read {path}: 1 line, {size}"),
        lines => format!("read {path}: {lines} lines, {size}"),
    };
    success(text, gist)
}

fn success(text: String, gist: String) -> ToolOutcome {
    let gist = Shorter::Own(gist.into());
    let section = Section { title: None, text: text.into(), recent: Shorter::Same, gist };
    ToolOutcome::Success(ToolResult { sections: vec![section.derived()], ..ToolResult::default() })
}

fn failed(path: &str, message: String) -> ToolOutcome {
    let gist = Shorter::Own(format!("could not read {path}").into());
    let section =
        Section { title: None, text: (&*message).into(), recent: Shorter::Same, gist }.derived();
    ToolOutcome::Failed(ToolResult {
        sections: vec![section],
        error: Some(message),
        ..ToolResult::default()
    })
}

/// Why a path was not opened, and what to read instead.
fn not_opened(workspace: &Workspace, path: &str, told: &str, reason: &NotOpened) -> String {
    match reason {
        NotOpened::NoPath(why) => format!("{told:?} is no path: {why}"),
        NotOpened::Outside => format!(
            "{told} leads out of the workspace; give a path relative to the workspace's folder"
        ),
        NotOpened::Denied => format!("{told} may not be read: permission denied"),
        NotOpened::NoFile(what) => format!("{told} is {what}, not a file that can be read"),
        NotOpened::Failed(error) => format!("{told} could not be opened: {error}"),
        NotOpened::Folder => {
            let names = workspace.names(path).unwrap_or_default();
            format!("{told} is a folder; {}", holds("it", &names))
        }
        NotOpened::Missing => {
            format!("there is no {told} in the workspace{}", offer(workspace, path))
        }
    }
}

/// What could be meant by a path that leads to nothing: the nearest names at its first part that
/// is not there.
fn offer(workspace: &Workspace, path: &str) -> String {
    let (mut folder, mut wanted) = split(path.trim_end_matches('/'));
    while let (Err(_), false) = (workspace.names(or_here(folder)), folder.is_empty()) {
        (folder, wanted) = split(folder);
    }
    let Ok(names) = workspace.names(or_here(folder)) else { return String::new() };
    let alike = nearest(wanted, names.iter().map(|name| (name, name.trim_end_matches('/'))), 3);
    let slash = if folder.is_empty() { "" } else { "/" };
    if alike.is_empty() {
        let told = if folder.is_empty() { "the workspace" } else { folder };
        return format!("; {}", holds(&shortened(told, NAME_TOLD_BYTES), &names));
    }
    let alike = alike
        .iter()
        .map(|name| plain(&shortened(&format!("{folder}{slash}{name}"), NAME_TOLD_BYTES)));
    format!("; did you mean {}?", alike.collect::<Vec<_>>().join(" or "))
}

/// A path's folder, without its slash, and its last part.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder.trim_end_matches('/'), name))
}

fn or_here(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}

fn holds(folder: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("{folder} is empty");
    }
    let told = names.iter().take(NAMES_TOLD);
    let told = told.map(|name| plain(&shortened(name, NAME_TOLD_BYTES))).collect::<Vec<_>>();
    match names.len().saturating_sub(NAMES_TOLD) {
        0 => format!("{folder} has {}", told.join(", ")),
        more => format!("{folder} has {} and {more} more", told.join(", ")),
    }
}

#[cfg(test)]
mod tests;
