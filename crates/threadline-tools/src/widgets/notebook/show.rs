//! How the notebook is shown: on the live screen, page by page, and as what a call changed.

use std::fmt::Write as _;

use threadline_core::history::sections::{Section, Shorter};

use super::edit::Edit;
use super::{READ, TEXT_CAP_BYTES};
use crate::text::{counted, line_feeds, one_line, shortened};
use crate::widgets::answer::Unfit;
use crate::widgets::lines::{PAGE_BYTES, diff, head};

/// How much of a refusal stands in its gist.
const GIST_BYTES: usize = 90;
/// What the line on how to read on takes at most.
const NOTE_BYTES: usize = 100;
const HEADING: &str = "## Notebook\n\n";

/// The notebook's part of the live screen: all of it, or its head and how to read on.
pub(super) fn fragment(text: &str, cap_bytes: usize) -> String {
    if text.is_empty() {
        return format!("{HEADING}(empty)");
    }
    let fence = fence(text);
    let frame = HEADING.len() + 2 * fence.len() + 2;
    if frame + text.len() <= cap_bytes {
        return format!("{HEADING}{fence}\n{text}\n{fence}");
    }
    let shown = head(text, cap_bytes.saturating_sub(frame + NOTE_BYTES));
    if shown.is_empty() {
        let lines = counted(text.lines().count(), "line");
        return format!("{HEADING}({lines}, {} bytes: {READ})", text.len());
    }
    let left = text.get(shown.len()..).unwrap_or_default().trim_start_matches('\n');
    let line = text.lines().count() - left.lines().count() + 1;
    let left = counted(left.lines().count(), "more line");
    format!("{HEADING}{fence}\n{shown}\n{fence}\n[{left}: {READ} with line {line}]")
}

/// Backticks, more than the text has anywhere next to each other.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// The text from a line on, as much as a page has.
pub(super) fn page(text: &str, line: usize) -> Result<Section, Unfit> {
    let lines = text.lines().count();
    if text.is_empty() {
        return Ok(Section::text("the notebook is empty"));
    }
    let skipped = text.split_inclusive('\n').take(line.max(1) - 1).map(str::len).sum();
    let rest = text.get(skipped..).unwrap_or_default();
    if rest.is_empty() {
        let message =
            format!("there is no line {line}: the notebook has {}", counted(lines, "line"));
        return Err(Unfit::new("line_not_found", message));
    }
    let first = line.max(1);
    let shown = head(rest, PAGE_BYTES);
    let left = rest.get(shown.len()..).unwrap_or_default();
    let last = first + line_feeds(shown);
    let mut live = shown.to_owned();
    if left.starts_with('\n') {
        let _ =
            write!(live, "\n[lines {first} to {last} of {lines}: read on with line {}]", last + 1);
    } else if !left.is_empty() {
        let _ = write!(live, "\n[line {last} is cut here; break it up with notebook_replace]");
    }
    let gist = format!("read lines {first} to {last} of {lines} of the notebook");
    let gist = Shorter::Own(gist.into());
    Ok(Section { title: None, text: live.into(), recent: Shorter::Same, gist }.derived())
}

/// What a call changed: a sentence and a diff, a diff, a line.
pub(super) fn result(edit: &Edit, before: &str, after: &str) -> Section {
    let diff = diff(before, after);
    let size = match after.len() {
        0 => "the notebook is empty now".to_owned(),
        bytes => {
            let lines = counted(1 + line_feeds(after), "line");
            format!("the notebook has {lines}, {bytes} of {TEXT_CAP_BYTES} bytes")
        }
    };
    let live = format!("{}; {size}\n{diff}", edit.told);
    Section::levels(live, diff, &*edit.gist)
}

/// Why a call changed nothing.
pub(super) fn refusal(unfit: &Unfit) -> Section {
    let gist = one_line(unfit.message.lines().next().unwrap_or_default());
    // What announces a list that is left out goes with it.
    let listed = gist.strip_suffix(':').and_then(|gist| gist.rsplit_once(';'));
    let gist = listed.map_or(&*gist, |(reason, _)| reason);
    let gist = format!("notebook unchanged: {}", shortened(gist, GIST_BYTES));
    let gist = Shorter::Own(gist.into());
    Section { title: None, text: (&*unfit.message).into(), recent: Shorter::Same, gist }.derived()
}
