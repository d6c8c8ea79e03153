//! What people want of the guide, read from plain wording.

mod agents;
mod files;
mod shared;
mod tasks;
mod timing;
mod words;

use super::sum;
pub(super) use agents::{AgentWish, errands, parts};
use files::Change;
pub(super) use files::FileWish;
pub(super) use shared::SharedWish;
pub(super) use tasks::{Place, Shift, TaskWish, Which};
pub(super) use timing::{Alarm, Moment, Timers, TimingWish};
pub(super) use words::strip;
use words::{after, begun, is_any, outside, parted_last, polite, unquoted};

/// One thing that someone wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Write something down.
    Remember(String),
    /// Tell what is written down, all of it or what is about something.
    Recall(Option<String>),
    /// Read an entry again, or a page of it.
    Reread(u64, Option<u64>),
    /// Find what was said about something.
    Find(String),
    /// Strike something out.
    Forget(String),
    /// Put a text in the place of another that is written down.
    Rewrite { find: String, with: String },
    /// Put a text in the place of all from one text to another.
    RewriteSpan { start: String, end: String, with: String },
    /// Work out an expression.
    Compute(String),
    /// Read a file.
    Read(String),
    /// Something with files.
    File(FileWish),
    /// Something with the task board.
    Task(TaskWish),
    /// Something with what is shared.
    Shared(SharedWish),
    /// Something with other agents.
    Agent(AgentWish),
    /// Something that is to be later.
    Timing(TimingWish),
    /// Tell the time.
    Time,
    /// Tell the day.
    Day,
    /// Think about something.
    Think(String),
    /// Tell what the guide can do.
    Help,
    /// Say hello.
    Greet,
    /// Take thanks.
    Thanks,
    /// Go on with what was asked before.
    GoOn,
}

impl Wish {
    /// Whether it ends with words that may be any, so that what follows may belong to them.
    fn is_open(&self) -> bool {
        match self {
            Self::Remember(_)
            | Self::Find(_)
            | Self::Forget(_)
            | Self::Think(_)
            | Self::File(FileWish::Search { .. } | FileWish::Write { .. })
            | Self::Task(TaskWish::Add { .. })
            | Self::Shared(SharedWish::Put { .. })
            | Self::Agent(AgentWish::Ask(_) | AgentWish::Send(_) | AgentWish::Plan { .. })
            | Self::Timing(TimingWish::Set(_)) => true,
            Self::Recall(_)
            | Self::Reread(..)
            | Self::Rewrite { .. }
            | Self::RewriteSpan { .. }
            | Self::Compute(_)
            | Self::Read(_)
            | Self::File(FileWish::List(_) | FileWish::Lines { .. } | FileWish::Edit { .. })
            | Self::Task(TaskWish::Shift(..) | TaskWish::Move(..) | TaskWish::List { .. })
            | Self::Shared(SharedWish::Get(_) | SharedWish::List | SharedWish::Drop(_))
            | Self::Agent(AgentWish::Heard { .. } | AgentWish::Who)
            | Self::Timing(
                TimingWish::Wait(_) | TimingWish::Clear(_) | TimingWish::List | TimingWish::Due(_),
            )
            | Self::Time
            | Self::Day
            | Self::Help
            | Self::Greet
            | Self::Thanks
            | Self::GoOn => false,
        }
    }

    /// Whether it is a wish of its own after an open one and a joint. What is said to someone else,
    /// or later, ends with a sentence, or where somebody else is spoken to.
    fn ends(&self, open: &Self, joint: &str) -> bool {
        let later = matches!(self, Self::Agent(_) | Self::Timing(_));
        let sentence = SENTENCES.contains(&joint) && (later || !self.is_plain());
        match open {
            Self::Agent(AgentWish::Plan { .. }) => sentence && !IN_PLANS.contains(&joint),
            Self::Agent(_) => {
                sentence || matches!(self, Self::Agent(AgentWish::Ask(_) | AgentWish::Send(_)))
            }
            Self::Timing(_) => sentence,
            Self::Remember(_)
            | Self::Recall(_)
            | Self::Reread(..)
            | Self::Find(_)
            | Self::Forget(_)
            | Self::Rewrite { .. }
            | Self::RewriteSpan { .. }
            | Self::Compute(_)
            | Self::Read(_)
            | Self::File(_)
            | Self::Task(_)
            | Self::Shared(_)
            | Self::Time
            | Self::Day
            | Self::Think(_)
            | Self::Help
            | Self::Greet
            | Self::Thanks
            | Self::GoOn => !self.is_plain(),
        }
    }

