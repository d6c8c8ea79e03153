//! Tools for tests of the program: each adds a line to a file, so that effects can be counted.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};

const SCHEMA: &str = r#"{"type":"object","properties":{"line":{"type":"string"},"ms":{"type":"integer","minimum":0}},"required":["line"]}"#;

/// A tool of every effect, and one that a person is asked about.
pub(super) fn tools(ledger: &Path) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &str, effect, verdict| -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.into(),
            description: "adds a line to a file, then takes its time".into(),
            schema: SCHEMA.into(),
            strict: false,
            server: None,
            verdict,
            handling: Handling::Run(RunRules::usual(effect)),
        };
        Arc::new(AddLine { spec, ledger: ledger.to_path_buf() })
    };
    vec![
        tool("dev_read", Effect::Read, Verdict::Allow),
        tool("dev_idempotent", Effect::Idempotent, Verdict::Allow),
        tool("dev_once", Effect::Once, Verdict::Allow),
        tool("dev_ask", Effect::Once, Verdict::Ask),
    ]
}

struct AddLine {
    spec: ToolSpec,
    ledger: PathBuf,
}

#[derive(Deserialize)]
struct Arguments {
    line: String,
    #[serde(default)]
    ms: u64,
}

#[async_trait]
impl Tool for AddLine {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        match self.add(arguments, &context.effect_key) {
            Ok(ms) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                ToolOutcome::Success(ToolResult::text("the line is added"))
            }
            Err(error) => ToolOutcome::Failed(ToolResult::text(error.to_string())),
        }
    }
}

impl AddLine {
    /// Adds the line; gives how long to take over it.
    fn add(&self, arguments: &str, effect_key: &str) -> anyhow::Result<u64> {
        let Arguments { line, ms } = serde_json::from_str(arguments)?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.ledger)?;
        file.write_all(format!("{} {line} {effect_key}\n", self.spec.name).as_bytes())?;
        Ok(ms)
    }
}
