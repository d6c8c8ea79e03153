//! What people want of the task board.

use super::words::{after, before, is_any, parted, parted_last, quoted, strip, unquoted};

/// Something that someone wants of the task board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum TaskWish {
    /// Put tasks on it.
    Add {
        /// What is to be done.
        titles: Vec<String>,
        /// Whether they were announced as several.
        many: bool,
    },
    /// Say that tasks are in another state.
    Shift(Shift, Vec<Which>),
    /// Put a task at another place.
    Move(Which, Place),
    /// Tell what is on it, with what is done already or without.
    List { ended: bool },
}

/// What becomes of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guide) enum Shift {
    Start,
    Finish,
    Drop,
}

/// Which task is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum Which {
    /// The one with this number.
    Number(u64),
    /// The one with these words in its title.
    Words(String),
}

/// Where a task goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum Place {
    Top,
    Bottom,
    Before(Which),
    After(Which),
}

const ONE: [&str; 18] = [
    "add a task to the board:",
    "add a task to the list:",
    "add a new task:",
    "add the new task:",
    "add a task:",
    "add the task:",
    "add task:",
    "add a todo:",
    "add todo:",
    "new task:",
    "task:",
    "todo:",
    "to do:",
    "to-do:",
    "add a task to ",
    "add a task ",
    "add the task ",
    "add task ",
];

const MANY: [&str; 9] = [
    "add these tasks:",
    "add the tasks:",
    "add tasks:",
    "new tasks:",
    "tasks:",
    "todos:",
    "add these tasks ",
    "add the tasks ",
    "add tasks ",
];

const BOARD: [&str; 12] = [
    " to the task board",
    " to the task list",
    " to the tasks",
    " to the board",
    " to the todo list",
    " to the to-do list",
    " to my tasks",
    " to my task list",
    " to my todo list",
    " to my to-do list",
    " as a task",
    " as a new task",
];

/// The wish of a text that begins with what is to be done.
pub(super) fn wish(text: &str) -> Option<TaskWish> {
    listing(text).or_else(|| adding(text)).or_else(|| shifting(text)).or_else(|| moving(text))
}

fn listing(text: &str) -> Option<TaskWish> {
    const OPEN: [&str; 31] = [
        "tasks",
        "the tasks",
        "list tasks",
        "list the tasks",
        "list my tasks",
        "list the open tasks",
        "list open tasks",
        "show tasks",
        "show the tasks",
        "show me the tasks",
        "show my tasks",
        "show me my tasks",
        "show the task board",
        "show me the task board",
        "show the board",
        "what are the tasks",
        "what are my tasks",
        "what are the open tasks",
        "what are my open tasks",
        "what is next",
        "what's next",
        "which tasks are there",
        "what tasks are there",
        "which tasks are open",
        "what tasks are open",
        "what is to be done",
        "what's to be done",
        "what is there to do",
        "what is left to do",
        "what's left to do",
        "what is on the task board",
    ];
    const ALL: [&str; 9] = [
        "list all tasks",
        "list all the tasks",
        "show all tasks",
        "show me all tasks",
        "what are all the tasks",
        "which tasks are done",
        "what tasks are done",
        "list the tasks that are done",
        "what is done",
    ];
    let ended = is_any(text, &ALL);
    (ended || is_any(text, &OPEN)).then_some(TaskWish::List { ended })
}

fn adding(text: &str) -> Option<TaskWish> {
    if let Some(rest) = after(text, &MANY) {
        return Some(TaskWish::Add { titles: titles(rest), many: true });
    }
    let one = after(text, &ONE).or_else(|| before(after(text, &["add "])?, &BOARD));
    one.map(|title| TaskWish::Add { titles: vec![unquoted(title).to_owned()], many: false })
}

/// The titles of a list.
fn titles(list: &str) -> Vec<String> {
    const BETWEEN: [&str; 6] = [", and ", " and ", ", ", "; ", ",\n", "\n"];
    let (mut titles, mut rest) = (Vec::new(), list);
    while let Some((title, more)) = parted(rest, &BETWEEN) {
        titles.push(title);
        rest = more;
    }
    titles.push(rest);
    let titles = titles.iter().map(|title| unquoted(unlisted(title)).to_owned());
    titles.filter(|title| !title.is_empty()).collect()
}

/// A line of a list without the mark before it.
fn unlisted(line: &str) -> &str {
    let line = line.trim();
    ["- ", "* ", "• "].iter().find_map(|mark| strip(line, mark)).map_or(line, str::trim)
}

