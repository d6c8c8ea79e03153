//! The messages of a chat.

use crate::validator::Body;
use crate::validator::common::{is_blank, not_objects, unknown};
use crate::validator::media::{Media, Source};
use crate::validator::node::{Found, Node};
use crate::validator::pairing::{Answer, Call, Step};

/// The messages.
pub(super) fn messages<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let messages = body.root.list("messages").into_iter();
    messages.filter(|message| message.value.is_object()).collect()
}

/// The messages that have content, and what it is.
pub(super) fn contents<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Node<'a>)> {
    let messages = messages(body).into_iter();
    messages.filter_map(|message| Some((message.clone(), message.get("content")?))).collect()
}

/// The parts of all contents, with their messages.
fn parts<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Node<'a>)> {
    let mut parts = Vec::new();
    for (message, content) in contents(body) {
        parts.extend(content.items().into_iter().map(|part| (message.clone(), part)));
    }
    parts
}

/// The calls that are whole.
pub(super) fn calls<'a>(body: &Body<'a>) -> Vec<Call<'a>> {
    messages(body).iter().flat_map(calls_of).collect()
}

fn calls_of<'a>(message: &Node<'a>) -> Vec<Call<'a>> {
    let calls = message.list("tool_calls").into_iter();
    calls
        .filter_map(|at| {
            let name = at.get("function")?.text_of("name")?;
            Some(Call { id: at.text_of("id")?, name, at })
        })
        .collect()
}

/// Assistant messages with their calls, and the tool messages right after them.
pub(super) fn steps<'a>(body: &Body<'a>) -> Vec<Step<'a>> {
    let mut steps = vec![Step::default()];
    for message in messages(body) {
        if !message.is("role", "tool") {
            steps.push(Step { calls: calls_of(&message), answers: Vec::new() });
        } else if let Some(step) = steps.last_mut() {
            let id = message.text_of("tool_call_id").unwrap_or_default();
            step.answers.push(Answer { at: message, id });
        }
    }
    steps
}

/// The images and files.
pub(super) fn media<'a>(body: &Body<'a>) -> Vec<Media<'a>> {
    let parts = parts(body).into_iter();
    parts.filter_map(|(_, at)| Some(Media { source: source(&at)?, at })).collect()
}

fn source<'a>(part: &Node<'a>) -> Option<Source<'a>> {
    let held = |key| part.get(key);
    Some(match part.text_of("type")? {
        "image_url" => match held("image_url").and_then(|image| image.text_of("url")) {
            Some(address) => Source::of_address(address),
            None => Source::Broken("no address"),
        },
        "file" => match held("file") {
            Some(file) if file.has("file_id") => Source::Elsewhere,
            Some(file) => match file.text_of("file_data") {
                Some(address) => Source::of_address(address),
                None => Source::Broken("no data"),
            },
            None => Source::Broken("no file"),
        },
        "input_audio" => {
            let audio = held("input_audio");
            let format = audio.as_ref().and_then(|audio| audio.text_of("format"));
            let media_type = match format {
                Some("mp3") => Some("audio/mpeg"),
                Some("wav") => Some("audio/wav"),
                _ => None,
            };
            Source::inline(media_type, audio.and_then(|audio| audio.text_of("data")))
        }
        _ => return None,
    })
}

pub(super) fn unknown_roles(body: &Body<'_>) -> Vec<Found> {
    let known: &[&str] = if body.server.developer_role {
        &["system", "developer", "user", "assistant", "tool"]
    } else {
        &["system", "user", "assistant", "tool"]
    };
    let others = messages(body).into_iter().filter(|message| !message.is_one_of("role", known));
    others.map(|message| message.found_in("role", "no role that is known")).collect()
}

pub(super) fn unknown_message_fields(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body) {
        let known: &[&str] = match message.text_of("role") {
            Some("assistant") => &["role", "content", "name", "refusal", "audio", "tool_calls"],
            Some("tool") => &["role", "content", "tool_call_id"],
            _ => &["role", "content", "name"],
        };
        found.extend(unknown(&message, known, &body.server.message_fields));
    }
    found
}

fn is_system(message: &Node<'_>) -> bool {
    message.is_one_of("role", &["system", "developer"])
}

pub(super) fn late_systems(body: &Body<'_>) -> Vec<Found> {
    if !body.server.one_system {
        return Vec::new();
    }
    let later = messages(body).into_iter().skip(1).filter(is_system);
    later.map(|message| message.found("a system message that is not the first")).collect()
}

pub(super) fn out_of_turn(body: &Body<'_>) -> Vec<Found> {
    if !body.server.alternation {
        return Vec::new();
    }
    let said: Vec<_> = messages(body).into_iter().filter(|message| !is_system(message)).collect();
    let mut found = Vec::new();
    if let Some(first) = said.first().filter(|first| first.is("role", "assistant")) {
        found.push(first.found("the assistant speaks first"));
    }
    for (before, message) in said.iter().zip(said.iter().skip(1)) {
        let role = message.text_of("role");
        if matches!(role, Some("user" | "assistant")) && role == before.text_of("role") {
            found.push(message.found("speaks twice"));
        }
    }
    found
}

