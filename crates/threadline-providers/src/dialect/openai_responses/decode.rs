//! Events of `OpenAI`'s Responses become deltas.
//!
//! Items are known by their place in the output, which may have gaps; where a server does not
//! tell the place, by their id. What an item is in the end, its last event tells: that is where
//! states come from, and text that was never sent in pieces.

mod ends;
mod grown;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;

use serde_json::value::RawValue;
use threadline_core::history::fact::Stop;
use threadline_core::provider::{BlockIndex, BlockKind, Delta};

use self::ends::{arguments, end, end_message, end_refusal, end_thinking, parts, refuse, said};
use self::grown::{Grown, Part};
use self::told::{metadata, usage};
use super::wire;
use crate::dialect::Decode;
use crate::dialect::blocks::Blocks;
use crate::failed::Failed;
use crate::names::Names;

/// The most items that one response may have: what is kept of them has no other limit.
const ITEMS_CAP: usize = 4096;

/// The longest id that an item is found by.
const ID_CAP_BYTES: usize = 1024;

/// Reads the events of one response.
#[derive(Debug)]
pub(crate) struct ResponsesDecode {
    names: Names,
    blocks: Blocks,
    items: Vec<Item>,
    /// Whether the model declined.
    refused: bool,
    /// Whether the answer came to its end, or to an error: what follows says nothing new.
    over: bool,
}

/// An item that has begun.
#[derive(Debug)]
struct Item {
    /// Its place in the output, if it was told.
    index: Option<u64>,
    /// What it goes by if not: its id, or a call's.
    id: Option<Box<str>>,
    /// Whether its last event came.
    done: bool,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Thinking(Grown),
    Message {
        text: Grown,
        refusal: Option<Grown>,
    },
    /// Without a block until the tool's name is known.
    Call(Option<BlockIndex>),
    Foreign(BlockIndex),
}

/// What a piece of text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Text,
    Refusal,
    Summary,
    Reasoning,
}

impl Decode for ResponsesDecode {
    fn event(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let data = data.trim();
        // The mark of the end proves nothing: only a response's own last event does.
        if self.over || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event: wire::Event<'_> = serde_json::from_str(data).map_err(|error| {
            self.over = true;
            Failed::protocol(format!("an event could not be read: {error}"))
        })?;
        let mut taken = self.take(&event, data, out);
        if taken.is_ok() && self.items.len() > ITEMS_CAP {
            let words = format!("the answer has more than {ITEMS_CAP} items");
            taken = Err(Failed::protocol(words));
        }
        self.over |= taken.is_err();
        taken
    }

    fn end(&mut self, _: &mut Vec<Delta>) -> Result<(), Failed> {
        if self.over {
            return Ok(());
        }
        self.over = true;
        Err(Failed::protocol("the answer broke off before its end"))
    }
}

impl ResponsesDecode {
    /// A decoder for the answer to a request that sent tools under these names.
    pub(crate) fn new(names: Names) -> Self {
        Self { names, blocks: Blocks::default(), items: Vec::new(), refused: false, over: false }
    }

    fn take(
        &mut self,
        event: &wire::Event<'_>,
        data: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        match event.kind.get() {
            Some("response.output_text.delta") => self.piece(event, Of::Text, out),
            Some("response.output_text.done") => self.whole(event, Of::Text, out),
            Some("response.reasoning_summary_text.delta") => self.piece(event, Of::Summary, out),
            Some("response.reasoning_summary_text.done") => self.whole(event, Of::Summary, out),
            Some("response.reasoning_text.delta") => self.piece(event, Of::Reasoning, out),
            Some("response.reasoning_text.done") => self.whole(event, Of::Reasoning, out),
            Some("response.refusal.delta") => self.piece(event, Of::Refusal, out),
            Some("response.refusal.done") => self.whole(event, Of::Refusal, out),
            Some("response.function_call_arguments.delta") => self.arguments(event, out),
            Some("response.function_call_arguments.done") => {
                self.whole_arguments(event, out);
                Ok(())
            }
            Some("response.output_item.added") => self.added(event, out),
            Some("response.output_item.done") => {
                event.item.map_or(Ok(()), |raw| self.done(event.output_index.0, raw, out))
            }
            Some("response.completed") => self.completed(event, out),
            Some("response.incomplete") => self.incomplete(event, out),
            Some("response.failed") => Err(self.failed(event, out)),
            Some("error") => Err(self.error(event.error.map_or(data, RawValue::get))),
            // Not of this protocol, but what is in front of some servers says it so.
            None => event.error.map_or(Ok(()), |error| Err(self.error(error.get()))),
            Some(_) => Ok(()),
        }
    }

