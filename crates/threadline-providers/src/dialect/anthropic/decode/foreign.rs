//! Blocks that only Anthropic understands: kept whole, with a line for everyone else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

use super::super::wire::{Readable, ReadableItem, Str};
use super::{read, text};
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::surrogates::replace_lone_halves;

/// The most that others read of such a block, in characters.
const READABLE_CHARS: usize = 4_000;

/// A block that only Anthropic understands, as it comes.
#[derive(Debug)]
pub(super) struct ForeignBlock {
    block: BlockIndex,
    /// The block as it started.
    whole: Box<RawValue>,
    /// The input that streamed since.
    input: String,
    /// The content that streamed since.
    content: Option<String>,
}

impl ForeignBlock {
    /// Begins it, with what it has when it starts.
    pub(super) fn begin(
        kind: &str,
        raw: &RawValue,
        blocks: &mut Blocks,
        out: &mut Vec<Delta>,
    ) -> Self {
        let kind = if kind.is_empty() { "unknown" } else { kind };
        let block = blocks.begin(BlockKind::Foreign { kind: kind.into() }, out);
        blocks.state(block, raw.get().into(), out);
        Self { block, whole: raw.to_owned(), input: String::new(), content: None }
    }

    /// Its place in the answer.
    pub(super) const fn block(&self) -> BlockIndex {
        self.block
    }

    /// Adds to its input, and tells how many bytes that are.
    pub(super) fn more_input(&mut self, more: &str) -> usize {
        self.input.push_str(more);
        more.len()
    }

    /// Adds to its content, which is a text, and tells how many bytes that are.
    pub(super) fn more_content(&mut self, more: Option<&RawValue>) -> Result<usize, Failed> {
        let Some(more) = more else { return Ok(0) };
        let more: Str<'_> = read(more.get())?;
        self.content.get_or_insert_default().push_str(&more.0);
        Ok(more.0.len())
    }

    /// Tells all of it, and what others can read of it.
    pub(super) fn settle(&self, blocks: &mut Blocks, out: &mut Vec<Delta>) {
        let whole = self.put_together();
        let whole = whole.as_deref().unwrap_or(self.whole.get());
        blocks.fragment(self.block, &readable(whole), out);
        if whole != self.whole.get() {
            blocks.state(self.block, Arc::from(whole), out);
        }
    }

    /// The block with what streamed since it started; none if nothing did, or if it was cut.
    fn put_together(&self) -> Option<String> {
        let mut fields: BTreeMap<Cow<'_, str>, Cow<'_, RawValue>> =
            serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(self.whole.get())
                .ok()?
                .into_iter()
                .map(|(key, value)| (key, Cow::Borrowed(value)))
                .collect();
        if !self.input.is_empty() {
            let input = serde_json::from_str::<&RawValue>(&self.input).ok()?;
            fields.insert("input".into(), Cow::Borrowed(input));
        }
        if let Some(content) = &self.content {
            let content = serde_json::value::to_raw_value(content).ok()?;
            fields.insert("content".into(), Cow::Owned(content));
        }
        if self.input.is_empty() && self.content.is_none() {
            return None;
        }
        serde_json::to_string(&fields).ok()
    }
}

/// What others can read of a block: what was asked of the server's tool, or what it found.
fn readable(whole: &str) -> String {
    // The block itself is kept whole; for others, half a surrogate pair is a replacement character.
    let whole = replace_lone_halves(whole);
    let Ok(block) = serde_json::from_str::<Readable<'_>>(&whole) else { return String::new() };
    let all = match (block.name, block.input, block.content) {
        (_, _, Some(content)) => content_lines(content),
        (Some(name), Some(input), None) => format!("{} {}", name.0, input.get()),
        (Some(_) | None, _, None) => String::new(),
    };
    match all.char_indices().nth(READABLE_CHARS) {
        Some((end, _)) => format!("{}…", all.get(..end).unwrap_or_default()),
        None => all,
    }
}

fn content_lines(content: &RawValue) -> String {
    let raw = content.get();
    if let Ok(text) = serde_json::from_str::<Str<'_>>(raw) {
        return text.0.into_owned();
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) {
        let lines = items.into_iter().map(|item| item_line(item.get()));
        return lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    }
    item_line(raw)
}

fn item_line(raw: &str) -> String {
    let Ok(item) = serde_json::from_str::<ReadableItem<'_>>(raw) else { return String::new() };
    let parts = [&item.title, &item.url, &item.text, &item.stdout, &item.error_code];
    let parts = parts.into_iter().map(|part| text(part.as_ref()));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
