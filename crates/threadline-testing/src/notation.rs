//! Histories as text: one line for each entry, to write tests in and to read results by.
//!
//! ```text
//! @ planner joins primary tools=weather
//! @ planner instruction: be brief
//! user: what is the weather in Oslo?
//! planner asks scripted/m1
//! planner: let me look → weather {"city":"Oslo"} | notes {}
//! weather c5.0 starts read
//! weather c5.0 ok: 4 °C, rain
//! notes c5.1 ok: none
//! planner results
//! planner: It rains.
//! rewind 4
//! ```
//!
//! A line is some words, then, in braces, what of the fact the words leave out, then, after a
//! colon, a text. What is left out has a default: usage is nothing, a digest is that of the call's
//! name, an answer comes from the model that was asked last. Everything that differs from its
//! default stands in the braces as JSON, under the names that records use, so that every fact
//! reads back exactly. A fact that no words fit is written raw: `! #AGENT KIND JSON`.
//!
//! - A text goes on in lines that are indented by four spaces; empty lines belong to it if such a
//!   line follows. A text that could not be read back so is written as a JSON string.
//! - An agent is written by its name, or as `#ID` where the name is none or is not its own. A
//!   thread that is not the one the words imply follows the call or name: `c5.0@coder`.
//! - A call is `c`, its output's seq, a dot, and its index. Calls of an output follow an arrow,
//!   with bars between them; `#` adds the provider's id, `!` says that the arguments were cut off.
//! - A moment is written in full, or as `+10m` from now. `+ 10m` on a line of its own lets time go
//!   by; units are `ms`, `s`, `m`, `h`. Each entry comes a second after the one before.
//! - After a rewind or a fork, lines that begin with `~` say what settling added. They may be left
//!   out; if they are there they must be true.
//! - `copy` makes what follows go on from a copy. `//` begins a remark.
//!
//! Not written are ids, times, causes and metadata of entries, the borders of batches, and the
//! hash of a fork: reading gives entries ids of their own, and each a batch of its own.

mod line;
mod read;
mod story;
mod tracker;
mod words;
mod write;

use std::borrow::Borrow;

use threadline_core::history::Refused;
use threadline_core::history::entry::Entry;

pub use story::Story;

use self::tracker::Tracker;

/// Text that tells no history.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {mistake}")]
pub struct NotationError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub mistake: Mistake,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It can be read, but the rules refuse it.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<String> for Mistake {
    fn from(message: String) -> Self {
        Self::Unreadable(message)
    }
}

/// The history that a text tells.
pub fn parse(text: &str) -> Result<Story, NotationError> {
    let mut story = Story::new();
    story.tell(text)?;
    Ok(story)
}

/// The text that tells these entries, which begin with the first.
pub fn print(entries: impl IntoIterator<Item: Borrow<Entry>>) -> String {
    let mut tracker = Tracker::default();
    let mut text = String::new();
    let mut settling = false;
    for entry in entries {
        let entry: &Entry = entry.borrow();
        let settled = settling && write::settles(&entry.fact);
        if settled {
            text.push_str("~ ");
        }
        settling = settled || write::is_settled_after(&entry.fact);
        text.push_str(&write::line(entry, &tracker));
        text.push('\n');
        tracker.note(entry);
    }
    text
}

#[cfg(test)]
mod tests;
