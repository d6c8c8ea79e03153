//! From what a call asks for to what it changes.

use threadline_core::id::AgentId;

use super::change::{Added, Moved, Recorded, Shifted};
use super::{ADD, Board, End, Move, NOTE_CAP_BYTES, State, TITLE_CAP_BYTES, Task};
use crate::text::{counted, one_line, plain, shortened};
use crate::widgets::answer::{Done, Unfit};
use crate::widgets::lines::first;

/// How many lines a diff shows.
const DIFF_LINES: usize = 20;
/// How much of a title stands in a gist.
const GIST_BYTES: usize = 60;
/// How many runs of numbers are named.
const RUNS: usize = 12;

/// What is to become of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Start,
    Finish,
    Drop,
}

impl Verb {
    const fn past(self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Finish => "finished",
            Self::Drop => "dropped",
        }
    }
}

/// Adds tasks at the end, or before one.
pub(super) fn add(
    board: &Board,
    titles: &[String],
    before: Option<u32>,
) -> Result<Done<Recorded>, Unfit> {
    let mut new: Vec<String> = Vec::new();
    let mut known = Vec::new();
    for title in titles {
        let title = line(title);
        if title.is_empty() {
            return Err(Unfit::new("title_empty", "a title is blank; say what is to be done"));
        }
        if title.len() > TITLE_CAP_BYTES {
            let message = format!(
                "a title has at most {TITLE_CAP_BYTES} bytes, and \"{}\" has {}; say it in fewer \
                 words, or make several tasks of it",
                shortened(&title, GIST_BYTES),
                title.len()
            );
            return Err(Unfit::new("title_too_long", message));
        }
        match board.live.iter().find(|task| *task.title == *title) {
            Some(task) => known.push(format!("{} has this title already", task.number)),
            None if new.contains(&title) => {}
            None => new.push(title),
        }
    }
    if let Some(before) = before {
        live(board, before)?;
    }
    if titles.is_empty() {
        return Err(Unfit::new("titles_empty", "there is nothing to add: give titles"));
    }
    if new.is_empty() {
        return Ok(Done::nothing(format!("nothing changed: {}", known.join(", "))));
    }
    let numbers = || board.last() + 1..;
    let diff = numbers().zip(&new).map(|(number, title)| format!("+ {number} [open] {title}"));
    let diff = first(&diff.collect::<Vec<_>>(), DIFF_LINES);
    let added = numbered(&numbers().take(new.len()).collect::<Vec<_>>());
    let place = before.map_or_else(String::new, |before| format!(" before {before}"));
    let head = shortened(new.first().map_or("", |title| title), GIST_BYTES);
    let gist = match new.len() {
        1 => format!("added {added}: {head}"),
        more => format!("added {added}: {head} and {} more", more - 1),
    };
    let told = told(&format!("added {added}{place}"), &known);
    let recorded = Some(Recorded::Add(Added { titles: new, before }));
    Ok(Done { recorded, told, diff, gist })
}

