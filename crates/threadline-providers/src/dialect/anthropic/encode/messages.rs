//! What was said, as messages: one after the other, of the user and of the assistant.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use threadline_core::id::Seq;
use threadline_core::provider::Repair;

use super::super::wire::body::{Block, Mark, Message, ResultContent, Role, Source};
use super::super::wire::{Str, ThinkingState};
use super::repair;
use crate::carry::{Media, ModelTurn, Piece, Result, Said, Turn};
use crate::quirks::Quirks;

/// What a user says where a model may not go on by itself.
const GO_ON: &str = "Go on.";
/// A longer name is not worth its tokens.
const TITLE_CHARS: usize = 200;

/// The messages of a conversation.
///
/// Turns of one side are one message. So results come first in their message, right after the
/// calls, and what the user says follows in the same one.
pub(super) fn messages<'a>(
    turns: Vec<Turn<'a>>,
    goes_on: bool,
    quirks: &Quirks,
    repairs: &mut Vec<Repair>,
) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    let last = turns.len().saturating_sub(1);
    for (place, turn) in turns.into_iter().enumerate() {
        match turn {
            Turn::User(pieces) => {
                let blocks = pieces.into_iter().filter_map(|piece| piece_block(piece, repairs));
                add(&mut messages, Role::User, blocks.collect());
            }
            Turn::Results(results) => {
                let blocks = results.into_iter().map(|result| result_block(result, repairs));
                add(&mut messages, Role::User, blocks.collect());
            }
            Turn::Model(turn) => {
                let open = goes_on && place == last;
                add(&mut messages, Role::Assistant, said(turn, open, quirks, repairs));
            }
        }
    }
    close(&mut messages, repairs);
    messages
}

/// Puts marks where the next request is still the same.
///
/// Within a turn of the agent, screens stay as they were sent, and they all vanish when the next
/// one begins. So everything before the first screen stays the same in the next turn, and
/// everything that is not the newest screen in the next step.
pub(super) fn mark(messages: &mut [Message<'_>]) {
    let mut blocks: Vec<_> = messages.iter_mut().flat_map(|message| &mut message.content).collect();
    let screen = blocks.iter().position(|block| block.is_screen()).unwrap_or(blocks.len());
    let (before, after) = blocks.split_at_mut(screen);
    for part in [before, after] {
        let mut marks = part.iter_mut().rev().filter_map(|block| block.mark());
        if let Some(mark) = marks.next() {
            *mark = Some(Mark::Ephemeral);
        }
    }
}

fn add<'a>(messages: &mut Vec<Message<'a>>, role: Role, blocks: Vec<Block<'a>>) {
    if blocks.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(message) if message.role == role => message.content.extend(blocks),
        Some(_) | None => messages.push(Message { role, content: blocks }),
    }
}

/// Makes sure that the last message is the user's, or one of the server's own tools at work: only
/// then may a model go on with its own.
fn close(messages: &mut Vec<Message<'_>>, repairs: &mut Vec<Repair>) {
    let at_work = match messages.last() {
        Some(Message { role: Role::Assistant, content }) => match content.last() {
            Some(Block::Whole(raw)) => is_half(raw),
            Some(_) | None => false,
        },
        Some(Message { role: Role::User, .. }) => true,
        None => false,
    };
    if !at_work {
        repairs.push(repair(None, "a line asks the model to go on"));
        add(messages, Role::User, vec![Block::text(GO_ON.into())]);
    }
}

fn piece_block<'a>(piece: Piece<'a>, repairs: &mut Vec<Repair>) -> Option<Block<'a>> {
    match piece {
        Piece::Text(text) => (!text.trim().is_empty()).then(|| Block::text(text)),
        Piece::Screen(text) => (!text.trim().is_empty()).then(|| Block::Text {
            text: text.into(),
            screen: true,
            cache_control: None,
        }),
        Piece::Media(media) => Some(media_block(media, repairs)),
    }
}

fn media_block<'a>(media: Media<'a>, repairs: &mut Vec<Repair>) -> Block<'a> {
    let Media { media_type, name, bytes } = media;
    let title = name.filter(|name| !name.is_empty() && name.chars().count() <= TITLE_CHARS);
    let base64 = || Source::Base64 { media_type, data: STANDARD.encode(bytes) };
    match media_type {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => {
            Block::Image { source: base64(), cache_control: None }
        }
        "application/pdf" => Block::Document { source: base64(), title, cache_control: None },
        _ => match std::str::from_utf8(bytes) {
            Ok(data) if media_type.starts_with("text/") && !data.trim().is_empty() => {
                let source = Source::Text { media_type: "text/plain", data };
                Block::Document { source, title, cache_control: None }
            }
            Ok(_) | Err(_) => {
                repairs.push(repair(None, "what the protocol has no block for is only named"));
                let name = name.unwrap_or("unnamed");
                let size = bytes.len();
                let line = format!("[{name}: {media_type}, {size} bytes, not shown]");
                Block::text(line.into())
            }
        },
    }
}

fn result_block<'a>(result: Result<'a>, repairs: &mut Vec<Repair>) -> Block<'a> {
    let Result { id, text, media, failed, .. } = result;
    let says = !text.trim().is_empty();
    let content = if media.is_empty() {
        says.then_some(ResultContent::Text(text))
    } else {
        let said = says.then(|| Block::text(text));
        let media = media.into_iter().map(|media| media_block(media, repairs));
        Some(ResultContent::Blocks(said.into_iter().chain(media).collect()))
    };
    Block::ToolResult { tool_use_id: id, content, is_error: failed, cache_control: None }
}

