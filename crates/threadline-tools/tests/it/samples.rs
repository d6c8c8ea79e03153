//! The widgets that are tested in conversations, and calls to their tools, right and wrong ones.
//!
//! A widget is added by a line in [`widgets`] and one in [`calls`] for each of its tools.

use serde_json::{Value, json};
use threadline_core::widget::Widget;
use threadline_testing::ids::Choices;
use threadline_tools::widgets::board::Board;
use threadline_tools::widgets::clock::Clock;
use threadline_tools::widgets::notebook::Notebook;
use threadline_tools::widgets::resources::Resources;

/// The widgets, empty.
pub(crate) fn widgets() -> Vec<Box<dyn Widget>> {
    vec![
        Box::new(Clock::new()),
        Box::new(Board::new()),
        Box::new(Resources::new()),
        Box::new(Notebook::new()),
    ]
}

/// Makes arguments for a tool.
type Make = fn(&mut Choices) -> Value;

/// The tools, each with what makes arguments for it.
pub(crate) fn calls() -> Vec<(&'static str, Make)> {
    vec![
        ("notebook_append", |choices| json!({ "text": text(choices) })),
        (
            "notebook_replace",
            |choices| json!({ "find": word(choices), "with": text(choices), "anchor": anchor(choices) }),
        ),
        ("notebook_replace_span", |choices| {
            let (start, end) = (word(choices), word(choices));
            json!({ "start": start, "end": end, "with": text(choices), "anchor": anchor(choices) })
        }),
        ("notebook_read", |choices| json!({ "line": 1 + choices.below(5) })),
        ("task_add", titles),
        ("task_start", tasks),
        ("task_finish", tasks),
        ("task_drop", tasks),
        ("task_move", |choices| {
            let to = choices.pick(&["top", "bottom"]).copied().filter(|_| choices.percent(50));
            let before = to.is_none().then(|| number(choices));
            json!({ "task": number(choices), "to": to, "before": before })
        }),
        ("task_list", |choices| json!({ "line": 1 + choices.below(5) })),
        ("resource_put", shared),
        ("resource_get", |choices| json!({ "key": key(choices) })),
        ("resource_list", |_| json!({})),
        ("resource_drop", |choices| json!({ "key": key(choices) })),
    ]
}

/// Makes a change in a widget's own words.
type MakeChange = fn(&mut Choices) -> String;

/// What a person may change without a call: the widget, and the change in its own words.
pub(crate) fn changes() -> Vec<(&'static str, MakeChange)> {
    vec![
        ("notebook", |choices| Notebook::set(&text(choices)).unwrap().to_string()),
        ("board", |choices| json!({ "add": { "titles": [title(choices)] } }).to_string()),
        ("resources", |choices| {
            json!({ "put": { "key": "person", "text": title(choices) } }).to_string()
        }),
    ]
}

/// A word that is often there already.
pub(crate) fn word(choices: &mut Choices) -> String {
    let words = ["tea", "milk", "雨", "```", "- ", "\n", "sugar and salt", "", "honey", "bread"];
    match choices.below(4) {
        0 => format!("note {}", choices.below(9)),
        _ => (*choices.pick(&words).unwrap()).to_owned(),
    }
}

/// A text of some lines.
pub(crate) fn text(choices: &mut Choices) -> String {
    let words = choices.below(6);
    let words: Vec<String> = (0..words).map(|_| word(choices)).collect();
    words.join(if choices.percent(50) { "\n" } else { " " })
}

fn anchor(choices: &mut Choices) -> Option<String> {
    choices.percent(40).then(|| word(choices))
}

/// Some titles, seldom none.
fn titles(choices: &mut Choices) -> Value {
    let titles = (0..choices.below(6)).map(|_| title(choices)).collect::<Vec<_>>();
    json!({ "titles": titles, "before": choices.percent(10).then(|| number(choices)) })
}

/// A title that is seldom there already.
fn title(choices: &mut Choices) -> String {
    format!("task {}", choices.below(99))
}

/// One or two tasks that are often there, sometimes with a note.
fn tasks(choices: &mut Choices) -> Value {
    let tasks = (0..=choices.below(2)).map(|_| number(choices)).collect::<Vec<_>>();
    json!({ "tasks": tasks, "note": choices.percent(50).then(|| word(choices)) })
}

fn number(choices: &mut Choices) -> u64 {
    1 + choices.below(9)
}

/// A text to share, seldom one that cannot be.
fn shared(choices: &mut Choices) -> Value {
    let description = choices.percent(40).then(|| word(choices));
    json!({ "key": key(choices), "text": text(choices), "description": description })
}

/// A key that is often there, seldom one that cannot be.
fn key(choices: &mut Choices) -> &'static str {
    choices.pick(&["a", "b/c", "d-1", "a", "b/c", "person", "No Key"]).copied().unwrap()
}
