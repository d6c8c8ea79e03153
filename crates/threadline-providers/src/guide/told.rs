//! Results told in plain sentences.

use serde_json::Value;
use threadline_core::context::ResultPart;
use threadline_core::history::fact::{Status, ToolCall};

/// The most of a file that is shown in an answer.
const SHOWN_CAP_BYTES: usize = 4_000;

/// What came of a call.
pub(super) fn told(call: Option<&ToolCall>, result: &ResultPart) -> String {
    let arguments = call.and_then(|call| serde_json::from_str(&call.arguments).ok());
    let arguments = arguments.unwrap_or(Value::Null);
    let text = result.text.trim();
    let task = task(&result.name, &arguments);
    match result.status {
        Status::Success => done(&result.name, &arguments, text),
        Status::Failed => reasoned(&format!("I could not {task}"), text),
        Status::Skipped => reasoned(&format!("I did not {task}"), text),
        Status::Unknown => {
            let why = if text.is_empty() { String::new() } else { format!(" ({text})") };
            format!(
                "I do not know whether I managed to {task}: it was started, and no answer came\
                 {why}. Please check before you ask for it again."
            )
        }
    }
}

fn reasoned(what: &str, why: &str) -> String {
    if why.is_empty() { format!("{what}.") } else { format!("{what}: {why}") }
}

/// What a call was for.
fn task(tool: &str, arguments: &Value) -> String {
    match tool {
        "calculator" => format!("work out {}", argument(arguments, "expression", "that")),
        "read_file" => format!("read {}", argument(arguments, "path", "the file")),
        "recall" => format!("recall {}", recalled(arguments)),
        "notebook_append" => format!("note “{}”", argument(arguments, "text", "that")),
        "notebook_replace" => format!("forget “{}”", struck(arguments)),
        other => format!("do what `{other}` does"),
    }
}

fn done(tool: &str, arguments: &Value, text: &str) -> String {
    match tool {
        "calculator" if text.contains(['=', '≈']) => format!("{}.", text.trim_end_matches('.')),
        "calculator" => format!("{} = {text}.", argument(arguments, "expression", "That")),
        "read_file"
            if text.is_empty() || (text.starts_with('(') && text.ends_with(" is empty)")) =>
        {
            format!("{} is empty.", argument(arguments, "path", "The file"))
        }
        "read_file" => {
            format!("Here is {}:\n\n{}", argument(arguments, "path", "the file"), fenced(text))
        }
        "recall" => {
            format!("This is what I recall of {}:\n\n{}", recalled(arguments), fenced(text))
        }
        "notebook_append" => format!("I will remember: {}", argument(arguments, "text", "that")),
        "notebook_replace" => format!("I have forgotten: {}", struck(arguments)),
        other => reasoned(&format!("`{other}` is done"), text),
    }
}

fn argument<'a>(arguments: &'a Value, key: &str, none: &'a str) -> &'a str {
    arguments.get(key).and_then(Value::as_str).unwrap_or(none)
}

/// What was to be recalled.
fn recalled(arguments: &Value) -> String {
    match arguments.get("seq") {
        Some(seq) => format!("entry {seq}"),
        None => format!("“{}”", argument(arguments, "query", "that")),
    }
}

/// What a replacement took away.
fn struck(arguments: &Value) -> String {
    let stays = argument(arguments, "with", "").lines().collect::<Vec<_>>();
    let lines = argument(arguments, "find", "").lines().map(str::trim);
    let gone = lines.filter(|line| !line.is_empty() && !stays.contains(line));
    gone.collect::<Vec<_>>().join(", ")
}

/// A text between fences longer than any in it, cut if it is long.
fn fenced(text: &str) -> String {
    let shown = text.get(..text.floor_char_boundary(SHOWN_CAP_BYTES)).unwrap_or(text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let rest = text.len() - shown.len();
    let cut = if rest > 0 { format!("\n\n({rest} more bytes)") } else { String::new() };
    format!("{fence}\n{shown}\n{fence}{cut}")
}

/// A list of lines.
pub(super) fn listed(lines: &[impl AsRef<str>]) -> String {
    lines.iter().map(|line| format!("- {}", line.as_ref())).collect::<Vec<_>>().join("\n")
}
