//! The models that Threadline asks.
//!
//! - [`guide`]: the built-in offline model, so that Threadline does its job with no key and no
//!   network.
//! - [`wired`]: models over HTTP, in whichever protocol they speak.
//! - [`scripted`]: a model that follows a script, faults included, for tests.
//! - [`models`]: a list of targets that is at hand.
//! - [`render`]: all that a model is asked, as one text.
//!
//! Nothing here retries, chooses or keeps a history. Waiting, where a script or a pause asks for
//! it, needs a tokio runtime with its timer; without any, every stream is ready at once.
//!
//! # Example
//!
//! An agent's test gives its model a script and puts the answer together:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::future::poll_fn;
//! use std::sync::Arc;
//!
//! use threadline_core::context::{Context, System};
//! use threadline_core::history::fact::{Block, CallOptions, Purpose};
//! use threadline_core::provider::{AnswerForm, Assembler, Provider, Request, ToolChoice};
//! use threadline_core::tool::Catalogue;
//! use threadline_providers::scripted::{Script, Scripted};
//!
//! let script: Script = "
//!     turn
//!       think A sum. The calculator knows.
//!       call calculator {\"expression\":\"2 + 3\"}
//!     then
//!       say It is {result}.
//! "
//! .parse()?;
//! let model = Scripted::new(script);
//! let request = Request {
//!     target: Arc::new(Scripted::target()),
//!     purpose: Purpose::Step,
//!     context: Arc::new(Context { system: System::default(), parts: Vec::new() }),
//!     media: BTreeMap::new(),
//!     catalogue: Arc::new(Catalogue::default()),
//!     choice: ToolChoice::Free,
//!     form: AnswerForm::Text,
//!     options: CallOptions::default(),
//!     cache_key: None,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let mut stream = model.invoke(request);
//! let mut answer = Assembler::default();
//! while let Some(delta) = poll_fn(|task| stream.as_mut().poll_next(task)).await {
//!     answer.push(&delta?)?;
//! }
//! let blocks = answer.finish().map_err(|_| "it broke off")?.blocks;
//! assert!(matches!(&*blocks, [Block::Thinking(_), Block::ToolCall(_)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access;
pub mod capture;
mod carry;
pub mod dialect;
pub mod endpoint;
pub mod failed;
pub mod guide;
pub mod http;
pub mod models;
pub mod names;
pub mod profile;
pub mod quirks;
pub mod render;
pub mod reply;
pub mod scripted;
pub mod served;
pub mod sse;
pub mod wired;

mod json;
mod play;
mod schema;
mod speech;
mod surrogates;
#[cfg(test)]
mod testing;
