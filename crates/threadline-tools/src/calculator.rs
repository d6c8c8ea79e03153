//! The calculator: sums as people write them, exact where they can be.
//!
//! Whole and decimal numbers are exact as long as 38 digits hold them; what cannot be exact is
//! told with 15 significant digits and the sign `≈`. Nothing overflows, and no result is a
//! number that only looks like one.

mod number;
mod parse;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::fact::Effect;
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::tool::{Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec};

use crate::text::{one_line, shortened};
use crate::typed;
use number::Number;

/// The longest expression.
pub const EXPRESSION_CAP_BYTES: usize = 4096;
/// How much of an expression stands in a gist.
const GIST_EXPRESSION_BYTES: usize = 60;

/// Works out an expression: the tool `calculator`.
#[derive(Clone, Debug)]
pub struct Calculator {
    spec: ToolSpec,
}

impl Calculator {
    /// The calculator.
    pub fn new() -> Self {
        Self { spec: typed::run::<Arguments>("calculator", Effect::Read) }
    }
}

impl Default for Calculator {
    fn default() -> Self {
        Self::new()
    }
}

/// Works out an arithmetic expression, such as (2 + 3) * 4.5. Knows + - * / ^ (power), %
/// (remainder, with the sign of the first number), parentheses, sqrt, abs, min, max, round(x) or
/// round(x, digits), floor, ceil, ln, log10, pi and e. Exact for whole and decimal numbers of up to
/// 38 digits; other results have 15 digits and are marked ≈. Write numbers without thousands
/// separators.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// what to work out, such as 0.1 + 0.2
    #[schemars(length(min = 1, max = EXPRESSION_CAP_BYTES))]
    expression: String,
}

#[async_trait]
impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, _context: &ToolContext) -> ToolOutcome {
        let Arguments { expression } = match typed::read(arguments) {
            Ok(arguments) => arguments,
            Err(message) => return typed::failed(message),
        };
        let shown = one_line(&expression);
        let short = shortened(&shown, GIST_EXPRESSION_BYTES);
        match evaluate(&expression) {
            Ok(result) => ToolOutcome::Success(ToolResult {
                sections: vec![answer(&format!("{shown} {result}"), format!("{short} {result}"))],
                ..ToolResult::default()
            }),
            Err(error) => ToolOutcome::Failed(ToolResult {
                sections: vec![answer(&error.to_string(), format!("{short}: {error}"))],
                error: Some(error.to_string()),
                ..ToolResult::default()
            }),
        }
    }
}

/// A text whose gist is given.
fn answer(text: &str, gist: String) -> Section {
    let gist = if gist == text { Shorter::Same } else { Shorter::Own(gist.into()) };
    Section { title: None, text: text.into(), recent: Shorter::Same, gist }.derived()
}

/// Works out an expression: the result with its sign, `= 5` or `≈ 0.333333333333333`.
///
/// ```
/// use threadline_tools::calculator::evaluate;
///
/// assert_eq!(evaluate("0.1 + 0.2").unwrap(), "= 0.3");
/// assert_eq!(evaluate("2 / 3").unwrap(), "≈ 0.666666666666667");
/// assert_eq!(evaluate("2 +").unwrap_err().column, 4);
/// ```
pub fn evaluate(expression: &str) -> Result<String, CannotCalculate> {
    let number = parse::evaluate(expression)?;
    let sign = match number {
        Number::Exact(_) => "=",
        Number::Rounded(_) => "≈",
    };
    Ok(format!("{sign} {number}"))
}

/// An expression has no result: change it at the column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct CannotCalculate {
    /// The character of the expression that it is about, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

#[cfg(test)]
mod tests;
