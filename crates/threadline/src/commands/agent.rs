//! What the commands share that talk with an agent.

use std::path::Path;

use anyhow::Context as _;
use threadline::Setup;
use threadline_core::id::Seq;

use crate::talk::Talk;

/// The instruction of an agent that was given none.
const INSTRUCTION: &str = "You are an assistant in a terminal. Answer briefly and in plain text. \
    Use your tools where they help, and your notebook for what should be remembered.";

/// The instruction that was given: a text, or with `@` the text of a file.
pub(super) fn instruction(given: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let Some(name) = given.strip_prefix('@') else { return Ok(Some(given.to_owned())) };
    let path = Path::new(name);
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the instruction {}", path.display()))?;
    Ok(Some(text.trim_end().to_owned()))
}

/// The instruction that an agent gets.
pub(super) fn effective(given: Option<&str>) -> &str {
    given.unwrap_or(INSTRUCTION)
}

/// Begins a conversation with the usual agent.
pub(super) async fn begin(setup: Setup, instruction: Option<&str>) -> anyhow::Result<Talk> {
    let assistant = setup.assistant(effective(instruction));
    let runtime = setup.runtime()?;
    let id = runtime.create(&[assistant]).await?;
    Ok(Talk::new(runtime, id, Seq::ZERO))
}
