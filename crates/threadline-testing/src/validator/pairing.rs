//! Pairing: every call has its result, and every result its call.

use std::collections::BTreeSet;

use super::Body;
use super::node::{Found, Node};

/// A call in a body, with all that a call needs.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    /// Where it is.
    pub(super) at: Node<'a>,
    /// Its id.
    pub(super) id: &'a str,
    /// The tool's name.
    pub(super) name: &'a str,
}

/// A result in a body.
#[derive(Clone, Debug)]
pub(super) struct Answer<'a> {
    /// Where it is.
    pub(super) at: Node<'a>,
    /// The id of the call it answers; empty if it names none.
    pub(super) id: &'a str,
}

/// Calls, and the results that stand where theirs have to stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Step<'a> {
    /// The calls.
    pub(super) calls: Vec<Call<'a>>,
    /// The results.
    pub(super) answers: Vec<Answer<'a>>,
}

/// Calls that nothing answers.
pub(super) fn unanswered(steps: &[Step<'_>]) -> Vec<Found> {
    let mut found = Vec::new();
    for step in steps {
        let answered = |call: &&Call<'_>| step.answers.iter().any(|answer| answer.id == call.id);
        let open = step.calls.iter().filter(|call| !answered(call));
        found.extend(open.map(|call| call.at.found(format_args!("{} has no result", call.id))));
    }
    found
}

/// Results that answer nothing.
pub(super) fn orphans(steps: &[Step<'_>]) -> Vec<Found> {
    let mut found = Vec::new();
    for step in steps {
        let called = |answer: &&Answer<'_>| step.calls.iter().any(|call| call.id == answer.id);
        let lost = step.answers.iter().filter(|answer| !called(answer));
        found.extend(lost.map(|answer| {
            answer.at.found(format_args!("no call {:?} stands right before it", answer.id))
        }));
    }
    found
}

/// Results of a call that was answered before.
pub(super) fn answered_twice(steps: &[Step<'_>]) -> Vec<Found> {
    let mut found = Vec::new();
    for step in steps {
        let mut seen = BTreeSet::new();
        let again = step.answers.iter().filter(|answer| !seen.insert(answer.id));
        found.extend(
            again.map(|answer| answer.at.found(format_args!("{} was answered before", answer.id))),
        );
    }
    found
}

/// Calls with the id of an earlier one.
pub(super) fn repeated_ids(calls: &[Call<'_>]) -> Vec<Found> {
    let mut seen = BTreeSet::new();
    let again = calls.iter().filter(|call| !seen.insert(call.id));
    again
        .map(|call| call.at.found(format_args!("{} was the id of a call before", call.id)))
        .collect()
}

/// Calls with an id that is empty or too long.
pub(super) fn id_lengths(body: &Body<'_>, calls: &[Call<'_>], cap: usize) -> Vec<Found> {
    let cap = body.server.id_cap.unwrap_or(cap);
    let wrong = calls.iter().filter(|call| !(1..=cap).contains(&call.id.chars().count()));
    wrong
        .map(|call| {
            let length = call.id.chars().count();
            call.at.found(format_args!("an id of {length} characters, where 1 to {cap} are taken"))
        })
        .collect()
}

/// Names that are not of letters, digits, `_` and `-`, or too long.
pub(super) fn plain_names(body: &Body<'_>, names: &[(Node<'_>, &str)], cap: usize) -> Vec<Found> {
    let cap = body.server.name_cap.unwrap_or(cap);
    let taken = |name: &str| (1..=cap).contains(&name.len()) && is_plain(name);
    let wrong = names.iter().filter(|(_, name)| !taken(name));
    wrong
        .map(|(at, name)| at.found(format_args!("{name:?} is not 1 to {cap} of A-Z a-z 0-9 _ -")))
        .collect()
}

/// Whether a text is of letters, digits, `_` and `-` only.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Names that another had before.
pub(super) fn repeated_names(names: &[(Node<'_>, &str)]) -> Vec<Found> {
    let mut seen = BTreeSet::new();
    let again = names.iter().filter(|(_, name)| !seen.insert(*name));
    again.map(|(at, name)| at.found(format_args!("{name} is there twice"))).collect()
}

/// Where a text is not that of a JSON object.
pub(super) fn not_an_object_text(at: &Node<'_>, text: &str) -> Option<Found> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) if value.is_object() => None,
        Ok(_) => Some(at.found(format_args!("{text} is not an object"))),
        Err(error) => Some(at.found(format_args!("{text:?} is not JSON: {error}"))),
    }
}
