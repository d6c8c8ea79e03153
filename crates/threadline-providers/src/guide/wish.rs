//! What people want of the guide, read from plain wording.

use super::sum;

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
    /// Work out an expression.
    Compute(String),
    /// Read a file.
    Read(String),
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

/// The wishes in a text, in order; none if any part of it is not understood.
pub(super) fn understand(text: &str) -> Option<Vec<Wish>> {
    match pieces(text) {
        pieces if pieces.is_empty() => None,
        pieces if pieces.len() > PIECES_CAP => single(text).map(|wish| vec![wish]),
        pieces => best(text, &pieces, None),
    }
}

/// The reading of all pieces with the most wishes.
fn best(text: &str, pieces: &[(usize, usize)], before: Option<&Wish>) -> Option<Vec<Wish>> {
    let Some((start, _)) = pieces.first() else { return Some(Vec::new()) };
    let mut found: Option<Vec<Wish>> = None;
    for (taken, (_, end)) in (1..).zip(pieces) {
        let Some(wish) = text.get(*start..*end).and_then(|piece| follow(piece, before)) else {
            continue;
        };
        let rest = pieces.get(taken..).unwrap_or_default();
        let Some(mut rest) = best(text, rest, Some(&wish)) else { continue };
        if found.as_ref().is_none_or(|found| found.len() <= rest.len()) {
            rest.insert(0, wish);
            found = Some(rest);
        }
    }
    found
}

/// The wish of a piece that follows another wish. What may be part of the words before it, such
/// as a number or a greeting in something to be remembered, is no wish of its own. After one file
/// another may be named.
fn follow(piece: &str, before: Option<&Wish>) -> Option<Wish> {
    let another = || match before {
        Some(Wish::Read(_)) => named_file(polite(piece)).filter(|path| is_like_a_path(path)),
        Some(_) | None => None,
    };
    let wish = single(piece).or_else(|| another().map(Wish::Read))?;
    let worded = piece.trim_start().starts_with(char::is_alphabetic);
    let stands = match (&wish, before) {
        (_, None) => true,
        (Wish::Greet | Wish::Thanks | Wish::Help | Wish::GoOn, Some(_)) => false,
        (_, Some(Wish::Remember(_) | Wish::Forget(_) | Wish::Find(_) | Wish::Think(_))) => worded,
        (_, Some(_)) => true,
    };
    stands.then_some(wish)
}

/// Where the pieces of a text begin and end.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match JOINTS.iter().find(|joint| strip(rest, joint).is_some()) {
            Some(joint) => {
                pieces.push((start, at));
                at += joint.len();
                start = at;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    pieces.push((start, text.len()));
    pieces.retain(|(start, end)| text.get(*start..*end).is_some_and(|it| !it.trim().is_empty()));
    pieces
}

/// The one wish of a text.
fn single(text: &str) -> Option<Wish> {
    let text = polite(text);
    let rest = |prefixes: &[&str]| {
        let rest = prefixes.iter().find_map(|prefix| strip(text, prefix)).map(str::trim);
        rest.filter(|rest| !rest.is_empty()).map(str::to_owned)
    };
    if let Some(wish) = phrase(text) {
        return Some(wish);
    }
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
    if let Some(what) = rest(&["think hard about ", "think about ", "think of ", "think over "]) {
        return Some(Wish::Think(what));
    }
    sum::expression(text).map(Wish::Compute).or_else(|| path(text).map(Wish::Read))
}

const RECALL: [&str; 10] = [
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
        _ => None,
    }
}

/// A file that someone wants to have read. Some words leave no doubt, others want a path that
/// looks like one.
fn path(text: &str) -> Option<String> {
    const SURE: [&str; 6] =
        ["read me the file ", "read the file ", "read file ", "read me ", "read ", "cat "];
    const PERHAPS: [&str; 9] = [
        "show me the file ",
        "show the file ",
        "show me ",
        "show ",
        "open the file ",
        "open ",
        "what is in ",
        "what's in ",
        "print ",
    ];
    let sure = SURE.iter().find_map(|prefix| strip(text, prefix));
    let perhaps = || PERHAPS.iter().find_map(|prefix| strip(text, prefix));
    sure.and_then(named_file).or_else(|| {
        let rest = perhaps()?;
        is_like_a_path(rest).then(|| named_file(rest)).flatten()
    })
}

fn is_like_a_path(text: &str) -> bool {
    text.contains(['.', '/', '\\', '`', '"', '\''])
}

/// The name of a file: one word, or several between quotation marks.
fn named_file(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = ['`', '"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.is_empty() && !inner.contains(*quote)).then_some(inner)
    });
    let vague = ["it", "this", "that", "me", "file", "something", "more"];
    let plain = !text.is_empty() && !text.contains(char::is_whitespace) && !vague.contains(&text);
    quoted.or(plain.then_some(text)).map(str::to_owned)
}

/// A text without the forms of politeness around it.
fn polite(text: &str) -> &str {
    const BEFORE: [&str; 21] = [
        "please ",
        "please, ",
        "kindly ",
        "can you ",
        "could you ",
        "would you ",
        "will you ",
        "i want you to ",
        "i would like you to ",
        "i'd like you to ",
        "let's ",
        "guide, ",
        "guide: ",
        "hey guide, ",
        "hello, ",
        "hi, ",
        "hey, ",
        "ok, ",
        "okay, ",
        "now ",
        "also ",
    ];
    const AFTER: [&str; 5] = [", please", " please", ", thanks", ", thank you", ", guide"];
    let mut text = text.trim();
    loop {
        let bare = text.trim_end_matches(['.', '?', '!', ',', ';']).trim();
        let bare = BEFORE.iter().find_map(|before| strip(bare, before)).unwrap_or(bare).trim();
        let bare = AFTER.iter().find_map(|after| strip_end(bare, after)).unwrap_or(bare).trim();
        if bare == text {
            return text;
        }
        text = bare;
    }
}

/// What follows a beginning, whatever its case.
pub(super) fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn strip_end<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    tail.eq_ignore_ascii_case(suffix).then_some(rest)
}