    /// The item that an event is about: by its place, or else by its id, or else, if it has
    /// neither, the newest that is open and fits.
    fn find(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        fits: impl Fn(&Body) -> bool,
    ) -> Option<usize> {
        let newest = |is: &dyn Fn(&Item) -> bool| self.items.iter().rposition(is);
        match (index, id) {
            (Some(_), _) => newest(&|item| item.index == index),
            (None, Some(_)) => newest(&|item| item.id.as_deref() == id),
            (None, None) => newest(&|item| !item.done && fits(&item.body)),
        }
    }

    fn added(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let item = wire::read_part::<wire::Item<'_>>("item", event.item)?;
        let Some(item) = item else { return Ok(()) };
        let index = event.output_index.0;
        let is_open = |at: usize| self.items.get(at).is_some_and(|item| !item.done);
        if !self.find(index, goes_by(&item), |_| false).is_some_and(is_open) {
            self.add(index, &item, out);
        }
        Ok(())
    }

    fn add(&mut self, index: Option<u64>, item: &wire::Item<'_>, out: &mut Vec<Delta>) -> usize {
        let body = match item.kind.get() {
            Some("reasoning") => self.begin(Of::Reasoning, out),
            Some("message") => self.begin(Of::Text, out),
            Some("function_call") => {
                let named = item.name.some().is_some();
                Body::Call(named.then(|| self.begin_call(item, out)))
            }
            kind => {
                let kind = kind.unwrap_or("unknown").into();
                Body::Foreign(self.blocks.begin(BlockKind::Foreign { kind }, out))
            }
        };
        self.push(index, goes_by(item), body)
    }

    fn push(&mut self, index: Option<u64>, id: Option<&str>, body: Body) -> usize {
        let id = id.filter(|id| index.is_none() && id.len() <= ID_CAP_BYTES).map(Box::from);
        self.items.push(Item { index, id, done: false, body });
        self.items.len() - 1
    }

    /// Begins an item that is a text.
    fn begin(&mut self, of: Of, out: &mut Vec<Delta>) -> Body {
        match of {
            Of::Summary | Of::Reasoning => {
                let block = self.blocks.begin(BlockKind::Thinking, out);
                Body::Thinking(Grown::new(block, "\n\n"))
            }
            Of::Text | Of::Refusal => {
                let block = self.blocks.begin(BlockKind::Text, out);
                Body::Message { text: Grown::new(block, ""), refusal: None }
            }
        }
    }

    fn begin_call(&mut self, item: &wire::Item<'_>, out: &mut Vec<Delta>) -> BlockIndex {
        let name = self.names.from_wire(item.name.get().unwrap_or_default());
        let provider_id = item.call_id.some().map(Arc::from);
        self.blocks.begin(BlockKind::ToolCall { name, provider_id }, out)
    }

    fn piece(
        &mut self,
        event: &wire::Event<'_>,
        of: Of,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let piece = delta_text(event)?;
        if piece.is_empty() {
            return Ok(());
        }
        if let Some((grown, blocks)) = self.grown(event, of, out) {
            grown.piece(part(event, of), piece, blocks, out);
            return Ok(());
        }
        match self.item_of(event, of) {
            // It is told whole at its end.
            Some(Item { body: Body::Foreign(_), .. }) => Ok(()),
            Some(_) | None => Err(not_open()),
        }
    }

    /// A text is told whole. One whose item has ended was told with it.
    fn whole(
        &mut self,
        event: &wire::Event<'_>,
        of: Of,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let whole = if of == Of::Refusal { &event.refusal } else { &event.text };
        let Some(whole) = whole.some() else { return Ok(()) };
        if let Some((grown, blocks)) = self.grown(event, of, out) {
            grown.whole_part(part(event, of), whole, blocks, out);
            return Ok(());
        }
        match self.item_of(event, of) {
            Some(Item { body: Body::Call(_), .. }) => Err(not_open()),
            Some(_) | None => Ok(()),
        }
    }

