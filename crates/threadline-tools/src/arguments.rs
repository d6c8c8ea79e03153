//! A call's arguments as the tools here take them: JSON text that has been checked.

use serde::de::DeserializeOwned;
use threadline_core::tool::{ToolOutcome, ToolResult};

/// Reads arguments. They were checked against the schema before; should they not fit all the
/// same, the reason is for the model.
pub(crate) fn read<T: DeserializeOwned>(arguments: &str) -> Result<T, String> {
    serde_json::from_str(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}

/// The answer to arguments that do not fit.
pub(crate) fn failed(message: String) -> ToolOutcome {
    let result = ToolResult::text(message.clone());
    ToolOutcome::Failed(ToolResult { error: Some(message), ..result })
}
