//! The messages, and the blocks they are made of.

use std::collections::BTreeSet;

use crate::validator::common::{is_blank, not_objects};
use crate::validator::media as medium;
use crate::validator::media::{Media, Source};
use crate::validator::node::{Found, Node};
use crate::validator::pairing::{Answer, Call, Step};
use crate::validator::{AnthropicVersion, Body};

const THINKING: [&str; 2] = ["thinking", "redacted_thinking"];
const USERS: [&str; 6] =
    ["text", "image", "document", "search_result", "tool_result", "container_upload"];
const ASSISTANTS: [&str; 11] = [
    "text",
    "document",
    "tool_use",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "fallback",
    "compaction",
];

/// The messages.
pub(super) fn messages<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let messages = body.root.list("messages").into_iter();
    messages.filter(|message| message.value.is_object()).collect()
}

/// The blocks of all messages, with their messages.
pub(super) fn blocks<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Node<'a>)> {
    let mut blocks = Vec::new();
    for message in messages(body) {
        blocks.extend(message.list("content").into_iter().map(|block| (message.clone(), block)));
    }
    blocks
}

/// The blocks of all messages and of the results within them.
pub(super) fn all_blocks<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let mut all = Vec::new();
    for (_, block) in blocks(body) {
        let inner =
            if block.is("type", "tool_result") { block.list("content") } else { Vec::new() };
        all.push(block);
        all.extend(inner);
    }
    all
}

/// Whether a block is one of a tool that runs at the service.
fn is_server_block(block: &Node<'_>) -> bool {
    let kind = block.text_of("type").unwrap_or_default();
    let result = kind.ends_with("_tool_result");
    result || matches!(kind, "server_tool_use" | "mcp_tool_use")
}

/// The calls that are whole.
pub(super) fn calls<'a>(body: &Body<'a>) -> Vec<Call<'a>> {
    messages(body).iter().flat_map(calls_of).collect()
}

fn calls_of<'a>(message: &Node<'a>) -> Vec<Call<'a>> {
    let blocks = message.list("content").into_iter().filter(|block| block.is("type", "tool_use"));
    blocks
        .filter_map(|at| Some(Call { id: at.text_of("id")?, name: at.text_of("name")?, at }))
        .collect()
}

/// What the assistant called at a time, and the results that the user gave next.
pub(super) fn steps<'a>(body: &Body<'a>) -> Vec<Step<'a>> {
    let mut steps = vec![Step::default()];
    let mut speaker = "user";
    for message in messages(body) {
        let assistant = message.is("role", "assistant");
        if assistant && speaker == "user" {
            steps.push(Step::default());
        }
        speaker = if assistant { "assistant" } else { "user" };
        let Some(step) = steps.last_mut() else { continue };
        step.calls.extend(calls_of(&message));
        let results = message.list("content").into_iter().filter(|at| at.is("type", "tool_result"));
        step.answers.extend(
            results.map(|at| Answer { id: at.text_of("tool_use_id").unwrap_or_default(), at }),
        );
    }
    steps
}

/// The images and documents.
pub(super) fn media<'a>(body: &Body<'a>) -> Vec<Media<'a>> {
    let blocks = all_blocks(body).into_iter();
    blocks
        .filter(|at| at.is_one_of("type", &["image", "document"]))
        .map(|at| Media { source: source(&at), at })
        .collect()
}

fn source<'a>(block: &Node<'a>) -> Source<'a> {
    let Some(source) = block.get("source") else { return Source::Broken("no source") };
    match source.text_of("type") {
        Some("base64") => Source::inline(source.text_of("media_type"), source.text_of("data")),
        Some("text") if source.is("media_type", "text/plain") && source.has("data") => {
            Source::Elsewhere
        }
        Some("text") => Source::Broken("a text that is not text/plain with data"),
        Some("url") => source.text_of("url").map_or(Source::Broken("no url"), Source::Remote),
        Some("file") if source.has("file_id") => Source::Elsewhere,
        Some("content") if source.has("content") => Source::Elsewhere,
        _ => Source::Broken("no source that is known"),
    }
}

pub(super) fn media_types(body: &Body<'_>) -> Vec<Found> {
    let media = media(body);
    let mut found = medium::not_taken(&media, body.server);
    for medium in &media {
        let Source::Inline { media_type, .. } = medium.source else { continue };
        let fits = media_type.starts_with("image/") == medium.at.is("type", "image");
        // What is not taken at all was found above.
        if !fits && body.server.media.iter().any(|taken| taken == media_type) {
            found.push(medium.at.found(format_args!("{media_type} in a block of another type")));
        }
    }
    found
}

pub(super) fn unknown_roles(body: &Body<'_>) -> Vec<Found> {
    let known: &[&str] = if body.server.system_messages {
        &["user", "assistant", "system"]
    } else {
        &["user", "assistant"]
    };
    let others = messages(body).into_iter().filter(|message| !message.is_one_of("role", known));
    others.map(|message| message.found_in("role", "no role that is known")).collect()
}