    fn item_of(&self, event: &wire::Event<'_>, of: Of) -> Option<&Item> {
        let (index, id) = (event.output_index.0, event.item_id.some());
        self.items.get(self.find(index, id, |body| of.is_of(body))?)
    }

    /// The text that an event is about. One whose item was never announced begins with it.
    fn grown(
        &mut self,
        event: &wire::Event<'_>,
        of: Of,
        out: &mut Vec<Delta>,
    ) -> Option<(&mut Grown, &mut Blocks)> {
        let (index, id) = (event.output_index.0, event.item_id.some());
        let at = self.find(index, id, |body| of.is_of(body)).unwrap_or_else(|| {
            let body = self.begin(of, out);
            self.push(index, id, body)
        });
        let item = self.items.get_mut(at).filter(|item| !item.done && of.is_of(&item.body))?;
        let grown = match &mut item.body {
            Body::Thinking(thought) => thought,
            Body::Message { text, .. } if of == Of::Text => text,
            Body::Message { refusal, .. } => {
                self.refused = true;
                refusal.get_or_insert_with(|| refuse(&mut self.blocks, out))
            }
            Body::Call(_) | Body::Foreign(_) => return None,
        };
        Some((grown, &mut self.blocks))
    }

    /// A piece of a call's arguments. Those of a call whose name has not come yet are told whole
    /// when it ends.
    fn arguments(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let piece = delta_text(event)?;
        if let Some(block) = self.open_call(event) {
            self.blocks.fragment(block, piece, out);
        } else if !piece.is_empty() {
            let (index, id) = (event.output_index.0, event.item_id.some());
            if self.find(index, id, |body| matches!(body, Body::Call(_))).is_none() {
                self.push(index, id, Body::Call(None));
            }
        }
        Ok(())
    }

    fn whole_arguments(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) {
        let (block, whole) = (self.open_call(event), event.arguments.some());
        if let (Some(block), Some(whole)) = (block, whole) {
            self.rest_of_arguments(block, whole, out);
        }
    }

    fn open_call(&self, event: &wire::Event<'_>) -> Option<BlockIndex> {
        let id = event.item_id.some();
        let at = self.find(event.output_index.0, id, |body| matches!(body, Body::Call(_)))?;
        match self.items.get(at)? {
            Item { done: false, body: Body::Call(block), .. } => *block,
            _ => None,
        }
    }

    /// Adds what is missing of a call's arguments, if they go on from what had come.
    fn rest_of_arguments(&mut self, block: BlockIndex, whole: &str, out: &mut Vec<Delta>) {
        let so_far = self.blocks.arguments(block).unwrap_or_default();
        if let Some(rest) = whole.strip_prefix(so_far) {
            self.blocks.fragment(block, rest, out);
        }
    }

    /// An item came to its end; one that was never announced begins with it.
    fn done(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let item = wire::read_part::<wire::Item<'_>>("item", Some(raw))?.unwrap_or_default();
        let at = self
            .find(index, goes_by(&item), |body| fits(body, &item))
            .unwrap_or_else(|| self.add(index, &item, out));
        let Some(known) = self.items.get_mut(at).filter(|known| !known.done) else {
            return Ok(());
        };
        known.done = true;
        let whole = !item.status.is("incomplete");
        match &mut known.body {
            Body::Thinking(thought) => {
                end_thinking(thought, &item, whole, &mut self.blocks, out)?;
            }
            Body::Message { text, refusal } => {
                let parts = parts(item.content)?;
                end_message(text, &item, &parts, whole, &mut self.blocks, out);
                let words = said(&parts, |part| &part.refusal);
                if refusal.is_some() || !words.is_empty() {
                    self.refused = true;
                    let refusal = refusal.get_or_insert_with(|| refuse(&mut self.blocks, out));
                    refusal.whole(&words, &mut self.blocks, out);
                    end_refusal(refusal, &mut self.blocks, out);
                }
            }
            Body::Call(block) => {
                let block = *block;
                self.end_call(block, &item, whole, out)?;
            }
            Body::Foreign(block) => {
                self.blocks.state(*block, raw.get().into(), out);
                end(*block, whole, &mut self.blocks, out);
            }
        }
        Ok(())
    }

