//! The items of an input.

use crate::validator::Body;
use crate::validator::common::{is_blank, not_objects};
use crate::validator::media::{Media, Source};
use crate::validator::node::{Found, Node};
use crate::validator::pairing::{Answer, Call, Step};

/// The items that the model or the service made, beside messages and calls.
const BUILT_IN: [&str; 22] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "custom_tool_call",
    "custom_tool_call_output",
    "compaction",
    "tool_search_call",
    "tool_search_output",
    "item_reference",
];

/// The items.
fn items<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    body.root.list("input").into_iter().filter(|item| item.value.is_object()).collect()
}

/// What kind of item it is; a message need not say so.
fn kind<'a>(item: &Node<'a>) -> Option<&'a str> {
    item.text_of("type").or_else(|| item.has("role").then_some("message"))
}

fn of_kind<'a>(body: &Body<'a>, wanted: &str) -> Vec<Node<'a>> {
    items(body).into_iter().filter(|item| kind(item) == Some(wanted)).collect()
}

fn is_assistant(item: &Node<'_>) -> bool {
    kind(item) == Some("message") && item.is("role", "assistant")
}

/// The parts of messages and of outputs, with their items.
fn parts<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Node<'a>)> {
    let mut parts = Vec::new();
    for item in items(body) {
        let lists = ["content", "output"].iter().filter(|_| kind(&item) != Some("reasoning"));
        let of_item = lists.flat_map(|key| item.list(key));
        parts.extend(of_item.map(|part| (item.clone(), part)));
    }
    parts
}

/// The calls that are whole.
pub(super) fn calls<'a>(body: &Body<'a>) -> Vec<Call<'a>> {
    items(body).into_iter().filter_map(call).collect()
}

fn call(at: Node<'_>) -> Option<Call<'_>> {
    let function = kind(&at) == Some("function_call");
    let (id, name) = (at.text_of("call_id")?, at.text_of("name")?);
    function.then_some(Call { at, id, name })
}

/// Calls and outputs, as far as nobody but the model speaks in between.
pub(super) fn steps<'a>(body: &Body<'a>) -> Vec<Step<'a>> {
    let mut steps = vec![Step::default()];
    for item in items(body) {
        match (kind(&item), steps.last_mut()) {
            (Some("function_call_output"), Some(step)) => {
                let id = item.text_of("call_id").unwrap_or_default();
                step.answers.push(Answer { at: item, id });
            }
            (Some("function_call"), Some(step)) => step.calls.extend(call(item)),
            (Some("message"), _) if !is_assistant(&item) => steps.push(Step::default()),
            _ => {}
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
    let key = match part.text_of("type")? {
        "input_image" => "image_url",
        "input_file" => "file_data",
        _ => return None,
    };
    if part.has("file_id") {
        return Some(Source::Elsewhere);
    }
    Some(match (part.text_of(key), part.text_of("file_url")) {
        (Some(address), _) => Source::of_address(address),
        (None, Some(address)) => Source::Remote(address),
        (None, None) => Source::Broken("no address and no data"),
    })
}

pub(super) fn unknown_items(body: &Body<'_>) -> Vec<Found> {
    let known = ["message", "reasoning", "function_call", "function_call_output"];
    let is_known = |kind: &str| known.contains(&kind) || BUILT_IN.contains(&kind);
    let others = items(body).into_iter().filter(|item| !kind(item).is_some_and(is_known));
    others.map(|item| item.found("no item that is known")).collect()
}

pub(super) fn unknown_roles(body: &Body<'_>) -> Vec<Found> {
    let known = ["user", "assistant", "system", "developer"];
    let messages = of_kind(body, "message").into_iter();
    messages
        .filter(|message| !message.is_one_of("role", &known))
        .map(|message| message.found_in("role", "no role that is known"))
        .collect()
}

pub(super) fn trailing_message(body: &Body<'_>) -> Vec<Found> {
    let items = items(body);
    let last = items.last().filter(|last| is_assistant(last) && !body.server.prefill);
    last.map(|last| last.found("the last item")).into_iter().collect()
}

pub(super) fn odd_contents(body: &Body<'_>) -> Vec<Found> {
    let messages = of_kind(body, "message").into_iter();
    let lists = messages.filter(|message| message.text_of("content").is_none());
    lists.flat_map(|message| not_objects(&message, "content", usize::MAX)).collect()
}

pub(super) fn misplaced_parts(body: &Body<'_>) -> Vec<Found> {
    let parts = parts(body).into_iter().filter(|(item, part)| {
        let known: &[&str] = if is_assistant(item) {
            &["output_text", "refusal"]
        } else {
            &["input_text", "input_image", "input_file"]
        };
        let message = kind(item) == Some("message");
        message && part.value.is_object() && !part.is_one_of("type", known)
    });
    parts.map(|(_, part)| part.found("not in a message of this role")).collect()
}

pub(super) fn empty_texts(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for message in of_kind(body, "message") {
        let content = message.get("content");
        let blank = content.filter(|at| at.text().is_some_and(is_blank));
        found.extend(blank.map(|at| at.found("an empty text")));
    }
    for (_, part) in parts(body) {
        let text = part.is_one_of("type", &["input_text", "output_text"]);
        if text && part.text_of("text").is_none_or(is_blank) {
            found.push(part.found("an empty text"));
        }
    }
    found
}

pub(super) fn odd_phases(body: &Body<'_>) -> Vec<Found> {
    let phased = items(body).into_iter().filter(|item| item.has("phase"));
    phased
        .filter(|item| {
            !is_assistant(item) || !item.is_one_of("phase", &["commentary", "final_answer"])
        })
        .map(|item| item.found_in("phase", "not a phase of the assistant"))
        .collect()
}

pub(super) fn large_media(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let caps = [("image_url", body.server.image_cap), ("file_data", body.server.file_cap)];
    for (_, part) in parts(body) {
        for (key, cap) in caps {
            if part.text_of(key).is_some_and(|data| data.len() > cap) {
                found.push(part.found_in(key, format_args!("more than {cap} bytes")));
            }
        }
    }
    found
}

pub(super) fn nameless_files(body: &Body<'_>) -> Vec<Found> {
    let files = parts(body).into_iter().filter(|(_, part)| part.has("file_data"));
    files
        .filter(|(_, file)| file.text_of("filename").is_none_or(str::is_empty))
        .map(|(_, file)| file.found("no filename"))
        .collect()
}

pub(super) fn broken_calls(body: &Body<'_>) -> Vec<Found> {
    let keys = ["call_id", "name", "arguments"];
    let whole = |call: &Node<'_>| keys.iter().all(|key| call.text_of(key).is_some());
    let broken = of_kind(body, "function_call").into_iter().filter(|call| !whole(call));
    broken.map(|call| call.found("not {call_id, name, arguments}")).collect()
}

pub(super) fn broken_outputs(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for item in of_kind(body, "function_call_output") {
        if item.text_of("output").is_none() {
            found.extend(not_objects(&item, "output", usize::MAX));
        }
        let known = ["input_text", "input_image", "input_file"];
        let parts = item.list("output").into_iter().filter(|part| part.value.is_object());
        let others = parts.filter(|part| !part.is_one_of("type", &known));
        found.extend(others.map(|part| part.found("not in an output")));
    }
    found
}

pub(super) fn long_outputs(body: &Body<'_>) -> Vec<Found> {
    let cap = body.server.result_cap;
    let long = |text: &str| text.len() > cap && text.chars().count() > cap;
    let outputs = of_kind(body, "function_call_output").into_iter();
    outputs
        .filter(|item| item.text_of("output").is_some_and(long))
        .map(|item| item.found_in("output", format_args!("more than {cap} characters")))
        .collect()
}

pub(super) fn early_outputs(body: &Body<'_>) -> Vec<Found> {
    let items = items(body);
    let mut found = Vec::new();
    for (place, output) in items.iter().enumerate() {
        let is_call = |item: &Node<'_>| {
            kind(item) == Some("function_call")
                && item.text_of("call_id") == output.text_of("call_id")
        };
        let later = items.iter().skip(place).any(is_call);
        let earlier = items.iter().take(place).any(is_call);
        if kind(output) == Some("function_call_output") && later && !earlier {
            found.push(output.found("before its call"));
        }
    }
    found
}

