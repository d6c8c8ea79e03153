//! Tools from Rust types: a struct is the arguments, its doc comments are what models read.
//!
//! The first doc comment describes the tool, those of the fields its parameters; the schema comes
//! from the types. A function of the arguments is then a tool ([`tool`]); a widget makes the specs
//! of its tools with [`recorded`] and reads its arguments with [`read`].

mod schema;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};

use crate::text::shortened;

/// How much is told of an error in a call's arguments.
const ERROR_CAP_BYTES: usize = 1000;

/// A tool that is a function.
///
/// What only reads is allowed, all else asks a person, unless its [`spec`](Self::spec) is told
/// otherwise.
pub struct FnTool<A, F> {
    /// What it is. Its verdict, its limits and its words can be changed here.
    pub spec: ToolSpec,
    function: F,
    arguments: PhantomData<fn(A)>,
}

/// A function as a tool. Whatever can be an answer may come of it: a text, a
/// [`Section`](threadline_core::history::sections::Section) with three levels, a [`ToolResult`]
/// with attachments and data, or a `Result` of these.
///
/// The rules are an [`Effect`], for the usual ones, or [`RunRules`].
///
/// # Example
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use threadline_core::history::fact::Effect;
/// use threadline_tools::typed::tool;
///
/// /// Turns a text around.
/// #[derive(Deserialize, JsonSchema)]
/// struct Reverse {
///     /// the text
///     text: String,
/// }
///
/// let reverse = tool("reverse", Effect::Read, async |arguments: Reverse, _context| {
///     arguments.text.chars().rev().collect::<String>()
/// });
/// assert_eq!(&*reverse.spec.description, "Turns a text around.");
/// assert_eq!(
///     &*reverse.spec.schema,
///     r#"{"type":"object","properties":{"text":{"description":"the text","type":"string"}},"required":["text"]}"#
/// );
/// ```
pub fn tool<A, F, Answer>(name: &str, rules: impl Into<RunRules>, function: F) -> FnTool<A, F>
where
    A: JsonSchema + DeserializeOwned + Send,
    F: Fn(A, ToolContext) -> Answer + Send + Sync,
    Answer: Future<Output: Into<ToolOutcome>> + Send,
{
    FnTool { spec: run::<A>(name, rules), function, arguments: PhantomData }
}

#[async_trait]
impl<A, F, Answer> Tool for FnTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A, ToolContext) -> Answer + Send + Sync,
    Answer: Future<Output: Into<ToolOutcome>> + Send,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let answer = match read(arguments) {
            Ok(arguments) => (self.function)(arguments, context.clone()),
            Err(message) => return failed(message),
        };
        answer.await.into()
    }
}

impl<A, F> fmt::Debug for FnTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The spec of a tool that is run, with the words and the schema of its arguments.
///
/// What only reads is allowed, all else asks a person.
pub fn run<A: JsonSchema>(name: &str, rules: impl Into<RunRules>) -> ToolSpec {
    let rules = rules.into();
    let verdict = match rules.effect {
        Effect::Read => Verdict::Allow,
        Effect::Idempotent | Effect::Once => Verdict::Ask,
    };
    spec::<A>(name, verdict, Handling::Run(rules))
}

/// The spec of a widget's tool, with the words and the schema of its arguments.
pub fn recorded<A: JsonSchema>(name: &str) -> ToolSpec {
    spec::<A>(name, Verdict::Allow, Handling::Recorded)
}

fn spec<A: JsonSchema>(name: &str, verdict: Verdict, handling: Handling) -> ToolSpec {
    let schema::Written { description, schema } = schema::of::<A>();
    ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: schema.into(),
        strict: false,
        server: None,
        verdict,
        handling,
    }
}

/// Reads arguments. They were checked against the schema before; should they not fit all the
/// same, the reason is for the model.
pub fn read<A: DeserializeOwned>(arguments: &str) -> Result<A, String> {
    // An error repeats the value that does not fit, however long it is.
    serde_json::from_str(arguments).map_err(|error| {
        let error = error.to_string();
        format!("the arguments do not fit: {}", shortened(&error, ERROR_CAP_BYTES))
    })
}

/// An answer that says what went wrong, to the model and to people.
pub(crate) fn failed(message: String) -> ToolOutcome {
    let error = Some(message.clone());
    ToolOutcome::Failed(ToolResult { error, ..ToolResult::text(Arc::from(message)) })
}

#[cfg(test)]
mod tests;
