//! A tool of one's own. A script stands in for the model that calls it.
//!
//! `cargo run --example custom_tool`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use threadline::core::history::fact::{Effect, Verdict};
use threadline::core::tool::{Handling, RunRules, Tool, ToolContext, ToolOutcome};
use threadline::core::tool::{ToolResult, ToolSpec};
use threadline::providers::models::StaticModels;
use threadline::providers::scripted::Scripted;
use threadline::{Setup, ask, sqlite};

const SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;

/// Turns a text around.
struct Reverse(ToolSpec);

#[async_trait]
impl Tool for Reverse {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, arguments: &str, _: &ToolContext) -> ToolOutcome {
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        let text = arguments.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        ToolOutcome::Success(ToolResult::text(text.chars().rev().collect::<String>()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(Path::new("tool.db")).await?);
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut setup = Setup::offline(sqlite(path)?);
    setup.tools.push(Arc::new(Reverse(ToolSpec {
        name: "reverse".into(),
        description: "turns a text around".into(),
        schema: SCHEMA.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Run(RunRules::usual(Effect::Read)),
    })));
    let script = "turn\n call reverse {\"text\":\"maet\"}\nthen\n say It is {result}.\n";
    setup.provider = Arc::new(Scripted::new(script.parse()?));
    setup.models = Arc::new(StaticModels::new([Scripted::target()]));
    let (assistant, runtime) = (setup.assistant("You turn texts around."), setup.runtime()?);
    let id = runtime.create(&[assistant]).await?;
    Ok(ask(&runtime, id, "turn maet around").await?.to_string())
}
