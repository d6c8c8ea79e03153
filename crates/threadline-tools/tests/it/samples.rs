//! The widgets that are tested in conversations, and calls to their tools, right and wrong ones.
//!
//! A widget is added by a line in [`widgets`] and one in [`calls`] for each of its tools.

use serde_json::{Value, json};
use threadline_core::widget::Widget;
use threadline_testing::ids::Choices;
use threadline_tools::widgets::notebook::Notebook;

/// The widgets, empty.
pub(crate) fn widgets() -> Vec<Box<dyn Widget>> {
    vec![Box::new(Notebook::new())]
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
    ]
}

/// Makes a change in a widget's own words.
type MakeChange = fn(&mut Choices) -> String;

/// What a person may change without a call: the widget, and the change in its own words.
pub(crate) fn changes() -> Vec<(&'static str, MakeChange)> {
    vec![("notebook", |choices| Notebook::set(&text(choices)).unwrap().to_string())]
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