pub(super) fn misplaced_systems(body: &Body<'_>) -> Vec<Found> {
    if !body.server.system_messages {
        return Vec::new();
    }
    let messages = messages(body);
    let mut found = Vec::new();
    for (place, message) in messages.iter().enumerate().filter(|(_, at)| at.is("role", "system")) {
        let other = |at: &&Node<'_>| !at.is("role", "system");
        let before = messages.iter().take(place).rev().find(other);
        let after = messages.iter().skip(place).find(other);
        let fits = before.is_some_and(|before| before.is("role", "user"))
            && after.is_none_or(|after| after.is("role", "assistant"));
        if !fits || message.list("content").iter().any(|block| !block.is("type", "text")) {
            found.push(message.found("not text between a user and the assistant"));
        }
    }
    found
}

pub(super) fn out_of_turn(body: &Body<'_>) -> Vec<Found> {
    if !body.server.alternation {
        return Vec::new();
    }
    let said: Vec<_> =
        messages(body).into_iter().filter(|message| !message.is("role", "system")).collect();
    let mut found = Vec::new();
    if let Some(first) = said.first().filter(|first| first.is("role", "assistant")) {
        found.push(first.found("the assistant speaks first"));
    }
    for (before, message) in said.iter().zip(said.iter().skip(1)) {
        if message.has("role") && message.text_of("role") == before.text_of("role") {
            found.push(message.found("speaks twice"));
        }
    }
    found
}

pub(super) fn trailing_assistant(body: &Body<'_>) -> Vec<Found> {
    let messages = messages(body);
    let last = messages.last().filter(|last| last.is("role", "assistant") && !body.server.prefill);
    // A call is unanswered, for which there is another rule; a server tool goes on.
    let goes_on = |block: &Node<'_>| block.is("type", "tool_use") || is_server_block(block);
    let last = last.filter(|last| !last.list("content").last().is_some_and(goes_on));
    last.map(|last| last.found("the last message")).into_iter().collect()
}

pub(super) fn odd_contents(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body).iter().filter(|message| message.text_of("content").is_none()) {
        found.extend(not_objects(message, "content", usize::MAX));
    }
    for (_, block) in blocks(body).iter().filter(|(_, block)| block.value.is_object()) {
        let kind = block.text_of("type").unwrap_or_default();
        if !USERS.contains(&kind) && !ASSISTANTS.contains(&kind) && !is_server_block(block) {
            found.push(block.found(format_args!("a block of type {kind:?}")));
        } else if kind == "text" && block.text_of("text").is_none() {
            found.push(block.found("a text block without text"));
        }
    }
    found
}

pub(super) fn empty_texts(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body) {
        if message.text_of("content").is_some_and(is_blank) {
            found.push(message.found_in("content", "an empty text"));
        }
        let texts: Vec<_> =
            message.list("content").into_iter().filter(|at| at.is("type", "text")).collect();
        let alone = texts.len() == 1;
        let empty = |text: &str| text.is_empty() || alone && is_blank(text);
        let empty = texts.iter().filter(|at| at.text_of("text").is_some_and(empty));
        found.extend(empty.map(|at| at.found("an empty text")));
    }
    for (_, result) in blocks(body).iter().filter(|(_, block)| block.is("type", "tool_result")) {
        let content = result.list("content");
        let empty = content.iter().filter(|at| at.is("type", "text") && at.is("text", ""));
        found.extend(empty.map(|at| at.found("an empty text")));
    }
    found
}

pub(super) fn misplaced_blocks(body: &Body<'_>) -> Vec<Found> {
    let known = |block: &Node<'_>| {
        let kind = block.text_of("type").unwrap_or_default();
        USERS.contains(&kind) || ASSISTANTS.contains(&kind) || is_server_block(block)
    };
    let misplaced = blocks(body).into_iter().filter(|(message, block)| {
        let kind = block.text_of("type").unwrap_or_default();
        let fits = match message.text_of("role") {
            Some("user") => USERS.contains(&kind),
            Some("assistant") => ASSISTANTS.contains(&kind) || is_server_block(block),
            // Those have rules of their own.
            _ => true,
        };
        known(block) && !fits
    });
    misplaced.map(|(_, block)| block.found("not in a message of this role")).collect()
}

pub(super) fn assistant_documents(body: &Body<'_>) -> Vec<Found> {
    let new = body.server.anthropic_version == AnthropicVersion::V2026;
    let documents = blocks(body).into_iter().filter(|(message, block)| {
        new && message.is("role", "assistant") && block.is("type", "document")
    });
    documents.map(|(_, block)| block.found("a document from the assistant")).collect()
}

