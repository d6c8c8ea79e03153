//! The task board: what is to be done, shared by the agents of a conversation.
//!
//! Tasks that are open or being done are in an order, which is that of the list. Those that are
//! done or dropped stay as they are: the newest [`ENDED_CAP`] can be read, all of them are
//! counted. A number means one task for ever.
//!
//! What a call asks for is worked out against the board as it is (`edit`), what comes of it is
//! recorded as a `change`, and only that is replayed.

mod change;
mod edit;
mod show;
mod state;

use std::sync::Arc;

use change::Recorded;
use edit::Verb;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::id::AgentId;
use threadline_core::tool::ToolSpec;
use threadline_core::widget::{
    AgentView, Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View,
    Widget, WidgetCall, WidgetState,
};

use super::answer::{Done, Unfit, number, read};
use super::lines;
use crate::typed::recorded;

/// The widget's name, in records and snapshots.
pub const NAME: &str = "board";
/// The most tasks that are open or being done. This cap and the others may be raised and never
/// lowered: what was recorded under them has to stay.
pub const TASKS_CAP: usize = 500;
/// How many of the tasks that are done or dropped can still be read.
pub const ENDED_CAP: usize = 50;
/// The most bytes of a title.
pub const TITLE_CAP_BYTES: usize = 200;
/// The most bytes of a note.
pub const NOTE_CAP_BYTES: usize = 120;
/// The most bytes of titles and notes of tasks that are open or being done. With it, and all that
/// is around them, a state is at most 64 KiB.
pub const TEXT_CAP_BYTES: usize = 24 * 1024;
/// The version of its encoded state.
const STATE_VERSION: u32 = 1;

const ADD: &str = "task_add";
const START: &str = "task_start";
const FINISH: &str = "task_finish";
const DROP: &str = "task_drop";
const MOVE: &str = "task_move";
const LIST: &str = "task_list";

/// The task board.
///
/// ```
/// use threadline_core::clock::Timestamp;
/// use threadline_core::id::{AgentId, Seq};
/// use threadline_core::widget::{Change, Widget as _};
/// use threadline_tools::widgets::board::Board;
///
/// let mut board = Board::new();
/// let (by, at) = (AgentId::FIRST, Timestamp::default());
/// let text = r#"{"add":{"titles":["pack","leave"]}}"#;
/// board.apply(&Change { text, seq: Seq(1), by, at }).unwrap();
/// assert_eq!(board.list(&[]), "2 open\n- 1 [open] pack\n- 2 [open] leave");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// Open or being done, in order.
    live: Vec<Task>,
    /// Done or dropped, in the order in which they ended, the newest of them.
    ended: Vec<Task>,
    /// How many are done, those that are no longer kept included.
    done: u32,
    /// How many are dropped, those that are no longer kept included.
    dropped: u32,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Task {
    number: u32,
    title: Arc<str>,
    state: State,
    added_by: AgentId,
    note: Option<Arc<str>>,
}

/// How far a task is, and who has to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Doing(AgentId),
    Done(AgentId),
    Dropped(AgentId),
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Doing(_) => "doing",
            Self::Done(_) => "done",
            Self::Dropped(_) => "dropped",
        }
    }
}

impl Board {
    /// An empty board.
    pub const fn new() -> Self {
        Self { live: Vec::new(), ended: Vec::new(), done: 0, dropped: 0 }
    }

    /// All that can be read of it, for people: the counts and a line for each task.
    pub fn list(&self, agents: &[AgentView<'_>]) -> String {
        show::list(self, agents)
    }

    /// Whether there never was a task.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.done == 0 && self.dropped == 0
    }

    /// The highest number that a task has had: every number has gone to one task.
    fn last(&self) -> u32 {
        let live = u32::try_from(self.live.len()).unwrap_or(u32::MAX);
        live.saturating_add(self.done).saturating_add(self.dropped)
    }

    fn reply(&self, outcome: Result<Done<Recorded>, Unfit>, call: &Called<'_>) -> Answer {
        let done = outcome.map_err(|unfit| unfit.refusal(NAME, call.operation))?;
        let Some(recorded) = &done.recorded else {
            return Ok(Reply {
                result: vec![show::unchanged(&done)],
                metadata: self.measured(call.operation, self, &[]),
                ..Reply::default()
            });
        };
        let after = recorded
            .apply(self, call.by)
            .map_err(|message| Unfit::new("does_not_fit", message).refusal(NAME, call.operation))?;
        Ok(Reply {
            changes: vec![recorded.encode()],
            result: vec![show::result(&done, &after)],
            attachments: Vec::new(),
            metadata: self.measured(call.operation, &after, &recorded.tasks(self)),
        })
    }

    fn listed(&self, arguments: &str, by: AgentId) -> Result<Section, Unfit> {
        let List { line } = read(arguments)?;
        if self.is_empty() {
            return Ok(Section::text("there are no tasks; task_add adds some"));
        }
        let page = lines::page(&show::all(self, by), line.unwrap_or(1), 1)?;
        let gist = format!("read the task board: {}", show::counts(self));
        let (text, gist) = (page.text.into(), Shorter::Own(gist.into()));
        Ok(Section { title: None, text, recent: Shorter::Same, gist }.derived())
    }

