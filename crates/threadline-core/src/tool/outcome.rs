//! What came of a call, as its tool tells it.

use std::fmt;
use std::sync::Arc;

use crate::history::fact::{Attachment, Effect, Status};
use crate::history::sections::Section;

/// What came of a call, as its tool tells it. A tool's failure is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It did what it was asked.
    Success(ToolResult),
    /// It did not, and is sure that it did not.
    Failed(ToolResult),
    /// It cannot say whether it did: it was stopped, or its connection was lost.
    NoAnswer(ToolResult),
}

impl ToolOutcome {
    /// The status that it is recorded with. A call without an answer is unknown if it must not
    /// run twice, and failed if it may.
    pub const fn status(&self, effect: Effect) -> Status {
        match (self, effect) {
            (Self::Success(_), _) => Status::Success,
            (Self::Failed(_), _) => Status::Failed,
            (Self::NoAnswer(_), Effect::Once) => Status::Unknown,
            (Self::NoAnswer(_), Effect::Read | Effect::Idempotent) => Status::Failed,
        }
    }

    /// What it has to say.
    pub const fn result(&self) -> &ToolResult {
        match self {
            Self::Success(result) | Self::Failed(result) | Self::NoAnswer(result) => result,
        }
    }
}

/// What a tool has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// What the model reads, at three levels.
    pub sections: Vec<Section>,
    /// What it gives along.
    pub attachments: Vec<Product>,
    /// The same as data: JSON text, kept as an attachment of type `application/json`.
    pub data: Option<Arc<str>>,
    /// What went wrong, for people.
    pub error: Option<String>,
}

impl ToolResult {
    /// A plain text with derived levels.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { sections: vec![Section::text(text)], ..Self::default() }
    }
}

impl From<&str> for ToolResult {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolResult {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Section> for ToolResult {
    fn from(section: Section) -> Self {
        Self { sections: vec![section], ..Self::default() }
    }
}

impl From<&str> for ToolOutcome {
    fn from(text: &str) -> Self {
        Self::Success(text.into())
    }
}

impl From<String> for ToolOutcome {
    fn from(text: String) -> Self {
        Self::Success(text.into())
    }
}

impl From<Section> for ToolOutcome {
    fn from(section: Section) -> Self {
        Self::Success(section.into())
    }
}

impl From<ToolResult> for ToolOutcome {
    fn from(result: ToolResult) -> Self {
        Self::Success(result)
    }
}

/// An error is a failure that the tool is sure of.
impl<T: Into<ToolResult>, E: fmt::Display> From<Result<T, E>> for ToolOutcome {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(result) => Self::Success(result.into()),
            Err(error) => {
                // The alternate form has the causes of errors that know theirs.
                let message = format!("{error:#}");
                let result = ToolResult::text(&*message);
                Self::Failed(ToolResult { error: Some(message), ..result })
            }
        }
    }
}

/// Something a tool gives along with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Product {
    /// New bytes, which are stored before the result is recorded.
    Made {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// Their media type.
        media_type: Arc<str>,
        /// The file's name, if it has one.
        name: Option<Arc<str>>,
    },
    /// An attachment that the thread already has.
    Kept(Attachment),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_that_must_not_run_twice_is_unknown() {
        let outcome = ToolOutcome::NoAnswer(ToolResult::text("connection lost"));
        assert_eq!(outcome.status(Effect::Once), Status::Unknown);
        assert_eq!(outcome.status(Effect::Idempotent), Status::Failed);
        assert_eq!(outcome.status(Effect::Read), Status::Failed);
        let sure = ToolOutcome::Failed(ToolResult::text("no such file"));
        assert_eq!(sure.status(Effect::Once), Status::Failed);
    }
}
