//! The memory notebook: a text that an agent keeps for itself.
//!
//! What a call asks for is found in the text as it is (`find`) and worked out against it (`edit`),
//! what comes of it is recorded as a `change`, and only that is replayed: the rules of a call may
//! improve, and old histories still give the same text, byte for byte. For every line the entry
//! that wrote it is kept (`blame`).

mod arguments;
mod blame;
mod change;
mod edit;
mod find;
mod show;

use std::sync::Arc;

use arguments::{Append, Read, Replace, ReplaceSpan};
use change::Recorded;
use edit::Edit;
use find::Anchored;
use serde::de::DeserializeOwned;
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::Section;
use threadline_core::id::Seq;
use threadline_core::tool::ToolSpec;
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

use crate::typed;
use crate::widgets::answer::Unfit;

/// The most that a notebook holds. It may be raised and never lowered: what was recorded under it
/// has to stay.
pub const TEXT_CAP_BYTES: usize = 32 * 1024;
/// The widget's name, in records and snapshots.
pub const NAME: &str = "notebook";
/// The version of its encoded state.
const STATE_VERSION: u32 = 2;

const APPEND: &str = "notebook_append";
const REPLACE: &str = "notebook_replace";
const REPLACE_SPAN: &str = "notebook_replace_span";
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
    /// For each line of the text the entry that wrote it.
    written: Vec<Seq>,
}

impl Notebook {
    /// An empty notebook.
    pub const fn new() -> Self {
        Self { text: String::new(), written: Vec::new() }
    }

    /// What is in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its lines in order, each with the entry that wrote it: a line that a change left as it was
    /// is still of the entry before.
    pub fn blame(&self) -> impl Iterator<Item = (Seq, &str)> {
        self.written.iter().copied().zip(self.text.lines())
    }

    /// The change by which a person replaces the whole text; an empty text clears it.
    pub fn set(text: &str) -> Result<Arc<str>, TooLong> {
        let text = edit::normal(text);
        match text.len() {
            bytes if bytes > TEXT_CAP_BYTES => Err(TooLong { bytes }),
            _ => Ok(Recorded::Set(text).encode()),
        }
    }

    fn append(&self, arguments: &str) -> Result<Reply, Refusal> {
        const OPERATION: &str = "append";
        let Append { text } = self.read_for(OPERATION, arguments)?;
        self.reply(edit::append(&self.text, &text), &Tried::without_anchor(OPERATION))
    }

    fn replace(&self, arguments: &str) -> Result<Reply, Refusal> {
        const OPERATION: &str = "replace";
        let Replace { find, with, anchor } = self.read_for(OPERATION, arguments)?;
        let tried = self.tried(OPERATION, anchor.as_deref());
        self.reply(edit::replace(&self.text, &find, &with, anchor.as_deref()), &tried)
    }

    fn replace_span(&self, arguments: &str) -> Result<Reply, Refusal> {
        const OPERATION: &str = "replace_span";
        let ReplaceSpan { start, end, with, anchor } = self.read_for(OPERATION, arguments)?;
        let tried = self.tried(OPERATION, anchor.as_deref());
        let outcome = edit::replace_span(&self.text, (&start, &end), &with, anchor.as_deref());
        self.reply(outcome, &tried)
    }

    fn read(&self, arguments: &str) -> Result<Reply, Refusal> {
        const OPERATION: &str = "read";
        let Read { line } = self.read_for(OPERATION, arguments)?;
        let tried = Tried::without_anchor(OPERATION);
        let page = show::page(&self.text, line.unwrap_or(1));
        let page = page.map_err(|unfit| self.refusal(&unfit, &tried))?;
        let metadata = self.measured(&tried, &self.text);
        Ok(Reply { result: vec![page], metadata, ..Reply::default() })
    }

