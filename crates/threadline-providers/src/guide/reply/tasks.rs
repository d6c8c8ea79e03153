//! Replies about the task board.

use serde_json::Value;

use super::Writing;
use crate::guide::board::Board;
use crate::guide::wish::{Place, Shift, TaskWish, Which};

const ADD: &str = "task_add";
const START: &str = "task_start";
const FINISH: &str = "task_finish";
const DROP: &str = "task_drop";
const MOVE: &str = "task_move";
const LIST: &str = "task_list";

impl Writing<'_> {
    /// Does what is wanted of the task board.
    pub(super) fn act_on_tasks(&mut self, wish: &TaskWish) {
        match wish {
            TaskWish::Add { titles, .. } => {
                self.call(ADD, &[("titles", titles.as_slice().into())]);
            }
            TaskWish::Shift(shift, tasks) => self.shift(*shift, tasks),
            TaskWish::Move(task, place) => self.move_task(task, place),
            TaskWish::List { ended } => {
                if *ended || !self.scene.board.as_ref().is_some_and(|board| board.whole) {
                    self.call(LIST, &[]);
                }
            }
        }
    }

    fn shift(&mut self, shift: Shift, tasks: &[Which]) {
        let tool = match shift {
            Shift::Start => START,
            Shift::Finish => FINISH,
            Shift::Drop => DROP,
        };
        match tasks.iter().map(|which| self.number(which)).collect::<Result<Vec<_>, _>>() {
            Ok(numbers) => self.call(tool, &[("tasks", numbers.into())]),
            Err(sentence) => self.say(sentence),
        }
    }

    fn move_task(&mut self, task: &Which, place: &Place) {
        let place = match place {
            Place::Top => Ok(("to", Value::from("top"))),
            Place::Bottom => Ok(("to", Value::from("bottom"))),
            Place::Before(other) => self.number(other).map(|number| ("before", number.into())),
            Place::After(other) => self.number(other).map(|number| ("after", number.into())),
        };
        match self.number(task).and_then(|number| Ok((number, place?))) {
            Ok((number, place)) => self.call(MOVE, &[("task", number.into()), place]),
            Err(sentence) => self.say(sentence),
        }
    }

    fn number(&self, which: &Which) -> Result<u64, String> {
        Board::number(self.scene.board.as_ref(), which)
    }

    /// Tells what is on the board, unless a call has told it.
    pub(super) fn tell_tasks(&mut self) {
        if self.has_result_of(LIST) {
            return;
        }
        let told = self.scene.board.as_ref().map(|board| (board.told(), board.whole));
        if let Some((told, whole)) = told {
            // What can be seen of a board that is not whole is told only after other calls.
            if whole {
                self.say(told);
            } else if !self.scene.results.is_empty() {
                self.say(told);
                self.say("My screen does not show all of the tasks: `list all tasks` does.".into());
            }
        }
    }
}
