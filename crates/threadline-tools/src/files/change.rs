//! A change of a file: how it is made and reported, and what became of one that gave no answer.
//! Writing and editing share it.

use std::io;

use threadline_core::history::fact::{Digest, FileChanged};
use threadline_core::history::sections::RECENT_CAP_BYTES;
use threadline_core::store::Predecessor;
use threadline_core::tool::{Content, FileChange, FileLog, NotRecorded, ToolOutcome, ToolResult};

use super::blocking::Stop;
use super::page::{self, NotRead, PAGE_CAP_BYTES};
use super::place::{NotCommitted, Place, There};
use super::told::{self, Verb, failed};
use super::workspace::{Missing, Workspace};
use crate::diff::Diff;
use crate::text::{counted, size};

/// The largest text that is written at once.
pub const TEXT_CAP_BYTES: usize = 1024 * 1024;
/// The largest file that is edited.
pub const FILE_CAP_BYTES: u64 = 16 * 1024 * 1024;

/// A text that is to be at a place.
pub(super) struct Change<'a> {
    pub(super) verb: Verb,
    /// The path as it is told.
    pub(super) path: &'a str,
    pub(super) place: &'a Place,
    /// What is there.
    pub(super) there: Option<&'a There>,
    /// The content of that.
    pub(super) before: Option<Content>,
    pub(super) text: &'a str,
    /// The key of the call's effect.
    pub(super) key: &'a str,
}

impl Change<'_> {
    /// Makes the change. When all is ready and nothing has happened yet, it is recorded; what
    /// cannot be recorded is not made. The caller holds the workspace's lock, so that a call nobody
    /// waits for any more has made its change before the lock is free, or never will.
    pub(super) fn make(
        &self,
        stop: &Stop,
        record: impl FnOnce(FileChange) -> Result<(), NotRecorded>,
    ) -> Result<(), ToolOutcome> {
        let Self { path, place, .. } = self;
        let not = |message| failed(self.verb, path, message);
        let done = self.verb.done;
        let prepared =
            place.prepare(self.text.as_bytes(), self.there, self.key).map_err(|error| {
                not(match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        format!("{path} may not be {done}: its folder may not be changed")
                    }
                    _ => format!("{path} could not be {done}: {error}"),
                })
            })?;
        let change = FileChange {
            path: (*path).into(),
            before: self.before.clone(),
            after: Some(Digest::of(self.text.as_bytes())),
        };
        record(change).map_err(|error| not(format!("{path} was not {done}: {error}")))?;
        if !place.is_still(self.there) {
            let message = "somebody else changed it meanwhile; read it again";
            return Err(not(format!("{path} was not {done}: {message}")));
        }
        if stop.is_given() {
            return Err(not(format!("{path} was not {done}: the call was stopped before")));
        }
        prepared.commit().map_err(|reason| match reason {
            NotCommitted::Unchanged(error) => not(format!("{path} could not be {done}: {error}")),
            NotCommitted::Unsafe(error) => {
                let message =
                    format!("{path} was {done}, but may not be safe on the disk: {error}");
                let result = ToolResult::text(&*message);
                ToolOutcome::NoAnswer(ToolResult { error: Some(message), ..result })
            }
        })
    }
}

/// What became of a change that gave no answer, by what the call recorded before it and by what the
/// file contains now; none if there is no way to know. The caller holds the workspace's lock.
pub(super) fn became(
    workspace: &Workspace,
    verb: Verb,
    path: &str,
    key: &str,
    log: &FileLog,
) -> Option<ToolOutcome> {
    let shown = &*told::path(path);
    let done = verb.done;
    let place = workspace.place(path, Missing::Told).ok();
    // A temporary file that is left behind is in nobody's way.
    drop(place.as_ref().map(|place| place.remove_temporary(key)));
    let not_made = || failed(verb, shown, format!("{shown} was not {done}: it was not applied"));
    // A change is recorded before it is made: without a record it was not, and the process that
    // wanted to make it cannot record it any more.
    let Some(FileChanged { before, after, .. }) = log.recorded.last() else {
        return Some(not_made());
    };
    let there = place.map_or(Ok(None), |place| place.there()).ok()?;
    let now = there.map(|there| there.digest()).transpose().ok()?;
    if now == *after {
        let sentence = format!("{done} {shown}: it was applied before the answer was lost");
        return Some(told::success(sentence.clone(), sentence));
    }
    match log.predecessor {
        Predecessor::Gone if now == *before => Some(not_made()),
        Predecessor::Gone | Predecessor::MayLive => None,
    }
}

/// Bytes as text, or what they are instead.
pub(super) fn as_text(bytes: Vec<u8>) -> Result<String, String> {
    let length = size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    match page::text_start(&bytes) {
        Err(NotRead::Utf16) => return Err(format!("UTF-16 text ({length})")),
        Err(_) => return Err(format!("{length} of binary data")),
        Ok(_) => {}
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let lines = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        format!("no UTF-8 text ({length}; the first byte that is none is in line {})", lines + 1)
    })
}

/// A change of a text at three levels: what was done with the diff, the diff, one line.
pub(super) fn told_change(path: &str, sentence: &str, before: &str, after: &str) -> ToolOutcome {
    let diff = Diff::of(before, after);
    let shown = |cap| format!("--- {path}\n+++ {path}\n{}", diff.text(cap));
    let gist = format!(
        "{sentence}: {} added, {} removed",
        counted(diff.added(), "line"),
        counted(diff.removed(), "line")
    );
    told::success_at(format!("{gist}\n{}", shown(PAGE_CAP_BYTES)), shown(RECENT_CAP_BYTES), gist)
}