/// Starts, finishes or drops tasks: all that are asked for, or none.
pub(super) fn shift(
    board: &Board,
    verb: Verb,
    numbers: &[u32],
    note: Option<&str>,
    by: AgentId,
) -> Result<Done<Recorded>, Unfit> {
    let note = note.map(line).filter(|note| !note.is_empty());
    if let Some(bytes) = note.as_ref().map(String::len).filter(|bytes| *bytes > NOTE_CAP_BYTES) {
        let message = format!("a note has at most {NOTE_CAP_BYTES} bytes, not {bytes}; shorten it");
        return Err(Unfit::new("note_too_long", message));
    }
    let (mut shifted, mut same, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for number in numbers {
        if seen.contains(number) {
            continue;
        }
        seen.push(*number);
        match shifts(board, verb, *number, note.as_deref(), by) {
            Ok(Some(line)) => shifted.push((*number, line)),
            Ok(None) => same.push(format!("{number} is {} already", state(verb))),
            Err(unfit) => wrong.push(unfit),
        }
    }
    if let [first, ..] = &*wrong {
        let code = first.code;
        let mut message = wrong.iter().map(|unfit| &*unfit.message).collect::<Vec<_>>().join("\n");
        if wrong.len() < seen.len() {
            message.push_str("\nnothing was changed: ask for the others without it");
        }
        return Err(Unfit::new(code, message));
    }
    if seen.is_empty() {
        return Err(Unfit::new("tasks_empty", "no task is named: give numbers of tasks"));
    }
    if shifted.is_empty() {
        return Ok(Done::nothing(format!("nothing changed: {}", same.join(", "))));
    }
    let (tasks, diff): (Vec<u32>, Vec<String>) = shifted.into_iter().unzip();
    let named = numbered(&tasks);
    let title =
        tasks.first().and_then(|task| board.live.iter().find(|known| known.number == *task));
    let title = title
        .filter(|_| tasks.len() == 1)
        .map_or_else(String::new, |task| format!(": {}", shortened(&task.title, GIST_BYTES)));
    let shifted = Shifted { tasks, note };
    Ok(Done {
        told: told(&format!("{} {named}", verb.past()), &same),
        diff: first(&diff, DIFF_LINES),
        gist: format!("{} {named}{title}", verb.past()),
        recorded: Some(match verb {
            Verb::Start => Recorded::Start(shifted),
            Verb::Finish => Recorded::Finish(shifted),
            Verb::Drop => Recorded::Drop(shifted),
        }),
    })
}

/// The line of a diff for what becomes of a task; none if it is so already.
fn shifts(
    board: &Board,
    verb: Verb,
    number: u32,
    note: Option<&str>,
    by: AgentId,
) -> Result<Option<String>, Unfit> {
    let ended = board.ended.iter().find(|task| task.number == number).map(|task| task.state);
    match (verb, ended) {
        (Verb::Finish, Some(State::Done(_))) | (Verb::Drop, Some(State::Dropped(_))) => {
            return Ok(None);
        }
        (Verb::Start | Verb::Finish | Verb::Drop, _) => {}
    }
    let task = live(board, number)?;
    let noted = note.map_or_else(String::new, |note| format!(" ({note})"));
    let to = match verb {
        Verb::Start => match task.state {
            State::Doing(who) if who != by => {
                return Ok(Some(format!("~ {number} doing, taken over{noted}")));
            }
            State::Doing(_) => {
                let new = note.filter(|note| task.note.as_deref() != Some(*note));
                return Ok(new.map(|_| format!("~ {number} doing{noted}")));
            }
            State::Open | State::Done(_) | State::Dropped(_) => "doing",
        },
        Verb::Finish => "done",
        Verb::Drop => "dropped",
    };
    Ok(Some(format!("~ {number} {} → {to}{noted}", task.state.word())))
}

/// Puts a task at another place.
pub(super) fn moved(board: &Board, wish: &Move) -> Result<Done<Recorded>, Unfit> {
    let task = live(board, wish.task)?;
    let number = task.number;
    let others = board.live.iter().map(|task| task.number).filter(|other| *other != number);
    let others = others.collect::<Vec<_>>();
    let place_of = |other: u32| others.iter().position(|known| *known == other);
    let from = board.live.iter().position(|known| known.number == number).unwrap_or_default();
    let (at, place) = match (wish.to, wish.before, wish.after) {
        (Some(End::Top), None, None) => (0, "to the top".to_owned()),
        (Some(End::Bottom), None, None) => (others.len(), "to the bottom".to_owned()),
        (None, Some(before), None) => {
            live(board, before)?;
            (place_of(before).unwrap_or(from), format!("before {before}"))
        }
        (None, None, Some(after)) => {
            live(board, after)?;
            (place_of(after).map_or(from, |at| at + 1), format!("after {after}"))
        }
        (Some(_) | None, Some(_) | None, Some(_) | None) => {
            let message = "give one of to (\"top\" or \"bottom\"), before and after (the number of \
                           a task)";
            return Err(Unfit::new("place_unclear", message));
        }
    };
    if at == from {
        return Ok(Done::nothing(format!("nothing changed: {number} is there already")));
    }
    let before = others.get(at).copied();
    Ok(Done {
        recorded: Some(Recorded::Move(Moved { task: number, before })),
        told: format!("moved {number} {place}"),
        diff: format!("~ {number} moved {place}"),
        gist: format!("moved {number} {place}: {}", shortened(&task.title, GIST_BYTES)),
    })
}

/// A task that is open or being done; if there is none, what there is.
fn live(board: &Board, number: u32) -> Result<&Task, Unfit> {
    if let Some(task) = board.live.iter().find(|task| task.number == number) {
        return Ok(task);
    }
    if let Some(task) = board.ended.iter().find(|task| task.number == number) {
        let state = task.state.word();
        let message =
            format!("task {number} is {state} and stays so; to do it again, add it with {ADD}");
        return Err(Unfit::new("task_ended", message));
    }
    if (1..=board.last()).contains(&number) {
        let message = format!(
            "task {number} ended long ago and is no longer kept; to do it again, add it with {ADD}"
        );
        return Err(Unfit::new("task_ended", message));
    }
    let message = match &*board.live {
        [] => format!("there is no task {number}: none is open or being done; {ADD} adds some"),
        tasks => format!(
            "there is no task {number}; open or being done: {}",
            runs(tasks.iter().map(|task| task.number).collect())
        ),
    };
    Err(Unfit::new("task_unknown", message))
}

/// Numbers in runs: `1, 3 to 7`.
fn runs(mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let more = runs.len().saturating_sub(RUNS);
    let told = runs.into_iter().take(RUNS).map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let told = told.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{told} and more") } else { told }
}

/// Tasks by their numbers, in the order that they have.
fn numbered(numbers: &[u32]) -> String {
    let follow = |pair: &[u32]| matches!(pair, [one, two] if one.checked_add(1) == Some(*two));
    match numbers {
        [only] => format!("task {only}"),
        [first, _, .., last] if numbers.len() > 2 && numbers.windows(2).all(follow) => {
            format!("tasks {first} to {last}")
        }
        many if many.len() > RUNS => counted(many.len(), "task"),
        many => format!("tasks {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

const fn state(verb: Verb) -> &'static str {
    match verb {
        Verb::Start => "being done by you",
        Verb::Finish => "done",
        Verb::Drop => "dropped",
    }
}

fn told(done: &str, same: &[String]) -> String {
    match same {
        [] => done.to_owned(),
        same => format!("{done} ({})", same.join(", ")),
    }
}

/// A text in one line, without what would end the line or worse.
fn line(text: &str) -> String {
    plain(&one_line(text))
}
