//! Threadline: a durable, provider-neutral runtime for LLM agents.
//!
//! This crate is the façade: it puts the parts together. The parts themselves are
//!
//! - [`core`]: the history, every decision over it, and the seams;
//! - [`providers`]: the models, the built-in offline one among them;
//! - [`tools`]: what agents can do out of the box;
//! - [`stores`]: where histories live;
//! - [`runtime`]: what executes the decisions.
//!
//! A function becomes a tool by [`tool`].
//!
//! ```
//! use threadline::{Ending, Setup, ask, sqlite};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! let setup = Setup::offline(sqlite(&folder.path().join("talk.db"))?);
//! let assistant = setup.assistant("You help with sums.");
//! let runtime = setup.runtime()?;
//! let id = runtime.create(&[assistant]).await?;
//! let ending = ask(&runtime, id, "add 2 and 3").await?;
//! assert!(matches!(ending, Ending::Answered { text, .. } if text.contains("5")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use schemars;
pub use threadline_core as core;
pub use threadline_providers as providers;
pub use threadline_runtime as runtime;
pub use threadline_stores as stores;
pub use threadline_tools as tools;

mod setup;
mod turn;

pub use setup::{Setup, built_in_widgets, sqlite, sqlite_read_only};
pub use threadline_tools::typed::tool;
pub use turn::{AskError, Ending, ask, asked, asked_for, busy, changed, ending, item, taken};

use threadline_core::clock::{Clock, Timestamp};
use threadline_core::id::IdSource;

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock that everyone else asks")]
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

/// Random ids from the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    #[expect(clippy::expect_used, reason = "no id is safer than one that may not be unique")]
    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        bytes
    }
}

/// The pages of the documentation that are programs: tried as they stand.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/adding-a-tool.md")]
    struct AddingATool;

    #[doc = include_str!("../../../docs/adding-a-widget.md")]
    struct AddingAWidget;
}
