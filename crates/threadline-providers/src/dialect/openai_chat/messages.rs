//! The turns of a conversation become messages.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use threadline_core::provider::Repair;

use super::ask::{Audio, Call, Called, Content, File, Function, Image, Message, Part, Thought};
use super::decode::REFUSAL;
use crate::carry::{Media, ModelTurn, Piece, Result, Said, Turn, arguments_text};
use crate::quirks::{Quirks, SystemRole, ThinkingBack};

/// What stands between texts that become one.
const BETWEEN: &str = "\n\n";

/// The messages of a conversation, and what had to be left out of them.
pub(super) fn messages<'a>(
    system: &'a str,
    turns: Vec<Turn<'a>>,
    quirks: &Quirks,
) -> (Vec<Message<'a>>, Vec<Repair>) {
    let mut writer = Writer { quirks, messages: Vec::new(), repairs: Vec::new() };
    if !system.is_empty() {
        let role = match quirks.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        let content = Content::Text(Cow::Borrowed(system));
        writer.messages.push(Message { role, content, ..Message::default() });
    }
    for turn in turns {
        match turn {
            Turn::User(pieces) => writer.user(pieces),
            Turn::Model(turn) => writer.model(turn),
            Turn::Results(results) => writer.messages.extend(results.into_iter().map(result)),
        }
    }
    (writer.messages, writer.repairs)
}

struct Writer<'a, 'q> {
    quirks: &'q Quirks,
    messages: Vec<Message<'a>>,
    repairs: Vec<Repair>,
}

impl<'a> Writer<'a, '_> {
    fn user(&mut self, pieces: Vec<Piece<'a>>) {
        let last = self.messages.last_mut().filter(|last| last.role == "tool");
        match last {
            Some(last) if !self.quirks.user_after_tool => {
                append(last, pieces, &mut self.repairs);
            }
            Some(_) | None => {
                let content = user_content(pieces, self.quirks.content_parts);
                self.messages.push(Message { role: "user", content, ..Message::default() });
            }
        }
    }

    fn model(&mut self, turn: ModelTurn<'a>) {
        let ModelTurn { own, blocks, .. } = turn;
        let mut said = Spoken::default();
        for block in blocks {
            said.take(block);
        }
        let back = if own { self.quirks.thinking_back } else { ThinkingBack::Nowhere };
        let must = self.quirks.thinking_back_required && !said.calls.is_empty();
        let message = said.message(back);
        self.messages.push(if must { with_thinking(message, self.quirks) } else { message });
    }
}

/// What a model said, by kind.
#[derive(Default)]
struct Spoken<'a> {
    thoughts: Vec<&'a str>,
    details: Vec<&'a RawValue>,
    texts: Vec<Cow<'a, str>>,
    /// Thoughts and texts in the order in which they came.
    parts: Vec<Part<'a>>,
    calls: Vec<Call<'a>>,
}

impl<'a> Spoken<'a> {
    fn take(&mut self, said: Said<'a>) {
        match said {
            Said::Thinking { text, state } => {
                let details = state.and_then(|state| serde_json::from_str(state).ok());
                self.details.extend::<Vec<&RawValue>>(details.unwrap_or_default());
                if !text.is_empty() {
                    self.thoughts.push(text);
                    self.parts.push(Part::Thinking { thinking: [Thought::Text { text }] });
                }
            }
            Said::Text { text, .. } => self.say(text),
            Said::Call(call) => {
                let function =
                    Called { name: call.name, arguments: arguments_text(call.arguments) };
                self.calls.push(Call { id: call.id, r#type: Function::Function, function });
            }
            Said::Foreign { kind: REFUSAL, state } => {
                if let Ok(text) = serde_json::from_str::<String>(state) {
                    self.say(Cow::Owned(text));
                }
            }
            Said::Foreign { .. } => {}
        }
    }

    fn say(&mut self, text: Cow<'a, str>) {
        if !text.trim().is_empty() {
            self.parts.push(Part::Text { text: text.clone() });
            self.texts.push(text);
        }
    }

    fn message(self, back: ThinkingBack) -> Message<'a> {
        let has_calls = !self.calls.is_empty();
        let mut message =
            Message { role: "assistant", tool_calls: self.calls, ..Message::default() };
        let thought = (!self.thoughts.is_empty()).then(|| self.thoughts.join(BETWEEN));
        match back {
            ThinkingBack::Nowhere => {}
            ThinkingBack::ReasoningContent => message.reasoning_content = thought,
            ThinkingBack::Reasoning => message.reasoning = thought,
            ThinkingBack::ReasoningDetails if self.details.is_empty() => {
                message.reasoning = thought;
            }
            ThinkingBack::ReasoningDetails => message.reasoning_details = self.details,
            ThinkingBack::ContentPart if thought.is_some() => {
                message.content = Content::Parts(self.parts);
                return message;
            }
            ThinkingBack::ContentPart => {}
        }
        message.content = match joined(self.texts) {
            Some(text) => Content::Text(text),
            None if has_calls => Content::Nothing,
            None => Content::Text(Cow::Borrowed("")),
        };
        message
    }
}

/// A message that says what was thought, even if that is nothing.
fn with_thinking<'a>(mut message: Message<'a>, quirks: &Quirks) -> Message<'a> {
    match quirks.thinking_back {
        ThinkingBack::ReasoningContent => {
            message.reasoning_content.get_or_insert_default();
        }
        ThinkingBack::Reasoning => {
            message.reasoning.get_or_insert_default();
        }
        ThinkingBack::Nowhere | ThinkingBack::ReasoningDetails | ThinkingBack::ContentPart => {}
    }
    message
}

