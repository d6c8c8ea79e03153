//! Facts in words, for people.

use std::path::Path;

use serde_json::Value;
use threadline_core::drive::Stopped;
use threadline_core::history::fact::{EndReason, Limit, PolicySet, Status, ToolFinished, Verdict};
use threadline_core::history::one_line;
use threadline_core::history::sections::{self, Level};
use threadline_core::id::ConversationId;
use threadline_core::policy::line_of;
use threadline_runtime::{DriveError, Settled};

/// How much of a call or a result stands on a line, in characters.
const LINE_CAP: usize = 200;

/// Why a turn ended.
pub(crate) fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Cancelled => "cancelled",
        EndReason::Limit(Limit::Steps) => "too many steps",
        EndReason::Limit(Limit::Calls) => "too many calls",
        EndReason::Limit(Limit::SameCall) => "the same call again and again",
        EndReason::Limit(Limit::Tokens) => "too many tokens",
        EndReason::Limit(Limit::Money) => "too much money",
        EndReason::Limit(Limit::Depth) => "too many agents calling agents",
        EndReason::Failed => "no model answered",
        EndReason::DoesNotFit => "does not fit the window",
        EndReason::Withdrawn => "withdrawn",
    }
}

/// A turn's end in a sentence.
pub(crate) fn ended(reason: EndReason, detail: &str) -> String {
    let reason = end_reason(reason);
    match detail.trim() {
        "" => reason.to_owned(),
        detail => format!("{reason}: {}", one_line(detail, LINE_CAP)),
    }
}

/// Where a conversation can be driven that cannot be driven in this folder; none if something else
/// is wrong.
pub(crate) fn other_workspace(id: ConversationId, stopped: &Stopped) -> Option<String> {
    match stopped {
        Stopped::OtherWorkspace { path } if Path::new(&**path).is_dir() => Some(format!(
            "This conversation works in {path}. Run it there, or bind it to this folder: threadline workspace {id} --set ."
        )),
        Stopped::OtherWorkspace { path } => Some(format!(
            "This conversation works in {path}, which does not exist here. Bind it to a folder: threadline workspace {id} --set PATH"
        )),
        Stopped::NoWorkspace => Some(format!(
            "This conversation has no folder to work in yet. Resume it where it belongs: threadline resume {id}"
        )),
        Stopped::LeaseLost | Stopped::NotUnderstood(_) | Stopped::Store(_) => None,
    }
}

/// The same for a conversation that was to be driven in the background.
pub(crate) fn settled_elsewhere(id: ConversationId, settled: &Settled) -> Option<String> {
    let Settled::Failed(error) = settled else { return None };
    let DriveError::Stopped(stopped) = &**error else { return None };
    other_workspace(id, stopped)
}

/// A rule that was set, in a sentence.
pub(crate) fn policy(policy: &PolicySet) -> String {
    let about = line_of(policy);
    match policy.verdict {
        Verdict::Allow => format!("{about} is allowed in this conversation from now on"),
        Verdict::Ask => format!("{about} is asked about in this conversation from now on"),
        Verdict::Deny => format!("{about} is denied in this conversation from now on"),
    }
}

/// The arguments of a call, as short as they can be told.
pub(crate) fn arguments(raw: &str) -> String {
    let Ok(Value::Object(object)) = serde_json::from_str(raw) else {
        return one_line(raw, LINE_CAP);
    };
    let told = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let text = match object.values().next() {
        None => String::new(),
        Some(only) if object.len() == 1 => told(only),
        Some(_) => {
            let pairs = object.iter().map(|(key, value)| format!("{key}: {}", told(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    };
    one_line(&text, LINE_CAP)
}

/// What came of a call: a mark, and what it said in a line.
pub(crate) fn finished(finished: &ToolFinished) -> (&'static str, String) {
    let gist = sections::render(&finished.result, Level::Gist);
    let said = match (&finished.error, gist.trim()) {
        (Some(error), "") => one_line(error, LINE_CAP),
        (_, gist) => one_line(gist, LINE_CAP),
    };
    let name = &finished.name;
    match finished.status {
        Status::Success if said.is_empty() => ("✓", format!("{name} is done")),
        Status::Success => ("✓", said),
        Status::Failed => ("✗", format!("{name} failed: {said}")),
        Status::Skipped => ("–", format!("{name}: {said}")),
        Status::Unknown => ("?", format!("{name}: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_shortly() {
        assert_eq!(arguments(r#"{"expression":"2 + 3"}"#), "2 + 3");
        assert_eq!(arguments(r#"{"path":"a.txt","limit":3}"#), "limit: 3, path: a.txt");
        assert_eq!(arguments("{}"), "");
        assert_eq!(arguments("{\"cut"), "{\"cut");
    }
}
