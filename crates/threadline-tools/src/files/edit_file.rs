//! The tool `edit_file`: replaces a text in a file of the workspace.
//!
//! An edit must not happen twice. It is recorded before the file is touched, so that it can be found
//! out later whether an edit that gave no answer was made.

mod apply;

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::tool::{
    Content, FileChange, NotRecorded, Tool, ToolContext, ToolOutcome, ToolSpec,
};

use super::blocking::{self, Stop};
use super::change::{Change, FILE_CAP_BYTES, as_text, became, told_change};
use super::in_workspace;
use super::place::{Place, There};
use super::told::{self, EDIT, failed, success};
use super::workspace::{Missing, NotOpened, Workspace};
use crate::text::{counted, size};
use crate::typed;
use apply::{Applied, applied};

/// Edits text files of a workspace: the tool `edit_file`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct EditFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl EditFile {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { spec: typed::run::<Arguments>("edit_file", in_workspace(Effect::Once)), workspace }
    }
}

/// Replaces a text in a file of the workspace. The text to find has to be in the file exactly once,
/// letter by letter, so give enough of what is around it; or, with all, every place is replaced. With
/// an empty text in its place it is deleted.
#[derive(Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// the file, relative to the workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    path: String,
    /// the text to replace, exactly as it is in the file, without line numbers
    #[schemars(length(min = 1))]
    find: String,
    /// what comes in its place; empty to delete
    with: String,
    /// whether every place is replaced
    all: Option<bool>,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let (tool, key) = (self.clone(), Arc::clone(&context.effect_key));
        let record = blocking::recorder(context);
        blocking::call(arguments, context, move |arguments, stop| {
            tool.edit(&arguments, &key, stop, record).unwrap_or_else(|outcome| outcome)
        })
        .await
    }

    async fn reconcile(&self, arguments: &str, context: &ToolContext) -> Option<ToolOutcome> {
        let Arguments { path, .. } = typed::read(arguments).ok()?;
        let (workspace, log) = (Arc::clone(&self.workspace), context.files.clone());
        let key = Arc::clone(&context.effect_key);
        let find_out = move |_: &Stop| {
            let _changing = workspace.changing();
            became(&workspace, EDIT, &path, &key, &log)
        };
        blocking::run(context, find_out).await.ok()?
    }
}

impl EditFile {
    fn edit(
        &self,
        arguments: &Arguments,
        key: &str,
        stop: &Stop,
        record: impl FnOnce(FileChange) -> Result<(), NotRecorded>,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let path = &*told::path(&arguments.path);
        let not = |message| failed(EDIT, path, message);
        let _changing = self.workspace.changing();
        if stop.is_given() {
            return Err(not(format!("{path} was not edited: the call was stopped")));
        }
        let (place, there, before) = self.open(&arguments.path)?;
        let all = arguments.all == Some(true);
        let Applied { after, count, line } =
            applied(&before, &arguments.find, &arguments.with, all)
                .map_err(|why| not(format!("{path} was not edited: {why}")))?;
        if after == before {
            let sentence = format!("nothing changed: {path} reads so already");
            return Ok(success(sentence.clone(), sentence));
        }
        if u64::try_from(after.len()).is_ok_and(|bytes| bytes > FILE_CAP_BYTES) {
            let cap = size(FILE_CAP_BYTES);
            return Err(not(format!("{path} was not edited: it would have more than {cap}")));
        }
        let (place, there) = (&place, Some(&there));
        let content = Some(Content::new(before.as_bytes()));
        let change = Change { verb: EDIT, path, place, there, before: content, text: &after, key };
        change.make(stop, record)?;
        let done = match (count, arguments.with.is_empty()) {
            (1, true) => format!("edited {path}: deleted text in line {line}"),
            (1, false) => format!("edited {path}: replaced text in line {line}"),
            (_, true) => format!("edited {path}: deleted text in {}", counted(count, "place")),
            (_, false) => format!("edited {path}: replaced text in {}", counted(count, "place")),
        };
        Ok(told_change(path, &done, &before, &after))
    }

    /// The text of a file that is to be changed.
    fn open(&self, path: &str) -> Result<(Place, There, String), ToolOutcome> {
        let told = &*told::path(path);
        let not_opened = |reason| told::not_opened(&self.workspace, EDIT, path, &reason);
        let place = self.workspace.place(path, Missing::Told).map_err(not_opened)?;
        let there = place.there().map_err(not_opened)?;
        let mut there = there.ok_or_else(|| not_opened(NotOpened::Missing))?;
        let not = |why| failed(EDIT, told, format!("{told} was not edited: {why}"));
        let read = there.read(FILE_CAP_BYTES);
        let bytes = read.map_err(|error| not(format!("it could not be read: {error}")))?;
        let bytes = bytes.ok_or_else(|| {
            let (has, cap) = (size(there.bytes()), size(FILE_CAP_BYTES));
            not(format!("it has {has}, and only files of up to {cap} are edited"))
        })?;
        let text = as_text(bytes)
            .map_err(|what| not(format!("it is {what}, and only UTF-8 text is edited")))?;
        Ok((place, there, text))
    }
}

#[cfg(test)]
mod tests;
