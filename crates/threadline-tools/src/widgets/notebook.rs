//! The memory notebook: a text that an agent keeps for itself.
//!
//! What a call asks for is worked out against the text as it is (`edit`), what comes of it is
//! recorded as a `change`, and only that is replayed: the rules of a call may improve, and old
//! histories still give the same text, byte for byte.

mod change;
mod edit;
mod show;

use std::sync::Arc;

use change::Recorded;
use edit::{Edit, Unfit};
use serde::Deserialize;
use threadline_core::history::fact::Verdict;
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::Section;
use threadline_core::tool::{Handling, ToolSpec};
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

use crate::typed;

/// The most that a notebook holds. It may be raised and never lowered: what was recorded under it
/// has to stay.
pub const TEXT_CAP_BYTES: usize = 32 * 1024;
/// The widget's name, in records and snapshots.
pub const NAME: &str = "notebook";
/// The version of its encoded state.
const STATE_VERSION: u32 = 1;

const APPEND: &str = "notebook_append";
const REPLACE: &str = "notebook_replace";
const READ: &str = "notebook_read";

/// The memory notebook: one text, with line feeds only and no white space at its end.
///
/// ```
/// use threadline_tools::widgets::notebook::Notebook;
///
/// // What a person sets goes the same way as what an agent notes: as a recorded change.
/// assert_eq!(&*Notebook::set("tea, no sugar\r\n").unwrap(), r#"{"set":"tea, no sugar"}"#);
/// assert_eq!(&*Notebook::set("").unwrap(), r#"{"set":""}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notebook {
    text: String,
}

impl Notebook {
    /// An empty notebook.
    pub const fn new() -> Self {
        Self { text: String::new() }
    }

    /// What is in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The change by which a person replaces the whole text; an empty text clears it.
    pub fn set(text: &str) -> Result<Arc<str>, TooLong> {
        let text = edit::normal(text);
        match text.len() {
            bytes if bytes > TEXT_CAP_BYTES => Err(TooLong { bytes }),
            _ => Ok(Recorded::Set(text).encode()),
        }
    }

    /// What comes of an edit: the change and the answer, or why it cannot be.
    fn reply(
        &self,
        outcome: Result<Edit, Unfit>,
        operation: &'static str,
    ) -> Result<Reply, Refusal> {
        let edit = outcome.map_err(|unfit| self.refusal(&unfit, operation))?;
        let Some(recorded) = &edit.recorded else {
            return Ok(Reply {
                changes: Vec::new(),
                result: vec![Section::text(edit.told)],
                attachments: Vec::new(),
                metadata: self.measured(operation, &self.text),
            });
        };
        let after = recorded
            .apply(&self.text)
            .map_err(|message| self.refusal(&Unfit::new("does_not_fit", message), operation))?;
        Ok(Reply {
            changes: vec![recorded.encode()],
            result: vec![show::result(&edit, &self.text, &after)],
            attachments: Vec::new(),
            metadata: self.measured(operation, &after),
        })
    }

    fn measured(&self, operation: &str, after: &str) -> Metadata {
        let (before, after) = (number(self.text.len()), number(after.len()));
        Metadata::fitted([
            ("operation", Value::Text(operation.to_owned())),
            ("previous_length", Value::Number(before)),
            ("new_length", Value::Number(after)),
            ("delta", Value::Number(after - before)),
        ])
    }

    fn refusal(&self, unfit: &Unfit, operation: &str) -> Refusal {
        Refusal {
            result: vec![show::refusal(unfit)],
            metadata: Metadata::fitted([
                ("operation", Value::Text(operation.to_owned())),
                ("error", Value::Text(unfit.code.to_owned())),
                ("previous_length", Value::Number(number(self.text.len()))),
            ]),
        }
    }
}

#[derive(Deserialize)]
struct Append {
    text: String,
}

#[derive(Deserialize)]
struct Replace {
    find: String,
    with: String,
    anchor: Option<String>,
}

#[derive(Deserialize)]
struct Read {
    line: Option<usize>,
}

impl Widget for Notebook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "a text that the agent keeps for itself: what it wants to remember"
    }

    fn scope(&self) -> Scope {
        Scope::Agent
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            tool(
                APPEND,
                "Adds a text at the end of your notebook, on a line of its own. Use it for what \
                 should be remembered beyond this turn.",
                r#"{"type":"object","properties":{"text":{"type":"string","description":"what to add","minLength":1}},"required":["text"]}"#,
            ),
            tool(
                REPLACE,
                "Replaces a text in your notebook by another, or deletes it if the other is \
                 empty; a line that becomes empty goes. The text has to be there exactly once; \
                 if it is there several times, give an anchor: then the first one after the \
                 anchor is meant.",
                r#"{"type":"object","properties":{"find":{"type":"string","description":"the text as it is in the notebook","minLength":1},"with":{"type":"string","description":"what to put in its place; empty to delete it"},"anchor":{"type":"string","description":"a text somewhere before the one that is meant; empty for the start"}},"required":["find","with"]}"#,
            ),
            tool(
                READ,
                "Reads your notebook from a line on. Only needed when the live screen does not \
                 show all of it.",
                r#"{"type":"object","properties":{"line":{"type":"integer","description":"the line to start at, counted from 1","minimum":1}}}"#,
            ),
        ]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        match call.tool {
            APPEND => {
                let outcome = read(call.arguments)
                    .and_then(|Append { text }| edit::append(&self.text, &text));
                self.reply(outcome, "append")
            }
            REPLACE => {
                let outcome = read(call.arguments).and_then(|Replace { find, with, anchor }| {
                    edit::replace(&self.text, &find, &with, anchor.as_deref())
                });
                self.reply(outcome, "replace")
            }
            READ => {
                let outcome = read(call.arguments)
                    .and_then(|Read { line }| show::page(&self.text, line.unwrap_or(1)));
                match outcome {
                    Ok(section) => Ok(Reply {
                        result: vec![section],
                        metadata: self.measured("read", &self.text),
                        ..Reply::default()
                    }),
                    Err(unfit) => Err(self.refusal(&unfit, "read")),
                }
            }
            other => {
                let message = format!("the notebook has no tool {other:?}");
                Err(self.refusal(&Unfit::new("tool_unknown", message), "none"))
            }
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        let after = Recorded::decode(change.text).and_then(|recorded| recorded.apply(&self.text));
        self.text = after.map_err(|message| ChangeRefused { widget: NAME.into(), message })?;
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = show::fragment(&self.text, view.cap_bytes);
        let rest = (!self.text.is_empty()).then(|| READ.into());
        Some(Fragment { text, rest })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: STATE_VERSION, bytes: self.text.clone().into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let text = String::from_utf8(state.bytes.clone()).ok();
        let text = text.filter(|text| state.version == STATE_VERSION && change::may_be(text));
        self.text = text.ok_or(StateUnreadable { widget: NAME.into(), version: state.version })?;
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

/// A text is longer than a notebook may be: shorten it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a notebook holds at most {TEXT_CAP_BYTES} bytes, not {bytes}; shorten the text")]
pub struct TooLong {
    /// How long it is.
    pub bytes: usize,
}

fn tool(name: &str, description: &str, schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: schema.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Recorded,
    }
}

fn read<T: serde::de::DeserializeOwned>(arguments: &str) -> Result<T, Unfit> {
    typed::read(arguments).map_err(|message| Unfit::new("arguments_invalid", message))
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