pub(super) fn copied_citations(body: &Body<'_>) -> Vec<Found> {
    let new = body.server.anthropic_version == AnthropicVersion::V2026;
    let cited = blocks(body).into_iter().filter(|(message, block)| {
        new && message.is("role", "user") && !block.list("citations").is_empty()
    });
    cited.map(|(_, block)| block.found_in("citations", "on a user's text")).collect()
}

pub(super) fn after_calls(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body) {
        let blocks = message.list("content");
        let after = blocks.iter().skip_while(|block| !block.is("type", "tool_use"));
        let others = after.filter(|block| block.has("type") && !block.is("type", "tool_use"));
        found.extend(others.map(|block| block.found("after a tool_use")));
    }
    found
}

pub(super) fn late_results(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body).iter().filter(|message| message.is("role", "user")) {
        let blocks = message.list("content");
        let after = blocks.iter().skip_while(|block| block.is("type", "tool_result"));
        let late = after.filter(|block| block.is("type", "tool_result"));
        found.extend(late.map(|block| block.found("after something else")));
    }
    found
}

pub(super) fn broken_calls(body: &Body<'_>) -> Vec<Found> {
    let calls = blocks(body).into_iter().filter(|(_, block)| block.is("type", "tool_use"));
    calls
        .filter(|(_, call)| call.text_of("id").is_none() || call.text_of("name").is_none())
        .map(|(_, call)| call.found("not {id, name, input}"))
        .collect()
}

pub(super) fn broken_results(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, result) in blocks(body).iter().filter(|(_, block)| block.is("type", "tool_result")) {
        if result.get("is_error").is_some_and(|flag| !flag.value.is_boolean()) {
            found.push(result.found_in("is_error", "not a flag"));
        }
        let Some(content) = result.get("content").filter(|content| content.text().is_none()) else {
            continue;
        };
        if !content.value.is_array() {
            found.push(content.found("not a text and not a list"));
        }
        let known = ["text", "image", "document", "search_result", "tool_reference"];
        let others = content.items().into_iter().filter(|block| !block.is_one_of("type", &known));
        found.extend(others.map(|block| block.found("not in a result")));
    }
    found
}

pub(super) fn unsigned_thinking(body: &Body<'_>) -> Vec<Found> {
    let filled = |block: &Node<'_>, key| block.text_of(key).is_some_and(|text| !text.is_empty());
    let broken = blocks(body).into_iter().filter(|(_, block)| match block.text_of("type") {
        Some("thinking") => block.text_of("thinking").is_none() || !filled(block, "signature"),
        Some("redacted_thinking") => !filled(block, "data"),
        _ => false,
    });
    broken.map(|(_, block)| block.found("not as it was given")).collect()
}

pub(super) fn late_thinking(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in messages(body).iter().filter(|message| message.is("role", "assistant")) {
        let mut spoken = false;
        for block in message.list("content") {
            if spoken && block.is_one_of("type", &THINKING) {
                found.push(block.found("after what it led to"));
            }
            // After the result of a server tool the model may think again; what comes after a
            // call is wrong whatever it is.
            spoken = !is_server_block(&block)
                && !block.is("type", "tool_use")
                && (spoken || block.is("type", "text"));
        }
    }
    found
}

pub(super) fn open_loop(body: &Body<'_>) -> Vec<Found> {
    let manual = body.root.get("thinking").is_some_and(|at| at.is("type", "enabled"));
    let messages = messages(body);
    let open = messages.last().is_some_and(|last| {
        last.list("content").iter().any(|block| block.is("type", "tool_result"))
    });
    let calling = messages.iter().rev().find(|message| message.is("role", "assistant"));
    let thinks = |message: &Node<'_>| {
        message.list("content").first().is_some_and(|block| block.is_one_of("type", &THINKING))
    };
    let calling = calling.filter(|message| manual && open && !thinks(message));
    calling.map(|message| message.found("does not start with thinking")).into_iter().collect()
}

pub(super) fn lone_server_blocks(body: &Body<'_>) -> Vec<Found> {
    let messages = messages(body);
    let mut found = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let blocks = message.list("content");
        let server: Vec<_> = blocks.iter().filter(|block| is_server_block(block)).collect();
        let used: BTreeSet<_> = server.iter().filter_map(|at| at.text_of("id")).collect();
        let given: BTreeSet<_> = server.iter().filter_map(|at| at.text_of("tool_use_id")).collect();
        // In the last message a use may still be at work.
        let last = place + 1 == messages.len();
        let lone = server.iter().filter(|at| match (at.text_of("id"), at.text_of("tool_use_id")) {
            (_, Some(id)) => !used.contains(id),
            (Some(id), None) => !last && !given.contains(id),
            (None, None) => true,
        });
        found.extend(lone.map(|at| at.found("its other half is missing")));
    }
    found
}
