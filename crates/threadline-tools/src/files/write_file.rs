//! The tool `write_file`: makes or replaces a text file of the workspace.
//!
//! A write must not happen twice: a person may have changed the file in the meantime. It is recorded
//! before the file is touched, so that it can be found out later whether it was made.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::tool::{
    Content, FileChange, NotRecorded, Tool, ToolContext, ToolOutcome, ToolSpec,
};

use super::blocking::{self, Stop};
use super::change::{Change, FILE_CAP_BYTES, TEXT_CAP_BYTES, as_text, became, told_change};
use super::in_workspace;
use super::place::There;
use super::told::{self, WRITE, failed, success};
use super::workspace::{Missing, Workspace};
use crate::text::{counted, size};
use crate::typed;

/// Writes text files of a workspace: the tool `write_file`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct WriteFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl WriteFile {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { spec: typed::run::<Arguments>("write_file", in_workspace(Effect::Once)), workspace }
    }
}

/// Writes a text file of the workspace: makes it, and folders that are missing, or replaces all that
/// is in it. To change a part of a file use `edit_file`.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// the file, relative to the workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    path: String,
    /// all that the file shall contain, at most 1 MB
    text: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let (workspace, key) = (Arc::clone(&self.workspace), Arc::clone(&context.effect_key));
        let record = blocking::recorder(context);
        blocking::call(arguments, context, move |arguments, stop| {
            outcome(&workspace, &arguments, &key, stop, record).unwrap_or_else(|outcome| outcome)
        })
        .await
    }

    async fn reconcile(&self, arguments: &str, context: &ToolContext) -> Option<ToolOutcome> {
        let Arguments { path, .. } = typed::read(arguments).ok()?;
        let (workspace, log) = (Arc::clone(&self.workspace), context.files.clone());
        let key = Arc::clone(&context.effect_key);
        let find_out = move |_: &Stop| {
            let _changing = workspace.changing();
            became(&workspace, WRITE, &path, &key, &log)
        };
        blocking::run(context, find_out).await.ok()?
    }
}

/// What was there before.
enum Before {
    Nothing,
    Text(String),
    /// No text: what it is.
    Other(String),
}

fn outcome(
    workspace: &Workspace,
    Arguments { path, text }: &Arguments,
    key: &str,
    stop: &Stop,
    record: impl FnOnce(FileChange) -> Result<(), NotRecorded>,
) -> Result<ToolOutcome, ToolOutcome> {
    let told = &*told::path(path);
    if let Some(why) = unfit(text) {
        return Err(failed(WRITE, told, format!("{told} was not written: {why}")));
    }
    let _changing = workspace.changing();
    if stop.is_given() {
        return Err(failed(WRITE, told, format!("{told} was not written: the call was stopped")));
    }
    let not_opened = |reason| told::not_opened(workspace, WRITE, path, &reason);
    let place = workspace.place(path, Missing::Made).map_err(not_opened)?;
    let mut there = place.there().map_err(not_opened)?;
    let (before, content) = match &mut there {
        None => (Before::Nothing, None),
        Some(there) => before(there).map_err(|error| {
            failed(WRITE, told, format!("{told} could not be read before: {error}"))
        })?,
    };
    let lines = counted(text.lines().count(), "line");
    let length = size(u64::try_from(text.len()).unwrap_or(u64::MAX));
    if let Before::Text(before) = &before
        && before == text
    {
        let sentence = format!("nothing changed: {told} reads so already ({lines}, {length})");
        return Ok(success(sentence.clone(), sentence));
    }
    let there = there.as_ref();
    let place = &place;
    let change = Change { verb: WRITE, path: told, place, there, before: content, text, key };
    change.make(stop, record)?;
    Ok(match before {
        Before::Nothing => {
            let sentence = format!("created {told}: {lines}, {length}");
            success(sentence.clone(), sentence)
        }
        Before::Text(before) => told_change(told, &format!("replaced {told}"), &before, text),
        Before::Other(what) => {
            let sentence = format!("replaced {told}, which was {what}: {lines}, {length}");
            success(sentence.clone(), sentence)
        }
    })
}

/// Why a text is not written.
fn unfit(text: &str) -> Option<String> {
    if text.len() > TEXT_CAP_BYTES {
        let length = size(u64::try_from(text.len()).unwrap_or(u64::MAX));
        return Some(format!(
            "the text has {length}, and at most {TEXT_CAP_BYTES} bytes are written at once; write \
             less of it"
        ));
    }
    text.contains('\0').then(|| "the text has a zero byte in it, which no text file has".to_owned())
}

fn before(there: &mut There) -> std::io::Result<(Before, Option<Content>)> {
    Ok(match there.read(FILE_CAP_BYTES)? {
        None => {
            let content = Content { digest: there.digest()?, bytes: None };
            (Before::Other(size(there.bytes())), Some(content))
        }
        Some(bytes) => {
            let content = Content::new(&*bytes);
            (as_text(bytes).map_or_else(Before::Other, Before::Text), Some(content))
        }
    })
}

#[cfg(test)]
mod tests;
