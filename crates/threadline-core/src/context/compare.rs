//! Comparing: how much of one context is an identical prefix of the next, and what broke it.
//!
//! Providers keep what they have read of a request, and ask less for it, as far as the next
//! request begins with the same bytes. So contexts are compared by what a model is shown, not by
//! what we know of it: a part that is shown at another level with the same words is the same.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Piece, Plan};
use super::{Body, Context, Level, Part, ResultPart, Source, System};
use crate::history::fact::Digest;
use crate::id::Seq;

/// A context, and what tells why it is as it is.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// What the model sees of the thread.
    pub context: &'a Context,
    /// The tools it is shown, by the digest of their attachment.
    pub catalogue: Option<Digest>,
    /// The tokens they take.
    pub catalogue_tokens: u32,
    /// The first input of the agent's newest turn.
    pub turn: Option<Seq>,
    /// The entries that stay whole.
    pub pins: &'a BTreeSet<Seq>,
    /// The first entry that is not folded, if any is.
    pub border: Option<Seq>,
    /// The recap that is shown.
    pub recap: Option<Seq>,
}

impl Shown<'_> {
    /// The tokens of all of it, in our unit.
    pub fn tokens(&self) -> u64 {
        u64::from(self.catalogue_tokens) + self.context.tokens()
    }
}

impl Plan {
    /// The recap that it shows.
    pub fn recap(&self) -> Option<Seq> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Row(_) => None,
            Piece::Earlier(earlier) => earlier.recap.map(|recap| recap.seq),
        })
    }
}

/// How much of a context is an identical prefix of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// How many parts are the same, from the first on.
    pub parts: usize,
    /// The tokens of what is the same: tools, system message, parts.
    pub tokens: u64,
    /// The tokens of all of the previous one.
    pub of_tokens: u64,
    /// What broke it; nothing if the next one goes on where the previous one ended.
    pub broken: Option<Broken>,
}

impl Prefix {
    /// The share of the previous context that is the same, in parts of a thousand.
    ///
    /// A context of no tokens is the prefix of any.
    pub fn share(&self) -> u32 {
        let share = (self.tokens * 1000).checked_div(self.of_tokens).unwrap_or(1000);
        u32::try_from(share).unwrap_or(1000)
    }
}

/// Where a prefix ends, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first part of the previous context that is no longer there as it was; none if it is
    /// not a part.
    pub at: Option<Source>,
    /// Why.
    pub by: Breach,
}

/// What breaks a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Other tools are shown.
    Tools,
    /// The system message is another.
    System,
    /// A recap came, or went.
    Recap,
    /// The fold border moved by a block.
    Border,
    /// An entry was pinned, or is no longer.
    Pin,
    /// An entry no longer counts: a rewind took it back.
    Rewound,
    /// A new turn began: the one before has lost its screens and its thinking, and is shown at
    /// other levels.
    Turn,
    /// A live screen is another.
    Screen,
    /// An entry is shown at another level.
    Level,
    /// Something else.
    Other,
}

impl Breach {
    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::System => "system",
            Self::Recap => "recap",
            Self::Border => "border",
            Self::Pin => "pin",
            Self::Rewound => "rewound",
            Self::Turn => "turn",
            Self::Screen => "screen",
            Self::Level => "level",
            Self::Other => "other",
        }
    }
}

/// How much of the previous context is an identical prefix of the next: the tools first, then the
/// system message, then the parts.
pub fn prefix(previous: &Shown<'_>, next: &Shown<'_>) -> Prefix {
    let of_tokens = previous.tokens();
    let nothing = |by| Broken { at: None, by };
    let mut prefix = Prefix { parts: 0, tokens: 0, of_tokens, broken: None };
    if previous.catalogue != next.catalogue {
        prefix.broken = Some(nothing(Breach::Tools));
        return prefix;
    }
    prefix.tokens += u64::from(previous.catalogue_tokens);
    let system = &previous.context.system;
    if system.text != next.context.system.text {
        prefix.broken = Some(nothing(Breach::System));
        return prefix;
    }
    prefix.tokens += u64::from(system.tokens);
    let mut parts = next.context.parts.iter();
    for part in &previous.context.parts {
        let beside = parts.next();
        if !beside.is_some_and(|beside| is_same(part, beside)) {
            let by = breach(previous, next, part, beside);
            prefix.broken = Some(Broken { at: Some(part.source), by });
            return prefix;
        }
        prefix.parts += 1;
        prefix.tokens += u64::from(part.tokens);
    }
    prefix
}

