//! What is told when something went wrong: what happened, and what can be done.

use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

use threadline_core::sanitise;
use threadline_core::store::StoreError;

use crate::view;

/// The exit code of a wrong command line.
const USAGE: u8 = 2;

/// Tells of an error. A reader that stopped reading our output is none of ours.
pub(crate) fn failure(error: &anyhow::Error, json: bool) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let mut message = chain(error);
    if let Some(hint) = hint(error) {
        message.push_str("; ");
        message.push_str(hint);
    }
    view::error(&message, json);
    ExitCode::FAILURE
}

/// Tells what is wrong with the command line, or prints the help or version that it asks for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Who does not read the help to its end has read enough.
        drop(error.print());
        return ExitCode::SUCCESS;
    }
    let given = || std::env::args_os().skip(1);
    let text = error.render().to_string();
    if given().take_while(|argument| argument != "--").any(|argument| argument == "--json") {
        view::error(&first_part(&text), true);
    } else if given().all(|argument| is_inert(&argument)) {
        drop(error.print());
    } else {
        // It repeats what was given, which would do something to the terminal.
        view::remark(text.trim_end());
    }
    ExitCode::from(USAGE)
}

/// Tells what is missing on the command line.
pub(crate) fn wrong_usage(message: &str, json: bool) -> ExitCode {
    view::error(message, json);
    ExitCode::from(USAGE)
}

/// What is wrong, in one line, without the usage that follows.
fn first_part(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.find(mark));
    let part = text.get(..end.min().unwrap_or(text.len())).unwrap_or(text);
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_inert(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| sanitise::text(text) == text)
}

/// An error and its causes, without those that only repeat what was said.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

/// What can be done about it, where the error does not say.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let store = error.chain().find_map(|cause| cause.downcast_ref::<StoreError>())?;
    match store {
        StoreError::NotFound(_) => Some("`threadline list --all` shows what there is"),
        StoreError::Held { .. } => Some("try again when it is free"),
        StoreError::OnHold { .. } => Some("to run it: threadline resume ID"),
        StoreError::NoEntry { .. }
        | StoreError::Exists(_)
        | StoreError::Fenced(_)
        | StoreError::Conflict { .. }
        | StoreError::KeyConflict { .. }
        | StoreError::ItemGone { .. }
        | StoreError::NewerItem { .. }
        | StoreError::NoItem { .. }
        | StoreError::NotWaiting { .. }
        | StoreError::Shared { .. }
        | StoreError::MovedAway(_)
        | StoreError::NoAttachment(_)
        | StoreError::TooLarge { .. }
        | StoreError::Invalid(_)
        | StoreError::Busy
        | StoreError::Full
        | StoreError::ReadOnly(_)
        | StoreError::Damaged(_)
        | StoreError::DamagedConversation { .. }
        | StoreError::Newer { .. }
        | StoreError::AnswerLost(_)
        | StoreError::Poisoned(_)
        | StoreError::Unavailable { .. } => None,
    }
}

/// Whether whoever read our output has stopped reading: that is no failure of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_repeat_are_told_once() {
        let error = anyhow::anyhow!("no room").context("could not write: no room");
        assert_eq!(chain(&error.context("a")), "a: could not write: no room");
    }

    #[test]
    fn a_wrong_command_line_is_told_in_one_line() {
        let text =
            "error: unexpected argument '--x' found\n\n  tip: try '--y'\n\nUsage: threadline\n";
        assert_eq!(first_part(text), "unexpected argument '--x' found tip: try '--y'");
    }
}