pub(super) fn interruptions(body: &Body<'_>) -> Vec<Found> {
    if !body.server.adjacent_results {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut open = Vec::new();
    for item in items(body) {
        match kind(&item) {
            Some("function_call") => open.push(item.text_of("call_id")),
            Some("function_call_output") => open.retain(|id| *id != item.text_of("call_id")),
            _ if !open.is_empty() => found.push(item.found("between a call and its output")),
            _ => {}
        }
    }
    found
}

pub(super) fn open_reasoning(body: &Body<'_>) -> Vec<Found> {
    let encrypted = |item: &Node<'_>| {
        let content = item.text_of("encrypted_content").is_some_and(|text| !text.is_empty());
        content && item.get("summary").is_some_and(|summary| summary.value.is_array())
    };
    let items = of_kind(body, "reasoning").into_iter().filter(|_| body.server.stateless);
    items
        .filter(|item| !encrypted(item))
        .map(|item| item.found("no encrypted_content or no list as summary"))
        .collect()
}

pub(super) fn trailing_reasoning(body: &Body<'_>) -> Vec<Found> {
    let items = items(body);
    let mut found = Vec::new();
    for (place, item) in items.iter().enumerate() {
        if kind(item) != Some("reasoning") {
            continue;
        }
        let next = items.iter().skip(place + 1).find(|item| kind(item) != Some("reasoning"));
        let produced = next.is_some_and(|next| {
            let output = kind(next).is_some_and(|kind| kind.ends_with("_output"));
            is_assistant(next) || kind(next) != Some("message") && !output
        });
        if !produced {
            found.push(item.found("what it led to is missing"));
        }
    }
    found
}

pub(super) fn stored_ids(body: &Body<'_>) -> Vec<Found> {
    let items = items(body).into_iter().filter(|_| body.server.stateless);
    // What the service itself made is known by its id only.
    let ours = ["message", "reasoning", "function_call", "function_call_output", "item_reference"];
    items
        .filter(|item| kind(item).is_some_and(|kind| ours.contains(&kind)))
        .filter_map(|item| item.get("id"))
        .map(|id| id.found("the id of a stored item"))
        .collect()
}