fn shifting(text: &str) -> Option<TaskWish> {
    const START: [&str; 6] =
        ["start with ", "start on ", "start ", "begin with ", "begin ", "work on "];
    const FINISH: [&str; 11] = [
        "i have finished ",
        "i finished ",
        "i am done with ",
        "i'm done with ",
        "done with ",
        "finish ",
        "complete ",
        "close ",
        "tick off ",
        "check off ",
        "end ",
    ];
    const DROP: [&str; 6] = ["drop ", "delete ", "remove ", "cancel ", "abandon ", "give up "];
    let verbs =
        [(Shift::Start, &START[..]), (Shift::Finish, &FINISH[..]), (Shift::Drop, &DROP[..])];
    for (shift, prefixes) in verbs {
        if let Some(which) = after(text, prefixes).and_then(targets) {
            return Some(TaskWish::Shift(shift, which));
        }
    }
    let (what, state) = match strip(text, "mark ") {
        Some(rest) => parted_last(rest, &[" as "])?,
        None => return None,
    };
    Some(TaskWish::Shift(state_named(state)?, targets(what)?))
}

/// The most of a text that may say how a task is.
const SAID_CAP_BYTES: usize = 500;

/// A wish that says how a task is: `task 2 is done`. Other wishes may end so too.
pub(super) fn said(text: &str) -> Option<TaskWish> {
    let text = Some(text).filter(|text| text.len() <= SAID_CAP_BYTES)?;
    let sides = parted_last(text, &[" is ", " are "]);
    let (what, state) = sides.or_else(|| parted_last(text, &[" "]))?;
    Some(TaskWish::Shift(state_named(state)?, targets(what)?))
}

fn state_named(word: &str) -> Option<Shift> {
    match &*word.to_lowercase() {
        "started" | "begun" | "being done" | "in progress" => Some(Shift::Start),
        "done" | "finished" | "complete" | "completed" | "ready" => Some(Shift::Finish),
        "dropped" | "cancelled" | "off" | "abandoned" => Some(Shift::Drop),
        _ => None,
    }
}

/// The tasks that are meant, if it is said that tasks are.
fn targets(text: &str) -> Option<Vec<Which>> {
    if let Some(numbers) = numbers(text) {
        return Some(numbers);
    }
    target(text).map(|which| vec![which])
}

/// Numbers of tasks: `2`, `task 2`, `tasks 2, 3 and 5`, `#2 and #3`.
fn numbers(text: &str) -> Option<Vec<Which>> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let named = words.filter(|word| !is_any(word, &["and", "task", "tasks", "the", "number"]));
    let numbers = named.map(number).collect::<Option<Vec<_>>>()?;
    let numbers = numbers.into_iter().map(Which::Number).collect::<Vec<_>>();
    (!numbers.is_empty()).then_some(numbers)
}

fn number(word: &str) -> Option<u64> {
    let digits = word.strip_prefix('#').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The task that is meant: by its number, or by words of its title.
fn target(text: &str) -> Option<Which> {
    let bare = |text: &str| after(text, &["the "]).unwrap_or(text).to_owned();
    if let Some(words) = quoted(text) {
        return Some(Which::Words(words.to_owned()));
    }
    let named = bare(text);
    if let Some(rest) = after(&named, &["task number ", "task ", "tasks "]) {
        let words = || Which::Words(unquoted(rest).to_owned());
        return Some(number(rest).map_or_else(words, Which::Number));
    }
    if let Some(words) = before(&named, &[" task"]) {
        return Some(Which::Words(unquoted(words).to_owned()));
    }
    number(text).map(Which::Number)
}

fn moving(text: &str) -> Option<TaskWish> {
    const TOP: [&str; 7] = [
        " to the top",
        " to top",
        " to the front",
        " to the start",
        " to the beginning",
        " up to the top",
        " first",
    ];
    const BOTTOM: [&str; 5] =
        [" to the bottom", " to bottom", " to the end", " to the back", " last"];
    let rest = after(text, &["move ", "put "])?;
    if let Some(which) = before(rest, &TOP).and_then(target) {
        return Some(TaskWish::Move(which, Place::Top));
    }
    if let Some(which) = before(rest, &BOTTOM).and_then(target) {
        return Some(TaskWish::Move(which, Place::Bottom));
    }
    let sides = |words: &[&str]| {
        let (which, other) = parted_last(rest, words)?;
        Some((target(which)?, target(other)?))
    };
    let (which, place) = sides(&[" before ", " above ", " ahead of "])
        .map(|(which, other)| (which, Place::Before(other)))
        .or_else(|| {
            let (which, other) = sides(&[" after ", " below ", " behind "])?;
            Some((which, Place::After(other)))
        })?;
    Some(TaskWish::Move(which, place))
}