    /// Reads the arguments of a call; those that do not fit are refused.
    fn read_for<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        arguments: &str,
    ) -> Result<T, Refusal> {
        typed::read(arguments).map_err(|message| {
            let unfit = Unfit::new("arguments_invalid", message);
            self.refusal(&unfit, &Tried::without_anchor(operation))
        })
    }

    fn tried(&self, operation: &'static str, anchor: Option<&str>) -> Tried {
        let anchor = anchor.map(edit::lines_normal);
        Tried { operation, anchor: Anchored::of(&self.text, anchor.as_deref()) }
    }

    /// What comes of an edit: the change and the answer, or why it cannot be.
    fn reply(&self, outcome: Result<Edit, Unfit>, tried: &Tried) -> Result<Reply, Refusal> {
        let edit = outcome.map_err(|unfit| self.refusal(&unfit, tried))?;
        let Some(recorded) = &edit.recorded else {
            return Ok(Reply {
                changes: Vec::new(),
                result: vec![Section::text(edit.told)],
                attachments: Vec::new(),
                metadata: self.measured(tried, &self.text),
            });
        };
        let after = recorded
            .apply(&self.text)
            .map_err(|message| self.refusal(&Unfit::new("does_not_fit", message), tried))?;
        Ok(Reply {
            changes: vec![recorded.encode()],
            result: vec![show::result(&edit, &self.text, &after)],
            attachments: Vec::new(),
            metadata: self.measured(tried, &after),
        })
    }

    fn measured(&self, tried: &Tried, after: &str) -> Metadata {
        let (before, after) = (number(self.text.len()), number(after.len()));
        Metadata::fitted([
            ("operation", Value::Text(tried.operation.to_owned())),
            ("previous_length", Value::Number(before)),
            ("new_length", Value::Number(after)),
            ("delta", Value::Number(after - before)),
            ("anchor", Value::Text(tried.anchor.word().to_owned())),
        ])
    }

    fn refusal(&self, unfit: &Unfit, tried: &Tried) -> Refusal {
        let error = Metadata::fitted([("error", Value::Text(unfit.code.to_owned()))]);
        Refusal {
            result: vec![show::refusal(unfit)],
            metadata: self.measured(tried, &self.text).joined(&error),
        }
    }
}

/// What a call tries, in words for statistics.
struct Tried {
    operation: &'static str,
    anchor: Anchored,
}

impl Tried {
    const fn without_anchor(operation: &'static str) -> Self {
        Self { operation, anchor: Anchored::None }
    }
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
            typed::recorded::<Append>(APPEND),
            typed::recorded::<Replace>(REPLACE),
            typed::recorded::<ReplaceSpan>(REPLACE_SPAN),
            typed::recorded::<Read>(READ),
        ]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        match call.tool {
            APPEND => self.append(call.arguments),
            REPLACE => self.replace(call.arguments),
            REPLACE_SPAN => self.replace_span(call.arguments),
            READ => self.read(call.arguments),
            other => {
                let message = format!("the notebook has no tool {other:?}");
                let unfit = Unfit::new("tool_unknown", message);
                Err(self.refusal(&unfit, &Tried::without_anchor("none")))
            }
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        let refused = |message| ChangeRefused { widget: NAME.into(), message };
        let recorded = Recorded::decode(change.text).map_err(refused)?;
        let text = recorded.apply(&self.text).map_err(refused)?;
        let (before, replaced) = ((&*self.text, &*self.written), recorded.replaced(&self.text));
        let written = blame::carried(before, &text, &replaced, change.seq);
        *self = Self { text, written };
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = show::fragment(&self.text, view.cap_bytes);
        let rest = (!self.text.is_empty()).then(|| READ.into());
        Some(Fragment { text, rest })
    }

    /// The entries of the lines in a line of their own, and the text.
    fn encode(&self) -> WidgetState {
        let bytes = format!("{}\n{}", blame::encode(&self.written), self.text).into_bytes();
        WidgetState { version: STATE_VERSION, bytes }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let decoded = Some(&state.bytes).filter(|_| state.version == STATE_VERSION);
        let decoded = decoded.and_then(|bytes| decoded_state(bytes));
        *self = decoded.ok_or(StateUnreadable { widget: NAME.into(), version: state.version })?;
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

fn decoded_state(bytes: &[u8]) -> Option<Notebook> {
    let (written, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let text = Some(text).filter(|text| change::may_be(text))?;
    let written = blame::decode(written, text.lines().count())?;
    Some(Notebook { text: text.to_owned(), written })
}

/// A text is longer than a notebook may be: shorten it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a notebook holds at most {TEXT_CAP_BYTES} bytes, not {bytes}; shorten the text")]
pub struct TooLong {
    /// How long it is.
    pub bytes: usize,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
