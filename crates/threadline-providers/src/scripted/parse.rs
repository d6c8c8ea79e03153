//! Scripts as text: reading them, line by line.

use std::str::FromStr;
use std::sync::Arc;

use threadline_core::history::fact::{FailureKind, Money, Stop, Usage};

use super::script::{Action, Answer, Call, Fault, Script, Turn, When};

const KINDS: [(&str, FailureKind); 8] = [
    ("busy", FailureKind::Busy),
    ("context_too_long", FailureKind::ContextTooLong),
    ("unauthorised", FailureKind::Unauthorised),
    ("quota_spent", FailureKind::QuotaSpent),
    ("refused", FailureKind::Refused),
    ("protocol", FailureKind::Protocol),
    ("unreachable", FailureKind::Unreachable),
    ("cancelled", FailureKind::Cancelled),
];

const STOPS: [(&str, Stop); 5] = [
    ("done", Stop::Done),
    ("length", Stop::Length),
    ("paused", Stop::Paused),
    ("refusal", Stop::Refusal),
    ("blocked", Stop::Blocked),
];

/// A script could not be read: where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {message}")]
pub struct ScriptUnreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl FromStr for Script {
    type Err = ScriptUnreadable;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut script = Self::default();
        for (line, words) in (1..).zip(text.lines().map(str::trim)) {
            if !words.is_empty() && !words.starts_with('#') {
                read(&mut script, words).map_err(|message| ScriptUnreadable { line, message })?;
            }
        }
        Ok(script)
    }
}

fn read(script: &mut Script, words: &str) -> Result<(), String> {
    let (word, rest) = first(words);
    match word {
        "turn" => {
            let answers = vec![Answer::of([])];
            script.turns.push(Turn { when: when(rest)?, answers });
        }
        "then" => {
            nothing(rest)?;
            turn(script)?.answers.push(Answer::of([]));
        }
        "again" => {
            nothing(rest)?;
            answer(script)?.tries.push(Vec::new());
        }
        _ => {
            let action = action(word, rest)?;
            let actions = answer(script)?.tries.last_mut().ok_or_else(no_turn)?;
            if actions.last().is_some_and(Action::is_last) {
                return Err("nothing is played after this answer's end; begin another with \
                            `then`, `again` or `turn`"
                    .to_owned());
            }
            actions.push(action);
        }
    }
    Ok(())
}

fn turn(script: &mut Script) -> Result<&mut Turn, String> {
    script.turns.last_mut().ok_or_else(no_turn)
}

fn answer(script: &mut Script) -> Result<&mut Answer, String> {
    turn(script)?.answers.last_mut().ok_or_else(no_turn)
}

fn no_turn() -> String {
    "a script begins with `turn`".to_owned()
}

fn when(rest: &str) -> Result<When, String> {
    match first(rest) {
        ("", _) => Ok(When::Next),
        ("else", "") => Ok(When::Else),
        ("when", text) if !text.is_empty() => Ok(When::Says(string(text)?)),
        _ => Err("a turn is `turn`, `turn when TEXT` or `turn else`".to_owned()),
    }
}

fn action(word: &str, rest: &str) -> Result<Action, String> {
    match word {
        "think" => string(rest).map(Action::Think),
        "say" => string(rest).map(Action::Say),
        "state" => string(rest).map(Action::State),
        "call" => call(rest, true).map(Action::Call),
        "cut" => call(rest, false).map(Action::Call),
        "usage" => usage(rest).map(Action::Usage),
        "cost" => number(rest).map(Money).map(Action::Cost),
        "wait" => number(rest).map(Action::Wait),
        "huge" => number(rest).map(Action::Huge),
        "stop" => named(&STOPS, rest).map(Action::Stop),
        "fail" => fault(rest).map(Action::Fail),
        "garbage" => nothing(rest).map(|()| Action::Garbage),
        "ends" => nothing(rest).map(|()| Action::End),
        "hang" => nothing(rest).map(|()| Action::Hang),
        _ => Err(format!(
            "{word:?} is not known; it is turn, then, again, say, think, state, call, cut, usage, \
             cost, wait, huge, garbage, stop, fail, ends or hang"
        )),
    }
}

fn call(rest: &str, complete: bool) -> Result<Call, String> {
    let (tool, arguments) = first(rest);
    let (tool, id) = match tool.split_once('#') {
        Some((tool, id)) => (tool, Some(id.into())),
        None => (tool, None),
    };
    if tool.is_empty() {
        return Err("a call is `call TOOL ARGUMENTS` or `call TOOL#ID ARGUMENTS`".to_owned());
    }
    Ok(Call { provider_id: id, complete, ..Call::to(tool, arguments) })
}

fn usage(rest: &str) -> Result<Usage, String> {
    let (input, output) = first(rest);
    Ok(Usage { input: number(input)?, output: number(output)?, ..Usage::default() })
}

fn fault(rest: &str) -> Result<Fault, String> {
    let (kind, rest) = first(rest);
    let fault = Fault::of(named(&KINDS, kind)?);
    let (retry_after_ms, rest) = marked("after", rest)?;
    let (limit_tokens, rest) = marked("limit", rest)?;
    let message = if rest.is_empty() { fault.message } else { string(rest)? };
    Ok(Fault { retry_after_ms, limit_tokens, message, ..fault })
}

/// A number after a word, if the word comes first, and what follows.
fn marked<'a>(mark: &str, rest: &'a str) -> Result<(Option<u64>, &'a str), String> {
    match first(rest) {
        (word, rest) if word == mark => {
            let (digits, rest) = first(rest);
            Ok((Some(number(digits)?), rest))
        }
        _ => Ok((None, rest)),
    }
}

/// The first word, and what follows it.
fn first(words: &str) -> (&str, &str) {
    let (word, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    (word, rest.trim_start())
}

/// A text: the rest of the line, or a JSON string.
fn string(rest: &str) -> Result<Arc<str>, String> {
    if !rest.starts_with('"') {
        return Ok(rest.into());
    }
    serde_json::from_str::<String>(rest)
        .map(Into::into)
        .map_err(|error| format!("a text in quotation marks is a JSON string: {error}"))
}

fn number<N: FromStr>(word: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("{word:?} is not a number that fits here"))
}

fn named<T: Copy>(names: &[(&str, T)], word: &str) -> Result<T, String> {
    let known = names.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    known.ok_or_else(|| {
        let names = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        format!("{word:?} is none of {names}")
    })
}

fn nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("{rest:?} is too much here")) }
}
