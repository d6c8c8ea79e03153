//! The outline: one small derived row for each entry that models see.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::history::sections::Levels;
use crate::id::{AgentId, Seq};
use crate::tokens::CounterId;

/// What a planner needs to know of an entry without reading it.
///
/// Rows are derived from entries and a token counter, and can be rebuilt at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineRow {
    /// The thread it belongs to.
    pub agent: AgentId,
    /// The entry.
    pub seq: Seq,
    /// What kind of entry it is.
    pub kind: RowKind,
    /// The tokens it takes at each level.
    pub tokens: Levels<u32>,
    /// The tokens of each result, in the order of the calls, if it seals results.
    pub results: Vec<Levels<u32>>,
    /// Who counted them.
    pub counter: CounterId,
    /// Running sum over the thread's path with everything at Recent, this row included.
    pub recent_sum: u64,
    /// Running sum with everything at the level of a current turn, this row included. Screens are
    /// no part of it: they depend on widgets, and a plan adds those of the turn.
    pub live_sum: u64,
    /// The row before it on its thread's path.
    pub previous: Option<Seq>,
    /// The first input of the turn it belongs to.
    pub turn: Seq,
    /// Which exchange of its thread's path it belongs to, from 1 on.
    pub exchange: u32,
    /// What it is, in one line.
    pub gist: Arc<str>,
}

/// The kinds of entries that models see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// An input of a person or a timer: part of the transcript.
    Message,
    /// Any other input.
    Input,
    /// An output that is not part of the transcript: it has calls, is asked to go on, or answers
    /// something other than a message.
    Output,
    /// A final answer to a message: part of the transcript.
    Answer,
    /// The sealed results of an output's calls.
    Results,
    /// The end of a turn without an answer.
    Ended,
    /// A text that stands for a range.
    Recap,
}

impl RowKind {
    /// All kinds; a kind's place here is its number in a store.
    pub const ALL: [Self; 7] = [
        Self::Message,
        Self::Input,
        Self::Output,
        Self::Answer,
        Self::Results,
        Self::Ended,
        Self::Recap,
    ];

    /// Returns whether an entry of this kind is part of an exchange. A recap replaces exchanges.
    pub const fn is_in_exchange(self) -> bool {
        match self {
            Self::Message
            | Self::Input
            | Self::Output
            | Self::Answer
            | Self::Results
            | Self::Ended => true,
            Self::Recap => false,
        }
    }

    /// Whether an entry of this kind is part of the transcript.
    pub const fn is_in_transcript(self) -> bool {
        match self {
            Self::Message | Self::Answer => true,
            Self::Input | Self::Output | Self::Results | Self::Ended | Self::Recap => false,
        }
    }

    /// Whether an entry of this kind is an output.
    pub const fn is_output(self) -> bool {
        match self {
            Self::Output | Self::Answer => true,
            Self::Message | Self::Input | Self::Results | Self::Ended | Self::Recap => false,
        }
    }

    /// Whether a turn has ended with an entry of this kind. The final output of a turn that answers
    /// no message has the kind of any other output, and is not recognised here.
    pub const fn ends_turn(self) -> bool {
        match self {
            Self::Answer | Self::Ended => true,
            Self::Message | Self::Input | Self::Output | Self::Results | Self::Recap => false,
        }
    }

    /// Its number in a store.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind with a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
