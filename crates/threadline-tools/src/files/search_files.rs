//! The tool `search_files`: where a text is in the files of the workspace.

mod matcher;
mod names;

use std::fmt::Write as _;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::tool::{Progress, ProgressReport, Tool, ToolContext, ToolOutcome, ToolSpec};

use super::blocking::{self, Stop};
use super::in_workspace;
use super::page::{self, PAGE_CAP_BYTES};
use super::told::{self, SEARCH, failed, success};
use super::walk::{DEPTH_CAP, Found, Inside, Kind, NAMES_CAP, Walk};
use super::workspace::{NotOpened, Opened, Workspace};
use crate::text::{counted, one_line, shortened, size};
use crate::typed;
use matcher::{Hit, Matcher};
use names::Names;

/// The largest file that is searched: it is read whole.
const FILE_CAP_BYTES: u64 = 4 * 1024 * 1024;
/// How much is searched in all.
const TOTAL_CAP_BYTES: u64 = 1024 * 1024 * 1024;
/// How many matches come at once.
const MATCHES_CAP: usize = 200;
/// How much of a line is shown.
const LINE_BYTES: usize = 300;
/// How much of what is searched for stands in a gist.
const GIST_BYTES: usize = 60;
/// After how many files it is told how far a search is.
const FILES_BETWEEN_REPORTS: usize = 200;

/// Searches files of a workspace: the tool `search_files`. It runs under tokio.
#[derive(Clone, Debug)]
pub struct SearchFiles {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl SearchFiles {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            spec: typed::run::<Arguments>("search_files", in_workspace(Effect::Read)),
            workspace,
        }
    }
}

/// Searches the text files of the workspace, or of a folder in it, and shows each line that has the
/// text, as path:line: text. At most 200 lines or 12 KB come at once; the end says how to go on, and
/// what was not searched: links, binary files, files above 4 MB and what is in .git.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// what to search for; as it is, unless regex is true
    #[schemars(length(min = 1, max = matcher::TEXT_CAP_BYTES))]
    text: String,
    /// the folder or file to search, relative to the workspace; all of it unless given
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// which files to search, such as *.rs or src/**/*.{ts,tsx}; all unless given
    #[schemars(length(min = 1))]
    names: Option<String>,
    /// whether the text is a regular expression, which is matched line by line
    regex: Option<bool>,
    /// whether upper and lower case are alike
    ignore_case: Option<bool>,
    /// the match to start at, counted from 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
}

#[async_trait]
impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let (workspace, progress) = (Arc::clone(&self.workspace), Arc::clone(&context.progress));
        blocking::call(arguments, context, move |arguments, stop| {
            outcome(&workspace, &arguments, &*progress, stop).unwrap_or_else(|outcome| outcome)
        })
        .await
    }
}

