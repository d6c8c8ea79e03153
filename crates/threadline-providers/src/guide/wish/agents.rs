//! What people want of the other agents of a conversation.

use super::understand;
use super::words::{after, is_any, parted, places, strip, unquoted};

/// Something that someone wants of other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum AgentWish {
    /// Have tasks done, and tell what came of them: who is to do what.
    Ask(String),
    /// Have tasks done without waiting for it: who is to do what.
    Send(String),
    /// Have something done by whoever is there.
    Plan {
        /// What is to be done.
        text: String,
        /// Whether its words may as well be part of what someone says.
        plain: bool,
    },
    /// Pass on what an agent answered later.
    Heard {
        /// Who answered.
        name: String,
        /// What it said.
        text: String,
    },
    /// Tell who is there.
    Who,
}

const QUESTIONS: [&str; 9] =
    ["what", "what's", "how", "who", "when", "where", "which", "why", "whether"];

/// Words that are no agent's name.
const NOBODY: [&str; 16] = [
    "me", "you", "him", "her", "it", "us", "them", "for", "about", "if", "that", "this", "how",
    "what", "then", "yourself",
];

const EVERYONE: [&str; 12] = [
    "everyone",
    "everybody",
    "all",
    "all agents",
    "all of them",
    "them all",
    "both",
    "both of them",
    "the others",
    "the agents",
    "all others",
    "the other agents",
];

/// The wish of a text.
pub(super) fn wish(text: &str) -> Option<AgentWish> {
    const WHO: [&str; 16] = [
        "who is here",
        "who's here",
        "who is there",
        "who else is here",
        "who else is there",
        "who can you ask",
        "who can i ask",
        "who can help",
        "agents",
        "list agents",
        "list the agents",
        "show the agents",
        "which agents are there",
        "what agents are there",
        "which agents are here",
        "what other agents are there",
    ];
    const SEND: [&str; 5] = ["tell ", "send a message to ", "send to ", "send ", "message "];
    if is_any(text, &WHO) {
        return Some(AgentWish::Who);
    }
    let errand = |prefixes: &[&str]| {
        after(text, prefixes).filter(|rest| addressed(rest).is_some()).map(str::to_owned)
    };
    errand(&["ask "])
        .map(AgentWish::Ask)
        .or_else(|| errand(&SEND).map(AgentWish::Send))
        .or_else(|| planning(text))
}

fn planning(text: &str) -> Option<AgentWish> {
    const SURE: [&str; 4] = ["plan: ", "plan:", "make a plan: ", "plan this: "];
    const PLAIN: [&str; 5] =
        ["make a plan for ", "make a plan to ", "plan for ", "plan to ", "plan "];
    let owned = |text: &str, plain| AgentWish::Plan { text: unquoted(text).to_owned(), plain };
    if let Some(text) = after(text, &SURE) {
        return Some(owned(text, false));
    }
    let text = after(text, &PLAIN)?;
    let told = ["is ", "was ", "has ", "task "].iter().any(|verb| strip(text, verb).is_some());
    (!told).then(|| owned(text, true))
}

/// What an agent answered that nobody waited for: it comes as an input with a heading.
pub(super) fn heard(text: &str) -> Option<AgentWish> {
    let (name, text) = text.strip_prefix("# Answer of ")?.split_once('\n')?;
    Some(AgentWish::Heard { name: name.trim().to_owned(), text: text.trim().to_owned() })
}

/// To whom something is said, and what: `ada to X`, `ada and bob: X`, `ada what X is`.
fn addressed(text: &str) -> Option<(Vec<&str>, &str)> {
    let named = parted(text, &[": ", ":\n", " to "]).and_then(|(who, what)| {
        let who = everyone_or_names(who)?;
        Some((who, what))
    });
    named.or_else(|| {
        let (who, what) = text.split_once(char::is_whitespace)?;
        let first = what.split_whitespace().next()?;
        Some((everyone_or_names(who)?, what.trim())).filter(|_| is_any(first, &QUESTIONS))
    })
}

fn everyone_or_names(who: &str) -> Option<Vec<&str>> {
    const BETWEEN: [&str; 3] = [", and ", " and ", ", "];
    if is_any(who, &EVERYONE) {
        return Some(vec![who]);
    }
    let (mut names, mut rest) = (Vec::new(), who);
    while let Some((name, more)) = parted(rest, &BETWEEN) {
        names.push(bare(name));
        rest = more;
    }
    names.push(bare(rest));
    names.iter().all(|name| is_name(name)).then_some(names)
}

fn bare(name: &str) -> &str {
    after(name, &["the agent ", "agent ", "the "]).unwrap_or(name).trim_start_matches('@')
}

fn is_name(word: &str) -> bool {
    word.starts_with(char::is_alphabetic)
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !is_any(word, &NOBODY)
}

/// Who is to do what: an agent and its task each. Agents that are there are known by their names;
/// if none are known, anybody may be meant.
pub(in crate::guide) fn errands(text: &str, known: &[&str]) -> Vec<(String, String)> {
    let mut errands = Vec::new();
    let Some((mut who, mut rest)) = addressed(text) else { return errands };
    loop {
        let more = another(rest, known);
        let task = unquoted(more.as_ref().map_or(rest, |(own, ..)| own)).to_owned();
        for name in who {
            if is_any(name, &EVERYONE) {
                errands.extend(known.iter().map(|known| ((*known).to_owned(), task.clone())));
            } else {
                let spelt = known.iter().find(|known| known.eq_ignore_ascii_case(name));
                errands.push(((*spelt.unwrap_or(&name)).to_owned(), task.clone()));
            }
        }
        match more {
            Some((_, others, what)) => (who, rest) = (others, what),
            None => return errands,
        }
    }
}

/// A task that ends where another known agent is spoken to, that agent, and what follows.
fn another<'a>(text: &'a str, known: &[&str]) -> Option<(&'a str, Vec<&'a str>, &'a str)> {
    const JOINTS: [&str; 5] = [", and ", " and ", "; ", ", ", "\n"];
    let mut joints = places(text, &JOINTS);
    joints.find_map(|(at, length)| {
        let (own, rest) = (text.get(..at)?.trim(), text.get(at + length..)?);
        let (who, what) = addressed(rest)?;
        let there = |name: &&str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        (!own.is_empty() && who.iter().all(there)).then_some((own, who, what))
    })
}

/// The parts of a plan: what semicolons or lines part, or else two that are joined with `and`.
pub(in crate::guide) fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, more)) = parted(rest, &["; ", ";", "\n"]) {
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    if parts.len() > 1 {
        return parts;
    }
    let joints = places(text, &[", and ", " and "]).collect::<Vec<_>>();
    let sides = joints.iter().filter_map(|(at, length)| {
        let (one, other) = (text.get(..*at)?.trim(), text.get(at + length..)?.trim());
        (!one.is_empty() && !other.is_empty()).then_some((one, other))
    });
    let sides = sides.collect::<Vec<_>>();
    let clear = |text: &str| understand(text).is_some();
    let both = sides.iter().find(|(one, other)| clear(one) && clear(other));
    match (both, &*sides) {
        (Some((one, other)), _) => vec![one, other],
        (None, [(one, other)]) if !clear(text) => vec![one, other],
        (None, _) => parts,
    }
}