fn result(result: Result<'_>) -> Message<'_> {
    let Result { id, failed, text, media, .. } = result;
    let text = match failed {
        true if text.trim().is_empty() => Cow::Borrowed("ERROR: it failed and said nothing"),
        true => Cow::Owned(format!("ERROR: {text}")),
        false => text,
    };
    let content = if media.is_empty() {
        Content::Text(text)
    } else {
        let text = Some(text).filter(|text| !text.trim().is_empty());
        let text = text.map(|text| Part::Text { text });
        Content::Parts(text.into_iter().chain(media.into_iter().map(part_of)).collect())
    };
    Message { role: "tool", tool_call_id: Some(id), content, ..Message::default() }
}

/// What is said after results, in the last of them: for a server that takes no user's message
/// there. Media have no place in it.
fn append(last: &mut Message<'_>, pieces: Vec<Piece<'_>>, repairs: &mut Vec<Repair>) {
    let mut said = match std::mem::take(&mut last.content) {
        Content::Text(text) => text.into_owned(),
        Content::Nothing => String::new(),
        Content::Parts(parts) => {
            last.content = Content::Parts(parts);
            String::new()
        }
    };
    for piece in pieces {
        if !said.is_empty() {
            said.push_str(BETWEEN);
        }
        match piece {
            Piece::Text(text) => said.push_str(&text),
            Piece::Screen(text) => said.push_str(text),
            Piece::Media(media) => {
                let Media { media_type, name, bytes } = media;
                let name = name.unwrap_or("attachment");
                let line = format!("[{name}: {media_type}, {} bytes, not shown]", bytes.len());
                said.push_str(&line);
                let what = "an attachment after results is only named: the server takes none there";
                repairs.push(Repair { entry: None, what: what.into() });
            }
        }
    }
    match &mut last.content {
        Content::Parts(parts) => parts.push(Part::Text { text: Cow::Owned(said) }),
        Content::Nothing | Content::Text(_) => last.content = Content::Text(Cow::Owned(said)),
    }
}

/// One text as a text; several as parts, or as one text where the server takes no parts.
fn user_content(pieces: Vec<Piece<'_>>, in_parts: bool) -> Content<'_> {
    let has_media = pieces.iter().any(|piece| matches!(piece, Piece::Media(_)));
    if has_media || (in_parts && pieces.len() > 1) {
        let part = |piece| match piece {
            Piece::Text(text) => Part::Text { text },
            Piece::Screen(text) => Part::Text { text: Cow::Borrowed(text) },
            Piece::Media(media) => part_of(media),
        };
        return Content::Parts(pieces.into_iter().map(part).collect());
    }
    let texts = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Screen(text) => Some(Cow::Borrowed(text)),
        Piece::Media(_) => None,
    });
    Content::Text(joined(texts.collect()).unwrap_or_default())
}

/// Texts as one; none if there is none.
fn joined(mut texts: Vec<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    match texts.len() {
        0 | 1 => texts.pop(),
        _ => Some(Cow::Owned(texts.join(BETWEEN))),
    }
}

fn part_of(media: Media<'_>) -> Part<'_> {
    let Media { media_type, name, bytes } = media;
    let data = STANDARD.encode(bytes);
    let format = match media_type {
        "audio/wav" | "audio/x-wav" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    };
    if let Some(format) = format {
        return Part::InputAudio { input_audio: Audio { data, format } };
    }
    let url = format!("data:{media_type};base64,{data}");
    if media_type.starts_with("image/") {
        return Part::ImageUrl { image_url: Image { url } };
    }
    let unnamed = if media_type == "application/pdf" { "document.pdf" } else { "attachment" };
    Part::File { file: File { filename: name.unwrap_or(unnamed), file_data: url } }
}