fn outcome(
    workspace: &Workspace,
    arguments: &Arguments,
    progress: &dyn Progress,
    stop: &Stop,
) -> Result<ToolOutcome, ToolOutcome> {
    let path = arguments.path.as_deref().unwrap_or(".");
    let told = told::path(path);
    let unfit = |message| failed(SEARCH, &told, message);
    let (regex, ignore_case) = (arguments.regex == Some(true), arguments.ignore_case == Some(true));
    let matcher = Matcher::new(&arguments.text, regex, ignore_case).map_err(unfit)?;
    let names = arguments.names.as_deref().map(Names::new).transpose().map_err(unfit)?;
    let first = usize::try_from(arguments.offset.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
    let mut search = Search { matcher, first, ..Search::default() };
    let mut cut = false;
    match workspace.folder(path).and_then(|folder| Walk::new(folder, path, DEPTH_CAP)) {
        Ok(mut walk) => {
            while let Some(found) = walk.next() {
                if stop.is_given() {
                    return Err(told::stopped(format!("searching {told} was stopped")));
                }
                if search.found(&found, names.as_ref(), progress).is_break() {
                    break;
                }
            }
            cut = walk.cut;
        }
        // It may be a file.
        Err(reason) => match workspace.file(path) {
            Ok(opened) => drop(search.file(&told, Ok(opened))),
            Err(NotOpened::Folder) => {
                return Err(told::not_opened(workspace, SEARCH, path, &reason));
            }
            Err(reason) => return Err(told::not_opened(workspace, SEARCH, path, &reason)),
        },
    }
    Ok(search.told(&arguments.text, &told, cut))
}

/// A search and what it has found.
#[derive(Default)]
struct Search {
    matcher: Matcher,
    /// The first match that is asked for.
    first: usize,
    text: String,
    /// How many matches have come up.
    matches: usize,
    /// How many of them are in the text.
    shown: usize,
    /// How many files have any.
    files: usize,
    searched: usize,
    bytes: u64,
    skipped: Skipped,
    end: End,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    All,
    /// There are more matches than come at once.
    Full,
    /// There is more to search than is searched at once.
    TooMuch,
}

/// What was not searched.
#[derive(Default)]
struct Skipped {
    binary: usize,
    large: usize,
    unreadable: usize,
    links: usize,
    folders: usize,
}

impl Search {
    fn found(
        &mut self,
        found: &Found<'_>,
        names: Option<&Names>,
        progress: &dyn Progress,
    ) -> ControlFlow<()> {
        match found.kind {
            Kind::File => {}
            Kind::Link => {
                self.skipped.links += 1;
                return ControlFlow::Continue(());
            }
            Kind::Folder(Inside::Closed | Inside::Deeper) => {
                self.skipped.folders += 1;
                return ControlFlow::Continue(());
            }
            Kind::Folder(Inside::Next | Inside::Git) | Kind::Other(_) => {
                return ControlFlow::Continue(());
            }
        }
        if names.is_some_and(|names| !names.fit(&found.path)) {
            return ControlFlow::Continue(());
        }
        let flow = self.file(&found.path, found.open());
        if self.searched.is_multiple_of(FILES_BETWEEN_REPORTS) && self.searched > 0 {
            let files = counted(self.searched, "file");
            progress.report(ProgressReport {
                text: format!("searched {files}, {} found", self.matches).into(),
                done: u64::try_from(self.searched).ok(),
                of: None,
            });
        }
        flow
    }

    fn file(&mut self, path: &str, opened: Result<Opened, NotOpened>) -> ControlFlow<()> {
        let bytes = match opened {
            Ok(Opened { bytes, .. }) if bytes > FILE_CAP_BYTES => {
                self.skipped.large += 1;
                return ControlFlow::Continue(());
            }
            Ok(Opened { file, bytes }) => {
                let mut held = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
                file.take(FILE_CAP_BYTES).read_to_end(&mut held).ok().map(|_| held)
            }
            Err(_) => None,
        };
        let Some(bytes) = bytes else {
            self.skipped.unreadable += 1;
            return ControlFlow::Continue(());
        };
        let Ok(text) = page::text_start(&bytes) else {
            self.skipped.binary += 1;
            return ControlFlow::Continue(());
        };
        self.searched += 1;
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.lines(path, text)?;
        if self.bytes > TOTAL_CAP_BYTES {
            self.end = End::TooMuch;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn lines(&mut self, path: &str, text: &[u8]) -> ControlFlow<()> {
        // It is taken out to be asked while what it finds is kept.
        let matcher = std::mem::take(&mut self.matcher);
        let before = self.matches;
        let flow = matcher.each(text, &mut |hit| self.keep(path, hit));
        self.matcher = matcher;
        self.files += usize::from(self.matches > before);
        flow
    }

    fn keep(&mut self, path: &str, hit: Hit<'_>) -> ControlFlow<()> {
        if self.matches + 1 < self.first {
            self.matches += 1;
            return ControlFlow::Continue(());
        }
        let line = format!("{path}:{}: {}\n", hit.line, excerpt(&hit));
        let full = self.text.len() + line.len() > PAGE_CAP_BYTES;
        if self.shown >= MATCHES_CAP || (self.shown > 0 && full) {
            self.end = End::Full;
            return ControlFlow::Break(());
        }
        self.matches += 1;
        self.shown += 1;
        self.text.push_str(&line);
        ControlFlow::Continue(())
    }

    fn told(mut self, wanted: &str, path: &str, cut: bool) -> ToolOutcome {
        let wanted = shortened(&one_line(wanted), GIST_BYTES).into_owned();
        let at = if path == "." { String::new() } else { format!(" in {path}") };
        let searched =
            format!("{} searched{}", counted(self.searched, "file"), self.skipped.told());
        let (matches, last) =
            (self.matches, self.first.saturating_add(self.shown).saturating_sub(1));
        let found = match (matches, self.end) {
            (0, _) => format!("nothing found for {wanted:?}{at}"),
            _ if self.shown == 0 => {
                let message = format!("there is no match {}: there are {matches}", self.first);
                return failed(SEARCH, path, format!("{message}; {searched}"));
            }
            (_, End::Full) => format!(
                "matches {} to {last}, and there are more: go on with offset {}",
                self.first,
                last + 1
            ),
            _ if self.first > 1 => format!("matches {} to {last}: the end", self.first),
            (1, _) => "1 match".to_owned(),
            _ => format!("{matches} matches in {}", counted(self.files, "file")),
        };
        let _ = write!(self.text, "[{found}; {searched}]");
        if self.end == End::TooMuch || cut {
            let (names, bytes) = (NAMES_CAP, size(TOTAL_CAP_BYTES));
            let _ = write!(
                self.text,
                "\n[not all was searched: at most {names} names and {bytes} are; give a folder or \
                 names]"
            );
        }
        let gist = match self.end {
            End::Full => format!("searched for {wanted:?}{at}: matches {} to {last}", self.first),
            End::All | End::TooMuch => format!("searched for {wanted:?}{at}: {matches} found"),
        };
        success(self.text, gist)
    }
}

impl Skipped {
    fn told(&self) -> String {
        let large = size(FILE_CAP_BYTES);
        let kinds = [
            (self.binary, "binary".to_owned()),
            (self.large, format!("above {large}")),
            (self.unreadable, "that may not be read".to_owned()),
        ];
        let files = kinds.iter().filter(|(count, _)| *count > 0);
        let mut told = files.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>();
        let others = [(self.links, "link"), (self.folders, "closed folder")];
        let others = others.iter().filter(|(count, _)| *count > 0);
        told.extend(others.map(|(count, what)| counted(*count, what)));
        if told.is_empty() { String::new() } else { format!("; not searched: {}", told.join(", ")) }
    }
}

/// A line as it is shown: what is around the match if it is long.
fn excerpt(hit: &Hit<'_>) -> String {
    let from = if hit.text.len() > LINE_BYTES { hit.at.saturating_sub(LINE_BYTES / 3) } else { 0 };
    let rest = hit.text.get(from..).unwrap_or_default();
    let part = rest.get(..rest.len().min(LINE_BYTES)).unwrap_or_default();
    let head = if from > 0 { "…" } else { "" };
    let tail = if part.len() < rest.len() { "…" } else { "" };
    let text = String::from_utf8_lossy(part);
    // At a cut a character may be in two; its rest is no character.
    let text = if head.is_empty() { &*text } else { text.trim_start_matches('\u{FFFD}') };
    let text = if tail.is_empty() { text } else { text.trim_end_matches('\u{FFFD}') };
    let text = text.trim_end().replace(|c: char| c.is_control() && c != '\t', "\u{FFFD}");
    format!("{head}{text}{tail}")
}

#[cfg(test)]
mod tests;
