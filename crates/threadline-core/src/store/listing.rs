//! Lists of conversations: what is known of each without reading it.

use crate::clock::Timestamp;
use crate::history::batch::{State, Sums};
use crate::history::fact::Digest;
use crate::id::{ConversationId, Seq};

/// What is known of a conversation without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its last entry.
    pub head: Seq,
    /// That entry's hash.
    pub head_hash: Digest,
    /// When its first entry was placed, a fork's own first (its newest `Forked`).
    pub created_at: Timestamp,
    /// When its last entry was placed.
    pub active_at: Timestamp,
    /// How it came here.
    pub origin: Origin,
    /// Why nothing runs in it before a person resumes it, if so.
    pub hold: Option<Hold>,
    /// The conversation it branched off, and the last entry they share: as it was begun here, or as
    /// the newest `Forked` says of what was taken in.
    pub forked_from: Option<(ConversationId, Seq)>,
    /// Whether it was moved away: it can be read but goes on elsewhere.
    pub moved_away: bool,
    /// Its sums.
    pub sums: Sums,
    /// When it is due, if ever, by its [`Schedule`].
    pub due_at: Option<Timestamp>,
    /// What of all this could not be read, if anything: such a conversation is not driven.
    pub damage: Option<String>,
}

/// Everything that decides when a conversation is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How the conversation came here.
    pub origin: Origin,
    /// Whether a turn can go on.
    pub state: State,
    /// Its next timer or the deadline of its next question.
    pub wake_at: Option<Timestamp>,
    /// When its last entry was placed.
    pub active_at: Timestamp,
    /// The earliest due time of the items that wait. An item without one is due when it was
    /// enqueued, or at the last entry if the clock was ahead then.
    pub first_item: Option<Timestamp>,
}

impl Schedule {
    /// When the conversation is due, if ever: at the first waiting item, at the next timer or
    /// deadline, and since the last entry if a turn can go on.
    ///
    /// A copy may go on elsewhere, so only its inbox makes it due.
    pub fn due_at(self) -> Option<Timestamp> {
        let by_itself = match self.origin {
            Origin::Own => [self.wake_at, self.unfinished_since()],
            Origin::Copy | Origin::Imported => [None, None],
        };
        by_itself.into_iter().flatten().chain(self.first_item).min()
    }

    fn unfinished_since(self) -> Option<Timestamp> {
        match self.state {
            State::Working => Some(self.active_at),
            State::Resting | State::Waiting => None,
        }
    }
}

/// How a conversation came into a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was begun here, or moved here and goes on exactly.
    Own,
    /// It is a copy of one that may go on elsewhere: its first append settles open calls, and makes
    /// it its own.
    Copy,
    /// It came from a file that nobody vouched for: its first append records that policies and
    /// approvals before it confer nothing, settles open calls, and makes it its own.
    Imported,
}

/// Why nothing runs in a conversation before a person resumes it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It was imported and nobody has resumed it yet.
    Imported,
    /// Unattended drivers died in it, this many times in a row at the same entry.
    Parked {
        /// How many times.
        deaths: u32,
    },
}

impl Hold {
    /// The reason, for people.
    pub fn reason(self) -> String {
        match self {
            Self::Imported => "it was imported and not resumed yet".to_owned(),
            Self::Parked { deaths } => {
                format!("its driver died {deaths} times in a row at the same step")
            }
        }
    }
}

/// Which conversations to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Which ones.
    pub filter: Filter,
    /// In which order.
    pub sort: Sort,
    /// Only after this one.
    pub after: Option<Cursor>,
    /// The most to list.
    pub most: usize,
}

/// Which conversations; each choice has an index of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Those that are not archived.
    #[default]
    Current,
    /// Those that are archived.
    Archived,
    /// All of them.
    All,
    /// Those in a state.
    State(State),
    /// Those with a label.
    Label(String),
}

impl Filter {
    /// Whether a conversation with such sums is among those it asks for.
    pub fn shows(&self, sums: &Sums) -> bool {
        match self {
            Self::Current => !sums.archived,
            Self::Archived => sums.archived,
            Self::All => true,
            Self::State(state) => sums.state == *state,
            Self::Label(label) => sums.labels.contains(label),
        }
    }
}

/// In which order; always the newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By the last entry.
    #[default]
    Active,
    /// By the first entry.
    Created,
}

/// A place in a list: a moment, and the conversation that had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// When it was active or created, by the order of the list.
    pub at: Timestamp,
    /// Which of those of that moment.
    pub id: ConversationId,
}

impl Conversation {
    /// Returns whether it is due. If the last entry is later than the clock, because the clock was
    /// ahead when the entry was placed, the entry's time counts as the present.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let present = now.max(self.active_at);
        !self.moved_away && self.hold.is_none() && self.due_at.is_some_and(|due| due <= present)
    }

    /// This conversation's place in a list.
    pub fn cursor(&self, sort: Sort) -> Cursor {
        let at = match sort {
            Sort::Active => self.active_at,
            Sort::Created => self.created_at,
        };
        Cursor { at, id: self.id }
    }
}
