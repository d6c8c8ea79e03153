//! A model of one's own: anything that answers a request with deltas.
//!
//! `cargo run --example custom_provider`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use futures_util::stream;
use threadline::core::history::fact::{Digest, Stop};
use threadline::core::history::metadata::Metadata;
use threadline::core::provider::{
    BlockIndex, BlockKind, Delta, DeltaStream, Prepared, Profile, Provider, Request, Target,
};
use threadline::providers::guide::Guide;
use threadline::providers::models::StaticModels;
use threadline::providers::render::canonical;
use threadline::{Setup, ask, sqlite};

/// Counts what it is asked.
struct Counts;

impl Provider for Counts {
    fn invoke(&self, request: Request) -> DeltaStream {
        let asked = canonical(&request);
        let block = BlockIndex(0);
        let text = format!("I was asked {} words.", asked.split_whitespace().count()).into();
        let body_digest = Digest::of(asked.as_bytes());
        Box::pin(stream::iter([
            Ok(Delta::Prepared(Prepared { body_digest, encoder_version: 1, repairs: Vec::new() })),
            Ok(Delta::Started(Metadata::new())),
            Ok(Delta::Begin { block, kind: BlockKind::Text }),
            Ok(Delta::Fragment { block, text }),
            Ok(Delta::End { block }),
            Ok(Delta::Finished { stop: Stop::Done, metadata: Metadata::new() }),
        ]))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(Path::new("provider.db")).await?);
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut setup = Setup::offline(sqlite(path)?);
    let counts = Target { name: "counts".into(), profile: Profile::unknown(), ..Guide::target() };
    setup.provider = Arc::new(Counts);
    setup.models = Arc::new(StaticModels::new([counts]));
    let (assistant, runtime) = (setup.assistant("You count."), setup.runtime()?);
    let id = runtime.create(&[assistant]).await?;
    Ok(ask(&runtime, id, "how many words is this?").await?.to_string())
}