/// What a model said, as it may be said again; nothing if only thinking would be left.
fn said<'a>(
    turn: ModelTurn<'a>,
    open: bool,
    quirks: &Quirks,
    repairs: &mut Vec<Repair>,
) -> Vec<Block<'a>> {
    let entry = turn.entry;
    // Where thinking holds only while everything before it is unchanged, that of earlier turns no
    // longer does: their screens are gone. In the current turn all that was sent stays as it was.
    let thinks = !quirks.preserved_thinking || turn.current;
    let paired = pairs(&turn.blocks, open);
    let mut blocks = Vec::new();
    // A thought stands before what it led to; a server's tool is not the end of it.
    let mut has_spoken = false;
    for said in turn.blocks {
        let block = match said {
            Said::Thinking { .. } if !thinks => None,
            Said::Thinking { .. } if has_spoken => {
                repairs.push(repair(Some(entry), "a thought after what it led to is left out"));
                None
            }
            Said::Thinking { text, state } => thinking_block(entry, text, state, repairs),
            Said::Text { text, .. } => (!text.trim().is_empty()).then(|| Block::text(text)),
            Said::Call(call) => {
                let (id, name, input) = (call.id, call.name, call.arguments);
                Some(Block::ToolUse { id, name, input, cache_control: None })
            }
            Said::Foreign { state, .. } => foreign_block(entry, state, &paired, repairs),
        };
        has_spoken = match &block {
            Some(Block::Text { .. } | Block::ToolUse { .. }) => true,
            Some(Block::Whole(raw)) => has_spoken && !is_half(raw),
            Some(_) | None => has_spoken,
        };
        blocks.extend(block);
    }
    if blocks.iter().all(Block::is_thinking) {
        return Vec::new();
    }
    calls_last(entry, &mut blocks, repairs);
    blocks
}

/// Nothing but calls may follow a call.
fn calls_last(entry: Seq, blocks: &mut Vec<Block<'_>>, repairs: &mut Vec<Repair>) {
    let mixed = blocks.iter().skip_while(|block| !block.is_call()).any(|block| !block.is_call());
    if mixed {
        repairs.push(repair(Some(entry), "what was said after a call is put before it"));
        // The sort is stable: both keep their order.
        blocks.sort_by_key(Block::is_call);
    }
}

/// A thought exactly as it was received, also with no words; none if nothing vouches for it.
fn thinking_block<'a>(
    entry: Seq,
    text: &'a str,
    state: Option<&'a str>,
    repairs: &mut Vec<Repair>,
) -> Option<Block<'a>> {
    let state = state.and_then(|state| serde_json::from_str::<ThinkingState<'_>>(state).ok());
    match state {
        Some(ThinkingState::Signature(signature)) if !signature.is_empty() => {
            Some(Block::Thinking { thinking: text, signature })
        }
        Some(ThinkingState::Redacted(data)) if !data.is_empty() => {
            Some(Block::RedactedThinking { data })
        }
        Some(ThinkingState::Signature(_) | ThinkingState::Redacted(_)) | None => {
            repairs.push(repair(Some(entry), "a thought without a signature is left out"));
            None
        }
    }
}

/// How a block that only Anthropic understands belongs to another.
#[derive(Deserialize)]
struct Link<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    id: Option<Str<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Str<'a>>,
}

impl Link<'_> {
    /// The id of a use of the server's tools.
    fn used(&self) -> Option<&str> {
        let id = self.id.as_ref().filter(|_| self.kind.0.ends_with("tool_use"));
        id.map(|id| &*id.0)
    }

    /// The id of the use that it is, or of which it is the result.
    fn of(&self) -> Option<&str> {
        self.used().or(self.tool_use_id.as_ref().map(|id| &*id.0))
    }

    /// Whether it is one half of two.
    fn is_half(&self) -> bool {
        self.kind.0.ends_with("tool_use") || self.kind.0.ends_with("tool_result")
    }
}

/// How a block belongs to another; none of what is no block.
fn link(state: &str) -> Option<Link<'_>> {
    serde_json::from_str(state).ok()
}

fn is_half(raw: &RawValue) -> bool {
    link(raw.get()).is_some_and(|link| link.is_half())
}

/// The uses of the server's tools that have their result, or may still get it: in a turn that is
/// open, if the last thing in it is one of them.
fn pairs(blocks: &[Said<'_>], open: bool) -> Vec<String> {
    let links = blocks.iter().map(|said| match said {
        Said::Foreign { state, .. } => link(state),
        Said::Thinking { .. } | Said::Text { .. } | Said::Call(_) => None,
    });
    let links = links.collect::<Vec<_>>();
    let used = || links.iter().flatten().filter_map(Link::used);
    let last = links.last().and_then(|last| last.as_ref()?.of());
    let at_work = open && last.is_some_and(|last| used().any(|used| used == last));
    let answered = |used: &&str| {
        let mut results = links.iter().flatten().filter_map(|link| link.tool_use_id.as_ref());
        at_work || results.any(|id| id.0 == *used)
    };
    used().filter(answered).map(str::to_owned).collect()
}

/// A block as it was received, unless the other half of it is missing.
fn foreign_block<'a>(
    entry: Seq,
    state: &'a str,
    paired: &[String],
    repairs: &mut Vec<Repair>,
) -> Option<Block<'a>> {
    let whole = link(state).filter(|link| match link.of() {
        Some(id) => paired.iter().any(|paired| paired == id),
        None => !link.is_half(),
    });
    let block = whole.and_then(|_| serde_json::from_str::<&RawValue>(state).ok());
    if block.is_none() {
        repairs.push(repair(Some(entry), "a block of the server's that is not whole is left out"));
    }
    block.map(Block::Whole)
}
