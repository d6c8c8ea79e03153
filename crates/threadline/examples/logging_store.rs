//! A store that logs every call: one hook around another store.
//!
//! `cargo run --example logging_store`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use threadline::core::store::{Layer, Layered, Operation, Storage, StoreError};
use threadline::{Setup, ask, sqlite};

/// Counts the calls to a store by name, and logs those that fail.
struct Logging {
    inner: Arc<dyn Storage>,
    calls: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

#[async_trait]
impl Layer for Logging {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = call.await;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.entry(operation.name).or_default() += 1;
        if let Err(error) = &answer {
            println!("{} failed: {error}", operation.name);
        }
        answer
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for (call, times) in run(Path::new("logging.db")).await? {
        println!("{call}: {times}");
    }
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<BTreeMap<&'static str, u64>, Box<dyn Error>> {
    let calls = Arc::default();
    let logging = Logging { inner: sqlite(path)?, calls: Arc::clone(&calls) };
    let setup = Setup::offline(Arc::new(Layered(logging)));
    let assistant = setup.assistant("You are a friendly helper.");
    let runtime = setup.runtime()?;
    let id = runtime.create(&[assistant]).await?;
    ask(&runtime, id, "add 2 and 3").await?;
    runtime.stop().await;
    Ok(calls.lock().unwrap_or_else(PoisonError::into_inner).clone())
}
