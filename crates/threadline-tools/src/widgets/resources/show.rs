//! How shared resources are shown: on the live screen, page by page, and as what a call changed.

use std::fmt::Write as _;

use threadline_core::history::sections::{Section, Shorter};
use threadline_core::id::AgentId;
use threadline_core::widget::View;

use super::change::Recorded;
use super::edit::find;
use super::{ALL_CAP_BYTES, LIST, Resource, Resources};
use crate::text::{counted, plain, size};
use crate::widgets::answer::{Done, Unfit};
use crate::widgets::lines;

/// How many lines and bytes a text has.
pub(super) fn told_size(text: &str) -> String {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    format!("{}, {}", counted(text.lines().count(), "line"), size(bytes))
}

/// Their part of the live screen: a line for each, without its text.
pub(super) fn fragment(resources: &Resources, view: &View<'_>) -> String {
    let listed = resources.by_key.iter().map(|(key, resource)| {
        let known = view.agents.iter().find(|agent| agent.id == resource.by);
        let name =
            known.map_or_else(|| format!("agent {}", resource.by), |known| plain(known.name));
        told(key, resource, &name)
    });
    let listed = listed.collect::<Vec<_>>();
    lines::fitted("## Shared resources\n", &listed, view.cap_bytes, LIST)
}

/// All of them, without their texts, for an agent: as much as a page has.
pub(super) fn list(resources: &Resources, reader: AgentId, line: usize) -> Result<Section, Unfit> {
    if resources.by_key.is_empty() {
        return Ok(Section::text("nothing is shared; resource_put puts a text under a key"));
    }
    let mut text = summary(resources);
    for (key, resource) in &resources.by_key {
        let from = if resource.by == reader { "you" } else { "another agent" };
        let _ = write!(text, "\n{}", told(key, resource, from));
    }
    let page = lines::page(&text, line, 1)?;
    let gist = format!("listed {}", counted(resources.by_key.len(), "shared resource"));
    Ok(section(page.text, gist))
}

fn section(text: String, gist: String) -> Section {
    let (text, gist) = (text.into(), Shorter::Own(gist.into()));
    Section { title: None, text, recent: Shorter::Same, gist }.derived()
}

fn told(key: &str, resource: &Resource, from: &str) -> String {
    let words = resource.description.as_deref();
    let words = words.map_or_else(String::new, |words| format!(": {words}"));
    format!("- {key} ({}, from {from}){words}", told_size(&resource.text))
}

fn summary(resources: &Resources) -> String {
    let count = counted(resources.by_key.len(), "shared resource");
    format!("{count}, {} of {ALL_CAP_BYTES} bytes", resources.bytes())
}

/// The text under a key from a line on, as much as a page has.
pub(super) fn page(
    resources: &Resources,
    key: &str,
    line: usize,
    byte: usize,
) -> Result<Section, Unfit> {
    let page = lines::page(&find(resources, key)?.text, line, byte)?;
    Ok(section(page.text, format!("read {key}: {}", page.told)))
}

/// What a call changed: a sentence and a diff, a diff, a line.
pub(super) fn result(done: &Done<Recorded>, after: &Resources) -> Section {
    let live = format!("{}; {}\n{}", done.told, summary(after), done.diff);
    Section::levels(live, &*done.diff, &*done.gist)
}