/// Why a part is not followed by what followed it.
fn breach(previous: &Shown<'_>, next: &Shown<'_>, part: &Part, beside: Option<&Part>) -> Breach {
    let repinned = |source: Source| match source {
        Source::Entry(seq) => previous.pins.contains(&seq) != next.pins.contains(&seq),
        Source::Earlier { .. } => false,
    };
    if repinned(part.source) || beside.is_some_and(|beside| repinned(beside.source)) {
        return Breach::Pin;
    }
    if previous.recap != next.recap {
        return Breach::Recap;
    }
    if previous.border != next.border {
        return Breach::Border;
    }
    if beside.is_none_or(|beside| beside.source != part.source) {
        let still = next.context.parts.iter().any(|other| other.source == part.source);
        return if still { Breach::Other } else { Breach::Rewound };
    }
    if previous.turn != next.turn {
        return Breach::Turn;
    }
    match beside {
        Some(beside) if is_same_but_for_screen(part, beside) => Breach::Screen,
        Some(beside) if levels(part) != levels(beside) => Breach::Level,
        Some(_) if previous.pins != next.pins => Breach::Pin,
        Some(_) | None => Breach::Other,
    }
}

/// The levels that a part and its results are shown at.
fn levels(part: &Part) -> Vec<Level> {
    let own = std::iter::once(part.level);
    match &part.body {
        Body::Results(results) => {
            own.chain(results.results.iter().map(|result| result.level)).collect()
        }
        Body::Input(_) | Body::Output(_) => own.collect(),
    }
}

/// Whether a model is shown the same.
fn is_same(one: &Part, other: &Part) -> bool {
    is_same_but_for_screen(one, other) && screen(one) == screen(other)
}

fn is_same_but_for_screen(one: &Part, other: &Part) -> bool {
    match (&one.body, &other.body) {
        (Body::Input(one), Body::Input(other)) => {
            one.text == other.text && one.attachments == other.attachments
        }
        (Body::Output(one), Body::Output(other)) => one == other,
        (Body::Results(one), Body::Results(other)) => {
            let (one, other) = (&one.results, &other.results);
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same_result(one, other))
        }
        (Body::Input(_) | Body::Output(_) | Body::Results(_), _) => false,
    }
}

fn is_same_result(one: &ResultPart, other: &ResultPart) -> bool {
    one.call == other.call
        && one.name == other.name
        && one.status == other.status
        && one.text == other.text
        && one.attachments == other.attachments
}

fn screen(part: &Part) -> Option<&str> {
    part.screen().map(|screen| &*screen.text)
}

/// What became of the parts of a context in the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The system message is another: before, after.
    System(&'a System, &'a System),
    /// A part is no longer there.
    Gone(&'a Part),
    /// A part is new.
    New(&'a Part),
    /// A part is shown differently: before, after.
    Changed(&'a Part, &'a Part),
}

/// What became of the parts of a context, in the order of the next one; what is gone stands where
/// it was. What is the same is not told.
pub fn changes<'a>(previous: &'a Context, next: &'a Context) -> Vec<Change<'a>> {
    let place = |part: &Part| match part.source {
        Source::Entry(seq) => Some(seq),
        // There is one such part at most, whatever it stands for.
        Source::Earlier { .. } => None,
    };
    let before: BTreeMap<Option<Seq>, &Part> =
        previous.parts.iter().map(|part| (place(part), part)).collect();
    let after: BTreeSet<Option<Seq>> = next.parts.iter().map(place).collect();
    let mut changes = Vec::new();
    if previous.system.text != next.system.text {
        changes.push(Change::System(&previous.system, &next.system));
    }
    let mut gone = previous.parts.iter().peekable();
    for part in &next.parts {
        let Some(was) = before.get(&place(part)) else {
            changes.push(Change::New(part));
            continue;
        };
        while let Some(left) = gone.next_if(|left| place(left) != place(part)) {
            if !after.contains(&place(left)) {
                changes.push(Change::Gone(left));
            }
        }
        gone.next();
        if !is_same(was, part) {
            changes.push(Change::Changed(was, part));
        }
    }
    changes.extend(gone.filter(|left| !after.contains(&place(left))).map(Change::Gone));
    changes
}
