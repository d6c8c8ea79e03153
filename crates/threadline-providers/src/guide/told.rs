//! Results told in plain sentences.

use serde_json::Value;
use threadline_core::context::ResultPart;
use threadline_core::history::fact::{Status, ToolCall};

/// The most of a file that is shown in an answer.
const SHOWN_CAP_BYTES: usize = 4_000;
/// The most of a text that is quoted in a sentence.
const BRIEF_CAP_BYTES: usize = 80;

/// What stands before why an agent did not answer.
const NO_ANSWER: &str = "no answer: ";

/// What came of a call.
pub(super) fn told(call: Option<&ToolCall>, result: &ResultPart) -> String {
    let arguments = call.and_then(|call| serde_json::from_str(&call.arguments).ok());
    let arguments = arguments.unwrap_or(Value::Null);
    let text = result.text.trim();
    let task = task(&result.name, &arguments);
    match result.status {
        Status::Success => done(&result.name, &arguments, text),
        Status::Failed if &*result.name == "call_agent" && text.starts_with(NO_ANSWER) => {
            spoken(argument(&arguments, "name", "The agent"), "", text)
        }
        Status::Failed => failed(&format!("I could not {task}"), text),
        Status::Skipped => skipped(&task, text),
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

/// What could not be done, and why: in a line, and between fences if there is more to it.
fn failed(what: &str, why: &str) -> String {
    match why.split_once('\n') {
        Some((why, more)) => format!("{what}: {why}\n\n{}", fenced(more)),
        None => reasoned(what, why),
    }
}

/// That a call was not made, why, and what to do if it should be.
fn skipped(task: &str, text: &str) -> String {
    let what = format!("I did not {task}");
    let Some(why) = text.strip_prefix("not run: ") else { return reasoned(&what, text) };
    let why = why.trim_end_matches('.');
    let advice = if why.contains("declined") {
        " Nothing was changed. If you want it after all, ask again and allow it."
    } else if why.contains("rule") {
        " Change the rule if you want it done."
    } else {
        ""
    };
    format!("{what}: {why}.{advice}")
}

/// What a call was for.
fn task(tool: &str, arguments: &Value) -> String {
    let path = |none| argument(arguments, "path", none);
    let key = || argument(arguments, "key", "that");
    match tool {
        "calculator" => format!("work out {}", argument(arguments, "expression", "that")),
        "list_files" => format!("list the files of {}", path("the workspace")),
        "read_file" => format!("read {}", path("the file")),
        "search_files" => {
            let text = argument(arguments, "text", "that");
            format!("search {} for “{}”", path("the workspace"), brief(text))
        }
        "write_file" => format!("write {}", path("the file")),
        "edit_file" => format!("change {}", path("the file")),
        "recall" => format!("recall {}", recalled(arguments)),
        "notebook_append" => format!("note “{}”", argument(arguments, "text", "that")),
        "notebook_replace" if is_strike(arguments) => format!("forget “{}”", struck(arguments)),
        "notebook_replace" | "notebook_replace_span" => "change the notebook".to_owned(),
        "task_add" => format!("add {}", titles(arguments)),
        "task_start" => format!("start {}", tasks(arguments)),
        "task_finish" => format!("finish {}", tasks(arguments)),
        "task_drop" => format!("drop {}", tasks(arguments)),
        "task_move" => format!("move {}", tasks(arguments)),
        "task_list" => "list the tasks".to_owned(),
        "resource_put" => format!("share that as `{}`", key()),
        "resource_get" => format!("get `{}`", key()),
        "resource_drop" => format!("unshare `{}`", key()),
        "resource_list" => "list what is shared".to_owned(),
        "call_agent" => format!("ask {}", argument(arguments, "name", "the agent")),
        "wait" => "wait".to_owned(),
        "set_timer" => "set the timer".to_owned(),
        "clear_timer" => format!("take back {}", timer(arguments)),
        other => format!("do what `{other}` does"),
    }
}

fn done(tool: &str, arguments: &Value, text: &str) -> String {
    let path = |none| argument(arguments, "path", none);
    let key = || argument(arguments, "key", "that");
    if let Some(why) = text.strip_prefix("nothing changed") {
        return format!("Nothing changed{}.", why.trim_end_matches('.'));
    }
    match tool {
        "calculator" if text.contains(['=', '≈']) => format!("{}.", text.trim_end_matches('.')),
        "calculator" => format!("{} = {text}.", argument(arguments, "expression", "That")),
        "list_files" if is_empty(text) => format!("{} is empty.", path("The workspace")),
        "list_files" => shown(&format!("These are the files of {}", path("the workspace")), text),
        "read_file" if is_empty(text) => format!("{} is empty.", path("The file")),
        "read_file" => shown(&format!("Here is {}", path("the file")), text),
        "search_files" => {
            let what = brief(argument(arguments, "text", "that"));
            let at =
                arguments.get("path").map_or_else(String::new, |_| format!(" in {}", path("")));
            match nothing_found(text) {
                Some(rest) => format!("Nothing found{rest}."),
                None => shown(&format!("This is what I have found for “{what}”{at}"), text),
            }
        }
        "write_file" => worded(&format!("I have written {}", path("the file")), text),
        "edit_file" => worded(&format!("I have changed {}", path("the file")), text),
        "recall" => shown(&format!("This is what I recall of {}", recalled(arguments)), text),
        "notebook_append" => format!("I will remember: {}", argument(arguments, "text", "that")),
        "notebook_replace" if is_strike(arguments) => {
            format!("I have forgotten: {}", struck(arguments))
        }
        "notebook_replace" | "notebook_replace_span" => {
            format!("The notebook now has: {}", argument(arguments, "with", "that"))
        }
        "task_add" => {
            let what = format!("I have added {}", titles(arguments));
            match text.split_once('\n') {
                Some((_, tasks)) => shown(&what, tasks),
                None => format!("{what}."),
            }
        }
        "task_start" | "task_finish" | "task_drop" | "task_move" => {
            let told = text.lines().next().unwrap_or_default();
            worded(&format!("I was able to {}", task(tool, arguments)), told)
        }
        "task_list" if text.starts_with("there are no tasks") => {
            "There are no tasks. Say `add a task: X` to add one.".to_owned()
        }
        "task_list" => shown("These are the tasks", text),
        "resource_put" => format!("I have shared that as `{}`.", key()),
        "resource_get" => shown(&format!("This is under `{}`", key()), text),
        "resource_drop" => format!("`{}` is no longer shared.", key()),
        "resource_list" if text.starts_with("nothing is shared") => {
            "Nothing is shared. Say `share X as KEY` to share something.".to_owned()
        }
        "resource_list" => shown("This is shared", text),
        "call_agent" => {
            let name = argument(arguments, "name", "The agent");
            match arguments.get("wait") {
                Some(Value::Bool(false)) => {
                    format!("{name} has the task. I will tell you the answer when it comes.")
                }
                _ => spoken(name, "", text),
            }
        }
        "wait" => waited(arguments, text),
        "set_timer" => match text.strip_prefix("timer ").and_then(|text| text.split_once(' ')) {
            Some((number, when)) => {
                let when = when.replacen("wakes you", "it wakes me", 1);
                format!("Timer {number} is set: {when}. `stop timer {number}` takes it back.")
            }
            None => reasoned("The timer is set", text),
        },
        "clear_timer" => {
            let timer = timer(arguments);
            format!("{} is taken back.", timer.replacen('t', "T", 1))
        }
        other => reasoned(&format!("`{other}` is done"), text),
    }
}

/// What an agent answered, or why it did not.
pub(super) fn spoken(name: &str, verb: &str, text: &str) -> String {
    match text.strip_prefix(NO_ANSWER) {
        Some(why) => format!("{name} gave no answer: {why}"),
        None if text.contains('\n') => format!("{name}{verb}:\n\n{text}"),
        None => format!("{name}{verb}: {text}"),
    }
}

/// What came of a wait.
fn waited(arguments: &Value, text: &str) -> String {
    let how_long = match (arguments.get("seconds").and_then(Value::as_u64), arguments.get("until"))
    {
        (Some(1), _) => " 1 second".to_owned(),
        (Some(seconds), _) => format!(" {seconds} seconds"),
        (None, Some(Value::String(until))) => format!(" until {until}"),
        (None, _) => String::new(),
    };
    match text {
        "the time has come" => format!("I have waited{how_long}."),
        text if text.starts_with("ended early") => {
            "I have not waited to the end: a message came.".to_owned()
        }
        text => reasoned("I did not have to wait", text),
    }
}

/// The timer that was meant.
fn timer(arguments: &Value) -> String {
    arguments.get("timer").map_or_else(|| "the timer".to_owned(), |n| format!("timer {n}"))
}

/// Whether a tool says that there is nothing in a file or a folder.
fn is_empty(text: &str) -> bool {
    text.is_empty() || (text.starts_with('(') && text.ends_with(" is empty)"))
}

/// What a search says after that it found nothing, if it did not.
fn nothing_found(text: &str) -> Option<&str> {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    text.strip_prefix("nothing found").filter(|rest| !rest.contains('\n'))
}

/// What a tool says that it has done, and the rest between fences. If its words are not such, a
/// sentence stands before them.
fn worded(what: &str, text: &str) -> String {
    const DONE: [&str; 8] =
        ["created", "replaced", "edited", "started", "finished", "dropped", "moved", "added"];
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    match line.split_once(' ') {
        Some((verb, _)) if DONE.contains(&verb) => {
            shown(&format!("I have {}", line.trim_end_matches('.')), rest)
        }
        Some(_) | None => shown(what, text),
    }
}

/// A sentence and what it announces, between fences.
fn shown(what: &str, text: &str) -> String {
    if text.is_empty() { format!("{what}.") } else { format!("{what}:\n\n{}", fenced(text)) }
}

fn argument<'a>(arguments: &'a Value, key: &str, none: &'a str) -> &'a str {
    arguments.get(key).and_then(Value::as_str).unwrap_or(none)
}

/// What was to be added.
fn titles(arguments: &Value) -> String {
    match arguments.get("titles").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::String(title)]) => format!("“{}” to the tasks", brief(title)),
        Some(titles) => format!("{} tasks", titles.len()),
        None => "that".to_owned(),
    }
}

/// The tasks that were meant: one by its number, or several.
fn tasks(arguments: &Value) -> String {
    let several = arguments.get("tasks").and_then(Value::as_array);
    let numbers = several.map_or_else(
        || arguments.get("task").into_iter().collect(),
        |tasks| tasks.iter().collect::<Vec<_>>(),
    );
    match &*numbers {
        [] => "the task".to_owned(),
        [one] => format!("task {one}"),
        [others @ .., last] => {
            let others = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("tasks {others} and {last}")
        }
    }
}

/// The first line of a text, as much of it as a sentence bears.
fn brief(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let head = line.get(..line.floor_char_boundary(BRIEF_CAP_BYTES)).unwrap_or(line);
    if head.len() < text.trim().len() { format!("{head}…") } else { head.to_owned() }
}

/// Whether a replacement only takes lines away.
fn is_strike(arguments: &Value) -> bool {
    let found = argument(arguments, "find", "").lines().collect::<Vec<_>>();
    argument(arguments, "with", "").lines().all(|line| found.contains(&line))
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
