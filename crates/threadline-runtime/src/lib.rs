//! Executes what a conversation's driver decides, and decides nothing itself.
//!
//! - [`Runtime`]: conversations by id: create, submit, watch, and drive them in the background.
//! - [`Drive`]: one leased conversation, step by step; a loop over [`Drive::step`] is the agent.
//! - [`Toolbox`]: runs calls within their bounds.
//! - [`Watcher`]: what watchers receive, resumable by seq.
//!
//! Nothing here is specific to a vendor, a database or a protocol.

mod alarm;
mod at_hand;
mod change;
mod drive;
mod feed;
mod health;
mod inbox_cursor;
mod lease_timer;
mod redact;
mod runtime;
mod thread;
mod toolbox;
mod work;
mod world;

pub use drive::{Drive, DriveError, Stepped};
pub use feed::{CutOff, News, WatchError, Watcher};
pub use runtime::{CreateError, NewAgent, Runtime, Settled};
pub use toolbox::Toolbox;
pub use world::{Pace, World, WorldRefused};
