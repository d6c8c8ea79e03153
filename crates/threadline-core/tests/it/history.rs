//! The history: stories in the notation, what they amount to, and what the rules refuse.

mod fold;
mod rewinds;
mod rules;
mod state;
mod sums;

use threadline_core::history::state::Agent;
use threadline_core::id::{AgentId, Seq};
use threadline_testing::notation::{self, Story};

/// The history that a text tells.
fn story(text: &str) -> Story {
    notation::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An agent at the end of a story.
fn agent(story: &Story, id: u32) -> &Agent {
    story.history().agent(AgentId(id)).unwrap()
}

/// What a story's entries are from one on, as they are written.
fn since(story: &Story, seq: u64) -> String {
    let written = notation::print(story.entries());
    let from = usize::try_from(seq - 1).unwrap();
    written.lines().skip(from).collect::<Vec<_>>().join("\n")
}

/// A story's rewinds: where each stands and leads.
fn rewinds(story: &Story) -> Vec<(Seq, Seq)> {
    let rewound = story.entries().filter(|entry| entry.parent() != entry.seq.before());
    rewound.map(|entry| (entry.seq, entry.parent())).collect()
}
