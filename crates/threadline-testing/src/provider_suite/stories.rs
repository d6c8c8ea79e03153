//! The stories, and what comes of each in every dialect.

use threadline_core::history::fact::{FailureKind, Stop, Usage};

use super::Beat::{self, Begin, End, Overloaded, Piece, State, Unknown};
use super::Kind;

/// What an answer takes in every story.
pub(super) const USAGE: Usage = Usage {
    input: 12,
    output: 3,
    cached_input: Some(4),
    cache_write: None,
    reasoning: Some(1),
    estimated: false,
};

/// One answer, beat by beat, and what it comes to.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// What it is about.
    pub name: &'static str,
    /// How it goes.
    pub beats: &'static [Beat],
    /// Its blocks, a line each: `text …`, `thinking …`, `call name#id …`, `foreign kind`. What has
    /// a state ends in `*`, what is not whole in `~`; of a call that is cut, the arguments are
    /// not compared.
    pub blocks: &'static [&'static str],
    /// How it ends.
    pub comes: Come,
}

/// How a story ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Come {
    /// With an answer, for which the model stopped so.
    To(Stop),
    /// With a failure.
    ToNothing(FailureKind),
}

const DONE: Beat = Beat::Stop(Stop::Done, USAGE);
const CUT: Beat = Beat::Stop(Stop::Length, USAGE);
const BLOCKED: Beat = Beat::Stop(Stop::Blocked, USAGE);
const LOOK: Kind = Kind::Call { id: "c1", name: "look" };
const READ: Kind = Kind::Call { id: "c2", name: "read" };
const HOLOGRAM: Kind = Kind::Unknown { kind: "hologram", word: "shimmer" };

/// Every story.
pub const STORIES: &[Story] = &[
    Story {
        name: "a text",
        beats: &[Begin(0, Kind::Text), Piece(0, "Good "), Piece(0, "day."), End(0), DONE],
        blocks: &["text Good day."],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "odd letters",
        beats: &[
            Begin(0, Kind::Text),
            Piece(0, "\"ü\n\\"),
            Piece(0, "data: \u{2028}🙂\u{0}"),
            End(0),
            DONE,
        ],
        blocks: &["text \"ü\n\\data: \u{2028}🙂\u{0}"],
        comes: Come::To(Stop::Done),
    },
    Story { name: "nothing", beats: &[DONE], blocks: &[], comes: Come::To(Stop::Done) },
    Story {
        name: "a text that is cut",
        beats: &[Begin(0, Kind::Text), Piece(0, "Once"), CUT],
        blocks: &["text Once"],
        comes: Come::To(Stop::Length),
    },
    Story {
        name: "a text that is filtered",
        beats: &[Begin(0, Kind::Text), Piece(0, "Once"), BLOCKED],
        blocks: &["text Once"],
        comes: Come::To(Stop::Blocked),
    },
    Story {
        name: "a call",
        beats: &[Begin(0, LOOK), Piece(0, r#"{"at":"#), Piece(0, r#""Oslo"}"#), End(0), DONE],
        blocks: &[r#"call look#c1 {"at":"Oslo"}"#],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "a call without arguments",
        beats: &[Begin(0, LOOK), Piece(0, "{}"), End(0), DONE],
        blocks: &["call look#c1 {}"],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "a text and calls one after the other",
        beats: &[
            Begin(0, Kind::Text),
            Piece(0, "Let me see."),
            End(0),
            Begin(1, LOOK),
            Piece(1, r#"{"at":1}"#),
            End(1),
            Begin(2, READ),
            Piece(2, r#"{"at":2}"#),
            End(2),
            DONE,
        ],
        blocks: &["text Let me see.", r#"call look#c1 {"at":1}"#, r#"call read#c2 {"at":2}"#],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "calls that are mixed",
        beats: &[
            Begin(0, LOOK),
            Piece(0, r#"{"at""#),
            Begin(1, READ),
            Piece(1, r#"{"at":"#),
            Piece(0, ":1}"),
            Piece(1, "2}"),
            End(1),
            End(0),
            DONE,
        ],
        blocks: &[r#"call look#c1 {"at":1}"#, r#"call read#c2 {"at":2}"#],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "broken arguments",
        beats: &[Begin(0, LOOK), Piece(0, r#"{"at": Os"#), Piece(0, "lo,}"), End(0), DONE],
        blocks: &[r#"call look#c1 {"at": Oslo,}"#],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "a call that is cut",
        beats: &[Begin(0, LOOK), Piece(0, r#"{"at":"Os"#), CUT],
        blocks: &["call look#c1 ~"],
        comes: Come::To(Stop::Length),
    },
    Story {
        name: "a whole call before one that is cut",
        beats: &[
            Begin(0, LOOK),
            Piece(0, r#"{"at":1}"#),
            End(0),
            Begin(1, READ),
            Piece(1, r#"{"at":"Os"#),
            CUT,
        ],
        blocks: &[r#"call look#c1 {"at":1}"#, "call read#c2 ~"],
        comes: Come::To(Stop::Length),
    },
    Story {
        name: "a thought",
        beats: &[
            Begin(0, Kind::Thinking),
            Piece(0, "Hm."),
            State(0, "c2VjcmV0"),
            End(0),
            Begin(1, Kind::Text),
            Piece(1, "Yes."),
            End(1),
            DONE,
        ],
        blocks: &["thinking Hm.*", "text Yes."],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "a thought that is not shown",
        beats: &[
            Begin(0, Kind::Thinking),
            State(0, "c2VjcmV0"),
            End(0),
            Begin(1, LOOK),
            Piece(1, "{}"),
            End(1),
            DONE,
        ],
        blocks: &["thinking *", "call look#c1 {}"],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "an error in the middle",
        beats: &[Begin(0, Kind::Text), Piece(0, "Once"), Overloaded],
        blocks: &["text Once"],
        comes: Come::ToNothing(FailureKind::Busy),
    },
    Story {
        name: "an error at once",
        beats: &[Overloaded],
        blocks: &[],
        comes: Come::ToNothing(FailureKind::Busy),
    },
    Story {
        name: "a text without an end",
        beats: &[Begin(0, Kind::Text), Piece(0, "Once"), End(0)],
        blocks: &["text Once"],
        comes: Come::ToNothing(FailureKind::Protocol),
    },
    Story {
        name: "a call without an end",
        beats: &[Begin(0, LOOK), Piece(0, r#"{"at":1}"#), End(0)],
        blocks: &["call look#c1 ~"],
        comes: Come::ToNothing(FailureKind::Protocol),
    },
    Story {
        name: "nothing at all",
        beats: &[],
        blocks: &[],
        comes: Come::ToNothing(FailureKind::Protocol),
    },
    Story {
        name: "unknown events",
        beats: &[
            Unknown,
            Begin(0, Kind::Text),
            Unknown,
            Piece(0, "Good "),
            Unknown,
            Piece(0, "day."),
            End(0),
            Unknown,
            DONE,
        ],
        blocks: &["text Good day."],
        comes: Come::To(Stop::Done),
    },
    Story {
        name: "an unknown block",
        beats: &[
            Begin(0, Kind::Text),
            Piece(0, "See:"),
            End(0),
            Begin(1, HOLOGRAM),
            End(1),
            Begin(2, Kind::Text),
            Piece(2, "Nice."),
            End(2),
            DONE,
        ],
        blocks: &["text See:", "foreign hologram*", "text Nice."],
        comes: Come::To(Stop::Done),
    },
];
