//! The pure core of Threadline: every decision, and no world.
//!
//! One conversation is one append-only, typed history; everything else is derived from it. This
//! crate holds the history and its rules, its durable form, what is derived from it, and the
//! traits that the world is reached through. Nothing here reads a clock, touches a disk or starts
//! a task. In reading order:
//!
//! - [`id`], [`clock`]: names and time, passed in.
//! - [`history`]: facts, entries, records, and the fold over them.
//! - [`outline`], [`tokens`], [`search`]: what is derived from entries one by one.
//! - [`inbox`], [`store`]: what waits for a conversation, and where histories live.
//! - [`transfer`]: how a conversation is carried to another store.
//! - [`context`]: what one invocation sees.
//! - [`provider`], [`tool`], [`widget`]: the seams to models, tools and screens.
//! - [`policy`]: whether a call may run.
//! - [`choose`], [`drive`]: what happens next, and all control flow.
//! - [`sanitise`]: what may be printed.

// A new fact kind, run state or stop reason must not compile before every decision about it is made.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod choose;
pub mod clock;
pub mod context;
pub mod drive;
pub mod history;
pub mod id;
pub mod inbox;
pub mod outline;
pub mod policy;
pub mod provider;
pub mod redact;
pub mod sanitise;
pub mod search;
pub mod store;
pub mod suggest;
pub mod tokens;
pub mod tool;
pub mod transfer;
pub mod widget;
