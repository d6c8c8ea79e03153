//! The tool that the model calls: it looks something up, and takes note of what.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use threadline::core::history::fact::{Effect, Verdict};
use threadline::core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};

/// The name that the server's chat template shows calls of.
pub(crate) const LOOKUP: &str = "lookup";

/// Looks something up. Its copies share what was asked.
#[derive(Clone)]
pub(crate) struct Lookup {
    spec: ToolSpec,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Lookup {
    pub(crate) fn new() -> Self {
        let spec = ToolSpec {
            name: LOOKUP.into(),
            description: "looks something up".into(),
            schema:
                r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#
                    .into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Run(RunRules::usual(Effect::Read)),
        };
        Self { spec, asked: Arc::default() }
    }

    /// What it was asked so far, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for Lookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, _: &ToolContext) -> ToolOutcome {
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        let query = arguments["query"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().push(query);
        ToolOutcome::Success(ToolResult::text("forty two"))
    }
}
