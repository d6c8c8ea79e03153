//! What people want of the shared resources.

use super::words::{after, is_any, parted_last, quoted, unquoted};

/// Something that someone wants of what is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum SharedWish {
    /// Put a text under a key.
    Put { key: String, text: String },
    /// Get what is under a key.
    Get(String),
    /// Tell what there is.
    List,
    /// Take away what is under a key.
    Drop(String),
}

/// The wish of a text.
pub(super) fn wish(text: &str) -> Option<SharedWish> {
    const LIST: [&str; 15] = [
        "what is shared",
        "what's shared",
        "what is shared here",
        "what do we share",
        "list what is shared",
        "list the shared resources",
        "list shared resources",
        "list the resources",
        "list resources",
        "show what is shared",
        "show the shared resources",
        "show me the shared resources",
        "what are the shared resources",
        "what keys are there",
        "which keys are there",
    ];
    const DROP: [&str; 5] = [
        "unshare ",
        "stop sharing ",
        "drop the resource ",
        "drop the shared resource ",
        "drop the key ",
    ];
    if is_any(text, &LIST) {
        return Some(SharedWish::List);
    }
    if let Some(rest) = after(text, &DROP) {
        return key(rest).map(SharedWish::Drop);
    }
    putting(text).or_else(|| getting(text))
}

fn putting(text: &str) -> Option<SharedWish> {
    let (what, place) = match after(text, &["share "]) {
        Some(rest) => parted_last(rest, &[" as ", " under "])?,
        None => parted_last(after(text, &["put ", "store "])?, &[" under "])?,
    };
    Some(SharedWish::Put { key: key(place)?, text: unquoted(what).to_owned() })
}

fn getting(text: &str) -> Option<SharedWish> {
    const UNDER: [&str; 8] = [
        "what is under ",
        "what's under ",
        "what is shared under ",
        "what is shared as ",
        "what's shared as ",
        "get the resource ",
        "get the shared resource ",
        "get the key ",
    ];
    if let Some(rest) = after(text, &UNDER) {
        return key(rest).map(SharedWish::Get);
    }
    // One word only: whoever wants to get more than that wants something else.
    let rest = after(text, &["get "])?;
    let vague = ["it", "this", "that", "up", "lost", "well", "started", "going", "out", "on"];
    let one =
        quoted(rest).is_some() || !(rest.contains(char::is_whitespace) || is_any(rest, &vague));
    one.then(|| key(rest)).flatten().map(SharedWish::Get)
}

/// A key, as keys are written: in small letters, with a dash between words.
fn key(text: &str) -> Option<String> {
    let named = unquoted(after(text, &["the key ", "key "]).unwrap_or(text));
    let words = named.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    (!words.is_empty()).then(|| words.join("-"))
}

/// Whether a key is more than a word that could also be meant as such.
pub(super) fn is_surely_a_key(key: &str) -> bool {
    key.contains(|c: char| !c.is_alphabetic())
}
