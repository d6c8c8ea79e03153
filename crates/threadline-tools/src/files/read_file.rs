//! The tool `read_file`: a page of a text file of the workspace.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};

use super::blocking::{self, Stop};
use super::in_workspace;
use super::page::{self, NotRead, PAGE_CAP_LINES, Page, Wish};
use super::told::{self, READ, failed, success};
use super::workspace::{Opened, Workspace};
use crate::text::size;
use crate::typed;

/// Reads text files of a workspace: the tool `read_file`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct ReadFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ReadFile {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { spec: typed::run::<Arguments>("read_file", in_workspace(Effect::Read)), workspace }
    }
}

/// Reads a text file of the workspace, from its first line or from the line `offset` on. At most
/// 2000 lines or 12 KB come at once; the end says how to read on.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// the file, relative to the workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    path: String,
    /// the line to start at, counted from 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// how many lines at most
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
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

/// Opens and reads.
fn outcome(workspace: &Workspace, arguments: &Arguments, stop: &Stop) -> ToolOutcome {
    let path = &*told::path(&arguments.path);
    let Opened { mut file, bytes } = match workspace.file(&arguments.path) {
        Ok(opened) => opened,
        Err(reason) => return told::not_opened(workspace, READ, &arguments.path, &reason),
    };
    let wish = Wish {
        first: arguments.offset.unwrap_or(1).max(1),
        most: arguments.limit.unwrap_or(PAGE_CAP_LINES),
    };
    match page::read(&mut file, wish, &|| stop.is_given()) {
        Ok(page) => told(path, bytes, wish, &page),
        Err(NotRead::Stopped) => told::stopped(format!("reading {path} was stopped")),
        Err(reason) => failed(READ, path, not_read(path, bytes, &reason)),
    }
}

/// Why a file cannot be read as text.
fn not_read(path: &str, bytes: u64, reason: &NotRead) -> String {
    let size = size(bytes);
    match reason {
        NotRead::Binary => format!("{path} is no text file: {size} of binary data"),
        NotRead::Utf16 => format!("{path} is UTF-16 text ({size}); only UTF-8 can be read"),
        NotRead::Stopped => format!("reading {path} was stopped"),
        NotRead::Failed(error) => format!("{path} could not be read: {error}"),
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
                failed(
                    READ,
                    path,
                    format!("{path} has no line {first}: it has {lines} lines, {size}"),
                )
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

#[cfg(test)]
mod tests;