    /// Whether its words may as well be part of what someone says: a plain word after `read` or
    /// `get`, such as in “I like to read books”.
    fn is_plain(&self) -> bool {
        matches!(self, Self::Read(path) if !files::is_like_a_path(path))
            || matches!(self, Self::Shared(SharedWish::Get(key)) if !shared::is_surely_a_key(key))
            || matches!(self, Self::Agent(AgentWish::Plan { plain: true, .. }))
            || matches!(self, Self::Timing(TimingWish::Set(alarm)) if alarm.is_plain())
    }
}

/// What joins several wishes, longer ones before those that they contain.
const JOINTS: [&str; 15] = [
    ", and then ",
    " and then ",
    ", and also ",
    " and also ",
    ", and ",
    " and ",
    ", then ",
    " then ",
    "; ",
    ". ",
    "? ",
    "! ",
    ".\n",
    "\n",
    ", ",
];

/// A text of more pieces than this is read as one wish or none: all ways to join them are tried.
const PIECES_CAP: usize = 8;

/// Joints that the list of an announcement such as `add tasks:` has itself.
const IN_LISTS: [&str; 3] = [", and ", " and ", ", "];

/// Joints after which a new sentence begins.
const SENTENCES: [&str; 6] = ["; ", ". ", "? ", "! ", ".\n", "\n"];

/// Joints that a plan has itself.
const IN_PLANS: [&str; 2] = ["; ", "\n"];

/// What an agent that gives a task puts before what is good to know for it.
const CONTEXT: &str = "\n\n# Context\n";

/// The wishes in a text, in order; none if any part of it is not understood.
pub(super) fn understand(text: &str) -> Option<Vec<Wish>> {
    let heard = agents::heard(text).map(Wish::Agent);
    if let Some(wish) = heard.or_else(|| timing::due(text).map(Wish::Timing)) {
        return Some(vec![wish]);
    }
    let task = || text.split_once(CONTEXT).and_then(|(task, _)| all(task));
    all(text).or_else(task)
}

/// The wishes of all pieces of a text.
fn all(text: &str) -> Option<Vec<Wish>> {
    match pieces(text) {
        pieces if pieces.is_empty() => None,
        pieces if pieces.len() > PIECES_CAP => single(text).map(|wish| vec![wish]),
        pieces => best(text, &pieces, None),
    }
}

/// A wish, and where it ends.
type Ended<'a> = (&'a Wish, usize);

/// The reading of all pieces with the most wishes.
fn best(text: &str, pieces: &[(usize, usize)], before: Option<Ended<'_>>) -> Option<Vec<Wish>> {
    let Some((start, _)) = pieces.first() else { return Some(Vec::new()) };
    let joint = before.and_then(|(_, end)| text.get(end..*start)).unwrap_or_default();
    let mut found: Option<Vec<Wish>> = None;
    for (taken, (_, end)) in (1..).zip(pieces) {
        let before = before.map(|(wish, _)| (wish, joint));
        let Some(wish) = text.get(*start..*end).and_then(|piece| follow(piece, before)) else {
            continue;
        };
        let rest = pieces.get(taken..).unwrap_or_default();
        let Some(mut rest) = best(text, rest, Some((&wish, *end))) else { continue };
        if found.as_ref().is_none_or(|found| found.len() <= rest.len()) {
            rest.insert(0, wish);
            found = Some(rest);
        }
    }
    found
}

