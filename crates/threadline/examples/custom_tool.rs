//! A tool of one's own. A script stands in for the model that calls it.
//!
//! `cargo run --example custom_tool`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use threadline::core::history::fact::Effect;
use threadline::providers::models::StaticModels;
use threadline::providers::scripted::Scripted;
use threadline::schemars::{self, JsonSchema};
use threadline::{Setup, ask, sqlite, tool};

/// Turns a text around.
#[derive(Deserialize, JsonSchema)]
struct Reverse {
    /// the text
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(Path::new("tool.db")).await?);
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut setup = Setup::offline(sqlite(path)?);
    setup.tools.push(Arc::new(tool("reverse", Effect::Read, async |wish: Reverse, _| {
        wish.text.chars().rev().collect::<String>()
    })));
    let script = "turn\n call reverse {\"text\":\"maet\"}\nthen\n say It is {result}.\n";
    setup.provider = Arc::new(Scripted::new(script.parse()?));
    setup.models = Arc::new(StaticModels::new([Scripted::target()]));
    let (assistant, runtime) = (setup.assistant("You turn texts around."), setup.runtime()?);
    let id = runtime.create(&[assistant]).await?;
    Ok(ask(&runtime, id, "turn maet around").await?.to_string())
}
