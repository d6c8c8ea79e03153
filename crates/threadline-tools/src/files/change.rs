//! A change of a file, and how it is told: what writing and editing have in common.

use std::io;

use threadline_core::history::sections::RECENT_CAP_BYTES;
use threadline_core::tool::{ToolOutcome, ToolResult};

use super::blocking::Stop;
use super::page::{self, NotRead, PAGE_CAP_BYTES};
use super::place::{NotCommitted, Place, There};
use super::told::{self, Verb, failed};
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
    pub(super) text: &'a str,
    /// The key of the call's effect.
    pub(super) key: &'a str,
}

impl Change<'_> {
    /// Makes the change. When all is ready and nothing has happened yet, `note` is called; without
    /// it the change is not made. Whoever calls this holds the workspace's lock: then a call that
    /// nobody waits for any more has made its change before the lock is free, or never will.
    pub(super) fn make(
        &self,
        stop: &Stop,
        note: impl FnOnce() -> io::Result<()>,
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
        note().map_err(|error| {
            not(format!("{path} was not {done}: its journal could not be written: {error}"))
        })?;
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
