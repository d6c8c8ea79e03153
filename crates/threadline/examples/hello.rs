//! A conversation in a few lines, with the model that is built in.
//!
//! `cargo run --example hello`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use threadline::{Setup, ask, sqlite};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(Path::new("hello.db")).await?);
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    let setup = Setup::offline(sqlite(path)?);
    let assistant = setup.assistant("You are a friendly helper.");
    let runtime = setup.runtime()?;
    let id = runtime.create(&[assistant]).await?;
    let mut talk = String::new();
    for text in ["add 2 and 3", "remember that I like tea", "what do you remember?"] {
        writeln!(talk, "> {text}\n{}", ask(&runtime, id, text).await?)?;
    }
    Ok(talk)
}