/// The wish of a piece that follows another wish and a joint. What may be part of the words before
/// it, such as a number or a greeting in something to be remembered, is no wish of its own. After
/// one file another may be named.
fn follow(piece: &str, before: Option<(&Wish, &str)>) -> Option<Wish> {
    let Some((before, joint)) = before else { return single(piece) };
    let another = || {
        let path = files::named(polite(piece)).filter(|path| files::is_like_a_path(path));
        path.filter(|_| matches!(before, Wish::Read(_))).map(Wish::Read)
    };
    let wish = single(piece).or_else(another)?;
    let worded = piece.trim_start().starts_with(char::is_alphabetic);
    let stands = match (&wish, before) {
        (Wish::Greet | Wish::Thanks | Wish::Help | Wish::GoOn, _) => false,
        (_, Wish::Task(TaskWish::Add { many: true, .. })) if IN_LISTS.contains(&joint) => false,
        (wish, before) if before.is_open() => worded && wish.ends(before, joint),
        (_, _) => true,
    };
    stands.then_some(wish)
}

/// Where the pieces of a text begin and end. What is between quotation marks is not parted.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (mut at, end) in outside(text) {
        while let Some(rest) = text.get(at..).filter(|_| at < end) {
            match JOINTS.iter().find(|joint| strip(rest, joint).is_some()) {
                Some(joint) => {
                    pieces.push((start, at));
                    at += joint.len();
                    start = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
    }
    pieces.push((start, text.len()));
    pieces.retain(|(start, end)| text.get(*start..*end).is_some_and(|it| !it.trim().is_empty()));
    pieces
}

/// The one wish of a text.
fn single(text: &str) -> Option<Wish> {
    let (begun, text) = (begun(text), polite(text));
    phrase(text)
        .or_else(|| timing::wish(text).map(Wish::Timing))
        .or_else(|| agents::wish(text).map(Wish::Agent))
        .or_else(|| noted(text))
        .or_else(|| tasks::wish(text).map(Wish::Task))
        .or_else(|| in_notebook(text))
        .or_else(|| files::wish(text, begun).map(Wish::File))
        .or_else(|| shared::wish(text).map(Wish::Shared))
        .or_else(|| sum::expression(text).map(Wish::Compute))
        .or_else(|| files::path(text).map(Wish::Read))
        .or_else(|| tasks::said(text).map(Wish::Task))
}

/// What is to be remembered, told again, forgotten or thought about.
fn noted(text: &str) -> Option<Wish> {
    let rest = |prefixes: &[&str]| after(text, prefixes).map(str::to_owned);
    if let Some(about) = rest(&["what do you remember about ", "what do you know about "]) {
        return Some(Wish::Recall(Some(about)));
    }
    if let Some(what) = rest(&RECALL) {
        return Some(reread(&what).unwrap_or_else(|| Wish::Find(bare(&what).to_owned())));
    }
    if let Some(what) = rest(&REMEMBER) {
        return Some(Wish::Remember(what));
    }
    if let Some(what) = rest(&["forget that ", "forget about ", "forget: ", "forget "]) {
        return Some(Wish::Forget(what));
    }
    rest(&["think hard about ", "think about ", "think of ", "think over "]).map(Wish::Think)
}

/// What is said of the notebook as of a file: `replace X with Y in the notebook`.
fn in_notebook(text: &str) -> Option<Wish> {
    let owned = |text: &str| unquoted(text).to_owned();
    match files::change(text) {
        Some(Change::Replace { find, with, place }) if is_any(place, &NOTEBOOK) => {
            return Some(Wish::Rewrite { find: owned(find), with: owned(with) });
        }
        Some(Change::Span { start, end, with, place }) if is_any(place, &NOTEBOOK) => {
            let (start, end, with) = (owned(start), owned(end), owned(with));
            return Some(Wish::RewriteSpan { start, end, with });
        }
        Some(Change::Replace { .. } | Change::Span { .. }) | None => {}
    }
    let said = |prefixes: &[&str], between: &[&str]| {
        let (what, place) = parted_last(after(text, prefixes)?, between)?;
        is_any(place, &NOTEBOOK).then(|| owned(what))
    };
    said(&["write ", "add "], &[" to ", " into ", " in "])
        .map(Wish::Remember)
        .or_else(|| said(&["delete ", "remove "], &[" from "]).map(Wish::Forget))
        .or_else(|| {
            let about = said(&["search for ", "find ", "look for "], &[" in "])?;
            Some(Wish::Recall(Some(about)))
        })
}

const NOTEBOOK: [&str; 6] =
    ["the notebook", "your notebook", "my notebook", "the notes", "your notes", "my notes"];

const RECALL: [&str; 11] = [
    "find what i said about ",
    "recall what i said about ",
    "recall what you said about ",
    "recall what was said about ",
    "recall entry ",
    "recall ",
    "what did i say about ",
    "what did i tell you about ",
    "what did you say about ",
    "what was said about ",
    "what have i said about ",
];

/// An entry that is named by its number: `12`, `12 page 2`.
fn reread(what: &str) -> Option<Wish> {
    let mut words = what.split_whitespace();
    let seq = words.next()?.trim_end_matches(',').parse().ok()?;
    let page = match (words.next(), words.next(), words.next()) {
        (None, ..) => None,
        (Some(word), Some(page), None) if word.eq_ignore_ascii_case("page") => {
            Some(page.parse().ok()?)
        }
        (Some(_), ..) => return None,
    };
    Some(Wish::Reread(seq, page))
}

/// What is talked about, without the small word before it, which need not have stood there.
fn bare(what: &str) -> &str {
    let small = ["the ", "my ", "our ", "a ", "an "];
    let bare = small.iter().find_map(|small| strip(what, small)).map(str::trim);
    bare.filter(|bare| !bare.is_empty()).unwrap_or(what)
}

const REMEMBER: [&str; 9] = [
    "remember that ",
    "remember: ",
    "remember ",
    "keep in mind that ",
    "make a note that ",
    "note that ",
    "note: ",
    "don't forget that ",
    "do not forget that ",
];

/// Wishes that have fixed words.
fn phrase(text: &str) -> Option<Wish> {
    let words = text.to_lowercase();
    match &*words {
        "help" | "help me" | "what can you do" | "what can i ask" | "what can i do"
        | "how do you work" | "how does this work" | "who are you" | "what are you" => {
            Some(Wish::Help)
        }
        "hello" | "hi" | "hey" | "hello there" | "hi there" | "hello guide" | "hi guide"
        | "good morning" | "good afternoon" | "good evening" | "good day" => Some(Wish::Greet),
        "thanks"
        | "thank you"
        | "thanks a lot"
        | "thank you very much"
        | "many thanks"
        | "cheers" => Some(Wish::Thanks),
        "go on" | "continue" | "carry on" | "go ahead" => Some(Wish::GoOn),
        "what do you remember"
        | "what do you remember about me"
        | "what do you know"
        | "what have you remembered"
        | "what did i ask you to remember"
        | "what did i tell you"
        | "do you remember anything"
        | "tell me what you remember"
        | "list what you remember"
        | "what is in the notebook"
        | "what's in the notebook"
        | "what is in your notebook"
        | "what's in your notebook"
        | "read the notebook"
        | "read your notebook"
        | "show the notebook"
        | "show me the notebook"
        | "show your notebook"
        | "show me your notebook" => Some(Wish::Recall(None)),
        "what time is it"
        | "what is the time"
        | "what's the time"
        | "tell me the time"
        | "what time is it now"
        | "what does the clock say" => Some(Wish::Time),
        "what day is it"
        | "what day is it today"
        | "what day is today"
        | "which day is it"
        | "what is the day"
        | "what date is it"
        | "what is the date"
        | "what's the date"
        | "what is today's date"
        | "what's today's date"
        | "what day of the week is it"
        | "what is today" => Some(Wish::Day),
        _ => None,
    }
}
