//! What comes of a call to a widget: done, with what is to be recorded, or unfit.

use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::widget::Refusal;

use crate::text::{one_line, shortened};
use crate::typed;

/// How much of a refusal stands in its gist.
const GIST_BYTES: usize = 90;

/// What a call comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Done<R> {
    /// The change; none if all is as asked already.
    pub(super) recorded: Option<R>,
    /// What was done, as a sentence.
    pub(super) told: String,
    /// What went and what came, a line each; empty if nothing changed.
    pub(super) diff: String,
    /// What was done, in one line, for later.
    pub(super) gist: String,
}

impl<R> Done<R> {
    /// All is as asked already.
    pub(super) fn nothing(told: String) -> Self {
        Self { recorded: None, gist: told.clone(), told, diff: String::new() }
    }
}

/// Why a call changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The reason in one word, for statistics.
    pub(super) code: &'static str,
    /// The reason, and what to do instead.
    pub(super) message: String,
}

impl Unfit {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The answer to a model, with what was tried; it says what has not changed.
    pub(super) fn refusal(&self, what: &str, operation: &str) -> Refusal {
        let gist = one_line(self.message.lines().next().unwrap_or_default());
        let gist = format!("{what} unchanged: {}", shortened(&gist, GIST_BYTES));
        let (text, gist) = (self.message.as_str().into(), Shorter::Own(gist.into()));
        let section = Section { title: None, text, recent: Shorter::Same, gist }.derived();
        Refusal {
            result: vec![section],
            metadata: Metadata::fitted([
                ("operation", Value::Text(operation.to_owned())),
                ("error", Value::Text(self.code.to_owned())),
            ]),
        }
    }
}

/// Reads the arguments of a call.
pub(super) fn read<T: serde::de::DeserializeOwned>(arguments: &str) -> Result<T, Unfit> {
    typed::read(arguments).map_err(|message| Unfit::new("arguments_invalid", message))
}

/// A count, as metadata has it.
pub(super) fn number(count: usize) -> Value {
    Value::Number(i64::try_from(count).unwrap_or(i64::MAX))
}
