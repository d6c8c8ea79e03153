//! A change of the task board, as it is recorded: what happened to it, not what was asked.
//!
//! The form is versioned by its words: a new kind of change gets a new word, and what stands
//! behind a word never changes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use threadline_core::id::AgentId;

use super::{
    Board, ENDED_CAP, NOTE_CAP_BYTES, State, TASKS_CAP, TEXT_CAP_BYTES, TITLE_CAP_BYTES, Task,
};

/// A recorded change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Recorded {
    /// Tasks were added, with the next numbers.
    Add(Added),
    /// Someone works on tasks.
    Start(Shifted),
    /// Tasks were done.
    Finish(Shifted),
    /// Tasks were dropped.
    Drop(Shifted),
    /// A task has another place.
    Move(Moved),
}

/// Tasks that came.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Added {
    pub(super) titles: Vec<String>,
    /// The task before which they are; they are at the end if there is none.
    pub(super) before: Option<u32>,
}

/// Tasks whose state changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shifted {
    pub(super) tasks: Vec<u32>,
    /// What is noted with them; if there is none, notes stay.
    pub(super) note: Option<String>,
}

/// A task that moved.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Moved {
    pub(super) task: u32,
    /// The task before which it is now; it is at the end if there is none.
    pub(super) before: Option<u32>,
}

impl Recorded {
    pub(super) fn encode(&self) -> Arc<str> {
        let shifted = |Shifted { tasks, note }: &Shifted| match note {
            Some(note) => json!({ "tasks": tasks, "note": note }),
            None => json!({ "tasks": tasks }),
        };
        let json = match self {
            Self::Add(Added { titles, before: Some(before) }) => {
                json!({ "add": { "titles": titles, "before": before } })
            }
            Self::Add(Added { titles, before: None }) => json!({ "add": { "titles": titles } }),
            Self::Start(tasks) => json!({ "start": shifted(tasks) }),
            Self::Finish(tasks) => json!({ "finish": shifted(tasks) }),
            Self::Drop(tasks) => json!({ "drop": shifted(tasks) }),
            Self::Move(Moved { task, before: Some(before) }) => {
                json!({ "move": { "task": task, "before": before } })
            }
            Self::Move(Moved { task, before: None }) => json!({ "move": { "task": task } }),
        };
        json.to_string().into()
    }

    pub(super) fn decode(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!(
                "a change is \"add\", \"start\", \"finish\", \"drop\" or \"move\" as JSON, not \
                 this: {error}"
            )
        })
    }

    /// The tasks that it is about, by the numbers that they have or get.
    pub(super) fn tasks(&self, before: &Board) -> Vec<u32> {
        match self {
            Self::Add(added) => (before.last() + 1..).take(added.titles.len()).collect(),
            Self::Start(shifted) | Self::Finish(shifted) | Self::Drop(shifted) => {
                shifted.tasks.clone()
            }
            Self::Move(moved) => vec![moved.task],
        }
    }

    /// The board after the change, which has to be one that there may be.
    pub(super) fn apply(&self, before: &Board, by: AgentId) -> Result<Board, String> {
        let mut board = before.clone();
        match self {
            Self::Add(added) => board.add(added, by)?,
            Self::Start(Shifted { tasks, note }) => {
                for number in tasks {
                    let at = board.place(*number)?;
                    let task = board.live.get_mut(at);
                    shift(task, State::Doing(by), note.as_deref());
                }
            }
            Self::Finish(shifted) => board.end(shifted, State::Done(by))?,
            Self::Drop(shifted) => board.end(shifted, State::Dropped(by))?,
            Self::Move(Moved { task, before }) => {
                let task = board.live.remove(board.place(*task)?);
                let at = before.map_or(Ok(board.live.len()), |before| board.place(before))?;
                board.live.insert(at, task);
            }
        }
        board.check()?;
        Ok(board)
    }
}

fn shift(task: Option<&mut Task>, state: State, note: Option<&str>) {
    let Some(task) = task else { return };
    task.state = state;
    if let Some(note) = note {
        task.note = Some(note.into());
    }
}

impl Board {
    fn add(&mut self, added: &Added, by: AgentId) -> Result<(), String> {
        let at = added.before.map_or(Ok(self.live.len()), |before| self.place(before))?;
        let first = self.last();
        let count = u32::try_from(added.titles.len()).ok();
        if count.and_then(|count| first.checked_add(count)).is_none() {
            return Err("there are no numbers left for so many tasks".to_owned());
        }
        let tasks = (first + 1..).zip(&added.titles).map(|(number, title)| Task {
            number,
            title: title.as_str().into(),
            state: State::Open,
            added_by: by,
            note: None,
        });
        self.live.splice(at..at, tasks.collect::<Vec<_>>());
        Ok(())
    }

    fn end(&mut self, shifted: &Shifted, state: State) -> Result<(), String> {
        for number in &shifted.tasks {
            let mut task = self.live.remove(self.place(*number)?);
            shift(Some(&mut task), state, shifted.note.as_deref());
            self.ended.push(task);
            match state {
                State::Done(_) => self.done += 1,
                State::Dropped(_) => self.dropped += 1,
                State::Open | State::Doing(_) => {}
            }
        }
        let over = self.ended.len().saturating_sub(ENDED_CAP);
        self.ended.drain(..over);
        Ok(())
    }

    /// Where a task is that is open or being done.
    fn place(&self, number: u32) -> Result<usize, String> {
        let place = self.live.iter().position(|task| task.number == number);
        place.ok_or_else(|| format!("no task {number} is open or being done"))
    }

    /// Whether there may be such a board.
    pub(super) fn check(&self) -> Result<(), String> {
        let tasks = self.live.len();
        if tasks > TASKS_CAP {
            return Err(format!(
                "the board holds at most {TASKS_CAP} tasks that are open or being done, and this \
                 would make it {tasks}; finish or drop some first"
            ));
        }
        for task in self.live.iter().chain(&self.ended) {
            let note = task.note.as_deref();
            if !fits(&task.title, TITLE_CAP_BYTES)
                || !note.is_none_or(|note| fits(note, NOTE_CAP_BYTES))
            {
                return Err(format!(
                    "a title is one line of 1 to {TITLE_CAP_BYTES} bytes, a note one of 1 to \
                     {NOTE_CAP_BYTES}"
                ));
            }
        }
        let note = |task: &Task| task.note.as_ref().map_or(0, |note| note.len());
        let bytes = self.live.iter().map(|task| task.title.len() + note(task)).sum::<usize>();
        if bytes > TEXT_CAP_BYTES {
            return Err(format!(
                "the titles and notes of tasks that are open or being done take at most \
                 {TEXT_CAP_BYTES} bytes together, and this would make it {bytes}; finish or drop \
                 some first, or use fewer words"
            ));
        }
        Ok(())
    }
}

/// Whether a text is one line of a length. What counts as a line's end is fixed for ever, so that
/// no recorded change is refused one day.
fn fits(text: &str, cap_bytes: usize) -> bool {
    (1..=cap_bytes).contains(&text.len()) && !text.contains(char::is_control)
}
