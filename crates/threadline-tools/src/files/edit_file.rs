//! The tool `edit_file`: replaces a text in a file of the workspace.
//!
//! An edit must not happen twice. Whether one that gave no answer was made is found out by its
//! journal, which is written before the file is touched: what the file was, and what it was to be.

mod apply;
mod journal;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::{Digest, Effect};
use threadline_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};

use super::blocking::{self, Stop};
use super::change::{Change, FILE_CAP_BYTES, as_text, told_change};
use super::place::{Place, There};
use super::told::{self, EDIT, failed, success};
use super::workspace::{Missing, NotOpened, Workspace};
use crate::text::{counted, size};
use crate::typed;
use apply::{Applied, applied, cannot_come_back};
use journal::{Entry, Journal};

/// Edits text files of a workspace: the tool `edit_file`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct EditFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    journal: Option<Journal>,
}

impl EditFile {
    /// The tool for a workspace. The journal is a folder outside of it, which is made when it is
    /// needed; without one it is less often known what became of an edit that was cut off.
    pub fn new(workspace: Arc<Workspace>, journal: Option<PathBuf>) -> Self {
        let spec = typed::run::<Arguments>("edit_file", Effect::Once);
        Self { spec, workspace, journal: journal.map(Journal::new) }
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
        blocking::call(arguments, context, move |arguments, stop| {
            tool.edit(&arguments, &key, stop).unwrap_or_else(|outcome| outcome)
        })
        .await
    }

    async fn reconcile(&self, arguments: &str, context: &ToolContext) -> Option<ToolOutcome> {
        let arguments: Arguments = typed::read(arguments).ok()?;
        let (tool, key) = (self.clone(), Arc::clone(&context.effect_key));
        blocking::run(context, move |_| tool.became(&arguments, &key)).await.ok()?
    }
}

impl EditFile {
    fn edit(
        &self,
        arguments: &Arguments,
        key: &str,
        stop: &Stop,
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
        let entry = Entry {
            path: arguments.path.clone(),
            before: Digest::of(before.as_bytes()),
            after: Digest::of(after.as_bytes()),
        };
        let (place, there) = (&place, Some(&there));
        let change = Change { verb: EDIT, path, place, there, text: &after, key };
        change.make(stop, || match &self.journal {
            Some(journal) => journal.write(key, &entry),
            None => Ok(()),
        })?;
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

    /// What became of an edit that gave no answer; none if there is no way to know.
    fn became(&self, arguments: &Arguments, key: &str) -> Option<ToolOutcome> {
        let path = &*told::path(&arguments.path);
        // Whoever was about to make it has made it when this is free, or never will.
        let _changing = self.workspace.changing();
        let (place, _, text) = self.open(&arguments.path).ok()?;
        // It is only in the way of nobody.
        drop(place.remove_temporary(key));
        let was_not = || failed(EDIT, path, format!("{path} was not edited: it was not applied"));
        let entry = match &self.journal {
            Some(journal) => journal.read(key).ok()?,
            None => None,
        };
        let Some(entry) = entry else {
            let all = arguments.all == Some(true);
            let applicable = applied(&text, &arguments.find, &arguments.with, all).is_ok();
            let sure = applicable && cannot_come_back(&arguments.find, &arguments.with);
            return sure.then(was_not);
        };
        if entry.path != arguments.path {
            return None;
        }
        match Digest::of(text.as_bytes()) {
            now if now == entry.after => {
                let sentence = format!("edited {path}: it was applied before the answer was lost");
                Some(success(sentence.clone(), sentence))
            }
            now if now == entry.before => Some(was_not()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
