//! A turn that is given up half way goes on where it was.
//!
//! `cargo run --example resume`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use threadline::core::drive::Notice;
use threadline::core::history::fact::{Fact, Input};
use threadline::core::id::Seq;
use threadline::core::inbox::Body;
use threadline::providers::scripted::Scripted;
use threadline::runtime::News;
use threadline::{Setup, ending, item, sqlite};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(Path::new("resume.db")).await?);
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    // A model that does not come to its end, and someone who loses patience.
    let mut setup = Setup::offline(sqlite(path)?);
    setup.provider = Arc::new(Scripted::new("turn\n say 2 + \n hang\n".parse()?));
    let (assistant, runtime) = (setup.assistant("You help with sums."), setup.runtime()?);
    let id = runtime.create(&[assistant]).await?;
    let mut watcher = runtime.watch(id, Seq::ZERO);
    runtime.submit(id, &item(Body::Input(Input::from_person("add 2 and 3")))).await?;
    loop {
        if let News::Notice(Notice::Entry(entry)) = watcher.next().await?
            && let Fact::InvocationStarted(_) = entry.fact
        {
            break;
        }
    }
    runtime.stop().await;
    drop((watcher, runtime));

    // Another day, another process: all it needs is the file.
    let runtime = Setup::offline(sqlite(path)?).runtime()?;
    runtime.start(id);
    runtime.settled(id).await;
    Ok(ending(&runtime, id, Seq(3)).await?.to_string())
}