pub(super) fn trailing_assistant(body: &Body<'_>) -> Vec<Found> {
    let messages = messages(body);
    let last = messages.last().filter(|last| last.is("role", "assistant") && !body.server.prefill);
    // One with calls is unanswered, for which there is another rule.
    let last = last.filter(|last| calls_of(last).is_empty());
    last.map(|last| last.found("the last message")).into_iter().collect()
}

pub(super) fn user_after_tool(body: &Body<'_>) -> Vec<Found> {
    if body.server.user_after_tool {
        return Vec::new();
    }
    let messages = messages(body);
    let pairs = messages.iter().zip(messages.iter().skip(1));
    pairs
        .filter(|(before, message)| before.is("role", "tool") && message.is("role", "user"))
        .map(|(_, message)| message.found("a user message after a tool message"))
        .collect()
}

pub(super) fn without_content(body: &Body<'_>) -> Vec<Found> {
    let may = |message: &Node<'_>| {
        message.is("role", "assistant")
            && ["tool_calls", "refusal", "audio"].iter().any(|key| message.has(key))
    };
    let empty = messages(body).into_iter().filter(|at| !at.has("content") && !may(at));
    empty.map(|message| message.found("no content")).collect()
}

pub(super) fn odd_contents(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (message, content) in contents(body) {
        if content.text().is_none() {
            found.extend(not_objects(&message, "content", usize::MAX));
        }
    }
    for (_, part) in parts(body).iter().filter(|(_, part)| part.value.is_object()) {
        let known = ["text", "image_url", "file", "input_audio", "refusal"];
        let kind = part.text_of("type").unwrap_or_default();
        if !known.contains(&kind) && !body.server.part_types.iter().any(|extra| extra == kind) {
            found.push(part.found(format_args!("a part of type {kind:?}")));
        } else if kind == "text" && part.text_of("text").is_none() {
            found.push(part.found("a text part without text"));
        }
    }
    found
}

pub(super) fn empty_texts(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (message, content) in contents(body) {
        // What a tool says may be nothing, and so may what is said beside a call.
        let may = message.is("role", "tool") || message.has("tool_calls");
        if content.text().is_some_and(|text| is_blank(text) && !may) {
            found.push(content.found("an empty text"));
        }
    }
    for (_, part) in parts(body) {
        if part.is("type", "text") && part.text_of("text").is_some_and(is_blank) {
            found.push(part.found("an empty text"));
        }
    }
    found
}

const MEDIA: [&str; 3] = ["image_url", "file", "input_audio"];

pub(super) fn misplaced_parts(body: &Body<'_>) -> Vec<Found> {
    let misplaced = parts(body).into_iter().filter(|(message, part)| {
        let media = part.is_one_of("type", &MEDIA);
        let refusal = part.is("type", "refusal");
        // A tool message has a rule of its own.
        media && !message.is_one_of("role", &["user", "tool"])
            || refusal && !message.is_one_of("role", &["assistant", "tool"])
    });
    misplaced.map(|(_, part)| part.found("not in a message of this role")).collect()
}

pub(super) fn tool_media(body: &Body<'_>) -> Vec<Found> {
    let parts = parts(body).into_iter().filter(|(message, _)| message.is("role", "tool"));
    parts
        .filter(|(_, part)| part.value.is_object() && !part.is("type", "text"))
        .map(|(_, part)| part.found("not a text part"))
        .collect()
}

pub(super) fn tool_lists(body: &Body<'_>) -> Vec<Found> {
    let tools = contents(body).into_iter().filter(|(message, _)| message.is("role", "tool"));
    tools
        .filter(|(_, content)| body.server.tool_content_text_only && content.value.is_array())
        .map(|(_, content)| content.found("a list"))
        .collect()
}

pub(super) fn nameless_files(body: &Body<'_>) -> Vec<Found> {
    let files = parts(body).into_iter().filter_map(|(_, part)| part.get("file"));
    files
        .filter(|file| file.has("file_data"))
        .filter(|file| file.text_of("filename").is_none_or(str::is_empty))
        .map(|file| file.found("no filename"))
        .collect()
}

pub(super) fn broken_calls(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body).iter().filter(|message| message.has("tool_calls")) {
        found.extend(not_objects(message, "tool_calls", usize::MAX));
        for call in message.list("tool_calls").iter().filter(|call| call.value.is_object()) {
            let function = call.get("function");
            let texts = |key| function.as_ref().is_some_and(|at| at.text_of(key).is_some());
            let whole = call.text_of("id").is_some()
                && call.is("type", "function")
                && texts("name")
                && texts("arguments");
            if !whole {
                found.push(call.found("not {id, type: function, function: {name, arguments}}"));
            }
        }
    }
    found
}

pub(super) fn unsaid_thinking(body: &Body<'_>) -> Vec<Found> {
    let calling = messages(body).into_iter().filter(|message| message.has("tool_calls"));
    calling
        .filter(|_| body.server.thinking_required_back)
        .filter(|message| message.text_of("reasoning_content").is_none())
        .map(|message| message.found_in("reasoning_content", "not sent back"))
        .collect()
}