    fn measured(&self, operation: &str, after: &Self, tasks: &[u32]) -> Metadata {
        let doing = |board: &Self| board.live.iter().filter(|task| task.is_doing()).count();
        let (doing_before, doing_after) = (doing(self), doing(after));
        let tasks = tasks.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let tasks = Some(("tasks", Value::Text(tasks))).filter(|_| self != after);
        Metadata::fitted(
            [
                ("operation", Value::Text(operation.to_owned())),
                ("previous_open", number(self.live.len() - doing_before)),
                ("new_open", number(after.live.len() - doing_after)),
                ("previous_doing", number(doing_before)),
                ("new_doing", number(doing_after)),
                ("done", Value::Number(after.done.into())),
                ("dropped", Value::Number(after.dropped.into())),
            ]
            .into_iter()
            .chain(tasks),
        )
    }
}

impl Task {
    const fn is_doing(&self) -> bool {
        match self.state {
            State::Doing(_) => true,
            State::Open | State::Done(_) | State::Dropped(_) => false,
        }
    }
}

type Answer = Result<Reply, Refusal>;

/// What was called, and by whom.
struct Called<'a> {
    operation: &'a str,
    by: AgentId,
}

/// Adds tasks to the board that all agents of this conversation share. Use it to plan work of
/// several steps; a title that is there already is not added again.
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// what is to be done, each in one short line
    #[schemars(length(min = 1))]
    titles: Vec<String>,
    /// the number of the task before which they go; at the end unless given
    before: Option<u32>,
}

/// Says that you now work on tasks of the board.
#[derive(Deserialize, JsonSchema)]
struct Start {
    /// their numbers
    #[schemars(length(min = 1))]
    tasks: Vec<u32>,
    /// a few words that go with them
    note: Option<String>,
}

/// Says that tasks of the board are done. They cannot be opened again.
#[derive(Deserialize, JsonSchema)]
struct Finish {
    /// their numbers
    #[schemars(length(min = 1))]
    tasks: Vec<u32>,
    /// a few words that go with them, such as what came of them
    note: Option<String>,
}

/// Drops tasks of the board that will not be done. They cannot be opened again.
#[derive(Deserialize, JsonSchema)]
struct Drop {
    /// their numbers
    #[schemars(length(min = 1))]
    tasks: Vec<u32>,
    /// a few words that go with them, such as why
    note: Option<String>,
}

/// Moves a task of the board to another place in the order. Give one of to, before and after.
#[derive(Deserialize, JsonSchema)]
struct Move {
    /// its number
    task: u32,
    /// an end of the list
    to: Option<End>,
    /// the number of the task before which it goes
    before: Option<u32>,
    /// the number of the task after which it goes
    after: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum End {
    Top,
    Bottom,
}

/// Lists the tasks of the board, with those that are done or dropped. Only needed for these, or
/// when the live screen does not show all of them.
#[derive(Deserialize, JsonSchema)]
struct List {
    /// the line of the list to start at, counted from 1
    #[schemars(range(min = 1))]
    line: Option<usize>,
}

impl Widget for Board {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "tasks that the agents of a conversation share"
    }

    fn scope(&self) -> Scope {
        Scope::Conversation
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            recorded::<Add>(ADD),
            recorded::<Start>(START),
            recorded::<Finish>(FINISH),
            recorded::<Drop>(DROP),
            recorded::<Move>(MOVE),
            recorded::<List>(LIST),
        ]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Answer {
        let by = call.by;
        let change = |operation, outcome| self.reply(outcome, &Called { operation, by });
        let shift = |verb: Verb, tasks: &[u32], note: Option<String>| {
            edit::shift(self, verb, tasks, note.as_deref(), by)
        };
        match call.tool {
            ADD => change(
                "add",
                read(call.arguments)
                    .and_then(|Add { titles, before }| edit::add(self, &titles, before)),
            ),
            START => change(
                "start",
                read(call.arguments)
                    .and_then(|Start { tasks, note }| shift(Verb::Start, &tasks, note)),
            ),
            FINISH => change(
                "finish",
                read(call.arguments)
                    .and_then(|Finish { tasks, note }| shift(Verb::Finish, &tasks, note)),
            ),
            DROP => change(
                "drop",
                read(call.arguments)
                    .and_then(|Drop { tasks, note }| shift(Verb::Drop, &tasks, note)),
            ),
            MOVE => change("move", read(call.arguments).and_then(|wish| edit::moved(self, &wish))),
            LIST => match self.listed(call.arguments, by) {
                Ok(section) => Ok(Reply {
                    result: vec![section],
                    metadata: self.measured("list", self, &[]),
                    ..Reply::default()
                }),
                Err(unfit) => Err(unfit.refusal(NAME, "list")),
            },
            other => {
                let message = format!("the task board has no tool {other:?}");
                Err(Unfit::new("tool_unknown", message).refusal(NAME, "none"))
            }
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        let after =
            Recorded::decode(change.text).and_then(|recorded| recorded.apply(self, change.by));
        *self = after.map_err(|message| ChangeRefused { widget: NAME.into(), message })?;
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = (!self.is_empty()).then(|| show::fragment(self, view))?;
        Some(Fragment { text, rest: Some(LIST.into()) })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: STATE_VERSION, bytes: state::encode(self).into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let text = Some(&*state.bytes).filter(|_| state.version == STATE_VERSION);
        let read = text.and_then(|text| str::from_utf8(text).ok()).and_then(state::decode);
        *self = read.ok_or(StateUnreadable { widget: NAME.into(), version: state.version })?;
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