    fn end_call(
        &mut self,
        block: Option<BlockIndex>,
        item: &wire::Item<'_>,
        whole: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), Failed> {
        let block = block.unwrap_or_else(|| self.begin_call(item, out));
        if let Some(arguments) = arguments(item)? {
            self.rest_of_arguments(block, &arguments, out);
        }
        end(block, whole, &mut self.blocks, out);
        Ok(())
    }

    fn completed(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let response = self.last_items(event, out)?;
        if self.items.iter().any(|item| !item.done && matches!(item.body, Body::Call(None))) {
            return Err(Failed::protocol("the answer has a call without a name"));
        }
        let stop = if self.refused { Stop::Refusal } else { Stop::Done };
        self.finish(&response, stop, out);
        Ok(())
    }

    fn incomplete(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let response = self.last_items(event, out)?;
        let details = wire::read::<wire::Incomplete<'_>>(response.incomplete_details);
        let filtered = details.is_some_and(|details| details.reason.is("content_filter"));
        let stop = match (filtered, self.refused) {
            (true, _) => Stop::Blocked,
            (false, true) => Stop::Refusal,
            (false, false) => Stop::Length,
        };
        // What had not come to its end by now never will, however whole it looks.
        for item in self.items.iter().filter(|item| !item.done) {
            if let Body::Call(Some(block)) = item.body {
                self.blocks.cut(block);
            }
        }
        self.finish(&response, stop, out);
        Ok(())
    }

    /// The response, and its items from there if none had come before.
    fn last_items<'a>(
        &mut self,
        event: &wire::Event<'a>,
        out: &mut Vec<Delta>,
    ) -> Result<wire::Response<'a>, Failed> {
        let response = wire::read_part::<wire::Response<'_>>("response", event.response)?;
        let response = response.unwrap_or_default();
        if self.items.is_empty() {
            let items = wire::read_part::<Vec<&RawValue>>("output", response.output)?;
            for (index, raw) in (0..).zip(items.unwrap_or_default()) {
                self.done(Some(index), raw, out)?;
            }
        }
        Ok(response)
    }

    fn finish(&mut self, response: &wire::Response<'_>, stop: Stop, out: &mut Vec<Delta>) {
        self.over = true;
        out.extend(usage(response).map(Delta::Usage));
        self.blocks.finish(stop, metadata(response), out);
    }

    fn failed(&mut self, event: &wire::Event<'_>, out: &mut Vec<Delta>) -> Failed {
        let response = wire::read::<wire::Response<'_>>(event.response).unwrap_or_default();
        out.extend(usage(&response).map(Delta::Usage));
        let mut failed = self.error(response.error.map_or("{}", RawValue::get));
        failed.metadata = failed.metadata.joined(&metadata(&response));
        failed
    }

    fn error(&mut self, error: &str) -> Failed {
        self.over = true;
        told::failed(error)
    }
}

impl Of {
    const fn is_of(self, body: &Body) -> bool {
        match self {
            Self::Text | Self::Refusal => matches!(body, Body::Message { .. }),
            Self::Summary | Self::Reasoning => matches!(body, Body::Thinking(_)),
        }
    }
}

/// What an item goes by where its place is not told.
fn goes_by<'a>(item: &'a wire::Item<'_>) -> Option<&'a str> {
    item.id.some().or_else(|| item.call_id.some())
}

fn fits(body: &Body, item: &wire::Item<'_>) -> bool {
    match body {
        Body::Thinking(_) => item.kind.is("reasoning"),
        Body::Message { .. } => item.kind.is("message"),
        Body::Call(_) => item.kind.is("function_call"),
        Body::Foreign(_) => true,
    }
}

fn part(event: &wire::Event<'_>, of: Of) -> Part {
    match of {
        Of::Summary => Part::Summary(event.summary_index.0.unwrap_or(0)),
        Of::Text | Of::Refusal | Of::Reasoning => Part::Content(event.content_index.0.unwrap_or(0)),
    }
}

fn not_open() -> Failed {
    Failed::protocol("a piece of text came of an item that is not open for it")
}

/// The piece that an event brings, which may be empty.
fn delta_text<'e>(event: &'e wire::Event<'_>) -> Result<&'e str, Failed> {
    event.delta.get().ok_or_else(|| Failed::protocol("an event brings a piece that is no text"))
}
