//! How items end: what was never sent in pieces, and what goes back.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

use super::grown::Grown;
use crate::dialect::blocks::Blocks;
use crate::dialect::openai_responses::wire;
use crate::failed::Failed;

/// The parts of a message or of reasoning; some servers write a text instead.
pub(super) fn parts(raw: Option<&RawValue>) -> Result<Vec<wire::Part<'_>>, Failed> {
    if raw.is_some_and(|raw| raw.get().starts_with('"')) {
        let text = wire::read_part("content", raw)?.unwrap_or_default();
        return Ok(vec![wire::Part { text, refusal: wire::Word::default() }]);
    }
    Ok(wire::read_part("content", raw)?.unwrap_or_default())
}

/// The words of the parts that have any.
pub(super) fn said<'a, 'b>(
    parts: &'a [wire::Part<'b>],
    of: impl Fn(&'a wire::Part<'b>) -> &'a wire::Word<'b>,
) -> Vec<&'a str> {
    parts.iter().filter_map(|part| of(part).some()).collect()
}

/// A call's arguments as a text, whichever way they were written.
pub(super) fn arguments<'a>(item: &wire::Item<'a>) -> Result<Option<Cow<'a, str>>, Failed> {
    match item.arguments.filter(|raw| raw.get().starts_with('{')) {
        Some(object) => Ok(Some(Cow::Borrowed(object.get()))),
        None => {
            let text = wire::read_part::<wire::Word<'_>>("arguments", item.arguments)?;
            Ok(text.and_then(|text| text.0))
        }
    }
}

pub(super) fn refuse(blocks: &mut Blocks, out: &mut Vec<Delta>) -> Grown {
    let kind = BlockKind::Foreign { kind: "refusal".into() };
    Grown::new(blocks.begin(kind, out), "")
}

pub(super) fn end(block: BlockIndex, whole: bool, blocks: &mut Blocks, out: &mut Vec<Delta>) {
    if whole {
        blocks.end(block, out);
    } else {
        blocks.cut(block);
    }
}

pub(super) fn end_thinking(
    thought: &mut Grown,
    item: &wire::Item<'_>,
    whole: bool,
    blocks: &mut Blocks,
    out: &mut Vec<Delta>,
) -> Result<(), Failed> {
    let (summary, content) = (parts(item.summary)?, parts(item.content)?);
    let mut words = said(&summary, |part| &part.text);
    words.extend(said(&content, |part| &part.text));
    thought.whole(&words, blocks, out);
    if let Some(state) = thinking_state(item, !content.is_empty()) {
        blocks.state(thought.block, state, out);
    }
    end(thought.block, whole, blocks, out);
    Ok(())
}

/// Reasoning as it goes back: without its id, which would tie it to an item that nobody keeps.
/// None if there is nothing in it that the service could read.
fn thinking_state(item: &wire::Item<'_>, has_content: bool) -> Option<Arc<str>> {
    let encrypted = item.encrypted_content.map(RawValue::get);
    let encrypted = encrypted.filter(|raw| raw.starts_with('"') && *raw != "\"\"");
    let content = item.content.filter(|_| has_content).map(RawValue::get);
    if encrypted.is_none() && content.is_none() {
        return None;
    }
    let summary = item.summary.map(RawValue::get).filter(|raw| raw.starts_with('['));
    let mut state = format!(r#"{{"type":"reasoning","summary":{}"#, summary.unwrap_or("[]"));
    for (name, value) in [("content", content), ("encrypted_content", encrypted)] {
        if let Some(value) = value {
            state.extend([",\"", name, "\":", value]);
        }
    }
    state.push('}');
    Some(state.into())
}

pub(super) fn end_message(
    text: &mut Grown,
    item: &wire::Item<'_>,
    parts: &[wire::Part<'_>],
    whole: bool,
    blocks: &mut Blocks,
    out: &mut Vec<Delta>,
) {
    text.whole(&said(parts, |part| &part.text), blocks, out);
    let phase = item.phase.map(RawValue::get).filter(|raw| raw.starts_with('"'));
    if let Some(phase) = phase.filter(|_| !text.text().is_empty()) {
        blocks.state(text.block, format!(r#"{{"phase":{phase}}}"#).into(), out);
    }
    end(text.block, whole, blocks, out);
}

pub(super) fn end_refusal(refusal: &Grown, blocks: &mut Blocks, out: &mut Vec<Delta>) {
    let words = serde_json::Value::from(refusal.text());
    let state = format!(r#"{{"type":"refusal","refusal":{words}}}"#);
    blocks.state(refusal.block, state.into(), out);
    blocks.end(refusal.block, out);
}
