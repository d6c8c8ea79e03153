//! What the tools for files have in common to say.

use threadline_core::history::sections::{Section, Shorter};
use threadline_core::tool::{ToolOutcome, ToolResult};

use super::workspace::{NotOpened, Workspace};
use crate::text::{nearest, plain, shortened};

/// How many names of a folder are told.
const NAMES_TOLD: usize = 20;
/// How much of a path or a name is told.
const NAME_TOLD_BYTES: usize = 200;

/// What is done with a path, as a sentence needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verb {
    /// As in "could not read".
    pub(super) to: &'static str,
    /// As in "may not be read".
    pub(super) done: &'static str,
}

pub(super) const READ: Verb = Verb { to: "read", done: "read" };
pub(super) const LIST: Verb = Verb { to: "list", done: "listed" };
pub(super) const SEARCH: Verb = Verb { to: "search", done: "searched" };
pub(super) const WRITE: Verb = Verb { to: "write", done: "written" };
pub(super) const EDIT: Verb = Verb { to: "edit", done: "edited" };

/// A path as it is told: in one line, and not too long.
pub(super) fn path(path: &str) -> String {
    shortened(&plain(path), NAME_TOLD_BYTES).into_owned()
}

/// A success whose middle level is derived.
pub(super) fn success(text: impl Into<String>, gist: impl Into<String>) -> ToolOutcome {
    let (text, gist) = (text.into(), Shorter::Own(gist.into().into()));
    let section = Section { title: None, text: text.into(), recent: Shorter::Same, gist };
    ToolOutcome::Success(ToolResult { sections: vec![section.derived()], ..ToolResult::default() })
}

/// A success at three levels.
pub(super) fn success_at(live: String, recent: String, gist: String) -> ToolOutcome {
    let section = Section::levels(live, recent, gist);
    ToolOutcome::Success(ToolResult { sections: vec![section], ..ToolResult::default() })
}

/// A failure: nothing was done, and why.
pub(super) fn failed(verb: Verb, path: &str, message: String) -> ToolOutcome {
    let gist = Shorter::Own(format!("could not {} {path}", verb.to).into());
    let section =
        Section { title: None, text: (&*message).into(), recent: Shorter::Same, gist }.derived();
    ToolOutcome::Failed(ToolResult {
        sections: vec![section],
        error: Some(message),
        ..ToolResult::default()
    })
}

/// A call that was stopped half way.
pub(super) fn stopped(message: String) -> ToolOutcome {
    ToolOutcome::NoAnswer(ToolResult::text(message))
}

/// The failure to open a path: why, and what to take instead.
pub(super) fn not_opened(
    workspace: &Workspace,
    verb: Verb,
    path: &str,
    reason: &NotOpened,
) -> ToolOutcome {
    let told = self::path(path);
    failed(verb, &told, why_not_opened(workspace, verb, path, &told, reason))
}

fn why_not_opened(
    workspace: &Workspace,
    verb: Verb,
    path: &str,
    told: &str,
    reason: &NotOpened,
) -> String {
    let done = verb.done;
    match reason {
        NotOpened::NoPath(why) => format!("{told:?} is no path: {why}"),
        NotOpened::Outside => format!(
            "{told} leads out of the workspace; give a path relative to the workspace's folder"
        ),
        NotOpened::Denied => format!("{told} may not be {done}: permission denied"),
        NotOpened::NoFile(what) => format!("{told} is {what}, not a file that can be {done}"),
        NotOpened::Link => format!(
            "{told} is a link or leads through one, which is not followed; give the path of what \
             it leads to"
        ),
        NotOpened::NoFolder => {
            format!("{told} leads through a file as if it were a folder; give another path")
        }
        NotOpened::Failed(error) => format!("{told} could not be opened: {error}"),
        NotOpened::Folder => match workspace.names(path) {
            Ok(names) => format!("{told} is a folder; {}", holds("it", &names)),
            Err(_) => format!("{told} is the path of a folder; give that of a file"),
        },
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
