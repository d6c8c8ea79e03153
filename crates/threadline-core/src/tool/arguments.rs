//! A call's arguments: from what a model wrote to what a tool can run with.
//!
//! Forgiving in, strict out. What is almost JSON is repaired, what is of another type and can mean
//! only one thing is taken as that, and each of it is a warning in the record of the call. What a
//! tool is given is JSON that fits its schema as it is.
//!
//! A schema is read once ([`Schema::new`]) and checks the arguments of every call. All that is
//! wrong is told at once, each with its place, what was expected there and what came, so that a
//! model can put it right in one go. What a schema demands and this version cannot check is
//! refused with the schema: a tool can rely on its arguments.

mod check;
mod coerce;
mod formats;
mod found;
mod json;
mod repair;
mod schema;

use std::fmt;
use std::sync::Arc;

use check::Checked;
use found::Found;
use json::Json;
use schema::Nodes;

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
    /// The schema has so many alternatives within alternatives that the check was given up.
    #[error(
        "the arguments could not be checked in reasonable time; write them exactly as the tool's schema wants them"
    )]
    Tangled,
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
/// It knows `type`, `enum`, `const`, `format` (`date-time`, `date`, `time`, `uri`), `pattern`,
/// `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`,
/// `multipleOf`, `items`, `prefixItems`, `minItems`, `maxItems`, `uniqueItems`, `properties`,
/// `required`, `patternProperties`, `additionalProperties`, `propertyNames`, `minProperties`,
/// `maxProperties`, `allOf`, `anyOf`, `oneOf`, `not`, and `$ref` within the schema. Words that
/// only describe are passed over; other words that demand something are refused.
///
/// An integer is a number written without fraction or exponent.
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
/// let mended = schema.validate("{city: 'Oslo', days: \"3\"}")?;
/// assert_eq!(&*mended.text, r#"{"city":"Oslo","days":3}"#);
/// assert_eq!(
///     mended.warnings,
///     [
///         "repaired: unquoted key at line 1 column 2",
///         "repaired: single quotes at line 1 column 8",
///         "days: took \"3\" as the integer 3",
///     ]
/// );
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
    nodes: Nodes,
}

impl Schema {
    /// Reads a schema, which is that of an object.
    pub fn new(schema: &str) -> Result<Self, SchemaRefused> {
        let json = json::read(schema)
            .map_err(|message| SchemaRefused { message: format!("it is not JSON: {message}") })?;
        Ok(Self { nodes: Nodes::read(&json)? })
    }

    /// Makes of the raw arguments of a call what its tool can run with: repairs and coerces what
    /// needs it, and warns of it. None at all stand for an empty object.
    pub fn validate(&self, raw: &str) -> Result<Validated, ArgumentsRefused> {
        let raw = or_empty(raw);
        if let Ok(value) = json::read(raw)
            && let Ok((found, None)) = fitting(self.check(&value, raw, true))
        {
            return Ok(Validated { text: raw.into(), warnings: found.into_warnings() });
        }
        self.mend(raw)
    }

    /// Checks the raw arguments of a call, of which nothing is repaired or coerced. None at all
    /// stand for an empty object.
    pub fn validate_strictly(&self, raw: &str) -> Result<Validated, ArgumentsRefused> {
        let raw = or_empty(raw);
        let value = json::read(raw).map_err(ArgumentsRefused::NotJson)?;
        let (found, _) = fitting(self.check(&value, raw, false))?;
        Ok(Validated { text: raw.into(), warnings: found.into_warnings() })
    }

    /// Mends arguments in which something has to change, or tells what is wrong. They are read in
    /// a way that keeps how numbers are written, so that those which stay, stay as they are.
    fn mend(&self, raw: &str) -> Result<Validated, ArgumentsRefused> {
        let repaired = repair::read(raw).map_err(ArgumentsRefused::NotJson)?;
        let (found, changed) = fitting(self.check(&repaired.value, raw, true))?;
        let text = changed.as_ref().unwrap_or(&repaired.value).text();
        // What was mended here can be wrong there: the tool gets what fits as it is.
        self.validate_strictly(&text)?;
        let warnings = repaired.warnings().chain(found.into_warnings()).collect();
        Ok(Validated { text: text.into(), warnings })
    }

    fn check<'a>(&self, value: &Json<'a>, text: &str, may_mend: bool) -> Checked<'a> {
        check::check(&self.nodes, value, text.len(), may_mend)
    }
}

/// Repairs the raw arguments of a call without a schema: returns the JSON text of the object that
/// the model meant.
///
/// Returns `None` if the text is JSON already, cannot be repaired, or is not an object.
///
/// ```
/// use threadline_core::tool::repair_json;
///
/// assert_eq!(repair_json("{city: 'Oslo',}").as_deref(), Some(r#"{"city":"Oslo"}"#));
/// assert_eq!(repair_json(r#"{"city": "Oslo"}"#), None);
/// assert_eq!(repair_json(r#"{"city": "Os"#), None);
/// ```
pub fn repair_json(raw: &str) -> Option<String> {
    if json::read(raw).is_ok() {
        return None;
    }
    let repaired = repair::read(raw).ok()?;
    match repaired.value {
        Json::Object(_) => Some(repaired.value.text()),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => None,
    }
}

fn or_empty(raw: &str) -> &str {
    if raw.trim().is_empty() { "{}" } else { raw }
}

/// What was found, if it is nothing that keeps a call from running.
fn fitting(checked: Checked<'_>) -> Result<(Found, Option<Json<'_>>), ArgumentsRefused> {
    let Checked { changed, found, is_tangled } = checked;
    if is_tangled {
        return Err(ArgumentsRefused::Tangled);
    }
    if !found.problems.is_empty() {
        return Err(ArgumentsRefused::DoNotFit { problems: found.problems, more: found.more });
    }
    Ok((found, changed))
}

#[cfg(test)]
mod tests;
