//! A call's arguments: from what a model wrote to what a tool can run with.
//!
//! A schema is read once ([`Schema::new`]) and checks the arguments of every call. All that is
//! wrong is told at once, each with its place, what was expected there and what came, so that a
//! model can put it right in one go. What a schema demands and this version cannot check is
//! refused with the schema: a tool can rely on its arguments.

mod check;
mod json;
mod schema;

use std::fmt;
use std::sync::Arc;

use schema::Node;

/// The most problems that are told of one call; the others are counted.
pub const PROBLEMS_CAP: usize = 20;

/// Arguments that fit their schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated {
    /// The JSON object to run with: the raw text itself where nothing had to change.
    pub text: Arc<str>,
    /// What is odd about them, for the record of the call.
    pub warnings: Vec<String>,
}

/// The arguments cannot be run with: an answer for the model, which can call again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsRefused {
    /// They are not JSON, or not one JSON value.
    #[error("the arguments are not valid JSON: {0}")]
    NotJson(String),
    /// They do not fit the schema.
    #[error("{}", Listed(problems, *more))]
    DoNotFit {
        /// What is wrong, in the order of the arguments.
        problems: Vec<Problem>,
        /// How many more problems there are.
        more: usize,
    },
    /// The tool's own schema cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaRefused),
}

/// One thing that is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `filters[2].limit`; empty for the arguments as a whole.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// What came, as JSON, shortened; none if nothing did.
    pub got: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.got {
            Some(got) => write!(f, "expected {}, got {got}", self.expected),
            None => write!(f, "expected {}, but it is missing", self.expected),
        }
    }
}

/// Problems as a text: one on its own line each.
struct Listed<'a>(&'a [Problem], usize);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the arguments do not fit the tool's schema:")?;
        for problem in self.0 {
            write!(f, "\n- {problem}")?;
        }
        match self.1 {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more"),
        }
    }
}

/// A tool's schema cannot be used: change the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool's schema cannot be used: {message}")]
pub struct SchemaRefused {
    /// What is wrong with it, and where.
    pub message: String,
}

/// The schema of a tool's arguments, ready to check calls with.
///
/// It knows `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`,
/// `minItems`, `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum` and
/// `exclusiveMaximum`. Words that only describe are passed over; other words that demand
/// something are refused.
///
/// An integer is a number written without fraction or exponent. A parameter that the schema does
/// not name is an error where `additionalProperties` is false, and a warning where the schema
/// says nothing of it.
///
/// ```
/// use threadline_core::tool::Schema;
///
/// let schema = Schema::new(
///     r#"{"type":"object","required":["city"],
///         "properties":{"city":{"type":"string"},"days":{"type":"integer"}}}"#,
/// )?;
/// assert_eq!(&*schema.validate(r#"{"city":"Oslo"}"#)?.text, r#"{"city":"Oslo"}"#);
///
/// let refused = schema.validate(r#"{"days":"ten"}"#).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "the arguments do not fit the tool's schema:\n\
///      - days: expected integer, got \"ten\"\n\
///      - city: expected string, but it is missing"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    root: Node,
}

impl Schema {
    /// Reads a schema, which is that of an object.
    pub fn new(schema: &str) -> Result<Self, SchemaRefused> {
        let json = json::read(schema)
            .map_err(|message| SchemaRefused { message: format!("it is not JSON: {message}") })?;
        Ok(Self { root: schema::root(&json)? })
    }

    /// Checks the raw arguments of a call. None at all stand for an empty object.
    pub fn validate(&self, raw: &str) -> Result<Validated, ArgumentsRefused> {
        let text = if raw.trim().is_empty() { "{}" } else { raw };
        let json = json::read(text).map_err(ArgumentsRefused::NotJson)?;
        let found = check::check(&self.root, &json);
        if found.problems.is_empty() {
            return Ok(Validated { text: text.into(), warnings: found.warnings });
        }
        Err(ArgumentsRefused::DoNotFit { problems: found.problems, more: found.more })
    }
}

/// Checks the raw arguments of one call against a schema that is not used again.
pub fn validate(schema: &str, raw: &str) -> Result<Validated, ArgumentsRefused> {
    Schema::new(schema)?.validate(raw)
}

#[cfg(test)]
mod tests;
